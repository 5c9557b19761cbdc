"""How a notebook shows a claim: its place, the rule, and the finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from lib.stats import Interval

LARGE = 1000  # times as many items: more than anyone has


@dataclass(frozen=True)
class Shown:
    """A claim, or one part of it, as a notebook shows it.

    Attributes
    ----------
    claim : str
        The paper's claim, with the place and the printed number.
    rule : str
        What is measured, and when the claim holds or fails.
    finding : str
        Our number, its verdict, and where the printed number lies.
    """

    claim: str
    rule: str
    finding: str

    def _repr_markdown_(self) -> str:
        lines = [self.claim, self.rule, self.finding]
        return "> " + "  \n> ".join(filter(None, lines))


def numbers(interval: Interval) -> str:
    """An estimate with its interval; an exact value stands alone."""
    if is_exact(interval):
        return f"{interval.estimate:.3g}"
    return "{:.3g} ({:.3g} to {:.3g})".format(*interval)


def is_exact(interval: Interval) -> bool:
    """Whether the interval has no width, as for counts and printed numbers."""
    return interval.low == interval.high


def short_name(id: str) -> str:
    """The id of a claim without the paper's name."""
    return id.partition("-")[2].replace("-", " ")


def anchor(id: str, part: str) -> str:
    """The end of a link to the place where a part is judged."""
    return re.sub(r"\W+", "-", f"{id} {part}".strip().lower())


def sentence(claim: pd.Series, *parts: str) -> str:
    """The claim, its short name and place, and the printed number."""
    marks = [f'<a id="{anchor(claim["id"], part)}"></a>' for part in parts]
    place = f"*{short_name(claim['id'])}*, {claim['where']}"
    named = joined(parts)
    if named:
        place += f"; part: {named}"
    printed = claim["published"]
    return f"{''.join(marks)}**{claim['claim']}** ({place}) Printed: {printed}."


def beside(printed: str, ours: Interval | None) -> str:
    """Where the printed number lies."""
    if not printed or ours is None:
        return ""
    relation = "equals" if is_exact(ours) else "lies in"
    if float(printed) < ours.low:
        relation = "lies below"
    if float(printed) > ours.high:
        relation = "lies above"
    noun = "number" if is_exact(ours) else "interval"
    return f" The printed {printed} {relation} our {noun}."


def to_decide(times: float) -> str:
    """What would decide an open claim, from `audit.verdicts.growth`."""
    if not 1 < times < LARGE:
        return ""
    return (
        f" If the estimate stays the same, {times:.2g} times as many resampled items "
        "would decide."
    )


def joined(texts: Iterable[str]) -> str:
    """The nonempty texts, joined by semicolons."""
    return "; ".join(filter(None, texts))
