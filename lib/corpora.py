"""Unlabelled text: corpora of unique sentences with their documents, ledes and groups of equal meaning.

========================  ============================================================================
name                      text
========================  ============================================================================
``bible-gospels``         Gospels and Acts in five English translations, one verse a sentence
``bible-nt``, ``bible``   the New Testament in the same five; the whole Bible in those that have it
``wikipedia-sample``      the Wikipedia articles that gensim ships, segmented
``lee``                   the 300 newswire documents of Lee's background corpus (gensim), segmented
``lines:PATH``            your own file: UTF-8, one sentence a line, plain or gzip; an empty line starts
                          a new document
========================  ============================================================================
"""

from __future__ import annotations

import gzip
import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lib import bible, paths, text
from lib.errors import InputError
from lib.parameters import nearest

UNKNOWN_GROUP = -1


@dataclass(frozen=True)
class Corpus:
    """Unique sentences in order, and what is known of them.

    Attributes
    ----------
    name : str
    sentences : list of str, length n, no two alike
    documents : int32[n], the number of each sentence's document
    ledes : int32[m], ascending indices of the sentences that open a document
    groups : int32[n], equal for sentences that mean the same (a verse's translations), -1 where unknown
    duplicates : int, how many repeated sentences were left out
    """

    name: str
    sentences: list[str]
    documents: np.ndarray
    ledes: np.ndarray
    groups: np.ndarray
    duplicates: int = field(default=0)

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change when any sentence or their order does."""
        return text.fingerprint(self.sentences)


class Record(NamedTuple):
    """A sentence as it stands in its source, before duplicates are removed."""

    sentence: str
    document: int
    group: int = UNKNOWN_GROUP


def names() -> list[str]:
    """The names that `load` knows, without ``lines:PATH``."""
    return list(_SOURCES)


def load(name: str) -> Corpus:
    """Load a corpus by name (the module's docstring lists them).

    A sentence that occurs again is left out, and its first occurrence stands for it: if both belong to a
    group, the two groups become one, and if the later one opened a document, the first is a lede.

    Raises InputError for an unknown name and for a file that is missing, empty or not UTF-8.
    """
    if name.startswith("lines:"):
        return _assemble(name, _lines(paths.from_root(name.removeprefix("lines:"))))
    if name not in _SOURCES:
        raise InputError(f"corpus: {name!r} is not known; {nearest(name, [*_SOURCES, 'lines:PATH'])}")
    return _assemble(name, _SOURCES[name]())


def _assemble(name: str, records: Iterable[Record]) -> Corpus:
    first: dict[str, int] = {}
    documents, groups, ledes = [], [], []
    same_group: list[tuple[int, int]] = []
    last_document = None
    total = 0
    for total, record in enumerate(records, start=1):  # noqa: B007 - the last value is the count
        index = first.setdefault(record.sentence, len(first))
        if index == len(documents):
            documents.append(record.document)
            groups.append(record.group)
        elif UNKNOWN_GROUP not in (groups[index], record.group):
            same_group.append((groups[index], record.group))
        if record.document != last_document:
            ledes.append(index)
            last_document = record.document
    if not first:
        raise InputError(f"corpus: {name!r} holds no sentence")
    return Corpus(
        name=name,
        sentences=list(first),
        documents=np.asarray(documents, dtype=np.int32),
        ledes=np.unique(np.asarray(ledes, dtype=np.int32)),
        groups=_merge(np.asarray(groups, dtype=np.int32), same_group),
        duplicates=total - len(first),
    )


def _merge(groups: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Give the groups that `pairs` connect, directly or through others, their smallest number."""
    if not pairs:
        return groups
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    labels, position = np.unique(groups, return_inverse=True)
    left, right = np.searchsorted(labels, np.asarray(pairs).T)
    links = coo_array((np.ones(len(left)), (left, right)), shape=(len(labels), len(labels)))
    component = connected_components(links, directed=False)[1]
    smallest = np.full(component.max() + 1, np.iinfo(np.int32).max)
    np.minimum.at(smallest, component, labels)
    return smallest[component[position]].astype(np.int32)


# -- sources ------------------------------------------------------------------------------------


def _verses(first_verse: int, last_verse: int) -> Iterator[Record]:
    """Bible verses, one translation after the other; a document is a chapter in one translation."""
    documents: dict[tuple[str, int], int] = {}
    for verse in bible.verses(first_verse, last_verse):
        chapter = (verse.translation, verse.number // 1000)
        yield Record(verse.text, documents.setdefault(chapter, len(documents)), verse.meaning)


def _gensim_file(name: str) -> Path:
    return Path(str(files("gensim") / "test" / "test_data" / name))


def _lee() -> Iterator[Record]:
    lines = _gensim_file("lee_background.cor").read_text(encoding="latin-1").splitlines()
    for document, line in enumerate(lines):
        for sentence in text.segment(line):
            yield Record(sentence, document)


_WIKIPEDIA = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_MARKUP = re.compile(r"'{2,}|\(\s*[;,]*\s*\)")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*$")


def _wikipedia() -> Iterator[Record]:
    """Sentences of running text: headings, lists, captions and fragments of fewer than four words are left out."""
    import bz2

    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with bz2.open(_gensim_file(_WIKIPEDIA)) as dump:
        pages = extract_pages(dump, filter_namespaces=("0",))
        articles = (markup for _, markup, _ in pages if not markup.lower().startswith("#redirect"))
        for document, markup in enumerate(articles):
            for sentence in _prose(filter_wiki(markup)):
                yield Record(sentence, document)


def _prose(article: str) -> Iterator[str]:
    for line in article.splitlines():
        if not line or not (line[0].isalnum() or line[0] in "'\"("):
            continue
        for sentence in text.segment(_MARKUP.sub("", html.unescape(line))):
            if _SENTENCE_END.search(sentence) and len(sentence.split()) >= 4:
                yield sentence


def _lines(path: Path) -> Iterator[Record]:
    document = 0
    empty_before = False
    seen = False
    for line in _read_lines(path):
        sentence = text.squeeze(line)
        if not sentence:
            empty_before = True
            continue
        document += empty_before and seen
        empty_before, seen = False, True
        yield Record(sentence, document)


def _read_lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise InputError(f"corpus: no file {path}; give lines:PATH with one sentence a line, plain or gzip")
    with path.open("rb") as stream:
        compressed = stream.read(2) == b"\x1f\x8b"
    number = 0
    try:
        with (gzip.open if compressed else open)(path, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"corpus: {path}, line {number}: not UTF-8; save the file as UTF-8") from error
    except (EOFError, OSError) as error:
        raise InputError(f"corpus: {path}, after line {number}: cannot be read ({error})") from error


_SOURCES: dict[str, Callable[[], Iterator[Record]]] = {
    "bible-gospels": lambda: _verses(bible.MATTHEW, bible.ROMANS),
    "bible-nt": lambda: _verses(bible.MATTHEW, bible.END),
    "bible": lambda: _verses(bible.GENESIS, bible.END),
    "wikipedia-sample": _wikipedia,
    "lee": _lee,
}
