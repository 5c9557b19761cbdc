"""Differences that must not change a byte between two runs.

They concern where, by whom, and with what the results are made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from lib.base import paths
from tests.copies import copy_project, run

KEPT = (".png", ".svg", ".csv", ".parquet")
# Settings of Matplotlib, IPython, pandas and NumPy, as a user has them for something
# else.
SETTINGS = {
    ".config/matplotlib/matplotlibrc": """
font.size: 17
font.family: monospace
axes.grid: True
axes.formatter.use_locale: True
savefig.facecolor: yellow
savefig.bbox: standard
figure.constrained_layout.use: True
text.hinting: none
""",
    ".ipython/profile_default/startup/00.py": """
import locale, os
locale.setlocale(locale.LC_ALL, "")
import matplotlib.pyplot as plt, numpy as np, pandas as pd
pd.set_option("display.precision", 1, "display.max_columns", 3, "future.infer_string", False)
np.set_printoptions(precision=1)
np.random.seed(int.from_bytes(os.urandom(4), "little"))
plt.style.use("ggplot")
""",  # noqa: E501
    ".ipython/profile_default/ipython_config.py": (
        "c.InlineBackend.rc = {'figure.dpi': 33}\n"
    ),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
DIFFERENT = dict.fromkeys(THREADS, "2") | {
    "LOKY_MAX_CPU_COUNT": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "PYTHONHASHSEED": "random",
    "TZ": "Asia/Kathmandu",
    "MPLBACKEND": "pdf",
    "COLUMNS": "40",
    "NO_COLOR": "1",
    "TERM": "dumb",
}
# Another run, with one thread, no locale at all and a Python that is told not to help
# itself.
PLAIN = dict.fromkeys(THREADS, "1") | {
    "PYTHONHASHSEED": "1",
    "LC_ALL": "POSIX",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}


class Elsewhere:
    """A copy of the project in an awkward place, for a user with other settings.

    Its path has blanks and letters beyond ASCII.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, folder / "a plàce ß 東"
        copy_project(self.project)
        for name, text in SETTINGS.items():
            file = folder / "home" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def run(self, profile: str, notebook: str = "") -> subprocess.CompletedProcess:
        """Execute all notebooks or some, two at a time, from another folder."""
        passed = {
            name: os.environ[name]
            for name in ("PATH", "SENTENCE_DATA")
            if name in os.environ
        }
        own = {"HOME": str(self.folder / "home"), "PYTHONPATH": str(self.project)}
        if notebook:  # alone, it may use what is stored
            own["SENTENCE_CACHE"] = str(paths.CACHE)
        others = DIFFERENT | decimal_comma(self.folder / "locales")
        options = ["-m", "tools.run", "--profile", profile, "--jobs", "2"]
        options += ["--notebook", notebook]
        umask = -1 if notebook else 0o077
        return run(self.folder, passed | own | others, *options, umask=umask)


def decimal_comma(folder: Path) -> dict[str, str]:
    """German numbers, where the system can make the locale."""
    folder.mkdir()
    made = folder / "de_DE.UTF-8"
    if shutil.which("localedef"):
        subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", str(made)], capture_output=True
        )
    return {"LOCPATH": str(folder), "LC_ALL": made.name if made.exists() else "C.UTF-8"}


def results(folder: Path) -> dict[str, bytes]:
    """The files that must be the same on every run.

    Left out are executed notebooks and anything that measures time.
    """
    files = [
        file
        for file in folder.rglob("*")
        if file.suffix in KEPT and not file.stem.startswith("timings")
    ]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}
