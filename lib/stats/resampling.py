"""The bootstrap: of a statistic of rows, and tables of draws of many scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from lib.base.errors import InputError
from lib.stats.bounds import Interval, Sampling, bounded
from lib.vectors import as_integers

DEALS = 3  # of the units into random halves


def bootstrap(
    statistic: Callable[..., np.ndarray],
    *columns: np.ndarray,
    sampling: Sampling,
    clusters: np.ndarray | None = None,
    method: str = "percentile",
    seeds: bool = False,
    holm: bool = False,
    within: tuple[float, float] | None = None,
) -> Interval:
    """Bootstrap interval of a statistic of rows.

    Parameters
    ----------
    statistic : callable
        Takes the columns and returns a float or an array: `mean`, `spearman`, the
        difference of two columns' means.
    *columns : array[n, ...]
        One row an observation. One draw resamples all columns alike, so that a
        difference of two is a paired one.
    sampling : Sampling
        Seed, repetitions, confidence.
    clusters : int[n], optional
        Equal for rows that are not independent (translations of a verse, pairs of one
        document): they are drawn together. A negative number stands for a cluster of
        its own.
    method : {"percentile", "normal", "fisher"}
        "percentile" for means and their differences; "normal" is the estimate plus and
        minus 1.96 standard deviations of the draws (at 95 % confidence), for statistics
        that resampling biases; "fisher" is the same on Fisher's z, for rank
        correlations near 1, which percentiles miss; a draw of 1, where z is infinite,
        counts as the highest draw below 1.
    seeds : bool
        The statistic's last axis has a value for each training seed, two or more. The
        estimate is their mean, and the interval covers other items and other seeds:
        both half-widths add as squares, the seeds' by Student's t.
    holm : bool
        The statistic's values are a family: the intervals that exclude 0 are those of
        the values that Holm's procedure rejects, with the smallest ``1 - confidence``
        at which an interval excludes 0 as the p-value.
    within : (float, float), optional
        The least and the greatest value that a row can have, if the statistic is their
        mean: 0 and 1 for shares and overlaps. If n units all agree, no draw differs,
        and others may still: as many as Wilson's score interval allows where none of n
        does, a share of ``z**2 / (n + z**2)`` (Wilson 1927; 0.019 for 200 units at
        95 %), which move the mean toward either end. Unlike the rule of three, 3 / n,
        that share is below 1 for any n. By default such an interval has no width, which
        is right for what is constant by construction.

    Returns
    -------
    Interval
        Draws in which the statistic is NaN do not count. A single cluster, or a single
        row, says nothing of how others differ: its bounds are NaN, and no verdict comes
        of it.

    Raises
    ------
    InputError
        Columns of different lengths or without rows; a statistic that is NaN; an
        interval that excludes the estimate; a single seed; percentiles beyond which
        there is not one of the draws (`Sampling.for_family`).

    Examples
    --------
    >>> from lib import stats
    >>> overlaps = np.array([0.5, 0.7, 0.6, 0.9, 0.4, 0.8])
    >>> found = stats.bootstrap(stats.mean, overlaps, sampling=stats.Sampling(seed=0))
    >>> tuple(round(number, 2) for number in found)
    (0.65, 0.52, 0.78)
    """
    columns = [np.asarray(column) for column in columns]
    units = _units(columns, clusters)

    def value(drawn):
        rows = drawn
        if clusters is not None:
            rows = np.concatenate([units[unit] for unit in drawn])
        return np.asarray(statistic(*(column[rows] for column in columns)), np.float64)

    found = np.array([value(drawn) for drawn in _resamples(len(units), sampling)])
    return bounded(found, sampling, method, holm, seeds, within, len(units))


def mean(values: np.ndarray) -> np.ndarray:
    """The mean of each column, float[...] from float[n, ...]."""
    return values.mean(axis=0)


def means(
    columns: pd.DataFrame,
    sampling: Sampling,
    clusters: np.ndarray | None = None,
    within: tuple[float, float] | None = None,
) -> pd.DataFrame:
    """The mean of each column with its bootstrap interval.

    Parameters
    ----------
    columns : DataFrame
        A row for each observation.
    sampling : Sampling
        Seed, repetitions, confidence.
    clusters : int[n], optional
        Equal for rows that are not independent.
    within : (float, float), optional
        The range of the columns, as for `bootstrap`.

    Returns
    -------
    DataFrame
        Columns value, low, high and constant, as `Interval.table` has them; a row for
        each column, with its name.
    """
    found = bootstrap(
        mean, columns, sampling=sampling, clusters=clusters, within=within
    )
    return found.table(columns.columns)


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's rank correlation of two columns, float[n] each.

    NaN if one of them is constant. Equal values share the mean of their ranks.
    """
    ranks = rankdata([x, y], axis=1)
    if not np.ptp(ranks, axis=1).all():
        return np.nan
    return float(np.clip(np.corrcoef(ranks)[0, 1], -1.0, 1.0))


def _units(columns: list[np.ndarray], given: np.ndarray | None) -> list[np.ndarray]:
    """The rows of each unit that is drawn: a row, or all rows of a cluster."""
    member = np.arange(len(columns[0]))
    if given is not None:
        member = clusters(given)
    lengths = [*map(len, columns), len(member)]
    if min(lengths) != max(lengths) or not len(member):
        raise InputError(
            f"columns and clusters: have {lengths} rows; "
            "give the same number of each, at least one"
        )
    order = np.argsort(member, kind="stable")
    borders = np.flatnonzero(np.diff(member[order])) + 1
    return np.split(order, borders)


def clusters(groups: np.ndarray) -> np.ndarray:
    """int[n] in which new numbers replace the negative ones of `groups`.

    Each negative number stands for a group with one member. Raises InputError for what
    is not one whole number for each row.
    """
    groups = as_integers("groups", groups)
    if groups.ndim != 1:
        raise InputError(
            f"groups: have shape {groups.shape}; give one whole number for each row"
        )
    first = int(groups.max(initial=-1)) + 1
    alone = first + np.arange(len(groups))
    return np.where(groups < 0, alone, groups)


# -- tables of draws -------------------------------------------------------------------


def draws(
    values: pd.DataFrame,
    sampling: Sampling,
    clusters: np.ndarray | None = None,
    gold: np.ndarray | None = None,
    sets: pd.Index | None = None,
    halves: bool = False,
) -> pd.DataFrame:
    """Scores of what is compared on the same items, and of each draw of the items.

    Every contrast of columns is a paired one; `intervals` bounds it.

    Parameters
    ----------
    values : DataFrame
        A row for each item, a column for each of what is compared.
    sampling : Sampling
    clusters : int[items] or int[items, 2], optional
        Equal for items of a set that are not independent; of pairs of documents, both
        documents. By default every item is independent of all others.
    gold : float[items], optional
        The scores are Pearson's correlations of the values with these. In a set where
        they are NaN, and without them, the scores are means.
    sets : Index[items], optional
        The set of each item, such as its task. Items of all sets are drawn alike.
    halves : bool
        Score each of two random halves of what is drawn, dealt three times: what is
        chosen on one half can be measured on the other.

    Returns
    -------
    DataFrame
        The first row has the estimates, those on all items as they are; each of the
        others is a draw. The columns are those of the values; before them stand the
        levels deal and half, and those of the sets, where these are given. NaN stands
        for the correlation with values that are all alike, and for the score of a set
        of which nothing is drawn.
    """
    unused = [] if halves else ["deal", "half"]
    if sets is None:
        sets = pd.Index(np.zeros(len(values)), name="set")
        unused.append("set")
    place, names = pd.factorize(sets)
    units = _numbered(place, clusters)
    matrix = np.ascontiguousarray(values, np.float64)
    if gold is None:
        gold = np.full(len(values), np.nan)
    tables = {}
    for part, kept in _parts(units.max() + 1, sampling, halves).items():
        for number, name in enumerate(names.to_frame().itertuples(index=False)):
            rows = place == number
            own = matrix[rows]
            own_units = units[rows]
            own_gold = gold[rows]
            scored = []
            for drawn in _resamples(len(kept), sampling):
                times = counts(own_units, drawn[kept[drawn]])
                scored.append(scores(own, times, own_gold))
            tables[*part, *name] = pd.DataFrame(scored, columns=values.columns)
    joined = pd.concat(tables, axis=1, names=["deal", "half", *sets.names])
    return joined.droplevel(unused, axis=1)


def scores(values: np.ndarray, counts: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """The mean of each column, or its correlation with gold scores, float[columns].

    Parameters
    ----------
    values : float[items, columns]
    counts : int[items]
        How often each item counts.
    gold : float[items]
        NaN for means.
    """
    if not counts.any():
        return np.full(values.shape[1], np.nan)
    if np.isnan(gold).all():
        return _weighted(counts, values) / counts.sum()
    weights = counts / counts.sum()
    centered = values - _weighted(weights, values)
    ratings = gold - weights @ gold
    covariance = _weighted(weights * ratings, centered)
    variances = _weighted(weights, centered**2)
    lengths = np.sqrt(variances * (weights @ ratings**2))
    chosen = counts > 0
    varies = np.ptp(values[chosen], axis=0) > 0
    varies &= np.ptp(gold[chosen]) > 0
    found = np.full(len(lengths), np.nan)
    return np.divide(covariance, lengths, out=found, where=varies)


def counts(units: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """How often each item counts where some units are drawn, int[items].

    `units`, int[items, 2], has the two documents of a pair, or one unit twice. A pair
    counts as often as both were drawn together.
    """
    times = np.bincount(drawn, minlength=units.max() + 1)
    one, other = units.T
    together = times[one] * times[other]
    return np.where(one == other, times[one], together)


def mean_over(draws: pd.DataFrame, *levels: str) -> pd.DataFrame:
    """The mean over some levels of the columns, such as the tasks; they are dropped."""
    kept = [name for name in draws.columns.names if name not in levels]
    return draws.T.groupby(level=kept, sort=False).mean(skipna=False).T


def differences(draws: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """By how much the first of each pair of columns scores higher than the second.

    The names of the first level become "first - second".
    """
    gaps = {f"{one} - {other}": draws[one] - draws[other] for one, other in pairs}
    return pd.concat(gaps, axis=1, names=draws.columns.names[:1])


def _resamples(total: int, sampling: Sampling) -> Iterator[np.ndarray]:
    """All units once, int[total], and then each draw; one alone is not drawn."""
    yield np.arange(total)
    rng = np.random.default_rng(sampling.seed)
    for _ in range(sampling.repetitions if total > 1 else 0):
        yield rng.integers(total, size=total)


def _parts(total: int, sampling: Sampling, halves: bool) -> dict[tuple, np.ndarray]:
    """Which units are in each part that is scored, by deal and half."""
    if not halves:
        return {(0, 0): np.ones(total, bool)}
    rng = np.random.default_rng(sampling.seed)
    deals = [rng.permutation(total) % 2 for _ in range(DEALS)]
    return {
        (number, half): deal == half
        for number, deal in enumerate(deals)
        for half in (0, 1)
    }


def _weighted(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The weighted sum of each column.

    Equal columns have equal sums, which `@` does not guarantee.
    """
    return np.einsum("i,ij->j", weights, columns)


def _numbered(place: np.ndarray, given: np.ndarray | None) -> np.ndarray:
    """int[items, 2]: the two units of each item, numbered from 0, set by set.

    `place` has the number of each item's set. Where there is only one unit, it is given
    twice.
    """
    units = np.arange(len(place))
    if given is not None:
        units = np.asarray(given)
    if units.ndim == 1:
        unit = clusters(units)
        units = np.stack([unit, unit], axis=1)
    keys = pd.DataFrame({"set": place.repeat(2), "unit": units.ravel()})
    numbers = keys.groupby(["set", "unit"]).ngroup()
    return numbers.to_numpy().reshape(-1, 2)
