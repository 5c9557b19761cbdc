"""Making probing tasks from a corpus: balanced, drawn by a seed, split so that no split knows another."""

from __future__ import annotations

from typing import Any

import numpy as np

from lib.corpora import Corpus
from lib.probing import parsing, surface, syntax
from lib.probing.drawing import Candidates, Options, Sizes, Splits, draw
from lib.probing.probe import TASKS, Probe
from lib.probing.source import Source, source
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of
from lib.tasks import ClassificationTask

SIZE = 3000  # sentences, of which two thirds are for training
SURFACE = ("SentLen", "WC", "BShift")
PARSED = ("Tense", "SubjNum", "ObjNum", "CoordInv", "TreeDepth")
MADE = SURFACE + PARSED
SEVERAL = ("SentLen", "WC", "TreeDepth")  # those that have more than two classes
LEAST = 6  # sentences in all: two classes in three splits

Split = tuple[int, int, int]  # sentences of train, dev and test


def available(pipeline: Any = None) -> tuple[list[str], dict[str, str]]:
    """The tasks that can be made here, and the others of `TASKS`, each with what it lacks.

    Parameters
    ----------
    pipeline : a loaded spaCy pipeline, or the name of an installed one
    """
    only_read = "no recipe here; it is read from SentEval's file (probing.read)"
    lacking = {name: only_read for name in TASKS if name not in MADE}
    reasons = {name: parsing.lacks(name, pipeline) for name in PARSED}
    lacking |= {name: reason for name, reason in reasons.items() if reason}
    return [name for name in MADE if name not in lacking], lacking


def make(
    name: str,
    corpus: Corpus,
    seed: int = 0,
    size: int | Split = SIZE,
    pipeline: Any = None,
    *,
    classes: int | None = None,
    show_progress_bar: bool = False,
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
    options = _options(name, source(corpus), seed, classes, pipeline, show_progress_bar)
    drawn = _drawn(options, sizes, seed)
    if drawn is None:
        raise InputError(f"size: {size} is too much for {name} from {corpus.name!r}; give fewer, or a larger corpus")
    candidates, splits = drawn
    train, dev, test = (
        ClassificationTask([candidates.sentences[i] for i in split.tolist()], candidates.labels[split].astype(np.int32))
        for split in splits
    )
    return Probe(name, train, dev, test, candidates.classes, f"made from {corpus.name}")


def _options(name: str, text: Source, seed: int, classes: int | None, pipeline: Any, show: bool) -> Options:
    """What the task can be drawn from."""
    rng = np.random.default_rng([seed, TASKS.index(name)])
    if name == "SentLen":
        return surface.sentence_length(text, classes or surface.BINS)
    if name == "WC":
        return surface.word_content(text, classes)
    if name == "BShift":
        return surface.bigram_shift(text, rng)
    parsed = parsing.parses(parsing.loaded(name, pipeline), text.sentences, show)
    if name == "CoordInv":
        return syntax.coordination_inversion(text, parsed, rng)
    if name == "TreeDepth":
        return syntax.tree_depth(text, parsed, classes)
    return syntax.marked(text, name, parsed)


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
