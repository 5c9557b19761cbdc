"""A text as numbers of words, in a temporary file, so that it may be larger than memory."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from lib.corpora.text import mend
from lib.run import files, progress
from lib.run.errors import InputError
from lib.sent2vec.dictionary import Dictionary

GZIP = b"\x1f\x8b"
LONGEST_LINE = 1 << 22  # bytes
BLOCK = 1 << 17  # bytes of text, some 25,000 words
BETWEEN_UPDATES = 1 << 12  # lines


class Text:
    """The lines of a text as bytes, to be gone through more than once.

    Parameters
    ----------
    source : a sequence of sentences, in each of which a newline is a blank; or the path of a file with one sentence a
        line, which may be compressed by gzip

    Raises
    ------
    InputError
        Here or while it is read: what is neither, a file that cannot be read, a line of more than 4 MB.
    """

    def __init__(self, source: Sequence[str] | str | Path) -> None:
        self.file = Path(source) if isinstance(source, str | Path) else None
        if self.file and not self.file.is_file():
            raise InputError(f"{self.file}: no such file; give a text with one sentence a line, or a list of sentences")
        if self.file is None and not hasattr(source, "__len__"):
            raise InputError(f"sentences: a {type(source).__name__} can be read only once; give a list, or a file")
        self._sentences = source

    def lines(self, description: str, show: bool) -> Iterator[bytes]:
        """Each line, with its newline, under a progress bar; InputError for one beyond `LONGEST_LINE` bytes."""
        unit, size = ("bytes", self.file.stat().st_size) if self.file else ("sentences", len(self._sentences))
        with progress.bar(size, description, unit, show=show) as bar:
            for number, (line, position) in enumerate(self._read() if self.file else self._encode()):
                if len(line) > LONGEST_LINE:
                    where = self.file or "sentences"
                    raise InputError(f"{where}: line {number + 1} is longer than 4 MB; give one sentence a line")
                if number % BETWEEN_UPDATES == 0:
                    bar.update(position - bar.n)
                yield line
            bar.update(size - bar.n)

    def _encode(self) -> Iterator[tuple[bytes, int]]:
        for number, sentence in enumerate(self._sentences):
            if not isinstance(sentence, str):
                raise InputError(f"sentences: number {number} is a {type(sentence).__name__}; give strings")
            yield mend(sentence).replace("\n", " ").encode() + b"\n", number

    def _read(self) -> Iterator[tuple[bytes, int]]:
        try:
            with self.file.open("rb") as raw:
                compressed = raw.read(2) == GZIP
                raw.seek(0)
                stream = gzip.GzipFile(fileobj=raw) if compressed else raw
                yield from ((line, raw.tell()) for line in iter(lambda: stream.readline(LONGEST_LINE + 1), b""))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{self.file}: this gzip file is damaged ({error}); get it again") from error
        except OSError as error:
            raise InputError(f"{self.file}: cannot be read ({error.strerror}); give a readable text") from error


class CorpusIds:
    """The numbers of the words of a text, in blocks of lines; to be used in a ``with`` statement.

    Words that the dictionary does not have are left out, and so are lines of fewer than two words. The file has no name
    where the system allows that: it is gone when this process is, however it ends.

    Parameters
    ----------
    lines : iterable of bytes
    dictionary : Dictionary
    folder : where the temporary file is made

    Attributes
    ----------
    words : int64[blocks], words of each block
    longest : int, words of the longest line
    digest : str, which stands for the text and the dictionary
    """

    def __init__(self, lines: Iterable[bytes], dictionary: Dictionary, folder: Path) -> None:
        with files.writing(folder, "make it writable, or give another one"):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - closed by __exit__
        self._starts, words, self.longest = [0], [], 0
        digest = hashlib.blake2b(digest_size=16)
        try:
            for block in _blocks(lines):
                stream, lengths = _numbered(block, dictionary)
                if len(lengths):
                    self._file.write(stream.data)
                    digest.update(stream.data)
                    self._starts.append(self._starts[-1] + stream.nbytes)
                    words.append(lengths.sum())
                    self.longest = max(self.longest, int(lengths.max()))
            self._file.flush()
        except OSError as error:
            self._file.close()
            raise InputError(f"{folder}: no room for the text as numbers ({error.strerror}); free some") from error
        except BaseException:
            self._file.close()
            raise
        digest.update(dictionary.counts.tobytes() + b"\0".join(dictionary.words))
        self.words, self.digest = np.array(words, np.int64), digest.hexdigest()

    def __enter__(self) -> CorpusIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, block: int) -> np.ndarray:
        """int32: of each line of a block the number of its words, then its words. Threads may call this at once."""
        start, end = self._starts[block : block + 2]
        return np.frombuffer(bytearray(os.pread(self._file.fileno(), end - start, start)), np.int32)


def _blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    block, size = [], 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _numbered(lines: list[bytes], dictionary: Dictionary) -> tuple[np.ndarray, np.ndarray]:
    """As `CorpusIds.read` returns them; and the lengths of the lines."""
    ids, starts = dictionary.ids_of_lines(lines)
    lengths = np.diff(starts)
    enough = lengths > 1
    ids, lengths = ids[np.repeat(enough, lengths)], lengths[enough]
    firsts = np.cumsum(lengths) - lengths
    return np.insert(ids, firsts, lengths.astype(np.int32)), lengths
