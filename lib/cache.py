"""Show or delete the cache: ``python -m lib.cache [--prune]``. Downloads in ``data/`` are not part of it."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from lib import paths


def size(folder: Path) -> int:
    """Bytes in a folder; 0 if it is not there."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main(arguments: list[str] | None = None) -> None:
    """Print each part of the cache with its size, and delete the whole cache with --prune."""
    parser = argparse.ArgumentParser(prog="python -m lib.cache", description="Show the size of the cache.")
    parser.add_argument("--prune", action="store_true", help="delete it")
    options = parser.parse_args(arguments)
    for folder in sorted(paths.CACHE.glob("*")):
        print(f"{size(folder) / 1e6:10.1f} MB  {folder}")
    if options.prune and paths.CACHE.exists():
        freed = size(paths.CACHE)
        shutil.rmtree(paths.CACHE)
        print(f"{freed / 1e6:10.1f} MB  freed")


if __name__ == "__main__":
    main()
