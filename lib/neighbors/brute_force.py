"""Exact nearest neighbors by cosine similarity, dense and sparse, in blocks.

Dense vectors are screened with a float32 matrix product. Everything that its rounding error could have kept
out of the k nearest is computed again in float64, so that the result is that of float64 brute force.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lib import progress
from lib.errors import InputError

QUERY_BLOCK = 256
CORPUS_BLOCK = 8192
PAIR_BLOCK = 32768
# Similarities that agree to 12 decimals are tied: the 13th holds nothing but the order of summation.
DECIMALS = 12

Vectors = np.ndarray | sp.csr_array | sp.csr_matrix


class Neighbors(NamedTuple):
    """Row i holds the k nearest neighbors of query i, nearest first.

    Attributes
    ----------
    ids : int64[q, k], indices into the corpus
    similarities : float32[q, k], cosines in [-1, 1], higher is nearer
    """

    ids: np.ndarray
    similarities: np.ndarray


def exact(
    queries: Vectors,
    corpus: Vectors,
    k: int,
    exclude: Sequence[int] | Sequence[Sequence[int]] | None = None,
    show_progress_bar: bool = False,
) -> Neighbors:
    """Find the `k` corpus vectors with the highest cosine similarity to each query.

    Parameters
    ----------
    queries : float[q, d], an array or a SciPy CSR array
    corpus : float[n, d], of the same kind; a memory-map will do
    k : int, at least 1
    exclude : for query i the corpus index that it may not return (itself, say), or a sequence of such
        indices; -1 or an empty sequence for none

    Returns
    -------
    Neighbors
        Ties go to the lower index. A zero vector has similarity 0 to everything.

    Raises
    ------
    InputError
        Unequal dimensions, NaN or infinity, an index in `exclude` that the corpus does not have, or fewer
        than `k` vectors left for some query.
    """
    sparse = sp.issparse(corpus)
    if sparse != sp.issparse(queries):
        raise InputError("queries and corpus: one is sparse and the other dense; give both of one kind")
    queries, corpus = (sp.csr_array(queries), sp.csr_array(corpus)) if sparse else (np.asarray(queries), corpus)
    _check_shapes(queries, corpus)
    excluded = _exclusions(exclude, queries.shape[0], corpus.shape[0])
    _check_k(k, excluded, corpus.shape[0])
    block_of = _SparseBlock if sparse else _DenseBlock
    found = []
    with progress.bar(queries.shape[0], "search", unit="queries", show=show_progress_bar) as bar:
        for start in range(0, queries.shape[0], QUERY_BLOCK):
            stop = min(start + QUERY_BLOCK, queries.shape[0])
            found.append(_search(block_of(queries[start:stop]), corpus, k, excluded[start:stop]))
            bar.update(stop - start)
    if not found:
        return Neighbors(np.empty((0, k), np.int64), np.empty((0, k), np.float32))
    similarities, ids = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Neighbors(ids, similarities.astype(np.float32))


# -- checks -------------------------------------------------------------------------------------


def _check_shapes(queries: Vectors, corpus: Vectors) -> None:
    if queries.ndim != 2 or corpus.ndim != 2:
        raise InputError(f"queries and corpus: give two-dimensional arrays, got {queries.shape} and {corpus.shape}")
    if queries.shape[1] != corpus.shape[1]:
        raise InputError(
            f"queries have {queries.shape[1]} dimensions, the corpus has {corpus.shape[1]}; give equal ones"
        )


def _exclusions(exclude: Sequence | None, q: int, n: int) -> list[np.ndarray]:
    """One array of distinct corpus indices for each query."""
    if exclude is None:
        return [np.empty(0, np.int64)] * q
    if len(exclude) != q:
        raise InputError(f"exclude: has {len(exclude)} entries for {q} queries; give one for each query")
    indices = [np.unique(np.atleast_1d(np.asarray(entry, dtype=np.int64))) for entry in exclude]
    indices = [entry[entry != -1] for entry in indices]
    for i, entry in enumerate(indices):
        if entry.size and (entry[0] < 0 or entry[-1] >= n):
            wrong = entry[0] if entry[0] < 0 else entry[-1]
            raise InputError(f"exclude[{i}]: {wrong} is not an index of the corpus; give 0 to {n - 1}, or -1 for none")
    return indices


def _check_k(k: int, excluded: list[np.ndarray], n: int) -> None:
    left = n - max(map(len, excluded), default=0)
    if not 1 <= k <= left:
        raise InputError(
            f"k: {k} is not accepted; give 1 to {left} (a corpus of {n}, less what a query may not return)"
        )


# -- search -------------------------------------------------------------------------------------


def _search(block: _DenseBlock | _SparseBlock, corpus: Vectors, k: int, excluded: list[np.ndarray]):
    """Similarities float64[q, k] and ids int64[q, k] of one block of queries, over blocks of the corpus."""
    q = len(excluded)
    best, ids = np.empty((q, 0)), np.empty((q, 0), np.int64)
    for start in range(0, corpus.shape[0], CORPUS_BLOCK):
        part = corpus[start : start + CORPUS_BLOCK]
        hidden = _mask(excluded, start, part.shape[0])
        similarities = block.similarities(part, k, best[:, k - 1] if best.shape[1] == k else None, hidden)
        part_ids = np.broadcast_to(np.arange(start, start + part.shape[0]), similarities.shape)
        best, ids = _best(np.hstack([best, similarities]), np.hstack([ids, part_ids]), k)
    return best, ids


def _mask(excluded: list[np.ndarray], start: int, length: int) -> np.ndarray:
    """bool[q, length]: which of the corpus vectors from `start` on a query may not return."""
    mask = np.zeros((len(excluded), length), dtype=bool)
    for row, indices in zip(mask, excluded, strict=True):
        row[indices[(indices >= start) & (indices < start + length)] - start] = True
    return mask


def _best(similarities: np.ndarray, ids: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest of each row, largest first; among equal ones those further left, which have lower ids."""
    if similarities.shape[1] > k:
        level = -np.partition(-similarities, k - 1, axis=1)[:, k - 1 : k]
        above = similarities > level
        equal = similarities == level
        missing = k - above.sum(axis=1, keepdims=True)
        chosen = above | (equal & (np.cumsum(equal, axis=1) <= missing))
        shape = (len(similarities), k)
        similarities, ids = similarities[chosen].reshape(shape), ids[chosen].reshape(shape)
    order = np.argsort(-similarities, axis=1, kind="stable")
    return np.take_along_axis(similarities, order, axis=1), np.take_along_axis(ids, order, axis=1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1 in float64; zero rows stay zero. Raises InputError for NaN or infinity."""
    vectors = np.asarray(vectors, dtype=np.float64)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(largest).all():
        raise InputError("a vector holds NaN or infinity; remove such vectors or make them zero before the search")
    # Divided by its largest entry first, a row of tiny or huge numbers neither vanishes nor overflows when squared.
    vectors = vectors / np.where(largest > 0, largest, 1.0)
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return vectors / np.where(norms > 0, norms, 1.0)


class _DenseBlock:
    """Some dense queries, to be compared with one part of the corpus after another."""

    def __init__(self, queries: np.ndarray) -> None:
        self.queries = _unit(queries)
        self.queries32 = self.queries.astype(np.float32)

    def similarities(self, part: np.ndarray, k: int, least: np.ndarray | None, hidden: np.ndarray) -> np.ndarray:
        """float64[q, b], exact where it could be among the k highest of a row and -infinity elsewhere.

        `least` is the k-th highest similarity that each query has found so far.
        """
        part = _unit(part)
        screened = self.queries32 @ part.astype(np.float32).T
        screened[hidden] = -np.inf
        error = _screening_error(part.shape[1])
        if least is not None:
            floor = least - error
        elif part.shape[0] > k:
            # The k-th highest is off by at most one error, and what it is compared with by another.
            floor = -np.partition(-screened, k - 1, axis=1)[:, k - 1] - 2 * error
        else:
            floor = np.full(len(screened), -np.inf)
        rows, columns = np.nonzero((screened >= floor[:, None]) & ~hidden)
        exact_values = np.full(screened.shape, -np.inf)
        for start in range(0, len(rows), PAIR_BLOCK):
            i, j = rows[start : start + PAIR_BLOCK], columns[start : start + PAIR_BLOCK]
            exact_values[i, j] = np.einsum("pd,pd->p", self.queries[i], part[j])
        return np.round(exact_values, DECIMALS)


def _screening_error(dimensions: int) -> float:
    """Bound on |float32 product - exact product| of two unit vectors that were rounded to float32.

    Two roundings of the factors and the d products and sums: (d + 2) u / (1 - (d + 2) u) with u = 2**-24
    (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), doubled to be safe.
    """
    return 2 * (dimensions + 2) * 2.0**-24 / (1 - (dimensions + 2) * 2.0**-24)


class _SparseBlock:
    """Some sparse queries, to be compared with one part of the corpus after another, all in float64."""

    def __init__(self, queries: sp.csr_array) -> None:
        self.queries = _unit_sparse(queries)

    def similarities(self, part: sp.csr_array, k: int, least: np.ndarray | None, hidden: np.ndarray) -> np.ndarray:
        """float64[q, b], -infinity where `hidden`."""
        values = np.round((self.queries @ _unit_sparse(part).T).toarray(), DECIMALS)
        values[hidden] = -np.inf
        return values


def _unit_sparse(vectors: sp.csr_array) -> sp.csr_array:
    vectors = vectors.astype(np.float64)
    vectors.sum_duplicates()
    if not np.isfinite(vectors.data).all():
        raise InputError("a vector holds NaN or infinity; remove such vectors or make them zero before the search")
    largest = abs(vectors).max(axis=1).toarray().ravel()
    vectors = sp.diags_array(1 / np.where(largest > 0, largest, 1.0)) @ vectors
    norms = np.sqrt(vectors.multiply(vectors).sum(axis=1))
    return sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1.0)) @ vectors)
