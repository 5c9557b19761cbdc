"""Rows of text: a word and its numbers.

What a row means is written down in `parse_row`, in plain Python. Compiled code (`text_numbers`) reads the rows of
which it is certain, and leaves the others to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

END = b" \r"  # of a line: word2vec and fastText leave a blank there, Windows a carriage return


class Rows(NamedTuple):
    """The words of n rows, float32[n, dim], and how many lines they were read from."""

    words: list[bytes]
    vectors: np.ndarray
    lines: int


class RowError(ValueError):
    """A line that cannot be read: its place in its block, counted from 0, and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


def is_number(field: bytes) -> bool:
    """Whether Python's float() takes it."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def numbers_at_end(line: bytes) -> int:
    """How many fields at the end of a line are numbers; the first field is a word, whatever it is."""
    fields = line.rstrip(END).split(b" ")
    for count, field in enumerate(reversed(fields[1:])):
        if not is_number(field):
            return count
    return len(fields) - 1


def parse_row(line: bytes, dim: int) -> tuple[bytes, list[float]]:
    """A line's word and numbers. Its last `dim` fields are the numbers; the word may hold blanks.

    Raises ValueError, which says what is wrong, where the numbers are fewer or more, or are none.
    """
    fields = line.rstrip(END).rsplit(b" ", dim)
    if len(fields) <= dim:
        raise ValueError(f"has {len(fields) - 1} numbers after the word, not {dim}")
    for field in fields[1:]:
        if not is_number(field):
            shown = field[:40].decode("utf-8", "replace")
            raise ValueError(f"has {shown!r} among its last {dim} fields, which must be numbers")
    if b" " in fields[0] and is_number(fields[0].rsplit(b" ", 1)[1]):
        raise ValueError(f"has {numbers_at_end(line)} numbers after the word, not {dim}")
    return fields[0], [float(field) for field in fields[1:]]


def parse_rows(data: bytes, dim: int) -> Rows:
    """Parse whole lines, each with its newline; empty ones are left out.

    Raises RowError for the first line that is not a word and `dim` numbers.
    """
    from lib.embedders.word_vectors.text_numbers import parse_lines

    lines = data.count(b"\n")
    if 2 * dim * lines > len(data):  # some are too short: room for all of them could be without bound
        return _parse_rows_one_by_one(data, dim, lines)
    vectors, ends = np.empty((lines, dim), np.float32), np.empty((lines, 2), np.int64)
    certain = parse_lines(np.frombuffer(data, np.uint8), vectors, ends)
    starts = np.concatenate([[0], ends[:-1, 1] + 1])
    words = [data[i:j] for i, j in zip(starts.tolist(), ends[:, 0].tolist(), strict=True)]
    empty = []
    for i in np.flatnonzero(~certain).tolist():
        line = data[starts[i] : ends[i, 1]]
        if line.rstrip(END):
            words[i], vectors[i] = _parsed(line, dim, i)
        else:
            empty.append(i)
    for i in reversed(empty):
        del words[i]
    return Rows(words, np.delete(vectors, empty, axis=0) if empty else vectors, lines)


def _parse_rows_one_by_one(data: bytes, dim: int, lines: int) -> Rows:
    """The same in memory for the rows that are there, not for each line."""
    rows = [(i, line) for i, line in enumerate(data.split(b"\n")) if line.rstrip(END)]
    parsed = [_parsed(line, dim, i) for i, line in rows]
    vectors = np.array([vector for _, vector in parsed], np.float32).reshape(len(parsed), dim)
    return Rows([word for word, _ in parsed], vectors, lines)


def _parsed(line: bytes, dim: int, place: int) -> tuple[bytes, np.ndarray]:
    try:
        word, numbers = parse_row(line, dim)
    except ValueError as error:
        raise RowError(place, str(error)) from error
    with np.errstate(over="ignore"):  # infinity is refused later, as in every format
        return word, np.array(numbers).astype(np.float32)
