"""What there is to execute: a notebook in a profile, and whether its results are up to date."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

from lib import catalog
from lib.run import files, parameters, paths
from lib.run.errors import InputError


@dataclass(frozen=True, eq=False)
class Job:
    """One notebook in one profile.

    Attributes
    ----------
    notebook : Path
    profile : str
        Or another place of its results in ``figures/``; an absolute path is one anywhere.
    changes : dict
        The parameters that are changed.
    """

    notebook: Path
    profile: str
    changes: dict[str, Any]

    @property
    def name(self) -> str:
        """The notebook's name, without its ending."""
        return self.notebook.stem

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters of the notebook, with their values in this profile."""
        return parameters.of_notebook(self.notebook) | self.changes

    @property
    def results(self) -> Path:
        """The folder of its figures, tables and executed notebook."""
        return paths.FIGURES / self.profile / self.name

    @property
    def record(self) -> Path:
        """The file with the digest of its last success and the sizes of the results."""
        return paths.RUNS / self.profile.strip("/") / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """The progress lines of its last execution."""
        return self.record.with_suffix(".log")

    @property
    def failed(self) -> Path:
        """What was executed when its last execution failed."""
        return self.record.with_suffix(".failed.ipynb")

    def digest(self) -> str:
        """Digest of all that the results depend on: unchanged, the notebook need not run again.

        That is its source, its parameters, the modules of `lib` that it imports (directly or not), Python, the pinned
        packages, and the data that it may read.
        """
        cells = parameters.cells(self.notebook)
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        sources = [paths.ROOT / "requirements.lock", *library_files(code)]
        data = {file: file.stat() for file in _data_files(self.parameters.values(), self.profile)}
        parts = [
            sys.version,
            [cell["source"] for cell in cells],
            self.parameters,
            [(str(file.relative_to(paths.ROOT)), file.read_text(encoding="utf-8")) for file in sources],
            [(str(file), status.st_size, status.st_mtime_ns) for file, status in data.items()],
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def write_record(self, digest: str) -> None:
        """Record a success."""
        with files.replacing(self.record) as stream:
            stream.write(json.dumps({"digest": digest, "sizes": self._sizes()}, indent=1).encode())

    def is_up_to_date(self) -> bool:
        """Whether the last success had the same digest, and its results are still there."""
        if not self.record.exists():
            return False
        return json.loads(self.record.read_bytes()) == {"digest": self.digest(), "sizes": self._sizes()}

    def _sizes(self) -> dict[str, int]:
        return {file.name: file.stat().st_size for file in sorted(self.results.glob("*"))}


def select(prefix: str, profile: str, given: Sequence[str] = (), output: str = "") -> list[Job]:
    """The notebooks whose name starts with `prefix`, with the profile's parameters and those in `given`, checked.

    `given` holds texts ``name=value``, `output` the place of the results in ``figures/``, where it is not the profile.
    Raises InputError if there is no such notebook, and for an unknown profile.
    """
    notebooks = sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))
    profiles = sorted(folder.name for folder in paths.PARAMS.iterdir())
    parameters.one_of("PROFILE", profile, ["default", *profiles])
    chosen = [notebook for notebook in notebooks if notebook.stem.startswith(prefix)]
    if not chosen:
        names = [notebook.stem for notebook in notebooks]
        raise InputError(f"NOTEBOOK: {parameters.shown(prefix)} is not known; {parameters.nearest(prefix, names)}")
    changes = [parameters.of_profile(each, profile) | parameters.of_texts(each, given) for each in chosen]
    return [Job(notebook, output or profile, changed) for notebook, changed in zip(chosen, changes, strict=True)]


# -- what results depend on -----------------------------------------------------------------------


def library_files(sources: Iterable[str]) -> list[Path]:
    """Files of `lib` that these sources import, those that these import in turn, and all tables of `lib`."""
    finder = ModuleFinder([str(paths.ROOT)])
    for source in sources:
        finder.scan_code(compile(source, "cell", "exec"), finder.add_module("__main__"))
    finder.import_hook("lib.embedders", None, ["*"])  # which imports its modules by their names
    modules = [Path(module.__file__) for module in finder.modules.values() if module.__file__]
    tables = [table for kind in ("*.toml", "*.csv") for table in (paths.ROOT / "lib").rglob(kind)]
    return sorted([*modules, *tables])


def _data_files(values: Iterable[Any], profile: str) -> Iterator[Path]:
    """Files outside the project that a run may read: those that it names, and the data folders where they count."""
    texts = [value for value in values if isinstance(value, str)]
    for text in texts:
        for part in text.partition(":"):  # lines:PATH, PATH.py:function, PATH
            path = paths.from_root(part)
            if os.path.isfile(path):
                yield path
            elif os.path.isfile(path / "config.json"):  # a model
                yield from _files_below(path)
    if profile == "paper" or any(re.match(r"reuters$|gigaword:", text) for text in texts):
        for folder in catalog.folders():
            yield from _files_below(folder)


def _files_below(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
