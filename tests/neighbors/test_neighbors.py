"""`exact` returns what float64 brute force returns, ties to the lower index.

The way the work is screened and cut makes no difference.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lib.neighbors import exact, of_each
from lib.neighbors.brute_force import nearest
from lib.neighbors.contract import Best, exclusions
from lib.neighbors.dense import Bfloat16, Float32, Gpu
from lib.neighbors.sparse import Sparse
from tests.refusals import refused

SCREENS = {
    "float32": Float32,
    "bfloat16": Bfloat16,
    "device": partial(Gpu, device="cpu"),
}


def unit(vectors: np.ndarray) -> np.ndarray:
    vectors = vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def brute(
    queries: np.ndarray, corpus: np.ndarray, k: int, exclude: list
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The definition, without blocks or screening.

    Also the rows whose order depends on the last bits of a sum.
    """
    cosines = (unit(queries)[:, None] * unit(corpus)[None]).sum(axis=2)
    for row, hidden in zip(cosines, exclude, strict=True):
        row[[index for index in np.ravel(hidden).astype(int) if index >= 0]] = -np.inf
    ids = np.argsort(-np.round(cosines, 12), axis=1, kind="stable")[:, :k]
    nearest = np.take_along_axis(cosines, ids, axis=1)
    with np.errstate(invalid="ignore"):
        # Rounded up or down by the order of summation.
        between = np.abs(cosines * 1e12 % 1 - 0.5) < 2e-3
    is_open = between & (cosines > nearest[:, -1:] - 1e-11)
    return ids, nearest, is_open.any(axis=1)


def search(
    engine: str, queries, corpus, k: int, exclude=None, rows=None, group=None, threads=2
) -> Best:
    """Search with a given screen, block rows, queries at a time, and threads."""
    if engine == "sparse":
        screen = Sparse(sp.csr_array(queries), sp.csr_array(corpus))
    else:
        screen = SCREENS[engine](unit(queries), corpus)
    screen.rows = rows or screen.rows
    screen.query_step = group or screen.query_step
    excluded = exclusions(exclude, queries.shape[0], corpus.shape[0])
    return nearest(screen, k, excluded, threads=threads)


KINDS = ("random", "repeated", "integers", "near ties", "nearer ties", "one cluster")


@st.composite
def searches(draw):
    """Vectors of the kinds that trip up a search, and a search among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 90))
    d = draw(st.integers(1, 70))
    vectors = rng.normal(size=(n, d))
    kind = draw(st.sampled_from(KINDS))
    if kind == "repeated":
        vectors = vectors[rng.integers(0, max(1, n // 6), n)]
    if kind == "integers":
        vectors = rng.integers(-1, 2, size=(n, d)).astype(float)
    if kind == "near ties":  # cosines that differ by less than bfloat16 sees
        vectors = vectors[:1] + 1e-3 * vectors
    if kind == "nearer ties":  # and than float32 sees
        vectors = vectors[:1] + 1e-5 * vectors
    if kind == "one cluster":
        vectors = 5 + vectors
    if kind != "nearer ties":
        vectors = vectors.astype(draw(st.sampled_from(["f4", "f8"])))
    vectors[rng.random(n) < 0.1] = 0
    queries = rng.integers(0, n, draw(st.integers(1, 12)))
    # At most two, so one vector is left where there are three.
    others = [[-1, i, [], [i, int(rng.integers(n))]] for i in queries.tolist()]
    exclude = [draw(st.sampled_from(choices if n > 2 else [-1])) for choices in others]
    k = draw(st.integers(1, max(1, n - 2)))
    cuts = {
        "rows": draw(st.integers(1, n + 3)),
        "group": draw(st.integers(1, 13)),
        "threads": draw(st.integers(1, 3)),
    }
    return vectors[queries], vectors, k, exclude, cuts


# Not shrunk: every failing search is as good as any, and the seed reproduces it.
@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(searches())
def test_same_ids_as_float64_brute_force_whatever_the_screen_and_the_cuts(
    drawn,
) -> None:
    queries, corpus, k, exclude, cuts = drawn
    ids, cosines, open_rows = brute(queries, corpus, k, exclude)
    for engine in (*SCREENS, "sparse"):
        found = search(engine, queries, corpus, k, exclude, **cuts)
        np.testing.assert_array_equal(
            found.ids[~open_rows], ids[~open_rows], err_msg=engine
        )
        np.testing.assert_allclose(
            found.similarities, cosines, rtol=0, atol=2e-12, err_msg=engine
        )


def of_few_bits(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Vectors halfway between bfloat16 numbers, all of one sign: errors add up."""
    return 1 + (2 * rng.integers(0, 100, size=(n, d)) + 1) * 2.0**-8


def errors_and_margin(screen: Float32, corpus: np.ndarray) -> tuple[np.ndarray, float]:
    """How far each score lies from its similarity, and how far it may."""
    block = screen.block(corpus, np.empty(corpus.shape, screen.unit_type))
    scores = screen.scores(slice(None), block)
    if scores.dtype == np.int16:
        scores = (scores.astype(np.int32) << 16).view(np.float32)
    np.testing.assert_allclose(block.norms, np.linalg.norm(corpus, axis=1), rtol=1e-12)
    return np.abs(np.asarray(scores) - screen.queries @ unit(corpus).T), screen.margin


@pytest.mark.parametrize("d", [1, 2, 7, 300, 2000])
@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
def test_scores_lie_within_their_margin(screen, d, rng) -> None:
    corpus = np.vstack([
        of_few_bits(rng, 60, d),
        rng.normal(size=(60, d)),
        rng.normal(size=(60, d)) * 10.0 ** rng.integers(-30, 30, size=(60, d)),
        np.eye(60, d),
        np.zeros((1, d)),
    ])  # fmt: skip
    errors, margin = errors_and_margin(screen(unit(corpus[::3]), corpus), corpus)
    assert errors.max() <= margin


def test_same_bytes_whatever_the_screen_threads_and_blocks(rng) -> None:
    corpus = (2 + rng.normal(size=(3000, 20))).astype(np.float32)
    queries = corpus[:50]
    cuts = [{"rows": 100, "threads": 1}, {"rows": 999, "threads": 3}, {"group": 7}]
    found = [
        search(engine, queries, corpus, 20, **cut) for engine in SCREENS for cut in cuts
    ]
    for other in found[1:]:
        assert other.similarities.tobytes() == found[0].similarities.tobytes()
        assert other.ids.tobytes() == found[0].ids.tobytes()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_neighbors_by_hand_where_zero_is_equally_far_from_everything(kind) -> None:
    corpus = np.array([[1, 0], [0, 1], [1, 1], [-1, 0], [0, 0]], dtype=np.float32)
    found = exact(kind(corpus[[0, 4]]), kind(corpus), 4, exclude=[0, -1])
    assert found.ids.tolist() == [[2, 1, 4, 3], [0, 1, 2, 3]]
    expected = [[np.sqrt(0.5), 0, 0, -1], [0, 0, 0, 0]]
    np.testing.assert_allclose(found.similarities, expected, atol=1e-7)
    assert (found.ids.dtype, found.similarities.dtype) == (np.int64, np.float32)


def test_no_queries_no_neighbors_and_no_dimensions_no_difference() -> None:
    for kind in (np.asarray, sp.csr_array):
        assert exact(kind(np.empty((0, 3))), kind(np.eye(3)), 2).ids.shape == (0, 2)
    assert exact(np.empty((1, 0)), np.empty((5, 0)), 2).ids.tolist() == [[0, 1]]


def test_vectors_are_taken_as_they_lie(rng) -> None:
    """Strides, byte orders, other numbers, lists: all the same."""
    corpus = rng.integers(-90, 90, size=(700, 12)).astype(np.float32)
    expected = exact(corpus[:9], corpus, 30)
    wide = np.repeat(np.repeat(corpus, 2, axis=0), 2, axis=1)
    others = [wide[::2, ::2], np.asfortranarray(corpus), corpus.tolist()]
    others += [corpus.astype(kind) for kind in (">f4", "f2", "f8", "i8")]
    for other in others:
        found = exact(other[:9], other, 30)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.similarities, expected.similarities)


def test_sparse_arrays_of_any_make_are_searched_alike(rng) -> None:
    dense = rng.integers(-2, 3, size=(40, 15)) * (rng.random((40, 15)) < 0.4)
    expected = exact(dense.astype(float), dense.astype(float), 40)
    for corpus in (sp.csr_matrix(dense), sp.coo_array(dense)):
        np.testing.assert_array_equal(exact(corpus, corpus, 40).ids, expected.ids)


# -- what is refused -------------------------------------------------------------------


THREE = np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 0}, "k: 0 is not accepted; give 1 to 3"),
        ({"k": 3, "exclude": [0, 1, 2]}, "k: 3 is not accepted; give 1 to 2"),
        ({"k": True}, "k: True is not accepted; give 1 to 3"),
        (
            {"queries": THREE[:1], "corpus": THREE[:1], "exclude": [0]},
            "k: 1 needs more text (a corpus of 1 minus what a query may not return); "
            "give a longer one",
        ),
        ({"exclude": [0]}, "1 entries for 3 queries"),
        (
            {"exclude": [0, 1, 3]},
            "exclude[2]: 3 is not an index of the corpus; give 0 to 2, or -1 for none",
        ),
        ({"device": "gpu"}, "device: 'gpu' is not known"),
        ({"corpus": np.eye(4)}, "queries have 3 dimensions, the corpus has 4"),
        ({"queries": THREE[0]}, "; give a two-dimensional array"),
        ({"queries": sp.csr_array(THREE)}, "one is sparse"),
        ({"corpus": THREE.astype(complex)}, "corpus: Complex data not supported; give"),
    ],
)
def test_bad_arguments_get_a_sentence(changed, message) -> None:
    with refused(message):
        exact(**{"queries": THREE, "corpus": THREE, "k": 1} | changed)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.float64])
def test_nan_and_infinity_are_refused_with_their_row(bad, kind) -> None:
    good = np.eye(30, dtype=np.float32)
    vectors = good.copy()
    vectors[17, 1] = bad
    with refused("corpus: row 17 contains NaN or infinity"):
        exact(kind(good), kind(vectors), 1)
    with refused("queries: row 17 contains NaN or infinity"):
        exact(kind(vectors), kind(good), 1)


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(device) -> None:
    import torch

    place = torch.cuda if device == "cuda" else torch.backends.mps
    if place.is_available():
        pytest.skip(f"this machine has {device}")
    with refused(f"device: '{device}' is not available here; give 'cpu' or 'auto'"):
        exact(np.eye(3), np.eye(3), 1, device=device)


def test_a_gpu_finds_what_the_processor_finds(rng) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this machine has no NVIDIA GPU")
    corpus = rng.normal(size=(40_000, 30)).astype(np.float32)
    corpus[17] = 0
    corpus[30_000:30_010] = corpus[5]
    queries = np.arange(700)
    given = corpus[queries], corpus, 20, queries
    there = exact(*given, device="cuda")
    here = exact(*given, device="cpu")
    np.testing.assert_array_equal(there.ids, here.ids)
    np.testing.assert_array_equal(there.similarities, here.similarities)


def test_each_embedder_finds_its_own_neighbors_and_no_query_finds_itself(rng) -> None:
    queries = np.array([3, 0, 7])
    vectors = {
        "dense": rng.normal(size=(20, 4)),
        "sparse": sp.csr_array(rng.poisson(1, size=(20, 9))),
    }
    found = of_each(vectors, queries, 5)
    assert list(found) == list(found.seconds) == ["dense", "sparse"]
    for name, array in vectors.items():
        alone = exact(array[queries], array, 5, exclude=queries)
        np.testing.assert_array_equal(found[name].ids, alone.ids)
