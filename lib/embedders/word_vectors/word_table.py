"""Words in one block of letters with an index by hash: no Python object for each of millions of words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np

CHUNK = 1 << 16  # words that are Python objects at one time


def encode(word: str) -> bytes:
    """UTF-8; a lone surrogate, which no file of words can hold, is encoded too, so that every str can be looked up."""
    return word.encode("utf-8", "surrogatepass")


class WordList(Sequence[str]):
    """Words one after the other, decoded when they are asked for.

    Parameters
    ----------
    letters : uint8[bytes], UTF-8; a memory-map will do
    offsets : int64[v + 1], word i is ``letters[offsets[i]:offsets[i + 1]]``
    """

    def __init__(self, letters: np.ndarray, offsets: np.ndarray) -> None:
        self.letters, self.offsets = np.asarray(letters), np.asarray(offsets)

    @classmethod
    def of(cls, words: Iterable[bytes]) -> WordList:
        """The words that these bytes encode."""
        words = list(words)
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        return cls(np.frombuffer(b"".join(words), np.uint8), np.concatenate([[0], np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        places = range(len(self))[i]
        if isinstance(places, range):
            return [self._word(place) for place in places]
        return self._word(places)

    def encoded(self, i: int) -> bytes:
        """Word i as bytes."""
        return self.letters[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def _word(self, i: int) -> str:
        return self.encoded(i).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for chunk in self.chunks():
            for word in chunk:
                yield word.decode("utf-8", "surrogatepass")

    def chunks(self) -> Iterator[list[bytes]]:
        """All words as bytes, some thousands at a time."""
        for start in range(0, len(self), CHUNK):
            offsets = self.offsets[start : start + CHUNK + 1].tolist()
            letters = self.letters[offsets[0] : offsets[-1]].tobytes()
            yield [letters[i - offsets[0] : j - offsets[0]] for i, j in pairwise(offsets)]

    def equal(self, rows: np.ndarray, words: Sequence[bytes]) -> np.ndarray:
        """bool[n]: whether word ``rows[i]`` is ``words[i]``, letter by letter."""
        letters = memoryview(self.letters)
        spans = zip(self.offsets[rows].tolist(), self.offsets[rows + 1].tolist(), words, strict=True)
        return np.fromiter((letters[i:j] == word for i, j, word in spans), bool, len(rows))


class WordIndex:
    """The row of a word, found by a hash of 64 bits and verified against the word's letters.

    Parameters
    ----------
    words : WordList
    hashes : uint64[v], ascending
    order : int64[v], the row that each hash belongs to; ascending where hashes are equal
    """

    def __init__(self, words: WordList, hashes: np.ndarray, order: np.ndarray) -> None:
        self.words, self.hashes, self.order = words, np.asarray(hashes), np.asarray(order)

    @classmethod
    def of(cls, words: WordList) -> WordIndex:
        """Index these words. Of equal ones the first is found."""
        parts = [hash_words(chunk) for chunk in words.chunks()]
        hashes = np.concatenate([np.empty(0, np.uint64), *parts])
        order = np.argsort(hashes, kind="stable")
        return cls(words, hashes[order], order)

    def row(self, word: bytes) -> int:
        """As `rows` for one word, without the cost of arrays."""
        hashed = hash_words([word])[0]
        place = int(self.hashes.searchsorted(hashed))
        while place < len(self.hashes) and self.hashes[place] == hashed:
            row = int(self.order[place])
            if self.words.encoded(row) == word:
                return row
            place += 1
        return -1

    def rows(self, words: Sequence[bytes]) -> np.ndarray:
        """int64[n]: the row of each word, -1 for one that is not there."""
        rows = np.full(len(words), -1, np.int64)
        hashes = hash_words(words)
        asked, places = np.arange(len(words)), np.searchsorted(self.hashes, hashes)
        while len(asked):  # once, or more often where different words have one hash
            there = places < len(self.hashes)
            there[there] = self.hashes[places[there]] == hashes[asked[there]]
            asked, places = asked[there], places[there]
            found = self.order[places]
            equal = self.words.equal(found, [words[i] for i in asked])
            rows[asked[equal]] = found[equal]
            asked, places = asked[~equal], places[~equal] + 1
        return rows


def hash_words(words: Iterable[bytes]) -> np.ndarray:
    """uint64[n]: the first 8 bytes of each word's BLAKE2b."""
    digests = [hashlib.blake2b(word, digest_size=8).digest() for word in words]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64, copy=False)


class Fingerprint:
    """A digest of words and their vectors, fed block by block; how they are cut into blocks leaves no trace."""

    def __init__(self) -> None:
        self._lengths, self._letters, self._numbers = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()

    def add(self, words: Sequence[bytes], vectors: np.ndarray) -> None:
        """The next words, and float[n, d] with a row for each."""
        self._lengths.update(np.fromiter(map(len, words), "<i8", len(words)))
        self._letters.update(b"".join(words))
        self._numbers.update(np.ascontiguousarray(vectors, "<f4"))

    def hexdigest(self, *more: object) -> str:
        """32 hexadecimal digits that also stand for whatever else the vectors depend on."""
        parts = [part.hexdigest() for part in (self._lengths, self._letters, self._numbers)]
        return hashlib.sha256("\n".join([*parts, *map(str, more)]).encode()).hexdigest()[:32]


def digest_numbers(matrix: np.ndarray) -> str:
    """Hexadecimal digest of a matrix that need not fit into memory."""
    digest = hashlib.sha256()
    for start in range(0, len(matrix), 4096):
        digest.update(np.ascontiguousarray(matrix[start : start + 4096], "<f4"))
    return digest.hexdigest()
