"""Two runs at one piece of work: one does it, the other waits, says so, and then uses what is there.

A lock is a file that the operating system holds for a process and lets go of when the process ends, however it ends.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock, Timeout

from lib.run import progress

SECONDS = 3.0  # of waiting in silence


def held(path: Path, doing: str) -> AbstractContextManager:
    """The lock of a path, already acquired, for a ``with`` statement.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing.
    doing : str
        What its holder does, such as "encoding glove-6b-50d", for another run that waits.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        return lock.acquire(timeout=SECONDS)
    except Timeout:
        progress.say(f"waiting for another run that is {doing}")
        return lock.acquire()
