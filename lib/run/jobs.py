"""What there is to execute: a notebook in a profile, and whether its results are up to date."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.run import files, parameters, paths
from lib.run.digest import digest
from lib.run.errors import InputError


@dataclass(frozen=True, eq=False)
class Job:
    """One notebook in one profile.

    Attributes
    ----------
    notebook : Path
    profile : str
    changes : dict
        The parameters that the profile changes.
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
        return paths.RUNS / self.profile / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """The progress lines of its last execution."""
        return self.record.with_suffix(".log")

    @property
    def failed(self) -> Path:
        """What was executed when its last execution failed."""
        return self.record.with_suffix(".failed.ipynb")

    def digest(self) -> str:
        """Digest of everything that the results depend on, as it is now."""
        return digest(self.notebook, self.profile, self.parameters)

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


def select(prefix: str, profile: str) -> list[Job]:
    """The notebooks whose name starts with `prefix`, with the profile's parameters, checked.

    Raises InputError if there is none, and for an unknown profile.
    """
    notebooks = sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))
    profiles = sorted(folder.name for folder in paths.PARAMS.iterdir())
    parameters.one_of("PROFILE", profile, ["default", *profiles])
    chosen = [notebook for notebook in notebooks if notebook.stem.startswith(prefix)]
    if not chosen:
        names = [notebook.stem for notebook in notebooks]
        raise InputError(f"NOTEBOOK: {parameters.shown(prefix)} is not known; {parameters.nearest(prefix, names)}")
    return [Job(notebook, profile, parameters.of_profile(notebook, profile)) for notebook in chosen]
