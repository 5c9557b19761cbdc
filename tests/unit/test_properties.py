"""Invariants of the measures, for vectors with ties and zero rows, dense and sparse."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import n2o, neighbors, retrieval, similarity
from lib.studies import popularity
from tests.sizes import CASES

SEEDS = st.integers(0, 2**32 - 1)
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array])


def vectors(seed: int, rows: int, dim: int) -> np.ndarray:
    """Small whole numbers, of which many are alike, times a row's length; some rows are zero."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0.0, 1e-3, 1.0, 7.0, 1e4], size=(rows, 1))
    return (rng.integers(-2, 3, (rows, dim)) * lengths).astype(np.float32)


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """In double precision; 0 with a zero row."""
    units = []
    for side in (left.astype(np.float64), right.astype(np.float64)):
        lengths = np.linalg.norm(side, axis=1, keepdims=True)
        units.append(side / np.where(lengths > 0, lengths, 1))
    return units[0] @ units[1].T


@FORMS
@settings(max_examples=CASES)
@given(SEEDS, st.integers(3, 30), st.integers(1, 9), st.data())
def test_exact_search_is_brute_force_ties_to_the_lower_index(form, seed, rows, dim, data) -> None:
    corpus = vectors(seed, rows, dim)
    k = data.draw(st.integers(1, rows - 1))
    own = np.arange(min(rows, 5))
    found = neighbors.exact(form(corpus[own]), form(corpus), k, exclude=own)
    truth = np.round(cosines(corpus[own], corpus), 12)
    truth[own, own] = -np.inf
    np.testing.assert_array_equal(found.ids, np.argsort(-truth, axis=1, kind="stable")[:, :k])


@FORMS
@settings(max_examples=CASES)
@given(SEEDS, st.integers(2, 30), st.integers(1, 9))
def test_cosines_of_pairs_are_those_of_plain_arithmetic(form, seed, rows, dim) -> None:
    left, right = vectors(seed, rows, dim), vectors(seed + 1, rows, dim)
    found = similarity.cosine(form(left), form(right))
    np.testing.assert_allclose(found, cosines(left, right).diagonal(), atol=1e-6)
    np.testing.assert_allclose(similarity.cosine(form(right), form(left)), found, atol=1e-12)


@settings(max_examples=CASES)
@given(SEEDS, st.integers(1, 6), st.integers(1, 5))
def test_overlap_is_that_of_sets_and_symmetric(seed, k, queries) -> None:
    rng = np.random.default_rng(seed)
    a, b = (np.stack([rng.choice(12, k, replace=False) for _ in range(queries)]) for _ in "ab")
    expected = [len(set(left) & set(right)) / k for left, right in zip(a.tolist(), b.tolist(), strict=True)]
    assert n2o.overlap(a, b).tolist() == n2o.overlap(b, a[:, ::-1]).tolist() == expected


@settings(max_examples=CASES)
@given(SEEDS, st.integers(1, 4))
def test_popularity_counts_embedders(seed, embedders) -> None:
    rng = np.random.default_rng(seed)
    lists = {f"e{i}": np.stack([rng.choice(9, 3, replace=False) for _ in range(2)]) for i in range(embedders)}
    table = popularity.popular(lists, 3)
    counted = Counter((query, int(id)) for ids in lists.values() for query, row in enumerate(ids) for id in row)
    assert {(row.query, row.sentence): row.popularity for row in table.itertuples()} == counted


@settings(max_examples=CASES)
@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=9))
def test_mean_reciprocal_rank_is_the_mean_of_reciprocals(ranks) -> None:
    truth = float(sum(Fraction(1, rank) for rank in ranks) / len(ranks))
    assert retrieval.mean_reciprocal_rank(ranks) == pytest.approx(truth, rel=1e-12)
