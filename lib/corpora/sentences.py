"""Many sentences in little memory: one buffer of UTF-8 bytes, and where each sentence starts in it."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np

DIGEST = 16  # bytes; two of a billion sentences have the same with a probability below 1e-20


class Sentences(Sequence[str]):
    """A read-only sequence of str that behaves as a list does: a slice is a list, and it equals a list of the same.

    Parameters
    ----------
    text : buffer of UTF-8 bytes, the sentences one after the other
    starts : int64[n + 1], where each sentence starts in `text`, and where the last one ends
    """

    def __init__(self, text: Any, starts: np.ndarray) -> None:
        self.text = memoryview(text).toreadonly()
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self._at(i) for i in range(len(self))[index]]
        return self._at(range(len(self))[index])  # a range counts from the end and raises IndexError as a list does

    def _at(self, index: int) -> str:
        return str(self.text[self.starts[index] : self.starts[index + 1]], "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        block = 4096  # offsets as Python integers are quicker, and all of them at once are large
        for first in range(0, len(self), block):
            for start, end in pairwise(self.starts[first : first + block + 1].tolist()):
                yield str(self.text[start:end], "utf-8", "surrogatepass")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"<{len(self):,} sentences: {shown}{', ...' if len(self) > 3 else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Sentences, (bytes(self.text), np.asarray(self.starts))


class Collector:
    """Takes sentences one by one and keeps the first of each; 24 bytes a sentence beside its text."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._starts = array("q", [0])
        self._digests = bytearray()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def append(self, sentence: str) -> None:
        """Take the next sentence; `unique` leaves out what has come before."""
        data = sentence.encode("utf-8", "surrogatepass")
        self._text += data
        self._starts.append(len(self._text))
        self._digests += hashlib.blake2b(data, digest_size=DIGEST).digest()

    def unique(self) -> tuple[Sentences, np.ndarray]:
        """The sentences without repetitions, in order of first appearance. The collector has served then.

        Returns
        -------
        sentences : Sentences, length m
        first : int64[n], for each sentence that was appended the number of the first one like it
        """
        first = _first_occurrences(np.frombuffer(self._digests, np.uint64).reshape(-1, 2))
        self._digests = bytearray()
        starts = np.frombuffer(self._starts, np.int64)
        return _kept(self._text, starts, first == np.arange(len(first))), first


def _first_occurrences(digests: np.ndarray) -> np.ndarray:
    """int64[n]: for each row of uint64[n, 2] the index of the first row like it."""
    order = np.lexsort(digests.T)  # stable: among equal rows the earliest comes first
    ordered = digests[order]
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    del ordered
    first = np.empty(len(order), dtype=np.int64)
    first[order] = np.repeat(order[opens], np.diff(np.flatnonzero(np.append(opens, True))))
    return first


def _kept(text: bytearray, starts: np.ndarray, keep: np.ndarray) -> Sentences:
    """The sentences where `keep` is true; `text` is closed up in place, for a copy would double the memory."""
    changes = np.flatnonzero(np.diff(keep, prepend=False, append=False))
    end = 0
    with memoryview(text) as view:
        for begin, stop in starts[changes].reshape(-1, 2).tolist():
            view[end : end + stop - begin] = view[begin:stop]
            end += stop - begin
    del text[end:]
    closed = np.zeros(int(keep.sum()) + 1, dtype=np.int64)
    np.cumsum(np.diff(starts)[keep], out=closed[1:])
    return Sentences(text, closed)
