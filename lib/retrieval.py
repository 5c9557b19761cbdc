"""Mean reciprocal rank: how near the top an embedder ranks the right answer.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8 and appendix B.5
(Table 4).
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lib.base.errors import InputError
from lib.vectors import as_integers, unit

if TYPE_CHECKING:
    from lib.neighbors.contract import Exclude, Vectors

# Similarities that differ by no more are tied: below it there is nothing but the order
# of summation.
TIE = 1e-12


class Ranks(NamedTuple):
    """Where the needle of each query stands in its haystack.

    Attributes
    ----------
    ranks : int64[q]
        From 1: one plus the number of sentences in the haystack that are nearer to the
        query than its needle.
    tied : int64[q]
        How many sentences in the haystack are as near as the needle; `ranks` places
        them all after it.
    """

    ranks: np.ndarray
    tied: np.ndarray


def ranks(
    queries: Vectors, needles: Vectors, corpus: Vectors, exclude: Exclude = None
) -> Ranks:
    """The rank of each query's needle in a corpus, by cosine similarity.

    Ranks are counted, not sorted: 1 + how many corpus vectors have a greater similarity
    to the query than its needle has. Needles are not added to the corpus: one counts
    for other queries only if the corpus has it. The result is that of float64 brute
    force: dense vectors are compared in float32, and where that cannot tell, within a
    proven margin (`lib.neighbors.dense`), once more in float64.

    Parameters
    ----------
    queries, needles : real[q, d]
        Arrays or SciPy sparse arrays.
    corpus : real[n, d]
        Of the same kind; a memory-map that is larger than memory will do.
    exclude : sequence of int or of sequences of int, optional
        For query i the corpus index, or several, that is not in its haystack (itself,
        say, or its needle, if the corpus has that already); -1 or an empty sequence for
        none.

    Returns
    -------
    Ranks
        Similarities that differ by at most 1e-12 are tied. A zero vector has similarity
        0 to everything.

    Raises
    ------
    InputError
        Unequal shapes, NaN or infinity, or an index in `exclude` that the corpus does
        not have.

    Examples
    --------
    >>> from lib.retrieval import ranks
    >>> corpus = np.array([[1, 0], [1, 1], [0, 1]])
    >>> ranks(np.array([[3, 1]]), np.array([[1, 2]]), corpus).ranks
    array([3])
    """
    from lib.neighbors import dense, sparse
    from lib.neighbors.brute_force import each_block, scored
    from lib.neighbors.contract import exclusions, places, same_kind

    queries, corpus = same_kind(queries, corpus)
    needles, corpus = same_kind(needles, corpus, "needles")
    if needles.shape != queries.shape:
        raise InputError(
            f"needles: shape {needles.shape} for queries of {queries.shape}; "
            "give a needle for each query"
        )
    q = queries.shape[0]
    excluded = exclusions(exclude, q, corpus.shape[0])
    unit_needles = unit(needles, "needles")
    if sp.issparse(corpus):
        screen = sparse.Sparse(queries, corpus)
        levels = screen.queries.multiply(unit_needles).sum(axis=1)
    else:
        screen = dense.Float32(unit(queries, "queries"), corpus)
        levels = np.einsum("ij,ij->i", screen.queries, unit_needles)
    nearer = np.zeros(q, np.int64)
    tied = np.zeros(q, np.int64)
    lock = Lock()

    def count(block: range) -> None:
        for some, scores, vectors in scored(screen, block, excluded):
            level = levels[some]
            low = (level - screen.margin).astype(scores.dtype)
            high = (level + screen.margin).astype(scores.dtype)
            surely_nearer = scores > high[:, None]
            possibly_nearer = scores >= low[:, None]
            i, j = places(possibly_nearer & ~surely_nearer)
            differences = screen.similarities(some, i, j, vectors, scores) - level[i]
            is_nearer = i[differences > TIE]
            is_tied = i[np.abs(differences) <= TIE]
            with lock:
                nearer[some] += surely_nearer.sum(axis=1)
                nearer[some] += np.bincount(is_nearer, minlength=len(scores))
                tied[some] += np.bincount(is_tied, minlength=len(scores))

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
        No ranks, or one that is not a whole number from 1 on.

    Examples
    --------
    >>> from lib.retrieval import mean_reciprocal_rank
    >>> mean_reciprocal_rank([1, 2, 4])
    0.5833333333333334
    """
    return float(np.mean(1 / _checked(ranks)))


def chance(size: int) -> float:
    """The expected MRR of a random ranking of `size` sentences, one of them right.

    This is the mean of 1/1 to 1/size, in (0, 1].
    """
    return float(np.mean(1 / np.arange(1, size + 1)))


def _checked(ranks: ArrayLike) -> np.ndarray:
    array = as_integers("ranks", ranks)
    if array.ndim != 1 or not array.size or array.min() < 1:
        raise InputError(
            "ranks: are empty, nested or below 1; give a list of whole numbers from 1"
        )
    return array
