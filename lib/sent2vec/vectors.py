"""Arithmetic with rows of float32, in compiled code that runs in vector registers.

Sums may be reordered ("reassoc") and products added unrounded ("contract"); NaN and infinity keep their meaning.
"""

from __future__ import annotations

import numpy as np

from lib.run.compiled import njit

FAST = {"reassoc", "contract"}


@njit(nogil=True, forceinline=True, fastmath=FAST)
def dot(matrix, row, vector):
    """The product of a row with a vector."""
    some, total = matrix[row], np.float32(0)
    for j in range(len(vector)):
        total += some[j] * vector[j]
    return total


@njit(nogil=True, forceinline=True, fastmath=FAST)
def dots(matrix, row, other, vector):
    """The products of two rows with a vector."""
    one, two = matrix[row], matrix[other]
    first = second = np.float32(0)
    for j in range(len(vector)):
        first += one[j] * vector[j]
        second += two[j] * vector[j]
    return first, second


@njit(nogil=True, forceinline=True, fastmath=FAST)
def exchange(matrix, row, step, vector, total):
    """Add `step` times a row to `total`, then `step` times the vector to the row."""
    some = matrix[row]
    for j in range(len(vector)):
        value = some[j]
        total[j] += step * value
        some[j] = value + step * vector[j]


@njit(nogil=True, forceinline=True, fastmath=FAST)
def exchange_two(matrix, row, other, step, other_step, vector, total):
    """As `exchange`, for two different rows."""
    one, two = matrix[row], matrix[other]
    for j in range(len(vector)):
        first, second, value = one[j], two[j], vector[j]
        total[j] += step * first + other_step * second
        one[j] = first + step * value
        two[j] = second + other_step * value


@njit(nogil=True, forceinline=True, fastmath=FAST)
def add_to(total, factor, vector):
    """Add a multiple of a vector to `total`."""
    for j in range(len(vector)):
        total[j] += factor * vector[j]


@njit(nogil=True, forceinline=True, fastmath=FAST)
def sum_of(one, factor, other, total):
    """Write a vector plus a multiple of another to `total`."""
    for j in range(len(total)):
        total[j] = one[j] + factor * other[j]


@njit(nogil=True, forceinline=True)
def fill(vector, value):
    """Set every component to a value."""
    for j in range(len(vector)):
        vector[j] = value


@njit(nogil=True, forceinline=True, fastmath=FAST)
def scale(vector, factor):
    """Multiply a vector by a number."""
    for j in range(len(vector)):
        vector[j] *= factor


@njit(nogil=True, forceinline=True)
def shrink(matrix, row, threshold):
    """Soft thresholding (the paper's eq. 6): every component comes closer to 0 by `threshold`, but never past it."""
    some = matrix[row]
    for j in range(len(some)):
        size = max(abs(some[j]) - threshold, np.float32(0))
        some[j] = np.copysign(size, some[j])
