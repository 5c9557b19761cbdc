"""What every search promises and checks, exact or approximate, on one machine or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.run import arrays
from lib.run.errors import InputError

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


def check_shapes(queries: Vectors, corpus: Vectors) -> None:
    """Raise InputError unless both (`lib.run.arrays.matrix`) have equally many columns."""
    if queries.shape[1] != corpus.shape[1]:
        raise InputError(
            f"queries have {queries.shape[1]} dimensions, the corpus has {corpus.shape[1]}; give equal ones"
        )


def exclusions(exclude: Sequence[int] | Sequence[Sequence[int]] | None, q: int, n: int) -> list[np.ndarray]:
    """For each of `q` queries the distinct indices int64, ascending, into a corpus of `n` that it may not return.

    -1 and an empty sequence stand for none. Raises InputError for an index that the corpus does not have, and
    unless there is one entry for each query.
    """
    if exclude is None:
        return [np.empty(0, np.int64)] * q
    entries = len(exclude) if hasattr(exclude, "__len__") and getattr(exclude, "ndim", 1) else 0
    if entries != q:
        raise InputError(f"exclude: has {entries} entries for {q} queries; give one for each query")
    indices = [np.unique(_indices(i, entry)) for i, entry in enumerate(exclude)]
    indices = [entry[entry != -1] for entry in indices]
    for i, entry in enumerate(indices):
        if entry.size and (entry[0] < 0 or entry[-1] >= n):
            wrong = entry[0] if entry[0] < 0 else entry[-1]
            raise InputError(f"exclude[{i}]: {wrong} is not an index of the corpus; give 0 to {n - 1}, or -1 for none")
    return indices


def _indices(query: int, entry: int | Sequence[int]) -> np.ndarray:
    """One query's entry as int64[m]."""
    if isinstance(entry, int | np.integer) and -(2**63) <= entry < 2**63:
        return np.array([entry], np.int64)
    return arrays.whole(f"exclude[{query}]", entry).ravel()


def check_k(k: int, excluded: Sequence[np.ndarray], n: int) -> None:
    """Raise InputError unless every query has `k` vectors left in a corpus of `n`, and k is at least 1."""
    left = n - max(map(len, excluded), default=0)
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= left:
        raise InputError(
            f"k: {k!r} is not accepted; give 1 to {left} (a corpus of {n}, less what a query may not return)"
        )


def unit(vectors: np.ndarray, name: str = "vectors", first: int = 0) -> np.ndarray:
    """Rows of length 1, float64[n, d]; zero rows stay zero.

    Raises InputError for NaN or infinity; it names the array and the row, counted from `first`.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(largest).all():
        raise not_finite(name, first + int(np.argmin(np.isfinite(largest))))
    # Divided by its largest entry first, a row of tiny or huge numbers neither vanishes nor overflows when squared.
    vectors = vectors / np.where(largest > 0, largest, 1.0)
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return vectors / np.where(norms > 0, norms, 1.0)


def scaled(vectors: np.ndarray) -> np.ndarray:
    """float64[n, d]: rows divided by a power of two, which is exact, so that no length overflows or vanishes."""
    vectors = np.require(vectors, np.float64, ["C", "A"])
    exponents = np.frexp(np.abs(vectors).max(axis=1, keepdims=True, initial=0.0))[1]
    return np.ldexp(vectors, -exponents)


def not_finite(name: str, row: int) -> InputError:
    """What to raise when row `row` of the array `name` cannot have neighbors."""
    return InputError(
        f"{name}: row {row} holds NaN or infinity; remove such vectors or make them zero before the search"
    )


def share_memory(memory: int, rows: int, block_bytes: Callable[[int], int], query_bytes: int) -> tuple[int, int]:
    """Rows of a block, at most `rows`, and how many queries are searched for together, in `memory` bytes.

    A block of r rows takes ``block_bytes(r)``, at most half of the memory where that can be, and a query
    `query_bytes`. Raises InputError when one row and one query are too many.
    """
    rows = max(1, rows)
    while rows > 1 and 2 * block_bytes(rows) > memory - query_bytes:
        rows = -(-rows // 2)
    least = block_bytes(rows) + query_bytes
    if memory < least:
        raise InputError(f"memory: {memory} bytes are too few for this search; give {least} or more")
    return rows, (memory - block_bytes(rows)) // query_bytes


def best(similarities: np.ndarray, ids: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest of each row, largest first; among equal ones those further left, which must have lower ids.

    Parameters
    ----------
    similarities : float[q, m]
    ids : int64[q, m]

    Returns
    -------
    similarities float[q, min(k, m)], ids int64[q, min(k, m)]
    """
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
