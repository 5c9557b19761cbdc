"""Every outside asset once: what it is, where it is and how to get it.

``catalog.toml`` holds the entries. ``make data`` fetches what is free and prints a
table of what is here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from lib.base import files, paths
from lib.base.errors import InputError
from lib.base.parameters import one_of

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
            return self.how or f"pip install {self.package.replace(',', '')}"
        if self.access == "free":
            return f"make data ASSET={self.id}"
        return f"{self.how} ({self.page})"

    @property
    def size(self) -> int | None:
        """Bytes to download, or else those of the files; None if not all are known."""
        for parts in (self.downloads, self.files):
            sizes = [part.get("size", 0) for part in parts]
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


def find(path: str) -> Path | None:
    """The file or folder at this relative path in the first data folder with one.

    If no data folder has it, an installed package is searched. A ``.gz`` file may also
    be there unpacked. None if it is in neither.
    """
    for folder in paths.data_folders():
        for name in (path, path.removesuffix(".gz")):
            if (folder / name).exists():
                return folder / name
    package, _, inner = path.partition("/")
    # Found without importing the package: some have side effects.
    spec = find_spec(package) if package and inner and "." not in package else None
    for folder in (spec and spec.submodule_search_locations) or []:
        if Path(folder, inner).exists():
            return Path(folder, inner)
    return None


def locate(id: str) -> list[Path]:
    """The files of an asset, in the catalog's order.

    Raises InputError, which says how to get it, if one of them is in none of the places
    where data are looked for.
    """
    asset = get(id)
    return [_located(asset, entry["path"]) for entry in asset.files]


def file(path: str) -> Path:
    """The place of a file or folder that some asset lists.

    Raises InputError as in `locate` if it is missing.
    """
    for asset in assets().values():
        listed = [entry["path"] for entry in asset.files]
        if any(f"{name}/".startswith(f"{path}/") for name in listed):
            return _located(asset, path)
    raise InputError(f"{path}: no asset in the catalog has this file")


def _located(asset: Asset, path: str) -> Path:
    place = find(path)
    if place is None:
        how = asset.how_to_get
        if asset.access in ("free", "package"):
            how += f", or put it into {paths.DATA / path} from {asset.page}"
        searched = ", ".join(map(str, paths.data_folders()))
        raise InputError(
            f"{asset.title} is not here: no {path} in {searched} "
            f"({paths.DATA_VARIABLE}); to get it: {how} "
            f"(license: {asset.license})"
        )
    return place


def check(id: str) -> None:
    """Raise InputError if a file of an installed package is damaged or another one."""
    asset = get(id)
    if asset.access != "package":
        return
    for place, entry in zip(locate(id), asset.files, strict=True):
        if "sha256" in entry and files.sha256(place) != entry["sha256"]:
            raise InputError(
                f"{place}: its sha256 is not that of {asset.title}; "
                f"install it again: {asset.how_to_get} --force-reinstall"
            )


def status(asset: Asset) -> str:
    """Whether it is "here", "here, another copy" or "missing".

    Another copy has other bytes than those our numbers were measured on.
    """
    try:
        places = locate(asset.id)
    except InputError:
        return "missing"
    for place, entry in zip(places, asset.files, strict=True):
        if "sha256" in entry and files.sha256(place) != entry["sha256"]:
            return "here, another copy"
    return "here"


def table() -> pd.DataFrame:
    """One row per asset: what it is, whether it is here and how to get it.

    Columns are id, kind, status, size (bytes or NA), license, access and how_to_get.
    """
    columns = ["id", "kind", "size", "license", "access", "how_to_get"]
    rows = [
        [getattr(asset, column) for column in columns] for asset in assets().values()
    ]
    table = pd.DataFrame(rows, columns=columns).astype({"size": "Int64"})
    table.insert(2, "status", [status(asset) for asset in assets().values()])
    return table
