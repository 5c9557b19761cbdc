"""Matrices whose rows are whole lines of the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lib.base.errors import InputError

LINE = 16  # float32 in a line of the processor's cache
CHUNK = 1 << 20  # numbers that are worked on at once


def padded(rows: int, dim: int) -> np.ndarray:
    """Zeros, float32[rows, dim and up to 15 more]; every row begins at a cache line.

    Raises InputError where there is not that much memory.
    """
    width = -(-dim // LINE) * LINE
    try:
        buffer = np.zeros(rows * width + LINE, np.float32)
    except MemoryError as error:
        size = f"{rows * width * 4 / 1e9:,.0f} GB"
        raise InputError(
            f"dim: {rows:,} rows of {dim} numbers need {size}; lower dim or bucket"
        ) from error
    first = (-buffer.ctypes.data % (4 * LINE)) // 4
    return buffer[first : first + rows * width].reshape(rows, width)


def randomize(matrix: np.ndarray, dim: int, seed: int) -> None:
    """Fill the first `dim` columns uniformly from [-1/dim, 1/dim), in place."""
    rng = np.random.default_rng([seed, 0])
    for part in _parts(matrix):
        part[:, :dim] = (2 * rng.random((len(part), dim), np.float32) - 1) / np.float32(
            dim
        )


def packed(matrix: np.ndarray, dim: int) -> np.ndarray:
    """float32[rows, dim], in the memory of `matrix`, which must not be used again."""
    whole = matrix.reshape(-1)
    at = 0
    for part in _parts(matrix):
        numbers = part[:, :dim].ravel().copy()
        whole[at : at + len(numbers)] = numbers
        at += len(numbers)
    return whole[:at].reshape(-1, dim)


def _parts(matrix: np.ndarray) -> Iterator[np.ndarray]:
    rows = max(1, CHUNK // matrix.shape[1])
    return (matrix[start : start + rows] for start in range(0, len(matrix), rows))
