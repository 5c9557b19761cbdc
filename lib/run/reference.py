"""How the tables of a run compare with the committed ones in ``figures/reference``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from lib.run import files, paths
from lib.run.jobs import Job

ABSOLUTE, RELATIVE = 0.002, 0.01  # numbers agree that differ by no more than one of the two
PARAMETERS = "parameters.json"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")


def compare(jobs: Sequence[Job]) -> str:
    """A line on how many tables of some jobs agree with the reference, and which do not."""
    total, differing, changed, missing = 0, [], [], []
    for job in jobs:
        committed = folder(job)
        if not committed.exists():
            missing.append(job.name)
        elif json.loads((committed / PARAMETERS).read_bytes()) != job.parameters:
            changed.append(job.name)
        else:
            names = sorted({file.name for place in (job.results, committed) for file in kept(place, ".csv")})
            total += len(names)
            differing += [f"{job.name}/{name}" for name in names if not agree(job.results / name, committed / name)]
    if missing and len(missing) == len(jobs):
        return f"no reference to compare with in {folder(jobs[0]).parent}"
    parts = [
        f"{total - len(differing)} of {total} tables agree with the reference within {ABSOLUTE} or {100 * RELATIVE:g} %"
    ]
    if differing:
        parts.append(f"not {', '.join(differing)}")
    if changed:
        parts.append(f"not compared, for other parameters: {', '.join(changed)}")
    if missing:
        parts.append(f"without a reference: {', '.join(missing)}")
    return "; ".join(parts)


def agree(table: Path, reference: Path) -> bool:
    """Whether two CSV files have the same columns and rows, the same text, and nearly the same numbers."""
    if not (table.exists() and reference.exists()):
        return False
    text, expected = (file.read_text(encoding="utf-8") for file in (table, reference))
    if NUMBER.sub("#", text) != NUMBER.sub("#", expected):
        return False
    numbers = zip(NUMBER.findall(text), NUMBER.findall(expected), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE) for a, b in numbers)


def folder(job: Job) -> Path:
    """Where the committed results of a notebook in a profile lie."""
    return paths.FIGURES / "reference" / job.profile / job.name


def kept(folder: Path, *kinds: str) -> list[Path]:
    """The files of some kinds in a folder, but for what measures time."""
    return [file for file in sorted(folder.iterdir()) if file.suffix in kinds and not file.name.startswith("timings")]


def gather_claims(folder: Path) -> None:
    """Write the verdicts of all studies in a folder of results, ``*/claims.csv``, to its ``claims.csv``."""
    files_of = sorted(folder.glob("*/claims.csv"))
    if files_of:
        read = partial(pd.read_csv, dtype=str, keep_default_na=False)
        judged = pd.concat({file.parent.name: read(file) for file in files_of}, names=["study", None])
        with files.replacing(folder / "claims.csv") as stream:
            stream.write(judged.droplevel(1).to_csv(lineterminator="\n").encode())
