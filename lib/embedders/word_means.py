"""Compiled loops over word vectors: weighted means over sentences, and sums over a word's character n-grams.

Means are taken in one pass and summed in float64. N-grams are hashed as fastText does (Bojanowski et al. 2017, section
3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np

from lib.embedders.tokens import Words
from lib.run.compiled import njit
from lib.run.environment import cores
from lib.sent2vec.primitives import prefetch_row

SENTENCES_PER_THREAD = 256  # fewer are not worth a thread
PLAIN, DIVIDE, MULTIPLY = 0, 1, 2
AHEAD = 3  # words whose vectors are on their way while one is added
END_OF_SENTENCE = b"</s>"  # fastText's mark at the end of a line, which has no n-grams
FNV_START, FNV_PRIME, MASK = 2166136261, 16777619, 0xFFFFFFFF
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
    normalize : {None, "divide", "multiply"}
        What is done with each dimension's L2 norm over the known words of the sentence (without weights): the dimension
        is divided by it (0 where it is 0), multiplied by it, or left as it is.
    components : float64[m, d], optional
        Directions of length 1.
    removed : float64[m], optional
        The share of the projection on each that is taken away.
    average : bool
        False for the sum instead of the mean.

    Returns
    -------
    float32[n, d]
        Zero for a sentence without known words.
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


# -- character n-grams ---------------------------------------------------------------------------


def add_ngrams(words: Sequence[bytes], lengths: tuple[int, int], buckets: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Add to each row of `sums` the vectors of the n-grams of a word.

    Parameters
    ----------
    words : sequence of bytes
        UTF-8 of n words; n-grams are those of the word in angle brackets, brackets alone left out.
    lengths : (int, int)
        Shortest and longest n-gram, in code points.
    buckets : float32[b, d]
        An n-gram's row is its FNV-1a hash of 32 bits, modulo b.
    sums : float32[n, d]
        Changed in place; summed in the order of fastText: by start, then by length.

    Returns
    -------
    int64[n]
        How many n-grams each word has.
    """
    marked = [b"" if word == END_OF_SENTENCE else b"<" + word + b">" for word in words]
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in marked])]).astype(np.int64)
    letters = np.frombuffer(b"".join(marked), np.uint8)
    return _add_all(letters, offsets, *lengths, np.asarray(buckets), sums)


@njit(nogil=True)
def _add_all(letters, offsets, shortest, longest, buckets, sums):
    counts = np.zeros(len(sums), np.int64)
    for row in range(len(sums)):
        first, stop = offsets[row], offsets[row + 1]
        for start in range(first, stop):
            if not _continues(letters[start]):
                counts[row] += _add_from(letters, first, start, stop, shortest, longest, buckets, sums[row])
    return counts


@njit(nogil=True)
def _add_from(letters, first, start, stop, shortest, longest, buckets, total):
    """Add the n-grams that start at one place; returns how many."""
    count, end, hashed = 0, start, np.int64(FNV_START)
    for length in range(1, longest + 1):
        if end == stop:
            break
        hashed = _hash_on(hashed, letters[end])
        end += 1
        while end < stop and _continues(letters[end]):
            hashed = _hash_on(hashed, letters[end])
            end += 1
        bracket = length == 1 and (start == first or end == stop)
        if length >= shortest and not bracket:
            total += buckets[hashed % len(buckets)]
            count += 1
    return count


@njit(nogil=True)
def _hash_on(hashed, letter):
    """FNV-1a takes one byte more. fastText's bytes are signed: from 128 on, their sign fills the upper 24 bits."""
    byte = np.int64(letter)
    if byte >= 128:
        byte |= 0xFFFFFF00
    return ((hashed ^ byte) * FNV_PRIME) & MASK


@njit(nogil=True)
def _continues(letter):
    """Whether a byte of UTF-8 belongs to the code point before it."""
    return (letter & 0xC0) == 0x80
