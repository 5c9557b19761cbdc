"""Long jobs are killed at random moments and started again: the same bytes, nothing left over, nobody still running.

`tests.trust.kills` says how; `tests.sizes.KILLS` how often.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lib.run import files
from tests.copies import copy_project
from tests.sizes import KILLS
from tests.trust.kills import Launcher, kill_and_finish, start, survivors, wait_for_survivors
from tests.unit.test_finetuning import CUES, WORDS, tiny_bert, write_multinli

SEED = 12
NOTEBOOK = "00_start_here"
# Embedders that take seconds, in place of those of the smoke profile.
PARAMETERS = "k: 2\nembedder_names:\n  - tfidf\n  - wordllama\n"
HALF_WRITTEN = re.compile(r"^\.|\.(partial|running|old|tmp)$")


# -- jobs of one process ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def launcher(tmp_path_factory) -> Iterator[Launcher]:
    running = Launcher(tmp_path_factory.mktemp("kills") / "jobs")
    yield running
    running.close()


@pytest.fixture(scope="module")
def tuning(launcher) -> dict[str, str]:
    """A small BERT; the pairs that it is tuned on lie where the jobs look for data."""
    write_multinli(launcher.folder / "data")
    return {"bert": str(tiny_bert(launcher.folder / "bert", [*WORDS, *CUES.values()]))}


@pytest.mark.parametrize("job", ["tune"])
def test_a_killed_job_is_finished_by_the_next_run_with_the_same_bytes(launcher, job, request) -> None:
    """All files are compared, hidden ones among them: nothing is missing, nothing is left over."""
    given = {"tune": "tuning"}.get(job)
    undisturbed, finished = kill_and_finish(
        launcher, job, KILLS, SEED, **request.getfixturevalue(given) if given else {}
    )
    assert undisturbed
    assert sorted(finished) == sorted(undisturbed)
    assert [name for name in finished if finished[name] != undisturbed[name]] == []


# -- make figures -------------------------------------------------------------------------------


class Project:
    """A copy of the project in which one notebook is executed, and killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runtime = folder, folder / "runtime"
        self.temporary = Path(tempfile.mkdtemp(prefix="k-"))  # a short name, for sockets
        folder.mkdir()
        self.variables = copy_project(folder)
        (folder / "params" / "smoke" / f"{NOTEBOOK}.yaml").write_text(PARAMETERS, encoding="utf-8")
        self.runtime.mkdir()
        self.variables |= {"TMPDIR": str(self.temporary), "JUPYTER_RUNTIME_DIR": str(self.runtime)}
        self.staging = folder / "figures" / "smoke" / f".{NOTEBOOK}.partial"

    def start(self, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "lib.run", "--profile", "smoke", "--notebook", NOTEBOOK, *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return start(command, cwd=self.folder, env=self.variables, **pipes)

    def run(self, *options: str) -> str:
        """To the end; returns what was printed."""
        process = self.start(*options)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
        return said

    def begun(self, *options: str) -> subprocess.Popen:
        """One that has begun to execute the notebook."""
        process = self.start(*options)
        executed = self.staging / f"{NOTEBOOK}.ipynb"
        while not executed.exists():
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        return process

    def results(self) -> dict[str, bytes]:
        """What must be the same on every run: all but what measures time."""
        folder = self.staging.with_name(NOTEBOOK)
        kept = [file for file in folder.glob("*") if file.suffix in (".png", ".svg", ".csv")]
        return {file.name: file.read_bytes() for file in kept if "timings" not in file.stem}

    def left_over(self) -> list[str]:
        """What is half-written."""
        found = [file for name in ("figures", ".cache") for file in (self.folder / name).rglob("*")]
        return [str(file) for file in found if HALF_WRITTEN.search(file.name)]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Iterator[Project]:
    """With the results of an undisturbed run, and the seconds that it took."""
    made = Project(tmp_path_factory.mktemp("kills") / "pröject with spaces")
    process = made.start()
    while not made.staging.exists():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.02)
    began = time.monotonic()
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    made.seconds, made.undisturbed = time.monotonic() - began, made.results()
    assert made.undisturbed
    yield made
    shutil.rmtree(made.temporary)


def kill_main(process: subprocess.Popen) -> None:
    process.kill()


def kill_group(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)


def kill_everything(process: subprocess.Popen) -> None:
    """The kernel, too, which is no member of the group."""
    for one in [*survivors(process), process]:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue


def kill_kernel(process: subprocess.Popen) -> None:
    for one in survivors(process):
        if "ipykernel_launcher" in one.cmdline():
            one.kill()


WAYS: list[Callable] = [kill_main, kill_everything, kill_group, kill_kernel]


def test_killed_figures_are_finished_by_the_next_run_with_the_same_bytes(project) -> None:
    """Whoever is killed, nobody else stays."""
    rng = random.Random(SEED)
    record = project.folder / ".cache" / "runs" / "smoke" / f"{NOTEBOOK}.json"
    landed = 0
    for attempt in range(3 * KILLS):
        record.unlink(missing_ok=True)  # what says that nothing has changed, of a run that came to its end
        process = project.begun()
        try:
            process.wait(rng.uniform(0, 0.7 * project.seconds))
        except subprocess.TimeoutExpired:
            landed += 1
            WAYS[attempt % len(WAYS)](process)
        process.communicate(timeout=60)
        assert project.results() in (project.undisturbed, {})  # between two renames there are none
        # One kill in two is followed by the next run at once.
        assert attempt % 2 or wait_for_survivors(process) == []
        if landed == KILLS:
            break
    assert landed == KILLS
    record.unlink(missing_ok=True)
    assert f"{NOTEBOOK}  done" in project.run()
    assert wait_for_survivors(process) == []
    assert project.results() == project.undisturbed
    assert project.left_over() == []


# -- writing whole or not at all ----------------------------------------------------------------


def test_what_was_there_comes_back_when_a_kill_falls_between_two_renames(tmp_path) -> None:
    results, old = tmp_path / "results", tmp_path / ".results.old"
    old.mkdir()
    (old / "figure.csv").write_text("1")
    (tmp_path / ".results.partial").mkdir()
    files.tidy(results)
    assert [file.name for file in tmp_path.rglob("*")] == ["results", "figure.csv"]
