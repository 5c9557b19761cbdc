"""The exercises of the lessons: their parts, and whether the solutions run.

Run ``python -m tools.exercises``, or ``make exercises``: the lessons are executed once
more, with the solutions at their ends, and nothing is kept.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from lib.base import paths
from lib.base.errors import command
from tools.run import kernel
from tools.run.jobs import Job, select

# The questions under the heading of the exercises, and the folded solutions.
ASKED = re.compile(
    r"^\*\*(?:\d+\.|Open task.*?)\*\*.*?(?=^\*\*(?:\d+\.|Open task)|<details>|^## |\Z)",
    re.DOTALL | re.MULTILINE,
)
SOLVED = re.compile(
    r"<details><summary>(?:Solution|Open task)[^<]*</summary>\n\n(.*?)</details>",
    re.DOTALL,
)
FENCED = re.compile(r"^```python\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
EXERCISE = "exercise"


def exercises(notebook: NotebookNode) -> list[tuple[str, str]]:
    """Question and solution of each exercise of a lesson, as Markdown."""
    prose = "\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    _, _, asked = prose.partition("## Exercises\n")
    return list(zip(ASKED.findall(asked), SOLVED.findall(prose), strict=True))


def append_solutions(file: Path) -> None:
    """Append the solutions' code as cells, each tagged with its exercise's number."""
    notebook = nbformat.read(file, as_version=4)
    for number, (_, solution) in enumerate(exercises(notebook), start=1):
        for block in FENCED.findall(solution):
            notebook.cells.append(new_code_cell(block, metadata={EXERCISE: number}))
    nbformat.write(notebook, file)


def check(job: Job) -> None:
    """Execute a lesson with its solutions; an error if a cell fails."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / job.notebook.name
        shutil.copy(job.notebook, file)
        append_solutions(file)
        figures = {paths.FIGURES_VARIABLE: scratch}
        kernel.execute(file, file, job.changes, figures, cwd=paths.NOTEBOOKS)


@command
def main(arguments: list[str] | None = None) -> int:
    """Check all lessons or some; the exit status is 0, or 1 if a solution fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.exercises", description="Run the exercises' solutions."
    )
    parser.add_argument("--profile", default="default")
    parser.add_argument("--notebook", default="", metavar="PREFIX")
    options = parser.parse_args(arguments)
    failed = 0
    for job in select(options.notebook, options.profile):
        if job.is_replication:
            continue
        try:
            check(job)
            print(f"ok: {job.name}", flush=True)
        except Exception as error:
            failed = 1
            print(f"FAILED {job.name}: {error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
