"""Mean reciprocal rank: how near to the top of its list does an embedder put the right answer?

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8 and appendix B.5 (Table 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.neighbors.ranking import Ranks, ranks
from lib.run import arrays
from lib.run.errors import InputError

__all__ = ["Ranks", "chance", "expected_reciprocal_ranks", "mean_reciprocal_rank", "ranks"]


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
        A rank that its haystack cannot have, or a negative size.
    """
    ranks, haystack = np.broadcast_arrays(_checked(ranks), arrays.whole("haystack", haystack))
    if (ranks > haystack + 1).any() or size < 0:
        raise InputError("ranks, size: a rank is at most one more than its haystack has, and size at least 0")
    kept, total = np.minimum(size, haystack) + 1, haystack + 1
    met = [_met(*each) for each in zip(ranks.tolist(), kept.tolist(), total.tolist(), strict=True)]
    return np.array(met) * total / (ranks * kept)


def _met(rank: int, kept: int, total: int) -> float:
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
