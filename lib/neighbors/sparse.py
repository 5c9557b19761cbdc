"""The screen for sparse vectors: float64 scores over an inverted index.

One block of the corpus after another is indexed. A query's similarities to a block are
summed term by term, over the vectors that have the term; the sums are few enough to
stay in a core's cache. They are the similarities themselves, but for the order of
summation.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lib.base.compiled import njit
from lib.neighbors.contract import put
from lib.vectors import slice_rows, unit

LEAST_ROWS = 4096  # of a block; the sums of so many take 32 KiB


class Sparse:
    """Scores of CSR arrays. The attributes are those of `lib.neighbors.dense.Float32`.

    Parameters
    ----------
    queries, corpus : sparse real[q, d] and real[n, d]
    """

    hidden = -np.inf
    query_step = 32
    finer = None
    margin = 1e-12  # the decimals that decide ties

    def __init__(self, queries: sp.csr_array, corpus: sp.csr_array) -> None:
        self.queries: sp.csr_array = unit(queries, "queries")
        self.corpus = corpus
        # An index has a place for each term: fewer entries than terms would not be
        # worth it.
        self.rows = max(
            LEAST_ROWS, corpus.shape[0] * corpus.shape[1] // max(corpus.nnz, 1)
        )

    def load(self, block: range) -> sp.csc_array:
        """The inverted index of a block.

        For each term, the vectors that have it, and their weights.
        """
        rows = slice_rows(self.corpus, block.start, block.stop)
        return sp.csc_array(unit(rows, "corpus", block.start))

    def scores(self, some: slice, index: sp.csc_array) -> np.ndarray:
        """Of some queries with the vectors of a block: float64[s, b]."""
        starts = self.queries.indptr[some.start : some.stop + 1]
        sums = np.zeros((len(starts) - 1, index.shape[0]))
        terms = self.queries.indices
        weights = self.queries.data
        _add(starts, terms, weights, index.indptr, index.indices, index.data, sums)
        return sums

    def candidates(
        self, scores: np.ndarray, floors: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns, int64[m], of all scores that may be among the k best."""
        shape = len(scores), k
        similarities = np.full(shape, -np.inf)
        ids = np.full(shape, -1)
        _put_all(similarities, ids, scores, floors - self.margin)
        i, column = np.nonzero(ids >= 0)
        return i, ids[i, column]

    def similarities(
        self,
        some: slice,
        i: np.ndarray,
        j: np.ndarray,
        index: sp.csc_array,
        scores: np.ndarray,
    ) -> np.ndarray:
        """Float64[m], of the i-th of some queries and row j of a block."""
        return scores[i, j]

    def enter_thread(self) -> None:
        """Nothing to do."""


@njit(nogil=True)
def _add(starts, terms, weights, index_starts, index_rows, index_weights, sums):
    """Add each query term's contribution to each row with that term.

    The sums are ``sums[query, row]``.
    """
    for query in range(len(sums)):
        row_sums = sums[query]
        for entry in range(starts[query], starts[query + 1]):
            weight = weights[entry]
            term = terms[entry]
            for posting in range(index_starts[term], index_starts[term + 1]):
                row_sums[index_rows[posting]] += weight * index_weights[posting]


@njit(nogil=True)
def _put_all(similarities, ids, scores, thresholds):
    """Find the k best of each query in a block.

    Only scores that reach the threshold and are not excluded are considered.
    """
    for query in range(len(scores)):
        for row in range(scores.shape[1]):
            score = scores[query, row]
            if score >= thresholds[query] and score > -np.inf:
                similarity = np.rint(score * 1e12) / 1e12
                put(similarities[query], ids[query], similarity, row)
