"""Where things are. Every path of the project goes through this module."""

from __future__ import annotations

import os
from pathlib import Path

from lib.base import files
from lib.base.errors import InputError

_ABOVE_LIB = Path(__file__).resolve().parent.parent.parent
# Installed as a package, lib keeps its cache, figures and downloads in the folder that
# Python was started in.
ROOT = _ABOVE_LIB if (_ABOVE_LIB / "requirements.lock").exists() else Path.cwd()


def from_root(path: str | Path) -> Path:
    """A user's path; a relative one counts from ROOT, wherever the notebook runs."""
    # Unlike Path.expanduser, this accepts an unknown user.
    path = Path(os.path.expanduser(path))
    return path if path.is_absolute() else ROOT / path


NOTEBOOKS = ROOT / "notebooks"
REPLICATION = "replication"  # the folder in it with one notebook for each paper
PARAMS = ROOT / "params"
FIGURES = ROOT / "figures"
BENCHMARKS = ROOT / "docs" / "benchmarks"
DATA = ROOT / "data"
CACHE = from_root(os.environ.get("SENTENCE_CACHE") or ".cache")
RUNS = CACHE / "runs"

# Set by the runner for the notebook that it executes: where its figures are staged,
# where its progress is written as plain lines.
FIGURES_VARIABLE = "SENTENCE_FIGURES"
LOG_VARIABLE = "SENTENCE_LOG"
# Set by the runner: a file that lists the user's code that a notebook runs.
CODE_VARIABLE = "SENTENCE_CODE"
# Set by the runner where everything is done again: a user's own code encodes again.
FORCE_VARIABLE = "SENTENCE_FORCE"

DATA_VARIABLE = "SENTENCE_DATA"  # folders of data that a user has, separated by colons


def data_folders() -> list[Path]:
    """Where data are looked for, in order: the folders of SENTENCE_DATA, ``data/``."""
    named = os.environ.get(DATA_VARIABLE, "").split(":")
    return [*(from_root(folder) for folder in named if folder), DATA]


def figures_folder(notebook: str) -> Path:
    """The folder that a notebook writes to.

    It is created if it is missing; raises InputError if it cannot be.

    Executed by ``make figures`` that is ``figures/<profile>/<notebook>``; opened in
    JupyterLab it is ``figures/interactive/<notebook>``, so that playing with parameters
    leaves published figures alone.
    """
    folder = from_root(
        os.environ.get(FIGURES_VARIABLE) or FIGURES / "interactive" / notebook
    )
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def lessons() -> list[Path]:
    """The lessons' notebooks, in their order."""
    return sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))


def replications() -> list[Path]:
    """The papers' notebooks, each of which replicates one paper."""
    return sorted(NOTEBOOKS.glob(f"{REPLICATION}/[a-z]*.ipynb"))


def notebook_name(notebook: Path) -> str:
    """The name of a notebook in NOTEBOOKS: ``01_n2o``, or ``replication/n2o``.

    Its parameters and results lie under this name, too.
    """
    return notebook.relative_to(NOTEBOOKS).with_suffix("").as_posix()


def check_notebooks() -> None:
    """Raise InputError if there are no notebooks here, as in the installed package."""
    if not NOTEBOOKS.is_dir():
        raise InputError(
            f"{NOTEBOOKS}: no such folder; run notebooks in a checkout of "
            "the project, with its own .venv"
        )
