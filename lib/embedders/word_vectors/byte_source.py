"""The bytes of one weight file, in blocks, with every trouble as a sentence."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lib.run.errors import InputError
from lib.run.files import opened

BLOCK = 1 << 22  # bytes read at a time
LONGEST_NAME = 1 << 20  # a megabyte without the end of a word: this is not a file of words
LONGEST_LINE = 1 << 26
GZIP = b"\x1f\x8b"


class Source:
    """A file read from its start to its end; the content of a gzip file is unpacked on the way.

    Raises InputError where the file cannot be opened or read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = opened(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be opened ({error.strerror}); give a file that can be read") from error
        packed = self._file.read(len(GZIP)) == GZIP
        self._file.seek(0)
        self._stream: IO[bytes] = gzip.GzipFile(fileobj=self._file) if packed else self._file  # type: ignore[assignment]
        self._size = os.fstat(self._file.fileno()).st_size
        self._rest = b""  # was read, and is yet to be returned

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def fraction(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return min(self._file.tell() / max(self._size, 1), 1.0)

    def tell(self) -> int:
        """Position in the unpacked file."""
        return self._stream.tell() - len(self._rest)

    def seek(self, position: int) -> None:
        """Go on from there. Backwards in a gzip file, this unpacks it again from its start."""
        self._rest = b""
        with _sentences(self.path):
            self._stream.seek(position)

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end of the file."""
        given, self._rest = self._rest[:size], self._rest[size:]
        with _sentences(self.path):
            more = self._stream.read(size - len(given))
        return given + more if given else more

    def exactly(self, size: int, what: str) -> bytes:
        """The next `size` bytes; InputError, which says in the middle of `what`, if the file ends before."""
        data = self.read(size)
        if len(data) < size:
            raise InputError(f"{self.path}: ends in the middle of {what}; download it again, it is not whole")
        return data

    def skip(self, size: int, what: str) -> None:
        """Leave out `size` bytes, which must be there."""
        if size:
            self.seek(self.tell() + size - 1)
            self.exactly(1, what)

    def lines(self) -> Iterator[bytes]:
        """The rest of the file in blocks of whole lines; each line ends with a newline, the last one too.

        Raises InputError for a line beyond `LONGEST_LINE` bytes.
        """
        start = b""  # of a line that the next block goes on with
        while data := self.read(BLOCK):
            end = data.rfind(b"\n") + 1
            if end:
                yield b"".join((start, memoryview(data)[:end]))
            start = data[end:] if end else start + data
            if len(start) > LONGEST_LINE:
                raise InputError(f"{self.path}: has a line of {len(start)} bytes; give a file with one word on a line")
        if start:
            yield start + b"\n"

    def records(self, count: int, delimiter: bytes, size: int, what: str) -> Iterator[tuple[list[bytes], bytes]]:
        """The next `count` records, each of a name, a delimiter, and `size` bytes.

        Yields blocks of them: the names, and the bytes that follow them, put together. Raises InputError where the file
        ends too early or does not fit its header.
        """
        block = BLOCK + LONGEST_NAME + size
        left = count
        while left:
            data = self.read(block)
            names, parts, end = _split(data, left, delimiter, size)
            self._rest = data[end:] + self._rest
            if not names and len(data) < block:
                done = count - left
                raise InputError(f"{self.path}: ends after {done} of the {count} {what} that its header announces")
            if not names:
                raise InputError(
                    f"{self.path}: its header does not fit what follows; give the file as it was published"
                )
            left -= len(names)
            yield names, b"".join(parts)


def _split(data: bytes, count: int, delimiter: bytes, size: int) -> tuple[list[bytes], list[bytes], int]:
    """The first `count` records of a block, or as many as are whole: names, what follows each, where they end."""
    names: list[bytes] = []
    parts: list[bytes] = []
    end = 0
    while len(names) < count:
        middle = data.find(delimiter, end)
        stop = middle + 1 + size
        if middle < 0 or stop > len(data):
            break
        names.append(data[end:middle])
        parts.append(data[middle + 1 : stop])
        end = stop
    return names, parts, end


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Errors of reading as InputError."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: its gzip stream is damaged or ends early; download it again") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
