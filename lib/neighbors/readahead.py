"""Reading a memory-map from disk while others compute with what has been read."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread

import numpy as np

STEP_BYTES = 16 * 2**20
STEPS = 4  # that may be read before they are needed


@contextmanager
def read_ahead(vectors: np.ndarray) -> Iterator[Callable[[int], None]]:
    """While the ``with`` lasts, a thread touches the pages of a memory-map shortly before they are needed.

    Yields what is to be called with the rows that are reached. An array in memory, array[n, d], needs no such
    thread and gets none.
    """
    if not (is_mapped(vectors) and vectors.flags.c_contiguous and vectors.size):
        yield lambda row: None
        return
    reader = _Reader(vectors)
    reader.start()
    try:
        yield reader.reached
    finally:
        reader.stop()


def is_mapped(vectors: np.ndarray) -> bool:
    """Whether an array's memory is that of a file."""
    while isinstance(vectors, np.ndarray):
        vectors = vectors.base
    return isinstance(vectors, mmap.mmap)


class _Reader(Thread):
    def __init__(self, vectors: np.ndarray) -> None:
        super().__init__(daemon=True)
        self.numbers, self.width = vectors.reshape(-1), vectors.shape[1]
        self.front, self.stopped, self.changed = 0, False, Condition()

    def run(self) -> None:
        step, page = STEP_BYTES // self.numbers.itemsize, mmap.PAGESIZE // self.numbers.itemsize
        for start in range(0, len(self.numbers), step):
            with self.changed:
                self.changed.wait_for(lambda start=start: self.stopped or start <= self.front + STEPS * step)
            if self.stopped:
                return
            self.numbers[start : start + step : page].max()

    def reached(self, row: int) -> None:
        with self.changed:
            self.front = max(self.front, row * self.width)
            self.changed.notify()

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify()
        self.join()
