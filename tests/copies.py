"""A copy of the project, or of its cache, to run in; tests write nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lib.base import paths

PARTS = (
    "lib",
    "audit",
    "notebooks",
    "params",
    "docs",
    "tools",
    "Makefile",
    "requirements.txt",
    "requirements-models.txt",
    "requirements.lock",
    "references.bib",
)


def copy_project(folder: Path) -> dict[str, str]:
    """Fill a folder with what notebooks need; returns the environment variables.

    With these variables, Python works on the copy. The environment is the one that runs
    the tests, and what is compiled in one copy is compiled for all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in PARTS:
        source = paths.ROOT / name
        if source.is_dir():
            shutil.copytree(
                source,
                folder / name,
                ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__"),
            )
        elif source.exists():
            shutil.copy2(source, folder / name)
    for module in (folder / "lib").rglob("*.py"):
        compiled = module.parent / "__pycache__"
        if not compiled.exists():
            original = paths.ROOT / compiled.relative_to(folder)
            original.mkdir(exist_ok=True)
            compiled.symlink_to(original)
    (folder / ".venv").symlink_to(sys.prefix)
    others = {
        name: value
        for name, value in os.environ.items()
        if name not in (paths.FIGURES_VARIABLE, paths.LOG_VARIABLE)
    }
    return others | {
        "PYTHONPATH": str(folder),
        "SENTENCE_CACHE": str(folder / ".cache"),
    }


def run(
    folder: Path, variables: dict[str, str], *arguments: str, **options: int
) -> subprocess.CompletedProcess:
    """Run Python in a folder, with these environment variables."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        timeout=1800,
        **options,
    )


def new_cache(folder: Path) -> Path:
    """A cache that keeps nothing but word vectors, whose conversion takes seconds."""
    vectors = paths.CACHE / "vectors"
    vectors.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vectors").symlink_to(vectors)
    return folder
