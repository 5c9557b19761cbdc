"""The report on a swap: a page, its numbers for programs, and what each query loses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lib.base import files, markdown

if TYPE_CHECKING:
    from lib.swap import Swap

PAGE, NUMBERS, CHANGES = "report.md", "swap.json", "lost.csv"
SHOWN = 10  # rows of a table


def write(found: Swap, folder: Path) -> Path:
    """Write a page, ``swap.json`` and ``lost.csv``; returns the place of the page.

    Raises InputError if the folder cannot be written.
    """
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    numbers = found.numbers[["value", "low", "high"]].to_dict("index")
    summary = {"lines": found.lines(), "numbers": numbers, "units": found.units}
    changes = found.changes()
    _save(folder / NUMBERS, json.dumps(summary, indent=1, ensure_ascii=False))
    _save(folder / CHANGES, _csv(changes))
    _save(folder / PAGE, page(found, changes))
    return folder / PAGE


def page(found: Swap, changes: pd.DataFrame) -> str:
    """The numbers, the queries that lose most, and who gains an audience."""
    worst = changes.head(SHOWN)[["query", "lost", "gained"]]
    for column in ("lost", "gained"):
        worst[column] = [each[0] if each else "nothing" for each in worst[column]]
    lines = "\n".join(f"- {markdown.escape(line)}" for line in found.lines())
    old, new = (markdown.escape(side.name) for side in (found.old, found.new))
    return f"""# {new} in place of {old}

{lines}

## Queries that lose most

Each with the nearest result that it loses and the nearest that it gains; `{CHANGES}`
has all.

{markdown.table(worst)}

## Sentences with another audience

For how many queries each is found, before and after.

{markdown.table(found.found_by().head(SHOWN))}
"""


def _csv(changes: pd.DataFrame) -> str:
    """What every query loses and gains, lists as JSON."""
    table = changes.copy()
    for column in ("lost", "gained"):
        table[column] = [
            json.dumps(sentences, ensure_ascii=False) for sentences in table[column]
        ]
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _save(file: Path, content: str) -> None:
    with files.replacing(file) as stream:
        stream.write(content.encode())
