"""Segmented corpora on disk, so that a second load takes seconds: arrays with a checksum each.

An entry is a folder named after the corpus and the digest of what made it; it appears whole or not at all. Every byte
is checked when it is read; one that is damaged, or of an older version, is made again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lib.run import files, paths

FOLDER = paths.CACHE / "corpora"
_DESCRIPTION = "corpus.json"

_log = logging.getLogger(__name__)


def entry(name: str, sources: Iterable[Path], settings: Mapping[str, Any]) -> Path:
    """The folder for what is made of these files (names, sizes, times of change) with these settings."""
    states = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in sources]
    made_from = json.dumps([name, states, dict(settings)], sort_keys=True)
    digest = hashlib.blake2b(made_from.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return FOLDER / f"{re.sub(r'[^A-Za-z0-9.]+', '_', name)[-60:]}-{digest}"


def read(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, int]] | None:
    """Arrays (``text`` memory-mapped) and counts of an entry; None if it is not there or not what was written."""
    if not folder.exists():
        return None
    try:
        description = files.unsealed((folder / _DESCRIPTION).read_bytes())
        for file, digest in description["files"].items():
            if _digest(folder / file) != digest:
                raise ValueError(f"{file} has another checksum")
        return {Path(file).stem: _load(folder / file) for file in description["files"]}, description["counts"]
    except (OSError, ValueError, KeyError) as error:
        _log.warning("%s: damaged, or of an older version (%s); making it again", folder, error)
        return None


def write(folder: Path, arrays: Mapping[str, np.ndarray], counts: Mapping[str, int]) -> None:
    """Write an entry, whole or not at all; the caller holds a lock. A full disk costs the entry, not the corpus."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing_folder(folder) as new:
            for name, array in arrays.items():
                np.save(new / f"{name}.npy", array, allow_pickle=False)
            digests = {f"{name}.npy": _digest(new / f"{name}.npy") for name in arrays}
            description = files.sealed({"counts": dict(counts), "files": digests})
            (new / _DESCRIPTION).write_text(description, encoding="utf-8")
    except OSError as error:
        _log.warning("%s: not written (%s)", folder, error)


def _load(file: Path) -> np.ndarray:
    return np.load(file, mmap_mode="r" if file.stem == "text" else None, allow_pickle=False)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
