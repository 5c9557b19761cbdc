"""What a search does with every number of a sparse corpus, compiled, and run without Python's lock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.neighbors.heaps import is_hidden, offer, rounded
from lib.run.compiled import njit

LANE = 64  # sums that are compared at once


class Rows(NamedTuple):
    """Compressed rows: row i has ``values[starts[i]:starts[i + 1]]`` in the ``columns`` of the same range.

    Attributes
    ----------
    starts : int64[n + 1]
    columns : int64[m]
    values : float64[m]
    """

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


@njit(nogil=True)
def make_unit(rows):
    """Give every row length 1, in place; zero rows stay zero. Returns the first row that is not finite, or -1."""
    for i in range(len(rows.starts) - 1):
        some = rows.values[rows.starts[i] : rows.starts[i + 1]]
        largest, total = 0.0, 0.0
        for value in some:
            if not np.isfinite(value):
                return i
            largest = max(largest, abs(value))
        if largest > 0:
            # Divided by its largest entry first, a row of tiny or huge numbers neither vanishes nor overflows.
            some /= largest
            for value in some:
                total += value * value
            some /= np.sqrt(total)
    return -1


@njit(nogil=True)
def invert(rows, columns):
    """The transposed of `rows`, which has so many `columns`: for each column the rows that have it, ascending."""
    starts = np.zeros(columns + 2, np.int64)
    for column in rows.columns:
        starts[column + 2] += 1
    for column in range(columns):
        starts[column + 2] += starts[column + 1]
    places, values = np.empty(len(rows.columns), np.int64), np.empty(len(rows.columns))
    for i in range(len(rows.starts) - 1):
        for entry in range(rows.starts[i], rows.starts[i + 1]):
            column = rows.columns[entry]
            place = starts[column + 1]
            places[place], values[place] = i, rows.values[entry]
            starts[column + 1] += 1
    return Rows(starts[: columns + 1], places, values)


@njit(nogil=True)
def search_block(queries, index, first, sums, best, floors, hidden):
    """Offer to each query the vectors of a block that could be among its k best.

    Parameters
    ----------
    queries : Rows of length 1
    index : Rows, for each term the vectors of the block and their weights
    first : int, the corpus index of the block's first vector
    sums : float64[b], written to
    best : Best, changed in place
    floors : float64[q], lower bounds on each query's final k-th best similarity, raised in place. Threads share
        them without a lock: whatever was written there is a lower bound.
    hidden : Hidden
    """
    for query in range(len(queries.starts) - 1):
        sums[:] = 0.0
        for entry in range(queries.starts[query], queries.starts[query + 1]):
            _add(sums, queries.values[entry], index, queries.columns[entry])
        floor = max(best.similarities[query, 0], floors[query])
        for start in range(0, len(sums), LANE):
            _offer_some(sums[start : start + LANE], floor, first + start, query, best, hidden)
            floor = max(floor, best.similarities[query, 0])
        floors[query] = max(floors[query], floor)


@njit(nogil=True)
def _add(sums, weight, index, term):
    for entry in range(index.starts[term], index.starts[term + 1]):
        sums[index.columns[entry]] += weight * index.values[entry]


@njit(nogil=True)
def _offer_some(some, floor, first, query, best, hidden):
    # A sum is rounded to 12 decimals before it counts.
    threshold = floor - 1e-12
    reached = 0
    for j in range(len(some)):
        reached += some[j] >= threshold
    if reached:
        for j in range(len(some)):
            if some[j] >= threshold and not is_hidden(hidden, query, first + j):
                offer(best, query, rounded(some[j]), first + j)
