"""Reading text files line by line, plain or gzip; what is wrong with one becomes a sentence with file and line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from lib.errors import InputError

GZIP = b"\x1f\x8b"


def must_exist(path: Path, what: str) -> None:
    """Raise InputError, which says what to give, unless there is such a file."""
    if not path.is_file():
        raise InputError(f"corpus: no file {path}; give {what}, plain or gzip")


def lines(path: Path, encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """The lines of a file with their ends; only a line feed ends one. A byte order mark is left out.

    Raises InputError if the file cannot be read to its end (a truncated gzip, say) or is not in this encoding.
    """
    number = 0
    try:
        with path.open("rb") as stream:
            compressed = stream.read(len(GZIP)) == GZIP
        with (gzip.open if compressed else open)(path, "rb") as stream:
            for number, line in enumerate(stream, start=1):
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
    for number, line in enumerate(lines(path, encoding, errors), start=1):
        if line.startswith(opening):
            if begun:
                break
            begun = number
            inside.clear()
        if begun:
            inside.append(line)
            if line.startswith(closing):
                begun, count = 0, count + 1
                yield "".join(inside)
    if begun:
        raise InputError(
            f"corpus: {path}, line {begun}: the <{tag}> that begins here is not closed; get the file again"
        )
    if not count:
        raise InputError(f"corpus: {path}: holds no <{tag} ...> that begins a line; give the file as it was published")
