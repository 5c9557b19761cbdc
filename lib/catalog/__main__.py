"""The command ``make data``: fetch what is free and show what is here."""

from __future__ import annotations

import argparse
import sys

import pandas as pd

from lib import catalog
from lib.catalog import download
from lib.run import parameters, paths
from lib.run.errors import InputError, said_in_a_sentence


@said_in_a_sentence
def main(arguments: list[str] | None = None) -> int:
    """Fetch what is free and missing, then print the table; the exit status is 1 if something could not be fetched."""
    parser = argparse.ArgumentParser(prog="python -m lib.catalog", description="Fetch what is free, show what is here.")
    parser.add_argument("--asset", default="", metavar="ID", help="only this one")
    options = parameters.given(parser, arguments)
    chosen = [catalog.get(options.asset)] if options.asset else list(catalog.assets().values())
    wanted = [asset for asset in chosen if asset.access == "free" or options.asset]
    failures = _fetch_all([one for one in wanted if catalog.status(one) == "missing" or download.is_unfinished(one)])
    print(_printed(catalog.table()[lambda rows: rows["id"].isin([asset.id for asset in chosen])]))
    return _report(failures)


def _fetch_all(missing: list[catalog.Asset]) -> dict[str, InputError]:
    """Fetch each of these; returns what could not be had, and why."""
    if missing:
        known = sum(asset.size or 0 for asset in missing) / 1e9
        print(
            f"Fetching {len(missing)} of them into {paths.DATA} ({known:.1f} GB, and those of unknown size)", flush=True
        )
    failures: dict[str, InputError] = {}
    for asset in missing:
        try:
            catalog.fetch(asset.id)
        except InputError as error:
            failures[asset.id] = error
    return failures


def _printed(rows: pd.DataFrame) -> str:
    """The table as text, left-aligned; how to get an asset stands only where it is missing."""
    shown = rows.drop(columns="access").rename(columns={"size": "MB", "how_to_get": "how to get it"})
    shown["MB"] = ["?" if pd.isna(size) else f"{size / 1e6:,.1f}" for size in rows["size"]]
    shown["how to get it"] = shown["how to get it"].where(shown["status"] == "missing", "")
    lines = [list(shown.columns), *shown.astype(str).to_numpy().tolist()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


def _report(failures: dict[str, InputError]) -> int:
    if not failures:
        return 0
    if all(isinstance(error, download.UnreachableError) for error in failures.values()):
        print(
            "The network cannot be reached. The default and smoke profiles work all the same: what they read came "
            "with the environment. So does everything that is here in the table above.",
            file=sys.stderr,
        )
    else:
        print(*failures.values(), sep="\n", file=sys.stderr)
    print(f"{len(failures)} could not be fetched: {', '.join(failures)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
