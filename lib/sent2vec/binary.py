"""Model files of the authors' program, ``.bin`` (version 11; little-endian, packed).

1. int32 magic 793712314, int32 version
2. int32 dim, window, epochs, min_count, negatives, word_ngrams, loss, model, bucket,
   shortest, longest, update_rate; float64 subsample. A Sent2Vec model is model 4; the
   rest of the settings is not in the file
3. int32 entries, words, labels; int64 tokens; int64 pruned (-1, unless the model is
   quantized)
4. an entry: its bytes, a zero, int64 count, int8 type (0 word, 1 label)
5. uint8 quantized; int64 rows (words + bucket + 1), int64 dim, float32[rows, dim]: the
   input matrix
6. uint8 quantized; int64 rows (words), int64 dim, float32[rows, dim]: the output matrix
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

import numpy as np

from lib.base.errors import InputError
from lib.sent2vec.text import Dictionary

MAGIC = 793712314
VERSION = 11
SENT2VEC = 4
# The layouts of a file's parts.
START = Struct("<2i")
HEADER = Struct("<12id")
SIZES = Struct("<3i2q")
ENTRY = Struct("<qb")
MATRIX = Struct("<B2q")


class Header(NamedTuple):
    """Part 2 of a file, in its order: the settings that it keeps.

    `window`, `shortest` and `longest` (n-grams of characters) and `update_rate` mean
    nothing to a Sent2Vec model. `loss` is 1 hierarchical softmax, 2 negative sampling,
    3 softmax.
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
    input_matrix : float32[words + bucket + 1, dim]
        Vectors of words, of n-grams, and a row that is not used, which may be missing.
    output_matrix : float32[words, dim]
    """

    header: Header
    dictionary: Dictionary
    input_matrix: np.ndarray
    output_matrix: np.ndarray


# -- reading ---------------------------------------------------------------------------


def read(path: str | Path) -> ModelFile:
    """The model in a file, with memory-mapped matrices.

    The matrices are read-only and mostly not aligned.

    Raises
    ------
    InputError
        A file that is missing, truncated or too long, a web page or another kind of
        file; a model of another version or kind, or a quantized one; impossible numbers
        in it.
    """
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            return parse(
                mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
                if size
                else b"",
                path,
            )
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give a model file (.bin)"
        ) from error


def parse(data: bytes | mmap.mmap, name: str | Path) -> ModelFile:
    """The model in the bytes of a file, without a copy of its matrices.

    Errors refer to the file by `name`. Raises InputError for bytes that are not such a
    model or not whole.
    """
    part = Parts(data, name)
    version, header, dictionary = head(part)
    if version != VERSION:
        raise part.refused(
            f"has version {version} of the format", f"give a file of version {VERSION}"
        )
    if header.model != SENT2VEC:
        raise part.refused(
            f"is a fastText model of kind {header.model}",
            "give one trained with sent2vec (kind 4)",
        )
    n = dictionary.n_words
    ngrams = header.bucket if header.word_ngrams > 1 else 0
    input_matrix = matrix(part, header.dim, range(n + ngrams, n + header.bucket + 2))
    output_matrix = matrix(part, header.dim, range(n, n + 1))
    if part.position < len(data):
        raise part.refused("continues after its output matrix")
    return ModelFile(header, dictionary, input_matrix, output_matrix)


class Parts:
    """The bytes of a file, taken one part after the other."""

    def __init__(self, data: bytes | mmap.mmap, name: str | Path) -> None:
        self.data = data
        self.name = name
        self.position = 0

    def skip(self, size: int) -> int:
        """Go on by `size` bytes; the position where they begin."""
        if size > len(self.data) - self.position:
            raise self.refused("is cut short")
        self.position += size
        return self.position - size

    def unpack(self, layout: Struct) -> tuple:
        return layout.unpack_from(self.data, self.skip(layout.size))

    def refused(self, problem: str, remedy: str = "get the file again") -> InputError:
        return InputError(f"{self.name}: {problem}; {remedy}")

    def refuse_quantized(self, quantized: bool) -> None:
        if quantized:
            raise self.refused(
                "is a quantized model, which has lost precision",
                "give the .bin that it was made from",
            )


def head(part: Parts) -> tuple[int, Header, Dictionary]:
    """The version of the format, and what comes before the matrices.

    This also reads models of fastText.
    """
    magic, version = part.unpack(START)
    if magic != MAGIC:
        raise part.refused("is not a Sent2Vec model (perhaps a saved web page)")
    header = Header(*part.unpack(HEADER))
    if header.dim < 1 or header.bucket < (header.word_ngrams > 1):
        raise part.refused(
            f"is damaged, its header says {header.dim} dimensions, {header.bucket} "
            "buckets"
        )
    return version, header, _dictionary(part)


def _dictionary(part: Parts) -> Dictionary:
    entries, n_words, labels, tokens, pruned = part.unpack(SIZES)
    part.refuse_quantized(pruned >= 0)
    if n_words < 1 or labels < 0 or n_words + labels != entries:
        raise part.refused(
            f"is damaged, its dictionary says {n_words} words and {labels} labels of "
            f"{entries}"
        )
    words = []
    counts = []
    for number in range(entries):
        size = part.data.find(b"\0", part.position) - part.position
        start = part.skip(size + 1 if size >= 0 else len(part.data))
        count, is_label = part.unpack(ENTRY)
        if count < 0 or is_label != (number >= n_words):
            raise part.refused(
                "is damaged, its dictionary has negative counts, or labels among its "
                "words"
            )
        words.append(part.data[start : start + size])
        counts.append(count)
    return Dictionary(words, np.array(counts, np.int64), n_words, tokens)


def matrix(part: Parts, dim: int, n_rows: range) -> np.ndarray:
    """float32[rows, dim] over the bytes of the file.

    Raises InputError if its number of rows is not in `n_rows`.
    """
    quantized, rows, columns = part.unpack(MATRIX)
    part.refuse_quantized(quantized)
    if columns != dim or rows not in n_rows:
        raise part.refused(
            f"is damaged, a matrix has {rows} rows of {columns} numbers, not "
            f"{n_rows[-1]} of {dim}"
        )
    size = rows * dim
    return np.frombuffer(part.data, "<f4", size, part.skip(4 * size)).reshape(rows, dim)


# -- writing ---------------------------------------------------------------------------


def write(stream: BinaryIO, model: ModelFile) -> None:
    """Write the bytes of a model's file."""
    dictionary = model.dictionary
    n_words = dictionary.n_words
    entries = len(dictionary.words)
    stream.write(START.pack(MAGIC, VERSION) + HEADER.pack(*model.header))
    stream.write(SIZES.pack(entries, n_words, entries - n_words, dictionary.tokens, -1))
    counts = dictionary.counts.tolist()
    for number, (word, count) in enumerate(zip(dictionary.words, counts, strict=True)):
        stream.write(word + b"\0" + ENTRY.pack(count, number >= n_words))
    for matrix in (model.input_matrix, model.output_matrix):
        stream.write(MATRIX.pack(0, *matrix.shape))
        stream.write(np.ascontiguousarray(matrix, "<f4").data)
