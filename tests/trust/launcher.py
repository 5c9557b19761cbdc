"""Small jobs in separate processes that can be killed or stopped on the way.

They can also be denied the disk.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

# What a process is about to do to a file, in the words of Python's audit events; a file
# that is opened to be written.
TOUCHES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
SECONDS = 120  # that no job takes

context = get_context("forkserver")
# So that a kill never lands in the imports. The first process that is started decides
# for all, so all tests use this context.
context.set_forkserver_preload(["tests.trust.jobs"])


@dataclass(frozen=True)
class Plan:
    """What happens to a process while it works.

    A signal at the n-th touch of a file, a limit on the size of files, or no writing.
    """

    signal: int = 0
    touch: int = 0
    largest_file: int = 0
    read_only: bool = False


class Run:
    """A job in its own process; it keeps files in a folder and prints beside it."""

    def __init__(self, job: str, folder: Path, plan: Plan = Plan()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.started = time.monotonic()
        self.printed = folder.with_name(f"{folder.name}-{time.monotonic_ns()}.txt")
        self._answer, answering = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_work, args=(job, folder, plan, self.printed, answering)
        )
        self.process.start()
        answering.close()

    def wait_for(self, line: str) -> None:
        """Until it has printed this."""
        while not (self.printed.exists() and line in self.printed.read_text()):
            assert self.process.is_alive(), f"it ended before it printed {line!r}"
            time.sleep(0.01)

    def wait_until_stopped(self) -> None:
        """By the signal of its plan."""
        while psutil.Process(self.process.pid).status() != psutil.STATUS_STOPPED:
            assert self.process.is_alive(), self.printed.read_text()
            time.sleep(0.01)

    def end(self) -> dict[str, Any]:
        """The outcome: result (bytes) and touches, or refused (a sentence).

        It is empty if the process was killed.
        """
        answer: dict[str, Any] = {}
        with contextlib.suppress(EOFError):
            assert self._answer.poll(SECONDS), "it does not come to an end"
            answer = self._answer.recv()
        self.process.join()
        assert "error" not in answer, answer["error"]
        return answer | {
            "killed": self.process.exitcode == -signal.SIGKILL,
            "seconds": time.monotonic() - self.started,
        }


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path: hidden ones and locks, too.

    How long encoding took, which an entry's ``about.json`` says, is left out.
    """
    return {
        str(file.relative_to(folder)): without_times(file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def without_times(content: bytes) -> bytes:
    """A file's content without the seconds that it may hold."""
    return re.sub(rb'"facts": \{\s*"seconds": [\d.e-]+\s*\}', b'"facts": {}', content)


def empty(folder: Path) -> Path:
    """The folder, with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@contextlib.contextmanager
def files_of_at_most(size: int) -> Any:
    """Let the system refuse to write more bytes to any file, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def _work(job: str, folder: Path, plan: Plan, printed: Path, answering: Any) -> None:
    from lib.base.errors import InputError
    from tests.trust import jobs

    jobs.prepare(folder)
    output = os.open(printed, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(output, stream)
    touches = _Touches(folder, plan)
    sys.addaudithook(touches)
    try:
        with (
            files_of_at_most(plan.largest_file)
            if plan.largest_file
            else contextlib.nullcontext()
        ):
            answer = {"result": getattr(jobs, job)(folder), "touches": touches.count}
    except InputError as error:
        answer = {"refused": str(error)}
    except BaseException:
        import traceback

        answer = {"error": traceback.format_exc()}
    answering.send(answer)
    os._exit(0)


class _Touches:
    """Counts a process's file operations in a folder, and carries out the plan."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan, self.count = str(folder), plan, 0

    def __call__(self, event: str, arguments: tuple) -> None:
        writing = (
            event == "open"
            and isinstance(arguments[2], int)
            and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if not (writing or event in TOUCHES) or not str(arguments[0]).startswith(
            self.folder
        ):
            return
        if self.plan.read_only:
            raise PermissionError(13, "Permission denied", str(arguments[0]))
        self.count += 1
        if self.plan.signal and self.count == self.plan.touch:
            os.kill(os.getpid(), self.plan.signal)
