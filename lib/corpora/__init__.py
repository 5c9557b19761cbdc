"""Unlabelled text: corpora of unique sentences with their documents, ledes and groups of equal meaning.

========================  ============================================================================
name                      text
========================  ============================================================================
``bible-gospels``         Gospels and Acts in five English translations, one verse a sentence
``bible-nt``, ``bible``   the New Testament in the same five; the whole Bible in those that have it
``wikipedia-sample``      the Wikipedia articles that gensim ships, segmented
``lee``                   the 300 newswire documents of Lee's background corpus (gensim), segmented
``reuters``               the 19,043 news items of Reuters-21578 that have a body, segmented; tables left
                          out (`lib.corpora.newswire` says how); needs ``corpora/reuters21578`` of the data
``gigaword:YEAR``         the stories of English Gigaword (LDC2011T07) of one year, segmented in the same
                          way; needs ``corpora/gigaword/data``, which the LDC licenses
``lines:PATH``            your own file: UTF-8, one sentence a line, plain or gzip; an empty line starts
                          a new document
``text:PATH``             your own file of running text: UTF-8, plain or gzip, segmented; an empty line
                          ends a paragraph, which no sentence crosses, and starts a new document
========================  ============================================================================

``reuters``, ``gigaword`` and ``text`` are kept in the cache once they are segmented, unless they are small.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lib.corpora import bible, cache, gensim_texts, reading, running_text, segmentation, text
from lib.corpora.running_text import RunningText
from lib.corpora.segmentation import SENTENCIZER, Passage
from lib.corpora.sentences import Collector, Sentences
from lib.run import locks, parameters, paths, progress
from lib.run.errors import InputError
from lib.run.parameters import in_range, nearest

UNKNOWN_GROUP = -1
VERSION = 1  # of the corpora in the cache: raised when reading or segmenting changes what comes out

# Sizes of the files that are read, in bytes.
LONG_WORK = 4_000_000  # from here on (about three seconds) there is a progress bar and an entry in the cache
POOL_PAYS = 30_000_000  # from here on several processes, which take three seconds to start


@dataclass(frozen=True)
class Corpus:
    """Unique sentences in order, and what is known of them.

    Attributes
    ----------
    name : str
    sentences : sequence of str, length n, no two alike; a slice of it is a list
    documents : int32[n], the number of each sentence's document
    ledes : int32[m], ascending indices of the sentences that open a document
    groups : int32[n], equal for sentences that mean the same (a verse's translations), -1 where unknown
    duplicates : int, how many repeated sentences were left out
    documents_read : int, how many documents the source has, those without a sentence among them
    fragments : int, how many rows of tables and other fragments were left out (newswire only)
    """

    name: str
    sentences: Sequence[str]
    documents: np.ndarray
    ledes: np.ndarray
    groups: np.ndarray
    duplicates: int = field(default=0)
    documents_read: int = field(default=0)
    fragments: int = field(default=0)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def sentences_read(self) -> int:
        """How many sentences the source has, repeated ones among them."""
        return len(self) + self.duplicates

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change when any sentence or their order does."""
        return text.fingerprint(self.sentences)


class Record(NamedTuple):
    """A sentence as it stands in its source, before duplicates are removed.

    The first of a document is its lede unless `opens` is false: what opened the document was left out.
    """

    sentence: str
    document: int
    group: int = UNKNOWN_GROUP
    opens: bool = True


@dataclass
class _Tally:
    """What was read beside the sentences; known once they have all been read."""

    documents: int = 0
    fragments: int = 0


def names() -> list[str]:
    """The names that `load` knows, without those that take something after a colon."""
    return [*_SOURCES, *running_text.NAMES]


def load(name: str, segmenter: str = SENTENCIZER, processes: int | None = None) -> Corpus:
    """Load a corpus by name (the module's docstring lists them).

    A sentence that occurs again is left out, and its first occurrence stands for it: if both belong to a
    group, the two groups become one, and if the later one opened a document, the first is a lede.

    Parameters
    ----------
    segmenter : for reuters, gigaword and text: spaCy's rules, or the name of an installed spaCy pipeline
        that marks sentences, such as en_core_web_sm (as in the N2O paper; far slower)
    processes : how many segment those; None: one for small ones, as many as there are cores for large ones.
        The result is the same.

    Raises InputError for an unknown name and for a file that is missing, empty or not what it should be.
    """
    parameters.text("corpus", name)
    if source := running_text.find(name):
        return _segmented(name, source, segmenter, processes)
    if segmenter != SENTENCIZER:
        raise InputError(
            f"segmenter: {name!r} comes with its sentences; give {segmenter!r} with reuters, gigaword:YEAR, text:PATH"
        )
    if name.startswith("lines:"):
        return _assemble(name, _lines(paths.from_root(name.removeprefix("lines:"))))
    if name not in _SOURCES:
        choices = [*names(), "gigaword:YEAR", "lines:PATH", "text:PATH"]
        raise InputError(f"corpus: {name!r} is not known; {nearest(name, choices)}")
    return _assemble(name, _SOURCES[name]())


def _assemble(name: str, records: Iterable[Record], tally: _Tally | None = None) -> Corpus:
    collector, opening = Collector(), bytearray()
    documents, groups = array("i"), array("i")
    for record in records:
        opening.append(record.opens and (not documents or record.document != documents[-1]))
        collector.append(record.sentence)
        documents.append(record.document)
        groups.append(record.group)
    if not documents:
        raise InputError(f"corpus: {name!r} holds no sentence")
    sentences, first = collector.unique()
    kept = first == np.arange(len(first))
    place = (np.cumsum(kept, dtype=np.int32) - 1)[first]  # of each record's sentence among the unique ones
    document, group = np.frombuffer(documents, np.int32), np.frombuffer(groups, np.int32)
    again = ~kept & (group != UNKNOWN_GROUP) & (group[first] != UNKNOWN_GROUP)
    return Corpus(
        name=name,
        sentences=sentences,
        documents=document[kept],
        ledes=np.unique(place[np.frombuffer(opening, bool)]),
        groups=_merge(group[kept], np.stack([group[first][again], group[again]])),
        duplicates=len(first) - len(sentences),
        documents_read=tally.documents if tally else len(np.unique(document)),
        fragments=tally.fragments if tally else 0,
    )


def _merge(groups: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Give the groups that `pairs`, int32[2, k], connect, directly or through others, their smallest number."""
    if not pairs.size:
        return groups
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # A group may be in `pairs` alone: all its sentences are repetitions.
    labels, position = np.unique(np.concatenate([groups, *pairs]), return_inverse=True)
    position, left, right = np.split(position, [len(groups), len(groups) + pairs.shape[1]])
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


def _lines(path: Path) -> Iterator[Record]:
    reading.must_exist(path, "lines:PATH with one sentence a line")
    document = 0
    empty_before = False
    seen = False
    for line in reading.lines(path):
        sentence = text.squeeze(line)
        if not sentence:
            empty_before = True
            continue
        document += empty_before and seen
        empty_before, seen = False, True
        yield Record(sentence, document)


_SOURCES: dict[str, Callable[[], Iterator[Record]]] = {
    "bible-gospels": lambda: _verses(bible.MATTHEW, bible.ROMANS),
    "bible-nt": lambda: _verses(bible.MATTHEW, bible.END),
    "bible": lambda: _verses(bible.GENESIS, bible.END),
    "wikipedia-sample": lambda: (Record(*each) for each in gensim_texts.wikipedia()),
    "lee": lambda: (Record(*each) for each in gensim_texts.lee()),
}


# -- running text -------------------------------------------------------------------------------


def _segmented(name: str, source: RunningText, segmenter: str, processes: int | None) -> Corpus:
    """The corpus of a running text, from the cache where it is there."""
    if processes is not None:
        in_range("processes", processes, 1, 1024)
    size = sum(map(reading.size, source.files))
    long = size >= LONG_WORK
    settings = {"version": VERSION, "segmenter": segmenter, "by": segmentation.version(segmenter)}
    entry = cache.entry(name, source.files, settings)
    workers = _cores() if processes is None and size >= POOL_PAYS else processes or 1
    if not long:
        return _segment(name, source, segmenter, workers, show=False)
    if corpus := _from_cache(name, entry):
        return corpus
    with locks.held_if_possible(entry.with_name(f"{entry.name}.lock"), f"segmenting {name}"):
        if not (corpus := _from_cache(name, entry)):
            corpus = _segment(name, source, segmenter, workers, show=True)
            _to_cache(entry, corpus)
    return corpus


def _segment(name: str, source: RunningText, segmenter: str, workers: int, show: bool) -> Corpus:
    with progress.bar(None, f"segment {name}", unit="documents", show=show) as bar:
        segmented = segmentation.segment(_passages(source, bar), segmenter, workers)
        tally = _Tally()
        return _assemble(name, _records(segmented, source.is_sentence, tally, bar), tally)


def _passages(source: RunningText, bar: Any) -> Iterator[Passage]:
    """All passages; after each file the bar's total is what the documents so far promise for all bytes."""
    sizes = [file.stat().st_size for file in source.files]
    documents = read = 0
    for file, size in zip(source.files, sizes, strict=True):
        for passage in source.read(file):
            documents += passage.opens
            yield passage
        read += size
        bar.total = round(documents * sum(sizes) / max(read, 1))


def _records(
    segmented: Iterable[tuple[bool, list[str]]], is_sentence: Callable[[str], bool], tally: _Tally, bar: Any
) -> Iterator[Record]:
    nothing_before = True
    for opens_document, units in segmented:
        if opens_document:
            tally.documents += 1
            bar.update(1)
            nothing_before = True
        for unit in units:
            if is_sentence(unit):
                yield Record(unit, tally.documents - 1, opens=nothing_before)
            else:
                tally.fragments += 1
            nothing_before = False


def _from_cache(name: str, entry: Path) -> Corpus | None:
    if stored := cache.read(entry):
        arrays, counts = stored
        return Corpus(name, Sentences(arrays.pop("text"), arrays.pop("starts")), **arrays, **counts)
    return None


def _to_cache(entry: Path, corpus: Corpus) -> None:
    arrays = {"text": np.frombuffer(corpus.sentences.text, np.uint8), "starts": corpus.sentences.starts}
    arrays |= {name: getattr(corpus, name) for name in ("documents", "ledes", "groups")}
    counts = {name: getattr(corpus, name) for name in ("duplicates", "documents_read", "fragments")}
    cache.write(entry, arrays, counts)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
