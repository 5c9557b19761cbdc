"""Weighted means of word vectors over the words of sentences, compiled: one pass, summed in float64."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np

from lib.embedders.lexicon import Words
from lib.run.compiled import njit
from lib.run.processor import cores
from lib.sent2vec.primitives import prefetch_row

SENTENCES_PER_THREAD = 256  # fewer are not worth a thread
PLAIN, DIVIDE, MULTIPLY = 0, 1, 2
AHEAD = 3  # words whose vectors are on their way while one is added
NORMALIZATIONS = {None: PLAIN, "divide": DIVIDE, "multiply": MULTIPLY}


def means(
    words: Words,
    normalize: Literal["divide", "multiply"] | None = None,
    components: np.ndarray | None = None,
    removed: np.ndarray | None = None,
    average: bool = True,
) -> np.ndarray:
    """The mean over the known words of each sentence of weight times vector, some components taken away.

    Parameters
    ----------
    words : Words
    normalize : what is done with each dimension's L2 norm over the known words of the sentence (without weights):
        the dimension is divided by it (0 where it is 0), multiplied by it, or left as it is
    components : float64[m, d], directions of length 1
    removed : float64[m], the share of the projection on each that is taken away
    average : bool; False for the sum instead of the mean

    Returns
    -------
    float32[n, d], zero for a sentence without known words
    """
    n, dim = len(words.starts) - 1, words.table.shape[1]
    components = np.empty((0, dim)) if components is None else np.ascontiguousarray(components)
    removed = np.empty(0) if removed is None else removed
    out = np.empty((n, dim), np.float32)
    parts = max(1, min(cores(), n // SENTENCES_PER_THREAD))
    edges = np.linspace(0, n, parts + 1).astype(np.int64)

    rows, weights = words.rows[words.ids], words.weights[words.ids]

    def work(part: int) -> None:
        span = edges[part], edges[part + 1]
        how = average, NORMALIZATIONS[normalize]
        _compose(words.starts, words.table, words.more, rows, weights, *span, *how, components, removed, out)

    if parts == 1:
        work(0)
    else:
        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(work, range(parts)))
    return out


@njit(nogil=True)
def _add(total, vectors, row, weight):
    for j in range(len(total)):
        total[j] += weight * vectors[row, j]


@njit(nogil=True)
def _add_word(total, squares, vectors, row, weight, how):
    _add(total, vectors, row, weight)
    if how != PLAIN:
        for j in range(len(squares)):
            squares[j] += np.float64(vectors[row, j]) * vectors[row, j]


@njit(nogil=True, fastmath={"reassoc", "contract"})  # so that the sum runs in vector registers
def _dot(left, vectors, row):
    total = 0.0
    for j in range(len(left)):
        total += left[j] * vectors[row, j]
    return total


@njit(nogil=True)
def _normalize(total, squares, how):
    for j in range(len(total)):
        norm = np.sqrt(squares[j])
        if how == MULTIPLY:
            total[j] *= norm
        else:
            total[j] = total[j] / norm if norm > 0 else 0.0


@njit(nogil=True)
def _remove(total, components, removed):
    """Take a share of each projection away; the components are orthogonal, so that their order does not matter."""
    for c in range(len(components)):
        _add(total, components, c, -removed[c] * _dot(total, components, c))


@njit(nogil=True)
def _compose(starts, table, more, rows, weights, first, last, average, how, components, removed, out):
    total, squares = np.empty(out.shape[1]), np.empty(out.shape[1])
    end = starts[last] - AHEAD
    for i in range(first, last):
        known = 0
        total[:] = 0.0
        squares[:] = 0.0
        for t in range(starts[i], starts[i + 1]):
            # The rows of a large table lie anywhere in memory: without this, the sum waits for each of them.
            if t < end and 0 <= rows[t + AHEAD] < len(table):
                prefetch_row(table, rows[t + AHEAD])
            if rows[t] >= 0:
                known += 1
                if rows[t] < len(table):
                    _add_word(total, squares, table, rows[t], weights[t], how)
                else:
                    _add_word(total, squares, more, rows[t] - len(table), weights[t], how)
        if average and known:
            total /= known
        if how != PLAIN:
            _normalize(total, squares, how)
        _remove(total, components, removed)
        out[i] = total
