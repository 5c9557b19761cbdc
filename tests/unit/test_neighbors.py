"""`exact` returns what float64 brute force returns, ties to the lower index."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lib.errors import InputError
from lib.neighbors import brute_force, exact


def brute(queries: np.ndarray, corpus: np.ndarray, k: int, exclude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The definition, without blocks or screening."""

    def unit(vectors: np.ndarray) -> np.ndarray:
        vectors = vectors.astype(np.float64)
        vectors = vectors / np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-300)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)

    cosines = np.round(unit(queries) @ unit(corpus).T, 12)
    rows = np.flatnonzero(exclude >= 0)
    cosines[rows, exclude[rows]] = -np.inf
    ids = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(cosines, ids, axis=1)


@st.composite
def searches(draw):
    """Vectors of the kinds that trip up a search: random, repeated, of few integers, of extreme lengths, near-ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 150)), draw(st.integers(1, 24))
    vectors = rng.normal(size=(n, d))
    kind = draw(st.sampled_from(["random", "repeated", "integers", "scales", "near ties"]))
    if kind == "repeated":
        vectors = vectors[rng.integers(0, max(1, n // 6), n)]
    if kind == "integers":
        vectors = rng.integers(-1, 2, size=(n, d)).astype(float)
    if kind == "scales":
        vectors *= 10.0 ** rng.integers(-20, 21, size=(n, 1))
    if kind == "near ties":
        vectors = vectors[:1] + 1e-3 * vectors  # cosines that differ by less than float32 sees
    vectors = vectors.astype(np.float32)
    vectors[rng.random(n) < 0.1] = 0
    k = draw(st.integers(1, n - 1))
    blocks = draw(st.integers(1, n + 3)), draw(st.integers(1, n + 3))
    return vectors, k, blocks


# Not shrunk: every failing search is as good as any, and the seed reproduces it.
@settings(max_examples=150, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(searches())
def test_same_ids_as_float64_brute_force_whatever_the_blocks(search) -> None:
    vectors, k, blocks = search
    itself = np.arange(len(vectors))
    itself[::5] = -1
    before = brute_force.CORPUS_BLOCK, brute_force.QUERY_BLOCK
    brute_force.CORPUS_BLOCK, brute_force.QUERY_BLOCK = blocks
    try:
        dense = exact(vectors, vectors, k, exclude=itself)
        sparse = exact(sp.csr_array(vectors), sp.csr_array(vectors), k, exclude=itself)
    finally:
        brute_force.CORPUS_BLOCK, brute_force.QUERY_BLOCK = before
    ids, cosines = brute(vectors, vectors, k, itself)
    np.testing.assert_array_equal(dense.ids, ids)
    np.testing.assert_array_equal(sparse.ids, ids)
    np.testing.assert_allclose(dense.similarities, cosines, atol=1e-7)


def test_hand_derived_neighbors() -> None:
    corpus = np.array([[1, 0], [0, 1], [1, 1], [-1, 0]], dtype=np.float32)
    found = exact(corpus[:1], corpus, 3, exclude=[0])
    assert found.ids.tolist() == [[2, 1, 3]]
    np.testing.assert_allclose(found.similarities, [[np.sqrt(0.5), 0, -1]], atol=1e-7)
    assert (found.ids.dtype, found.similarities.dtype) == (np.int64, np.float32)


def test_a_zero_vector_is_equally_far_from_everything_and_takes_the_lowest_indices() -> None:
    corpus = np.array([[-1, 0], [0, 0], [1, 0]], dtype=np.float32)
    assert exact(np.zeros((1, 2), np.float32), corpus, 2).ids.tolist() == [[0, 1]]
    assert exact(corpus[2:], corpus, 3).ids.tolist() == [[2, 1, 0]]


def test_several_exclusions_for_one_query() -> None:
    corpus = np.eye(4, dtype=np.float32)
    found = exact(corpus[:2], corpus, 2, exclude=[[0, 1], []])
    assert found.ids.tolist() == [[2, 3], [1, 0]]


def test_scaling_and_rotation_change_nothing(rng) -> None:
    corpus = rng.normal(size=(60, 8)).astype(np.float32)
    rotation = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    moved = (corpus @ rotation * 37).astype(np.float32)
    np.testing.assert_array_equal(exact(corpus, corpus, 5).ids, exact(moved, moved, 5).ids)


def test_no_queries_no_neighbors() -> None:
    assert exact(np.empty((0, 3), np.float32), np.eye(3, dtype=np.float32), 2).ids.shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k: 0 is not accepted; give 1 to 3"),
        ({"k": 4}, "k: 4 is not accepted; give 1 to 3"),
        ({"k": 3, "exclude": [0, 1, 2]}, "k: 3 is not accepted; give 1 to 2"),
        ({"k": 1, "exclude": [0]}, "1 entries for 3 queries"),
        ({"k": 1, "exclude": [0, 1, 3]}, "exclude[2]: 3 is not an index of the corpus; give 0 to 2"),
        ({"k": 1, "exclude": [0, -2, 1]}, "exclude[1]: -2 is not an index of the corpus"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, message) -> None:
    vectors = np.eye(3, dtype=np.float32)
    with pytest.raises(InputError) as error:
        exact(vectors, vectors, **arguments)
    assert message in str(error.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_nan_and_infinity_are_refused(bad, kind) -> None:
    vectors = np.eye(3, dtype=np.float32)
    vectors[1, 1] = bad
    with pytest.raises(InputError, match="NaN or infinity"):
        exact(kind(np.eye(3, dtype=np.float32)), kind(vectors), 1)


def test_unequal_dimensions_and_mixed_kinds_are_refused() -> None:
    three, four = np.eye(3, dtype=np.float32), np.eye(4, dtype=np.float32)
    with pytest.raises(InputError, match="queries have 3 dimensions, the corpus has 4"):
        exact(three, four, 1)
    with pytest.raises(InputError, match="one is sparse"):
        exact(sp.csr_array(three), three, 1)
