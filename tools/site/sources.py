"""What a site is made of, and what each study says of itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.run import files, paths
from lib.run.errors import InputError

# Commands, and what runs before anything is installed.
_COMMANDS = {"bootstrap", "cache", "glossary", "readme", "run", "site"}
# A package stands for its modules; these have names of their own that callers use.
_INNER = {
    "embedders.composition",
    "embedders.elmo",
    "embedders.infersent",
    "embedders.static",
    "neighbors.approximate",
    "neighbors.distributed",
    "sent2vec.presets",
}


def library() -> tuple[str, ...]:
    """Dotted names of the modules and packages of `lib` that have a page in the API reference."""
    folder = paths.ROOT / "lib"
    names = {file.stem for file in folder.glob("*.py")} | {file.parent.name for file in folder.glob("*/__init__.py")}
    return tuple(f"lib.{name}" for name in sorted(names - _COMMANDS - {"__init__"} | _INNER))


@dataclass(frozen=True)
class Study:
    """A notebook: where its source is, where its results are (if it has been run), what it asks."""

    source: Path
    results: Path
    title: str
    question: str

    @property
    def name(self) -> str:
        """The notebook's name, without its ending."""
        return self.source.stem

    @property
    def executed(self) -> Path:
        """Where the executed notebook is, once it has been run."""
        return self.results / self.source.name

    @property
    def is_executed(self) -> bool:
        """Whether it has been run."""
        return self.executed.exists()

    @property
    def is_current(self) -> bool:
        """Whether the executed notebook has the cells that the notebook has now."""
        return self.is_executed and _sources(self.source) == _sources(self.executed)


@dataclass(frozen=True)
class Sources:
    """Where a site's parts are.

    Parameters
    ----------
    root : the project's folder, with ``README.md``, ``references.bib``, ``LICENSE``, ``notebooks/`` and ``docs/``
    figures : results of one profile: ``<notebook>/<notebook>.ipynb`` beside its PNG, SVG and CSV
    modules : dotted names for the API reference
    """

    root: Path = paths.ROOT
    figures: Path = paths.FIGURES / "default"
    modules: Sequence[str] = ()

    @property
    def studies(self) -> list[Study]:
        """In reading order; InputError if there is none."""
        notebooks = sorted((self.root / "notebooks").glob("[0-9]*.ipynb"))
        if not notebooks:
            raise InputError(f"{self.root / 'notebooks'}: holds no notebook; run the command in the project's folder")
        return [study(notebook, self.figures / notebook.stem) for notebook in notebooks]

    @property
    def documents(self) -> list[Path]:
        """The pages of ``docs/``, those of benchmarks last."""
        folder = self.root / "docs"
        return [*sorted(folder.glob("*.md")), *sorted(folder.glob("*/*.md"))]

    @property
    def about(self) -> list[Path]:
        """The pages beside the README that the project has."""
        return [file for file in (self.root / "SECURITY.md",) if file.is_file()]


def study(notebook: Path, results: Path) -> Study:
    """What a notebook's first cell says: the title, and the question in one sentence; InputError if it lacks either."""
    opening = next((source for kind, source in _sources(notebook) if kind == "markdown"), "")
    title = re.search(r"^# +(.+)$", opening, re.M)
    question = re.search(r"\*\*Question\.\*\*\s+(.+?)(?=\n\s*\n|\n\*\*|\Z)", opening, re.S)
    if not title or not question:
        raise InputError(f"{notebook}: begin the first cell with '# title' and '**Question.** ...'")
    return Study(notebook, results, title[1].strip(), " ".join(question[1].split()))


def _sources(notebook: Path) -> list[tuple[str, str]]:
    """Kind and source of each cell, without what papermill added."""
    return [
        (cell["cell_type"], "".join(cell["source"]))
        for cell in read(notebook)["cells"]
        if "injected-parameters" not in cell.get("metadata", {}).get("tags", [])
    ]


def read(notebook: Path) -> dict[str, Any]:
    """A notebook's JSON object; InputError if it has not the cells of a notebook."""
    content = files.read_json(notebook)
    cells = content.get("cells") if isinstance(content.get("cells"), list) else None
    if not cells or not all(isinstance(cell, dict) and "source" in cell for cell in cells):
        raise InputError(f"{notebook}: is no notebook of format 4; get the file again, or run make figures")
    return content
