"""Make a Google Colab runtime able to run a notebook, which each notebook's first cell asks for there."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from lib.run import paths
from lib.run.errors import InputError

# Colab's own kernel, widgets and PyTorch are made for it; the others serve commands that nobody runs there.
LEFT_ALONE = {"ipython", "ipykernel", "ipywidgets", "jupyterlab", "papermill", "requests", "torch"}


def pins() -> list[str]:
    """The direct pins that a notebook on Colab needs, such as ``numpy==2.4.6``."""
    sections = (paths.ROOT / "requirements.txt").read_text(encoding="utf-8").split("# -- ")
    needed = [section for section in sections if not section.startswith(("site", "tools"))]
    lines = [line.split("#")[0].strip() for section in needed for line in section.splitlines()[1:]]
    return [line for line in lines if line and line.split("==")[0] not in LEFT_ALONE]


def missing() -> list[str]:
    """Those of the pins that are not installed in just that version."""
    return [pin for pin in pins() if _installed(pin.split("==")[0]) != pin.split("==")[1]]


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def prepare() -> None:
    """Install what is missing.

    Raises InputError, so that the cells below do not run, where another NumPy than the one now installed is in memory.
    """
    if wanted := missing():
        print("Installing what the notebook needs: some minutes, once a session", flush=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted], check=True)
    loaded = sys.modules.get("numpy")
    if loaded and loaded.__version__ != _installed("numpy"):
        raise InputError("Everything is installed now: choose Runtime > Restart session, then run all cells again")
