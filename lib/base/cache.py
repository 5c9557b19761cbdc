"""The cache: what takes long to make is made once and kept in a folder of its own.

::

    .cache/embeddings/glove-6b-50d-1f8d.../
        vectors.npy     the files, each written under a temporary name, then
                        flushed and renamed
        about.json      written last: the key, facts, and the size of each file

The key holds everything that the files depend on, and its digest is part of the
folder's name, so a change leads to another folder. A folder with ``about.json`` is
complete. Without it, the folder holds whole files that the next run resumes from.
Opening an entry compares the sizes of its files.

``make prune`` deletes the cache. Downloads in ``data/`` are not part of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lib.base import files, progress

FORMAT = 2  # of every entry; with another number, all are made again
ABOUT, LOCK = "about.json", ".lock"
SECONDS = 3.0  # of waiting in silence


def locked(path: Path, doing: str) -> AbstractContextManager:
    """The lock of a path, already acquired, for a ``with`` statement.

    Two runs at the same piece of work take turns.

    The operating system holds the lock for a process and lets go of it when the process
    ends, however it ends.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing.
    doing : str
        What its holder does, such as "encoding glove-6b-50d"; another run that waits
        says so.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        return lock.acquire(timeout=SECONDS)
    except Timeout:
        progress.say(f"waiting for another run that is {doing}")
        return lock.acquire()


class CacheEntry:
    """One thing in the cache.

    Parameters
    ----------
    folder : Path
        The folder of all things of its kind.
    name : str
        What people call it.
    key : dict of JSON types
        Everything that its files depend on.
    """

    def __init__(self, folder: Path, name: str, key: dict[str, Any]) -> None:
        self.name = name
        self.key = {"format": FORMAT, "name": name, **key}
        digest = hashlib.blake2b(
            json.dumps(self.key, sort_keys=True).encode(), digest_size=8
        ).hexdigest()
        self.folder = folder / f"{re.sub(r'[^A-Za-z0-9.+-]', '_', name)[-60:]}-{digest}"

    def facts(self) -> dict[str, Any] | None:
        """What was recorded when the entry was completed.

        None if it is not complete, or if a file has another size.
        """
        about = self.folder / ABOUT
        if not about.exists():
            return None
        recorded = json.loads(about.read_bytes())
        return (
            recorded["facts"]
            if recorded["files"] == self._sizes(recorded["files"])
            else None
        )

    def made(self, make: Callable[[], dict[str, Any]], doing: str) -> dict[str, Any]:
        """The entry's facts; an incomplete entry is made first, by one run at a time.

        Parameters
        ----------
        make : callable
            Writes the files (with `writing` or `save`) and returns the facts, of JSON
            types.
        doing : str
            What `make` does, for another run that waits: "encoding glove-6b-50d".

        Raises
        ------
        InputError
            The folder cannot be written.
        """
        facts = self.facts()
        if facts is None:
            with self.locked(doing):
                facts = self.facts()
                if facts is None:
                    facts = make()
                    self.complete(facts)
        return facts

    @contextmanager
    def locked(self, doing: str) -> Iterator[None]:
        """Let one run at a time write the entry; what is damaged is deleted first."""
        with files.writing(self.folder):
            lock = locked(self.folder / LOCK, doing)
        with lock:
            if (self.folder / ABOUT).exists() and self.facts() is None:
                self._delete_all_but(())
            yield

    def has(self, file: str) -> bool:
        """Whether a file is there; if it is, it is whole."""
        return (self.folder / file).exists()

    def writing(self, file: str) -> AbstractContextManager[BinaryIO]:
        """A stream whose bytes are in the file once all of them have been written."""
        return files.replacing(self.folder / file)

    def save(self, file: str, array: np.ndarray) -> None:
        """Write an array."""
        self.join(file, [array], array.shape, array.dtype)

    def join(
        self,
        file: str,
        parts: Iterable[np.ndarray],
        shape: tuple[int, ...],
        dtype: np.dtype,
    ) -> None:
        """Write the array that parts make row by row, one part in memory at a time.

        `shape` is that of the whole array. Each memory-mapped part is an open file, of
        which the system allows a process about a thousand.
        """
        with self.writing(file) as stream:
            header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_2_0(stream, header)
            for part in parts:
                # With `numpy.save`, a full disk can lose the last bytes without an
                # error.
                stream.write(np.ascontiguousarray(part, dtype).data)

    def array(self, file: str) -> np.ndarray:
        """An array, memory-mapped and read-only."""
        return np.load(self.folder / file, mmap_mode="r", allow_pickle=False)

    def complete(self, facts: dict[str, Any], keep: Collection[str] = ()) -> None:
        """Record that everything is there.

        Parameters
        ----------
        facts : dict of JSON types
        keep : collection of str
            The files that make up the entry; the others are deleted. By default all of
            them.
        """
        keep = keep or [
            file.name for file in self.folder.iterdir() if file.name[0] != "."
        ]
        self._delete_all_but(keep)
        about = {"key": self.key, "facts": facts, "files": self._sizes(keep)}
        with self.writing(ABOUT) as stream:
            stream.write(json.dumps(about, indent=1, sort_keys=True).encode())

    def _sizes(self, names: Collection[str]) -> dict[str, int]:
        """In bytes, of those files that are there."""
        return {
            file: (self.folder / file).stat().st_size
            for file in names
            if self.has(file)
        }

    def _delete_all_but(self, keep: Collection[str]) -> None:
        for file in list(self.folder.iterdir()):
            if file.name not in (*keep, LOCK):
                file.unlink()
