"""Scores of embedders on items that are resampled, how embedders rank by them, and findings made of their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lib import stats
from lib.stats import Interval, Ledger, Sampling

Found = Mapping[tuple[str, str], Interval]  # findings by claim and part
UNMEASURED = Interval(0.0, -np.inf, np.inf)  # of what the chosen embedders or tasks do not allow to compute
SPLITS = 3  # into random halves


@dataclass(frozen=True, eq=False)
class Resampled:
    """Scores of embedders on n items.

    Attributes
    ----------
    drawn : int[n, 2]
        What a resample draws, numbered from 0 on: two documents, of which a pair consists, or one verse or sentence,
        given twice.
    score : callable
        The scores, float[...], from how often each item counts, int[n].
    sampling : Sampling
    """

    drawn: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]
    sampling: Sampling

    def times(self, units: np.ndarray) -> np.ndarray:
        """How often each item counts, int[n]: a pair as often as both of its units were drawn together."""
        count = np.bincount(units, minlength=self.drawn.max() + 1)
        first, second = self.drawn.T
        return np.where(first == second, count[first], count[first] * count[second])

    def interval(self, statistic: Callable, method: str = "normal", **options: Any) -> Interval:
        """Of a statistic of the scores; options are those of `stats.bootstrap`."""
        return self._bootstrap(lambda units: statistic(self.score(self.times(units))), method=method, **options)

    def in_halves(self, statistic: Callable, method: str = "normal") -> Interval:
        """Of ``statistic(a, b)`` of the scores on two halves of what is drawn, mean over random splits."""
        rng = np.random.default_rng(self.sampling.seed)
        halves = [rng.permutation(self.drawn.max() + 1) % 2 for _ in range(SPLITS)]

        def value(units: np.ndarray) -> np.ndarray:
            found = []
            for half in halves:
                a, b = (self.score(self.times(units[half[units] == side])) for side in (0, 1))
                found += [statistic(a, b), statistic(b, a)]
            return np.mean(found, axis=0)

        return self._bootstrap(value, method=method)

    def _bootstrap(self, statistic: Callable, **options: Any) -> Interval:
        return stats.bootstrap(statistic, np.arange(self.drawn.max() + 1), sampling=self.sampling, **options)


def frame(found: Interval, **axes: Sequence) -> pd.DataFrame:
    """A row for each value of an interval: its place on each of the axes, value, low, high."""
    places = pd.MultiIndex.from_product(axes.values(), names=list(axes))
    return pd.DataFrame(dict(zip(("value", "low", "high"), map(np.ravel, found), strict=True)), places).reset_index()


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    """Kendall's tau-b of two rankings, float[e] each: pairs in the same order less pairs in the other, as a share."""
    first, second = np.triu_indices(len(a), 1)
    orders = [np.sign(values[first] - values[second]) for values in (a, b)]
    return float(orders[0] @ orders[1] / np.sqrt((orders[0] @ orders[0]) * (orders[1] @ orders[1])))


def steadiness(a: np.ndarray, b: np.ndarray) -> float:
    """Tau of two conditions less tau of the first with itself, r[2, e] on two halves each: 0 if only noise differs."""
    return kendall(a[0], b[1]) - kendall(a[0], b[0])


def opposed(first: Interval, second: Interval) -> Interval:
    """The smaller of two differences of opposite sign: above 0 where one is clearly positive, the other negative."""
    minus = [Interval(-found.estimate, -found.high, -found.low) for found in (first, second)]
    return Interval(*np.maximum(np.minimum(first, minus[1]), np.minimum(minus[0], second)))


def reversals(scores: Resampled) -> Interval:
    """`opposed` for every two embedders of scores float[2, e], under two conditions."""

    def differences(r: np.ndarray) -> np.ndarray:
        first, second = np.triu_indices(r.shape[1], 1)
        return r[:, first] - r[:, second]

    found = np.array(scores.interval(differences, holm=True))
    return opposed(Interval(*found[:, 0]), Interval(*found[:, 1]))


def joined(found: Sequence[Interval]) -> Interval:
    """Several intervals as one family."""
    return Interval(*np.transpose(found))


def defined(ratio: Interval, below: Interval) -> Interval:
    """A ratio's interval, which has no ends where the number below the line is not clearly above 0."""
    return ratio if below.low > 0 else Interval(ratio.estimate, -np.inf, np.inf)


def share(found: Interval) -> Interval:
    """The interval of a share, which lies in [0, 1]."""
    return Interval(*np.clip(found, 0, 1))


def enter(ledger: Ledger, findings: Found, analogue: str) -> None:
    """Judge each finding; one that is `UNMEASURED` is undecided, and its note says why."""
    for (claim, part), found in findings.items():
        measured = found is not UNMEASURED
        note = "" if measured else "not measured: no embedder or no reliable task of the kind"
        ledger.interval(claim, *found, part=part, analogue=analogue if measured else "", note=note)
