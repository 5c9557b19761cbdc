"""Two runs at one piece of work: one does it, the other waits, says so, and then uses what is there.

A lock is a file that the operating system holds for a process and lets go of when the process ends, however it ends:
none is ever stale, and who waits for a run that is killed goes on at once. The empty file stays behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from lib.run import progress
from lib.run.errors import InputError

SECONDS = 3.0  # of waiting in silence


def held(path: Path, doing: str) -> AbstractContextManager:
    """The lock of a path, already acquired, for a ``with`` statement; its folder is made if it is missing.

    Parameters
    ----------
    path : Path
    doing : str, what its holder is at, such as "encoding glove-6b-50d"

    Raises OSError if the folder cannot be written.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return taken(FileLock(path), doing)
        except FileNotFoundError:  # the folder was deleted in between
            continue


def held_if_possible(path: Path, doing: str) -> AbstractContextManager:
    """The same for what can be done without: no lock where the folder cannot be written."""
    try:
        return held(path, doing)
    except OSError:
        return nullcontext()


@contextmanager
def held_beside(place: Path, doing: str) -> Iterator[None]:
    """The lock of a file or folder that is the user's: hidden beside it, and deleted afterwards, if possible at all."""
    lock = place.with_name(f".{place.name}.lock")
    with held_if_possible(lock, doing) if place.parent.is_dir() else nullcontext():
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)  # who waits for it notices, and takes a new one


def taken(lock: FileLock, doing: str) -> AbstractContextManager:
    """A lock, acquired."""
    try:
        return lock.acquire(timeout=SECONDS)
    except Timeout:
        progress.say(f"waiting for another run that is {doing}")
        return lock.acquire()


def refuse_at_work(folder: Path) -> None:
    """Raise InputError if a lock in this folder or below is held: what is there must not be deleted now."""
    # Unlike Path.rglob, os.walk passes over what is deleted meanwhile.
    found = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    for path in (path for path in found if path.name == "lock" or path.suffix == ".lock"):
        try:
            with FileLock(path, timeout=0):
                continue
        except Timeout as error:
            raise InputError(f"{folder}: a run is at work there ({path}); wait until it ends, or stop it") from error
        except OSError:  # it is gone, or cannot be opened: deleting will tell
            continue
