"""What a probing task is, SentEval's own files of the ten tasks, and tasks that are made from a corpus."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lib import catalog
from lib.corpora import Corpus, reading
from lib.probing import parsing, recipes
from lib.probing.drawing import Candidates, Options, Sizes, Splits, draw
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of, shown
from lib.tasks import ClassificationTask

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
TASKS = tuple(FILES)


@dataclass(frozen=True, eq=False)
class Probe:
    """A probing task.

    Attributes
    ----------
    name : str, one of `TASKS`
    train, dev, test : ClassificationTask, no sentence of which stands in two
    classes : tuple of str, what label code i stands for
    source : str, "SentEval" or "made from <name of the corpus>"
    """

    name: str
    train: ClassificationTask
    dev: ClassificationTask
    test: ClassificationTask
    classes: tuple[str, ...]
    source: str

    @property
    def splits(self) -> tuple[ClassificationTask, ClassificationTask, ClassificationTask]:
        """Train, dev and test."""
        return self.train, self.dev, self.test

    @property
    def sentences(self) -> list[str]:
        """The sentences of train, dev and test, in this order."""
        return [sentence for split in self.splits for sentence in split.sentences]


# -- SentEval's files -------------------------------------------------------------------------------

SOURCE = "SentEval"
SPLITS = ("tr", "va", "te")
COLUMNS = 3  # split, label, sentence; there may be more between label and sentence
SHOWN = 20  # characters of what is wrong in a file


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


# -- made from a corpus -----------------------------------------------------------------------------

SIZE = 3000  # sentences, of which two thirds are for training
PARSED = ("Tense", "SubjNum", "ObjNum", "CoordInv", "TreeDepth")
MADE = ("SentLen", "WC", "BShift", *PARSED)
SEVERAL = ("SentLen", "WC", "TreeDepth")  # those that have more than two classes
LEAST = 6  # sentences in all: two classes in three splits

Split = tuple[int, int, int]  # sentences of train, dev and test


def make(
    name: str,
    corpus: Corpus,
    seed: int = 0,
    size: int | Split = SIZE,
    pipeline: Any = None,
    *,
    classes: int | None = None,
) -> Probe:
    """A probing task made from a corpus (docs/probing.md has the recipes).

    In each split all classes are equally large. A group of the corpus (a verse's translations) stands in one split
    only, in dev and test with one sentence; so does a target word of Tense, SubjNum and ObjNum. Sentences that differ
    in case and punctuation alone count as one. The same arguments give the same task.

    Parameters
    ----------
    name : one of `MADE`
    size : sentences in all, two thirds of them for training and a sixth each for dev and test; or the three sizes.
        Each is rounded up to equally many of each class.
    pipeline : for the tasks of `PARSED`, a loaded spaCy pipeline for English with a tagger and a parser, or the name of
        an installed one. Its parses of the last text are kept for the next task.
    classes : how many bins of length (6 unless given), words (WC) or depths; None for as many as the corpus has
        enough sentences for, which is at most 1,000 words, with 20 training sentences each, and at most 8 depths

    Raises
    ------
    InputError
        An unknown name; a size that the corpus does not have enough sentences for, with what it has; a pipeline that is
        not there, or that lacks a tagger or a parser.
    """
    _check(name, seed, classes)
    sizes = _sizes(size)
    options = _options(name, recipes.source(corpus), seed, classes, pipeline)
    drawn = _drawn(options, sizes, seed)
    if drawn is None:
        raise InputError(f"size: {size} is too much for {name} from {corpus.name!r}; give fewer, or a larger corpus")
    candidates, splits = drawn
    train, dev, test = (
        ClassificationTask([candidates.sentences[i] for i in split.tolist()], candidates.labels[split].astype(np.int32))
        for split in splits
    )
    return Probe(name, train, dev, test, candidates.classes, f"made from {corpus.name}")


def _options(name: str, text: recipes.Source, seed: int, classes: int | None, pipeline: Any) -> Options:
    """What the task can be drawn from."""
    rng = np.random.default_rng([seed, TASKS.index(name)])
    if name == "SentLen":
        return recipes.sentence_length(text, classes or recipes.BINS)
    if name == "WC":
        return recipes.word_content(text, classes)
    if name == "BShift":
        return recipes.bigram_shift(text, rng)
    parsed = parsing.parses(parsing.loaded(name, pipeline), text.sentences)
    if name == "CoordInv":
        return recipes.coordination_inversion(text, parsed, rng)
    if name == "TreeDepth":
        return recipes.tree_depth(text, parsed, classes)
    return recipes.marked(text, name, parsed)


def _drawn(options: Options, sizes: Sizes, seed: int) -> tuple[Candidates, Splits] | None:
    """The first candidates that splits of these sizes can be drawn from, and the splits."""
    for candidates in options(sizes):
        splits = draw(candidates, sizes.rows(len(candidates.classes)), np.random.default_rng(seed))
        if splits is not None:
            return candidates, splits
    return None


# -- bad input ----------------------------------------------------------------------------------


def _check(name: str, seed: int, classes: int | None) -> None:
    if one_of("name", name, TASKS) not in MADE:
        raise InputError(f"name: {name} cannot be made here; give one of {', '.join(MADE)}, or read it (probing.read)")
    if classes is not None:
        if name not in SEVERAL:
            raise InputError(f"classes: {classes} is not accepted; {name} has two classes: leave it out")
        in_range("classes", classes, 2, 10**6)


def _sizes(size: int | Split) -> Sizes:
    """The sizes of train, dev and test that a parameter `size` stands for."""
    if isinstance(size, int | np.integer) and size >= LEAST:
        held_out = round(size / 6)
        return Sizes(int(size) - 2 * held_out, held_out, held_out)
    if not isinstance(size, tuple | list) or len(size) != 3 or min(size) < 1:
        raise InputError(f"size: {size} is not accepted; give {LEAST} sentences or more, or three sizes above 0")
    return Sizes(*map(int, size))
