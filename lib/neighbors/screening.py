r"""Scores that cost little, and what they may be off by.

Let q and c be a query and a corpus vector of length 1, and q', c' what is left of them in bfloat16 or float32.
Then, by the triangle and the Cauchy-Schwarz inequality,

    |q.c - q'.c'| = |(q - q').c + q'.(c - c')| <= |q - q'| + (1 + |q - q'|) |c - c'|.

The lengths on the right are measured, not assumed: for bfloat16 they are about 0.0017, half of the worst case.
In float32, whose unit roundoff is u = 2**-24, the d products and sums of q'.c' add at most

    g |q'| |c'|,    g = (d + 2) u / (1 - (d + 2) u),

in whatever order they are summed (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). u is
doubled, for units that cut off instead of rounding. What leaves a bfloat16 product is rounded once more, to the
nearest bfloat16, hence monotonically: a sum of at least x leaves as at least x - 2**-8 |x|, and what has left as s
was a sum of at least s - 2**-8 |s|.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from lib.neighbors.heaps import Best, Hidden
from lib.neighbors.kernels import Block, Margin, sift, unit_bfloat16, unit_float32

# A unit vector in float32: one rounding of every number (2**-24), and those in float64 on the way to it.
FLOAT32_LOST = 2.0**-23
# The threshold is a float32 itself (2**-23); 12 decimals; numbers too small for float32, all far below that.
SLACK = 2.0**-22


class Screen(ABC):
    """Scores of queries against one block of the corpus after another. Threads share it and change nothing in it.

    Parameters
    ----------
    queries : float64[q, d], of length 1

    Attributes
    ----------
    unit_type : of the unit rows that `normalize` writes
    query_step : int, how many queries are multiplied at a time
    block_numbers, most_rows : int, how many numbers of the corpus make a block, and rows at most
    score_bytes : int, that the score of one pair takes
    finer : the screen to take where this one lets too much through, or None
    relative : float, how far a score may be off by its own rounding, as a share of it
    normalize : callable(rows, norms, units), which writes the last two and returns the first row that is not
        finite, or -1, and what rounding took; see `lib.neighbors.kernels`
    """

    unit_type: type
    query_step = 128  # scores of so many queries, and rows of so many numbers, stay in a core's cache
    block_numbers, most_rows = 480_000, 4096
    score_bytes = 4
    relative = 0.0
    finer: type[Screen] | None = None
    normalize: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[int, float]]

    def __init__(self, queries: np.ndarray) -> None:
        self.queries = queries
        units, norms = np.empty(queries.shape, self.unit_type), np.empty(len(queries))
        _, lost = self.normalize(queries, norms, units)
        self.rounded, self.lost = self.operand(units), self._length_lost(lost)

    @abstractmethod
    def operand(self, units: np.ndarray) -> Any:
        """Unit rows as what the matrix product takes."""

    @abstractmethod
    def scores(self, some: slice, units: np.ndarray) -> np.ndarray:
        """float32[s, b], or the bits of bfloat16 as uint16[s, b], of some queries and rows that are normalized."""

    def sift(self, block: Block, units: np.ndarray, lost: float, best: Best, floors: np.ndarray, hidden: Hidden) -> int:
        """Offer what may be among the k best of a query, and count it; see `lib.neighbors.kernels.sift`."""
        margin, found = self.margin(lost), 0
        for start in range(0, len(self.queries), self.query_step):
            scores = self.scores(slice(start, start + self.query_step), units)
            found += sift(scores, self.queries, start, block, best, floors, hidden, margin)
        return found

    def margin(self, lost: float) -> Margin:
        """How far scores may be off if rounding took at most `lost` from a corpus vector, as `normalize` says."""
        d = self.queries.shape[1]
        of_query, of_corpus = self.lost, self._length_lost(lost)
        u = 2 * 2.0**-24
        sums = (d + 2) * u / (1 - (d + 2) * u) * (1 + of_query) * (1 + of_corpus)
        return Margin(of_query + (1 + of_query) * of_corpus + sums + SLACK, self.relative)

    def _length_lost(self, measured: float) -> float:
        """Bound on the length of what rounding took from a vector; its measurement was a sum in float32."""
        return float(measured) * (1 + (self.queries.shape[1] + 2) * 2.0**-23) + FLOAT32_LOST

    def row_bytes(self) -> int:
        """Memory for one row of a block: the unit row in float32, its scores, length and place among the hits."""
        return 4 * self.queries.shape[1] + self.query_step * self.score_bytes + 32

    def session(self) -> AbstractContextManager[Any]:
        """What surrounds a search."""
        return _blas.in_one_thread()

    def enter_thread(self) -> None:  # noqa: B027 - no need to override
        """Called once in each thread that will search."""


class Float32(Screen):
    """For any processor."""

    unit_type = np.float32
    normalize = staticmethod(unit_float32)

    def operand(self, units: np.ndarray) -> np.ndarray:
        return units

    def scores(self, some: slice, units: np.ndarray) -> np.ndarray:
        return self.rounded[some] @ units.T


class Bfloat16(Screen):
    """For processors with bfloat16 instructions, where a product takes half the time."""

    unit_type = np.uint16
    relative = 2.0**-8
    finer = Float32
    normalize = staticmethod(unit_bfloat16)

    def operand(self, units: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(units).view(torch.bfloat16)

    def scores(self, some: slice, units: np.ndarray) -> np.ndarray:
        import torch

        return (self.rounded[some] @ self.operand(units).T).view(torch.uint16).numpy()

    def enter_thread(self) -> None:
        torch_in_one_thread()


def torch_in_one_thread() -> None:
    """Let torch compute in no other thread than that which calls this."""
    import torch

    torch.get_num_threads()  # a thread's first call sets its number, which must not undo the next line
    _thread_pools(with_torch=True).limit(limits=1, user_api="openmp")


@lru_cache
def _thread_pools(with_torch: bool) -> ThreadpoolController:
    """The thread pools of the libraries that are loaded: looking for them takes longer than a small search."""
    return ThreadpoolController()


class _Blas:
    """NumPy's matrix product, whose number of threads belongs to the whole process."""

    def __init__(self) -> None:
        self.lock, self.inside, self.limits = Lock(), 0, None

    @contextmanager
    def in_one_thread(self) -> Iterator[None]:
        """While anybody is inside, a product takes one thread; the last one out restores what was before."""
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.limits = _thread_pools("torch" in sys.modules).limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self.lock:
                self.inside -= 1
                if self.inside == 0:
                    self.limits.restore_original_limits()


_blas = _Blas()
