"""Every outside asset once: what it is, where it lies, how to get it (``catalog.toml`` holds the entries).

``python -m lib.catalog`` fetches what is free and prints one table; ``make data`` calls it.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from lib.catalog import download
from lib.catalog.asset import Asset
from lib.run import files, paths
from lib.run.errors import InputError
from lib.run.parameters import one_of

DATA_VARIABLE = "SENTENCE_DATA"
FILE = Path(__file__).with_name("catalog.toml")


@cache
def assets() -> dict[str, Asset]:
    """Every entry of the catalog by its id, in the order of the file."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {id: Asset(id, **fields) for id, fields in entries.items()}


def get(id: str) -> Asset:
    """The entry with this id; InputError with the nearest ids otherwise."""
    return assets()[one_of("ASSET", id, assets())]


# -- finding ------------------------------------------------------------------------------------


def folders() -> list[Path]:
    """Where data are looked for, in this order: the folders of SENTENCE_DATA, then ``data/``."""
    named = [paths.from_root(folder) for folder in os.environ.get(DATA_VARIABLE, "").split(":") if folder]
    return [*named, paths.DATA]


def find(path: str) -> Path | None:
    """The first data folder's file or folder at this relative path, or the one in an installed package.

    A file ``.gz`` may lie there unpacked.
    """
    for folder in folders():
        for name in dict.fromkeys([path, path.removesuffix(".gz")]):
            if os.path.exists(folder / name):  # unlike Path.exists, also of a name too long to be one
                return folder / name
    package, _, inner = path.partition("/")
    spec = find_spec(package) if inner and package.isidentifier() else None
    # Found without importing the package: some have side effects.
    for folder in spec.submodule_search_locations or () if spec else ():
        if os.path.exists(Path(folder) / inner):
            return Path(folder) / inner
    return None


def locate(id: str) -> list[Path]:
    """The files of an asset, in the catalog's order.

    Raises InputError, which says how to get it, if one of them is in none of the places where data are looked for.
    """
    asset = get(id)
    found = {file["path"]: find(file["path"]) for file in asset.files}
    if missing := [path for path, place in found.items() if place is None]:
        raise _missing(asset, missing)
    return [place for place in found.values() if place is not None]


def file(path: str) -> Path:
    """The place of one file, or of one folder, that some asset lists; InputError as in `locate` if it is missing."""
    found = find(path)
    for asset in assets().values():
        if any(entry["path"] == path or entry["path"].startswith(f"{path}/") for entry in asset.files):
            if found is None:
                raise _missing(asset, [path])
            return found
    raise InputError(f"{path}: no asset of the catalog has such a file")


def _missing(asset: Asset, missing: list[str]) -> InputError:
    searched = ", ".join(map(str, folders()))
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    how = asset.how_to_get
    if asset.access in ("free", "package"):
        how += f", or put it into {paths.DATA / missing[0]} from {asset.page}"
    return InputError(
        f"{asset.title} is not here: no {missing[0]}{more} in {searched} ({DATA_VARIABLE}); to get it: {how} "
        f"(license: {asset.license})"
    )


def fetch(id: str) -> list[Path]:
    """Download an asset that is free into ``data/`` and return its files as `locate` does."""
    download.download(get(id))
    return locate(id)


def status(asset: Asset) -> str:
    """ "here", "here, another copy" (not the bytes that this project's numbers were measured on), or "missing"."""
    try:
        found = locate(asset.id)
    except InputError:
        return "missing"
    known = [(place, entry["sha256"]) for place, entry in zip(found, asset.files, strict=True) if "sha256" in entry]
    same = all(files.sha256(place) == expected for place, expected in known)
    return "here" if same else "here, another copy"


# -- showing ------------------------------------------------------------------------------------


def table() -> pd.DataFrame:
    """One row an asset: id, kind, status, size (bytes or NA), license, access, how_to_get."""
    rows = [
        (asset.id, asset.kind, status(asset), _size(asset), asset.license, asset.access, asset.how_to_get)
        for asset in assets().values()
    ]
    columns = ["id", "kind", "status", "size", "license", "access", "how_to_get"]
    return pd.DataFrame(rows, columns=columns).astype({"size": "Int64"})


def _size(asset: Asset) -> int | None:
    """What the catalog says, or else the bytes of the files that are here."""
    if asset.size is not None or status(asset) == "missing":
        return asset.size
    every = (inner for place in locate(asset.id) for inner in ([place] if place.is_file() else place.rglob("*")))
    return sum(inner.stat().st_size for inner in every)
