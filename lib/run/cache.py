"""Show or delete the cache: ``python -m lib.run.cache [--prune]``. Downloads in ``data/`` are not part of it."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lib.run import files, locks, parameters, paths
from lib.run.errors import said_in_a_sentence


def size(folder: Path) -> int:
    """Bytes in a folder; 0 if it is not there."""
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    # Another run may put files into their places meanwhile, or delete folders, which os.walk then passes over.
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                yield Path(place, name).stat().st_size


def delete(folder: Path) -> int:
    """Delete a folder, if it is there; returns the bytes that were freed.

    Raises InputError if something in it must stay, and if another run is at work there. What a run begins meanwhile
    is not touched: everything is moved aside before it is deleted.
    """
    if not folder.exists():
        return 0
    freed, lock, aside = size(folder), folder / "deleting", folder / "deleted"
    with (
        files.writing(folder, "make it writable, and run again for the rest"),
        locks.held(lock, f"deleting {folder}"),
    ):
        locks.refuse_at_work(folder)
        shutil.rmtree(aside, ignore_errors=True)  # what a killed one has left
        aside.mkdir()
        for child in sorted(set(folder.iterdir()) - {lock, aside}):
            child.rename(aside / child.name)
        shutil.rmtree(aside)
        lock.unlink()
    with suppress(OSError):  # another run has begun to fill it
        folder.rmdir()
    return freed


@said_in_a_sentence
def main(arguments: list[str] | None = None) -> int:
    """Print each part of the cache with its size, and delete the whole cache with --prune; the exit status is 0."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.cache", description="Show the size of the cache.")
    parser.add_argument("--prune", action="store_true", help="delete it")
    options = parameters.given(parser, arguments)
    for folder in sorted(paths.CACHE.glob("*")):
        print(f"{size(folder) / 1e6:10.1f} MB  {folder}")
    if options.prune and paths.CACHE.exists():
        print(f"{delete(paths.CACHE) / 1e6:10.1f} MB  freed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
