"""At which rank a needle stands in a haystack of vectors: counted, not sorted.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8: a paraphrase is added to the corpus, and asked
which of the query's nearest neighbors it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.neighbors.brute_force import alike
from lib.neighbors.contract import Vectors, check_shapes, exclusions, not_finite, unit
from lib.neighbors.pool import cut, in_threads
from lib.neighbors.screening import Float32
from lib.neighbors.sparse_kernels import Rows, make_unit
from lib.run import progress
from lib.run.errors import InputError
from lib.run.processor import cores

TIE = 1e-12  # similarities that differ by no more are tied: below it there is nothing but the order of summation
BLOCK_SCORES = 4_000_000  # of the queries with the rows of a block
SPARSE_ROWS = 4096  # of a block


class Ranks(NamedTuple):
    """Where the needle of each query stands in its haystack.

    Attributes
    ----------
    ranks : int64[q], from 1 on: one more than the haystack has sentences nearer to the query than its needle
    tied : int64[q], how many of the haystack are exactly as near; in `ranks` they all come behind the needle
    haystack : int64[q], how many sentences the needle competes with
    """

    ranks: np.ndarray
    tied: np.ndarray
    haystack: np.ndarray

    def take(self, chosen: np.ndarray) -> Ranks:
        """Those of some queries, by their positions."""
        return Ranks(*(values[chosen] for values in self))


def ranks(
    queries: Vectors,
    needles: Vectors,
    corpus: Vectors,
    exclude: Sequence[int] | Sequence[Sequence[int]] | None = None,
    show_progress_bar: bool = False,
) -> Ranks:
    """The rank of each query's needle among the vectors of a corpus, by cosine similarity.

    Ranks are counted, not sorted: 1 + how many corpus vectors have a greater similarity to the query than its needle
    has. The needle of a query is in the haystack of no other. The result is that of float64 brute force: dense
    vectors are compared in float32, and where that cannot tell, within a proven margin (`lib.neighbors.screening`),
    once more in float64.

    Parameters
    ----------
    queries, needles : real[q, d], arrays or SciPy sparse arrays
    corpus : real[n, d], of the same kind; a memory-map that is larger than memory will do
    exclude : for query i the corpus index, or a sequence of indices, that is not in its haystack (itself, say, or
        its needle, if the corpus has that already); -1 or an empty sequence for none

    Returns
    -------
    Ranks
        Similarities that differ by at most 1e-12 are tied. A zero vector has similarity 0 to everything.

    Raises
    ------
    InputError
        Unequal shapes, NaN or infinity, or an index in `exclude` that the corpus does not have.
    """
    (queries, corpus), needles = alike(queries, corpus), alike(needles, corpus, "needles")[0]
    check_shapes(queries, corpus)
    if needles.shape != queries.shape:
        raise InputError(f"needles: shape {needles.shape} for queries of {queries.shape}; give a needle for each query")
    q, n = queries.shape[0], corpus.shape[0]
    hidden = _Hidden(exclusions(exclude, q, n))
    compared = (_Sparse if sp.issparse(corpus) else _Dense)(queries, needles, corpus)
    counts = [np.zeros((2, q), np.int64) for _ in range(cores())]

    def work(count: np.ndarray, block: range) -> None:
        count += compared.count(block, hidden.within(block))

    with compared.session(), progress.bar(n, "rank", unit="vectors", show=show_progress_bar) as bar:
        in_threads(work, counts, cut(0, n, compared.rows), bar.update)
    nearer, tied = np.sum(counts, axis=0)
    return Ranks(1 + nearer, tied, n - hidden.sizes)


class _Hidden:
    """What is not in the haystack of which query."""

    def __init__(self, excluded: Sequence[np.ndarray]) -> None:
        self.sizes = np.array([len(entry) for entry in excluded], dtype=np.int64)
        ids = np.concatenate([np.empty(0, np.int64), *excluded])
        order = np.argsort(ids, kind="stable")
        self.ids, self.queries = ids[order], np.repeat(np.arange(len(excluded)), self.sizes)[order]

    def within(self, block: range) -> tuple[np.ndarray, np.ndarray]:
        """Query and row of each pair that a block must not count."""
        first, last = np.searchsorted(self.ids, [block.start, block.stop])
        return self.queries[first:last], self.ids[first:last] - block.start


class _Dense:
    """Counts the vectors that are nearer to a query than its needle, and those that are tied with it."""

    def __init__(self, queries: np.ndarray, needles: np.ndarray, corpus: np.ndarray) -> None:
        self.queries, self.corpus = unit(queries, "queries"), corpus
        self.levels = np.einsum("ij,ij->i", self.queries, unit(needles, "needles"))
        self.screen = Float32(self.queries)
        q, d = queries.shape
        self.rows = max(
            1, min(self.screen.most_rows, self.screen.block_numbers // max(d, 1), BLOCK_SCORES // max(q, 1))
        )

    def session(self) -> AbstractContextManager:
        return self.screen.session()

    def count(self, block: range, hidden: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """int64[2, q]: how many rows of a block are nearer, and how many tied."""
        rows = _rows(self.corpus, block)
        norms, units = np.empty(len(rows)), np.empty(rows.shape, np.float32)
        bad, lost = self.screen.normalize(rows, norms, units)
        if bad >= 0:
            raise not_finite("corpus", block.start + bad)
        scores = self.screen.scores(slice(None), units)
        scores[hidden] = -np.inf
        margin = self.screen.margin(lost).absolute
        low, high = (np.float32(self.levels + off)[:, None] for off in (-margin, margin))
        nearer = scores > high
        counts = np.stack([nearer.sum(axis=1), np.zeros(len(scores), np.int64)])
        close = (scores >= low) & ~nearer
        for i in np.flatnonzero(close.any(axis=1)):
            some = close[i]
            products = rows[some].astype(np.float64) @ self.queries[i]
            counts[:, i] += _against(products / np.where(norms[some] > 0, norms[some], 1.0), self.levels[i])
        return counts


class _Sparse:
    """As `_Dense`, for CSR arrays, all in float64."""

    def __init__(self, queries: sp.csr_array, needles: sp.csr_array, corpus: sp.csr_array) -> None:
        self.queries, self.corpus = _unit_sparse(queries, "queries"), corpus
        self.levels = self.queries.multiply(_unit_sparse(needles, "needles")).sum(axis=1)
        self.rows = max(1, min(SPARSE_ROWS, BLOCK_SCORES // max(queries.shape[0], 1)))

    def session(self) -> AbstractContextManager:
        return nullcontext()

    def count(self, block: range, hidden: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """int64[2, q]: how many rows of a block are nearer, and how many tied."""
        rows = _unit_sparse(self.corpus[block.start : block.stop], "corpus", block.start)
        similarities = (self.queries @ rows.T).toarray()
        similarities[hidden] = -np.inf
        return _against(similarities, self.levels[:, None])


def _against(similarities: np.ndarray, level: np.ndarray) -> np.ndarray:
    """How many similarities lie above a level, and how many at it; along the last axis."""
    differences = similarities - level
    return np.stack([(differences > TIE).sum(axis=-1), (np.abs(differences) <= TIE).sum(axis=-1)])


def _rows(corpus: np.ndarray, block: range) -> np.ndarray:
    """Rows as float32, or else float64 of length 1, so that no length overflows or vanishes."""
    rows = corpus[block.start : block.stop]
    small = rows.dtype in (np.float16, np.float32)
    rows = (np.require(rows, np.float32, ["C", "A"]) if small else unit(rows, "corpus", block.start)).view()
    rows.flags.writeable = False  # compiled code knows but one kind of array
    return rows


def _unit_sparse(vectors: sp.csr_array, name: str, first: int = 0) -> sp.csr_array:
    """A copy with rows of length 1, float64; zero rows stay zero."""
    rows = sp.csr_array(vectors, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    bad = make_unit(Rows(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data))
    if bad >= 0:
        raise not_finite(name, first + bad)
    return rows
