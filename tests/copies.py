"""A copy of the project to run notebooks in, so that what a test writes lies nowhere else."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from lib.run import paths

PARTS = ("lib", "notebooks", "params", "docs", "Makefile", "requirements.txt", "requirements.lock", "references.bib")


def copy_project(folder: Path) -> dict[str, str]:
    """Fill an empty folder with what notebooks need; returns the variables under which Python works on the copy.

    Times of change are kept, so that compiled loops are found compiled. The environment is the one that runs the tests.
    """
    for name in PARTS:
        source = paths.ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
        elif source.exists():
            shutil.copy2(source, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    others = {
        name: value for name, value in os.environ.items() if name not in (paths.FIGURES_VARIABLE, paths.LOG_VARIABLE)
    }
    return others | {"PYTHONPATH": str(folder), "SENTENCE_CACHE": str(folder / ".cache")}
