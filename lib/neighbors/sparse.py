"""The screen for sparse vectors: scores in float64, over an inverted index of one block of the corpus after another.

A query's similarities to a block are summed term by term, over the vectors that have the term; the sums are few
enough to stay in a core's cache. They are the similarities themselves, but for the order of summation.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lib.neighbors.contract import check_finite, put
from lib.run.compiled import njit

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
        self.queries, self.corpus = unit(queries, "queries"), corpus
        # An index has a place for each term: fewer entries than terms would not be worth it.
        self.rows = max(LEAST_ROWS, corpus.shape[0] * corpus.shape[1] // max(corpus.nnz, 1))

    def load(self, block: range) -> sp.csc_array:
        """The inverted index of a block: for each term the vectors that have it, and their weights."""
        return sp.csc_array(unit(slice_rows(self.corpus, block.start, block.stop), "corpus", block.start))

    def scores(self, some: slice, index: sp.csc_array) -> np.ndarray:
        """Of some queries with the vectors of a block: float64[s, b]."""
        starts = self.queries.indptr[some.start : some.stop + 1]
        sums = np.zeros((len(starts) - 1, index.shape[0]))
        _add(starts, self.queries.indices, self.queries.data, index.indptr, index.indices, index.data, sums)
        return sums

    def candidates(self, scores: np.ndarray, floors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns, int64[m], of all scores that may be of the k best of their query."""
        similarities, ids = np.full((len(scores), k), -np.inf), np.full((len(scores), k), -1)
        _put_all(similarities, ids, scores, floors - self.margin)
        i, place = np.nonzero(ids >= 0)
        return i, ids[i, place]

    def similarities(
        self, some: slice, i: np.ndarray, j: np.ndarray, index: sp.csc_array, scores: np.ndarray
    ) -> np.ndarray:
        """Float64[m], of the i-th of some queries and row j of a block."""
        return scores[i, j]

    def enter_thread(self) -> None:
        """Nothing to do."""


def slice_rows(vectors: sp.csr_array, start: int, stop: int) -> sp.csr_array:
    """Some rows, without copying those of a memory-map, as SciPy does."""
    first, last = vectors.indptr[start], vectors.indptr[stop]
    parts = vectors.data[first:last], vectors.indices[first:last], vectors.indptr[start : stop + 1] - first
    return sp.csr_array(parts, shape=(stop - start, vectors.shape[1]))


def unit(vectors: sp.csr_array, name: str, first: int = 0) -> sp.csr_array:
    """A copy with rows of length 1, float64; zero rows stay zero. InputError for NaN or infinity."""
    rows = sp.csr_array(vectors, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    places = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norms = np.sqrt(np.bincount(places, rows.data**2, rows.shape[0]))
    check_finite(norms, name, first)
    rows.data /= np.where(norms > 0, norms, 1.0)[places]
    return rows


@njit(nogil=True)
def _add(starts, terms, weights, index_starts, index_rows, index_weights, sums):
    """Add to ``sums[query, row]`` what each term of a query contributes to each row that has the term."""
    for query in range(len(sums)):
        of_query = sums[query]
        for entry in range(starts[query], starts[query + 1]):
            weight, term = weights[entry], terms[entry]
            for place in range(index_starts[term], index_starts[term + 1]):
                of_query[index_rows[place]] += weight * index_weights[place]


@njit(nogil=True)
def _put_all(similarities, ids, scores, thresholds):
    """Find the k best of each query in a block, among the scores that reach its threshold and are not excluded."""
    for query in range(len(scores)):
        for row in range(scores.shape[1]):
            score = scores[query, row]
            if score >= thresholds[query] and score > -np.inf:
                put(similarities[query], ids[query], np.rint(score * 1e12) / 1e12, row)
