"""How the tables of a run compare with the committed ones in ``figures/reference``."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pandas as pd

from lib.base import files, paths
from tools.run.jobs import Job

# Numbers agree that differ by no more than one of the two.
ABSOLUTE = 0.002
RELATIVE = 0.01
# Another processor moves an estimate by at most this share of the width of its interval
# and the ends by at most this one, a count by at most this, and a number without an
# interval by at most this times what agrees.
SHARE, ENDS = 0.1, 0.2
COUNT = 2
TIMES = 2.5
PARAMETERS = "parameters.json"
CLAIMS = "claims.csv"
# What measures time, and what copies much of the text.
OMITTED = ("timings", "lost.csv")
# A sentence whose license forbids redistribution, by its number.
WITHHELD = re.compile(r"\[[\w-]+ \d+\]")
PLAIN = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
NUMBER = re.compile(rf"(?<![\w.]){PLAIN}(?![\w.])")
# A number, with its interval where one follows: "0.77 (0.7 to 0.82)".
ESTIMATE = re.compile(rf"({NUMBER.pattern})(?: \(({PLAIN}) to ({PLAIN})\))?")
# How tables differ, worded with the largest difference.
OTHERWISE = "otherwise"
KINDS = {
    "share": "{:.2g} of an interval's width",
    "count": "{:g} in a count",
    "number": "{:.2g} in a number without an interval",
    "sentences": "{:g} of the sentences in a list",
    "order": "rows in another order",
}


def compare(jobs: Sequence[Job]) -> str:
    """How the tables differ from the reference, in one line.

    Those that agree and those that differ as processors do are counted; the others are
    named, and so are the verdicts that changed.
    """
    found: dict[str, dict[str, float]] = {}
    verdicts, changed, missing = [], [], []
    for job in jobs:
        committed = folder(job)
        if not committed.exists():
            missing.append(job.name)
        elif json.loads((committed / PARAMETERS).read_bytes()) != job.parameters:
            changed.append(job.name)
        else:
            for name in {
                file.name
                for place in (job.results, committed)
                for file in kept(place, ".csv")
            }:
                found[f"{job.name}/{name}"] = differences(
                    job.results / name, committed / name
                )
            verdicts += _changed_verdicts(job.results / CLAIMS, committed / CLAIMS)
    if missing and len(missing) == len(jobs):
        return (
            "no reference to compare with in "
            f"{paths.FIGURES / 'reference' / jobs[0].profile}"
        )
    parts = _counted(found)
    if verdicts:
        parts.append(f"verdicts that changed: {', '.join(verdicts)}")
    elif any(found.values()):
        parts.append("no verdict changed")
    if changed:
        parts.append(f"not compared, because parameters differ: {', '.join(changed)}")
    if missing:
        parts.append(f"without a reference: {', '.join(missing)}")
    return "; ".join(parts)


def _counted(found: dict[str, dict[str, float]]) -> list[str]:
    """How many tables agree, how many differ as processors do, and which otherwise."""
    otherwise = sorted(name for name, kinds in found.items() if OTHERWISE in kinds)
    alike = [kinds for kinds in found.values() if kinds and OTHERWISE not in kinds]
    parts = []
    if found:
        agreeing = len(found) - len(otherwise) - len(alike)
        parts.append(
            f"{agreeing} of {len(found)} tables agree with the reference within "
            f"{ABSOLUTE} or {100 * RELATIVE:g} %"
        )
    if alike:
        largest = [
            words.format(max(kinds.get(kind, 0) for kinds in alike))
            for kind, words in KINDS.items()
            if any(kind in kinds for kinds in alike)
        ]
        most = ", ".join(largest)
        parts.append(f"{_differ(alike)} as processors do (at most {most})")
    if otherwise:
        parts.append(f"{_differ(otherwise)} otherwise: {', '.join(otherwise)}")
    return parts


def _differ(tables: Sequence[object]) -> str:
    return f"{len(tables)} differ{'s' * (len(tables) == 1)}"


def _changed_verdicts(table: Path, reference: Path) -> list[str]:
    """The claims whose verdict is another one, with both verdicts."""
    if not (table.exists() and reference.exists()):
        return []
    rows, expected = _read(table), _read(reference)
    place = expected[0].index("verdict")
    old = {row[0]: row[place] for row in expected}
    return [
        f"{row[0]} ({old[row[0]]} to {row[place]})"
        for row in rows
        if row[place] != old.get(row[0], row[place])
    ]


def _read(file: Path) -> list[list[str]]:
    rows = csv.reader(StringIO(file.read_text(encoding="utf-8")))
    return [row for row in rows if row]


def differences(table: Path, reference: Path) -> dict[str, float]:
    """The kinds of differences between two CSV files, each with the largest one.

    It is empty if columns, rows and text are equal and all numbers close. Text that the
    reference withholds (`WITHHELD`) agrees with any text.

    Returns
    -------
    dict
        "share": a number moved by at most `SHARE` of the width of its interval;
        "count": a count moved by at most `COUNT`; "number": a number without an
        interval moved by at most `TIMES` what agrees; "sentences": at most `COUNT` rows
        have another sentence; "order": rows stand in another order; `OTHERWISE`:
        anything else.
    """
    if not (table.exists() and reference.exists()):
        return {OTHERWISE: 1}
    rows, expected = _read(table), _read(reference)
    if rows == expected:
        return {}
    if [*map(len, rows)] != [*map(len, expected)] or rows[0] != expected[0]:
        return {OTHERWISE: 1}
    header, expected = rows[0], expected[1:]
    rows, largest = _aligned(header, rows[1:], expected)
    counts = _counts([*zip(*rows, *expected, strict=True)])
    for row, printed in zip(rows, expected, strict=True):
        limits = _limits(header, printed)
        for cells in zip(row, printed, limits, counts, strict=True):
            for kind, size in _compared(*cells):
                largest[kind] = max(size, largest.get(kind, 0))
    return largest


def _aligned(
    header: Sequence[str], rows: list[list[str]], expected: list[list[str]]
) -> tuple[list[list[str]], dict[str, float]]:
    """Rows in the places of those with the same text, and what that has changed.

    The others take the places that are left; if they are few, they get the sentences
    that stood there.
    """
    places: dict[tuple[str, ...], list[int]] = {}
    for place, printed in enumerate(expected):
        places.setdefault(_masked(printed), []).append(place)
    found = [(places.get(_masked(row)) or [None]).pop(0) for row in rows]
    taken = [place for place in found if place is not None]
    left = sorted({*range(len(rows))} - {*taken})
    changed = {} if taken == sorted(taken) else {"order": 1.0}
    free = iter(left)
    order = [next(free) if place is None else place for place in found]
    aligned = [row for _, row in sorted(zip(order, rows, strict=True))]
    if "sentence" in header and 0 < len(left) <= COUNT:
        column = header.index("sentence")
        for place in left:
            if not WITHHELD.fullmatch(expected[place][column]):
                aligned[place][column] = expected[place][column]
                changed["sentences"] = len(left)
    return aligned, changed


def _masked(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(NUMBER.sub("#", cell) for cell in row)


def _limits(
    header: Sequence[str], row: Sequence[str]
) -> list[tuple[float | None, float]]:
    """The width of each cell's interval, if it has one, and the share that may move."""
    limits: list[tuple[float | None, float]] = [(None, SHARE)] * len(row)
    for columns in intervals(header):
        places = [header.index(column) for column in columns]
        _, low, high = (row[place] for place in places)
        if low and high:
            for place, share in zip(places, (SHARE, ENDS, ENDS), strict=True):
                limits[place] = float(high) - float(low), share
    return limits


def intervals(columns: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each interval of a table as the names of its columns: estimate, low, high."""
    for before, low in pairwise(columns):
        if low == "low":
            yield before, low, "high"
        elif low.endswith("_low"):
            yield low.removesuffix("_low"), low, low.removesuffix("low") + "high"


def _counts(columns: Sequence[Sequence[str]]) -> list[bool]:
    """Whether the whole numbers of each column may be counts.

    Those to the left of the first measurement name the row, such as k, and a column of
    0 and 1 alone says yes or no.
    """
    may_be, measured = [], False
    for column in columns:
        cells = [cell for cell in column if cell not in ("", "nan")]
        if not all(map(NUMBER.fullmatch, cells)):
            may_be.append(True)
        elif all(float(cell).is_integer() for cell in cells):
            may_be.append(any(float(cell) > 1 for cell in cells))
        else:
            may_be = may_be if measured else [False] * len(may_be)
            may_be.append(False)
            measured = True
    return may_be


def _compared(
    cell: str, printed: str, limit: tuple[float | None, float], counts: bool
) -> Iterator[tuple[str, float]]:
    """The kind and the size of each difference between two cells."""
    if WITHHELD.fullmatch(printed):
        return
    if NUMBER.sub("#", cell) != NUMBER.sub("#", printed):
        yield OTHERWISE, 1
        return
    estimates = ESTIMATE.finditer(cell), ESTIMATE.finditer(printed)
    for new, old in zip(*estimates, strict=True):
        numbers = zip(new.groups(), old.groups(), strict=True)
        pairs = [(float(a), float(b)) for a, b in numbers if b]
        whole = counts and all(number.is_integer() for pair in pairs for number in pair)
        limits = [limit]
        if len(pairs) > 1:
            width = pairs[2][1] - pairs[1][1]
            limits = [(width, SHARE), (width, ENDS), (width, ENDS)]
        for (a, b), (width, share) in zip(pairs, limits, strict=True):
            if not math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
                yield _moved(a, b, width, share, whole)


def _moved(
    a: float, b: float, width: float | None, share: float, whole: bool
) -> tuple[str, float]:
    """The kind and the size of the difference between two numbers."""
    gap = abs(a - b)
    if width and round(gap / width, 6) <= share:
        return "share", gap / width
    if whole and gap <= COUNT:
        return "count", gap
    has_digits = not (a.is_integer() and b.is_integer())
    if width is None and has_digits and gap <= TIMES * max(ABSOLUTE, RELATIVE * abs(b)):
        return "number", gap
    return OTHERWISE, gap


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
