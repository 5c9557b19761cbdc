"""The exercises with what their solutions print, for instructors.

Run ``python -m tools.exercises``, or ``make exercises``.

The lessons are executed once more, with the solutions at their ends, and
``docs/exercises.md`` is written.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lib.base import paths
from lib.base.errors import command
from tools.reference import page
from tools.run import kernel
from tools.run.jobs import Job, select

OPENING = """# Exercises and what their solutions print

For instructors: every exercise of the lessons, the output of its solution in the \
default profile, and the explanation.
The solutions' code is folded in the lessons. Made by `make exercises`.

"""
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
HIDDEN = "# hidden"


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


def outputs(job: Job) -> str:
    """The exercises of one lesson with the outputs of their solutions, as Markdown."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / job.notebook.name
        shutil.copy(job.notebook, file)
        append_solutions(file)
        figures = {paths.FIGURES_VARIABLE: scratch}
        kernel.execute(file, file, job.changes, figures, cwd=paths.NOTEBOOKS)
        executed = nbformat.read(file, as_version=4)
    title = re.search(r"^# (.+)", executed.cells[0].source)[1]
    shown = [new_markdown_cell(f"## {title}")]
    for number, (question, solution) in enumerate(exercises(executed), start=1):
        cells = [
            cell for cell in executed.cells if cell.metadata.get(EXERCISE) == number
        ]
        for cell in cells:
            cell.source = HIDDEN
        shown += [
            new_markdown_cell(question),
            *cells,
            new_markdown_cell(FENCED.sub("", solution)),
        ]
    return page(new_notebook(cells=shown), job.name).replace(
        f"```\n{HIDDEN}\n```\n\n", ""
    )


@command
def main() -> int:
    """Write the page; the exit status is 0."""
    lessons = [outputs(job) for job in select("", "default") if not job.is_replication]
    (paths.ROOT / "docs/exercises.md").write_text(
        OPENING + "\n".join(lessons), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
