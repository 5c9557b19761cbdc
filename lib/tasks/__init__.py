"""Labelled sets: sentence pairs with gold scores, sentences with classes, groups of sentences that mean the same.

===================================  ==================================================================================
name                                 set, and its splits
===================================  ==================================================================================
``STS12`` ... ``STS15``              a year's English test pairs, score 0 to 5; genre: the subset; whole
``STSBenchmark``                     pairs with score 0 to 5, and genre; train, dev, test
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
``Verses-far``                       600 verses in two translations that share few words: train Young's, test Weymouth's
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
from itertools import chain
from typing import NamedTuple

from lib import catalog
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.tasks import local, readers
from lib.tasks.readers import WESTERN, ClassificationTask, PairTask, ParaphraseGroups, Task

__all__ = [
    "ENTAILMENT",
    "QUESTIONS",
    "ClassificationTask",
    "PairTask",
    "ParaphraseGroups",
    "Task",
    "load",
    "splits",
]

# SentEval's codes.
ENTAILMENT = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
QUESTIONS = {"ABBR": 0, "DESC": 1, "ENTY": 2, "HUM": 3, "LOC": 4, "NUM": 5}


def splits(name: str) -> list[str]:
    """The official splits of a set, in order; "all" for one that has none."""
    return list(_SETS[one_of("task", name, _SETS)].parts)


def load(name: str, split: str = "test") -> Task:
    """Load a labelled set (the module's docstring lists names, splits and what scores and labels mean).

    Parameters
    ----------
    name : str
    split : str
        "train", "dev", "test", or "all", which is the official splits in that order.

    Returns
    -------
    PairTask, ClassificationTask or ParaphraseGroups, in the order of the files

    Raises
    ------
    InputError
        An unknown name; a split that the set does not have; a file that is missing, or broken (with the line).
    """
    official = splits(name)
    whole = official == [_WHOLE]
    accepted = ["test", _WHOLE] if whole else [*official, _WHOLE]
    if split not in accepted:
        why = " (it has no official splits, so both are all of it)" if whole else ""
        raise InputError(f"split: {name} has no {split!r}; accepted: {', '.join(accepted)}{why}")
    read, parts = _SETS[name]
    chosen = official if whole or split == _WHOLE else [split]
    return read(*chain(*(parts[part] for part in chosen)))


# -- what each set is ---------------------------------------------------------------------------

_WHOLE = "all"
_THREE = {"train": "train", "dev": "dev", "test": "test"}
_BINARY = {"0": 0, "1": 1}
_FIVE = {str(code): code for code in range(5)}


class _Set(NamedTuple):
    """How a set is read, and for each of its splits the files that its reader takes."""

    read: Callable[..., Task]
    parts: dict[str, list[str]]


def _whole(read: Callable[..., Task], folder: str, *files: str) -> _Set:
    return _Set(_found(read), {_WHOLE: [f"{folder}/{file}" for file in files]})


def _split(read: Callable[..., Task], pattern: str, **files: str) -> _Set:
    return _Set(_found(read), {split: [pattern.format(file)] for split, file in files.items()})


def _found(read: Callable[..., Task]) -> Callable[..., Task]:
    return lambda *files: read(*map(catalog.file, files))


def _sts(year: int, *subsets: str) -> _Set:
    files = [f"STS.{kind}.{subset}.txt" for subset in subsets for kind in ("input", "gs")]
    return _whole(readers.sts, f"senteval/STS/STS{year}-en-test", *files)


def _sick(columns: str, **options: object) -> _Set:
    read = partial(readers.pairs, columns=columns, header="pair_ID", **options)
    return _split(read, "senteval/SICK/SICK_{}.txt", train="train", dev="trial", test="test_annotated")


# The distributed STSBenchmark has up to two more columns, on where a sentence is from; SentEval cuts them off.
_STS_BENCHMARK = partial(readers.pairs, columns="genre file year number score left right", extra=2)
_MRPC = partial(readers.pairs, columns="label left_id right_id left right", header="Quality", codes=_BINARY)
_WORDSIM = partial(readers.pairs, columns="left right score", header="#", high=10)
_TREC = partial(readers.labelled, codes=QUESTIONS, encoding=WESTERN)
_SST2 = partial(readers.labelled, codes=_BINARY, separator="\t", label=1)
_SST5 = partial(readers.labelled, codes=_FIVE)
_CLOSURE = partial(readers.closure_of_paraphrases, _MRPC)
_GENSIM = "gensim/test/test_data"

_SETS: dict[str, _Set] = {
    "STSBenchmark": _split(_STS_BENCHMARK, "senteval/STS/STSBenchmark/sts-{}.csv", **_THREE),
    "STS12": _sts(12, "MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": _sts(13, "FNWN", "headlines", "OnWN"),
    "STS14": _sts(14, "deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    "STS15": _sts(15, "answers-forums", "answers-students", "belief", "headlines", "images"),
    "SICK-R": _sick("id left right score entailment", low=1),
    "SICK-E": _sick("id left right relatedness label", codes=ENTAILMENT),
    "MRPC": _split(_MRPC, "senteval/MRPC/msr_paraphrase_{}.txt", train="train", test="test"),
    "MR": _whole(readers.file_a_class, "senteval/MR", "rt-polarity.pos", "rt-polarity.neg"),
    "CR": _whole(readers.file_a_class, "senteval/CR", "custrev.pos", "custrev.neg"),
    "SUBJ": _whole(readers.file_a_class, "senteval/SUBJ", "subj.objective", "subj.subjective"),
    "MPQA": _whole(readers.file_a_class, "senteval/MPQA", "mpqa.pos", "mpqa.neg"),
    "TREC": _split(_TREC, "senteval/TREC/{}.label", train="train_5500", test="TREC_10"),
    "SST2": _split(_SST2, "senteval/SST/binary/sentiment-{}", **_THREE),
    "SST5": _split(_SST5, "senteval/SST/fine/sentiment-{}", **_THREE),
    "Lee": _whole(readers.rated_items, _GENSIM, "lee.cor", "similarities0-1.txt"),
    "WS353": _whole(_WORDSIM, _GENSIM, "wordsim353.tsv"),
    "MSRP-groups": _whole(_CLOSURE, "senteval/MRPC", "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
    "Opinosis-groups": _whole(readers.columns_of_paraphrases, "opinosis", "paraphrase_groups"),
    "Verses": _Set(local.verses, {_WHOLE: []}),
    "Verses-far": _Set(local.verses_far, {"train": ["ylt"], "test": ["wmth"]}),
    "Translations": _Set(local.translations, {_WHOLE: []}),
    "Books": _Set(local.books, {_WHOLE: []}),
    "Questions": _Set(local.questions, {_WHOLE: []}),
}
