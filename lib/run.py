"""Execute notebooks with papermill: ``python -m lib.run``, which is what ``make figures`` calls.

A notebook whose digest is unchanged since its last success is skipped (`lib.digest` says what it covers). An
execution writes to a staging folder, which replaces the old results only when it succeeded.
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
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from lib import parameters, paths
from lib.digest import digest
from lib.errors import InputError, said_in_a_sentence

KERNEL = "python3"


@dataclass(frozen=True)
class Job:
    """One notebook in one profile."""

    notebook: Path
    profile: str
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
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
    """The notebooks whose name starts with `prefix`, with the profile's parameters, checked."""
    notebooks = sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))
    profiles = ["default", *sorted(folder.name for folder in paths.PARAMS.iterdir() if folder.is_dir())]
    parameters.one_of("PROFILE", profile, profiles)
    chosen = [notebook for notebook in notebooks if notebook.stem.startswith(prefix)]
    if not chosen:
        names = [notebook.stem for notebook in notebooks]
        raise InputError(f"NOTEBOOK: {prefix!r} is not known; {parameters.nearest(prefix, names)}")
    return [Job(notebook, profile, parameters.of_profile(notebook, profile)) for notebook in chosen]


# -- skipping what is unchanged -----------------------------------------------------------------


def unchanged(job: Job, current: str) -> bool:
    """Whether the last success had this digest and its results are still there, byte for byte."""
    try:
        record = json.loads(job.record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return record["digest"] == current and record["results"] == _checksums(job.results)


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.glob("*") if file.is_file())
    return {file.name: hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest() for file in files}


# -- running ------------------------------------------------------------------------------------


def run(job: Job, force: bool = False) -> Outcome:
    """Execute a job unless it is unchanged. Two runs of one job, in two processes, come one after the other."""
    job.record.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(job.record.with_suffix(".lock")):
        current = job.digest
        if not force and unchanged(job, current):
            return Outcome(job.name, "unchanged")
        return _execute(job, current)


def _execute(job: Job, current: str) -> Outcome:
    started = time.monotonic()
    staging = job.results.with_name(f".{job.name}.running")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        with _told_where(staging, job):
            _papermill(job, staging / f"{job.name}.ipynb")
    except Exception as error:  # whatever a notebook raises is reported, and the others still run
        return Outcome(job.name, "failed", time.monotonic() - started, _peak(), _explain(error, job, staging))
    outcome = Outcome(job.name, "done", time.monotonic() - started, _peak())
    cost = f"seconds,gigabytes\n{outcome.seconds:.1f},{outcome.peak_gigabytes:.2f}\n"
    (staging / paths.COST).write_text(cost, encoding="utf-8")
    _replace(staging, job.results)
    record = json.dumps({"digest": current, "results": _checksums(job.results)}, indent=1)
    job.record.write_text(record, encoding="utf-8")
    return outcome


def _papermill(job: Job, output: Path) -> None:
    import papermill
    from jupyter_client import AsyncKernelManager

    # A socket's path may have some hundred characters, so that it must not lie in a home of any depth.
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:

        class SocketKernelManager(AsyncKernelManager):
            """Talks to the kernel through socket files that only this user can open, rather than through ports."""

            transport = "ipc"

            def _ip_default(self) -> str:
                # Jupyter's own default is one name for all kernels: two at once would hear each other.
                return f"{sockets}/socket"

        papermill.execute_notebook(
            job.notebook,
            output,
            parameters=job.parameters,
            kernel_name=KERNEL,
            kernel_manager_class=SocketKernelManager,
            cwd=paths.NOTEBOOKS,
            progress_bar=False,
        )


@contextmanager
def _told_where(staging: Path, job: Job) -> Iterator[None]:
    """Tell the kernel where to put figures and progress, and show the progress lines while it runs."""
    log = paths.RUNS / job.profile / f"{job.name}.log"
    log.write_text("", encoding="utf-8")
    os.environ[paths.FIGURES_VARIABLE] = str(staging)
    os.environ[paths.LOG_VARIABLE] = str(log)
    finished = threading.Event()
    echo = threading.Thread(target=_echo, args=(log, job.name, finished))
    echo.start()
    try:
        yield
    finally:
        finished.set()
        echo.join()
        del os.environ[paths.FIGURES_VARIABLE], os.environ[paths.LOG_VARIABLE]


def _echo(log: Path, name: str, finished: threading.Event) -> None:
    """Print the lines that are added to a log until `finished`."""
    with log.open(encoding="utf-8") as stream:
        last_round = False
        while not last_round:
            last_round = finished.wait(0.5)
            for line in stream:
                print(f"{name}  {line}", end="", flush=True)


def _explain(error: Exception, job: Job, staging: Path) -> str:
    """One sentence on a failure; what was executed until then is kept beside it."""
    kept = paths.RUNS / job.profile / f"{job.name}.failed.ipynb"
    executed = staging / f"{job.name}.ipynb"
    if executed.exists():
        shutil.move(executed, kept)
    shutil.rmtree(staging, ignore_errors=True)
    kind, value = getattr(error, "ename", type(error).__name__), getattr(error, "evalue", str(error))
    if kind == InputError.__name__:
        return value
    where = f" in cell {error.exec_count}" if getattr(error, "exec_count", None) else ""
    return f"{kind}{where}: {value} (executed so far: {kept})"


def _replace(new: Path, old: Path) -> None:
    """Put a finished folder in the place of the one before."""
    discarded = old.with_name(f".{old.name}.old")
    shutil.rmtree(discarded, ignore_errors=True)
    if old.exists():
        old.rename(discarded)
    new.rename(old)
    shutil.rmtree(discarded, ignore_errors=True)


def _peak() -> float:
    """Gigabytes resident at the most in any kernel of this process, so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e9


def run_all(jobs: list[Job], workers: int, force: bool) -> list[Outcome]:
    """Execute jobs in `workers` processes; a failing one does not stop the others."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        futures = [pool.submit(run, job, force) for job in jobs]
        outcomes = []
        for future in as_completed(futures):
            outcomes.append(future.result())
            print(_line(outcomes[-1]), flush=True)
    return sorted(outcomes, key=lambda outcome: outcome.name)


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
    skipped = [] if options.force else [job for job in jobs if unchanged(job, job.digest)]
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


if __name__ == "__main__":
    sys.exit(main())
