"""Labelled sets: sentence pairs with gold scores, sentences with classes, groups of sentences that mean the same.

===================================  ==================================================================================
name                                 set, and its splits
===================================  ==================================================================================
``STS12`` ... ``STS15``              a year's English test pairs, score 0 to 5; genre: the subset; whole
``STSBenchmark``                     pairs with score 0 to 5, genre and source; train, dev, test
``SICK-R``, ``SICK-E``               relatedness, score 1 to 5, and entailment of the same pairs; train, dev, test
``MRPC``                             paraphrase or not, with sentence ids; train, test
``Lee``                              pairs of 50 news items, score 0 to 1 (a fifth of the mean rating, which is 1 to 5);
                                     ids: the items' positions; whole
``WS353``                            pairs of words (WordSim-353), score 0 to 10; whole
``MR``, ``CR``, ``SUBJ``, ``MPQA``   polarity of film reviews, of product reviews; subjectivity; polarity of phrases;
                                     whole
``TREC``                             questions by what they ask for; train, test
``SST2``, ``SST5``                   Stanford sentiment, two and five classes; train (SST2: with phrases), dev, test
``MSRP-groups``                      MRPC's paraphrases joined into groups of three or more; whole
``Opinosis-groups``                  sentences of product reviews, grouped by hand, groups of three or more; whole
``Verses``                           Bible verses across translations, groups of two or more; whole
``Translations``, ``Books``,         made of the default corpus (`lib.tasks.local`): which translation, which book, a
``Questions``                        question or not; whole
===================================  ==================================================================================

A higher score means more alike. Codes of labels: SICK-E `ENTAILMENT`, TREC `QUESTIONS`; MRPC 1 paraphrase, 0 not;
MR, CR, MPQA, SST2 1 positive, 0 negative; SUBJ 1 objective, 0 subjective (SentEval's choice); SST5 0 very negative to
4 very positive.

A set that is *whole* has no official splits: the papers take all of it, by cross-validation where something is learned,
so that "test" is the same as "all". STS pairs without a gold score are left out, and STS13 has no SMT subset, which
needs a license. Blank lines of CR (4) and MPQA (3) stay as empty sentences: the papers count them.

The text is that of the files, white space at its ends removed. In SentEval's layout MR, CR, SUBJ, MPQA and SST are
tokenized and in lower case (SST5 has -lrb- where SST2 has a parenthesis), STSBenchmark is what SentEval makes of it
(Moses tokens, lower case), TREC is tokenized and keeps its quotation marks, which SentEval removes; STS12 to STS15,
SICK and MRPC are not tokenized (STS12, STS13, MRPC: a few damaged characters). An Opinosis sentence with a comma is in
spreadsheet quotation marks. STSBenchmark calls one genre main-forum in train and main-forums in dev and test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lib import catalog
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of
from lib.tasks import local, readers
from lib.tasks.files import UTF8, WESTERN
from lib.tasks.readers import ClassificationTask, Layout, PairTask, ParaphraseGroups, Task

__all__ = ["ENTAILMENT", "QUESTIONS", "ClassificationTask", "PairTask", "ParaphraseGroups", "Task", "load", "names"]

# SentEval's codes.
ENTAILMENT = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
QUESTIONS = {"ABBR": 0, "DESC": 1, "ENTY": 2, "HUM": 3, "LOC": 4, "NUM": 5}


def names() -> list[str]:
    """The names that `load` knows."""
    return list(_SETS)


def load(name: str, split: str = "test", *, groups: int | None = None, seed: int = 0) -> Task:
    """Load a labelled set (the module's docstring lists names, splits and what scores and labels mean).

    Parameters
    ----------
    split : "train", "dev", "test", or "all", which is the official splits in that order
    groups : of a set of paraphrase groups, draw so many without replacement; None for all
    seed : of that drawing

    Returns
    -------
    PairTask, ClassificationTask or ParaphraseGroups, in the order of the files

    Raises
    ------
    InputError
        An unknown name; a split that the set does not have; a file that is missing, or broken (with the line);
        `groups` for another kind of set or beyond what there is.
    """
    chosen = _SETS[one_of("task", name, _SETS)]
    parts = _parts(name, split, list(chosen.files))
    task = readers.joined([chosen.read(*map(catalog.file, chosen.files[part])) for part in parts])
    return task if groups is None else _drawn(name, task, groups, seed)


def _parts(name: str, split: str, official: list[str]) -> list[str]:
    """The entries of a set's `files` that a split stands for."""
    whole = official == [_WHOLE]
    accepted = ["test", _WHOLE] if whole else [*official, _WHOLE]
    if split not in accepted:
        why = " (it has no official splits, so both are all of it)" if whole else ""
        raise InputError(f"split: {name} has no {split!r}; accepted: {', '.join(accepted)}{why}")
    return official if split == _WHOLE or whole else [split]


def _drawn(name: str, task: Task, groups: int, seed: int) -> ParaphraseGroups:
    """So many of a task's groups, in their order, numbered anew."""
    if not isinstance(task, ParaphraseGroups):
        raise InputError(f"groups: {groups} is not accepted; {name} is no set of paraphrase groups: leave it out")
    available = int(task.labels.max(initial=-1)) + 1
    in_range("groups", groups, 1, available, f"{name} has {available}")
    kept = np.sort(np.random.default_rng(seed).choice(available, size=groups, replace=False))
    members = np.flatnonzero(np.isin(task.labels, kept))
    labels = np.searchsorted(kept, task.labels[members]).astype(np.int32)
    return ParaphraseGroups([task.sentences[i] for i in members], labels)


# -- what each set is ---------------------------------------------------------------------------

_WHOLE = "all"
_BINARY = {"0": 0, "1": 1}
_FIVE = {str(code): code for code in range(5)}

# The distributed STSBenchmark has up to two more columns, on where a sentence is from; SentEval cuts them off.
_STS_BENCHMARK = Layout(columns=7, left=5, right=6, score=4, genre=0, source=1, extra=2)
_SICK = Layout(columns=5, left=1, right=2, header="pair_ID")
_MRPC = Layout(columns=5, left=3, right=4, label=0, codes=_BINARY, ids=(1, 2), header="Quality")
_WORDSIM = Layout(columns=3, left=0, right=1, score=2, high=10, header="#")


class _Set(NamedTuple):
    """How a set is read, and for each of its splits the files of the catalog that its reader takes."""

    read: Callable[..., Task]
    files: dict[str, tuple[str, ...]]


def _whole(read: Callable[..., Task], folder: str, *files: str) -> _Set:
    return _Set(read, {_WHOLE: tuple(f"{folder}/{file}" for file in files)})


def _split(read: Callable[[Path], Task], pattern: str, **parts: str) -> _Set:
    return _Set(read, {split: (pattern.format(part),) for split, part in parts.items()})


def _sts(year: int, *subsets: str) -> _Set:
    files = [f"STS.{kind}.{subset}.txt" for subset in subsets for kind in ("input", "gs")]
    return _whole(readers.sts, f"senteval/STS/STS{year}-en-test", *files)


def _sick(layout: Layout) -> _Set:
    read = partial(readers.pairs, layout)
    return _split(read, "senteval/SICK/SICK_{}.txt", train="train", dev="trial", test="test_annotated")


_THREE = {"train": "train", "dev": "dev", "test": "test"}
_GENSIM = "gensim/test/test_data"
_TREC = partial(readers.label_first, QUESTIONS, WESTERN)
_CLOSURE = partial(readers.closure_of_paraphrases, _MRPC)

_SETS: dict[str, _Set] = {
    "STSBenchmark": _split(partial(readers.pairs, _STS_BENCHMARK), "senteval/STS/STSBenchmark/sts-{}.csv", **_THREE),
    "STS12": _sts(12, "MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": _sts(13, "FNWN", "headlines", "OnWN"),
    "STS14": _sts(14, "deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    "STS15": _sts(15, "answers-forums", "answers-students", "belief", "headlines", "images"),
    "SICK-R": _sick(_SICK._replace(score=3, low=1)),
    "SICK-E": _sick(_SICK._replace(label=4, codes=ENTAILMENT)),
    "MRPC": _split(partial(readers.pairs, _MRPC), "senteval/MRPC/msr_paraphrase_{}.txt", train="train", test="test"),
    "MR": _whole(readers.file_a_class, "senteval/MR", "rt-polarity.pos", "rt-polarity.neg"),
    "CR": _whole(readers.file_a_class, "senteval/CR", "custrev.pos", "custrev.neg"),
    "SUBJ": _whole(readers.file_a_class, "senteval/SUBJ", "subj.objective", "subj.subjective"),
    "MPQA": _whole(readers.file_a_class, "senteval/MPQA", "mpqa.pos", "mpqa.neg"),
    "TREC": _split(_TREC, "senteval/TREC/{}.label", train="train_5500", test="TREC_10"),
    "SST2": _split(partial(readers.label_last, _BINARY), "senteval/SST/binary/sentiment-{}", **_THREE),
    "SST5": _split(partial(readers.label_first, _FIVE, UTF8), "senteval/SST/fine/sentiment-{}", **_THREE),
    "Lee": _whole(readers.rated_items, _GENSIM, "lee.cor", "similarities0-1.txt"),
    "WS353": _whole(partial(readers.pairs, _WORDSIM), _GENSIM, "wordsim353.tsv"),
    "MSRP-groups": _whole(_CLOSURE, "senteval/MRPC", "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
    "Opinosis-groups": _whole(readers.columns_of_paraphrases, "opinosis", "paraphrase_groups"),
    "Verses": _whole(readers.verses, ""),
    **{name: _whole(make, "") for name, make in local.MAKERS.items()},
}
