"""The two matrices of a training: rows of whole lines of the cache, so that threads and vector registers like them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lib.run.errors import InputError

LINE = 16  # float32 in a line of the cache
CHUNK = 1 << 20  # numbers that are worked on at once


def padded(rows: int, dim: int) -> np.ndarray:
    """float32[rows, dim and up to 15 more] of zeros, C order, every row at the beginning of a line of the cache.

    Raises InputError where there is not that much memory.
    """
    width = -(-dim // LINE) * LINE
    try:
        buffer = np.zeros(rows * width + LINE, np.float32)
    except (MemoryError, ValueError) as error:
        raise InputError(
            f"dim: {rows:,} rows of {dim} numbers need {rows * width * 4 / 1e9:,.0f} GB; lower dim, bucket or "
            "max_vocabulary"
        ) from error
    first = (-buffer.ctypes.data % (4 * LINE)) // 4
    return buffer[first : first + rows * width].reshape(rows, width)


def randomize(matrix: np.ndarray, dim: int, seed: int) -> None:
    """Fill the first `dim` columns uniformly from [-1/dim, 1/dim), in place."""
    rng = np.random.default_rng([seed, 0])
    for start, end in _steps(matrix):
        matrix[start:end, :dim] = (2 * rng.random((end - start, dim), np.float32) - 1) / np.float32(dim)


def packed(matrix: np.ndarray, dim: int) -> np.ndarray:
    """float32[rows, dim], C order, in the memory of `matrix`, which is not to be used afterwards."""
    whole = matrix.reshape(-1)[: len(matrix) * dim].reshape(len(matrix), dim)
    for start, end in _steps(matrix):
        whole[start:end] = matrix[start:end, :dim].copy()
    return whole


def is_finite(matrix: np.ndarray) -> bool:
    """Whether there is neither NaN nor infinity in it."""
    return all(np.isfinite(matrix[start:end]).all() for start, end in _steps(matrix))


def _steps(matrix: np.ndarray) -> Iterator[tuple[int, int]]:
    rows, width = matrix.shape
    step = max(1, CHUNK // width)
    return ((start, min(start + step, rows)) for start in range(0, rows, step))
