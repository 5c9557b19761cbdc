"""Reading text files line by line, plain or gzip; what is wrong with one becomes a sentence with file and line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import BinaryIO

from lib.run import files
from lib.run.errors import InputError

GZIP = b"\x1f\x8b"
LONGEST = 100_000_000  # bytes of a line or an element: a small compressed file can hold one that fills the memory


def must_exist(path: Path, what: str) -> None:
    """Raise InputError, which says what to give, unless there is such a file."""
    if not os.path.isfile(path):  # unlike Path.is_file, also of a name too long to be one
        raise InputError(f"corpus: no file {path}; give {what}, plain or gzip")


def size(path: Path) -> int:
    """Bytes of a file; InputError if there is none."""
    if not os.path.isfile(path):
        raise InputError(f"corpus: {path}: is no file; get it again")
    return path.stat().st_size


def is_gzip(stream: BinaryIO) -> bool:
    """Whether a file, which is left at its beginning, is compressed."""
    start = stream.read(len(GZIP))
    stream.seek(0)
    return start == GZIP


def lines(path: Path, encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """The lines of a file with their ends; only a line feed ends one. A byte order mark is left out.

    Raises InputError if the file cannot be read to its end (a truncated gzip, say) or is not in this encoding.
    """
    number = 0
    try:
        with files.opened(path) as file, gzip.open(file) if is_gzip(file) else nullcontext(file) as stream:
            for number, line in enumerate(iter(partial(stream.readline, LONGEST), b""), start=1):
                if len(line) == LONGEST:
                    raise InputError(f"corpus: {path}, line {number}: is longer than {LONGEST} bytes; give it in lines")
                text = line.decode(encoding, errors)
                yield text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        name = encoding.upper()
        raise InputError(f"corpus: {path}, line {number}: not {name}; save the file as {name}") from error
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"corpus: {path}, after line {number}: cannot be read ({error})") from error


def elements(path: Path, tag: str, encoding: str, errors: str = "strict") -> Iterator[str]:
    """The text of each ``<TAG ...> ... </TAG>`` of an SGML file in which these two marks open a line.

    Raises InputError for a file that holds none, and for one that is opened and not closed.
    """
    opening, closing = f"<{tag} ", f"</{tag}>"
    begun = count = 0  # the line in which the element at hand begins, 0 outside of one
    inside: list[str] = []
    size = 0
    for number, line in enumerate(lines(path, encoding, errors), start=1):
        if line.startswith(opening):
            if begun:
                break
            begun, size = number, 0
            inside.clear()
        if begun:
            inside.append(line)
            size += len(line)
            if size > LONGEST:
                break
            if line.startswith(closing):
                begun, count = 0, count + 1
                yield "".join(inside)
    if begun:
        raise InputError(
            f"corpus: {path}, line {begun}: the <{tag}> that begins here is not closed; get the file again"
        )
    if not count:
        raise InputError(f"corpus: {path}: holds no <{tag} ...> that begins a line; give the file as it was published")
