"""Intervals beside point estimates, from the draws of a bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.stats
from scipy.stats import norm, t

from lib.base.errors import InputError
from lib.base.parameters import one_of

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

    estimate: Any
    low: Any
    high: Any

    @classmethod
    def joined(cls, intervals: Iterable[Interval]) -> Interval:
        """Several families, or single estimates, as one family.

        `UNDEFINED` if there are no intervals.
        """
        families = [list(map(np.ravel, interval)) for interval in intervals]
        return cls(*np.hstack(families)) if families else UNDEFINED

    def table(self, index: Iterable, name: str | tuple | None = None) -> pd.DataFrame:
        """A row for each estimate: value, low, high, constant.

        An interval without width is constant. The rows are indexed by `name`; those of
        an array with several axes stand in the order of `itertools.product` over their
        names. Columns of a table of draws, as they are, need no name.
        """
        columns = np.column_stack(list(map(np.ravel, self)))
        table = pd.DataFrame(columns, columns=["value", "low", "high"])
        magnitude = table[["low", "high"]].abs().max(axis=1)
        table["constant"] = table["high"] - table["low"] <= ROUNDING * magnitude
        if name is not None:
            index = pd.Index(list(index)).set_names(name)
        return table.set_index(index)


def table(intervals: Mapping[object, Interval], name: str) -> pd.DataFrame:
    """Intervals of one estimate each as `Interval.table` has them."""
    bounds = np.reshape(list(intervals.values()), (-1, 3)).T
    return Interval(*bounds).table(intervals, name)


# The interval of what the chosen embedders or the text do not allow to compute.
UNDEFINED = Interval(np.nan, np.nan, np.nan)


def intervals(
    draws: pd.DataFrame | pd.Series | np.ndarray,
    sampling: Sampling,
    method: str = "percentile",
    holm: bool = False,
    within: tuple[float, float] | None = None,
    units: int = 0,
) -> Interval:
    """The interval of each column of a table of draws.

    Parameters
    ----------
    draws : DataFrame, Series or float[1 + draws, ...]
        As `lib.stats.draws` has them, or what arithmetic makes of these: the estimates,
        and below them a row for each draw. A last level "seed" of the columns has the
        trainings of each embedder: the interval covers others as well.
    sampling : Sampling
        That of the draws. What goes beyond its repetitions counts only where a family
        needs it (`Sampling.for_family`).
    method, holm, within
        Those of `bootstrap`.
    units : int
        How many units were drawn from; with `within` alone.

    Returns
    -------
    Interval
        In the order of the columns, without their seeds.
    """
    values = np.asarray(draws, np.float64)
    seeds = False
    if isinstance(draws, pd.DataFrame) and "seed" in draws.columns.names:
        seeds = True
        trainings = len(draws.columns.unique("seed"))
        family = () if draws.columns.nlevels == 1 else (-1,)
        values = values.reshape(len(values), *family, trainings)
    if holm and method == "percentile":
        members = values[0, ..., 0] if seeds else values[0]
        sampling = sampling.for_family(members.size)
    values = values[: 1 + sampling.repetitions]
    return bounded(values, sampling, method, holm, seeds, within, units)


def bounded(
    draws: np.ndarray,
    sampling: Sampling,
    method: str,
    holm: bool,
    seeds: bool,
    within: tuple[float, float] | None = None,
    units: int = 0,
) -> Interval:
    """The first of the draws, float[1 + draws, ...], with bounds from the others.

    The options are those of `bootstrap`, which draws some `units`. Without draws the
    bounds are NaN.
    """
    one_of("method", method, METHODS)
    by_seed = draws[0]
    if seeds:
        draws = draws.mean(axis=-1)
    estimate = draws[0]
    draws = draws[1:]
    if np.isnan(estimate).any():
        raise InputError(
            "statistic: is NaN for the original data; "
            "give columns for which it is defined"
        )
    if not len(draws):
        return _as_floats(estimate, estimate * np.nan, estimate * np.nan)
    seed_error = 0.0
    trainings = 2
    if seeds:
        trainings = by_seed.shape[-1]
        if trainings < 2:
            raise InputError(
                "seeds: one seed says nothing about the spread between seeds; "
                "give two or more, or five for a verdict"
            )
        seed_error = scipy.stats.sem(by_seed, axis=-1)

    def bounds(tail):
        low, high = _bounds(method, estimate, draws, tail)
        if within is not None:
            least, most = within
            varies = np.ptp(draws, axis=0) + seed_error
            agree = varies <= AGREEMENT * (most - least)
            squared = norm.isf(tail) ** 2
            share = squared / (units + squared)
            low = np.where(agree, estimate - share * (estimate - least), low)
            high = np.where(agree, estimate + share * (most - estimate), high)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(
                f"statistic: the interval from {len(draws)} draws excludes the "
                "estimate; give more data or more repetitions, "
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
    return _as_floats(estimate, low, high)


def _as_floats(*sides):
    """An interval of floats, if each side is a single number."""
    return Interval(*sides) if np.ndim(sides[0]) else Interval(*map(float, sides))


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
