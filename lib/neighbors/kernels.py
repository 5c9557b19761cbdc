"""What a search does with every number of the corpus, compiled, and run without Python's lock.

Sums may be reordered ("reassoc"), so that they run in vector registers; NaN and infinity keep their meaning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from lib.neighbors.heaps import is_hidden, offer, rounded
from lib.run.compiled import njit

SUMS = {"reassoc", "contract"}
LANE = 64  # scores that are compared at once


class Block(NamedTuple):
    """Consecutive vectors of the corpus.

    Attributes
    ----------
    rows : float32[b, d] or float64[b, d], C order, not writeable
    norms : float64[b], their lengths
    first : int, the corpus index of row 0
    """

    rows: np.ndarray
    norms: np.ndarray
    first: int


class Margin(NamedTuple):
    """How far a score may lie from the similarity that it stands for.

    A score s is the similarity of two rounded vectors, within ``absolute``, rounded itself to within
    ``relative * |s|``, and monotonically so.
    """

    absolute: float
    relative: float


# -- normalizing and rounding -------------------------------------------------------------------


@njit(nogil=True, fastmath=SUMS)
def _norm(rows, i):
    """Length of row i in float64, where float32 numbers neither vanish nor overflow when squared."""
    total = 0.0
    for j in range(rows.shape[1]):
        value = np.float64(rows[i, j])
        total += value * value
    return np.sqrt(total)


@njit(nogil=True, fastmath=SUMS)
def _round_row(rows, i, scale, bits):
    """Row i times `scale`, rounded to bfloat16; the squared length of what rounding took away, in float32."""
    lost = np.float32(0.0)
    for j in range(rows.shape[1]):
        value = np.float32(rows[i, j] * scale)
        kept = (np.float32(value).view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)
        bits[i, j] = np.uint16(kept >> np.uint32(16))
        rest = value - np.uint32(kept).view(np.float32)
        lost += rest * rest
    return lost


@njit(nogil=True)
def unit_bfloat16(rows, norms, bits):
    """Write the lengths of the rows to `norms` and the unit rows as bfloat16 (its 16 bits) to `bits`.

    Returns the first row with NaN or infinity (-1 if there is none; the rest is then undefined), and the largest
    length, in float32, of the difference between a unit row in float32 and in bfloat16.
    """
    most = np.float32(0.0)
    for i in range(rows.shape[0]):
        norms[i] = _norm(rows, i)
        if not np.isfinite(norms[i]):
            return i, most
        most = max(most, _round_row(rows, i, 1.0 / norms[i] if norms[i] > 0 else 0.0, bits))
    return -1, np.sqrt(most)


@njit(nogil=True)
def unit_float32(rows, norms, out):
    """As `unit_bfloat16`, with the unit rows rounded to float32 in `out`; the difference that it returns is 0."""
    for i in range(rows.shape[0]):
        norms[i] = _norm(rows, i)
        if not np.isfinite(norms[i]):
            return i, np.float32(0.0)
        scale = 1.0 / norms[i] if norms[i] > 0 else 0.0
        for j in range(rows.shape[1]):
            out[i, j] = rows[i, j] * scale
    return -1, np.float32(0.0)


# -- screening and scoring again ----------------------------------------------------------------


@njit(nogil=True)
def sift(scores, queries, first_query, block, best, floors, hidden, margin):
    """Offer every vector of a block that could be among the k best of a query, scored again in float64.

    Returns how many pairs of query and vector these were.

    Parameters
    ----------
    scores : float32[s, b], or the bits of bfloat16 as uint16[s, b]; of queries ``first_query``, ... with the block
    queries : float64[q, d], of length 1
    block : Block
    best : Best, changed in place
    floors : float64[q], lower bounds on each query's final k-th best similarity, raised in place. Threads share
        them without a lock: whatever was written there is a lower bound.
    hidden : Hidden
    margin : Margin, what scores may be off by
    """
    hits, total = np.empty(scores.shape[1], np.int64), 0
    for s in range(scores.shape[0]):
        query = first_query + s
        floor = max(best.similarities[query, 0], floors[query])
        found = _above(scores[s], _threshold(floor, margin), hits)
        found = _drop_hidden(hits, found, block.first, query, hidden)
        found = _keep_likely(scores[s], hits, found, best.ids.shape[1], margin)
        for h in range(found):
            _score(queries, query, block, hits[h], best)
        floors[query] = max(floor, best.similarities[query, 0])
        total += found
    return total


@njit(nogil=True)
def sift_pairs(pair_queries, pair_rows, queries, block, best, floors, hidden):
    """As `sift`, for pairs (query, row of the block) that have been screened already."""
    for p in range(len(pair_queries)):
        query, row = pair_queries[p], pair_rows[p]
        if not is_hidden(hidden, query, block.first + row):
            _score(queries, query, block, row, best)
            floors[query] = max(floors[query], best.similarities[query, 0])


@njit(nogil=True)
def _threshold(floor, margin):
    """No vector whose similarity is `floor` or higher has a score below this."""
    if floor == -np.inf:
        return np.float32(-np.inf)
    least = floor - margin.absolute
    return np.float32(least - margin.relative * abs(least))


def _number(score):
    """A score as float32; bfloat16 comes as its 16 bits, the upper half of a float32's."""


@overload(_number)
def _compile_number(score):
    if score == types.uint16:
        return lambda score: np.uint32(np.uint32(score) << np.uint32(16)).view(np.float32)
    return lambda score: score


@njit(nogil=True)
def _above(scores, threshold, hits):
    """Write to `hits` where scores reach the threshold; returns how many do."""
    found = 0
    for start in range(0, len(scores), LANE):
        some = scores[start : start + LANE]
        reached = np.int32(0)
        for j in range(len(some)):
            reached += np.int32(_number(some[j]) >= threshold)
        if reached:
            for j in range(len(some)):
                if _number(some[j]) >= threshold:
                    hits[found] = start + j
                    found += 1
    return found


@njit(nogil=True)
def _drop_hidden(hits, found, first, query, hidden):
    if hidden.starts[query] == hidden.starts[query + 1]:
        return found
    left = 0
    for h in range(found):
        if not is_hidden(hidden, query, first + hits[h]):
            hits[left] = hits[h]
            left += 1
    return left


@njit(nogil=True)
def _keep_likely(scores, hits, found, k, margin):
    """Of more than k hits those that could be among the k best of these very hits."""
    if found <= k:
        return found
    some = np.empty(found, np.float32)
    for h in range(found):
        some[h] = _number(scores[hits[h]])
    level = largest(some.copy(), k)
    floor = level - margin.relative * abs(level) - margin.absolute
    threshold = _threshold(floor, margin)
    left = 0
    for h in range(found):
        if some[h] >= threshold:
            hits[left] = hits[h]
            left += 1
    return left


@njit(nogil=True)
def largest(values, k):
    """The k-th largest value, by Hoare's FIND (1961), which reorders; `numpy.partition` takes 5 s to compile."""
    low, high, place = 0, len(values) - 1, len(values) - k
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@njit(nogil=True)
def _score(queries, query, block, row, best):
    norm = block.norms[row]
    similarity = _dot(queries, query, block.rows, row) / norm if norm > 0 else 0.0
    offer(best, query, rounded(similarity), block.first + row)


@njit(nogil=True, fastmath=SUMS)
def _dot(queries, query, rows, row):
    total = 0.0
    for j in range(rows.shape[1]):
        total += queries[query, j] * np.float64(rows[row, j])
    return total
