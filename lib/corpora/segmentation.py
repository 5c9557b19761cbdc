"""Running text into sentences: streaming, in one process or in several, with the same result.

The work goes chunk by chunk, and only a few chunks are under way at a time, so that memory does not grow with the
text. Neither does what spaCy remembers: words of a chunk are forgotten after it, save those of the first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import metadata
from typing import Any, NamedTuple

from lib.corpora import text
from lib.run.errors import InputError
from lib.run.parameters import shown
from lib.run.processes import in_processes

SENTENCIZER = "sentencizer"
CHUNK = 1 << 18  # characters
REMEMBERED = 4 * CHUNK  # of so much text the words stay known: most that follow are among them


class Passage(NamedTuple):
    """A stretch of running text that no sentence crosses (a paragraph), and whether it opens a document."""

    text: str
    opens: bool


def segment(
    passages: Iterable[Passage], segmenter: str = SENTENCIZER, processes: int = 1
) -> Iterator[tuple[bool, list[str]]]:
    """For each passage in order: whether it opens a document, and its sentences, white space squeezed.

    Parameters
    ----------
    segmenter : "sentencizer" (rules), or an installed spaCy pipeline that marks sentences, such as en_core_web_sm
    processes : how many work at it; two or more pay from some thirty megabytes of text
    """
    chunks = _chunks(passages)
    _splitter(segmenter)  # an unknown one is an error here, not in another process
    split = _by_pool(chunks, segmenter, processes) if processes > 1 else _by_this(chunks, segmenter)
    for chunk, lists in split:
        yield from zip((passage.opens for passage in chunk), lists, strict=True)


def version(segmenter: str) -> str:
    """What else than the text decides where sentences end: the versions of spaCy and of its pipeline."""
    try:
        return f"{metadata.version('spacy')} {metadata.version(segmenter)}"
    except (metadata.PackageNotFoundError, ValueError):
        return metadata.version("spacy")


def _chunks(passages: Iterable[Passage]) -> Iterator[list[Passage]]:
    chunk, size = [], 0
    for passage in passages:
        chunk.append(passage)
        size += len(passage.text)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


# -- one process --------------------------------------------------------------------------------


def _by_this(chunks: Iterable[list[Passage]], segmenter: str) -> Iterator[tuple[list[Passage], list[list[str]]]]:
    for chunk in chunks:
        yield chunk, _split(segmenter, [passage.text for passage in chunk])


def _split(segmenter: str, texts: list[str]) -> list[list[str]]:
    return _splitter(segmenter).split(texts)


class _Splitter:
    """A spaCy pipeline, and how much text it has seen."""

    def __init__(self, segmenter: str) -> None:
        self.rules = segmenter == SENTENCIZER
        self.nlp = text.segmenter() if self.rules else _pipeline(segmenter)
        self.seen = 0

    def split(self, texts: list[str]) -> list[list[str]]:
        sentences_of = text.segment if self.rules else self._parsed
        if self.seen < REMEMBERED:
            self.seen += sum(map(len, texts))
            return [sentences_of(each) for each in texts]
        with self.nlp.memory_zone():
            return [sentences_of(each) for each in texts]

    def _parsed(self, passage: str) -> list[str]:
        sentences = (text.squeeze(span.text) for span in self.nlp(text.squeeze(passage)).sents)
        return [sentence for sentence in sentences if sentence]


_splitter = lru_cache(maxsize=1)(_Splitter)


def _pipeline(name: str) -> Any:
    installed = sorted(metadata.entry_points(group="spacy_models").names)
    if name not in installed:  # spaCy would also import any package of that name, or read any folder
        raise InputError(
            f"segmenter: no spaCy pipeline {shown(name)} is installed; install it (python -m spacy download) or give "
            f"one of: {', '.join([SENTENCIZER, *installed])}"
        )
    import spacy

    try:
        nlp = spacy.load(name, exclude=["ner", "tagger", "morphologizer", "attribute_ruler", "lemmatizer"])
    except (OSError, ValueError) as error:
        raise InputError(f"segmenter: {name} cannot be read ({error}); install it again") from error
    if not {"parser", "senter", "sentencizer"} & set(nlp.pipe_names):
        raise InputError(f"segmenter: the spaCy pipeline {name!r} marks no sentences; give one with a parser or senter")
    return nlp


# -- several processes --------------------------------------------------------------------------


def _by_pool(
    chunks: Iterator[list[Passage]], segmenter: str, processes: int
) -> Iterator[tuple[list[Passage], list[list[str]]]]:
    """As `_by_this`."""
    waiting: deque[list[Passage]] = deque()

    def work() -> Iterator[tuple[str, list[str]]]:
        for chunk in chunks:
            waiting.append(chunk)
            yield segmenter, [passage.text for passage in chunk]

    for lists in in_processes(_split, work(), processes):
        yield waiting.popleft(), lists
