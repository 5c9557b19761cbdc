"""`make figures` is killed at random moments and started again.

The bytes are the same, nothing is left over, and nobody keeps running. Nightly. With
each change `tests/tools/test_run.py` kills a command and a kernel once, and
`test_cache` kills jobs.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from lib.base.cache import LOCK
from tests.copies import copy_project
from tests.differences import results
from tests.sizes import KILLS, NIGHTLY

pytestmark = pytest.mark.skipif(not NIGHTLY, reason="nightly")
NOTEBOOK = "00_start_here"
# Embedders that take seconds, in place of those of the smoke profile.
PARAMETERS = "embedder_names:\n  - tfidf\n  - wordllama\n"
HALF_WRITTEN = re.compile(r"^\.|\.(partial|running|old|tmp)$")
MARK = "SENTENCE_KILLED_RUN"  # a variable that all processes of a run inherit
SECONDS_TO_END = 15  # for what a killed process leaves running


class Project:
    """A copy of the project in which one notebook is executed, and killed."""

    def __init__(self, folder: Path, temporary: str) -> None:
        self.folder = folder
        self.variables = copy_project(folder) | {"TMPDIR": temporary, MARK: uuid4().hex}
        (folder / "params" / "smoke" / f"{NOTEBOOK}.yaml").write_text(
            PARAMETERS, encoding="utf-8"
        )
        self.figures = folder / "figures" / "smoke"
        self.record = folder / ".cache" / "runs" / "smoke" / f"{NOTEBOOK}.json"

    def begin(self) -> subprocess.Popen:
        """Start a run although nothing has changed; wait until the notebook starts."""
        self.record.unlink(missing_ok=True)
        left = self.started()  # what a killed run has left
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tools.run",
                "--profile",
                "smoke",
                "--notebook",
                NOTEBOOK,
            ],
            cwd=self.folder,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        while self.started() in (None, left):
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        return process

    def started(self) -> int | None:
        """When the folder that a run fills was made, if there is one."""
        with suppress(FileNotFoundError):
            return (self.figures / f".{NOTEBOOK}.partial").stat().st_ctime_ns
        return None

    def running(self) -> list[psutil.Process]:
        """All processes that runs have started and that have not ended."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                alive = process.status() != psutil.STATUS_ZOMBIE
                found += (
                    [process]
                    if alive and process.environ().get(MARK) == self.variables[MARK]
                    else []
                )
        return found

    def nobody_runs(self) -> bool:
        """Once all have had time to end."""
        deadline = time.monotonic() + SECONDS_TO_END
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.1)
        return not self.running()

    def results(self) -> dict[str, bytes]:
        """Complete files, leaving out the hidden folder of an unfinished notebook."""
        return {
            name: content
            for name, content in results(self.figures).items()
            if not name.startswith(".")
        }

    def left_over(self) -> list[str]:
        """What is half-written."""
        found = [
            file
            for name in ("figures", ".cache")
            for file in (self.folder / name).rglob("*")
        ]
        return sorted(str(file) for file in found if HALF_WRITTEN.search(file.name))


@pytest.fixture
def project(tmp_path) -> Iterator[Project]:
    with tempfile.TemporaryDirectory(
        prefix="k-"
    ) as temporary:  # a short name, for sockets
        yield Project(tmp_path / "pröject with spaces", temporary)


def kill_main(project: Project, process: subprocess.Popen) -> None:
    process.kill()


def kill_group(project: Project, process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)


def kill_everything(project: Project, process: subprocess.Popen) -> None:
    """The kernel, too, which is no member of the group."""
    for one in project.running():
        one.kill()


def kill_kernel(project: Project, process: subprocess.Popen) -> None:
    for one in project.running():
        if "ipykernel_launcher" in one.cmdline():
            one.kill()


WAYS: list[Callable] = [kill_main, kill_everything, kill_group, kill_kernel]


def test_killed_figures_are_finished_by_the_next_run_with_the_same_bytes(
    project,
) -> None:
    process, began = project.begin(), time.monotonic()
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    seconds, undisturbed = time.monotonic() - began, project.results()
    locks = project.left_over()  # filelock keeps a lock's file
    assert {Path(file).name for file in locks} <= {LOCK}
    rng = random.Random(12)
    for attempt in range(KILLS):
        process = project.begin()
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0, 0.9 * seconds))
        WAYS[attempt % len(WAYS)](project, process)
        process.communicate(timeout=60)
        assert project.results() in (
            undisturbed,
            {},
        )  # between two renames there are none
        assert (
            attempt % 2 or project.nobody_runs()
        )  # one kill in two is followed by the next run at once
    said, _ = project.begin().communicate(timeout=600)
    assert f"{NOTEBOOK}  done" in said
    assert project.nobody_runs()
    assert project.results() == undisturbed
    assert project.left_over() == locks
