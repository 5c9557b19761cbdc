"""``sentence-swap``, or ``python -m lib.swap``, which `make swap` calls: the gate.

It searches a text of one's own on two sides or more and prints what changes. For use in
continuous integration, its exit status says whether it is little enough.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lib.base import parameters, paths
from lib.base.errors import InputError, command
from lib.swap import comparison, labels, report, searching, sides, texts
from lib.swap.report import Outcome, Wanted

OUTPUT = "swapped"  # the folder in figures/
NAME_LENGTH = 40
LARGEST_K = 10_000
POOLINGS = ("avg", "cls", "last")

SIDE = "a name, a hub id, a folder, file.py:function, bm25, text.npy:queries.npy"
TEXTS = "one sentence a line, JSON lines or CSV with ids, a BEIR folder, or a corpus"
OPTIONS = {
    "old": f"what is in use: {SIDE}; #hnsw after it for an approximate index",
    "new": "what may take its place: the same, several with blanks between them",
    "text": f"what is searched: {TEXTS}",
    "queries": "what is asked: the same; after a tab, weights (default: of the text)",
    "k": "how many results users see (default 10)",
    "at-least": "the N2O that is enough, 0 to 1",
    "qrels": "judgments: TREC qrels, or a BEIR table (default: that of the folder)",
    "max-drop": "the loss of nDCG@10 that is accepted, 0 to 1",
    "floor": "under the scores of the old side: what passes before and after",
    "bridge": "yes: what a linear map between both sides keeps",
    "name": "of the folder in figures/swapped",
}
OF_A_SIDE = {
    "pooling": "avg, cls or last, for a model that does not say",
    "prompt": "what a model takes before each query and sentence",
    "query-prompt": "the same before queries alone",
    "text-prompt": "the same before sentences of the text alone",
    "similarity": "cosine, dot or euclidean, in place of the model's own",
}
FLATTERS = (
    "The queries are sentences of the text, which flatters: with real queries N2O is "
    "lower (.27 where it was .33)."
)
MISSING = (
    "is empty; give OLD, NEW and TEXT, as in `make swap OLD=minilm-avg "
    "NEW=minilm-cls TEXT=my.txt`"
)


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    0: everything was measured, and it is enough, if anything was asked for. 2: an
    option cannot be used. 3: the interval of a candidate lies below what was asked for.
    4: one does not tell, or there are too few queries; and none lies below.
    """
    options = _parser().parse_args(arguments)
    for name in ("old", "new", "text"):
        if not getattr(options, name):
            raise InputError(f"{name.upper()}: {MISSING}")
    wanted = _wanted(options)
    if options.force:
        os.environ[paths.FORCE_VARIABLE] = "yes"
    k = int(parameters.in_range("k", parameters.literal(options.k), 1, LARGEST_K))
    names = shlex.split(options.new)
    old = _side(options, "old", options.old)
    candidates = [_side(options, "new", name) for name in names]
    folder = _name(options, names)
    task, notes = _task(options, wanted)
    outcomes = _measured(task, old, candidates, k, wanted)
    place = report.write(outcomes, _fresh(folder), notes)
    numbers = report.summary(outcomes, notes)
    if options.json:
        print(json.dumps(numbers, ensure_ascii=False))
    else:
        print(report.rendered("report.txt", numbers, place=place), end="")
    return numbers["status"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sentence-swap",
        description="Say what users notice if one embedder takes another's place.",
        epilog="Exit status: 0; 3 if a candidate is below --at-least or loses more "
        f"than --max-drop; 4 if an interval does not tell or fewer than "
        f"{comparison.FEWEST} queries are independent; 2 if an option cannot be used.",
    )
    for option, meaning in OPTIONS.items():
        default = "10" if option == "k" else ""
        parser.add_argument(f"--{option}", default=default, help=meaning)
    for side in ("old", "new"):
        for option, meaning in OF_A_SIDE.items():
            parser.add_argument(f"--{side}-{option}", default="", help=meaning)
    forced = "let your own code encode again, even where it is known"
    parser.add_argument("--force", action="store_true", help=forced)
    to_stdout = "print swap.json, and nothing else, to standard output"
    parser.add_argument("--json", action="store_true", help=to_stdout)
    return parser


def _number(options: argparse.Namespace, name: str, low: float, high: float) -> Any:
    """An option's number; None if it is not given."""
    given = getattr(options, name)
    if not given:
        return None
    value = parameters.literal(given)
    if type(value) not in (int, float) or not low <= value <= high:
        raise InputError(
            f"{name.upper()}: {given!r} is not accepted; give {low:g} to {high:g}"
        )
    return value


def _wanted(options: argparse.Namespace) -> Wanted:
    """What is asked of the candidates; InputError for what cannot be asked."""
    at_least = _number(options, "at_least", 0, 1)
    max_drop = _number(options, "max_drop", 0, 1)
    floor = _number(options, "floor", -1e9, 1e9)
    parameters.one_of("BRIDGE", options.bridge, ("", "yes"))
    folder = paths.from_root(options.text)
    judgments = None
    if options.qrels or (folder / "qrels" / "test.tsv").is_file():
        judgments = labels.read(options.qrels, options.text)
    if max_drop is not None and judgments is None:
        raise InputError("MAX_DROP: needs judgments; give QRELS, or a BEIR folder")
    return Wanted(at_least, max_drop, floor, options.bridge == "yes", judgments)


def _side(options: argparse.Namespace, side: str, given: str) -> sides.Side:
    """A side, opened: what is not there is refused before anything is encoded."""
    said = {name: getattr(options, f"{side}_{name}") for name in ("pooling", "prompt")}
    if said["pooling"]:
        parameters.one_of(f"{side}, pooling", said["pooling"], POOLINGS)
    prompts = sides.Prompts(
        getattr(options, f"{side}_query_prompt") or said["prompt"],
        getattr(options, f"{side}_text_prompt") or said["prompt"],
    )
    similarity = getattr(options, f"{side}_similarity")
    return sides.opened(given, side, said["pooling"], prompts, similarity)


def _task(
    options: argparse.Namespace, wanted: Wanted
) -> tuple[texts.SearchTask, list[str]]:
    """The text with its queries, and what a reader must know of both."""
    text = texts.load("TEXT", options.text)
    asking = options.queries
    if not asking and paths.from_root(options.text).is_dir():
        asking = options.text
    asked = texts.load("QUERIES", asking, "queries") if asking else None
    judgments = {} if wanted.judgments is None else wanted.judgments
    task = texts.from_files(text, asked, () if options.queries else judgments)
    notes = text.reading("text")
    if asked is None:
        notes.append(FLATTERS)
    else:
        notes += asked.reading("queries")
        if len(task.queries) < len(asked.ids):
            notes.append(
                f"queries: {len(task.queries):,} of {len(asked.ids):,} are judged and "
                "asked."
            )
    if judgments:
        labels.known(judgments, task)
    return task, notes


def _measured(
    task: texts.SearchTask,
    old: sides.Side,
    candidates: list[sides.Side],
    k: int,
    wanted: Wanted,
) -> list[Outcome]:
    """What is found of each candidate; the old side is searched once."""
    depth = k
    if wanted.judgments is not None:
        depth = max(k, min(labels.DEPTH, task.candidates))
    before = searching.search(old, task, depth)
    return [
        _one(
            comparison.between(
                task, before, searching.search(side, task, depth), None, k
            ),
            wanted,
        )
        for side in _taken(candidates)
    ]


def _one(found: comparison.Swap, wanted: Wanted) -> Outcome:
    """What is found of a candidate, without its vectors."""
    one = report.outcome(found, wanted)
    return replace(one, found=replace(found, new=replace(found.new, placed=None)))


def _taken(candidates: list[sides.Side]) -> Iterator[sides.Side]:
    """One after another, so that no vectors stay in memory."""
    while candidates:
        yield candidates.pop(0)


def _name(options: argparse.Namespace, candidates: list[str]) -> Path:
    """Where the report goes; InputError for what is no name."""
    more = f"-and-{len(candidates) - 1}-more" if len(candidates) > 1 else ""
    said = re.sub(r"[^\w.-]", "_", f"{options.old}-to-{candidates[0]}{more}")
    name = options.name or said[-NAME_LENGTH:].lstrip(".")
    if not re.fullmatch(parameters.OWN_NAME, name):
        raise InputError(
            f"NAME: {parameters.shown(name)} is not accepted; "
            "give 1 to 40 letters, digits, '.', '_' or '-'"
        )
    return paths.FIGURES / OUTPUT / name


def _fresh(folder: Path) -> Path:
    """The folder, or the first of that name with a number that is not there."""
    number = 2
    fresh = folder
    while fresh.exists():
        fresh = folder.with_name(f"{folder.name}-{number}")
        number += 1
    return fresh


if __name__ == "__main__":
    sys.exit(main())
