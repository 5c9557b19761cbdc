"""How embedders rank by their scores under two conditions."""

from __future__ import annotations

import numpy as np

from lib.stats import Interval, Measured


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    """Kendall's tau-b of two rankings, float[e] each.

    The share of pairs in the same order minus the share of pairs in the other order.
    NaN if all members of a ranking are alike. SciPy's takes fifteen times as long.
    """
    first, second = np.triu_indices(len(a), 1)
    in_a = np.sign(a[first] - a[second])
    in_b = np.sign(b[first] - b[second])
    if not (in_a.any() and in_b.any()):
        return np.nan
    agreement = (in_a * in_b).sum() / np.sqrt(np.count_nonzero(in_a))
    return float(agreement / np.sqrt(np.count_nonzero(in_b)))


def steadiness(half: np.ndarray, other: np.ndarray) -> float:
    """Tau of two conditions minus tau of the first one with itself.

    It is 0 if only noise differs. Both arguments are scores[2, e], on two halves of the
    items.
    """
    return kendall(half[0], other[1]) - kendall(half[0], other[0])


def opposed(first: Interval, second: Interval) -> Interval:
    """The smaller of two differences of opposite sign.

    It is above 0 where one is clearly positive and the other one clearly negative.
    """
    fall = np.minimum(_negative(first), second)
    rise = np.minimum(first, _negative(second))
    return Interval(*np.maximum(rise, fall))


def _negative(interval: Interval) -> Interval:
    return Interval(-interval.estimate, -interval.high, -interval.low)


def reversals(scores: Measured) -> Interval:
    """`opposed` for every two embedders of scores[2, e] under two conditions."""

    def differences(by_condition: np.ndarray) -> np.ndarray:
        first, second = np.triu_indices(by_condition.shape[1], 1)
        return by_condition[:, first] - by_condition[:, second]

    bounds = scores.interval(differences, holm=True)
    before, after = np.swapaxes(bounds, 0, 1)
    return opposed(Interval(*before), Interval(*after))
