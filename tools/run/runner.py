"""Execute notebooks: ``python -m tools.run``, called by ``make figures``.

A notebook whose results are up to date is skipped. An execution writes to a staging
folder, which replaces the old results only if it succeeds. Kernels end with this
process; what a killed run leaves behind is removed by the next one.
"""

from __future__ import annotations

import argparse
import errno
import math
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import psutil
from filelock import FileLock, Timeout

from lib.base import files, parameters, paths
from lib.base.errors import InputError, command
from tools.run import comparison, kernel, profiles
from tools.run.jobs import Job, select

OF_DISK = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
}  # it is full, or cannot be written


# -- one notebook ----------------------------------------------------------------------


def run(job: Job, force: bool = False, stopping: threading.Event | None = None) -> str:
    """Execute a job unless it is up to date; returns what was done.

    Two runs of the same job take turns.

    Parameters
    ----------
    job : Job
    force : bool
        Execute it even if it is up to date, and let a user's own code encode again.
    stopping : threading.Event, optional
        Set to no longer wait for another run.
    """
    if not force and job.is_up_to_date():
        return "unchanged, skipped"
    with _locked(job, stopping or threading.Event()) as lock:
        if not force and job.is_up_to_date():
            return "done by another run"
        started = time.monotonic()
        digest = job.digest()
        with files.replacing_folder(job.results) as staging:
            _execute(job, staging / job.executed.name, lock, force)
        job.write_record(digest)
        return f"done ({time.monotonic() - started:.0f} s)"


@contextmanager
def _locked(job: Job, stopping: threading.Event) -> Iterator[int]:
    """Hold the job's lock; yields the descriptor of its file.

    The kernel inherits the descriptor: if this process is killed, the next run begins
    when the kernel has ended, too.
    """
    descriptors: list[int] = []
    job.record.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(job.record.with_suffix(".lock"), on_acquired=descriptors.append)
    try:
        lock.acquire(timeout=1)
    except Timeout:
        print(f"{job.name}  waiting for another run that is executing it", flush=True)
        lock.acquire(cancel_check=stopping.is_set)
    try:
        yield descriptors[0]
    finally:
        lock.release()


def _execute(job: Job, output: Path, lock: int, force: bool) -> None:
    """Execute the notebook into `output`.

    If it fails, what was executed until then is kept beside its log.
    """
    job.log.write_text("", encoding="utf-8")
    job.code.unlink(missing_ok=True)
    variables = {
        paths.FIGURES_VARIABLE: str(output.parent),
        paths.LOG_VARIABLE: str(job.log),
        paths.CODE_VARIABLE: str(job.code),
        paths.FORCE_VARIABLE: "yes" if force else "",
    }
    # What a kernel prints while it ends, now and then a traceback of its own, is kept
    # beside the log.
    with _shown(job), job.log.with_suffix(".err").open("w") as errors:
        options = {"cwd": job.notebook.parent, "pass_fds": [lock], "stderr": errors}
        try:
            kernel.execute(job.notebook, output, job.changes, variables, **options)
        except Exception:
            with suppress(InputError):
                files.move(output, job.failed)
            raise


@contextmanager
def _shown(job: Job) -> Iterator[None]:
    """Print the lines that are added to a job's log."""
    finished = threading.Event()
    with job.log.open(encoding="utf-8") as lines, ThreadPoolExecutor(1) as pool:
        pool.submit(_show, lines, job.name, finished)
        try:
            yield
        finally:
            finished.set()


def _show(lines: TextIO, name: str, finished: threading.Event) -> None:
    last_round = False
    while not last_round:
        last_round = finished.wait(0.5)
        for line in lines:
            print(f"{name}  {line}", end="", flush=True)


def reason(error: Exception, job: Job) -> str:
    """One sentence on why a job failed."""
    kind = getattr(error, "ename", type(error).__name__)
    message = getattr(error, "evalue", str(error))
    if kind == InputError.__name__:
        return message
    if isinstance(error, OSError):
        return _refusal(
            error.errno, error.filename or job.results, error.strerror or str(error)
        )
    if of_system := re.fullmatch(r"\[Errno (\d+)\] ([^:]+)(?:: '(.*)')?", message):
        number, said, file = of_system.groups()
        if int(number) in OF_DISK:
            return _refusal(int(number), file or job.results, said)
    if kind == "DeadKernelError" or message.startswith("Kernel died"):
        return (
            "the kernel died, often for lack of memory (what it printed: "
            f"{job.log.with_suffix('.err')})"
        )
    cell = f" in cell {error.exec_count}" if hasattr(error, "exec_count") else ""
    return f"{kind}{cell}: {message} (executed so far: {job.failed})"


def _refusal(number: int | None, place: Path | str, said: str) -> str:
    """What the system refused; for a failed write, in the words of `lib.base.files`."""
    return (
        f"{place}: cannot be written ({said}); {files.DISK_REMEDY}"
        if number in OF_DISK
        else f"{place}: {said}"
    )


# -- several ---------------------------------------------------------------------------


def run_all(jobs: list[Job], workers: int, force: bool) -> dict[Job, str]:
    """Execute jobs, `workers` at a time; returns the reasons of those that failed.

    A failing job does not stop the others.

    Neighboring lessons often need the same embeddings and would wait for each other, so
    those that run side by side are from different parts of the list, with the later
    parts first. Replications begin when every lesson has begun, in the order of the
    list. An exception here, such as an interrupt, ends all of them.
    """
    failed = {}
    stopping = threading.Event()
    lessons = [job for job in jobs if not job.is_replication]
    replications = [job for job in jobs if job.is_replication]
    ordered = [*_apart(lessons, workers), *replications]
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(run, job, force, stopping): job for job in ordered}
        try:
            pending = set(futures)
            while pending:
                # With a timeout, since a signal that another thread received is
                # handled when this one wakes up.
                done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    job = futures[future]
                    error = future.exception()
                    if error:
                        failed[job] = reason(error, job)
                    print(
                        f"{job.name}  {'failed' if error else future.result()}",
                        flush=True,
                    )
        except BaseException:
            stopping.set()
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in futures):
                _kill_children()
                time.sleep(0.1)
            raise
    return failed


def _apart(jobs: list[Job], workers: int) -> list[Job]:
    """Jobs reordered so that neighbors in the list are not executed side by side."""
    part = math.ceil(len(jobs) / workers)
    return [job for i in range(part) for job in jobs[i::part][::-1]]


def _kill_children() -> None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    It is 0, or 1 if a notebook failed, or 2 for bad parameters.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tools.run",
        description="Execute the notebooks and regenerate their figures.",
    )
    parser.add_argument(
        "--profile",
        default="default",
        help="default, smoke, paper, or another folder of params/",
    )
    which = "only notebooks whose name starts with this, such as 01 or replication/n2o"
    parser.add_argument("--notebook", default="", metavar="PREFIX", help=which)
    parser.add_argument(
        "--jobs", default="2", help="how many notebooks at a time (default 2)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another value of a parameter",
    )
    parser.add_argument(
        "--output",
        default="",
        type=os.path.expanduser,
        metavar="FOLDER",
        help="in figures/ (default: the profile)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="execute even what is unchanged, and let your own code encode again",
    )
    options = parser.parse_args(arguments)
    workers = parameters.in_range("JOBS", parameters.literal(options.jobs), 1, 64)
    jobs = select(options.notebook, options.profile, options.set, options.output)
    by_default = [
        job.name for job in jobs if not profiles.has_file(job.notebook, options.profile)
    ]
    if by_default:
        folder = paths.PARAMS / options.profile
        print(
            f"no file in {folder}, so these use their default "
            f"parameters: {', '.join(by_default)}",
            flush=True,
        )
    failed = run_all(jobs, workers, options.force)
    for job in sorted(failed, key=jobs.index):
        print(f"FAILED {job.name}: {failed[job]}", file=sys.stderr)
    up_to_date = [job for job in jobs if job not in failed]
    results = paths.FIGURES / (options.output or options.profile)
    comparison.gather_claims(results)
    print(f"{len(up_to_date)} of {len(jobs)} notebooks up to date in {results}")
    if up_to_date and not (options.output or options.set):
        print(comparison.compare(up_to_date))
    if up_to_date:
        print(f"open {to_open(up_to_date)}")
    return 1 if failed else 0


def to_open(jobs: list[Job]) -> str:
    """What to look at after a run: the first figure, or the folders of several jobs."""
    if len(jobs) > 1:
        place = paths.FIGURES / jobs[0].profile
        return f"{place}: a folder with the figures of each notebook"
    notebook = jobs[0].executed
    figures = list(jobs[0].results.glob("*.png"))
    if not figures:
        return str(notebook)
    first = min(figures, key=lambda file: file.stat().st_mtime_ns)
    return f"{first}, or the executed notebook {notebook.name} beside it"
