"""Texts that come without sentence boundaries: where their files are, and how to read one by paragraphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lib import catalog
from lib.corpora import newswire, reading, text
from lib.corpora.segmentation import Passage
from lib.run import paths
from lib.run.errors import InputError

NAMES = ["reuters"]
LONGEST = 100_000  # characters; a longer paragraph is cut, for a segmenter's memory grows with it


class RunningText(NamedTuple):
    """Files of running text, how to read one, and which of the units that a segmenter cuts out are sentences."""

    files: list[Path]
    read: Callable[[Path], Iterator[Passage]]
    is_sentence: Callable[[str], bool]


def find(name: str) -> RunningText | None:
    """The running text ``reuters``, ``gigaword:YEAR`` or ``text:PATH``; None for any other name.

    Raises InputError if its files are not there.
    """
    kind, colon, rest = name.partition(":")
    if name == "reuters":
        folder = _data_folder("corpora/reuters21578", name, "make data ASSET=reuters21578 fetches it")
        return RunningText(newswire.reuters_files(folder), newswire.reuters, newswire.is_sentence)
    if colon and kind == "gigaword":
        return RunningText(_gigaword_files(rest), newswire.gigaword, newswire.is_sentence)
    if colon and kind == "text":
        file = paths.from_root(rest)
        reading.must_exist(file, "text:PATH with running text")
        return RunningText([file], paragraphs, bool)
    return None


def _gigaword_files(year: str) -> list[Path]:
    if not re.fullmatch(r"[0-9]{4}", year):
        raise InputError(f"corpus: {f'gigaword:{year}'!r} names no year; give gigaword:YEAR, such as gigaword:2010")
    how = "the Linguistic Data Consortium licenses it under catalog number LDC2011T07"
    return newswire.gigaword_files(_data_folder("corpora/gigaword/data", f"gigaword:{year}", how), year)


def _data_folder(relative: str, corpus: str, how: str) -> Path:
    """The first folder of this relative path among the places where data are looked for."""
    if (found := catalog.find(relative)) and found.is_dir():
        return found
    searched = ", ".join(map(str, catalog.folders()))
    raise InputError(f"corpus: {corpus!r} needs the folder {relative}, which is in none of {searched}; {how}")


# -- the user's own text ------------------------------------------------------------------------


def paragraphs(path: Path) -> Iterator[Passage]:
    """The paragraphs of a text file, each a document: an empty line ends it, any other line goes on with it.

    One that is too long is cut after what looks like the end of a sentence; the parts are one document.
    """
    lines: list[str] = []
    size, opens = 0, True
    for line in chain(map(text.squeeze, reading.lines(path)), [""]):
        if line:
            lines.append(line)
            size += len(line) + 1
        if lines and (size > LONGEST or not line):
            parts = _cut(" ".join(lines))
            lines = [parts.pop()] if line else []
            for part in parts:
                yield Passage(part, opens)
                opens = False
            size = sum(map(len, lines))
        opens = opens or not line


def _cut(paragraph: str) -> list[str]:
    """The paragraph in parts of at most LONGEST characters; the last is what is left."""
    parts, start = [], 0
    while len(paragraph) - start > LONGEST:
        end = 1 + max(paragraph.rfind(mark, start, start + LONGEST) for mark in (". ", "! ", "? "))
        parts.append(paragraph[start : (end or start + LONGEST)])
        start += len(parts[-1])
    return [*parts, paragraph[start:]]
