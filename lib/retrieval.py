"""Mean reciprocal rank: how near to the top of its list an embedder puts the right answer.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8 and appendix B.5 (Table 4).
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lib.neighbors import dense, sparse
from lib.neighbors.brute_force import each_block, scored
from lib.neighbors.contract import Exclude, Vectors, exclusions, places, same_kind, unit
from lib.run import arrays
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
    """

    ranks: np.ndarray
    tied: np.ndarray


def ranks(queries: Vectors, needles: Vectors, corpus: Vectors, exclude: Exclude = None) -> Ranks:
    """The rank of each query's needle among the vectors of a corpus, by cosine similarity.

    Ranks are counted, not sorted: 1 + how many corpus vectors have a greater similarity to the query than its needle
    has. Needles are not added to the corpus: one counts for other queries only if the corpus has it. The result is that
    of float64 brute force: dense vectors are compared in float32, and where that cannot tell, within a proven margin
    (`lib.neighbors.dense`), once more in float64.

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
    q = queries.shape[0]
    excluded = exclusions(exclude, q, corpus.shape[0])
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
            differences = screen.similarities(some, i, j, vectors, scores) - levels[some][i]
            with lock:
                nearer[some] += surely.sum(axis=1) + np.bincount(i[differences > TIE], minlength=len(scores))
                tied[some] += np.bincount(i[np.abs(differences) <= TIE], minlength=len(scores))

    each_block(count, screen, "rank", show=False)
    return Ranks(1 + nearer, tied)


def mean_reciprocal_rank(ranks: ArrayLike) -> float:
    """The mean of 1 / rank (Table 4).

    Parameters
    ----------
    ranks : int[q]
        Whole numbers from 1 on, such as those of `Ranks`.

    Returns
    -------
    float
        In (0, 1]; 1 if every right answer comes first.

    Raises
    ------
    InputError
        A rank that is none, or no ranks.
    """
    return float(np.mean(1 / _checked(ranks)))


def chance(size: int) -> float:
    """The MRR to be expected of a random ranking of `size` sentences, one of which is right: the mean of 1/1 to 1/size.

    Parameters
    ----------
    size : int
        At least 1, the right answer included.

    Returns
    -------
    float
        In (0, 1].
    """
    return float(np.mean(1 / np.arange(1, size + 1)))


def expected_reciprocal_ranks(ranks: ArrayLike, haystack: ArrayLike, size: int) -> np.ndarray:
    r"""What 1 / rank is on average in a haystack of which only `size` sentences are left, drawn at random.

    Of N sentences K = rank - 1 are nearer than the right answer. Of the m that are left, G are, which is
    hypergeometric, and by Vandermonde's identity

        E[1 / (1 + G)] = (N + 1) / ((K + 1) (m + 1)) * (1 - C(N - K, m + 1) / C(N + 1, m + 1)).

    Parameters
    ----------
    ranks, haystack : int[q]
        Each right answer's rank, and among how many other sentences.
    size : int
        At least 0; a haystack that has no more is left whole.

    Returns
    -------
    float64[q]
        In (0, 1], falling with `size` to 1 / rank.

    Raises
    ------
    InputError
        A rank that is none.
    """
    ranks, haystack = np.broadcast_arrays(_checked(ranks), haystack)
    kept, total = np.minimum(size, haystack) + 1, haystack + 1
    met = [_expected_reciprocal(*each) for each in zip(ranks.tolist(), kept.tolist(), total.tolist(), strict=True)]
    return np.array(met) * total / (ranks * kept)


def _expected_reciprocal(rank: int, kept: int, total: int) -> float:
    """1 - C(total - rank, kept) / C(total, kept), a product of few factors: factorials would cancel."""
    few, many = sorted((rank, kept))
    if few + many > total:
        return 1.0
    return float(-np.expm1(np.log1p(-many / (total - np.arange(few))).sum()))


def _checked(ranks: ArrayLike) -> np.ndarray:
    array = arrays.whole("ranks", ranks)
    if array.ndim != 1 or not array.size or array.min() < 1:
        raise InputError("ranks: give one list of whole numbers from 1 on")
    return array
