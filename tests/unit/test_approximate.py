"""Approximate search keeps the contract of `exact`.

Tuning finds the least effort, and recall is what its name says.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from benchmarks.approximate import recall_by_distance
from lib.neighbors import Neighbors, approximate, exact
from lib.run.errors import InputError
from tests.refusals import refused

NGT = pytest.param(
    "ngt",
    marks=pytest.mark.skipif(
        find_spec("ngtpy") is None, reason="needs the package ngt"
    ),
)
METHODS = ["hnsw", "ivf", NGT]
MOST = {"hnsw": 4096, "ivf": 4, "ngt": 3.0}
SETTINGS = {"hnsw": {}, "ivf": {"nlist": 4}, "ngt": {}}


def build(corpus: np.ndarray, method: str, **options: int) -> approximate.Index:
    return approximate.build(corpus, method, **(SETTINGS[method] | options))


@pytest.fixture(scope="module")
def corpus() -> np.ndarray:
    """1,000 vectors in clusters, as sentences of one subject are."""
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(40, 24))
    return (
        centers[rng.integers(0, 40, 1000)] + 0.5 * rng.normal(size=(1000, 24))
    ).astype(np.float32)


# -- the contract ----------------------------------------------------------------------


def cosines(queries: np.ndarray, corpus: np.ndarray) -> np.ndarray:
    """The definition, in float64; 0 where a vector is zero."""
    lengths = np.linalg.norm(queries.astype(float), axis=1)[:, None] * np.linalg.norm(
        corpus.astype(float), axis=1
    )
    return np.round(
        queries.astype(float)
        @ corpus.astype(float).T
        / np.where(lengths > 0, lengths, 1),
        12,
    )


@st.composite
def searches(draw):
    """Vectors that trip up an index: few, tied, repeated, zero; many exclusions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(4, 120)), draw(st.integers(1, 12))
    vectors = rng.integers(-9, 10, size=(n, d)) // draw(st.sampled_from([1, 5]))
    vectors[rng.random(n) < draw(st.sampled_from([0, 0.1, 0.9]))] = 0
    vectors[0] = 1
    excluded = [
        rng.choice(n, rng.integers(0, n // 2), replace=False).tolist() for _ in range(n)
    ]
    return vectors.astype(np.float32), draw(st.integers(1, n - n // 2)), excluded


@pytest.mark.parametrize("method", METHODS)
# Not shrunk: every failing search is as good as any, and the seed reproduces it.
@settings(max_examples=40, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(searches())
def test_k_distinct_allowed_neighbors_sorted_with_their_true_cosines_at_the_least_effort(  # noqa: E501
    method, search
) -> None:
    vectors, k, excluded = search
    index = build(
        vectors,
        method,
        **(
            {"nlist": min(4, int(vectors.any(axis=1).sum()))} if method == "ivf" else {}
        ),
    )
    found = index.search(vectors, k, excluded, effort=index.efforts(k)[0])
    assert (found.ids.shape, found.ids.dtype, found.similarities.dtype) == (
        (len(vectors), k),
        np.int64,
        np.float32,
    )
    true = cosines(vectors, vectors)
    np.testing.assert_allclose(
        found.similarities, np.take_along_axis(true, found.ids, axis=1), atol=1e-6
    )
    for row, (ids, similarities) in enumerate(
        zip(found.ids, found.similarities, strict=True)
    ):
        assert len(set(ids)) == k
        assert not set(ids) & set(excluded[row])
        assert (np.diff(similarities) <= 0).all()
    nearest = exact(vectors, vectors, k, excluded)
    assert (found.similarities <= nearest.similarities + 1e-6).all()


@pytest.mark.parametrize("method", ["hnsw", "ivf"])
def test_a_seed_gives_the_same_index_and_another_one_another(method, corpus) -> None:
    one, again, other = (
        build(corpus, method, seed=seed).search(corpus, 5, effort=1).ids
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("method", METHODS)
def test_with_every_effort_it_finds_what_exact_finds(method, corpus) -> None:
    queries = np.arange(0, 1000, 7)
    truth = exact(corpus[queries], corpus, 10, exclude=queries)
    found = build(corpus, method).search(
        corpus[queries], 10, exclude=queries, effort=MOST[method]
    )
    np.testing.assert_array_equal(found.ids, truth.ids)
    np.testing.assert_array_equal(found.similarities, truth.similarities)


# -- building --------------------------------------------------------------------------


# -- recall and tuning -----------------------------------------------------------------


def test_recall_by_ids_is_the_share_of_true_neighbors_found_in_any_order() -> None:
    truth = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    found = np.array([[4, 3, 9, 1], [0, 1, 2, 3]])
    assert approximate.recall_by_ids(found, truth).tolist() == [0.75, 0.0]


def test_recall_by_distance_does_not_punish_ties() -> None:
    truth = np.array([[0.9, 0.8, 0.8]], np.float32)
    found = np.array([[0.8, 0.8, 0.8 - 5e-7], [0.9, 0.8, 0.79]], np.float32)
    assert recall_by_distance(found, np.repeat(truth, 2, axis=0)).tolist() == [
        1.0,
        2 / 3,
    ]


@pytest.mark.parametrize(("n", "cells"), [(30, 1), (390, 10), (25_000, 632)])
def test_ivf_has_four_times_the_square_root_in_cells_but_39_vectors_in_each(
    n, cells
) -> None:
    vectors = np.random.default_rng(0).normal(size=(n, 2))
    assert approximate.build(vectors, "ivf").settings == {"nlist": cells}


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.96, 0.99, 1.0])
def test_tuning_finds_the_least_effort_that_a_scan_over_all_finds(
    recall, corpus
) -> None:
    index = approximate.build(corpus, "ivf", nlist=40)
    held_out = np.arange(0, 1000, 20)
    truth = exact(corpus[held_out], corpus, 20, exclude=held_out)
    found = [
        index.search(corpus[held_out], 20, held_out, effort=nprobe).ids
        for nprobe in range(1, 41)
    ]
    recalls = [approximate.recall_by_ids(ids, truth.ids).mean() for ids in found]
    tuned = approximate.tune(index, corpus[held_out], 20, recall, exclude=held_out)
    assert tuned.effort == 1 + next(
        i for i, value in enumerate(recalls) if value >= recall
    )
    assert tuned.recall_by_ids == recalls[tuned.effort - 1]
    assert tuned == approximate.tune(
        index, corpus[held_out], 20, recall, truth=truth, exclude=held_out
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_recall_that_cannot_be_reached_gets_the_most_effort(method, corpus) -> None:
    index = build(corpus[:300], method)
    truth = exact(corpus[:20], corpus[:300], 10)
    ids = truth.ids.copy()
    ids[:10] = exact(
        -corpus[:10], corpus[:300], 10
    ).ids  # half of the "true" neighbors are the farthest
    tuned = approximate.tune(
        index, corpus[:20], 10, 0.9, truth=Neighbors(ids, truth.similarities)
    )
    assert (tuned.recall_by_ids, tuned.effort) == (0.5, index.efforts(10)[-1])


# -- bad input -------------------------------------------------------------------------


def test_bad_input_gets_a_sentence(corpus) -> None:
    spoiled = corpus[:50].copy()
    spoiled[3, 3] = np.nan
    good = approximate.build(corpus[:50])
    for call, message in (
        (
            lambda: approximate.build(corpus, "lsh"),
            "method: 'lsh' is not known; accepted: hnsw, ivf, ngt",
        ),
        (
            lambda: approximate.build(np.zeros((3, 2))),
            "corpus: all of its 3 vectors are zero",
        ),
        (lambda: approximate.build(csr_array(np.eye(3))), "corpus: is sparse"),
        (lambda: approximate.build(spoiled), "corpus: row 3 holds NaN or infinity"),
        (lambda: good.search(spoiled, 1), "queries: row 3 holds NaN or infinity"),
        (lambda: good.search(corpus[:2], 50, exclude=[0, -1]), "give 1 to 49"),
        (
            lambda: approximate.tune(good, corpus[:2], 1, recall=1.01),
            "recall: 1.01 is not accepted",
        ),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_without_the_package_ngt_it_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ngtpy", None)
    with refused("pip install ngt"):
        approximate.build(np.eye(3, dtype=np.float32), "ngt")
