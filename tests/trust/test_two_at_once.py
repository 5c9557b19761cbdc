"""Two runs of one thing at the same time: one does the work, the other waits, says so, and uses what is there.

Each test starts processes that are forked from one which has imported what they need. The first is held up in the
middle of its work until the second has said that it waits; then it goes on, or is killed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

from lib import store
from lib.run import files, locks, paths
from lib.run import runner as run
from lib.sent2vec import settings
from tests.copies import copy_project
from tests.sizes import NIGHTLY

LIMIT = 1200 if NIGHTLY else 120  # seconds after which processes that wait for each other are called a deadlock
SENTENCES = [f"sentence number {i} of many more" for i in range(40)]
SMALL = settings.Settings(dim=4, epochs=2, min_count=1, bucket=50, threads=1)

processes = get_context("forkserver")
processes.set_forkserver_preload([__name__])


# -- what is done by two ------------------------------------------------------------------------


def work_on(folder: Path) -> None:
    """What takes long: noted, and held up until the test lets it go on."""
    with (folder / "worked").open("a") as stream:
        stream.write("once\n")
    (folder / "busy").touch()
    wait_for(folder / "go")


def wait_for(file: Path, text: str = "") -> None:
    """Wait until a file is there, with this text in it."""
    until = time.monotonic() + LIMIT
    while not file.exists() or text not in file.read_text():
        assert time.monotonic() < until, f"waited in vain for {file.name} {text}"
        time.sleep(0.01)


def execute(folder: Path) -> bytes:
    def papermill(job, output, held) -> None:
        work_on(folder)
        output.write_text("executed")

    run._papermill, run.Job.digest = papermill, "the same"
    paths.FIGURES, paths.RUNS = folder / "figures", folder / "runs"
    job = run.Job(paths.NOTEBOOKS / "00_start_here.ipynb", "smoke", {})
    outcome = run.run(job)
    assert outcome.status != "failed", outcome.reason
    return (job.results / "00_start_here.ipynb").read_bytes()


WORKS = {
    "execute": (execute, "waiting for another run that is executing 00_start_here"),
}


# -- the processes ------------------------------------------------------------------------------


def child(folder: Path, function: Callable[[Path], bytes], answer: str) -> None:
    """In a process of its own: work below a folder, with what it says and what it gets in files."""
    sys.stdout = sys.stderr = (folder / f"{answer}.said").open("w", buffering=1)
    os.environ.pop(paths.LOG_VARIABLE, None)
    paths.CACHE, paths.DATA = folder / "cache", folder / "data"
    locks.SECONDS, store.SHARD = 0.1, 1000
    with files.replacing(folder / answer) as stream:
        stream.write(function(folder))


def start(folder: Path, function: Callable[[Path], bytes], answer: str) -> SimpleNamespace:
    process = processes.Process(target=child, args=(folder, function, answer), daemon=True)
    process.start()
    return SimpleNamespace(process=process, answer=folder / answer, said=folder / f"{answer}.said")


def end(started: SimpleNamespace) -> bytes:
    """What a process has got, when it has ended."""
    started.process.join(LIMIT)
    status = started.process.exitcode
    if status is None:
        started.process.kill()
    assert status == 0, f"{'a deadlock' if status is None else status}: {started.said.read_text()}"
    return started.answer.read_bytes()


@pytest.fixture
def room(tmp_path):
    """A function that makes an empty folder to work below."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        return folder

    return make


def alone(folder: Path, function: Callable[[Path], bytes]) -> bytes:
    (folder / "go").touch()
    return end(start(folder, function, "alone"))


def kept(folder: Path) -> dict[str, bytes]:
    """Every file of results below a folder: what lies there when one works alone must lie there after two."""
    places = [folder / name for name in ("store", "cache", "corpora", "data", "figures", "venv")]
    found = [file for place in places for file in sorted(place.rglob("*")) if file.is_file()]
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in found
        if file.suffix != ".lock" and file.name not in (paths.COST, "about.json")
    }


# -- the promises -------------------------------------------------------------------------------


def one_works_and_one_waits(room, what: str) -> tuple:
    """What one gives alone and where, and then a folder with one that is at work and one that waits and has said so."""
    function, says = WORKS[what]
    expected = alone(apart := room("alone"), function)
    folder = room("two")
    first = start(folder, function, "first")
    wait_for(folder / "busy")
    second = start(folder, function, "second")
    wait_for(second.said, says)
    return expected, apart, folder, first, second


@pytest.mark.parametrize("what", list(WORKS))
def test_one_works_and_the_other_waits_says_so_and_uses_it(room, what) -> None:
    expected, apart, folder, first, second = one_works_and_one_waits(room, what)
    (folder / "go").touch()
    assert end(first) == end(second) == expected
    assert (folder / "worked").read_text() == "once\n"
    assert "waiting" not in first.said.read_text()
    assert list(kept(folder).values()) == list(kept(apart).values())


@pytest.mark.parametrize("what", list(WORKS))
def test_where_the_one_that_works_is_killed_the_other_goes_on(room, what) -> None:
    expected, apart, folder, first, second = one_works_and_one_waits(room, what)
    first.process.kill()
    (folder / "go").touch()
    assert end(second) == expected
    assert list(kept(folder).values()) == list(kept(apart).values())


# -- notebooks ----------------------------------------------------------------------------------


SOURCES = [
    "x = 1",
    "import time; from lib.run import paths; time.sleep(5)",
    "(paths.figures_folder('00_tiny') / 'x.csv').write_text(str(x))",
]


def put_notebook(project: Path) -> None:
    """One that takes some seconds, in the place of all others."""
    blank = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "execution_count": None, "outputs": []}
    cells = [blank | {"id": str(number), "source": source} for number, source in enumerate(SOURCES)]
    for cell in cells[1:]:
        cell["metadata"] = {}
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    shutil.rmtree(project / "notebooks")
    (project / "notebooks").mkdir()
    (project / "notebooks" / "00_tiny.ipynb").write_text(json.dumps(content))


def test_two_make_figures_in_one_checkout_execute_a_notebook_once(tmp_path) -> None:
    environment = copy_project(tmp_path)
    put_notebook(tmp_path)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, "-m", "lib.run"]
    running = [subprocess.Popen(command, cwd=tmp_path, env=environment, **options) for _ in range(2)]
    said = [process.communicate(timeout=LIMIT)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert sorted(re.findall(r"^00_tiny  (done|unchanged)", "\n".join(said), re.M)) == ["done", "unchanged"]
    assert sum("waiting for another run that is executing 00_tiny" in each for each in said) == 1
    assert (tmp_path / "figures" / "default" / "00_tiny" / "x.csv").read_text() == "1"
    assert not list((tmp_path / "figures" / "default").glob(".*"))
