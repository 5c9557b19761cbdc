"""Numbers in text, parsed at the speed of the disk where the result is certain to be that of Python's float()."""

from __future__ import annotations

import numpy as np

from lib.run.compiled import njit

BLANK, RETURN, NEWLINE, PLUS, MINUS, POINT, ZERO, SMALL_E, LARGE_E = map(np.uint8, b" \r\n+-.0eE")
# Positions are unsigned: at signed ones, each access would first ask whether it counts from the end.
ONE = np.uint64(1)
FULL = 900_000_000_000_000_000  # a number below it can take one more digit in 64 bits
LARGEST_EXPONENT = 64
TENS = np.array([float(f"1e{exponent}") for exponent in range(-LARGEST_EXPONENT, LARGEST_EXPONENT + 1)])
# A number is computed as digits * 10**exponent in float64. Three roundings (of the digits, of the power of ten, of
# the product) and the digits that are left out move it by less than this share of itself. Where both ends of that
# interval round to one float32, it is the float32 that float() leads to.
UNSURE = 2.0**-50
SMALLEST, LARGEST = 1e-37, 1e38  # float32 is normal and finite in between


@njit(nogil=True)
def parse_lines(letters, vectors, ends):
    """Read a word and its numbers from each line, one blank between any two.

    Parameters
    ----------
    letters : uint8[bytes], n lines, each with its newline; no loop below runs past that
    vectors : float32[n, d], filled: row i is that of float(), rounded to float32
    ends : int64[n, 2], filled: where the word of line i ends, and where the line does (at its newline)

    Returns
    -------
    bool[n], which lines were read. The others are wrong, have a blank in the word, or hold a number that takes more
    arithmetic to round; what was filled in for them has no meaning, but for where the line ends.
    """
    certain = np.zeros(len(vectors), np.bool_)
    i = np.uint64(0)
    for row in range(len(vectors)):
        while letters[i] != BLANK and letters[i] != NEWLINE:
            i += ONE
        ends[row, 0] = i
        certain[row], i = _parse_numbers(letters, i, vectors[row])
        while letters[i] == BLANK or letters[i] == RETURN:
            i += ONE
        certain[row] &= letters[i] == NEWLINE
        while letters[i] != NEWLINE:
            i += ONE
        ends[row, 1] = i
        i += ONE
    return certain


@njit(nogil=True)
def _parse_numbers(letters, i, vector):
    """(whether each number of the vector was read with certainty, after one blank each, where they end)."""
    for j in range(len(vector)):
        if letters[i] != BLANK:
            return False, i
        certain, vector[j], i = _parse_number(letters, i + ONE)
        if not certain:
            return False, i
    return True, i


@njit(nogil=True)
def _parse_number(letters, i):
    """Sign, digits with a point among them, exponent: (whether it is certain, float32, where it ends)."""
    negative = letters[i] == MINUS
    if negative or letters[i] == PLUS:
        i += ONE
    start = i
    digits, left_out, i = _parse_digits(letters, i, np.int64(0))
    seen, exponent = i - start, left_out
    if letters[i] == POINT:
        i += ONE
        start = i
        digits, left_out, i = _parse_digits(letters, i, digits)
        seen += i - start
        exponent -= np.int64(i - start) - left_out
    if letters[i] == SMALL_E or letters[i] == LARGE_E:
        whole, power, i = _parse_exponent(letters, i + ONE)
        seen *= whole
        exponent += power
    certain, number = _scaled(digits, exponent)
    return certain and seen > 0, -number if negative else number, i


@njit(nogil=True)
def _parse_digits(letters, i, digits):
    """Append digits to `digits`: (the number, how many were left out because it is full, where they end)."""
    left_out = 0
    while True:
        digit = np.uint8(letters[i] - ZERO)
        if digit > 9:
            return digits, left_out, i
        if digits < FULL:
            digits = digits * 10 + np.int64(digit)
        else:
            left_out += 1
        i += ONE


@njit(nogil=True)
def _parse_exponent(letters, i):
    """Sign and digits: (whether they are there, the value, where it ends)."""
    negative = letters[i] == MINUS
    if negative or letters[i] == PLUS:
        i += ONE
    start = i
    power, left_out, i = _parse_digits(letters, i, np.int64(0))
    return i > start and left_out == 0, -power if negative else power, i


@njit(nogil=True)
def _scaled(digits, exponent):
    """(whether it is certain, float32 of digits * 10**exponent)."""
    if digits == 0:
        return True, np.float32(0)
    if abs(exponent) > LARGEST_EXPONENT:
        return False, np.float32(0)
    number = digits * TENS[exponent + LARGEST_EXPONENT]
    rounded = np.float32(number * (1 - UNSURE))
    certain = SMALLEST < number < LARGEST and rounded == np.float32(number * (1 + UNSURE))
    return certain, rounded
