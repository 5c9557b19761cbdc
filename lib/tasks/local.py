"""Classification tasks made of the default corpus, so that a classifier has something to learn without a download.

===================  ==================================================================================================
``Translations``     which translation a verse is from; a class each in the order of `lib.corpora.bible.TRANSLATIONS`
``Books``            which book a verse is from: 0 Matthew, 1 Mark, 2 Luke, 3 John, 4 Acts
``Questions``        1 a question, 0 not, with the marks at the end of either removed
===================  ==================================================================================================

All are balanced, and drawn by a seed. Whatever says the same as another sentence has the same group, so that folds
which keep groups together (`lib.transfer`) never train on one translation of a verse and test on another. Translations
differ in their quotation marks too, which is a help to embedders that read them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lib import corpora
from lib.corpora import Corpus, bible
from lib.run.errors import InputError
from lib.tasks.readers import ClassificationTask

CORPUS = "bible-gospels"
BOOKS = ("Matthew", "Mark", "Luke", "John", "Acts")

_BOOK = 1_000_000  # what a verse number has for each book
_QUOTES = "\"'\u2018\u2019\u201c\u201d\u00ab\u00bb)\\]"
_ASKED = re.compile(rf"^[^?]*\?[\s{_QUOTES}]*$")
_END = re.compile(rf"[\s.,;:!?\u2014{_QUOTES}-]*$")

Groups = dict[int, list[int]]  # group of equal meaning -> indices in the corpus


@dataclass(frozen=True, eq=False)
class GroupedTask(ClassificationTask):
    """A ClassificationTask in which some sentences say the same, so that they belong in one fold.

    Attributes
    ----------
    groups : int32[n], equal for sentences that say the same
    indices : int32[n], where the sentences stand in the corpus `CORPUS`, whose embeddings may be in the store; None
        where they have been changed
    """

    groups: np.ndarray
    indices: np.ndarray | None = None


def translations(verses: int = 300, seed: int = 0) -> GroupedTask:
    """Which translation: `verses` verses in all five translations, each of which words it differently.

    Raises InputError if there are not so many.
    """
    corpus, versions = _default()
    complete = [group for group, members in versions.items() if len(members) == len(bible.TRANSLATIONS)]
    drawn = _draw("verses", complete, verses, np.random.default_rng(seed))
    codes = {translation: code for code, translation in enumerate(bible.TRANSLATIONS)}
    return _task(corpus, [(index, codes[name]) for group in drawn for name, (index, _) in versions[group].items()])


def books(verses: int = 300, seed: int = 0) -> GroupedTask:
    """Which book: `verses` verses of each, each in one translation, which is drawn.

    Raises InputError if a book has not so many.
    """
    corpus, versions = _default()
    rng = np.random.default_rng(seed)
    by_book: list[Groups] = [{} for _ in BOOKS]
    for group, members in versions.items():
        found = {number // _BOOK for _, number in members.values()}
        if len(found) == 1:  # what two books share has no right answer
            by_book[found.pop() - bible.MATTHEW // _BOOK][group] = [index for index, _ in members.values()]
    labelled = []
    for code, groups in enumerate(by_book):
        drawn = _draw("verses", list(groups), verses, rng, f" in {BOOKS[code]}")
        labelled += [(int(rng.choice(groups[group])), code) for group in drawn]
    return _task(corpus, labelled)


def questions(sentences: int = 400, seed: int = 0, corpus: str = CORPUS) -> GroupedTask:
    """A question or not: so many sentences of each class, no two of which say the same.

    A question has one question mark, at its end. The other class has none, in no translation of the verse. Marks at the
    end are removed from all, for otherwise the mark would be the answer.

    Parameters
    ----------
    corpus : the name of any corpus of `lib.corpora`

    Raises InputError if the corpus has not so many.
    """
    text, rng = _loaded(corpus), np.random.default_rng(seed)
    asked, told = _asked_and_told(text)
    chosen: list[tuple[int, int, int]] = []
    for code, groups, what in ((1, asked, "questions"), (0, told, "statements")):
        drawn = _draw("sentences", list(groups), sentences, rng, f" {what} in {corpus!r}")
        chosen += [(int(rng.choice(groups[group])), group, code) for group in drawn]
    indices, groups, labels = np.array(chosen, np.int32).T
    return GroupedTask([_END.sub("", text.sentences[i]) for i in indices.tolist()], labels, groups)


def _asked_and_told(text: Corpus) -> tuple[Groups, Groups]:
    """Questions, and sentences of groups without any question mark; one of an unknown group is its own group."""
    asked: Groups = {}
    told: Groups = {}
    marked = set()
    alone = int(text.groups.max(initial=-1)) + 1
    for i, (sentence, known) in enumerate(zip(text.sentences, text.groups.tolist(), strict=True)):
        group = alone + i if known == corpora.UNKNOWN_GROUP else known
        if "?" not in sentence:
            told.setdefault(group, []).append(i)
            continue
        marked.add(group)
        if _ASKED.search(sentence):
            asked.setdefault(group, []).append(i)
    return asked, {group: members for group, members in told.items() if group not in marked}


@lru_cache(maxsize=1)
def _loaded(name: str) -> Corpus:
    return corpora.load(name)


@lru_cache(maxsize=1)
def _default() -> tuple[Corpus, dict[int, dict[str, tuple[int, int]]]]:
    """The corpus, and for each group of equal meaning: translation -> (index in the corpus, verse number).

    What several verses share word for word, in one translation or in two, is left out: nobody can tell them apart.
    """
    corpus = _loaded(CORPUS)
    verses = list(bible.verses(bible.MATTHEW, bible.ROMANS))
    occurrences = Counter(verse.text for verse in verses)
    place = {sentence: i for i, sentence in enumerate(corpus.sentences)}
    versions: dict[int, dict[str, tuple[int, int]]] = {}
    for verse in verses:
        index = place[verse.text]
        group = int(corpus.groups[index])
        if occurrences[verse.text] == 1 and group != corpora.UNKNOWN_GROUP:
            versions.setdefault(group, {}).setdefault(verse.translation, (index, verse.number))
    return corpus, versions


def _draw(parameter: str, among: Sequence[int], count: int, rng: np.random.Generator, what: str = "") -> list[int]:
    if not 1 <= count <= len(among):
        raise InputError(f"{parameter}: {count} is not accepted; there are {len(among)}{what}: give 1 to {len(among)}")
    return sorted(rng.choice(np.asarray(among), size=count, replace=False).tolist())


def _task(corpus: Corpus, labelled: Iterable[tuple[int, int]]) -> GroupedTask:
    indices, labels = np.array(list(labelled), np.int32).T
    return GroupedTask([corpus.sentences[i] for i in indices.tolist()], labels, corpus.groups[indices], indices)


MAKERS: Mapping[str, Callable[..., GroupedTask]] = {
    "Translations": translations,
    "Books": books,
    "Questions": questions,
}
