"""The command ``make data``: fetch what is free and missing, then show what is here and how to get the rest."""

from __future__ import annotations

import argparse
import sys

import pandas as pd

from lib import catalog
from lib.catalog import download
from lib.run import paths
from lib.run.errors import InputError, command

NO_NETWORK = (
    "The network cannot be reached. The default and smoke profiles work all the same: what they read came with the "
    "environment. So does everything that is here in the table above."
)


@command
def main(arguments: list[str] | None = None) -> int:
    """Fetch what is free and missing, then print the table; the exit status is 1 if something could not be fetched."""
    parser = argparse.ArgumentParser(prog="python -m tools.data", description="Fetch what is free, show what is here.")
    parser.add_argument("--asset", default="", metavar="ID", help="only this one")
    options = parser.parse_args(arguments)
    if options.asset == "":
        chosen = list(catalog.assets().values())
        wanted = [asset for asset in chosen if asset.access == "free"]
    else:
        chosen = wanted = [catalog.get(options.asset)]
    missing = [asset for asset in wanted if catalog.status(asset) == "missing"]
    if missing:
        known = sum(asset.size or 0 for asset in missing) / 1e9
        print(f"Fetching {len(missing)} into {paths.DATA} ({known:.1f} GB, and those of unknown size)", flush=True)
    failures = {}
    for asset in missing:
        try:
            download.download(asset)
        except InputError as error:
            failures[asset.id] = error
    table = catalog.table()
    unknown = table["size"].isna() & (table["status"] != "missing")
    table.loc[unknown, "size"] = table.loc[unknown, "id"].map(_on_disk)
    print(_text(table[table["id"].isin([asset.id for asset in chosen])]))
    if failures:
        if all(isinstance(error, download.UnreachableError) for error in failures.values()):
            print(NO_NETWORK, file=sys.stderr)
        else:
            print(*failures.values(), sep="\n", file=sys.stderr)
        print(f"{len(failures)} could not be fetched: {', '.join(failures)}", file=sys.stderr)
    return 1 if failures else 0


def _on_disk(id: str) -> int:
    """Bytes of an asset's files, of which some may be folders."""
    inside = [file for place in catalog.locate(id) for file in (place, *place.rglob("*"))]
    return sum(file.stat().st_size for file in inside if file.is_file())


def _text(table: pd.DataFrame) -> str:
    """The table in columns, left-aligned; how to get an asset stands only where it is missing."""
    shown = table.drop(columns="access").rename(columns={"size": "MB", "how_to_get": "how to get it"})
    shown["MB"] = ["?" if pd.isna(size) else f"{size / 1e6:,.1f}" for size in table["size"]]
    shown["how to get it"] = shown["how to get it"].where(shown["status"] == "missing", "")
    lines = shown.T.reset_index().T
    padded = lines.apply(lambda column: column.str.ljust(column.str.len().max()))
    return "\n".join(padded.agg("  ".join, axis=1).str.rstrip())


if __name__ == "__main__":
    sys.exit(main())
