"""Reading text files line by line, plain or gzip.

An error in a file becomes a sentence that names file and line.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from lib.run.errors import InputError

UTF8 = "utf-8"
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line without its end; `place` is its file and number, for messages."""

    place: str
    text: str


def lines(path: Path, encoding: str = UTF8, errors: str = "strict") -> Iterator[Line]:
    """The lines of a file; only a line feed ends one, with or without a CR before it.

    A file in another encoding than UTF-8 may have been converted: if all of it is valid
    UTF-8, it is read as that.

    Raises InputError for a file that cannot be read to its end (a truncated gzip, say),
    that is empty, or that has a line in another encoding.
    """
    place = str(path)
    try:
        with path.open("rb") as file:
            stream = (
                gzip.GzipFile(fileobj=file) if file.peek().startswith(GZIP) else file
            )
            if encoding != UTF8 and _is_utf8(stream):
                encoding = UTF8
            for number, line in enumerate(stream, start=1):
                place = f"{path}, line {number}"
                content = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
                text = content.removesuffix(b"\n").decode(encoding, errors)
                yield Line(place, text.removesuffix("\r"))
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise InputError(
            f"{place}: byte {byte} is not {encoding}; save it "
            f"as {encoding}, or get it again"
        ) from error
    except (EOFError, OSError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{place}: cannot be read ({reason}); give a text file, plain or gzip"
        ) from error
    if place == str(path):
        raise InputError(
            f"{path}: the file is empty; give one with text, or get it again"
        )


def _is_utf8(stream: IO[bytes]) -> bool:
    try:
        for line in stream:
            line.decode()
    except UnicodeDecodeError:
        return False
    finally:
        stream.seek(0)
    return True


def elements(
    path: Path, tag: str, encoding: str, errors: str = "strict"
) -> Iterator[str]:
    """The text of each ``<TAG ...> ... </TAG>`` of an SGML file.

    Only tags at the beginning of a line count. Raises InputError for a file without
    such an element, and for an element that is not closed.
    """
    opening = f"<{tag} "
    closing = f"</{tag}>"
    beginning = ""  # the place where the element at hand begins; empty outside of one
    inside: list[str] = []
    is_empty = True
    for place, text in lines(path, encoding, errors):
        if text.startswith(opening):
            if beginning:
                break
            beginning = place
            inside = []
        if beginning:
            inside.append(text)
            if text.startswith(closing):
                yield "\n".join(inside)
                beginning = ""
                is_empty = False
    if beginning:
        raise InputError(
            f"{beginning}: the <{tag}> that begins here is not "
            "closed; get the file again"
        )
    if is_empty:
        raise InputError(
            f"{path}: holds no <{tag} ...> that begins a line; "
            "give the file as it was published"
        )
