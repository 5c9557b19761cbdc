"""The committed results in ``figures/reference``: how a run compares with them, and how they are renewed."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from lib.run import paths
from lib.run.errors import InputError
from lib.run.jobs import Job

ABSOLUTE, RELATIVE = 0.002, 0.01  # numbers agree that differ by no more than one of the two
PARAMETERS = "parameters.json"


def compare(jobs: Sequence[Job]) -> str:
    """A line on how many tables of some jobs agree with the reference, and which do not."""
    total, differing, changed, missing = 0, [], [], []
    for job in jobs:
        folder = _folder(job)
        if not folder.exists():
            missing.append(job.name)
        elif json.loads((folder / PARAMETERS).read_bytes()) != job.parameters:
            changed.append(job.name)
        else:
            names = sorted({file.name for place in (job.results, folder) for file in _kept(place, ".csv")})
            total += len(names)
            differing += [f"{job.name}/{name}" for name in names if not agree(job.results / name, folder / name)]
    if missing and len(missing) == len(jobs):
        return f"no reference to compare with in {_folder(jobs[0]).parent}"
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
    rows, expected = _read(table), _read(reference)
    if rows[0] != expected[0] or [len(row) for row in rows] != [len(row) for row in expected]:
        return False
    return all(map(_cells_agree, chain(*rows), chain(*expected)))


def _read(table: Path) -> list[list[str]]:
    with table.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def _cells_agree(cell: str, expected: str) -> bool:
    try:
        number, expected_number = float(cell), float(expected)
    except ValueError:
        return cell == expected
    return cell == expected or math.isclose(number, expected_number, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def renew(job: Job) -> Path:
    """Make the tables, figures and parameters of a job's last run the reference; returns its folder.

    Raises InputError if the results are not up to date.
    """
    if not job.is_up_to_date():
        raise InputError(f"{job.results}: not up to date; run make figures first")
    folder = _folder(job)
    folder.mkdir(parents=True, exist_ok=True)
    for file in _kept(folder, ".csv", ".png"):
        file.unlink()
    for file in _kept(job.results, ".csv", ".png"):
        shutil.copy(file, folder)
    text = json.dumps(job.parameters, indent=1, ensure_ascii=False)
    (folder / PARAMETERS).write_text(f"{text}\n", encoding="utf-8")
    return folder


def _folder(job: Job) -> Path:
    return paths.FIGURES / "reference" / job.profile / job.name


def _kept(folder: Path, *kinds: str) -> list[Path]:
    """The files of some kinds in a folder, but for what measures time."""
    return [file for file in folder.iterdir() if file.suffix in kinds and not file.name.startswith("timings")]
