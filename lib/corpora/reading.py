"""Reading text files line by line, plain or gzip.

An error in a file becomes a sentence that names file and line.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lib.base.errors import InputError

UTF8 = "utf-8"
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line without its end; `place` is its file and number, for messages."""

    place: str
    text: str


def lines(path: Path, encoding: str = UTF8, errors: str = "strict") -> Iterator[Line]:
    """The lines of a file; LF, CR and CR LF end one.

    All or some of a file in another encoding than UTF-8 may have been converted: a line
    that is valid UTF-8 is read as that. A byte order mark that begins it is left out.

    Raises InputError for a file that cannot be read to its end (a truncated gzip, say),
    that is empty, or that has a line in another encoding; and, where errors are not
    replaced, for NUL characters.
    """
    place = str(path)
    try:
        with path.open("rb") as file:
            is_packed = file.peek().startswith(GZIP)
            ended = _ended(gzip.GzipFile(fileobj=file) if is_packed else file)
            for number, line in enumerate(ended, start=1):
                place = f"{path}, line {number}"
                content = line.removeprefix(BYTE_ORDER_MARK)
                if b"\0" in content and errors == "strict":
                    raise InputError(
                        f"{place}: contains a NUL character, as UTF-16 and binary "
                        "files do; save it as utf-8"
                    )
                yield Line(place, _decoded(content, encoding, errors))
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise InputError(
            f"{place}: byte {byte} is not {encoding}; save it as utf-8, or get it again"
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


def _ended(stream: Iterable[bytes]) -> Iterator[bytes]:
    for line in stream:
        yield from line.removesuffix(b"\n").removesuffix(b"\r").split(b"\r")


def _decoded(line: bytes, encoding: str, errors: str) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return line.decode(encoding, errors)
    if encoding == UTF8:
        return text
    # What a conversion from Latin-1 has made of the quotation marks of Windows-1252.
    return re.sub(
        "[\x80-\x9f]", lambda c: c[0].encode("latin-1").decode(encoding), text
    )


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
            f"{path}: no line begins with <{tag} ...>; give the original file"
        )
