"""Where things are. Every path of the project goes through this module."""

from __future__ import annotations

import os
from pathlib import Path

from lib.run import files

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = ROOT / "notebooks"
PARAMS = ROOT / "params"
FIGURES = ROOT / "figures"
DATA = ROOT / "data"
CACHE = Path(os.environ.get("SENTENCE_CACHE") or ROOT / ".cache")
RUNS = CACHE / "runs"

# Set by the runner for the notebook that it executes: where its figures are staged, where its progress is written as
# plain lines.
FIGURES_VARIABLE = "SENTENCE_FIGURES"
LOG_VARIABLE = "SENTENCE_LOG"


def figures_folder(notebook: str) -> Path:
    """The folder that a notebook writes to; it is made if it is missing, or InputError says that it cannot be.

    Executed by ``make figures`` that is ``figures/<profile>/<notebook>``; opened in JupyterLab it is
    ``figures/interactive/<notebook>``, so that playing with parameters leaves published figures alone.
    """
    folder = Path(os.environ.get(FIGURES_VARIABLE) or FIGURES / "interactive" / notebook)
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def from_root(path: str | Path) -> Path:
    """A user's path; a relative one counts from the project's folder, wherever the notebook runs."""
    path = Path(os.path.expanduser(path))  # unlike Path.expanduser, also of a user whom nobody knows
    return path if path.is_absolute() else ROOT / path
