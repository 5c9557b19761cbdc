"""Reading the files of labelled sets: lines, tab-separated rows, numbers and labels.

Whatever is wrong with a file becomes one sentence with the file and the line. Such a sentence quotes no more
than the first characters of what it found, for most of these texts are not ours to print.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from lib.run import files
from lib.run.errors import InputError
from lib.run.parameters import one_of

UTF8 = "utf-8"
# What passes for Latin-1 in these sets is Windows-1252: bytes 0x80 to 0x9f are dashes and quotation marks. Read as
# Latin-1 they would be control characters, one of which (0x85) Python takes for white space and for a line's end.
WESTERN = "cp1252"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SHOWN = 20
_DIGITS = 18  # of a whole number that 64 bits hold


class Line(NamedTuple):
    """A line without its end; `place` is its file and number, for messages."""

    place: str
    text: str


class Row(NamedTuple):
    """A line's cells without the white space around them."""

    place: str
    cells: list[str]


def lines(path: Path, encoding: str = UTF8) -> Iterator[Line]:
    """The lines of a file, which only a line feed ends (with or without a carriage return before it).

    Raises InputError for what is no file or cannot be read, a file without a line, and a line that is not in this
    encoding.
    """
    pieces = _content(path).removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    if not pieces[-1]:
        pieces.pop()
    if not pieces:
        raise InputError(f"{path}: the file is empty; get it again")
    for count, piece in enumerate(pieces, start=1):
        place = f"{path}, line {count}"
        try:
            yield Line(place, piece.decode(encoding).removesuffix("\r"))
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: byte {piece[error.start]:#04x} is not {encoding}; get it again") from error


def _content(path: Path) -> bytes:
    try:
        with files.opened(path) as stream:
            return stream.read()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); get it again") from error


def rows(path: Path, columns: int | None, encoding: str = UTF8, header: str = "", extra: int = 0) -> list[Row]:
    """The rows of a tab-separated file; quotation marks are text like any other.

    Parameters
    ----------
    columns : how many a row has; None: as many as the first row
    header : lines at the head of the file that begin so are left out
    extra : how many columns may follow, which are left out

    Raises
    ------
    InputError
        A row with another number of columns, a file without a row, and what `lines` raises.
    """
    found: list[Row] = []
    for place, text in lines(path, encoding):
        if header and not found and text.startswith(header):
            continue
        cells = [cell.strip() for cell in text.split("\t")]
        columns = columns or len(cells)
        if not columns <= len(cells) <= columns + extra:
            raise InputError(f"{place}: {len(cells)} tab-separated columns; this file has {columns}")
        found.append(Row(place, cells[:columns]))
    if not found:
        raise InputError(f"{path}: nothing below its header; get the file again")
    return found


def number(place: str, text: str, low: float, high: float) -> float:
    """The number that a text stands for; InputError if it stands for none in low to high."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise InputError(f"{place}: {_short(text)!r} is no number in range; give {low:g} to {high:g}")
    return value


def identifier(place: str, text: str) -> int:
    """A sentence's number in its source; InputError if it is no whole number."""
    if not text.isdecimal() or len(text) > _DIGITS:
        raise InputError(f"{place}: {_short(text)!r} is no sentence id; give a whole number")
    return int(text)


def code(place: str, text: str, codes: Mapping[str, int]) -> int:
    """The code of a label; InputError if it is none of those known."""
    return codes[one_of(f"{place}: label", _short(text), codes)]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
