"""A text as Sent2Vec reads it: its lines, their words, and words as numbers.

Text is bytes: nothing is lower-cased, and white space is that of ASCII and the zero
byte. Every end of a line counts as one token ``</s>``; it takes a place in the
dictionary like a word does, but no sentence holds it. The authors' program stops at a
byte 0xFF; here it is a byte like any other (UTF-8 has none).
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import SEEK_END, BufferedReader, BytesIO
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lib.base import progress
from lib.base.characters import mend
from lib.base.errors import InputError, one_line

PLACEHOLDER = b"<PLACEHOLDER>"
END_OF_LINE = b"</s>"
LABEL = b"__label__"
GZIP = b"\x1f\x8b"
BLOCK = 1 << 17  # bytes of text, some 25,000 words


class Text:
    """The lines of a text as bytes, to be read more than once.

    Parameters
    ----------
    source : sequence of str, or path
        Sentences, in each of which a newline is a blank; or a file with one sentence a
        line, which may be compressed by gzip.

    Raises
    ------
    InputError
        From here or while the text is read: `source` is neither of the two, or the file
        cannot be read.
    """

    def __init__(self, source: Sequence[str] | str | Path) -> None:
        self.source = Path(source) if isinstance(source, str) else source
        if isinstance(self.source, Path) and not self.source.is_file():
            raise InputError(
                f"{source}: no such file; "
                "give a text with one sentence per line, or a list of sentences"
            )
        if not isinstance(self.source, Path) and not hasattr(source, "__len__"):
            raise InputError(
                f"sentences: a {type(source).__name__} can be read only once; "
                "give a list, or a file"
            )

    def blocks(self, description: str, show: bool) -> Iterator[list[bytes]]:
        """All lines with their newlines, some 130 kB at a time, under a progress bar.

        Raises InputError for a text that cannot be read.
        """
        try:
            with self._opened() as raw:
                size = raw.seek(0, SEEK_END)
                raw.seek(0)
                lines = (
                    gzip.GzipFile(fileobj=raw) if raw.peek(2).startswith(GZIP) else raw
                )
                with progress.bar(size, description, "bytes", show=show) as bar:
                    while block := lines.readlines(BLOCK - 1):
                        yield block
                        bar.update(raw.tell() - bar.n)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{self.source}: cannot be read ({one_line(error)}); "
                "give a readable text"
            ) from error

    def _opened(self) -> BufferedReader:
        if isinstance(self.source, Path):
            return self.source.open("rb")
        for number, sentence in enumerate(self.source):
            if not isinstance(sentence, str):
                raise InputError(
                    f"sentences: number {number} is a {type(sentence).__name__}; "
                    "give strings"
                )
        lines = (
            mend(sentence).replace("\n", " ").encode() + b"\n"
            for sentence in self.source
        )
        return BufferedReader(BytesIO(b"".join(lines)))


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Words and labels, each with the number of times that it occurs.

    Attributes
    ----------
    words : list of bytes
        Words first, in the order of their rows in the matrices, then labels. The first
        one is ``<PLACEHOLDER>``, which takes the place of a target.
    counts : int64
        One an entry; 0 for ``<PLACEHOLDER>``.
    n_words : int
        Words, labels left out: the rows of the output matrix.
    tokens : int
        All tokens of the text: ends of lines, labels and what the dictionary leaves out
        among them.
    """

    words: list[bytes]
    counts: np.ndarray
    n_words: int
    tokens: int

    @classmethod
    def build(
        cls, blocks: Iterable[list[bytes]], min_count: int, max_vocabulary: int = -1
    ) -> Dictionary:
        """The dictionary of a text, with the most frequent words first.

        Words with equal counts are ordered by their first occurrence.

        Parameters
        ----------
        blocks : iterable of list of bytes
            The lines of the text; a newline counts a token ``</s>``, and what begins
            with ``__label__`` is left out.
        min_count : int
            Words that occur less often are left out.
        max_vocabulary : int
            Words at most, ``<PLACEHOLDER>`` and ``</s>`` among them; -1 for no limit.

        Raises
        ------
        InputError
            Fewer than two words are left.
        """
        counts: Counter[bytes] = Counter()
        for lines in blocks:
            counts.update(split(b" ".join(lines).replace(b"\n", b" </s> ")))
        entries = [(PLACEHOLDER, 0)]
        for word, count in counts.most_common():
            if count >= min_count and not word.startswith(LABEL):
                entries.append((word, count))
        if max_vocabulary > 0:
            entries = entries[:max_vocabulary]
        if sum(word != END_OF_LINE for word, _ in entries) < 3:
            raise InputError(
                f"min_count: fewer than two words occur {min_count} times, or "
                "max_vocabulary leaves fewer; give more "
                "text, or change them"
            )
        words = [word for word, _ in entries]
        kept = np.array([count for _, count in entries], np.int64)
        return cls(words, kept, len(words), counts.total())

    @property
    def is_word(self) -> np.ndarray:
        """bool[n_words]: neither ``</s>`` nor ``<PLACEHOLDER>``."""
        return np.array(
            [
                word not in (PLACEHOLDER, END_OF_LINE)
                for word in self.words[: self.n_words]
            ]
        )

    @cached_property
    def index(self) -> dict[bytes, int]:
        """The row of each word that sentences may hold: not labels or ``</s>``."""
        rows = {word: row for row, word in enumerate(self.words[: self.n_words])}
        rows.pop(END_OF_LINE, None)
        return rows

    def ids(self, lines: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """The words of lines that are in the dictionary, without labels and ``</s>``.

        Returns
        -------
        ids : int32[t]
            One line after the other.
        starts : int64[n + 1]
            Where each line starts.
        """
        tokens = [split(line) for line in lines]
        rows = map(self.index.get, chain.from_iterable(tokens), repeat(-1))
        rows = np.fromiter(rows, np.int32)
        known = rows >= 0
        known_before = np.concatenate([[0], np.cumsum(known, dtype=np.int64)])
        ends = np.cumsum([len(line) for line in tokens], dtype=np.int64)
        starts = np.concatenate([[0], ends])
        return rows[known], known_before[starts]


def split(text: bytes) -> list[bytes]:
    """The tokens of a text; a newline is white space like any other."""
    return text.replace(b"\0", b" ").split()


class CorpusIds:
    """The numbers of the words of a text, in blocks of lines, in a file.

    Words that the dictionary does not have are left out, and so are lines of fewer than
    two words.

    Parameters
    ----------
    blocks : iterable of list of bytes
    dictionary : Dictionary
    file : binary stream
        A temporary file, to read and write.

    Attributes
    ----------
    words : int64[blocks]
        Words of each block.
    longest : int
        Words of the longest line.
    digest : str
        Stands for the text and the dictionary.
    """

    def __init__(
        self, blocks: Iterable[list[bytes]], dictionary: Dictionary, file: BinaryIO
    ) -> None:
        words = []
        ends = [0]
        self.longest = 0
        known = dictionary.counts.tobytes() + b"\0".join(dictionary.words)
        digest = hashlib.blake2b(known, digest_size=16)
        for lines in blocks:
            ids, starts = dictionary.ids(lines)
            lengths = np.diff(starts)
            enough = lengths > 1
            ids = ids[np.repeat(enough, lengths)]
            lengths = lengths[enough]
            if len(lengths):
                starts = np.cumsum(lengths) - lengths
                numbered = np.insert(ids, starts, lengths.astype(np.int32))
                file.write(numbered.data)
                digest.update(numbered.data)
                ends.append(ends[-1] + len(numbered))
                words.append(lengths.sum())
                self.longest = max(self.longest, int(lengths.max()))
        file.flush()
        self.words = np.array(words, np.int64)
        self.digest = digest.hexdigest()
        self._ends = ends
        self._numbers: Any = np.memmap(file, np.int32, "r") if words else None

    def read(self, block: int) -> np.ndarray:
        """int32: for each line of a block, the number of its words and the words.

        The array is a copy.
        """
        start, end = self._ends[block : block + 2]
        return np.array(self._numbers[start:end])
