"""Long jobs that are killed at random moments of their work, and started again.

A process that has imported what the jobs need forks for each run of one, so that a kill never lands in the imports:
``python -m tests.trust.kills FOLDER``. It reads requests, one a line, and answers when a run begins and when it ends.
Every run of a job works below the same folder, which is emptied in between.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psutil

from lib.run import paths

MARK = "SENTENCE_KILLED_RUN"  # a variable that all processes of a run inherit
SECONDS_TO_END = 15  # for what a killed process leaves running; each link of a chain of processes takes one or two
# What a process is about to do to a file, in the words of Python's audit events; a file that is opened to be written.
TOUCHES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.listdir", "shutil.rmtree"}


@dataclass(frozen=True)
class Ended:
    """How a run ended: the signal that killed it or 0, how often it touched a file, how many seconds it took."""

    signal: int
    touches: int
    seconds: float


class Launcher:
    """Starts jobs by name, each in a group of processes of its own, below one folder; data lie in ``data`` there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.trust.kills", str(folder)],
            cwd=paths.ROOT,
            env=os.environ | {"SENTENCE_CACHE": str(folder / "work" / "cache"), "SENTENCE_DATA": str(folder / "data")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()  # everything is imported

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def empty(self) -> None:
        """Take away what runs have left."""
        shutil.rmtree(self.folder / "work", ignore_errors=True)
        (self.folder / "work").mkdir()

    def run(self, job: str, touch: int | None = None, delay: float | None = None, **given: Any) -> Ended:
        """Run a job, and kill it when it is about to touch a file for the n-th time, or after so many seconds."""
        started = time.monotonic()
        self.process.stdin.write(json.dumps({"job": job, "touch": touch, "given": given}) + "\n")
        self.process.stdin.flush()
        child = self._answer()["pid"]
        if delay is not None:
            time.sleep(delay)
            os.killpg(child, signal.SIGKILL)  # one that has ended is there until it is asked for
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self._answer()
        if answer["status"] > 0:
            raise AssertionError(f"{job}: {(self.folder / 'said').read_text(encoding='utf-8')}")
        return Ended(-answer["status"], answer["touches"], time.monotonic() - started)

    def tree(self) -> dict[str, bytes]:
        """Every file that runs have left, by its path: hidden ones and empty locks, too."""
        files = (file for file in (self.folder / "work").rglob("*") if not file.is_dir())
        return {str(file.relative_to(self.folder)): file.read_bytes() for file in files}

    def _answer(self) -> dict[str, Any]:
        return json.loads(self.process.stdout.readline())


def kill_and_finish(launcher: Launcher, job: str, kills: int, seed: int, **given: Any) -> tuple[dict, dict]:
    """What is there after an undisturbed run, and after one that was killed so often at random and then finished.

    One kill in two comes when a file is about to be touched, the others at any time. A kill that came too late is not
    counted: the job then begins anew.
    """
    rng = random.Random(f"{job} {seed}")
    launcher.empty()
    whole = launcher.run(job, **given)
    expected = launcher.tree()
    launcher.empty()
    landed = 0
    for attempt in range(4 * kills):
        if attempt % 2:
            ended = launcher.run(job, delay=rng.uniform(0, whole.seconds), **given)
        else:
            ended = launcher.run(job, touch=rng.randint(1, whole.touches), **given)
        landed += ended.signal == signal.SIGKILL
        if landed == kills:
            break
        if not ended.signal:
            launcher.empty()
    assert landed == kills, f"{job}: only {landed} of {kills} kills came in time"
    launcher.run(job, **given)
    return expected, launcher.tree()


# -- processes that import a lot ----------------------------------------------------------------


def start(command: list[str], **options: Any) -> subprocess.Popen:
    """Start a program in a session of its own, its processes marked; `survivors` finds them."""
    mark = {MARK: uuid4().hex}
    process = subprocess.Popen(command, start_new_session=True, **options | {"env": options["env"] | mark})
    process.mark = mark[MARK]
    return process


def survivors(process: subprocess.Popen) -> list[psutil.Process]:
    """What still runs of all that a program has started."""
    return [found for found in psutil.process_iter() if found.pid != process.pid and _mark(found) == process.mark]


def _mark(process: psutil.Process) -> str | None:
    try:
        return None if process.status() == psutil.STATUS_ZOMBIE else process.environ().get(MARK)
    except psutil.Error:
        return None


def wait_for_survivors(process: subprocess.Popen) -> list[psutil.Process]:
    """What still runs when all that a dead program has started had time to end; it is then killed."""
    deadline = time.monotonic() + SECONDS_TO_END
    while (left := survivors(process)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for one in left:
        one.kill()
    return left


# -- the process that forks ---------------------------------------------------------------------


class _Touches:
    """Counts what a process is about to do to files; kills it when it is about to do so for the n-th time."""

    def __init__(self, last: int | None) -> None:
        self.count, self.last = 0, last

    def __call__(self, event: str, arguments: tuple) -> None:
        writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writing or event in TOUCHES:
            self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def _serve(folder: Path, jobs: dict[str, Callable]) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**content: int) -> None:
        print(json.dumps(content), file=answers, flush=True)

    answer(ready=1)
    for line in iter(sys.stdin.readline, ""):
        request = SimpleNamespace(**json.loads(line))
        reading, writing = os.pipe()
        begun, beginning = os.pipe()
        if not (child := os.fork()):
            os.setpgid(0, 0)
            os.write(beginning, b"1")
            _work(folder, jobs[request.job], request, writing)
        os.read(begun, 1)
        for end in (writing, begun, beginning):
            os.close(end)
        answer(pid=child)
        sys.stdin.readline()  # until it may be asked for
        _, status = os.waitpid(child, 0)
        with os.fdopen(reading) as stream:
            count = int(stream.read() or 0)
        answer(status=os.waitstatus_to_exitcode(status), touches=count)


def _work(folder: Path, job: Callable, request: SimpleNamespace, writing: int) -> None:
    """In the child: do the job and tell how often it has touched a file."""
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(said, stream)
    os.chdir(folder / "work")
    touches = _Touches(request.touch)
    sys.addaudithook(touches)
    try:
        job(folder, **request.given)
        os.write(writing, str(touches.count).encode())
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    from tests.trust.jobs_old import JOBS

    _serve(Path(sys.argv[1]), JOBS)
