"""Intervals beside point estimates, and verdicts on what the papers claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata, t

from lib.run import arrays
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

CLAIMS = Path(__file__).parent / "catalog" / "claims.csv"
QUANTIFIERS = {"all": np.all, "any": np.any, "none": lambda met: not met.any(), "most": lambda met: met.mean() > 0.5}
NEAR_ONE = 1 - 1e-9  # Fisher's z of 1 is infinite
METHODS = ("percentile", "bca", "normal", "fisher")


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

    Raises
    ------
    InputError
        A number outside its range.
    """

    seed: int = 0
    repetitions: int = 1000
    confidence: float = 0.95

    def __post_init__(self) -> None:
        in_range("repetitions", self.repetitions, 50, 10**7)
        in_range("confidence", self.confidence, 0.01, 0.9999)


class Interval(NamedTuple):
    """An estimate and its bounds, ``low <= estimate <= high``: floats, or arrays of one shape."""

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray


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
        "percentile" for means and their differences; "bca" corrects for bias and skewness (Efron 1987); "normal" is
        the estimate and 1.96 standard deviations of the draws, for statistics that resampling biases; "fisher" is the
        same on Fisher's z, for rank correlations near 1, which percentiles miss; a draw of 1, where z is infinite,
        counts as the highest draw below 1.
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
    one_of("method", method, METHODS)
    columns = [np.asarray(column) for column in columns]
    units = _units([len(column) for column in columns], clusters)

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
    left_out = [value(np.delete(everything, unit)) for unit in everything] if method == "bca" else None
    by_seed = np.asarray(statistic(*columns), np.float64) if seeds else None

    def bounds(tail: float) -> tuple[np.ndarray, np.ndarray]:
        low, high = _bounds(method, estimate, draws, left_out, tail)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(f"method: {method!r} misses the estimate, which resampling biases; take 'normal'")
        spread = _seed_spread(by_seed, tail) if seeds else 0.0
        return estimate - np.hypot(estimate - low, spread), estimate + np.hypot(high - estimate, spread)

    tail = (1 - sampling.confidence) / 2
    low, high = _holm(bounds, estimate, np.nanstd(draws, axis=0), tail) if holm else bounds(tail)
    return Interval(*(part.item() if np.ndim(part) == 0 else part for part in (estimate, low, high)))


def mean(values: np.ndarray) -> np.ndarray:
    """The mean of each column, float[...] from float[n, ...]."""
    return values.mean(axis=0)


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's correlation of two columns, float[n] each; NaN if one of them is constant."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's rank correlation of two columns, float[n] each; equal values share the mean of their ranks."""
    return pearson(rankdata(x), rankdata(y))


def _units(lengths: list[int], given: np.ndarray | None) -> list[np.ndarray]:
    """The rows of each unit that is drawn: a row, or all rows of a cluster."""
    rows = lengths[0]
    member = np.arange(rows) if given is None else clusters(given)
    if not rows or {*lengths, len(member)} != {rows}:
        raise InputError(f"columns and clusters: have {[*lengths, len(member)]} rows; give equally many, at least one")
    order = np.argsort(member, kind="stable")
    borders = np.flatnonzero(np.diff(member[order])) + 1
    return np.split(order, borders)


def _bounds(method, estimate, draws, left_out, tail):
    """The two bounds that leave out `tail` on either side."""
    if method == "fisher":
        below = np.abs(draws) < NEAR_ONE
        most = np.where(below.any(axis=0), np.max(np.abs(draws), axis=0, where=below, initial=0), NEAR_ONE)
        finite = (np.where(np.abs(r) < NEAR_ONE, r, np.sign(r) * most) for r in (estimate, draws))
        z, draws = map(np.arctanh, finite)
        half = norm.isf(tail) * np.nanstd(draws, axis=0, ddof=1)
        return np.minimum(np.tanh(z - half), estimate), np.maximum(np.tanh(z + half), estimate)
    if method == "normal":
        half = norm.isf(tail) * np.nanstd(draws, axis=0, ddof=1)
        return estimate - half, estimate + half
    if method == "percentile":
        return tuple(np.nanquantile(draws, [tail, 1 - tail], axis=0))
    return _bca(estimate, draws, np.array(left_out), tail)


def _bca(estimate, draws, left_out, tail):
    """Bounds corrected for bias and skewness; `left_out` has the statistic without each unit (the jackknife)."""
    repetitions = len(draws)
    below = ((draws < estimate).mean(axis=0) + (draws <= estimate).mean(axis=0)) / 2
    bias = norm.ppf(np.clip(below, 0.5 / repetitions, 1 - 0.5 / repetitions))
    deviations = left_out.mean(axis=0) - left_out
    squares = (deviations**2).sum(axis=0)
    acceleration = (deviations**3).sum(axis=0) / (6 * np.where(squares > 0, squares, 1.0) ** 1.5)
    bounds = []
    for z in norm.ppf([tail, 1 - tail]):
        levels = norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        columns = zip(draws.reshape(repetitions, -1).T, levels.ravel(), strict=True)
        bounds.append(np.array([np.nanquantile(column, level) for column, level in columns]).reshape(estimate.shape))
    return bounds


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


def _seed_spread(by_seed, tail):
    """The half-width that training seeds, the last axis, add to the interval of their mean."""
    count = by_seed.shape[-1]
    return t.isf(tail, count - 1) * by_seed.std(axis=-1, ddof=1) / np.sqrt(count)


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
        claims = claims[claims["study"] == one_of("study", study, claims["study"].unique())]
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
            An unknown claim or part, one that was judged before, or an estimate outside its interval.
        """
        claim = self._claim(id, part, "interval")
        estimate, low, high = np.atleast_1d(estimate, low, high)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(f"{id}: an estimate lies outside its interval; give low <= estimate <= high")
        verdict = "undecided"
        bounded = np.isfinite(low) | np.isfinite(high)  # an interval without ends would meet any number
        if bounded.all() and _meets(claim["holds"], low, high, "all"):
            verdict = "holds"
        elif _meets(claim["fails"], low, high, "any"):
            verdict = "fails"
        ends = np.unique([estimate.argmin(), estimate.argmax()])
        shown = map(_written, estimate[ends], low[ends], high[ends])
        self._enter(claim, verdict, " ... ".join(shown), **remarks)

    def identity(self, id, residual, part="", **remarks: str) -> None:
        """Judge a claim of equality by what is left over: float, or float[n], of which the largest counts.

        The rest as for `interval`.
        """
        claim = self._claim(id, part, "identity")
        largest = np.abs(residual).max()
        verdict = "holds" if largest <= float(claim["tolerance"]) else "fails"
        self._enter(claim, verdict, format(largest, ".3g"), **remarks)

    def missing(self, id: str, what: str) -> None:
        """Say what this machine lacks to test a claim, in place of the list's own words.

        Raises InputError for a claim that the list calls testable in this profile.
        """
        absent = (self._claims["id"] == id) & (self._claims["verdict"] == "not testable here")
        if not absent.any():
            raise InputError(f"{id}: is not listed as untestable in this profile; judge it")
        self._claims.loc[absent, "remark"] = what

    def pending(self) -> list[str]:
        """Claims and parts that this profile can test, that are not judged, and that the list does not put off."""
        return list(self._claims.index[self._claims["verdict"] == ""])

    def table(self) -> pd.DataFrame:
        """A row for each claim: id, claim, published, ours (estimate and interval, or residual), verdict, note."""
        return pd.DataFrame([_whole(parts) for _, parts in self._claims.groupby("id", sort=False)])

    def _claim(self, id, part, kind):
        rows = self._claims[self._claims["kind"] == kind]
        claim = rows.loc[one_of(kind + " claim", f"{id} {part}".strip(), rows.index)]
        if claim["ours"]:
            raise InputError(f"{claim.name}: was judged before; judge each part once")
        return claim

    def _enter(self, claim, verdict, ours, analogue="", note=""):
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
