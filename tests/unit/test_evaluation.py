"""Embedders on labelled sets: scores that independent libraries give too, and sentences for what cannot be done."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr, spearmanr

from lib import corpora, embedders, evaluation


@pytest.fixture(scope="module")
def corpus():
    return corpora.load("lee")


def hashed(sentences) -> np.ndarray:
    """Vectors that depend on nothing but the sentence: letter counts."""
    letters = "abcdefghijklmnopqrstuvwxyz "
    return np.array(
        [[sentence.lower().count(letter) + 0.1 for letter in letters] for sentence in sentences], np.float32
    )


def test_ratings_are_compared_as_scipy_compares_them(rng) -> None:
    (lee,) = evaluation.rated(["Lee"])
    (row,) = evaluation.rate({"letters": hashed}, [lee], rng, 200, show_progress_bar=False).to_dict("records")
    left, right = (hashed(side).astype(float) for side in (lee.left, lee.right))
    cosines = (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert row["pearson"] == pytest.approx(pearsonr(cosines, lee.gold).statistic, abs=1e-6)
    assert row["spearman"] == pytest.approx(spearmanr(cosines, lee.gold).statistic, abs=1e-6)
    assert row["low"] < row["pearson"] < row["high"]
    assert row["pairs"] == 1_225


def test_a_year_of_sts_is_a_set_a_file_and_sick_is_whole(data_file) -> None:
    data_file("senteval/STS/STS14-en-test")
    names = [each.name for each in evaluation.rated(["STS14", "SICK-R"])]
    assert names[-1] == "SICK-R"
    assert sorted(names[:-1])[:2] == ["STS14 OnWN", "STS14 deft-forum"]
    assert len(evaluation.rated(["SICK-R"])[0]) == 9_927


def test_an_embedder_learns_from_the_corpus_and_not_from_the_sets(corpus) -> None:
    embedder = embedders.load("tfidf")
    encode = evaluation.encoder(embedder, corpus)
    assert embedder.fitted_on == corpus.fingerprint
    assert encode(["a zyzzyva of no corpus"]).shape == encode(corpus.sentences[:1]).shape


def test_classification_has_a_row_for_each_embedder_and_set() -> None:
    table = evaluation.classify({"letters": hashed}, ["Questions"], folds=3, inner_folds=1, show_progress_bar=False)
    assert table[["embedder", "dataset"]].to_numpy().tolist() == [["letters", "Questions"]]
    assert 0.5 < table["accuracy"].item() <= 1
    again = evaluation.classify({"letters": hashed}, ["Questions"], folds=3, inner_folds=1, show_progress_bar=False)
    pd.testing.assert_frame_equal(table, again)


def test_macro_average_by_hand() -> None:
    rated = pd.DataFrame({"embedder": ["a", "a", "b"], "pearson": [0.5, 0.7, 0.1], "spearman": [0.3, 0.5, 0.3]})
    classified = pd.DataFrame({"embedder": ["a", "b", "b"], "accuracy": [0.8, 0.9, 0.7]})
    table = evaluation.macro_average(rated, classified)
    assert list(table.index) == ["a", "b"]
    np.testing.assert_allclose(table.loc["a"], [80, 50, 65])
    np.testing.assert_allclose(table.loc["b"], [80, 20, 50])
