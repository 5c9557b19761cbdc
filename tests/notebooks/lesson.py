"""Notebooks as tests see them: their cells, and the solutions of their exercises."""

from __future__ import annotations

import json
from pathlib import Path

from tools.exercises import EXERCISE, FENCED, SOLVED


def cells(notebook: Path, kind: str) -> list[str]:
    """Sources of the cells of one kind: "code" or "markdown"."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    of_kind = [cell for cell in content["cells"] if cell["cell_type"] == kind]
    return ["".join(cell["source"]) for cell in of_kind]


def tagged(notebook: Path, tag: str) -> list[str]:
    """Sources of the cells with a tag."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    with_tag = [cell for cell in content["cells"] if tag in _tags(cell)]
    return ["".join(cell["source"]) for cell in with_tag]


def _tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


def prose(notebook: Path) -> str:
    return "\n".join(cells(notebook, "markdown"))


def solutions(notebook: Path) -> list[list[str]]:
    """The code blocks of each folded solution."""
    return [FENCED.findall(folded) for folded in SOLVED.findall(prose(notebook))]


def failure(executed: Path) -> str:
    """Which cell of an executed notebook failed, and why; empty if none did."""
    for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                where = f"cell {cell['execution_count']}"
                if number := cell["metadata"].get(EXERCISE):
                    where = f"the solution of exercise {number}"
                why = f"{output['ename']}: {output['evalue']}"
                return f"{executed.name.split('.')[0]}: {where}: {why}"
    return ""
