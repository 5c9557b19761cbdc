"""What the notebook on Sent2Vec shows of a model is what the model holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lib import sent2vec_study as study
from lib.catalog import published
from lib.run.errors import InputError
from lib.sent2vec.settings import Settings

LINES = ["the cat saw the dog .", "a dog saw a cat .", "the bird saw the cat ."] * 4
SMALL = Settings(dim=4, epochs=2, min_count=1, min_target_count=1, subsample=1.0)


@pytest.fixture(scope="module")
def model():
    return study.vary(LINES, SMALL, {"uni": {}}, show_progress_bar=False)["uni"]


def test_norms_are_those_of_the_matrix_and_frequencies_those_of_the_text(model) -> None:
    table = study.norms(model, a=0.1).set_index("word")
    assert "</s>" not in table.index
    tokens = " ".join(LINES).split()
    assert table.loc["cat", "frequency"] == pytest.approx(tokens.count("cat") / (len(tokens) + len(LINES)))
    assert table.loc["cat", "norm"] == pytest.approx(np.linalg.norm(model.word_vectors()["cat"]), rel=1e-6)
    np.testing.assert_allclose(table["weight"], 0.1 / (0.1 + table["frequency"]))


def test_profile_is_the_median_of_each_bin() -> None:
    table = pd.DataFrame({"frequency": [1e-4, 1e-4, 1e-4, 1e-1, 1e-1], "norm": [1.0, 2.0, 9.0, 4.0, 6.0]})
    found = study.profile(table, "norm", bins=2)
    np.testing.assert_allclose(found["value"], [2, 5])
    np.testing.assert_allclose(found.index, [1e-4, 1e-1])


def test_loss_falls_from_chance_and_ends_with_the_last_epoch(model) -> None:
    curve = study.loss_curve(model)
    assert curve.index[-1] == SMALL.epochs
    assert 0 < curve["value"].iloc[-1] < 1.2 * (1 + SMALL.negatives) * np.log(2)
    assert study.speed(model)["words"] > 0


def test_the_words_of_a_phrase_are_not_its_neighbors(model) -> None:
    (row,) = study.nearest_words(model, ["the cat"], 3).to_dict("records")
    assert not {"the", "cat"} & set(row["nearest words"].split(", "))
    with pytest.raises(InputError, match="no word of 'zyzzyva'"):
        study.nearest_words(model, ["zyzzyva"], 3)


def test_settings_are_those_of_the_table_and_a_rare_word_is_no_target() -> None:
    given = {"dim": 3, "epochs": 1, "lr": 0.5, "subsample": 1.0, "min_count": 7, "dropout_k": 0, "bucket": 10}
    made = study.settings(given, seed=4)
    assert made == Settings(**given, min_target_count=7, seed=4)
    assert study.settings(given | {"min_target_count": 9, "threads": 1}).min_target_count == 9
    for name in given:
        with pytest.raises(InputError, match=f"training: lacks '{name}'; give all of dim, epochs"):
            study.settings({key: value for key, value in given.items() if key != name})
    with pytest.raises(InputError, match="training: 'seed' is not known"):
        study.settings(given | {"seed": 3}, seed=4)


def test_a_collocation_is_more_frequent_than_its_words_let_expect() -> None:
    lines = ["holy ghost spoke .", "the holy ghost .", "the man spoke .", "the ghost spoke ."]
    # n(ab) less 1, over n(a) n(b): "holy ghost" 1 / (2 * 3), "ghost spoke" 1 / (3 * 3); punctuation is no word.
    assert study.collocations(lines, 5, discount=1) == ["holy ghost", "ghost spoke"]
    assert study.collocations(lines, 1, discount=1) == ["holy ghost"]


def test_a_phrase_is_not_its_own_neighbor(model) -> None:
    among = ["the cat", "a dog", "the bird"]
    assert set(study.nearest_phrases(model, "the cat", among, 5)) == {"a dog", "the bird"}
    vectors = study.Encoder(model)(["a cat", *among])
    cosines = vectors[1:] @ vectors[0] / np.linalg.norm(vectors[1:], axis=1)
    assert study.nearest_phrases(model, "a cat", among, 1) == [among[int(np.argmax(cosines))]]


def test_a_pretrained_model_stands_beside_its_own_row_and_others_beside_their_kind() -> None:
    ratings = pd.DataFrame(
        [("sent2vec-wiki-unigrams", "SICK-R", 0.70, 0.69, 0.71, 0.6), ("tfidf", "Lee", 0.5, 0.4, 0.6, 0.5)],
        columns=["embedder", "dataset", "pearson", "low", "high", "spearman"],
    )
    classes = pd.DataFrame(
        [("w2v-corpus", "MRPC", 0.7, 0.6, 0.8, 0.8)], columns=["embedder", "dataset", "accuracy", "low", "high", "f1"]
    )
    table = study.beside(ratings, classes).set_index(["embedder", "measure"])
    seven, one = published.load("sent2vec_table7"), published.load("sent2vec_table1")
    stated = seven[(seven["model"] == "Sent2Vec wiki uni.") & (seven["dataset"] == "SICK 2014")].set_index("measure")
    assert table.loc[("sent2vec-wiki-unigrams", "pearson"), "published"] == stated.loc["pearson", "value"]
    assert table.loc[("sent2vec-wiki-unigrams", "pearson"), "ours"] == 0.70
    skipgram = one[(one["model"] == "Skipgram") & (one["dataset"] == "MSRP")].set_index("measure")["value"]
    assert table.loc[("w2v-corpus", "accuracy"), "published"] == skipgram["accuracy"]
    assert table.loc[("w2v-corpus", "f1"), "ours"] == pytest.approx(80)
    assert "tfidf" not in table.index.get_level_values(0)


def test_table_4_has_the_average_over_the_files_of_sts() -> None:
    rows = [
        ("glove-6b-50d+sif", "STS14 images", 0.6),
        ("glove-6b-50d+sif", "STS14 OnWN", 0.8),
        ("tfidf", "SICK-R", 0.5),
    ]
    ratings = pd.DataFrame(rows, columns=["embedder", "dataset", "pearson"])
    classes = pd.DataFrame([("glove-6b-50d+sif", "Books", 0.5)], columns=["embedder", "dataset", "accuracy"])
    (row,) = study.beside_smoothed(ratings, classes).to_dict("records")
    assert (row["in the paper"], row["dataset"], row["published"]) == ("GloVe + WR", "STS 2014", 0.685)
    assert row["ours"] == pytest.approx(0.7)


def test_every_counterpart_is_a_row_of_the_paper() -> None:
    tables = {number: published.load(f"sent2vec_table{number}") for number in (1, 2, 6, 7)}
    for supervised, unsupervised in study.KIND.values():
        assert supervised in set(tables[1]["model"])
        assert unsupervised in set(tables[2]["model"])
    for data, supervised, unsupervised in study.PRETRAINED.values():
        assert supervised in set(tables[6][tables[6]["data"] == data]["model"])
        assert unsupervised in set(tables[7]["model"])
    datasets = set(tables[2]["dataset"]) | set(tables[1]["dataset"])
    assert set(study.PUBLISHED_NAMES.values()) == datasets - {"average"}
