"""What every search promises and checks: exact, approximate or distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from lib.base.compiled import njit
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.vectors import as_integers, as_matrix

Vectors: TypeAlias = np.ndarray | sp.csr_array | sp.csr_matrix
Exclude: TypeAlias = Sequence[Any] | np.ndarray | None  # of int, or of several

# Similarities that agree to so many are tied: the 13th holds nothing but the order of
# summation.
DECIMALS = 12


class Neighbors(NamedTuple):
    """Row i holds the k nearest neighbors of query i, nearest first.

    Attributes
    ----------
    ids : int64[q, k]
        Indices into the corpus.
    similarities : float32[q, k]
        Cosines in [-1, 1], higher is nearer.
    """

    ids: np.ndarray
    similarities: np.ndarray


class Best(NamedTuple):
    """The k best of each query so far.

    Every row is a binary heap with the worst of them on top.

    Attributes
    ----------
    similarities : float64[q, k]
        Rounded to 12 decimals; -infinity where nothing has been found.
    ids : int64[q, k]
        Indices into the corpus; -1 where nothing has been found.
    """

    similarities: np.ndarray
    ids: np.ndarray


class Exclusions(NamedTuple):
    """Query ``queries[i]`` may not return the corpus vector ``ids[i]``.

    The ids ascend, and no pair occurs twice.

    Attributes
    ----------
    queries, ids : int64[m]
    """

    queries: np.ndarray
    ids: np.ndarray

    def within(self, start: int, stop: int) -> Exclusions:
        """Those of a part of the corpus, whose ids count from its start."""
        first, last = np.searchsorted(self.ids, (start, stop))
        return Exclusions(self.queries[first:last], self.ids[first:last] - start)

    def sizes(self, q: int) -> np.ndarray:
        """How many corpus vectors each of `q` queries may not return, int64[q]."""
        return np.bincount(self.queries, minlength=q)


def exclusions(exclude: Exclude, q: int, n: int) -> Exclusions:
    """The argument `exclude` of a search for `q` queries in a corpus of `n`.

    Raises InputError for an index that the corpus does not have, and unless there is
    one entry for each query.
    """
    entries = [()] * q
    if exclude is not None:
        entries = [np.ravel(entry) for entry in exclude]
    if len(entries) != q:
        raise InputError(
            f"exclude: has {len(entries)} entries for {q} "
            "queries; give one for each query"
        )
    sizes = [len(entry) for entry in entries]
    queries = np.repeat(np.arange(q), sizes)
    ids = as_integers("exclude", np.concatenate([np.empty(0, np.int64), *entries]))
    wrong = np.flatnonzero((ids < -1) | (ids >= n))
    if len(wrong):
        first = wrong[0]
        raise InputError(
            f"exclude[{queries[first]}]: {ids[first]} is not an index of the corpus; "
            f"give 0 to {n - 1}, or -1 for none"
        )
    pairs = np.stack([ids, queries])[:, ids >= 0]
    ids, queries = np.unique(pairs, axis=1)
    return Exclusions(queries, ids)


def check(
    queries: Vectors, corpus: Vectors, k: int, exclude: Exclude
) -> tuple[Vectors, Vectors, Exclusions]:
    """The arguments of a search, as arrays or CSR arrays, and what may not be returned.

    Raises InputError as `lib.neighbors.exact` does, except for NaN and infinity, which
    the search itself meets.
    """
    queries, corpus = same_kind(queries, corpus)
    q = queries.shape[0]
    n = corpus.shape[0]
    excluded = exclusions(exclude, q, n)
    most_excluded = int(excluded.sizes(q).max(initial=0))
    candidates = n - most_excluded
    why = f"a corpus of {n} minus what a query may not return"
    in_range("k", k, 1, candidates, why)
    return queries, corpus, excluded


def same_kind(
    queries: Vectors, corpus: Vectors, name: str = "queries"
) -> tuple[Vectors, Vectors]:
    """Both as CSR arrays or both as arrays; `name` is what errors call the first.

    Raises InputError for one sparse and one dense, and for different numbers of
    columns.
    """
    if sp.issparse(corpus) != sp.issparse(queries):
        raise InputError(
            f"{name} and corpus: one is sparse and the other "
            "dense; give two of the same kind"
        )
    queries = as_matrix(name, queries)
    corpus = as_matrix("corpus", corpus)
    if queries.shape[1] != corpus.shape[1]:
        raise InputError(
            f"{name} have {queries.shape[1]} dimensions, the corpus has "
            f"{corpus.shape[1]}; give both the same number"
        )
    return queries, corpus


def places(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and column, int64[m], of what is true in bool[q, b].

    The same as `numpy.nonzero`, in a sixth of its time.
    """
    return np.divmod(np.flatnonzero(mask), max(mask.shape[1], 1))


def rounded(similarities: np.ndarray) -> np.ndarray:
    """To the decimals that decide ties, without a negative zero."""
    return np.round(similarities, DECIMALS) + 0.0


def nearest_first(similarities: np.ndarray, ids: np.ndarray, k: int) -> Best:
    """The k best of each row, ties to the lower id."""
    order = np.lexsort((ids, -similarities))[:, :k]
    similarities = np.take_along_axis(similarities, order, axis=1)
    ids = np.take_along_axis(ids, order, axis=1)
    return Best(similarities, ids)


@njit(nogil=True)
def put(similarities, ids, similarity, index):
    """Replace the worst of a query's k best, a binary heap, if a vector is better."""
    if not _worse(similarities[0], ids[0], similarity, index):
        return
    hole = 0
    child = 1
    while child < len(ids):
        right = child + 1
        if right < len(ids) and _worse(
            similarities[right], ids[right], similarities[child], ids[child]
        ):
            child = right
        if not _worse(similarities[child], ids[child], similarity, index):
            break
        similarities[hole] = similarities[child]
        ids[hole] = ids[child]
        hole = child
        child = 2 * hole + 1
    similarities[hole] = similarity
    ids[hole] = index


@njit(nogil=True)
def _worse(similarity, index, other_similarity, other_index):
    """Whether the first of two comes after the second in the result."""
    return similarity < other_similarity or (
        similarity == other_similarity and index > other_index
    )
