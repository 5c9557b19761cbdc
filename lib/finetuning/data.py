"""Labelled pairs of sentences that an encoder is fine-tuned on: MultiNLI, MSRP (MRPC) and SICK-E.

===========  =====================================  ==============================================================
task         classes                                splits
===========  =====================================  ==============================================================
`multinli`   contradiction, entailment, neutral     train; dev, which is the matched subset (the N2O paper, section 4)
`mrpc`       not a paraphrase, paraphrase           train; test: the corpus has no dev part (the paper's footnote 7)
`sick-e`     contradiction, neutral, entailment     train; dev, test
===========  =====================================  ==============================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lib import catalog, tasks
from lib.corpora import text
from lib.run import files
from lib.run.errors import InputError
from lib.run.parameters import one_of

UNDECIDED = "-"  # MultiNLI's label where its annotators did not agree
_MULTINLI = "multinli/multinli_1.0/multinli_1.0_{}.jsonl"
_MULTINLI_FILES = {"train": "train", "dev": "dev_matched"}
_SHOWN = 20  # characters of a broken file that a message quotes


class Pairs(NamedTuple):
    """Pairs of sentences and their classes.

    Attributes
    ----------
    left, right : list of str, length n
    labels : int64[n], positions in the task's tuple of classes
    skipped : int, how many pairs of the file were left out since they have no label
    """

    left: list[str]
    right: list[str]
    labels: np.ndarray
    skipped: int = 0

    def head(self, count: int | None) -> Pairs:
        """The first `count` pairs; all of them for None."""
        return Pairs(self.left[:count], self.right[:count], self.labels[:count], self.skipped)

    def fingerprint(self) -> str:
        """32 hexadecimal digits that stand for these pairs with these labels in this order."""
        return text.fingerprint([*self.left, *self.right, *map(str, self.labels)])


class Task(NamedTuple):
    """The classes of a task by code, the splits that a model is evaluated on, and how a split is read."""

    classes: tuple[str, ...]
    evaluated: tuple[str, ...]
    read: Callable[[str], Pairs]


def get(task: str) -> Task:
    """The task of this name; InputError with the nearest names otherwise."""
    return _TASKS[one_of("task", task, _TASKS)]


def names() -> list[str]:
    """The names that `get` knows."""
    return list(_TASKS)


def load(task: str, split: str) -> Pairs:
    """The pairs of a task's split, in the order of its file.

    Raises
    ------
    InputError
        An unknown task or split; a file that is missing (and how to get it), is a saved web page, or is broken (with
        the line).
    """
    chosen = get(task)
    return chosen.read(one_of("split", split, ("train", *chosen.evaluated)))


# -- MultiNLI -----------------------------------------------------------------------------------


def read_jsonl(path: Path, classes: tuple[str, ...]) -> Pairs:
    """The pairs of a file in MultiNLI's layout: a JSON object a line, with gold_label, sentence1 and sentence2.

    Pairs labelled "-" are counted and left out, as in the corpus's own evaluations. Raises InputError, with the line,
    for what is no such object, and for a file without a labelled pair.
    """
    left, right, labels = [], [], []
    skipped = 0
    for place, record in _records(path):
        label = _field(place, record, "gold_label")
        if label == UNDECIDED:
            skipped += 1
            continue
        labels.append(classes.index(one_of(f"{place}: gold_label", label[:_SHOWN], classes)))
        left.append(text.mend(_field(place, record, "sentence1")))
        right.append(text.mend(_field(place, record, "sentence2")))
    if not labels:
        raise InputError(f"{path}: no labelled pair in it; get the file again")
    return Pairs(left, right, np.array(labels, np.int64), skipped)


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place and the object of each line. Read as it comes: the file of the train split has 450 MB."""
    with path.open("rb") as stream:
        for count, line in enumerate(stream, start=1):
            place = f"{path}, line {count}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{place}: {_begins(line)}, which is no JSON; get the file again") from error
            if not isinstance(record, dict):
                raise InputError(f"{place}: a {type(record).__name__}; each line is an object with sentence1 and so on")
            yield place, record


def _begins(line: bytes) -> str:
    if files.begins_web_page(line):
        return "begins a web page"
    return f"begins {line[:_SHOWN].decode(errors='replace')!r}"


def _field(place: str, record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise InputError(f"{place}: no text as its {name}; each line needs gold_label, sentence1 and sentence2")
    return value


_NLI_CLASSES = ("contradiction", "entailment", "neutral")


def _multinli(split: str) -> Pairs:
    return read_jsonl(catalog.file(_MULTINLI.format(_MULTINLI_FILES[split])), _NLI_CLASSES)


# -- sets that `lib.tasks` reads ----------------------------------------------------------------


def _pair_task(name: str, split: str) -> Pairs:
    task = tasks.load(name, split)
    return Pairs(task.left, task.right, task.label.astype(np.int64))


_SICK_CLASSES = tuple(label.lower() for label in sorted(tasks.ENTAILMENT, key=tasks.ENTAILMENT.__getitem__))

_TASKS = {
    "multinli": Task(_NLI_CLASSES, ("dev",), _multinli),
    "mrpc": Task(("not a paraphrase", "paraphrase"), ("test",), partial(_pair_task, "MRPC")),
    "sick-e": Task(_SICK_CLASSES, ("dev", "test"), partial(_pair_task, "SICK-E")),
}
