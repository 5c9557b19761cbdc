"""``python -m lib.swap``, which is what ``make swap`` calls: the gate.

It searches a text of one's own under two embedders and prints what changes. For use in
continuous integration, its exit status says whether the two agree enough.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from pathlib import Path

from lib import corpora, swap
from lib.base import parameters, paths
from lib.base.errors import InputError, command
from lib.embedders.base import Embedder
from lib.embedders.transformer import POOLINGS
from lib.swap import report

OUTPUT = "swapped"  # the folder in figures/
BELOW, UNDECIDED = 3, 4  # exit statuses
FEWEST = 30  # independent queries of a verdict
NAME_LENGTH = 40
LARGEST_K = 10_000


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    0: the N2O was measured, and it is at least what was asked for, if anything was.
    2: an option cannot be used. 3: the interval lies below what was asked for. 4: the
    interval does not tell, or there are too few queries.
    """
    options = _parser().parse_args(arguments)
    least = _least(options.at_least)
    folder = _folder(options)
    if options.force:
        os.environ[paths.FORCE_VARIABLE] = "yes"
    found = _measured(options)
    for line in found.lines():
        print(line)
    print(f"report: {report.write(found, folder)}, with {report.CHANGES} beside it")
    if least is None:
        return 0
    n2o = found.numbers.loc["n2o", ["value", "low", "high"]]
    status, verdict = judged(least, found.units, *n2o)
    print(verdict)
    return status


def judged(
    least: float, units: int, value: float, low: float, high: float
) -> tuple[int, str]:
    """The exit status for an N2O with its interval, and a sentence that says why.

    `units` are the independent queries. A bound may be NaN: then the interval does not
    tell.
    """
    shown = f"N2O is {value:.3f} ({low:.3f} to {high:.3f})"
    if units < FEWEST:
        return UNDECIDED, (
            f"UNDECIDED: {shown}, but a verdict needs {FEWEST} independent queries "
            f"and there are {units}; use more (those of one document count as one)"
        )
    if low >= least:
        return 0, f"OK: {shown}, at least {least:g}"
    if high < least:
        return BELOW, f"BELOW: {shown}, less than {least:g}"
    half = value - low if value > least else high - value
    needed = units * (half / (abs(value - least) or math.nan)) ** 2
    enough = ""
    if needed > 0:
        enough = f", about {float(f'{needed:.2g}'):,.0f} if N2O stays the same"
    return UNDECIDED, (
        f"UNDECIDED: {shown}, which leaves open whether it is at least {least:g}; "
        f"use more queries{enough}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lib.swap",
        description="Say what users notice if one embedder takes another's place.",
        epilog="Exit status: 0, or 3 if the N2O is below --at-least, 4 if its interval "
        f"does not tell or fewer than {FEWEST} queries are independent; "
        "2 if an option cannot be used.",
    )
    what = "a name, an id of the model hub, a folder, or file.py:function"
    texts = "one sentence a line, or the name of a corpus"
    wanted = {
        "old": f"the embedder in use: {what}",
        "new": f"the one to take its place: {what}",
        "text": f"the text that is searched: {texts}",
        "queries": f"what is asked: {texts} (default: sentences of the text)",
        "k": "how many results users see (default 10)",
        "at-least": "the N2O that is enough, 0 to 1",
        "name": "of the folder in figures/swapped",
        "old-pooling": "avg, cls or last, for a model that does not say",
        "new-pooling": "the same for the new one",
        "old-prompt": "what a model takes before each sentence",
        "new-prompt": "the same for the new one",
    }
    for option, meaning in wanted.items():
        default = "10" if option == "k" else ""
        parser.add_argument(f"--{option}", default=default, help=meaning)
    parser.add_argument(
        "--force",
        action="store_true",
        help="let your own code encode again, even where it is known",
    )
    return parser


def _least(given: str) -> float | None:
    """The N2O that is enough; None if nothing is asked for."""
    if not given:
        return None
    least = parameters.literal(given)
    if type(least) not in (int, float) or not 0 <= least <= 1:
        raise InputError(f"AT_LEAST: {given!r} is not accepted; give 0 to 1")
    return least


def _folder(options: argparse.Namespace) -> Path:
    """Where the report goes; InputError where an option is missing or no name."""
    for name in ("old", "new", "text"):
        if not getattr(options, name):
            raise InputError(
                f"{name.upper()}: is empty; give OLD, NEW and TEXT, as in `make swap "
                "OLD=minilm-avg NEW=minilm-cls TEXT=my.txt`"
            )
    name = options.name or re.sub(r"[^\w.-]", "_", f"{options.old}-to-{options.new}")
    name = name if options.name else name[-NAME_LENGTH:].lstrip(".")
    if not re.fullmatch(parameters.OWN_NAME, name):
        raise InputError(
            f"NAME: {parameters.shown(name)} is not accepted; "
            "give 1 to 40 letters, digits, '.', '_' or '-'"
        )
    return paths.FIGURES / OUTPUT / name


def _measured(options: argparse.Namespace) -> swap.Swap:
    """What changes, by the options."""
    k = int(parameters.in_range("k", parameters.literal(options.k), 1, LARGEST_K))
    text = _text("TEXT", options.text)
    asking = options.queries and _text("QUERIES", options.queries)
    old = _embedder(options, "old")
    new = _embedder(options, "new")
    queries = corpora.load(asking).sentences if asking else swap.QUERIES
    return swap.compare(old, new, corpora.load(text), k, queries)


def _embedder(options: argparse.Namespace, side: str) -> Embedder:
    """The embedder of one side."""
    pooling = getattr(options, f"{side}_pooling")
    if pooling:
        parameters.one_of(f"{side}, pooling", pooling, POOLINGS)
    prompt = getattr(options, f"{side}_prompt")
    return swap.load_embedder(getattr(options, side), pooling, prompt)


def _text(parameter: str, given: str) -> str:
    """The name of a text: a file has one sentence a line, unless it says otherwise."""
    if os.path.isfile(paths.from_root(given)):
        return f"lines:{given}"
    _, colon, file = given.partition(":")
    is_path = bool(re.search(r"[./]", given)) and not colon
    if is_path or (
        given.startswith(("lines:", "text:"))
        and not os.path.isfile(paths.from_root(file))
    ):
        raise InputError(
            f"{parameter}: {file or given}: no such file; "
            "give a file with one sentence a line"
        )
    return given


if __name__ == "__main__":
    sys.exit(main())
