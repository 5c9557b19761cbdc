"""fastText's binary models, ``.bin`` (versions 11 and 12 of the format; little-endian, packed).

1. int32 magic 793712314, int32 version
2. int32 dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate; float64 t
3. int32 entries, words, labels; int64 tokens; int64 pruned (-1, unless the model is quantized)
4. an entry: its bytes, a zero, int64 count, int8 type
5. bool quantized; int64 rows (words + bucket), int64 dim, float32[rows, dim]: the input matrix
6. bool quantized; int64 rows, int64 dim, float32[rows, dim]: the output matrix, not used here
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lib.embedders.word_vectors.byte_source import BLOCK, Source
from lib.embedders.word_vectors.matrix_file import MatrixFile
from lib.embedders.word_vectors.reader import MOST_DIMENSIONS, Block, SourceReader
from lib.run.errors import InputError

BUCKETS = "buckets.npy"  # float32[b, d], put into the folder that `blocks` is given
START, MATRIX = struct.Struct("<2i12id3i2q"), struct.Struct("<B2q")
ENTRY = np.dtype([("count", "<i8"), ("type", "i1")])  # what follows a word
SUPERVISED, SENT2VEC = 3, (4, 5)
LONGEST_NGRAM = 255  # published models have 6
MOST_ROWS = 1 << 32  # words and buckets are numbered with 32 bits


class _Start(NamedTuple):
    """Parts 1 to 3 of a file."""

    magic: int
    version: int
    dim: int
    window: int
    epochs: int
    least_count: int
    negatives: int
    word_ngrams: int
    loss: int
    model: int
    bucket: int
    shortest: int
    longest: int
    update_rate: int
    sampling: float
    entries: int
    words: int
    labels: int
    tokens: int
    pruned: int


class FastTextFile(SourceReader):
    """A model of words, with or without vectors of character n-grams.

    The vector of a word is that of fastText's own program: the mean of the word's row of the input matrix and the
    rows of its n-grams.

    Raises InputError for a supervised, quantized or Sent2Vec model.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._start = start = _Start(*START.unpack(source.exactly(START.size, "its header")))
        _refuse_others(source.path, start)
        self.count, self.dim = start.words, start.dim
        if start.bucket > 0 and start.longest >= max(start.shortest, 1):
            self.subwords = start.shortest, start.longest

    def blocks(self, folder: Path) -> Iterator[Block]:
        words = self._words()
        self._matrix_header("input", self._start.words + self._start.bucket)
        first = self.source.tell()
        buckets = self._buckets(folder)
        self._check_output()
        self.source.seek(first)
        done = 0
        for vectors in self._rows(self.count):
            block = words[done : done + len(vectors)]
            if buckets is not None:
                vectors = _with_ngrams(block, vectors, self.subwords, buckets)
            yield block, vectors
            done += len(vectors)

    def _words(self) -> list[bytes]:
        words: list[bytes] = []
        for names, tails in self.source.records(self._start.entries, b"\0", ENTRY.itemsize, "words"):
            entries = np.frombuffer(tails, ENTRY)
            if (entries["count"] < 0).any() or entries["type"].any():
                raise InputError(f"{self.source.path}: holds negative counts, or labels; download it again")
            words += names
        return words

    def _matrix_header(self, which: str, rows: int | None = None) -> int:
        """The number of rows of the matrix that follows, which must be `rows`."""
        quantized, n, dim = MATRIX.unpack(self.source.exactly(MATRIX.size, f"its {which} matrix"))
        if quantized:
            raise InputError(f"{self.source.path}: {_QUANTIZED}")
        if not 0 <= n < MOST_ROWS or dim != self.dim or rows not in (None, n):
            raise InputError(
                f"{self.source.path}: its {which} matrix has {n} rows of {dim} numbers, and by its header "
                f"{'some' if rows is None else rows} of {self.dim}; download it again"
            )
        return n

    def _rows(self, count: int) -> Iterator[np.ndarray]:
        """The next rows of the input matrix, float32[n, dim], in blocks."""
        step = max(1, BLOCK // (4 * self.dim))
        for start in range(0, count, step):
            size = 4 * self.dim * min(step, count - start)
            yield np.frombuffer(self.source.exactly(size, "its input matrix"), "<f4").reshape(-1, self.dim)

    def _buckets(self, folder: Path) -> np.ndarray | None:
        """The rows of the n-grams, which lie behind those of the words, copied to a file and mapped from there."""
        self.source.skip(4 * self.dim * self.count, "its input matrix")
        if self.subwords is None:
            self.source.skip(4 * self.dim * self._start.bucket, "its input matrix")
            return None
        with MatrixFile(folder / BUCKETS, self.dim) as file:
            for vectors in self._rows(self._start.bucket):
                if not np.isfinite(vectors).all():
                    raise InputError(f"{self.source.path}: an n-gram's vector holds NaN or infinity; download it again")
                file.append(vectors)
        return np.load(folder / BUCKETS, mmap_mode="r", allow_pickle=False)

    def _check_output(self) -> None:
        """Nothing is taken from the output matrix, but a file without all of it is not whole."""
        rows = self._matrix_header("output")
        self.source.skip(4 * self.dim * rows, "its output matrix")
        if self.source.read(1):
            raise InputError(f"{self.source.path}: goes on after its output matrix; download it again")


_QUANTIZED = "is a quantized model, which has lost its vectors' precision; give the .bin that it was made from"


def _refuse_others(path: Path, start: _Start) -> None:
    if start.version not in (11, 12):
        raise InputError(f"{path}: has version {start.version} of fastText's format; give version 11 or 12")
    if start.model in SENT2VEC:
        raise InputError(f"{path}: is a Sent2Vec model, not one of words; load it with lib.sent2vec.Sent2Vec.load")
    if start.model == SUPERVISED or start.labels:
        raise InputError(f"{path}: is a supervised model, a classifier; give one trained with cbow or skipgram")
    if start.pruned >= 0:
        raise InputError(f"{path}: {_QUANTIZED}")
    if not 1 <= start.dim <= MOST_DIMENSIONS or not 1 <= start.words == start.entries or start.bucket < 0:
        raise InputError(
            f"{path}: its header announces {start.words} of {start.entries} entries as words, {start.dim} dimensions, "
            f"{start.bucket} buckets; download it again"
        )
    if min(start.shortest, start.longest) < 0 or start.longest > LONGEST_NGRAM:
        raise InputError(
            f"{path}: its header announces n-grams of {start.shortest} to {start.longest} letters; download it again"
        )


def _with_ngrams(words: list[bytes], rows: np.ndarray, lengths: tuple[int, int], buckets: np.ndarray) -> np.ndarray:
    """float32[n, d]: the mean of each word's own row and those of its n-grams."""
    from lib.embedders.word_vectors.character_ngrams import add_ngrams

    sums = rows.copy()
    counts = add_ngrams(words, lengths, buckets, sums)
    return sums * (1 / (counts + 1)).astype(np.float32)[:, None]
