"""SentEval's own files of the ten probing tasks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from lib import catalog
from lib.corpora import reading
from lib.probing.probe import TASKS, Probe
from lib.run.errors import InputError
from lib.run.parameters import one_of, shown
from lib.tasks import ClassificationTask

SOURCE = "SentEval"
SPLITS = ("tr", "va", "te")
COLUMNS = 3  # split, label, sentence; there may be more between label and sentence
SHOWN = 20  # characters of what is wrong in a file

FILES = {
    "SentLen": "sentence_length",
    "WC": "word_content",
    "TreeDepth": "tree_depth",
    "TopConst": "top_constituents",
    "BShift": "bigram_shift",
    "Tense": "past_present",
    "SubjNum": "subj_number",
    "ObjNum": "obj_number",
    "SOMO": "odd_man_out",
    "CoordInv": "coordination_inversion",
}


def read(name: str) -> Probe:
    """SentEval's probing task of this name, from where data are looked for (`lib.catalog`).

    Its sentences are tokens parted by blanks. Classes are ordered by number where they are numbers, else by letter.

    Raises
    ------
    InputError
        An unknown name; a file that is missing, or broken (with the line); a split that is not there; a label that the
        training split has less than twice.
    """
    path = catalog.file(f"senteval/probing/{FILES[one_of('name', name, TASKS)]}.txt")
    rows = [_row(line) for line in reading.lines(path)]
    labels = {split: [label for kind, label, _ in rows if kind == split] for split in SPLITS}
    for split, found in labels.items():
        if not found:
            raise InputError(f"{path}: has no line of split {split!r}; get the file again")
    classes = _classes(path, labels)
    codes = {label: code for code, label in enumerate(classes)}
    train, dev, test = (
        ClassificationTask(
            [sentence for kind, _, sentence in rows if kind == split],
            np.array([codes[label] for label in labels[split]], np.int32),
        )
        for split in SPLITS
    )
    return Probe(name, train, dev, test, classes, SOURCE)


def _row(line: reading.Line) -> tuple[str, str, str]:
    cells = [cell.strip() for cell in line.text.split("\t")]
    if len(cells) < COLUMNS:
        raise InputError(f"{line.place}: {len(cells)} tab-separated columns; give a split, a label and a sentence")
    split = one_of(f"{line.place}: split", cells[0][:SHOWN], SPLITS)
    if not cells[1] or not cells[-1]:
        missing = "sentence" if cells[1] else "label"
        raise InputError(f"{line.place}: has no {missing}; give a split, a label and a sentence")
    return split, cells[1], cells[-1]


def _classes(path: Path, labels: dict[str, list[str]]) -> tuple[str, ...]:
    """The labels, in order; InputError unless there are two or more and the training split has each of them twice."""
    classes = tuple(sorted({label for found in labels.values() for label in found}, key=_by_number))
    if len(classes) < 2:
        raise InputError(f"{path}: all lines have the label {shown(classes[0])}; get the file again")
    counts = Counter(labels["tr"])
    for label in classes:
        if counts[label] < 2:
            raise InputError(f"{path}: label {shown(label)} has {counts[label]} lines of split 'tr'; give two or more")
    return classes


def _by_number(label: str) -> tuple[bool, int | str]:
    return (False, int(label)) if re.fullmatch(r"\d{1,18}", label) else (True, label)
