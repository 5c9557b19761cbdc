"""Popular neighbors and outliers: by hand, by sets, and invariances."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import corpora
from lib.run.errors import InputError
from lib.studies import popularity

# One query; the sentences are 1 to 5.
TOY = {
    name: np.array([lists])
    for name, lists in {
        "A": [1, 2, 3],
        "B": [1, 3, 2],
        "C": [2, 1, 3],
        "D": [1, 4, 5],
    }.items()
}


def rows(table: pd.DataFrame, *columns: str) -> list[tuple]:
    return list(table[list(columns)].itertuples(index=False, name=None))


@st.composite
def neighbor_lists(draw) -> dict[str, np.ndarray]:
    """Lists of a few embedders for a few queries over few sentences: many overlaps."""
    embedders, queries, k = (
        draw(st.integers(1, 5)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 6)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return {
        f"e{i}": np.array([rng.choice(9, k, replace=False) for _ in range(queries)])
        for i in range(embedders)
    }


@pytest.fixture
def corpus() -> corpora.Corpus:
    sentences = [
        "The cat sleeps.",
        "A cat sleeps, too.",
        "Dogs bark!",
        "Today Ann saw Bob.",
        "Then Bob left.",
    ]
    documents = np.array([0, 0, 0, 1, 1], np.int32)
    groups = np.array([7, 7, -1, -1, 8], np.int32)
    return corpora.Corpus(
        "small", sentences, documents, np.array([0, 3], np.int32), groups
    )


def test_the_toy_of_the_lesson_by_hand() -> None:
    assert rows(popularity.popular(TOY, 2), "sentence", "popularity") == [
        (1, 4),
        (2, 2),
        (3, 1),
        (4, 1),
    ]
    assert rows(
        popularity.outliers(TOY, near=2, far=3), "embedder", "rank", "sentence"
    ) == [("D", 2, 4)]
    assert popularity.found_by(TOY, 3)["popularity"].tolist() == [
        4,
        3,
        3,
        4,
        3,
        3,
        3,
        4,
        3,
        4,
        1,
        1,
    ]


@given(neighbor_lists(), st.data())
def test_outliers_are_in_nobody_elses_list(ids, data) -> None:
    queries, stored = next(iter(ids.values())).shape
    far = data.draw(st.integers(1, stored))
    near = data.draw(st.integers(1, far))
    expected = set()
    for query, name in itertools.product(range(queries), ids):
        others = set().union(
            *(ids[other][query, :far].tolist() for other in ids if other != name)
        )
        nearest = enumerate(ids[name][query, :near].tolist(), start=1)
        expected |= {(query, name, rank, i) for rank, i in nearest if i not in others}
    table = popularity.outliers(ids, near, far)
    assert set(rows(table, "query", "embedder", "rank", "sentence")) == expected
    assert rows(table, "query", "rank") == sorted(rows(table, "query", "rank"))


def test_pairs_are_described_by_words_names_meaning_and_document(corpus) -> None:
    pairs = pd.DataFrame({"query": [0, 0, 1], "sentence": [1, 2, 4]})
    table = popularity.describe(pairs, corpus, np.array([0, 3]))
    np.testing.assert_allclose(
        table["overlap"], [2 / 5, 0, 1 / 6]
    )  # the cat sleeps | a cat sleeps too
    np.testing.assert_allclose(table["names"], [np.nan, np.nan, 1 / 2])  # Ann Bob | Bob
    assert table["same"].tolist() == [True, False, False]
    assert table["document"].tolist() == [True, True, True]


def test_paraphrases_are_the_other_members_of_a_group(corpus) -> None:
    assert rows(
        popularity.paraphrases(corpus, np.array([1, 2, 4])), "query", "sentence"
    ) == [(0, 0)]


def test_a_query_is_found_whatever_its_white_space_or_the_most_similar_one_is_named(
    corpus,
) -> None:
    assert popularity.find(corpus, " Dogs \tbark! ") == 2
    with pytest.raises(
        InputError,
        match=r"query: 'A cat sleeps!' is not a sentence of .* 'A cat sleeps, too\.'",
    ):
        popularity.find(corpus, "A cat sleeps!")
