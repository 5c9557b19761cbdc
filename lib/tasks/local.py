"""Labeled sets made of the default corpus: something to learn without a download.

===================  ===================================================================
``Verses``           groups of two or more different translations of a verse; World
                     English first in each group
``Verses-far``       the same verses twice, in the two translations that share the
                     fewest words: Young's and Weymouth's
``Translations``     which translation a verse is from; a class each in the order of
                     `lib.corpora.bible.TRANSLATIONS`
``Books``            which book a verse is from: 0 Matthew, 1 Mark, 2 Luke, 3 John, 4
                     Acts
``Questions``        1 a question, 0 not, with the marks at the end of either removed
===================  ===================================================================

The last three are balanced, with 300 sentences of each class (questions: 400).
Sentences that mean the same have the same group, so folds that keep groups together
(`lib.transfer`) never train on one translation of a verse and test on another.
Translations also differ in their quotation marks, which helps embedders that read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from lib import corpora
from lib.corpora import bible, text
from lib.tasks.readers import ClassificationTask, ParaphraseGroups, numbered

CORPUS = "bible-gospels"
BOOKS = 5

# Of Verses-far.
FAR = ["ylt", "wmth"]
VERSES = 600
LONGEST = 20  # words of a sentence
OVERLAP = 0.5  # of two verses that are too much alike

OF_A_CLASS = 300  # verses of Translations and Books
QUESTIONS = 400  # and as many statements
BOOK = 1_000_000  # what a verse number has for each book
_QUOTES = "\"'\u2018\u2019\u201c\u201d\u00ab\u00bb)\\]"
_QUESTION = re.compile(rf"^[^?]*\?[\s{_QUOTES}]*$")
_END = re.compile(rf"[\s.,;:!?\u2014{_QUOTES}-]*$")


def verses() -> ParaphraseGroups:
    """Verses with two or more different translations."""
    sentences = _sentences()
    known = sentences[sentences["group"] != corpora.UNKNOWN_GROUP]
    return numbered(_members(known), at_least=2)


def verses_far(*translations: str) -> ParaphraseGroups:
    """Verses in some of the translations; the same verse has the same label in all.

    They have at most 20 words, and share less than half of their words with each other.
    """
    verses = _apart()[list(translations)].to_numpy()
    labels = np.tile(np.arange(VERSES, dtype=np.int32), len(translations))
    return ParaphraseGroups(verses.T.ravel().tolist(), labels)


@lru_cache(maxsize=1)
def _apart() -> pd.DataFrame:
    """The verses of `Verses-far`, in their order, a column for each translation."""
    from sklearn.feature_extraction.text import CountVectorizer

    complete = _complete()
    pairs = complete[FAR]
    words = pairs.map(lambda verse: len(text.lower_words(verse)))
    short = pairs[words.max(axis=1) <= LONGEST]
    alone = np.ones(len(short), bool)
    for name in FAR:
        types = CountVectorizer(analyzer=text.content_types).fit_transform(short[name])
        shared = (types @ types.T).toarray()
        sizes = shared.diagonal()
        overlap = shared / (sizes[:, None] + sizes - shared)  # Jaccard
        alone &= (overlap >= OVERLAP).sum(axis=1) == 1  # each overlaps itself
    chosen = _drawn(short.index[alone], VERSES, np.random.default_rng(0))
    return complete.loc[chosen]


def translations() -> ClassificationTask:
    """Which translation: verses that all five translations word differently."""
    complete = _complete()
    chosen = _drawn(complete.index, OF_A_CLASS, np.random.default_rng(0))
    labelled = []
    for group, row in complete.loc[chosen].iterrows():
        labelled += [(verse, code, group) for code, verse in enumerate(row)]
    return _task(labelled)


def books() -> ClassificationTask:
    """Which book: verses of each book, each in one randomly drawn translation."""
    rng = np.random.default_rng(0)
    versions = _versions()
    book = versions["number"] // BOOK - bible.MATTHEW // BOOK
    # A verse that two books share has no right answer.
    in_one = book.groupby(versions["group"]).transform("nunique") == 1
    labelled = []
    for code in range(BOOKS):
        verses_of_book = versions[in_one & (book == code)]
        drawn = _one_of_each(verses_of_book, OF_A_CLASS, rng)
        labelled += [(verse, code, group) for verse, group in drawn]
    return _task(labelled)


def questions() -> ClassificationTask:
    """A question or not, no two of which mean the same.

    A question has one question mark, at its end. The other class has none in any
    translation of the verse. Marks at the end are removed from all sentences, since the
    mark would give the answer away.
    """
    sentences = _sentences()
    known = sentences["group"] != corpora.UNKNOWN_GROUP
    # Each sentence whose group is unknown is a group of its own.
    alone = sentences.index + sentences["group"].max() + 1
    sentences["group"] = sentences["group"].where(known, alone)
    marked = sentences.loc[sentences["text"].str.contains("?", regex=False), "group"]
    questions = sentences[sentences["text"].str.match(_QUESTION)]
    statements = sentences[~sentences["group"].isin(marked)]
    rng = np.random.default_rng(0)
    labelled = []
    for code, rows in ((1, questions), (0, statements)):
        drawn = _one_of_each(rows, QUESTIONS, rng)
        labelled += [(_END.sub("", sentence), code, group) for sentence, group in drawn]
    return _task(labelled)


# -- the verses ------------------------------------------------------------------------


def _sentences() -> pd.DataFrame:
    """The sentences of the corpus: columns text and group."""
    corpus = corpora.load(CORPUS)
    return pd.DataFrame({"text": list(corpus.sentences), "group": corpus.groups})


@lru_cache(maxsize=1)
def _versions() -> pd.DataFrame:
    """Each translation of each group of equal meaning.

    The columns are translation, number, text and group.

    Verses with the same text, in one translation or in two, are left out, since nobody
    can tell them apart.
    """
    verses = pd.DataFrame(bible.verses(*bible.PARTS[CORPUS]))
    verses = verses.drop_duplicates("text", keep=False)
    verses = verses.merge(_sentences(), on="text")
    known = verses["group"] != corpora.UNKNOWN_GROUP
    return verses[known].drop_duplicates(["group", "translation"])


def _complete() -> pd.DataFrame:
    """The verses that every translation has.

    A row for each group, a column for each translation.
    """
    versions = _versions()
    table = versions.pivot(index="group", columns="translation", values="text")
    return table.loc[versions["group"].unique(), list(bible.TRANSLATIONS)].dropna()


def _members(rows: pd.DataFrame) -> pd.Series:
    """The sentences of each group, a list, in the order of their first ones."""
    return rows.groupby("group", sort=False)["text"].agg(list)


def _one_of_each(
    rows: pd.DataFrame, count: int, rng: np.random.Generator
) -> list[tuple[str, int]]:
    """One sentence of each of `count` groups, with the group; both are drawn."""
    members = _members(rows)
    drawn = []
    for group in _drawn(members.index, count, rng):
        sentences = members[group]
        drawn.append((sentences[rng.integers(len(sentences))], group))
    return drawn


def _drawn(among: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    return sorted(rng.choice(among, size=count, replace=False).tolist())


def _task(labelled: Iterable[tuple[str, int, int]]) -> ClassificationTask:
    sentences, labels, groups = zip(*labelled, strict=True)
    return ClassificationTask(
        list(sentences), np.array(labels, np.int32), np.array(groups, np.int32)
    )
