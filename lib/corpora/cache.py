"""Segmented corpora on disk, so that a second load takes seconds: arrays with a checksum each.

An entry is a folder named after the corpus and the digest of what made it; it appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from lib import paths

FOLDER = paths.CACHE / "corpora"
_DESCRIPTION = "corpus.json"

_log = logging.getLogger(__name__)


def entry(name: str, files: Iterable[Path], settings: Mapping[str, Any]) -> Path:
    """The folder for what is made of these files (names, sizes, times of change) with these settings."""
    sources = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    made_from = json.dumps([name, sources, dict(settings)], sort_keys=True)
    digest = hashlib.blake2b(made_from.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return FOLDER / f"{re.sub(r'[^A-Za-z0-9.]+', '_', name)[-60:]}-{digest}"


def read(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, int]] | None:
    """Arrays (``text`` memory-mapped) and counts of an entry; None if it is not there or not what was written."""
    if not folder.exists():
        return None
    try:
        description = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        for file, digest in description["files"].items():
            if _digest(folder / file) != digest:
                raise ValueError(f"{file} has another checksum")
        return {Path(file).stem: _load(folder / file) for file in description["files"]}, description["counts"]
    except (OSError, ValueError, KeyError) as error:
        _log.warning("%s: damaged (%s); making it again", folder, error)
        return None


def write(folder: Path, arrays: Mapping[str, np.ndarray], counts: Mapping[str, int]) -> None:
    """Write an entry under a temporary name, then rename it. A full disk costs the entry, not the corpus."""
    temporary = folder.with_name(f".{folder.name}-{uuid4().hex[:8]}")
    try:
        temporary.mkdir(parents=True)
        for name, array in arrays.items():
            _write(temporary / f"{name}.npy", array)
        files = {f"{name}.npy": _digest(temporary / f"{name}.npy") for name in arrays}
        (temporary / _DESCRIPTION).write_text(json.dumps({"counts": dict(counts), "files": files}), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except OSError as error:
        _log.warning("%s: not written (%s)", folder, error)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(file: Path, array: np.ndarray) -> None:
    with file.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())


def _load(file: Path) -> np.ndarray:
    return np.load(file, mmap_mode="r" if file.stem == "text" else None, allow_pickle=False)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
