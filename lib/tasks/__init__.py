"""Labeled sets: sentence pairs with scores, sentences with classes, groups.

The sentences of a group mean the same.

===================================  ===================================================
name                                 set, and its splits
===================================  ===================================================
``STS12`` ... ``STS15``              a year's English test pairs, score 0 to 5; genre:
                                     the subset; whole
``STSBenchmark``                     pairs with score 0 to 5, and genre; train, dev,
                                     test
``SICK-R``, ``SICK-E``               relatedness, score 1 to 5, and entailment of the
                                     same pairs; train, dev, test
``MRPC``                             paraphrase or not, with sentence ids; train, test
``Lee``                              pairs of 50 news items, score 0 to 1 (a fifth of
                                     the mean rating, which is 1 to 5); ids: the items'
                                     positions; whole
``WS353``                            pairs of words (WordSim-353), score 0 to 10; whole
``MR``, ``CR``, ``SUBJ``, ``MPQA``   polarity of film reviews, of product reviews;
                                     subjectivity; polarity of phrases; whole
``TREC``                             questions by what they ask for; train, test
``SST2``, ``SST5``                   Stanford sentiment, two and five classes; train
                                     (SST2: with phrases), dev, test
``MSRP-groups``                      MRPC's paraphrases joined into groups of three or
                                     more; whole
``Opinosis-groups``                  sentences of product reviews, grouped by hand,
                                     groups of three or more; whole
``Verses``                           Bible verses across translations, groups of two or
                                     more; whole
``Verses-far``                       600 verses in two translations that share few
                                     words: train Young's, test Weymouth's
``Translations``, ``Books``,         made of the default corpus (`lib.tasks.local`):
``Questions``                        which translation, which book, a question or not;
                                     whole
===================================  ===================================================

A higher score means more alike. Codes of labels: SICK-E `ENTAILMENT`, TREC `QUESTIONS`;
MRPC 1 paraphrase, 0 not; MR, CR, MPQA, SST2 1 positive, 0 negative; SUBJ 1 objective, 0
subjective (SentEval's choice); SST5 0 very negative to 4 very positive.

A set that is *whole* has no official splits: the papers take all of it, by
cross-validation where something is learned, so "test" is the same as "all". STS
pairs without a gold score are left out, and STS13 has no SMT subset, which needs a
license. Blank lines of CR (4) and MPQA (3) stay as empty sentences: the papers count
them.

The text is that of the files, white space at its ends removed. In SentEval's layout MR,
CR, SUBJ, MPQA and SST are tokenized and in lower case (SST5 has -lrb- where SST2 has a
parenthesis), STSBenchmark is what SentEval makes of it (Moses tokens, lower case), TREC
is tokenized and keeps its quotation marks, which SentEval removes; STS12 to STS15, SICK
and MRPC are not tokenized (STS12, STS13, MRPC: a few damaged characters). Opinosis'
spreadsheet puts quotation marks around a sentence with a comma; they are removed.
STSBenchmark calls one genre main-forum in train and main-forums in dev and test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import NamedTuple

from lib import catalog
from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.tasks import local, readers
from lib.tasks.readers import (
    WESTERN,
    ClassificationTask,
    PairTask,
    ParaphraseGroups,
    Task,
)

__all__ = [
    "CLASSIFIED",
    "ENTAILMENT",
    "QUESTIONS",
    "RATED",
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
    """Load a labeled set.

    The module's docstring lists names, splits and what scores and labels mean.

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
        An unknown name; a split that the set does not have; a file that is missing, or
        broken (with the line).

    Examples
    --------
    >>> from lib import tasks
    >>> pairs = tasks.load("WS353")
    >>> pairs.left[1], pairs.right[1], float(pairs.score[1])
    ('tiger', 'cat', 7.35)
    """
    official = splits(name)
    whole = official == [_WHOLE]
    accepted = ["test", _WHOLE] if whole else [*official, _WHOLE]
    if split not in accepted:
        why = " (it has no official splits, so both mean all of it)" if whole else ""
        raise InputError(
            f"split: {name} has no {split!r}; accepted: {', '.join(accepted)}{why}"
        )
    chosen = official if whole or split == _WHOLE else [split]
    labelled_set = _SETS[name]
    sources = list(chain(*(labelled_set.parts[part] for part in chosen)))
    if not labelled_set.is_made_here:
        sources = [catalog.file(source) for source in sources]
    return labelled_set.read(*sources)


# -- what each set is ------------------------------------------------------------------

_WHOLE = "all"
_THREE = {"train": "train", "dev": "dev", "test": "test"}
_BINARY = {"0": 0, "1": 1}
_FIVE = {str(code): code for code in range(5)}


class _Set(NamedTuple):
    """How a set is read, and what its reader takes for each of its splits.

    These are files, or whatever selects a part of a set that is made of the default
    corpus.
    """

    read: Callable[..., Task]
    parts: dict[str, list[str]]
    is_made_here: bool = False


_SETS: dict[str, _Set] = {}


def _whole(name: str, read: Callable[..., Task], folder: str, *files: str) -> None:
    """Register a set without official splits by its files in a folder."""
    _SETS[name] = _Set(read, {_WHOLE: [f"{folder}/{file}" for file in files]})


def _split(name: str, read: Callable[..., Task], pattern: str, **files: str) -> None:
    """Register a set with a file for each split, which the pattern makes a path of."""
    parts = {split: [pattern.format(file)] for split, file in files.items()}
    _SETS[name] = _Set(read, parts)


def _made(name: str, make: Callable[..., Task], **parts: str) -> None:
    """Register a set that is made of the default corpus."""
    by_split = {split: [part] for split, part in parts.items()}
    _SETS[name] = _Set(make, by_split or {_WHOLE: []}, is_made_here=True)


def _sts(year: int, *subsets: str) -> None:
    files = [
        f"STS.{kind}.{subset}.txt" for subset in subsets for kind in ("input", "gs")
    ]
    _whole(f"STS{year}", readers.sts, f"senteval/STS/STS{year}-en-test", *files)


# The distributed STSBenchmark has up to two more columns, on where a sentence is from.
# SentEval cuts them off.
_STS_COLUMNS = "genre file year number score left right"
_split(
    "STSBenchmark",
    partial(readers.pairs, columns=_STS_COLUMNS, extra=2),
    "senteval/STS/STSBenchmark/sts-{}.csv",
    **_THREE,
)
_sts(12, "MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews")
_sts(13, "FNWN", "headlines", "OnWN")
_sts(14, "deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news")
_sts(15, "answers-forums", "answers-students", "belief", "headlines", "images")

_SICK_FILES = {"train": "train", "dev": "trial", "test": "test_annotated"}
_SICK = "senteval/SICK/SICK_{}.txt"
_sick = partial(readers.pairs, header="pair_ID")
_sick_r = partial(_sick, columns="id left right score entailment", low=1)
_split("SICK-R", _sick_r, _SICK, **_SICK_FILES)

_GENSIM = "gensim/test/test_data"
_whole("Lee", readers.rated_items, _GENSIM, "lee.cor", "similarities0-1.txt")
_wordsim = partial(readers.pairs, columns="left right score", header="#", high=10)
_whole("WS353", _wordsim, _GENSIM, "wordsim353.tsv")

RATED = list(_SETS)  # all until here: pairs with a score

_sick_e = partial(_sick, columns="id left right relatedness label", codes=ENTAILMENT)
_split("SICK-E", _sick_e, _SICK, **_SICK_FILES)

_MRPC_COLUMNS = "label left_id right_id left right"
_mrpc = partial(readers.pairs, columns=_MRPC_COLUMNS, header="Quality", codes=_BINARY)
_split("MRPC", _mrpc, "senteval/MRPC/msr_paraphrase_{}.txt", train="train", test="test")

_whole("MR", readers.file_a_class, "senteval/MR", "rt-polarity.pos", "rt-polarity.neg")
_whole("CR", readers.file_a_class, "senteval/CR", "custrev.pos", "custrev.neg")
_whole(
    "SUBJ", readers.file_a_class, "senteval/SUBJ", "subj.objective", "subj.subjective"
)
_whole("MPQA", readers.file_a_class, "senteval/MPQA", "mpqa.pos", "mpqa.neg")
_trec = partial(readers.labelled, codes=QUESTIONS, encoding=WESTERN)
_split("TREC", _trec, "senteval/TREC/{}.label", train="train_5500", test="TREC_10")
_sst2 = partial(readers.labelled, codes=_BINARY, separator="\t", label=1)
_split("SST2", _sst2, "senteval/SST/binary/sentiment-{}", **_THREE)
_sst5 = partial(readers.labelled, codes=_FIVE)
_split("SST5", _sst5, "senteval/SST/fine/sentiment-{}", **_THREE)
_made("Translations", local.translations)
_made("Books", local.books)
_made("Questions", local.questions)

# With a class for each sentence or pair.
CLASSIFIED = [name for name in _SETS if name not in RATED]

_MRPC_FILES = ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt")
_closure = partial(readers.closure_of_paraphrases, _mrpc)
_whole("MSRP-groups", _closure, "senteval/MRPC", *_MRPC_FILES)
_whole(
    "Opinosis-groups", readers.columns_of_paraphrases, "opinosis", "paraphrase_groups"
)

_made("Verses", local.verses)
_made("Verses-far", local.verses_far, train="ylt", test="wmth")
