"""Popular neighbors and outliers: by hand, by sets, and invariances."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import popularity as audited
from lib import corpora
from lib.studies import popularity

# One query; the sentences are 1 to 5.
TOY = {
    "A": np.array([[1, 2, 3]]),
    "B": np.array([[1, 3, 2]]),
    "C": np.array([[2, 1, 3]]),
    "D": np.array([[1, 4, 5]]),
}


def rows(table: pd.DataFrame, *columns: str) -> list[tuple]:
    return list(table[list(columns)].itertuples(index=False, name=None))


@pytest.fixture
def corpus() -> corpora.Corpus:
    sentences = ["The cat sleeps.", "A cat sleeps, too.", "Dogs bark!"]
    sentences += ["Today Ann saw Bob.", "Then Bob left."]
    documents = np.array([0, 0, 0, 1, 1], np.int32)
    groups = np.array([7, 7, -1, -1, 8], np.int32)
    ledes = np.array([0, 3], np.int32)
    return corpora.Corpus("small", sentences, documents, ledes, groups)


def test_the_toy_of_the_lesson_by_hand() -> None:
    popular = rows(popularity.popular(TOY, 2), "sentence", "popularity")
    assert popular == [(1, 4), (2, 2), (3, 1), (4, 1)]
    outliers = popularity.outliers(TOY, near=2, far=3)
    assert rows(outliers, "embedder", "rank", "sentence") == [("D", 2, 4)]
    counts = popularity.found_by(TOY, 3)["popularity"].tolist()
    assert counts == [4, 3, 3, 4, 3, 3, 3, 4, 3, 4, 1, 1]


@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 4),
    st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)),
)
def test_outliers_are_in_nobody_elses_list(seed, embedders, queries, depths) -> None:
    near, far, k = sorted(depths)
    lists = [[[*range(9)]] * queries] * embedders  # few sentences, many overlaps
    lists = np.random.default_rng(seed).permuted(lists, axis=2)[:, :, :k]
    ids = dict(enumerate(lists))
    expected = set()
    for query, name in itertools.product(range(queries), ids):
        others = [ids[other][query, :far] for other in ids if other != name]
        elsewhere = {sentence for each in others for sentence in each.tolist()}
        for rank, sentence in enumerate(ids[name][query, :near].tolist(), start=1):
            if sentence not in elsewhere:
                expected.add((query, str(name), rank, sentence))
    table = popularity.outliers(ids, near, far)
    assert set(rows(table, "query", "embedder", "rank", "sentence")) == expected
    assert rows(table, "query", "rank") == sorted(rows(table, "query", "rank"))


def test_pairs_are_described_by_words_names_meaning_and_document(corpus) -> None:
    pairs = pd.DataFrame({"query": [0, 0, 1], "sentence": [1, 2, 4]})
    table = audited.describe(pairs, corpus, np.array([0, 3]))
    # the cat sleeps | a cat sleeps too; Ann Bob | Bob
    np.testing.assert_allclose(table["overlap"], [2 / 5, 0, 1 / 6])
    np.testing.assert_allclose(table["names"], [np.nan, np.nan, 1 / 2])
    assert table["same"].tolist() == [True, False, False]
    assert table["document"].tolist() == [True, True, True]


def test_paraphrases_are_the_other_members_of_a_group(corpus) -> None:
    found = audited.paraphrases(corpus, np.array([1, 2, 4]))
    assert rows(found, "query", "sentence") == [(0, 0)]
