"""The exercises of a lesson: their questions, and their solutions' code."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

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
