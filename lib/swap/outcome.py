"""All that is measured of one candidate, its verdict, and both as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lib.swap import bridge, floors, labels
from lib.swap.comparison import BOUNDS, WORST_FIRST, Swap, interval, judged
from lib.swap.sides import Searched

ASKED = (100, 1000, 10_000)  # numbers of queries that a half-width is given for


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked of every candidate.

    Attributes
    ----------
    at_least : float or None
        The N2O that is enough.
    max_drop : float or None
        The loss of nDCG that is accepted; needs judgments.
    floor : float or None
        Under the scores of the old side.
    bridge : bool
    judgments : mapping or None
        As from `labels.read`.
    """

    at_least: float | None = None
    max_drop: float | None = None
    floor: float | None = None
    bridge: bool = False
    judgments: labels.Judgments | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found of one candidate, and whether it is enough."""

    found: Swap
    growth: pd.DataFrame
    quality: labels.Quality | None
    floors: floors.Floors | None
    bridges: pd.DataFrame | None
    side: dict[str, Any]
    status: int
    verdicts: tuple[str, ...]

    @property
    def half_widths(self) -> dict[int, float]:
        """Half the width of the interval of N2O at numbers of queries."""
        n2o = self.found.numbers.loc["n2o"]
        half = (n2o["high"] - n2o["low"]) / 2
        units = self.found.units
        return {n: half * (units / n) ** 0.5 for n in sorted({units, *ASKED})}

    def lines(self) -> list[str]:
        """What a terminal shows of one candidate."""
        lines = self.found.lines()
        if self.quality is not None:
            for row in self.quality.table.itertuples():
                shown = interval(row._asdict(), "+")
                lines.append(f"{row.Index}: {row.old:.3f} to {row.new:.3f}: {shown}")
            shares = [f"{share:.0%} ({side})" for side, share in self.unjudged]
            lines.append(f"of the first results nobody has judged {', '.join(shares)}")
        if self.floors is not None:
            table, matched = self.floors.table["value"], self.floors.matched
            lines.append(
                f"floor {self.floors.floor:g}: {table['results_old']:.1%} of results "
                f"pass before, {table['results_new']:.1%} after; as many would pass "
                f"{interval(_bounds(matched))}, where "
                f"{table['result_flips_matched']:.1%} of decisions still flip"
            )
        if self.bridges is not None:
            for row in self.bridges.itertuples():
                lines.append(
                    f"{WAYS[row.way].format(row)}: N2O {interval(_bounds(row))}"
                )
        if len(self.growth):
            by_size = self.growth.set_index("sentences")["value"].map("{:.3f}".format)
            *seen, last = (f"{n:,}: {value}" for n, value in by_size.items())
            lines.append(f"N2O by sentences: {', '.join(seen)}; by the trend, {last}")
        return lines

    @property
    def unjudged(self) -> list[tuple[str, float]]:
        """The shares of `Quality`."""
        return list(self.quality.unjudged.items()) if self.quality else []

    def summary(self) -> dict[str, Any]:
        """What ``swap.json`` has of a candidate; docs/swap.md explains it."""
        found = self.found
        said: dict[str, Any] = {**self.side, "status": self.status}
        said["verdicts"] = list(self.verdicts)
        said |= found.numbers[list(BOUNDS)].to_dict("index")
        said["half_widths"] = {str(n): half for n, half in self.half_widths.items()}
        said["growth"] = self.growth.to_dict("records")
        if self.quality is not None:
            said["quality"] = self.quality.table.to_dict("index")
            said["judged_queries"] = len(self.quality.scores)
            said["unjudged"] = self.quality.unjudged
        if self.floors is not None:
            said["floor"] = {
                "floor": self.floors.floor,
                "matched": _bounds(self.floors.matched),
                "shares": self.floors.table.to_dict("index"),
            }
        if self.bridges is not None:
            said["bridges"] = self.bridges.to_dict("records")
        return said


WAYS = {
    "nothing": "nothing done",
    "index": "index mapped ({0.method}, {0.sentences:,} sentences)",
    "queries": "queries mapped ({0.method}, {0.sentences:,} sentences)",
}


def outcome(found: Swap, wanted: Wanted) -> Outcome:
    """Measure and judge one candidate; InputError where something does not fit."""
    judgments = wanted.judgments
    quality = labels.quality(found, judgments) if judgments is not None else None
    asked = [("N2O", wanted.at_least, found.units, found.numbers.loc["n2o"])]
    if quality is not None and wanted.max_drop is not None:
        units = min(found.units, len(quality.scores))
        row = quality.table.loc[labels.MAIN]
        asked.append((f"change of {labels.MAIN}", -wanted.max_drop, units, row))
    judgements = [
        judged(what, least, units, *(row[name] for name in BOUNDS))
        for what, least, units, row in asked
        if least is not None
    ]
    return Outcome(
        found,
        found.growth(),
        quality,
        None if wanted.floor is None else floors.floors(found, wanted.floor),
        bridge.bridges(found, judgments) if wanted.bridge else None,
        described(found.new),
        worst([status for status, _ in judgements]),
        tuple(verdict for _, verdict in judgements),
    )


def worst(statuses: list[int]) -> int:
    """The status of several."""
    return next(each for each in WORST_FIRST if each in [*statuses, 0])


def described(side: Searched) -> dict[str, Any]:
    """What a side is and costs."""
    placed = side.placed
    return {
        "name": side.name,
        "similarity": placed.similarity if placed else "cosine",
        "index": side.index or "exact",
        "dimensions": placed.text.shape[1] if placed else None,
        "bytes": side.cost.bytes,
        "seconds_a_sentence": side.cost.seconds,
        "seconds_a_search": side.cost.query,
        "notes": list(side.notes),
    }


def _bounds(given: Any) -> dict[str, float]:
    value = given.value if hasattr(given, "value") else given.estimate
    return {"value": value, "low": given.low, "high": given.high}


def plain(value: Any) -> Any:
    """The same in JSON types; None for what is no finite number."""
    if isinstance(value, dict):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
