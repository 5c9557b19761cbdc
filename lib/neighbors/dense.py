"""Exact search among dense vectors: every thread screens blocks of the corpus and keeps a list of its own.

What the screen lets through is scored in float64 while it is in the cache, so that the k best of each query are all
that a search must remember, whatever the data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lib.neighbors import accelerator
from lib.neighbors.contract import not_finite, scaled, share_memory, unit
from lib.neighbors.heaps import LIST_BYTES, Best, Hidden, nearest_first
from lib.neighbors.kernels import Block
from lib.neighbors.pool import cut, in_threads
from lib.neighbors.readahead import read_ahead
from lib.neighbors.screening import Bfloat16, Float32, Screen
from lib.run.processor import computes_in_bfloat16

WORTH_TORCH = 10**10  # below so many products of two numbers, loading torch takes longer than it saves
STRIPE = 8  # blocks that a thread takes at a time, in a large corpus
STRIPES = 8  # that a thread gets at least: the last ones to finish leave little idle
LEAST_ROWS = 256  # of a block, where memory allows
TOO_MANY = 1 / 16  # of a block's rows: scoring them costs as much as a product in float32 of all of them
QUERY_BYTES = 40  # for each number of a query: float64 several times while its length is made 1, and rounded
READING_BYTES = 40  # for each number of a block that is not used as it lies in memory


class Dense:
    """A search for the k best among the rows of a corpus; `group` queries share one pass over it.

    Parameters
    ----------
    queries, corpus : real[q, d] and real[n, d]
    excluded : for each query ascending corpus indices
    memory : int, bytes
    screen : what makes a Screen of unit queries, float64[g, d]
    threads : int
    """

    def __init__(
        self,
        queries: np.ndarray,
        corpus: np.ndarray,
        k: int,
        excluded: Sequence[np.ndarray],
        memory: int,
        screen: Callable[[np.ndarray], Screen],
        threads: int,
    ) -> None:
        self.queries, self.corpus, self.k, self.excluded, self.screen = queries, corpus, k, excluded, screen
        n, d = corpus.shape
        like = screen(np.zeros((1, d)))
        rows = min(n, like.most_rows, max(LEAST_ROWS, like.block_numbers // max(d, 1)))
        self.threads = max(1, min(threads, -(-n // rows)))
        a_row = self.threads * (like.row_bytes() + (0 if _as_it_lies(corpus) else READING_BYTES * d))
        a_query = QUERY_BYTES * d + LIST_BYTES * k * self.threads
        self.rows, self.group = share_memory(memory, rows, lambda size: size * a_row, a_query)

    def search(self, start: int, stop: int, update: Callable[[int], Any]) -> Best:
        """The k best of some of the queries, nearest first, -infinity where fewer are left.

        `update` is called with numbers of corpus vectors, which add up to n.
        """
        screening = _Screening(self.screen(unit(self.queries[start:stop], "queries", start)))
        hidden, floors = Hidden.of(self.excluded[start:stop]), np.full(stop - start, -np.inf)
        numbers = self.rows * self.corpus.shape[1]
        states = [_State(np.empty(numbers, np.float32), Best.none(stop - start, self.k)) for _ in range(self.threads)]

        def work(state: _State, stripe: range) -> None:
            for block in cut(stripe.start, stripe.stop, self.rows):
                reached(block.start)
                screen = screening.screen
                screening.judge(self._search_block(screen, state, block, floors, hidden), len(block), self.k)

        n = self.corpus.shape[0]
        stripe = min(STRIPE, max(1, n // (self.rows * self.threads * STRIPES))) * self.rows
        with screening.screen.session(), read_ahead(self.corpus) as reached:
            in_threads(work, states, cut(0, n, stripe), update, screening.screen.enter_thread)
        return nearest_first([state.best for state in states], self.k)

    def _search_block(self, screen: Screen, state: _State, block: range, floors: np.ndarray, hidden: Hidden) -> int:
        """Search one block; returns how many pairs the screen let through."""
        rows = _read(self.corpus, block)
        norms, units = np.empty(len(rows)), state.numbers.view(screen.unit_type)[: rows.size].reshape(rows.shape)
        bad, lost = screen.normalize(rows, norms, units)
        if bad >= 0:
            raise not_finite("corpus", block.start + bad)
        return screen.sift(Block(rows, norms, block.start), units, lost, state.best, floors, hidden)


class _Screening:
    """The screen in use: a given one, until it lets so much through that its finer one costs less."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def judge(self, found: int, rows: int, k: int) -> None:
        """Hear how many pairs passed of a block of so many rows, of which at most k a query were needed."""
        q = len(self.screen.queries)
        if self.screen.finer and found > q * max(TOO_MANY * rows, 4 * k):
            self.screen = self.screen.finer(self.screen.queries)


class _State(NamedTuple):
    """What one thread writes to: numbers float32[m] of the rounded block, and what has been found."""

    numbers: np.ndarray
    best: Best


def choose_screen(device: str, products: int) -> Callable[[np.ndarray], Screen]:
    """The screen for a device of `lib.neighbors.exact` and a search of so many products of two numbers."""
    if device in ("cuda", "mps"):
        accelerator.require(device)
        return partial(accelerator.Device, device=device)
    if products < WORTH_TORCH and "torch" not in sys.modules:
        return Float32
    if device == "auto" and accelerator.available("cuda"):
        return partial(accelerator.Device, device="cuda")
    return Bfloat16 if computes_in_bfloat16() else Float32


def _as_it_lies(corpus: np.ndarray) -> bool:
    return isinstance(corpus, np.ndarray) and corpus.dtype == np.float32 and corpus.flags.c_contiguous


def _read(corpus: np.ndarray, block: range) -> np.ndarray:
    """Rows as float32, or as float64 divided by a power of two, so that no length overflows or vanishes."""
    rows = corpus[block.start : block.stop]
    small = rows.dtype in (np.float16, np.float32)
    rows = np.require(rows, np.float32, ["C", "A"]) if small else scaled(rows)
    rows = rows.view()
    rows.flags.writeable = False  # compiled code knows but one kind of array, whatever the caller has
    return rows
