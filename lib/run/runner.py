"""Execute notebooks with papermill: ``python -m lib.run``, which is what ``make figures`` calls.

A notebook whose digest is unchanged since its last success is skipped (`lib.run.digest` says what it covers). An
execution writes to a staging folder, which replaces the old results only when it succeeded. Each is made in a process
of its own, which ends with this one, as its kernel does with it. What has been killed is tidied up by the next run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lib.run import files, locks, parameters, paths, processes
from lib.run.digest import digest
from lib.run.errors import InputError, said_in_a_sentence

KERNEL = "python3"
GRACE = 10  # seconds that a kernel has to end when the process that started it was killed


@dataclass(frozen=True)
class Job:
    """One notebook in one profile."""

    notebook: Path
    profile: str
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """The notebook's name, without its ending."""
        return self.notebook.stem

    @property
    def digest(self) -> str:
        """Of everything that the results depend on, as it is now."""
        return digest(self.notebook, self.profile, self.parameters)

    @property
    def results(self) -> Path:
        """Where its figures, tables and executed notebook go."""
        return paths.FIGURES / self.profile / self.name

    @property
    def record(self) -> Path:
        """What is remembered of its last success: the digest, and the checksum of each result."""
        return paths.RUNS / self.profile / f"{self.name}.json"

    @property
    def scratch(self) -> Path:
        """Where its kernel has sockets and temporary files, which are gone with it.

        A socket's path may have some hundred characters, so that it must not lie in a home of any depth.
        """
        owner = hashlib.blake2b(os.fsencode(f"{os.getuid()} {self.results}"), digest_size=8).hexdigest()
        return Path(tempfile.gettempdir()) / f"sentence-{owner}"

    def lock(self, **options: Any) -> FileLock:
        """Held by who executes the job, and by its kernel: after a kill, until that has ended, too."""
        self.record.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self.record.with_suffix(".lock"), **options)

    def is_tidy(self) -> bool:
        """Whether no execution is at work, nor has been killed."""
        return files.is_tidy(self.results) and not self.scratch.exists()

    def tidy(self) -> None:
        """Remove what a killed execution has left; who calls this holds the lock."""
        files.tidy(self.results)
        shutil.rmtree(self.scratch, ignore_errors=True)


@dataclass(frozen=True)
class Outcome:
    """How a job ended: "done", "unchanged" or "failed"."""

    name: str
    status: str
    seconds: float = 0.0
    peak_gigabytes: float = 0.0
    reason: str = ""


# -- what to run --------------------------------------------------------------------------------


def select(prefix: str, profile: str) -> list[Job]:
    """The notebooks whose name starts with `prefix`, with the profile's parameters, checked.

    Raises InputError if there is none, and for an unknown profile.
    """
    notebooks = sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))
    profiles = ["default", *sorted(folder.name for folder in paths.PARAMS.iterdir() if folder.is_dir())]
    parameters.one_of("PROFILE", profile, profiles)
    chosen = [notebook for notebook in notebooks if notebook.stem.startswith(prefix)]
    if not chosen:
        names = [notebook.stem for notebook in notebooks]
        raise InputError(f"NOTEBOOK: {parameters.shown(prefix)} is not known; {parameters.nearest(prefix, names)}")
    return [Job(notebook, profile, parameters.of_profile(notebook, profile)) for notebook in chosen]


# -- skipping what is unchanged -----------------------------------------------------------------


def unchanged(job: Job, current: str) -> bool:
    """Whether the last success had this digest and its results are still there, byte for byte."""
    try:
        record = files.read_json(job.record)
    except InputError:
        return False
    return record == _record(job, current)


def _record(job: Job, current: str) -> dict[str, Any]:
    return {"digest": current, "results": _checksums(job.results)}


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.glob("*") if file.is_file())
    return {file.name: hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest() for file in files}


# -- running ------------------------------------------------------------------------------------


def run(job: Job, force: bool = False) -> Outcome:
    """Execute a job unless it is unchanged. Two runs of one job, in two processes, come one after the other."""
    started = time.monotonic()
    try:
        held: list[int] = []
        with locks.taken(job.lock(on_acquired=held.append), f"executing {job.name}"):
            job.tidy()
            current = job.digest
            if not force and unchanged(job, current):
                return Outcome(job.name, "unchanged")
            cost = _execute(job, held)
            with files.replacing(job.record) as stream:
                stream.write(json.dumps(_record(job, current), indent=1).encode())
            return Outcome(job.name, "done", *cost)
    except Exception as error:  # whatever a notebook raises is reported, and the others still run
        return Outcome(job.name, "failed", time.monotonic() - started, _peak(), _explain(error, job))


def _execute(job: Job, held: list[int]) -> tuple[float, float]:
    """Execute the notebook and put its results in place; returns the seconds and gigabytes that it took."""
    started = time.monotonic()
    with files.replacing_folder(job.results) as staging, _told_where(staging, job), _kept_if_failing(job, staging):
        _papermill(job, staging / f"{job.name}.ipynb", held)
        cost = time.monotonic() - started, _peak()
        (staging / paths.COST).write_text("seconds,gigabytes\n{:.1f},{:.2f}\n".format(*cost), encoding="utf-8")
    return cost


def _papermill(job: Job, output: Path, held: list[int]) -> None:
    import papermill
    from jupyter_client import AsyncKernelManager

    class SocketKernelManager(AsyncKernelManager):
        """Talks to the kernel through socket files that only this user can open, rather than through ports."""

        transport = "ipc"

        def _ip_default(self) -> str:
            # Jupyter's own default is one name for all kernels: two at once would hear each other.
            return str(job.scratch / "socket")

        def _connection_file_default(self) -> str:
            return str(job.scratch / "connection.json")

        async def start_kernel(self, **options: Any) -> None:
            await super().start_kernel(pass_fds=held, **options)

    papermill.execute_notebook(
        _literally(job.notebook),
        _literally(output),
        parameters=job.parameters,
        kernel_name=KERNEL,
        kernel_manager_class=SocketKernelManager,
        cwd=paths.NOTEBOOKS,
        progress_bar=False,
    )


def _literally(path: Path) -> str:
    """A path for papermill, which would fill in parameters where a name stands in braces."""
    return str(path).replace("{", "{{").replace("}", "}}")


@contextmanager
def _told_where(staging: Path, job: Job) -> Iterator[None]:
    """Tell the kernel where to put figures, progress and temporary files; show the progress lines while it runs."""
    log = job.record.with_suffix(".log")
    log.write_text("", encoding="utf-8")
    job.scratch.mkdir(mode=0o700)
    told = {paths.FIGURES_VARIABLE: str(staging), paths.LOG_VARIABLE: str(log), "TMPDIR": str(job.scratch)}
    # A user's start-up files and choice of backend, on which the layout of figures depends, would change results.
    told |= {"IPYTHONDIR": str(job.scratch / "ipython"), "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    before = dict(os.environ)
    os.environ.update(told)
    finished = threading.Event()
    echo = threading.Thread(target=_echo, args=(log, job.name, finished))
    echo.start()
    try:
        yield
    finally:
        finished.set()
        echo.join()
        for name in told:
            os.environ.pop(name)
        os.environ.update(before)
        shutil.rmtree(job.scratch, ignore_errors=True)


def _echo(log: Path, name: str, finished: threading.Event) -> None:
    """Print the lines that are added to a log until `finished`."""
    with log.open(encoding="utf-8") as stream:
        last_round = False
        while not last_round:
            last_round = finished.wait(0.5)
            for line in stream:
                print(f"{name}  {line}", end="", flush=True)


@contextmanager
def _kept_if_failing(job: Job, staging: Path) -> Iterator[None]:
    """Keep what a failing notebook has executed until then, beside its record."""
    try:
        yield
    except Exception:
        with suppress(FileNotFoundError):
            shutil.move(staging / f"{job.name}.ipynb", _failed(job))
        raise


def _failed(job: Job) -> Path:
    return job.record.with_suffix(".failed.ipynb")


def _explain(error: Exception, job: Job) -> str:
    """One sentence on a failure."""
    if isinstance(error, OSError) and error.strerror:
        place = error.filename or f"{job.results} or {job.record.parent}"
        return f"{place}: cannot be written ({error.strerror}); make room or make it writable, and run again"
    kind, value = getattr(error, "ename", type(error).__name__), getattr(error, "evalue", str(error))
    if kind == InputError.__name__:
        return value
    if kind == "DeadKernelError":
        kind, value = "the kernel died", "most often that is for lack of memory"
    where = f" in cell {error.exec_count}" if getattr(error, "exec_count", None) else ""
    return f"{kind}{where}: {value} (executed so far: {_failed(job)})"


def _peak() -> float:
    """Gigabytes resident at the most in any kernel of this process, so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e9


# -- several, each in a process of its own ------------------------------------------------------


def run_all(jobs: list[Job], workers: int, force: bool) -> list[Outcome]:
    """Execute jobs, `workers` at a time; a failing or dying one does not stop the others.

    What ends this by an exception, an interrupt say, ends all of them.
    """
    waiting, running, outcomes = deque(jobs), [], []
    with processes.exiting_on_signals():
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.append(_Worker(waiting.popleft(), force))
                wait([worker.process.sentinel for worker in running])
                for worker in [worker for worker in running if not worker.process.is_alive()]:
                    running.remove(worker)
                    outcomes.append(worker.outcome())
                    print(_line(outcomes[-1]), flush=True)
        except BaseException:
            for worker in running:
                worker.kill()
            raise
    return sorted(outcomes, key=lambda outcome: outcome.name)


class _Worker:
    """The process that executes a job."""

    def __init__(self, job: Job, force: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.job = job
        self.answer, answering = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(job, force, os.getpid(), answering))
        self.process.start()
        answering.close()

    def outcome(self) -> Outcome:
        """What it has answered; to be called when it has ended."""
        with suppress(EOFError):
            return self.answer.recv()
        self.kill()
        how = f"ended with status {self.process.exitcode} (-9 stands for killed, most often for lack of memory)"
        return Outcome(self.job.name, "failed", reason=f"the process that executed it {how}")

    def kill(self) -> None:
        """End it and its kernel, and remove what they leave; the next run does that where a kernel will not end."""
        self.process.kill()
        self.process.join()
        with suppress(OSError, Timeout), self.job.lock(timeout=GRACE):
            self.job.tidy()


def _work(job: Job, force: bool, parent: int, answering: Connection) -> None:
    processes.end_with(parent)
    answering.send(run(job, force))


def _line(outcome: Outcome) -> str:
    if outcome.status == "unchanged":
        return f"{outcome.name}  unchanged, skipped"
    cost = f"{outcome.seconds:.0f} s, {outcome.peak_gigabytes:.1f} GB resident at most"
    return f"{outcome.name}  {outcome.status} ({cost}){': ' + outcome.reason if outcome.reason else ''}"


@said_in_a_sentence
def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status: 0, 1 if a notebook failed, 2 for bad parameters."""
    parser = argparse.ArgumentParser(
        prog="python -m lib.run", description="Execute the notebooks and regenerate their figures."
    )
    parser.add_argument("--profile", default="default", help="default, smoke, paper, or another folder of params/")
    parser.add_argument(
        "--notebook", default="", metavar="PREFIX", help="only notebooks whose name starts so, such as 01"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many notebooks at a time (default 1)")
    parser.add_argument("--force", action="store_true", help="execute even what is unchanged")
    options = parser.parse_args(arguments)
    parameters.in_range("--jobs", options.jobs, 1, 64)
    jobs = select(options.notebook, options.profile)
    skipped = [] if options.force else [job for job in jobs if job.is_tidy() and unchanged(job, job.digest)]
    outcomes = [Outcome(job.name, "unchanged") for job in skipped]
    for outcome in outcomes:
        print(_line(outcome))
    if waiting := [job for job in jobs if job not in skipped]:
        outcomes += run_all(waiting, options.jobs, options.force)
    return _report(outcomes, options.profile)


def _report(outcomes: list[Outcome], profile: str) -> int:
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    for outcome in failed:
        print(f"FAILED {outcome.name}: {outcome.reason}", file=sys.stderr)
    print(f"{len(outcomes) - len(failed)} of {len(outcomes)} notebooks up to date in {paths.FIGURES / profile}")
    return 1 if failed else 0
