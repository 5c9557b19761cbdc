"""Labelled sets made of the default corpus, so that there is something to learn without a download.

===================  ==================================================================================================
``Verses``           groups of two or more different translations of a verse; World English first in each group
``Verses-far``       the same verses twice, in the two translations that share the fewest words: Young's and Weymouth's
``Translations``     which translation a verse is from; a class each in the order of `lib.corpora.bible.TRANSLATIONS`
``Books``            which book a verse is from: 0 Matthew, 1 Mark, 2 Luke, 3 John, 4 Acts
``Questions``        1 a question, 0 not, with the marks at the end of either removed
===================  ==================================================================================================

The last three are balanced: 300 sentences of each class, of questions 400. Whatever means the same as another sentence
has the same group, so that folds which keep groups together (`lib.transfer`) never train on one translation of a verse
and test on another. Translations differ in their quotation marks too, which is a help to embedders that read them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from lib import corpora
from lib.corpora import bible, text
from lib.corpora.bible import Verse
from lib.tasks.readers import ClassificationTask, ParaphraseGroups, numbered

CORPUS = "bible-gospels"
BOOKS = ("Matthew", "Mark", "Luke", "John", "Acts")

# Of Verses-far.
FAR = ("ylt", "wmth")
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
    corpus = corpora.load(CORPUS)
    known = zip(corpus.sentences, corpus.groups.tolist(), strict=True)
    return numbered(_by_group(pair for pair in known if pair[1] != corpora.UNKNOWN_GROUP).values(), at_least=2)


def verses_far(*translations: str) -> ParaphraseGroups:
    """Verses in some of the translations `FAR`; the same verse has the same label in all.

    They have at most 20 words, and share less than half of their words with each other.
    """
    chosen = _apart()
    sentences = [_versions()[group][translation].text for translation in translations for group in chosen]
    return ParaphraseGroups(sentences, np.tile(np.arange(VERSES, dtype=np.int32), len(translations)))


@lru_cache(maxsize=1)
def _apart() -> list[int]:
    """The groups of `Verses-far`, in the order of the verses."""
    from sklearn.feature_extraction.text import CountVectorizer

    pairs = {group: [_versions()[group][name].text for name in FAR] for group in _complete()}
    short = [group for group, pair in pairs.items() if max(len(text.lower_words(verse)) for verse in pair) <= LONGEST]
    alone = np.ones(len(short), bool)
    for sentences in zip(*(pairs[group] for group in short), strict=True):
        types = CountVectorizer(analyzer=text.content_types).fit_transform(sentences)
        shared = (types @ types.T).toarray()
        sizes = shared.diagonal()
        overlap = shared / (sizes[:, None] + sizes - shared)  # Jaccard
        alone &= (overlap >= OVERLAP).sum(axis=1) == 1  # each overlaps itself
    return _drawn(np.array(short)[alone].tolist(), VERSES, np.random.default_rng(0))


def translations() -> ClassificationTask:
    """Which translation: verses in all five translations, each of which words it differently."""
    chosen = _drawn(_complete(), OF_A_CLASS, np.random.default_rng(0))
    codes = list(enumerate(bible.TRANSLATIONS))
    return _task((_versions()[group][name].text, code, group) for group in chosen for code, name in codes)


def books() -> ClassificationTask:
    """Which book: verses of each, each in one translation, which is drawn."""
    rng, labelled = np.random.default_rng(0), []
    for code in range(len(BOOKS)):
        book = bible.MATTHEW // BOOK + code
        # What two books share has no right answer.
        among = [group for group, found in _versions().items() if {v.number // BOOK for v in found.values()} == {book}]
        for group in _drawn(among, OF_A_CLASS, rng):
            sentences = [verse.text for verse in _versions()[group].values()]
            labelled.append((sentences[rng.integers(len(sentences))], code, group))
    return _task(labelled)


def questions() -> ClassificationTask:
    """A question or not, no two of which mean the same.

    A question has one question mark, at its end. The other class has none, in no translation of the verse. Marks at the
    end are removed from all, for otherwise the mark would be the answer.
    """
    corpus = corpora.load(CORPUS)
    alone = np.arange(len(corpus)) + corpus.groups.max() + 1  # the groups of those whose group is unknown
    groups = np.where(corpus.groups == corpora.UNKNOWN_GROUP, alone, corpus.groups).tolist()
    pairs = list(zip(corpus.sentences, groups, strict=True))
    marked = {group for sentence, group in pairs if "?" in sentence}
    questions = _by_group(pair for pair in pairs if _QUESTION.search(pair[0]))
    statements = _by_group(pair for pair in pairs if pair[1] not in marked)
    rng, labelled = np.random.default_rng(0), []
    for code, members in ((1, questions), (0, statements)):
        for group in _drawn(list(members), QUESTIONS, rng):
            sentence = members[group][rng.integers(len(members[group]))]
            labelled.append((_END.sub("", sentence), code, group))
    return _task(labelled)


# -- the verses ---------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _versions() -> dict[int, dict[str, Verse]]:
    """For each group of equal meaning: translation -> verse.

    What several verses share word for word, in one translation or in two, is left out: nobody can tell them apart.
    """
    corpus = corpora.load(CORPUS)
    groups = dict(zip(corpus.sentences, corpus.groups.tolist(), strict=True))
    every = bible.verses(*bible.PARTS[CORPUS])
    occurrences = Counter(verse.text for verse in every)
    versions: dict[int, dict[str, Verse]] = {}
    for verse in every:
        group = groups[verse.text]
        if occurrences[verse.text] == 1 and group != corpora.UNKNOWN_GROUP:
            versions.setdefault(group, {}).setdefault(verse.translation, verse)
    return versions


def _by_group(pairs: Iterable[tuple[str, int]]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for sentence, group in pairs:
        groups.setdefault(group, []).append(sentence)
    return groups


def _complete() -> list[int]:
    """The groups that have a verse in every translation."""
    return [group for group, members in _versions().items() if len(members) == len(bible.TRANSLATIONS)]


def _drawn(among: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    return sorted(rng.choice(among, size=count, replace=False).tolist())


def _task(labelled: Iterable[tuple[str, int, int]]) -> ClassificationTask:
    sentences, labels, groups = zip(*labelled, strict=True)
    return ClassificationTask(list(sentences), np.array(labels, np.int32), np.array(groups, np.int32))
