"""The command ``make data``: fetch what is free and small, then list all assets.

The list shows what is here and how to get the rest.

More than `LIMIT` is fetched only when it is named: ``make data ASSET=glove-6b``, or
``ASSET=all``.
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import accumulate
from operator import attrgetter

import pandas as pd

from lib import catalog
from lib.base import paths
from lib.base.errors import InputError, command
from lib.catalog import Asset
from tools import download

ALL = "all"
LIMIT = 200e6  # bytes that are fetched without being asked for by name
NO_NETWORK = (
    "The network cannot be reached. The default and smoke profiles still work, because "
    "their data came with the environment. So does everything listed as here in the "
    "table above."
)


@command
def main(arguments: list[str] | None = None) -> int:
    """Fetch what is free and missing, then print the table.

    The exit status is 1 if something could not be fetched.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tools.data",
        description="Fetch free data and show what is here.",
    )
    parser.add_argument(
        "--asset",
        default="",
        metavar="ID",
        help="only this one, or all (default: what is small)",
    )
    options = parser.parse_args(arguments)
    if options.asset in ("", ALL):
        chosen = list(catalog.assets().values())
        wanted = [asset for asset in chosen if asset.access == "free"]
    else:
        chosen = wanted = [catalog.get(options.asset)]
    sizes = _sizes([asset for asset in wanted if catalog.status(asset) == "missing"])
    fetched = sizes if options.asset else _small(sizes)
    if fetched:
        print(f"Fetching into {paths.DATA}: {_listed(fetched)}")
    if waiting := {id: size for id, size in sizes.items() if id not in fetched}:
        print(
            f"Free, but fetched only when asked for (over {LIMIT / 1e6:.0f} "
            f"MB in all): {_listed(waiting)}"
        )
        print(
            f"To fetch one of them: make data ASSET={next(iter(waiting))}; "
            f"everything: make data ASSET={ALL}"
        )
    sys.stdout.flush()
    failures = {}
    for id in fetched:
        try:
            download.download(catalog.get(id))
        except InputError as error:
            failures[id] = error
    table = catalog.table()
    unknown = table["size"].isna() & (table["status"] != "missing")
    table.loc[unknown, "size"] = table.loc[unknown, "id"].map(_on_disk)
    print(_text(table[table["id"].isin([asset.id for asset in chosen])]))
    if failures:
        if all(
            isinstance(error, download.UnreachableError) for error in failures.values()
        ):
            print(NO_NETWORK, file=sys.stderr)
        else:
            print(*failures.values(), sep="\n", file=sys.stderr)
        print(
            f"{len(failures)} could not be fetched: {', '.join(failures)}",
            file=sys.stderr,
        )
    return 1 if failures else 0


def _sizes(assets: list[Asset]) -> dict[str, int | None]:
    """The download size of each asset in bytes, by its id, the smallest first.

    None where it is unknown.
    """
    found, size = {}, download.size
    for asset in assets:
        try:
            found[asset.id] = size(asset)
        except download.UnreachableError:
            # Each of the others would keep the user waiting, too.
            found[asset.id], size = asset.size, attrgetter("size")
    return dict(sorted(found.items(), key=lambda item: item[1] or math.inf))


def _small(sizes: dict[str, int | None]) -> dict[str, int | None]:
    """The first assets that have together at most `LIMIT` bytes."""
    totals = accumulate(size or math.inf for size in sizes.values())
    return {
        id: sizes[id] for id, total in zip(sizes, totals, strict=True) if total <= LIMIT
    }


def _listed(sizes: dict[str, int | None]) -> str:
    """Each asset with its size."""
    return ", ".join(
        f"{id} ({f'{size / 1e6:,.1f} MB' if size else 'size unknown'})"
        for id, size in sizes.items()
    )


def _on_disk(id: str) -> int:
    """Bytes of an asset's files, of which some may be folders."""
    inside = [
        file for place in catalog.locate(id) for file in (place, *place.rglob("*"))
    ]
    return sum(file.stat().st_size for file in inside if file.is_file())


def _text(table: pd.DataFrame) -> str:
    """The table in left-aligned columns; only missing assets say how to get them."""
    shown = table.drop(columns="access").rename(
        columns={"size": "MB", "how_to_get": "how to get it"}
    )
    shown["MB"] = [
        "?" if pd.isna(size) else f"{size / 1e6:,.1f}" for size in table["size"]
    ]
    shown["how to get it"] = shown["how to get it"].where(
        shown["status"] == "missing", ""
    )
    lines = shown.T.reset_index().T
    padded = lines.apply(lambda column: column.str.ljust(column.str.len().max()))
    return "\n".join(padded.agg("  ".join, axis=1).str.rstrip())


if __name__ == "__main__":
    sys.exit(main())
