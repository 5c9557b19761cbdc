"""Rankings of pairs of embedders from disjoint samples of queries.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from lib import stats
from lib.stats import Interval, Sampling
from lib.stats.bounds import NEAR_ONE
from lib.studies.robustness import of_rankings

# How often the queries are dealt into samples, and bootstrap draws for each deal.
DEALS = 100
LEAST_DRAWS = 20


def between_samples(overlaps: np.ndarray, n: int, sampling: Sampling) -> Interval:
    """Mean correlation of rankings from every two disjoint samples of n queries.

    Correlations are Spearman's. `overlaps`, float[q, pairs], has at least 2 n rows. The
    queries are dealt into samples many times; correlation and interval are the means
    over deals, on Fisher's scale.
    """
    dealt = _over_deals(_mean_correlation, n, [overlaps], sampling, "fisher")
    below_one = np.clip(dealt, -NEAR_ONE, NEAR_ONE)
    means = np.arctanh(below_one).mean(axis=0)
    return Interval(*np.tanh(means).tolist())


def less_than_samples(
    exactly: np.ndarray, otherwise: np.ndarray, n: int, sampling: Sampling
) -> Interval:
    """Correlation between two ways to search minus that between two samples.

    Samples are of n queries. Positive where the search changes the ranking less than
    other queries do. `exactly` and `otherwise`, float[q, pairs], are the overlaps of
    the same queries; both correlations are means over disjoint samples of n, and over
    many deals of the queries into samples.
    """

    def difference(one: np.ndarray, other: np.ndarray) -> float:
        by_sample = list(map(stats.spearman, one.mean(axis=0), other.mean(axis=0)))
        return float(np.mean(by_sample)) - _mean_correlation(one)

    dealt = _over_deals(difference, n, [exactly, otherwise], sampling, "normal")
    return Interval(*dealt.mean(axis=0).tolist())


def _over_deals(
    statistic: Callable,
    n: int,
    columns: Sequence[np.ndarray],
    sampling: Sampling,
    method: str,
) -> np.ndarray:
    """A statistic of `_samples` and its interval for each deal, float[deals, 3].

    Each deal divides the queries into samples.
    """
    rng = np.random.default_rng(sampling.seed)
    draws = max(LEAST_DRAWS, sampling.repetitions // DEALS)
    few = replace(sampling, repetitions=draws)
    found = []
    for _ in range(DEALS):
        order = rng.permutation(len(columns[0]))
        samples = [_samples(each[order], n) for each in columns]
        found.append(of_rankings(statistic, *samples, sampling=few, method=method))
    return np.array(found)


def _samples(overlaps: np.ndarray, n: int) -> np.ndarray:
    """float[n, samples, pairs]: a row has one query of each disjoint sample.

    So rows are independent.
    """
    samples = len(overlaps) // n
    return overlaps[: samples * n].reshape(n, samples, -1)


def _mean_correlation(rows: np.ndarray) -> float:
    rho = np.corrcoef(rankdata(rows.mean(axis=0), axis=1))
    return rho[np.triu_indices(len(rho), 1)].mean()
