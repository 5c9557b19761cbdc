"""The conditions of the list, such as "> 0.9" or "any outside -0.02 0.02"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

QUANTIFIERS = ("all", "any", "most", "none")


@dataclass(frozen=True)
class Condition:
    """When an interval, or a family of intervals, meets a rule.

    Attributes
    ----------
    quantifier : {"all", "any", "most", "none"}
        How many intervals of a family must meet the comparison.
    comparison : {">", "<", "in", "outside", "meets"}
        Above, below, within, without a point in common, with a point in common.
    first, last : float
        The numbers that the intervals are compared with, equal if there is only one.
    """

    quantifier: str
    comparison: str
    first: float
    last: float

    @classmethod
    def parse(cls, text: str, usual: str = "all") -> Condition:
        """Read a condition of the list, such as "> 0.9" or "any outside -0.02 0.02".

        `usual` is the quantifier of a condition that names none.
        """
        words = text.split()
        quantifier = words.pop(0) if words[0] in QUANTIFIERS else usual
        comparison, *numbers = words
        return cls(quantifier, comparison, float(numbers[0]), float(numbers[-1]))

    def decide(self, low: np.ndarray, high: np.ndarray) -> tuple[int, bool]:
        """Which interval decides whether the condition is met, and whether it is."""
        clearance = self._clearance(low, high)
        rising = np.argsort(clearance, kind="stable")
        last = len(rising) - 1
        place = {"all": 0, "most": last // 2}.get(self.quantifier, last)
        member = int(rising[place])
        return member, bool(self.alone(low, high)[member])

    def alone(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """bool[n]: whether each interval would meet the condition on its own."""
        clearance = self._clearance(low, high)
        # "in" and "meets" include their bounds.
        includes = self.comparison in ("in", "meets")
        met = clearance >= 0 if includes else clearance > 0
        return met != (self.quantifier == "none")

    @property
    def _range(self) -> tuple[float, float]:
        """The values that the comparison names."""
        if self.comparison == ">":
            return self.first, np.inf
        if self.comparison == "<":
            return -np.inf, self.first
        return self.first, self.last

    def _clearance(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """By how much each interval meets the comparison; negative if it does not."""
        start, end = self._range
        # Where interval and range are both endless, their difference is NaN.
        with np.errstate(invalid="ignore"):
            apart = np.fmax(start - high, low - end)
            inside = np.fmin(low - start, end - high)
        clearances = {"outside": apart, "meets": -apart}
        return clearances.get(self.comparison, inside)

    def regions(self) -> list[tuple[float, float]]:
        """The ranges of values that meet the condition.

        Under "none", those that do not meet it.
        """
        start, end = self._range
        if (self.comparison == "outside") == (self.quantifier == "none"):
            return [(start, end)]
        beyond = [(-np.inf, start), (end, np.inf)]
        return [(first, last) for first, last in beyond if first < last]

    def words(self, count: int) -> str:
        """The condition on `count` intervals, worded to follow "if"."""
        if count == 1 and self.quantifier != "none":
            return f"the interval {self._predicate('s')}"
        subjects = {
            "all": "both intervals" if count == 2 else f"all {count} intervals",
            "any": "at least one interval",
            "most": f"most of the {count} intervals",
            "none": "no interval",
        }
        plural = self.quantifier in ("all", "most")
        return f"{subjects[self.quantifier]} {self._predicate('' if plural else 's')}"

    def _predicate(self, ending: str) -> str:
        """The verb, with "s" or without, and the numbers."""
        numbers = f"{self.first:g}"
        verbs = {">": "lie above", "<": "lie below"}
        if self.first < self.last:
            numbers = f"{numbers} to {self.last:g}"
            verbs |= {"in": "lie within", "outside": "lie outside", "meets": "overlap"}
        else:
            verbs |= {"in": "equal", "outside": "exclude", "meets": "include"}
        verb, *where = verbs[self.comparison].split()
        return " ".join([f"{verb}{ending}", *where, numbers])
