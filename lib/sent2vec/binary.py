"""Model files of the authors' program, ``.bin`` (version 11; little-endian, packed).

1. int32 magic 793712314, int32 version
2. int32 dim, window, epochs, min_count, negatives, word_ngrams, loss, model, bucket, shortest, longest, update_rate;
   float64 subsample. A Sent2Vec model is model 4; the rest of the settings is not in the file
3. int32 entries, words, labels; int64 tokens; int64 pruned (-1, unless the model is quantized)
4. an entry: its bytes, a zero, int64 count, int8 type
5. uint8 quantized; int64 rows (words + bucket + 1), int64 dim, float32[rows, dim]: the input matrix
6. uint8 quantized; int64 rows (words), int64 dim, float32[rows, dim]: the output matrix
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lib.run import files
from lib.run.errors import InputError
from lib.sent2vec.dictionary import LABEL, WORD, Dictionary

MAGIC, VERSION, SENT2VEC = 793712314, 11, 4
OTHER_MODELS = {1: "cbow", 2: "skip-gram", 3: "supervised", 5: "cbow with n-grams of characters"}
START, HEADER, SIZES, MATRIX = (struct.Struct(layout) for layout in ("<2i", "<12id", "<3i2q", "<B2q"))
TAIL = struct.Struct("<qb")  # of an entry
BLOCK = 1 << 24  # numbers that are written at once
WEB_PAGE = "is a web page, not a model; get the file itself"
QUANTIZED = "is a quantized model, which has lost its vectors' precision; give the .bin that it was made from"


class Header(NamedTuple):
    """Part 2 of a file, in its order: the settings that it keeps.

    `window`, `shortest` and `longest` (n-grams of characters) and `update_rate` mean nothing to a Sent2Vec model.
    `loss` is 1 hierarchical softmax, 2 negative sampling, 3 softmax.
    """

    dim: int
    window: int
    epochs: int
    min_count: int
    negatives: int
    word_ngrams: int
    loss: int
    model: int
    bucket: int
    shortest: int
    longest: int
    update_rate: int
    subsample: float


class ModelFile(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    header : Header
    dictionary : Dictionary
    input_matrix : float32[words + bucket + 1, dim], vectors of words, of n-grams, and a row that is not used, which
        may be missing
    output_matrix : float32[words, dim]
    """

    header: Header
    dictionary: Dictionary
    input_matrix: np.ndarray
    output_matrix: np.ndarray


# -- reading ------------------------------------------------------------------------------------


def read(path: str | Path) -> ModelFile:
    """The model in a file; its matrices are memory-mapped, read-only and, mostly, not aligned.

    Raises
    ------
    InputError
        A file that is missing, empty, cut short or goes on after its end; that is a web page or something else; a
        model of another version, of another kind, or quantized; numbers in it that cannot be.
    """
    try:
        with files.opened(path) as stream:
            if not os.fstat(stream.fileno()).st_size:
                raise InputError(f"{path}: is empty; get the file again")
            return parse(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a model file (.bin)") from error


def parse(data: bytes | mmap.mmap, name: str | Path) -> ModelFile:
    """The model in the bytes of a file, without a copy of its matrices; `name` is what errors call it.

    Raises InputError for bytes that are not such a model or not whole.
    """
    cursor = _Cursor(data, name)
    header = _header(cursor)
    dictionary = _dictionary(cursor)
    n, ngrams = dictionary.n_words, header.bucket if header.word_ngrams > 1 else 0
    input_matrix = _matrix(cursor, "input", header.dim, range(n + ngrams, n + header.bucket + 2))
    output_matrix = _matrix(cursor, "output", header.dim, range(n, n + 1))
    if cursor.remaining:
        raise InputError(f"{name}: goes on for {cursor.remaining} bytes after its output matrix; get the file again")
    return ModelFile(header, dictionary, input_matrix, output_matrix)


class _Cursor:
    """A place in the bytes of a file."""

    def __init__(self, data: bytes | mmap.mmap, name: str | Path) -> None:
        self.data, self.name, self.position = data, name, 0

    @property
    def remaining(self) -> int:
        return len(self.data) - self.position

    def skip(self, size: int, what: str) -> int:
        """Go on by `size` bytes; the position where they begin."""
        if size > self.remaining:
            raise self.cut_short(what)
        self.position += size
        return self.position - size

    def unpack(self, layout: struct.Struct, what: str) -> tuple:
        return layout.unpack_from(self.data, self.skip(layout.size, what))

    def cut_short(self, what: str) -> InputError:
        return InputError(f"{self.name}: is cut short, it ends in its {what}; get the file again")

    def damaged(self, what: str) -> InputError:
        return InputError(f"{self.name}: is damaged, {what}; get the file again")


def _header(cursor: _Cursor) -> Header:
    if files.begins_web_page(cursor.data[:512]):
        raise InputError(f"{cursor.name}: {WEB_PAGE}")
    magic, version = cursor.unpack(START, "header")
    if magic != MAGIC:
        raise InputError(
            f"{cursor.name}: is no model of the Sent2Vec program; give a .bin of its first release or later"
        )
    if version != VERSION:
        raise InputError(f"{cursor.name}: has version {version} of the format; give a file of version {VERSION}")
    header = Header(*cursor.unpack(HEADER, "header"))
    if header.model != SENT2VEC:
        kind = OTHER_MODELS.get(header.model, f"unknown ({header.model})")
        raise InputError(f"{cursor.name}: is a fastText model of kind {kind}; give one trained with sent2vec")
    if header.dim < 1 or header.word_ngrams < 0 or header.bucket < (header.word_ngrams > 1):
        raise cursor.damaged(
            f"its header says {header.dim} dimensions, n-grams of {header.word_ngrams} words, {header.bucket} buckets"
        )
    return header


def _dictionary(cursor: _Cursor) -> Dictionary:
    entries, words, labels, tokens, pruned = cursor.unpack(SIZES, "dictionary")
    if min(words, labels, tokens) < 0 or words < 1 or words + labels != entries or pruned < -1:
        raise cursor.damaged(f"its dictionary says {words} words and {labels} labels of {entries}, {tokens} tokens")
    if pruned >= 0:
        raise InputError(f"{cursor.name}: {QUANTIZED}")
    names, tails = _entries(cursor, entries)
    counts, types = tails["count"].copy(), tails["type"].copy()
    expected = np.repeat(np.int8([WORD, LABEL]), [words, labels])
    if (counts < 0).any() or (types != expected).any():
        raise cursor.damaged("its dictionary holds negative counts, or labels among its words")
    return Dictionary(names, counts, types, tokens)


def _entries(cursor: _Cursor, count: int) -> tuple[list[bytes], np.ndarray]:
    """The names of the entries, and what follows each of them, as an array of records."""
    data, find, names, ends = cursor.data, cursor.data.find, [], []
    start = cursor.position
    for _ in range(count):
        end = find(b"\0", start)
        if end < 0:
            raise cursor.cut_short("dictionary")
        names.append(data[start:end])
        ends.append(end + 1)
        start = end + 1 + TAIL.size
    cursor.skip(start - cursor.position, "dictionary")
    bytes_of_tails = np.frombuffer(data, np.uint8)[np.array(ends)[:, None] + np.arange(TAIL.size)]
    return names, bytes_of_tails.view([("count", "<i8"), ("type", "i1")])[:, 0]


def _matrix(cursor: _Cursor, which: str, dim: int, rows_expected: range) -> np.ndarray:
    """float32[rows, dim] over the bytes of the file."""
    quantized, rows, columns = cursor.unpack(MATRIX, f"{which} matrix")
    if quantized:
        raise InputError(f"{cursor.name}: {QUANTIZED}")
    if columns != dim or rows not in rows_expected:
        raise cursor.damaged(
            f"its {which} matrix has {rows} rows of {columns} numbers where {rows_expected[-1]} of {dim} should be"
        )
    start = cursor.skip(4 * rows * dim, f"{which} matrix")
    return np.frombuffer(cursor.data, "<f4", rows * dim, start).reshape(rows, dim)


# -- writing ------------------------------------------------------------------------------------


def write(path: str | Path, model: ModelFile) -> None:
    """Write a model to a file: to another name, flushed, then moved into place.

    A process that is killed leaves the old file as it was. Raises InputError if the file cannot be written.
    """
    path = Path(path)
    try:
        with files.replacing(path) as stream:
            for part in _parts(model):
                stream.write(part)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); give a file in a folder with room") from error


def dumps(model: ModelFile) -> bytes:
    """The bytes of a model's file."""
    return b"".join(_parts(model))


def _parts(model: ModelFile) -> Iterator[bytes | memoryview]:
    dictionary = model.dictionary
    words, entries = dictionary.n_words, len(dictionary.words)
    yield START.pack(MAGIC, VERSION) + HEADER.pack(*model.header)
    yield SIZES.pack(entries, words, entries - words, dictionary.tokens, -1)
    listed = zip(dictionary.words, dictionary.counts.tolist(), dictionary.types.tolist(), strict=True)
    yield b"".join(word + b"\0" + TAIL.pack(count, type) for word, count, type in listed)
    for matrix in (model.input_matrix, model.output_matrix):
        yield MATRIX.pack(0, *matrix.shape)
        step = max(1, BLOCK // matrix.shape[1])
        for start in range(0, len(matrix), step):
            yield np.ascontiguousarray(matrix[start : start + step], "<f4").view(np.uint8).data
