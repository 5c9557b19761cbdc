"""Intervals beside point estimates, and verdicts on what the papers claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.stats
from scipy.stats import norm, rankdata, t

from lib.run import arrays
from lib.run.errors import InputError

CLAIMS = Path(__file__).parent / "catalog" / "claims.csv"
QUANTIFIERS = {"all": np.all, "any": np.any, "none": lambda met: not met.any(), "most": lambda met: met.mean() > 0.5}
NEAR_ONE = 1 - 1e-9  # Fisher's z of 1 is infinite
ROUNDING = 1e-5  # an interval of less width has none


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


class Interval(NamedTuple):
    """An estimate and its bounds, ``low <= estimate <= high``: floats, or arrays of one shape."""

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def table(self, index: Iterable, name: str | tuple) -> pd.DataFrame:
        """A row for each estimate, indexed by `name`: columns value, low, high, and constant where it has no width."""
        columns = {"value": self.estimate, "low": self.low, "high": self.high}
        columns["constant"] = np.subtract(self.high, self.low) < ROUNDING
        return pd.DataFrame(columns, pd.Index(list(index), name=name))


def table(intervals: Mapping[object, Interval], name: str) -> pd.DataFrame:
    """Intervals of one estimate each as `Interval.table` has them."""
    return Interval(*np.transpose(list(intervals.values()))).table(intervals, name)


def bootstrap(
    statistic: Callable[..., np.ndarray],
    *columns: np.ndarray,
    sampling: Sampling,
    clusters: np.ndarray | None = None,
    method: str = "percentile",
    seeds: bool = False,
    holm: bool = False,
) -> Interval:
    """Bootstrap interval of a statistic of rows.

    Parameters
    ----------
    statistic : callable
        Takes the columns and returns a float or an array: `mean`, `spearman`, the difference of two columns' means.
    *columns : array[n, ...]
        One row an observation. One draw resamples all columns alike, so that a difference of two is a paired one.
    sampling : Sampling
        Seed, repetitions, confidence.
    clusters : int[n], optional
        Equal for rows that are not independent (translations of a verse, pairs of one document): they are drawn
        together. A negative number stands for a cluster of its own.
    method : {"percentile", "bca", "normal", "fisher"}
        "percentile" for means and their differences; "bca" corrects for bias and skewness (Efron 1987), of a
        number or a list of numbers; "normal" is the estimate plus and minus 1.96 standard deviations of the draws
        (at 95 % confidence), for statistics that resampling biases; "fisher" is the same on Fisher's z, for rank
        correlations near 1, which percentiles miss; a draw of 1, where z is infinite, counts as the highest draw
        below 1.
    seeds : bool
        The statistic's last axis has a value for each training seed. The estimate is their mean, and the interval
        covers other items and other seeds: both half-widths add as squares, the seeds' by Student's t.
    holm : bool
        The statistic's values are a family: just those intervals exclude 0 that Holm's procedure rejects.

    Returns
    -------
    Interval
        Draws in which the statistic is NaN do not count.

    Raises
    ------
    InputError
        Columns of different lengths or without rows; a statistic that is NaN; percentiles that miss the estimate.
    """
    columns = [np.asarray(column) for column in columns]
    units = _units(columns, clusters)

    def value(chosen: np.ndarray) -> np.ndarray:
        rows = chosen if clusters is None else np.concatenate([units[unit] for unit in chosen])
        found = np.asarray(statistic(*(column[rows] for column in columns)), np.float64)
        return found.mean(axis=-1) if seeds else found

    rng = np.random.default_rng(sampling.seed)
    draws = np.array([value(rng.integers(len(units), size=len(units))) for _ in range(sampling.repetitions)])
    everything = np.arange(len(units))
    estimate = value(everything)
    if np.isnan(estimate).any():
        raise InputError("statistic: is NaN for the data as they are; give columns for which it is defined")
    by_seed = np.asarray(statistic(*columns), np.float64) if seeds else None

    def bounds(tail: float) -> tuple[np.ndarray, np.ndarray]:
        if method == "bca":
            made = SimpleNamespace(bootstrap_distribution=draws.T)
            options = {"n_resamples": 0, "bootstrap_result": made, "confidence_level": 1 - 2 * tail}
            found = scipy.stats.bootstrap((everything,), value, vectorized=False, method="BCa", **options)
            low, high = found.confidence_interval
        else:
            low, high = _bounds(method, estimate, draws, tail)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(f"method: {method!r} misses the estimate, which resampling biases; take 'normal'")
        spread = t.isf(tail, by_seed.shape[-1] - 1) * scipy.stats.sem(by_seed, axis=-1) if seeds else 0.0
        return estimate - np.hypot(estimate - low, spread), estimate + np.hypot(high - estimate, spread)

    tail = (1 - sampling.confidence) / 2
    low, high = _holm(bounds, estimate, np.nanstd(draws, axis=0), tail) if holm else bounds(tail)
    return Interval(*(part.item() if np.ndim(part) == 0 else part for part in (estimate, low, high)))


def mean(values: np.ndarray) -> np.ndarray:
    """The mean of each column, float[...] from float[n, ...]."""
    return values.mean(axis=0)


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's rank correlation of two columns, float[n] each; NaN if one of them is constant.

    Equal values share the mean of their ranks.
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
        raise InputError(f"columns and clusters: have {lengths} rows; give equally many, at least one")
    order = np.argsort(member, kind="stable")
    borders = np.flatnonzero(np.diff(member[order])) + 1
    return np.split(order, borders)


def _bounds(method, estimate, draws, tail):
    """The two bounds that leave out `tail` on either side."""
    if method == "percentile":
        return tuple(np.nanquantile(draws, [tail, 1 - tail], axis=0))
    if method == "fisher":
        below = np.abs(draws) < NEAR_ONE
        most = np.where(below.any(axis=0), np.max(np.abs(draws), axis=0, where=below, initial=0), NEAR_ONE)
        finite = (np.where(np.abs(r) < NEAR_ONE, r, np.sign(r) * most) for r in (estimate, draws))
        z, draws = map(np.arctanh, finite)
    half = norm.isf(tail) * np.nanstd(draws, axis=0, ddof=1)
    if method == "normal":
        return estimate - half, estimate + half
    return np.minimum(np.tanh(z - half), estimate), np.maximum(np.tanh(z + half), estimate)


def _holm(bounds, estimate, deviation, tail):
    """Bounds of a family: step by step, the strongest effect first, until one does not exclude 0."""
    constant = np.where(estimate == 0, 0.0, np.inf)  # what no draw changes is 0, or as clear as can be
    strength = np.divide(estimate, deviation, out=constant, where=deviation > 0)
    low, high = np.empty(strength.shape), np.empty(strength.shape)
    remaining = np.ones(strength.shape, bool)
    for member in np.argsort(-np.abs(strength).ravel()):
        candidates = bounds(tail / remaining.sum())
        low[remaining], high[remaining] = (side[remaining] for side in candidates)
        if low.flat[member] <= 0 <= high.flat[member]:
            break
        remaining.flat[member] = False
    return low, high


def clusters(groups: np.ndarray) -> np.ndarray:
    """int[n] where each negative number of `groups`, which stands for a group of its own, has become a new one.

    Raises InputError for what is not one whole number for each row.
    """
    groups = arrays.whole("groups", groups)
    if groups.ndim != 1:
        raise InputError(f"groups: have shape {groups.shape}; give one whole number for each row")
    highest = int(groups.max(initial=-1))
    return np.where(groups < 0, highest + 1 + np.arange(len(groups)), groups)


class Ledger:
    """What a study finds of each claim that ``lib/catalog/claims.csv`` lists for it; the rule in the list decides.

    Parameters
    ----------
    study : str
        A notebook's name, such as "01_n2o".
    profile : str
        "paper" for the papers' own data; any other has the data of the default profile.
    """

    def __init__(self, study: str, profile: str) -> None:
        claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
        claims = claims[claims["study"] == study]
        absent = claims["paper" if profile == "paper" else "default"] == "no"
        self._claims = claims.assign(ours="", stand_in="", remark=claims["needs"].where(absent, ""))
        self._claims["verdict"] = claims["status"].mask(absent, "not testable here")
        self._claims.index = (claims["id"] + " " + claims["part"]).str.strip()

    def interval(self, id, estimate, low, high, part="", **remarks: str) -> None:
        """Judge a claim, or a part of one, by an estimate and its interval.

        Parameters
        ----------
        id, part : str
            As in the list.
        estimate, low, high : float or float[n]
            Several for a family of comparisons, whose intervals are corrected for their number if the list says so.
            All of them must meet the condition for "holds", one must meet that for "fails", unless the condition
            begins with any, all, most or none. The table shows the lowest and the highest.
        analogue : str, optional
            What was measured in place of what the paper names.
        note : str, optional
            A qualifier for the reader.

        Raises
        ------
        InputError
            A claim or part that was judged before, or an estimate outside its interval.
        """
        claim = self._claims.loc[f"{id} {part}".strip()]
        estimate, low, high = np.atleast_1d(estimate, low, high)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(f"{id}: an estimate lies outside its interval; give low <= estimate <= high")
        verdict = "undecided"
        bounded = np.isfinite(low) | np.isfinite(high)  # an interval without ends would meet any number
        if bounded.all() and _meets(claim["holds"], low, high, "all"):
            verdict = "holds"
        elif _meets(claim["fails"], low, high, "any"):
            verdict = "fails"
        ends = list(dict.fromkeys([estimate.argmin(), estimate.argmax()]))
        shown = map(_written, estimate[ends], low[ends], high[ends])
        self._enter(claim, verdict, " ... ".join(shown), **remarks)

    def identity(self, id, residual, part="", **remarks: str) -> None:
        """Judge a claim of equality by what is left over: float, or float[n], of which the largest counts.

        The rest as for `interval`.
        """
        claim = self._claims.loc[f"{id} {part}".strip()]
        largest = np.abs(residual).max()
        verdict = "holds" if largest <= float(claim["tolerance"]) else "fails"
        self._enter(claim, verdict, format(largest, ".3g"), **remarks)

    def pending(self) -> list[str]:
        """Claims and parts that this profile can test, that are not judged, and that the list does not put off."""
        return list(self._claims.index[self._claims["verdict"] == ""])

    def table(self) -> pd.DataFrame:
        """A row for each claim: id, claim, published, ours (estimate and interval, or residual), verdict, note."""
        return pd.DataFrame([_whole(parts) for _, parts in self._claims.groupby("id", sort=False)])

    def _enter(self, claim, verdict, ours, analogue="", note=""):
        if claim["ours"]:
            raise InputError(f"{claim.name}: was judged before; judge each part once")
        if claim["part"]:
            ours = f"{claim['part']}: {ours} {verdict}"
        found = verdict, ours, " (analogue)" if analogue else "", _joined([analogue, note])
        self._claims.loc[claim.name, ["verdict", "ours", "stand_in", "remark"]] = found


def _whole(parts):
    """A claim's row from its parts: all must hold and one can fail, or the reverse where the list says "one"."""
    claim = parts.iloc[0].copy()
    verdicts = set(parts["verdict"])
    decisive, common = ("holds", "fails") if claim["combine"] == "one" else ("fails", "holds")
    claim["verdict"] = min(parts["verdict"], key="not testable here".__eq__)
    if parts["ours"].any():
        verdict = decisive if decisive in verdicts else common if verdicts == {common} else "undecided"
        claim["verdict"] = verdict + parts["stand_in"].max()
    claim["ours"] = _joined(parts["ours"])
    claim["note"] = _joined([*parts["remark"].unique(), claim["note"]])
    return claim[["id", "claim", "published", "ours", "verdict", "note"]].to_dict()


def _written(estimate, low, high):
    """An estimate and its interval, unless there is none: then the estimate says nothing either."""
    bounded = np.isfinite(low) or np.isfinite(high)
    return f"{estimate:.3g} ({low:.3g} to {high:.3g})" if bounded else "no interval"


def _joined(texts):
    return "; ".join(filter(None, texts))


def _meets(condition, low, high, quantifier):
    """Whether intervals meet a condition of the list, such as "> 0.9" or "any outside -0.02 0.02"; none meet ""."""
    words = condition.split()
    if not words:
        return False
    if words[0] in QUANTIFIERS:
        quantifier = words.pop(0)
    first, last = float(words[1]), float(words[-1])
    inside = (low >= first) & (high <= last)
    outside = (low > last) | (high < first)
    met = {">": low > first, "<": high < first, "in": inside, "outside": outside, "meets": ~outside}
    return bool(QUANTIFIERS[quantifier](met[words[0]]))
