"""At which rank a needle stands in a haystack of vectors: counted, not sorted.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8: a paraphrase is added to the corpus, and asked
which of the query's nearest neighbors it is.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.neighbors import dense, sparse
from lib.neighbors.brute_force import each_block, scored
from lib.neighbors.contract import Exclude, Vectors, exclusions, places, same_kind, unit
from lib.run.errors import InputError

TIE = 1e-12  # similarities that differ by no more are tied: below it there is nothing but the order of summation


class Ranks(NamedTuple):
    """Where the needle of each query stands in its haystack.

    Attributes
    ----------
    ranks : int64[q]
        From 1 on: one more than the haystack has sentences nearer to the query than its needle.
    tied : int64[q]
        How many of the haystack are exactly as near; in `ranks` they all come behind the needle.
    haystack : int64[q]
        How many sentences the needle competes with.
    """

    ranks: np.ndarray
    tied: np.ndarray
    haystack: np.ndarray

    def take(self, chosen: np.ndarray) -> Ranks:
        """Those of some queries, by their positions."""
        return Ranks(*(values[chosen] for values in self))


def ranks(queries: Vectors, needles: Vectors, corpus: Vectors, exclude: Exclude = None) -> Ranks:
    """The rank of each query's needle among the vectors of a corpus, by cosine similarity.

    Ranks are counted, not sorted: 1 + how many corpus vectors have a greater similarity to the query than its needle
    has. The needle of a query is in the haystack of no other. The result is that of float64 brute force: dense
    vectors are compared in float32, and where that cannot tell, within a proven margin (`lib.neighbors.dense`), once
    more in float64.

    Parameters
    ----------
    queries, needles : real[q, d]
        Arrays or SciPy sparse arrays.
    corpus : real[n, d]
        Of the same kind; a memory-map that is larger than memory will do.
    exclude : sequence of int or of sequences of int, optional
        For query i the corpus index, or several, that is not in its haystack (itself, say, or its needle, if the
        corpus has that already); -1 or an empty sequence for none.

    Returns
    -------
    Ranks
        Similarities that differ by at most 1e-12 are tied. A zero vector has similarity 0 to everything.

    Raises
    ------
    InputError
        Unequal shapes, NaN or infinity, or an index in `exclude` that the corpus does not have.
    """
    (queries, corpus), needles = same_kind(queries, corpus), same_kind(needles, corpus, "needles")[0]
    if needles.shape != queries.shape:
        raise InputError(f"needles: shape {needles.shape} for queries of {queries.shape}; give a needle for each query")
    q, n = queries.shape[0], corpus.shape[0]
    excluded = exclusions(exclude, q, n)
    if sp.issparse(corpus):
        screen = sparse.Sparse(queries, corpus)
        levels = screen.queries.multiply(sparse.unit(needles, "needles")).sum(axis=1)
    else:
        screen = dense.Float32(unit(queries, "queries"), corpus)
        levels = np.einsum("ij,ij->i", screen.queries, unit(needles, "needles"))
    nearer, tied = np.zeros(q, np.int64), np.zeros(q, np.int64)
    lock = Lock()

    def count(block: range) -> None:
        for some, scores, vectors in scored(screen, block, excluded):
            low, high = ((levels[some] + off).astype(scores.dtype)[:, None] for off in (-screen.margin, screen.margin))
            surely = scores > high
            i, j = places((scores >= low) & ~surely)
            apart = screen.similarities(some, i, j, vectors, scores) - levels[some][i]
            with lock:
                nearer[some] += surely.sum(axis=1) + np.bincount(i[apart > TIE], minlength=len(scores))
                tied[some] += np.bincount(i[np.abs(apart) <= TIE], minlength=len(scores))

    each_block(count, screen, "rank", show=False)
    return Ranks(1 + nearer, tied, n - excluded.sizes(q))
