"""Exact searches other than the paper's: in a part of the corpus, and by Euclidean distance.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 6 (run time) and section 2.2, which names
Euclidean distance as another way to define nearness.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from lib import embedders
from lib.corpora import Corpus
from lib.neighbors import Neighbors, exact
from lib.neighbors.brute_force import choose, nearest
from lib.neighbors.contract import Vectors, check, check_finite
from lib.run import progress
from lib.store import EmbeddingStore

BLOCK = 8192  # vectors whose lengths are computed together
ALIKE = 1e-6  # lengths that differ by no more than this share are equal but for the rounding of float32


def embeddings(names: Sequence[str], corpus: Corpus) -> dict[str, Vectors]:
    """The embeddings of a corpus under embedders of the registry, from the store."""
    store = EmbeddingStore()
    tracked = progress.track(names, "embedders", unit="embedders")
    return {name: store.embed(embedders.load(name), corpus, show_progress_bar=True) for name in tracked}


def search(
    vectors: Mapping[str, Vectors],
    queries: np.ndarray,
    k: int,
    among: np.ndarray | None = None,
    find: Callable[..., Neighbors] = exact,
) -> tuple[dict[str, Neighbors], dict[str, float]]:
    """The k nearest neighbors of some sentences under each embedder, each query left out of its own list.

    Parameters
    ----------
    vectors : for each embedder the embeddings of the corpus
    queries : int[q], corpus indices
    among : int[m], ascending corpus indices in which to search; None for the whole corpus. A query need not be one
        of them, so that the same queries can be asked of every part of a corpus.
    find : `exact` (cosine) or `euclidean`

    Returns
    -------
    found : for each embedder its Neighbors; ids are indices into the whole corpus
    seconds : for each embedder the time of the search alone
    """
    among = np.arange(next(iter(vectors.values())).shape[0]) if among is None else among
    place = np.minimum(np.searchsorted(among, queries), len(among) - 1)
    exclude = np.where(among[place] == queries, place, -1)
    found, seconds = {}, {}
    for name in progress.track(list(vectors), f"search {len(among):,} sentences", unit="embedders"):
        everything = vectors[name]
        corpus = everything if len(among) == everything.shape[0] else everything[among]
        asked = everything[queries]
        started = time.perf_counter()
        ids, similarities = find(asked, corpus, k, exclude)
        seconds[name] = time.perf_counter() - started
        found[name] = Neighbors(among[ids], similarities)
    return found, seconds


def nested_subsets(n: int, shares: Sequence[float], k: int, rng: np.random.Generator) -> dict[float, np.ndarray]:
    """Random parts of a corpus of `n` sentences, each part of the next.

    Parameters
    ----------
    shares : ascending, in (0, 1]
    k : parts without `k` sentences beside a query are left out

    Returns
    -------
    for each share int64[m], ascending corpus indices, m the share of n to the nearest
    """
    order = rng.permutation(n)
    sizes = {share: round(share * n) for share in shares}
    return {share: np.sort(order[:size]) for share, size in sizes.items() if size > k}


def kind(vectors: Vectors) -> str:
    """What the time of a search depends on: "sparse", or "dense" and how many dimensions."""
    if sp.issparse(vectors):
        return "sparse"
    dim = vectors.shape[1]
    if dim <= 100:
        return "dense, up to 100-d"
    return "dense, up to 300-d" if dim <= 300 else "dense, above 300-d"


# -- Euclidean distance -------------------------------------------------------------------------


def euclidean(
    queries: Vectors, corpus: Vectors, k: int, exclude: Sequence[int] | Sequence[Sequence[int]] | None = None
) -> Neighbors:
    """Find the `k` corpus vectors at the least Euclidean distance from each query, exactly.

    With corpus vectors no longer than 1, q' = (2 q, -1, 0) and x' = (x, |x|^2, sqrt(2 - |x|^2 - |x|^4)), all x' are
    equally long, and q' x' = |q|^2 - |q - x|^2: where the cosine of these is greatest, the distance of those is
    least. So this is the exact search by cosine, in two more dimensions.

    Parameters
    ----------
    queries, corpus, k, exclude : as for `lib.neighbors.exact`

    Returns
    -------
    Neighbors
        The similarities are minus the distances. Squared distances that agree to 11 decimals of the greatest squared
        length are tied; ties go to the lower index. Corpus vectors whose lengths are equal but for the rounding of
        float32 are taken to be equally long, so that their neighbors are those by cosine.

    Raises
    ------
    InputError
        As `lib.neighbors.exact`.
    """
    queries, corpus, excluded = check(queries, corpus, k, exclude)
    lengths = lengths_of(corpus)
    longest = float(lengths.max()) or 1.0
    all_alike = lengths.min() >= (1 - ALIKE) * longest
    divisors = lengths if all_alike else np.full(len(lengths), longest)
    squares = (lengths / divisors) ** 2
    more = np.column_stack([squares, np.sqrt(np.maximum(2 - squares - squares**2, 0))])
    lifted = _append(corpus, divisors, more) if sp.issparse(corpus) else _Lifted(corpus, divisors, more)
    asked = _append(queries, np.full(queries.shape[0], longest / 2), np.tile([-1.0, 0.0], (queries.shape[0], 1)))
    cosines, ids = nearest(choose(asked, lifted), k, excluded)
    return Neighbors(ids, -_distances(cosines, lengths_of(queries) / longest, longest).astype(np.float32))


def _distances(cosines: np.ndarray, lengths: np.ndarray, longest: float) -> np.ndarray:
    """float64[q, k], from the cosines of lifted vectors and the queries' lengths, float64[q], in units of `longest`."""
    squares = lengths[:, None] ** 2
    return longest * np.sqrt(np.maximum(squares - cosines * np.sqrt(2 * (4 * squares + 1)), 0))


class _Lifted:
    """Dense corpus vectors in two more dimensions, made as they are read: a search reads them block by block."""

    ndim, dtype = 2, np.dtype(np.float64)

    def __init__(self, vectors: np.ndarray, divisors: np.ndarray, more: np.ndarray) -> None:
        self.vectors, self.divisors, self.more = vectors, divisors, more
        self.shape = (vectors.shape[0], vectors.shape[1] + more.shape[1])

    def __getitem__(self, rows: slice) -> np.ndarray:
        return _append(self.vectors[rows], self.divisors[rows], self.more[rows])


def _append(vectors: Vectors, divisors: np.ndarray, more: np.ndarray) -> Vectors:
    """Each row divided by its number, float64, with more columns after it."""
    if sp.issparse(vectors):
        return sp.hstack([sp.diags_array(1 / divisors) @ vectors.astype(np.float64), more], format="csr")
    return np.hstack([vectors.astype(np.float64) / divisors[:, None], more])


def lengths_of(vectors: Vectors) -> np.ndarray:
    """The Euclidean lengths of the vectors, float64[n]; InputError for NaN or infinity."""
    lengths = np.empty(vectors.shape[0])
    for start in range(0, len(lengths), BLOCK):
        part = vectors[start : start + BLOCK].astype(np.float64)
        squares = part.multiply(part) if sp.issparse(part) else part**2
        lengths[start : start + BLOCK] = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    check_finite(lengths, "vectors")
    return lengths
