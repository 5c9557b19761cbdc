"""Splitting running text into sentences, streaming, in one or several processes.

The result is the same for any number of processes. The text is split into chunks, and
only a few are in memory at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from lib.base import progress
from lib.corpora.corpus import Record
from lib.corpora.text import shows, squeeze

CHUNK = 1 << 18  # characters
# Words that spaCy remembers; with more, those of a chunk are forgotten after it.
WORDS = 1 << 17
# Bytes of files (about three seconds) above which there is a progress bar.
LONG_WORK = 4_000_000
# Bytes of files above which several processes pay, which take three seconds to start.
POOL_PAYS = 30_000_000
# Quotation marks and brackets that end a sentence.
CLOSING = re.escape(
    "\"')]}\u201d\u2019\u00bb\u300d\u300f\u3011\u3009\u300b\u3015\uff09\uff3d\uff5d"
)
# Letters of Chinese and Japanese, and of all scripts after Cyrillic.
UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
OTHER = "\u0530-\u1dff\u3040-\ud7ff\uf900-\ufdff\uff66-\uffdc"


class Passage(NamedTuple):
    """A stretch of running text, and whether it opens a document.

    It is a paragraph: no sentence crosses it.
    """

    text: str
    opens: bool


def records(
    name: str,
    files: Sequence[Path],
    read: Callable[[Path], Iterator[Passage]],
    is_sentence: Callable[[str], bool] = shows,
) -> Iterator[Record]:
    """The sentences of some files of running text.

    Parameters
    ----------
    name : str
        For the progress bar.
    files : sequence of Path
    read : callable
        The passages of a file.
    is_sentence : callable
        Which of the pieces that the segmenter makes are kept.
    """
    size = sum(file.stat().st_size for file in files)
    document = -1
    at_start = True
    with progress.bar(
        None, f"segment {name}", unit="documents", show=size >= LONG_WORK
    ) as bar:
        passages = _passages(files, size, read, bar)
        for opens, pieces in segmented(passages, 0 if size >= POOL_PAYS else 1):
            document += opens
            at_start = at_start or opens
            for piece in pieces:
                if is_sentence(piece):
                    yield Record(piece, document, opens=at_start)
                at_start = False


def _passages(
    files: Sequence[Path],
    size: int,
    read: Callable[[Path], Iterator[Passage]],
    bar: Any,
) -> Iterator[Passage]:
    """Yield all passages, and update the total of the progress bar after each file.

    The total is extrapolated from the documents that were read so far.
    """
    done = 0
    for file in files:
        for passage in read(file):
            bar.update(passage.opens)
            yield passage
        done += file.stat().st_size
        bar.total = round(bar.n * size / done)


def segmented(
    passages: Iterable[Passage], processes: int = 1
) -> Iterator[tuple[bool, list[str]]]:
    """For each passage in order: whether it opens a document, and its sentences.

    Parameters
    ----------
    passages : iterable of Passage
    processes : int
        How many to use; 0 for one for each core.
    """
    from lib.base.cluster import in_processes

    chunks = ((chunk,) for chunk in _chunks(passages))
    for part in in_processes(_segment_chunk, chunks, processes):
        yield from part


def _chunks(passages: Iterable[Passage]) -> Iterator[list[Passage]]:
    chunk = []
    size = 0
    for passage in passages:
        chunk.append(passage)
        size += len(passage.text)
        if size >= CHUNK:
            yield chunk
            chunk = []
            size = 0
    yield chunk


def _segment_chunk(chunk: list[Passage]) -> list[tuple[bool, list[str]]]:
    pipeline = _pipeline()
    with (
        pipeline.memory_zone() if len(pipeline.vocab.strings) > WORDS else nullcontext()
    ):
        return [(passage.opens, segment(passage.text)) for passage in chunk]


def segment(text: str) -> list[str]:
    """Split a text into sentences with spaCy's rule-based sentencizer.

    White space is squeezed. The text is first cut at `foreign_ends`, which English
    tokens may have inside them. The sentencizer leaves the opening quotation mark of a
    sentence at the end of the one before; it is moved to where it belongs.
    """
    sentences: list[str] = []
    opening = ""
    for span in chain.from_iterable(_pipeline()(part).sents for part in _parts(text)):
        sentence = opening + squeeze(span.text)
        opening = '"' if sentence.endswith(' "') else ""
        sentence = sentence.removesuffix(' "')
        if sentence:
            sentences.append(sentence)
    return sentences


def _parts(text: str) -> Iterator[str]:
    start = 0
    for end in foreign_ends().finditer(text):
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


@lru_cache(maxsize=1)
def foreign_ends() -> re.Pattern:
    """Ends of sentences in scripts other than Latin, Greek and Cyrillic.

    These are the sentencizer's own marks and two Khmer ones, also without a space after
    them, and a full stop, ! or ? after a letter of these scripts. A colon after an
    Armenian letter and two Ethiopic word separators are full stops, as many type them.
    Closing quotation marks and brackets are part of the sentence. Before a comma a mark
    ends none.
    """
    from spacy.pipeline import Sentencizer

    marks = "".join(Sentencizer.default_punct_chars) + "\u17d4\u17d5"
    marks = re.sub("[^\u0530-\u1fff\u3000-\uffff]|\uff0e", "", marks)
    ascii_end = rf"(?:(?<=[{OTHER}])[.!?]+|(?<=[\u0561-\u0587]):)"
    ascii_end += rf"(?=[{CLOSING}]*(?:\s|[{UNSPACED}]))"
    end = rf"(?:[{marks}]|\u1361\u1361|\uff0e(?!\d)|{ascii_end})"
    return re.compile(rf"(?:{end}[.!?{CLOSING}]*+)++(?![,;:\u3001\uff0c\uff1a\uff1b])")


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    import spacy  # heavy: two seconds

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**9  # the limit protects parsers, and there is none here
    return pipeline
