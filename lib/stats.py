"""Intervals beside point estimates."""

from __future__ import annotations

import numpy as np

from lib.parameters import in_range


def bootstrap_mean(
    values: np.ndarray,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    repetitions: int = 1000,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bootstrap interval of the weighted mean of each column.

    Parameters
    ----------
    values : float[q, m], one row a query, one column a quantity
    rng : random numbers; the same draws serve every column
    groups : int[q], equal for rows that are not independent (translations of one verse): whole groups are
        drawn, which is the cluster bootstrap; a negative number stands for a group of its own
    weights : float[q], how often a row counts (a query that was sampled twice); 1 if not given
    repetitions : int, resamples
    confidence : float in (0, 1), the share of the resamples that the interval covers

    Returns
    -------
    low, high : float[m], the bounds; each column's interval stands alone (no correction for many columns)
    """
    in_range("repetitions", repetitions, 1, 10**7)
    in_range("confidence", confidence, 0.01, 0.9999)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    labels = np.arange(len(values)) if groups is None else _own_group_if_negative(np.asarray(groups))
    _, member = np.unique(labels, return_inverse=True)
    count = member.max() + 1
    sums = np.zeros((count, values.shape[1]))
    np.add.at(sums, member, values * weights[:, None])
    sizes = np.bincount(member, weights, count)
    draws = rng.multinomial(count, np.full(count, 1 / count), size=repetitions)
    means = (draws @ sums) / (draws @ sizes)[:, None]
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def _own_group_if_negative(groups: np.ndarray) -> np.ndarray:
    unknown = groups < 0
    return np.where(unknown, groups.max() + 1 + np.arange(len(groups)), groups)
