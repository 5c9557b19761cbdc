"""A matrix in NumPy's format that grows row by row, for matrices of which nobody knows the height beforehand."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np

HEADER = 128  # bytes; NumPy leaves room in it so that the number of rows can be written last


class MatrixFile:
    """A ``.npy`` file of float32[n, dim], to be used in a ``with`` statement; whole once that has ended."""

    def __init__(self, path: Path, dim: int) -> None:
        self.dim, self.rows = dim, 0
        self._stream = path.open("wb")
        self._write_header()

    def __enter__(self) -> MatrixFile:
        return self

    def append(self, vectors: np.ndarray) -> None:
        """Write float32[n, dim] below what is there."""
        self._stream.write(np.ascontiguousarray(vectors, "<f4"))
        self.rows += len(vectors)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._stream.seek(0)
            self._write_header()
        self._stream.close()

    def _write_header(self) -> None:
        form = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self.dim)}
        np.lib.format.write_array_header_1_0(self._stream, form)
        if self._stream.tell() != HEADER:
            raise RuntimeError(f"NumPy wrote a header of {self._stream.tell()} bytes, not {HEADER}")
