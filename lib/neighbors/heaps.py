"""The k best that each query has found so far, kept in compiled code that runs without Python's lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lib.run.compiled import njit

# Similarities that agree to 12 decimals are tied: the 13th holds nothing but the order of summation.
SCALE = 1e12
LIST_BYTES = 64  # for each of the k places of a heap, sorting at the end included
NOBODY = np.iinfo(np.int64).max


class Best(NamedTuple):
    """The k best of each query: every row is a binary heap with the worst of them on top.

    Attributes
    ----------
    similarities : float64[q, k], rounded to 12 decimals; -infinity where nothing has been found yet
    ids : int64[q, k], indices into the corpus
    """

    similarities: np.ndarray
    ids: np.ndarray

    @classmethod
    def none(cls, q: int, k: int) -> Best:
        """Nothing found yet."""
        return cls(np.full((q, k), -np.inf), np.full((q, k), NOBODY))


class Hidden(NamedTuple):
    """What may not be returned: by query i the corpus indices ``ids[starts[i]:starts[i + 1]]``, which ascend."""

    starts: np.ndarray
    ids: np.ndarray

    @classmethod
    def of(cls, excluded: Sequence[np.ndarray]) -> Hidden:
        """From one array of ascending indices for each query."""
        starts = np.concatenate([[0], np.cumsum([len(entry) for entry in excluded], dtype=np.int64)])
        return cls(starts, np.concatenate([np.empty(0, np.int64), *excluded]))


def nearest_first(parts: Sequence[Best], k: int) -> Best:
    """The k best of several searches of one and the same queries, nearest first; id -1 where nothing was found."""
    similarities, ids = (np.hstack(arrays) for arrays in zip(*parts, strict=True))
    ids[ids == NOBODY] = -1
    order = np.lexsort((ids, -similarities))[:, :k]
    return Best(np.take_along_axis(similarities, order, axis=1), np.take_along_axis(ids, order, axis=1))


@njit(nogil=True)
def rounded(similarity):
    """To 12 decimals as `numpy.round` has it, and without a negative zero."""
    return np.rint(similarity * SCALE) / SCALE + 0.0


@njit(nogil=True)
def is_hidden(hidden, query, index):
    """Whether `query` may not return `index`."""
    low, high = hidden.starts[query], hidden.starts[query + 1]
    while low < high:
        middle = (low + high) // 2
        if hidden.ids[middle] < index:
            low = middle + 1
        else:
            high = middle
    return low < hidden.starts[query + 1] and hidden.ids[low] == index


@njit(nogil=True)
def offer(best, query, similarity, index):
    """Let a corpus vector take the place of the worst of the k if it is better."""
    similarities, ids = best.similarities[query], best.ids[query]
    if not _worse(similarities[0], ids[0], similarity, index):
        return
    hole, child = 0, 1
    while child < len(ids):
        right = child + 1
        if right < len(ids) and _worse(similarities[right], ids[right], similarities[child], ids[child]):
            child = right
        if not _worse(similarities[child], ids[child], similarity, index):
            break
        similarities[hole], ids[hole] = similarities[child], ids[child]
        hole, child = child, 2 * child + 1
    similarities[hole], ids[hole] = similarity, index


@njit(nogil=True)
def _worse(similarity, index, other_similarity, other_index):
    """Whether the first of two comes after the second in the result."""
    return similarity < other_similarity or (similarity == other_similarity and index > other_index)
