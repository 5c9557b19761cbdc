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
from sklearn.metrics.pairwise import cosine_similarity

from lib.neighbors import Neighbors, approximate, exact, tuning
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


@st.composite
def searches(draw):
    """Vectors that trip up an index: few, tied, repeated, zero; many exclusions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(4, 120))
    d = draw(st.integers(1, 12))
    vectors = rng.integers(-9, 10, size=(n, d)) // draw(st.sampled_from([1, 5]))
    vectors[rng.random(n) < draw(st.sampled_from([0, 0.1, 0.9]))] = 0
    vectors[0] = 1
    sizes = rng.integers(0, n // 2, n)
    excluded = [rng.choice(n, size, replace=False).tolist() for size in sizes]
    return vectors.astype(np.float32), draw(st.integers(1, n - n // 2)), excluded


@pytest.mark.parametrize("method", METHODS)
# Not shrunk: every failing search is as good as any, and the seed reproduces it.
@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(searches())
def test_k_distinct_allowed_neighbors_sorted_with_their_true_cosines_at_the_least_effort(  # noqa: E501
    method, search
) -> None:
    vectors, k, excluded = search
    options = {}
    if method == "ivf":
        options["nlist"] = min(4, int(vectors.any(axis=1).sum()))
    index = approximate.build(vectors, method, **options)
    found = index.search(vectors, k, excluded, effort=index.efforts(k)[0])
    assert found.ids.shape == (len(vectors), k)
    true = np.take_along_axis(cosine_similarity(vectors), found.ids, axis=1)
    np.testing.assert_allclose(found.similarities, true, atol=1e-6)
    assert (np.diff(found.similarities) <= 0).all()
    for ids, hidden in zip(found.ids, excluded, strict=True):
        assert len(set(ids) - set(hidden)) == k
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


# -- recall and tuning -----------------------------------------------------------------


def test_recall_by_ids_is_the_share_of_true_neighbors_found_in_any_order() -> None:
    truth = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    found = np.array([[4, 3, 9, 1], [0, 1, 2, 3]])
    assert tuning.recall_by_ids(found, truth).tolist() == [0.75, 0.0]


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.96, 0.99, 1.0])
def test_tuning_finds_the_least_effort_that_a_scan_over_all_finds(
    recall, corpus
) -> None:
    index = approximate.build(corpus, "ivf", nlist=40)
    held_out = np.arange(0, 1000, 20)
    queries = corpus[held_out]
    truth = exact(queries, corpus, 20, exclude=held_out)
    recalls = []
    for nprobe in range(1, 41):
        ids = index.search(queries, 20, held_out, effort=nprobe).ids
        recalls.append(tuning.recall_by_ids(ids, truth.ids).mean())
    least = int(np.argmax(np.array(recalls) >= recall))
    expected = (1 + least, recalls[least])
    for known in (None, truth):
        tuned = tuning.tune(index, queries, 20, recall, known, held_out)
        assert tuned == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_recall_that_cannot_be_reached_gets_the_most_effort(method, corpus) -> None:
    index = build(corpus[:300], method)
    truth = exact(corpus[:20], corpus[:300], 10)
    # Half of the "true" neighbors are the farthest.
    ids = np.vstack([exact(-corpus[:10], corpus[:300], 10).ids, truth.ids[10:]])
    known = Neighbors(ids, truth.similarities)
    tuned = tuning.tune(index, corpus[:20], 10, 0.9, truth=known)
    assert tuned == (index.efforts(10)[-1], 0.5)


# -- bad input -------------------------------------------------------------------------


def spoiled(corpus: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(corpus))[:, None] == 3, np.nan, corpus)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda corpus: approximate.build(corpus, "lsh"), "accepted: hnsw, ivf, ngt"),
        (
            lambda corpus: approximate.build(0 * corpus),
            "its 50 vectors are zero",
        ),
        (lambda corpus: approximate.build(csr_array(corpus)), "corpus: is sparse"),
        (lambda corpus: approximate.build(spoiled(corpus)), "row 3 contains NaN"),
        (
            lambda corpus: approximate.build(corpus).search(spoiled(corpus), 1),
            "queries: row 3 contains NaN or infinity",
        ),
        (
            lambda corpus: approximate.build(corpus).search(corpus[:2], 50, [0, -1]),
            "give 1 to 49",
        ),
        (
            lambda corpus: tuning.tune(approximate.build(corpus), corpus, 1, 1.01),
            "recall: 1.01 is not accepted",
        ),
    ],
)
def test_bad_input_gets_a_sentence(corpus, call, message) -> None:
    with refused(message):
        call(corpus[:50])


def test_without_the_package_ngt_it_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ngtpy", None)
    with refused("pip install ngt"):
        approximate.build(np.eye(3, dtype=np.float32), "ngt")
