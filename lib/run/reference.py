"""How the tables of a run compare with the committed ones in ``figures/reference``."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Sequence
from io import StringIO
from itertools import chain
from pathlib import Path

import pandas as pd

from lib.run import files, paths
from lib.run.jobs import Job

# Numbers agree that differ by no more than one of the two.
ABSOLUTE = 0.002
RELATIVE = 0.01
PARAMETERS = "parameters.json"
# What measures time, and what copies much of the text.
OMITTED = ("timings", "lost.csv")
# A sentence whose license forbids redistribution, by its number.
WITHHELD = re.compile(r"\[[\w-]+ \d+\]")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")


def compare(jobs: Sequence[Job]) -> str:
    """How many tables agree with the reference, and which do not, in one line."""
    total, differing, changed, missing = 0, [], [], []
    for job in jobs:
        committed = folder(job)
        if not committed.exists():
            missing.append(job.name)
        elif json.loads((committed / PARAMETERS).read_bytes()) != job.parameters:
            changed.append(job.name)
        else:
            names = sorted(
                {
                    file.name
                    for place in (job.results, committed)
                    for file in kept(place, ".csv")
                }
            )
            total += len(names)
            differing += [
                f"{job.name}/{name}"
                for name in names
                if not agree(job.results / name, committed / name)
            ]
    if missing and len(missing) == len(jobs):
        return (
            "no reference to compare with in "
            f"{paths.FIGURES / 'reference' / jobs[0].profile}"
        )
    parts = []
    if total:
        agreeing = (
            f"{total - len(differing)} of {total} tables agree with the reference"
        )
        parts.append(f"{agreeing} within {ABSOLUTE} or {100 * RELATIVE:g} %")
    if differing:
        parts.append(f"these do not: {', '.join(differing)}")
    if changed:
        parts.append(f"not compared, since parameters differ: {', '.join(changed)}")
    if missing:
        parts.append(f"without a reference: {', '.join(missing)}")
    return "; ".join(parts)


def agree(table: Path, reference: Path) -> bool:
    """Whether two CSV files have equal columns, rows and text, and close numbers.

    Text that the reference withholds (`WITHHELD`) agrees with any text.
    """
    if not (table.exists() and reference.exists()):
        return False
    rows, expected = (
        list(csv.reader(StringIO(file.read_text(encoding="utf-8"))))
        for file in (table, reference)
    )
    if [*map(len, rows)] != [*map(len, expected)]:
        return False
    cells = zip(chain(*rows), chain(*expected), strict=True)
    return all(_alike(cell, printed) for cell, printed in cells)


def _alike(cell: str, expected: str) -> bool:
    if WITHHELD.fullmatch(expected):
        return True
    if NUMBER.sub("#", cell) != NUMBER.sub("#", expected):
        return False
    numbers = zip(NUMBER.findall(cell), NUMBER.findall(expected), strict=True)
    return all(
        math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        for a, b in numbers
    )


def folder(job: Job) -> Path:
    """Where the committed results of a notebook in a profile lie."""
    return paths.FIGURES / "reference" / job.profile / job.name


def kept(folder: Path, *kinds: str) -> list[Path]:
    """The files of some kinds in a folder, but for those that `OMITTED` begins."""
    return [
        file
        for file in sorted(folder.iterdir())
        if file.suffix in kinds and not file.name.startswith(OMITTED)
    ]


def results_of(folder: Path) -> dict[str, Path]:
    """The folders of a profile's results by notebook name, lessons first."""
    lessons = sorted(folder.glob("[0-9]*/"))
    replications = sorted(folder.glob(f"{paths.REPLICATION}/[a-z]*/"))
    return {
        place.relative_to(folder).as_posix(): place
        for place in [*lessons, *replications]
    }


def gather_claims(folder: Path) -> None:
    """Write the verdicts of all notebooks to the ``claims.csv`` of a folder of results.

    They are read from the notebooks' own ``claims.csv`` in that folder. Of a claim that
    a lesson and a replication judge, the replication's verdict stands.
    """
    tables = {}
    for name, place in results_of(folder).items():
        if (place / "claims.csv").exists():
            tables[name] = pd.read_csv(
                place / "claims.csv", dtype=str, keep_default_na=False
            )
    if tables:
        judged = pd.concat(tables, names=["study", None]).droplevel(1)
        judged = judged[~judged["id"].duplicated(keep="last")]
        with files.replacing(folder / "claims.csv") as stream:
            stream.write(judged.to_csv(lineterminator="\n").encode())
