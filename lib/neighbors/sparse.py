"""Exact search among sparse vectors, in float64, over an inverted index of one block of the corpus after another.

A query's similarities to a block are summed term by term, over the vectors that have the term; their sums are few
enough to stay in a core's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.neighbors.contract import not_finite, share_memory
from lib.neighbors.heaps import LIST_BYTES, Best, Hidden, nearest_first
from lib.neighbors.pool import cut, in_threads
from lib.neighbors.sparse_kernels import Rows, invert, make_unit, search_block

LEAST_ROWS, MOST_ROWS = 4096, 65536  # of a block; the sums of so many take 32 KiB and 512 KiB
ENTRY_BYTES = 64  # for each number of a block: read, sorted by row, of length 1, and sorted by term
TERM_BYTES = 8  # in the index of a block
QUERY_ENTRY_BYTES = 48  # likewise for a query


class Sparse:
    """A search for the k best among the rows of a CSR array; `group` queries share one pass over it.

    Parameters
    ----------
    queries, corpus : sparse real[q, d] and real[n, d]
    excluded : for each query ascending corpus indices
    memory : int, bytes
    threads : int
    """

    def __init__(
        self,
        queries: sp.csr_array,
        corpus: sp.csr_array,
        k: int,
        excluded: Sequence[np.ndarray],
        memory: int,
        threads: int,
    ) -> None:
        self.queries, self.corpus, self.k, self.excluded = queries, corpus, k, excluded
        n, d = corpus.shape
        # An index has a place for each term: fewer entries than terms would not be worth it.
        rows = min(n, MOST_ROWS, max(LEAST_ROWS, n * d // max(corpus.nnz, 1)))
        self.threads = max(1, min(threads, -(-n // rows)))

        def block_bytes(rows: int) -> int:
            ends = corpus.indptr[[*range(0, n, rows), n]]
            return self.threads * (ENTRY_BYTES * int(np.diff(ends).max(initial=0)) + 8 * rows + TERM_BYTES * d)

        a_query = LIST_BYTES * k * self.threads + QUERY_ENTRY_BYTES * int(np.diff(queries.indptr).max(initial=0))
        self.rows, self.group = share_memory(memory, rows, block_bytes, a_query)

    def search(self, start: int, stop: int, update: Callable[[int], Any]) -> Best:
        """The k best of some of the queries, nearest first, -infinity where fewer are left.

        `update` is called with numbers of corpus vectors, which add up to n.
        """
        queries = _rows(self.queries, start, stop)
        if (bad := make_unit(queries)) >= 0:
            raise not_finite("queries", start + bad)
        hidden, floors = Hidden.of(self.excluded[start:stop]), np.full(stop - start, -np.inf)

        def work(state: tuple[np.ndarray, Best], block: range) -> None:
            sums, best = state
            search_block(queries, self._index(block), block.start, sums[: len(block)], best, floors, hidden)

        states = [(np.empty(self.rows), Best.none(stop - start, self.k)) for _ in range(self.threads)]
        in_threads(work, states, cut(0, self.corpus.shape[0], self.rows), update)
        return nearest_first([best for _, best in states], self.k)

    def _index(self, block: range) -> Rows:
        """For each term the vectors of a block that have it, counted from the block's first, and their weights."""
        rows = _rows(self.corpus, block.start, block.stop)
        if (bad := make_unit(rows)) >= 0:
            raise not_finite("corpus", block.start + bad)
        return invert(rows, self.corpus.shape[1])


def _rows(vectors: sp.csr_array, start: int, stop: int) -> Rows:
    """A copy of some rows, columns ascending, none twice."""
    first, last = vectors.indptr[start], vectors.indptr[stop]
    parts = vectors.data[first:last], vectors.indices[first:last], vectors.indptr[start : stop + 1] - first
    rows = sp.csr_array(parts, shape=(stop - start, vectors.shape[1]))
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return Rows(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64))
