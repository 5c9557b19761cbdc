"""Intervals beside point estimates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.stats
from scipy.stats import norm, rankdata, t

from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.vectors import as_integers

NEAR_ONE = 1 - 1e-9  # Fisher's z of 1 is infinite
METHODS = ("percentile", "normal", "fisher")
AGREEMENT = 1e-12  # of the range of a measurement: draws that differ by no more agree
ROUNDING = 1e-5  # relative to its bounds, an interval of no more width has none


@dataclass(frozen=True)
class Sampling:
    """What all intervals of a study share.

    Parameters
    ----------
    seed : int
        Of the draws.
    repetitions : int
        Resamples, 50 or more.
    confidence : float
        In (0, 1): how often the interval covers what it estimates.
    """

    seed: int = 0
    repetitions: int = 1000
    confidence: float = 0.95

    def for_family(self, members: int) -> Sampling:
        """The same with as many draws as Holm's correction needs, where it needs more.

        Its first step leaves out ``(1 - confidence) / 2 / members`` of the draws on
        either side, which must be one draw at least.
        """
        needed = _draws_needed((1 - self.confidence) / 2 / members)
        return replace(self, repetitions=max(self.repetitions, needed))


class Interval(NamedTuple):
    """An estimate and its bounds, ``low <= estimate <= high``.

    Floats, or arrays of one shape.
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def joined(cls, intervals: Iterable[Interval]) -> Interval:
        """Several families, or single estimates, as one family.

        `UNDEFINED` if there are no intervals.
        """
        families = [list(map(np.ravel, interval)) for interval in intervals]
        return cls(*np.hstack(families)) if families else UNDEFINED

    def table(self, index: Iterable, name: str | tuple) -> pd.DataFrame:
        """A row for each estimate: value, low, high, constant.

        An interval without width is constant. The rows are indexed by `name`; those of
        an array with several axes stand in the order of `itertools.product` over their
        names.
        """
        columns = np.column_stack(list(map(np.ravel, self)))
        table = pd.DataFrame(columns, columns=["value", "low", "high"])
        magnitude = table[["low", "high"]].abs().max(axis=1)
        table["constant"] = table["high"] - table["low"] <= ROUNDING * magnitude
        if isinstance(name, str):
            table.index = pd.Index(list(index), name=name)
        else:
            table.index = pd.MultiIndex.from_tuples(index, names=name)
        return table


def table(intervals: Mapping[object, Interval], name: str) -> pd.DataFrame:
    """Intervals of one estimate each as `Interval.table` has them."""
    bounds = np.reshape(list(intervals.values()), (-1, 3)).T
    return Interval(*bounds).table(intervals, name)


# The interval of what the chosen embedders or the text do not allow to compute.
UNDEFINED = Interval(np.nan, np.nan, np.nan)


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
    """
    one_of("method", method, METHODS)
    columns = [np.asarray(column) for column in columns]
    units = _units(columns, clusters)
    every_unit = np.arange(len(units))

    def by_seed(chosen):
        rows = chosen
        if clusters is not None:
            rows = np.concatenate([units[unit] for unit in chosen])
        return np.asarray(statistic(*(column[rows] for column in columns)), np.float64)

    def value(chosen):
        return by_seed(chosen).mean(axis=-1) if seeds else by_seed(chosen)

    estimate = value(every_unit)
    if np.isnan(estimate).any():
        raise InputError(
            "statistic: is NaN for the data as they are; "
            "give columns for which it is defined"
        )
    if len(units) == 1:
        unknown = estimate * np.nan
        if np.ndim(estimate):
            return Interval(estimate, unknown, unknown)
        return Interval(float(estimate), np.nan, np.nan)
    seed_error = 0.0
    trainings = 2
    if seeds:
        trainings = by_seed(every_unit).shape[-1]
        if trainings < 2:
            raise InputError(
                "seeds: one seed says nothing about the spread between seeds; "
                "give two or more, or five for a verdict"
            )
        seed_error = scipy.stats.sem(by_seed(every_unit), axis=-1)
    rng = np.random.default_rng(sampling.seed)
    draws = [
        value(rng.integers(len(units), size=len(units)))
        for _ in range(sampling.repetitions)
    ]
    draws = np.array(draws)

    def bounds(tail):
        low, high = _bounds(method, estimate, draws, tail)
        if within is not None:
            least, most = within
            varies = np.ptp(draws, axis=0) + seed_error
            agree = varies <= AGREEMENT * (most - least)
            share = norm.isf(tail) ** 2 / (len(units) + norm.isf(tail) ** 2)
            low = np.where(agree, estimate - share * (estimate - least), low)
            high = np.where(agree, estimate + share * (most - estimate), high)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(
                f"statistic: the interval from {len(draws)} resamples of {len(units)} "
                "units excludes the estimate; give more data or more repetitions, "
                "or in code method='normal'"
            )
        spread = t.isf(tail, trainings - 1) * seed_error
        below = np.hypot(estimate - low, spread)
        above = np.hypot(high - estimate, spread)
        return estimate - below, estimate + above

    tail = (1 - sampling.confidence) / 2
    if holm:
        low, high = _holm(bounds, estimate, np.nanstd(draws, axis=0), tail)
    else:
        low, high = bounds(tail)
    if np.ndim(estimate):
        return Interval(estimate, low, high)
    return Interval(float(estimate), float(low), float(high))


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
    options = {"sampling": sampling, "clusters": clusters, "within": within}
    found = bootstrap(mean, columns, **options)
    table = found.table(range(columns.shape[1]), "column")
    return table.set_index(columns.columns)


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
    member = np.arange(len(columns[0])) if given is None else clusters(given)
    lengths = [*map(len, columns), len(member)]
    if min(lengths) != max(lengths) or not len(member):
        raise InputError(
            f"columns and clusters: have {lengths} rows; "
            "give equally many, at least one"
        )
    order = np.argsort(member, kind="stable")
    borders = np.flatnonzero(np.diff(member[order])) + 1
    return np.split(order, borders)


def _draws_needed(tail):
    """How many draws have one beyond the percentile that leaves out `tail`."""
    return math.ceil(round(1 / tail, 6))


def _bounds(method, estimate, draws, tail):
    """The two bounds that leave out `tail` on either side."""
    if method == "percentile":
        if len(draws) < _draws_needed(tail):
            raise InputError(
                f"repetitions: {len(draws)} draws do not show what {tail:.2g} of them "
                f"exceed; give {_draws_needed(tail)} or more"
            )
        return tuple(np.nanquantile(draws, [tail, 1 - tail], axis=0))
    if method == "normal":
        half = norm.isf(tail) * np.nanstd(draws, axis=0, ddof=1)
        return estimate - half, estimate + half
    below = np.abs(draws) < NEAR_ONE
    highest = np.max(np.abs(draws), axis=0, where=below, initial=0)
    highest = np.where(below.any(axis=0), highest, NEAR_ONE)

    def fisher(r):
        return np.arctanh(np.where(np.abs(r) < NEAR_ONE, r, np.sign(r) * highest))

    z = fisher(estimate)
    half = norm.isf(tail) * np.nanstd(fisher(draws), axis=0, ddof=1)
    low = np.minimum(np.tanh(z - half), estimate)
    high = np.maximum(np.tanh(z + half), estimate)
    return low, high


def _holm(bounds, estimate, deviation, tail):
    """Bounds of a family of estimates, step by step.

    While some of them exclude 0, the strongest of these is fixed and removed.
    """
    # An estimate that no draw changes is 0 or certain.
    constant = np.where(estimate == 0, 0.0, np.inf)
    strength = np.abs(np.divide(estimate, deviation, out=constant, where=deviation > 0))
    low, high = np.empty(strength.shape), np.empty(strength.shape)
    remaining = np.ones(strength.shape, bool)
    while remaining.any():
        candidates = bounds(tail / remaining.sum())
        low[remaining], high[remaining] = (side[remaining] for side in candidates)
        rejected = remaining & ((low > 0) | (high < 0))
        if not rejected.any():
            break
        strongest = np.where(rejected, strength, -1).argmax()
        remaining.flat[strongest] = False
    return low, high


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
    highest = int(groups.max(initial=-1))
    return np.where(groups < 0, highest + 1 + np.arange(len(groups)), groups)
