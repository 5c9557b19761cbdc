"""The report on a swap: one HTML file, its numbers for programs, what queries lose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib.base import files
from lib.swap import floors, labels
from lib.swap.comparison import Swap, interval
from lib.swap.outcome import WAYS, Outcome, Wanted, described, outcome, plain, worst
from lib.swap.sides import needed

PAGE, NUMBERS, CHANGES = "report.html", "swap.json", "lost.csv"
SCHEMA = "sentence-swap/1"
SHOWN = 10  # rows of a table
PACKAGES = ("numpy", "torch", "transformers", "sentence-transformers", "bm25s")


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
    changes = {each.found.new.name: each.found.exchanged() for each in outcomes}
    table = pd.concat(changes, names=["candidate"]).reset_index(level=0)
    csv = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    for name, content in (
        (NUMBERS, json.dumps(numbers, indent=1, ensure_ascii=False)),
        (CHANGES, csv),
        (PAGE, page(outcomes, numbers)),
    ):
        with files.replacing(folder / name) as stream:
            stream.write(content.encode("utf-8", "replace"))
    return folder / PAGE


def summary(outcomes: Sequence[Outcome], notes: Sequence[str] = ()) -> dict[str, Any]:
    """What ``swap.json`` has; docs/swap.md explains it."""
    found = outcomes[0].found
    task = found.task
    return plain(
        {
            "schema": SCHEMA,
            "status": worst([each.status for each in outcomes]),
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
            "old": described(found.old),
            "candidates": [each.summary() for each in outcomes],
            "versions": dict(_versions()),
        }
    )


def _versions() -> Any:
    for package in PACKAGES:
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            continue


def page(outcomes: Sequence[Outcome], numbers: dict[str, Any]) -> str:
    """A page that opens anywhere: it fetches nothing, and pictures are drawn in it."""
    jinja2 = needed("jinja2")
    source = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["interval"] = interval
    details = [_details(each) for each in outcomes]
    return environment.from_string(source).render(
        **numbers, details=details, main=labels.MAIN, meaning=floors.MEANING
    )


def _details(one: Outcome) -> dict[str, Any]:
    """What the page shows of a candidate beside its numbers."""
    found = one.found
    kept = np.rint(found.overlaps * found.k).astype(int)
    shares = np.bincount(kept, minlength=found.k + 1) / len(kept)
    details = {
        "kept": shares.tolist(),
        "worst": found.changes().head(SHOWN).to_dict("records"),
        "hubs": found.found_by().head(SHOWN).to_dict("records"),
        "ways": [WAYS[row.way].format(row) for row in _rows(one.bridges)],
    }
    if one.quality is not None:
        scores = one.quality.scores[labels.MAIN]
        change = (scores["new"] - scores["old"]).sort_values(kind="stable")
        details["better"] = _moved(found, change[change > 0][::-1])
        details["worse"] = _moved(found, change[change < 0])
        details["counts"] = [int((change > 0).sum()), int((change < 0).sum())]
    return details


def _rows(table: pd.DataFrame | None) -> list[Any]:
    return [] if table is None else list(table.itertuples())


def _moved(found: Swap, change: pd.Series) -> list[dict[str, Any]]:
    """Queries whose score changed most, each with the first result before and after."""
    rows = []
    for query, value in change.head(SHOWN).items():
        firsts = [side.ids[query, 0] for side in (found.old, found.new)]
        old, new = (found.task.sentences[int(first)] for first in firsts)
        row = {"query": found.task.queries[query], "change": value}
        rows.append(row | {"old": old, "new": new})
    return rows
