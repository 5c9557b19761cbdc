"""How embedders rank under two conditions, and intervals of what is made of two differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.stats import Interval, Ledger

Found = Mapping[tuple[str, str], Interval]  # findings by claim and part
UNMEASURED = Interval(0.0, -np.inf, np.inf)  # of what the chosen embedders or tasks do not allow to compute


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    """Kendall's tau-b of two rankings, float[e] each: pairs in the same order less pairs in the other, as a share."""
    first, second = np.triu_indices(len(a), 1)
    orders = [np.sign(values[first] - values[second]) for values in (a, b)]
    return float(orders[0] @ orders[1] / np.sqrt((orders[0] @ orders[0]) * (orders[1] @ orders[1])))


def opposed(first: Interval, second: Interval) -> Interval:
    """The smaller of two differences of opposite sign: above 0 where one is clearly positive, the other negative."""
    upward = [np.minimum(*bounds) for bounds in zip(first, _minus(second), strict=True)]
    downward = [np.minimum(*bounds) for bounds in zip(_minus(first), second, strict=True)]
    return Interval(*np.maximum(upward, downward))


def _minus(found):
    return Interval(-found.estimate, -found.high, -found.low)


def reversals(scores: np.ndarray) -> np.ndarray:
    """The difference of every two embedders under two conditions, float[2, pairs], from float[2, e]."""
    first, second = np.triu_indices(scores.shape[1], 1)
    return scores[:, first] - scores[:, second]


def both_of(found: Interval) -> Interval:
    """`opposed` of an interval's two rows."""
    return opposed(*(Interval(*(bound[i] for bound in found)) for i in (0, 1)))


def steadiness(a: np.ndarray, b: np.ndarray) -> float:
    """Tau of two conditions less tau of the first with itself, r[2, e] on two halves each: 0 if only noise differs."""
    return kendall(a[0], b[1]) - kendall(a[0], b[0])


def joined(found: Sequence[Interval]) -> Interval:
    """Several intervals as one family."""
    return Interval(*(np.array(bound) for bound in zip(*found, strict=True)))


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
