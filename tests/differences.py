"""What may differ between two runs that must give the same bytes: where they are made, by whom and with what."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.copies import copy_project

KEPT = (".png", ".svg", ".csv", ".parquet")

MATPLOTLIBRC = """
font.size: 17
font.family: monospace
axes.grid: True
axes.formatter.use_locale: True
lines.linewidth: 5
savefig.facecolor: yellow
savefig.bbox: standard
figure.constrained_layout.use: True
image.cmap: jet
text.hinting: none
"""
STARTUP = """
import locale, os, random
locale.setlocale(locale.LC_ALL, "")
import matplotlib.pyplot as plt, numpy as np, pandas as pd
pd.set_option("display.precision", 1, "display.max_columns", 3, "future.infer_string", False)
np.set_printoptions(precision=1)
np.random.seed(int.from_bytes(os.urandom(4), "little"))
plt.style.use("ggplot")
"""
IPYTHON = "c.InlineBackend.rc = {'figure.dpi': 33}\nc.InteractiveShell.ast_node_interactivity = 'all'\n"


@dataclass
class Place:
    """Where and how a run is made: a copy of the project, a home, variables."""

    folder: Path
    name: str = "project"
    variables: dict[str, str] = field(default_factory=dict)
    umask: int = 0o022
    elsewhere: bool = False

    @property
    def project(self) -> Path:
        return self.folder / self.name

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def make(self, *differences: Callable[[Place], None]) -> Place:
        """The same, there, with differences."""
        for difference in differences:
            difference(self)
        self.project.mkdir(parents=True)
        self.home.mkdir(exist_ok=True)
        copy_project(self.project)
        return self

    def run(self, profile: str, notebook: str = "", jobs: int = 1) -> subprocess.CompletedProcess:
        """Execute the notebooks, knowing of this process's variables only where the data are."""
        one = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        plain = {"HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONPATH": str(self.project)}
        passed = {name: os.environ[name] for name in ("PATH", "SENTENCE_DATA") if name in os.environ}
        command = [sys.executable, "-m", "lib.run", "--profile", profile, "--notebook", notebook, "--jobs", str(jobs)]
        return subprocess.run(
            command,
            cwd=self.folder if self.elsewhere else self.project,
            env=passed | one | plain | self.variables,
            umask=self.umask,
            capture_output=True,
            text=True,
            timeout=1800,
        )


def results(folder: Path) -> dict[str, bytes]:
    """The files that must be the same on every run: all but executed notebooks and what measures time."""
    files = [file for file in folder.rglob("*") if file.suffix in KEPT and not file.stem.startswith("timings")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


# -- what may differ ----------------------------------------------------------------------------


def other_hash_seed(place: Place) -> None:
    place.variables["PYTHONHASHSEED"] = "random"


def more_threads(place: Place) -> None:
    place.variables |= {name: "2" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}


def plain_ascii(place: Place) -> None:
    """No locale at all, and a Python that is told not to help itself."""
    place.variables |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def decimal_comma(place: Place) -> None:
    """German numbers, where the system can make the locale; the names of the place stay UTF-8."""
    locales = place.folder / "locales"
    locales.mkdir(parents=True)
    if shutil.which("localedef"):
        command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(locales / "de_DE.UTF-8")]
        subprocess.run(command, capture_output=True)
    made = "de_DE.UTF-8" if any(locales.iterdir()) else "C.UTF-8"
    place.variables |= {"LOCPATH": str(locales), "LC_ALL": made}


def other_time_zone(place: Place) -> None:
    place.variables["TZ"] = "Asia/Kathmandu"


def home_with_settings(place: Place) -> None:
    """Of Matplotlib, IPython, pandas and NumPy, as a user has them for something else."""
    startup = place.home / ".ipython/profile_default"
    for file, text in {
        place.home / ".config/matplotlib/matplotlibrc": MATPLOTLIBRC,
        startup / "startup/00.py": STARTUP,
        startup / "ipython_config.py": IPYTHON,
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def other_backend(place: Place) -> None:
    place.variables["MPLBACKEND"] = "pdf"


def other_umask(place: Place) -> None:
    place.umask = 0o077


def no_assertions(place: Place) -> None:
    place.variables["PYTHONOPTIMIZE"] = "2"


def other_folder(place: Place) -> None:
    """Spaces and letters that are not ASCII in the path of the checkout, and another working directory."""
    place.name, place.elsewhere = "a plàce ß 東", True


def many_columns(place: Place) -> None:
    place.variables |= {"COLUMNS": "40", "LINES": "5", "NO_COLOR": "1", "TERM": "dumb"}


DIFFERENCES: list[Callable[[Place], None]] = [
    other_hash_seed,
    more_threads,
    plain_ascii,
    decimal_comma,
    other_time_zone,
    home_with_settings,
    other_backend,
    other_umask,
    no_assertions,
    other_folder,
    many_columns,
]
# There is one locale at a time; and without assertions, those in the notebooks would check nothing.
AT_ONCE = [difference for difference in DIFFERENCES if difference not in (plain_ascii, no_assertions)]
