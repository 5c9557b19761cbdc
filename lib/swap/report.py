"""All that is measured of candidates: as data, for a terminal, and as one HTML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib.base import files
from lib.swap import bridge, floors, labels
from lib.swap.comparison import BOUNDS, WORST_FIRST, Swap, interval, judged
from lib.swap.searching import Searched
from lib.swap.sides import needed

PAGE, NUMBERS, CHANGES = "report.html", "swap.json", "lost.csv"
SCHEMA = "sentence-swap/1"
SHOWN = 10  # rows of a table
ASKED = (100, 1000, 10_000)  # numbers of queries that a half-width is given for
PACKAGES = ("numpy", "torch", "transformers", "sentence-transformers", "bm25s")


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
    """What was found of one candidate: `numbers` is what ``swap.json`` has of it."""

    found: Swap
    numbers: dict[str, Any]
    quality: labels.Quality | None = None


def outcome(found: Swap, wanted: Wanted) -> Outcome:
    """Measure and judge one candidate; InputError where something does not fit."""
    n2o = found.numbers.loc["n2o"]
    asked = [("N2O", wanted.at_least, found.units, n2o)]
    half = (n2o["high"] - n2o["low"]) / 2
    counts = sorted({found.units, *ASKED})
    numbers: dict[str, Any] = {
        **described(found.new),
        **found.numbers[list(BOUNDS)].to_dict("index"),
        "half_widths": {n: half * (found.units / n) ** 0.5 for n in counts},
        "growth": found.growth().to_dict("records"),
    }
    quality = None
    if wanted.judgments is not None:
        quality = labels.quality(found, wanted.judgments)
        units = min(found.units, len(quality.scores))
        change = quality.table.loc[labels.MAIN]
        least = None if wanted.max_drop is None else -wanted.max_drop
        asked.append((f"change of {labels.MAIN}", least, units, change))
        numbers["quality"] = quality.table.to_dict("index")
        numbers["judged_queries"] = len(quality.scores)
        numbers["unjudged"] = quality.unjudged
    if wanted.floor is not None:
        numbers["floor"] = floors.floors(found, wanted.floor)
    if wanted.bridge:
        bridges = bridge.bridges(found, wanted.judgments)
        numbers["bridges"] = bridges.to_dict("records")
    verdicts = [
        judged(what, least, units, *(row[name] for name in BOUNDS))
        for what, least, units, row in asked
        if least is not None
    ]
    numbers["status"] = worst([status for status, _ in verdicts])
    numbers["verdicts"] = [verdict for _, verdict in verdicts]
    return Outcome(found, plain(numbers), quality)


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


def plain(value: Any) -> Any:
    """The same in JSON types; None for what is no finite number."""
    if isinstance(value, dict):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def summary(outcomes: Sequence[Outcome], notes: Sequence[str] = ()) -> dict[str, Any]:
    """What ``swap.json`` has; docs/swap.md explains it."""
    found = outcomes[0].found
    task = found.task
    installed = {each.name for each in metadata.distributions()}
    return {
        "schema": SCHEMA,
        "status": worst([each.numbers["status"] for each in outcomes]),
        "text": {
            "name": getattr(task.corpus, "name", ""),
            "sentences": len(task.sentences),
            "fingerprint": task.fingerprint[:32],
        },
        "queries": {
            "name": task.asked.corpus.name if task.asked else "",
            "asked": len(task.queries),
            "independent": task.units,
            "of_the_text": task.are_drawn,
            "weighted": task.weights is not None,
            "fingerprint": task.fingerprint[32:],
        },
        "k": found.k,
        "chance": found.chance,
        "confidence": found.sampling.confidence,
        "notes": list(notes),
        "old": plain(described(found.old)),
        "candidates": [each.numbers for each in outcomes],
        "versions": {
            package: metadata.version(package)
            for package in PACKAGES
            if package in installed
        },
    }


def write(
    found: Swap | Sequence[Outcome], folder: Path, notes: Sequence[str] = ()
) -> Path:
    """Write a page, ``swap.json`` and ``lost.csv``; returns the place of the page.

    `notes` are what a reader must know of text and queries. Raises InputError if the
    folder cannot be written.
    """
    outcomes = [outcome(found, Wanted())] if isinstance(found, Swap) else found
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    numbers = summary(outcomes, notes)
    changes = {each.numbers["name"]: each.found.exchanged() for each in outcomes}
    table = pd.concat(changes, names=["candidate"]).reset_index(level=0)
    contents = {
        NUMBERS: json.dumps(numbers, indent=1, ensure_ascii=False),
        CHANGES: table.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
        PAGE: rendered(PAGE, numbers, details=list(map(_details, outcomes))),
    }
    for name, content in contents.items():
        with files.replacing(folder / name) as stream:
            stream.write(content.encode("utf-8", "replace"))
    return folder / PAGE


def rendered(template: str, numbers: dict[str, Any], **more: Any) -> str:
    """The numbers by a template beside this file, which opens without any other."""
    jinja2 = needed("jinja2")
    environment = jinja2.Environment(
        autoescape=template.endswith("html"), trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["interval"] = interval
    source = Path(__file__).with_name(template).read_text(encoding="utf-8")
    names = {"main": labels.MAIN, "meaning": floors.MEANING}
    return environment.from_string(source).render(**numbers, **names, **more)


def _details(one: Outcome) -> dict[str, Any]:
    """What the page shows of a candidate beside its numbers."""
    found = one.found
    kept = np.rint(found.overlaps * found.k).astype(int)
    details = {
        "kept": (np.bincount(kept, minlength=found.k + 1) / len(kept)).tolist(),
        "worst": found.changes().head(SHOWN).to_dict("records"),
        "hubs": found.found_by().head(SHOWN).to_dict("records"),
    }
    if one.quality is not None:
        scores = one.quality.scores[labels.MAIN]
        change = (scores["new"] - scores["old"]).sort_values(kind="stable")
        details["better"] = _moved(found, change[change > 0][::-1])
        details["worse"] = _moved(found, change[change < 0])
        details["counts"] = [int((change > 0).sum()), int((change < 0).sum())]
    return details


def _moved(found: Swap, change: pd.Series) -> list[dict[str, Any]]:
    """Queries whose score changed most, each with the first result before and after."""
    rows = []
    for query, value in change.head(SHOWN).items():
        firsts = [int(side.ids[query, 0]) for side in (found.old, found.new)]
        old, new = (found.task.sentences[first] for first in firsts)
        asked = found.task.queries[query]
        rows.append({"query": asked, "change": value, "old": old, "new": new})
    return rows
