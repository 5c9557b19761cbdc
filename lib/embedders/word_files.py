"""Published files of word vectors, read in blocks and told apart by content.

=================  ==================================================================================
word2vec, binary   "v d" and a newline; then v times a word, a blank, d float32, perhaps a newline
word2vec, text;    "v d" and a newline; then v lines of a word and d numbers
fastText ``.vec``
GloVe; PARAGRAM;   lines of a word and d numbers
ParaNMT
fastText ``.bin``  see `_fasttext`
a folder           ``*_emb.npy``: float[v, d]; ``*_index.parquet``: column ``index`` with v words
=================  ==================================================================================

All but the folder may be packed by gzip. In lines of text one blank separates fields, and the last d fields are the
numbers, so that the words of glove.840B with blanks in them (". . .", "at name@domain.com") are read right.
"""

from __future__ import annotations

import gzip
import re
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from lib.run import files
from lib.run.errors import InputError, one_line

BLOCK = 1 << 22  # bytes read at a time
HEAD = 1 << 18  # bytes that tell the format
LONGEST_LINE = 1 << 24
SAMPLE = 100  # lines that tell the dimension
LONGEST_NGRAM = 255  # published models have 6
MOST_DIMENSIONS = 1 << 16  # a header that announces more is no header

Block = tuple[list[bytes], np.ndarray]


class Vectors(NamedTuple):
    """What is in a file.

    Attributes
    ----------
    dim : int
    count : int
        Words; an estimate where the file does not say it.
    blocks : iterator of (list of bytes, float32[n, dim])
        Words with their vectors, some megabytes at a time.
    lengths : (int, int), optional
        Of the shortest and the longest character n-gram that has a vector, too.
    buckets : iterator of float32[n, dim]
        The n-grams' vectors, to be read before the `blocks`; those hold rows of words without their n-grams then.
    """

    dim: int
    count: int
    blocks: Iterator[Block]
    lengths: tuple[int, int] | None = None
    buckets: Iterator[np.ndarray] = iter(())


def files_of(path: Path) -> list[Path]:
    """The files that the vectors at this path are read from; InputError if they are not there."""
    if not path.is_dir():
        if path.exists():
            return [path]
        raise InputError(f"{path}: is not there; give a file of word vectors")
    found = [*path.glob("*_emb.npy"), *path.glob("*_index.parquet")]
    if [file.suffix for file in found] != [".npy", ".parquet"]:
        raise InputError(f"{path}: holds no *_emb.npy with its *_index.parquet; give such a folder, or a file")
    return found


@contextmanager
def opened(path: Path) -> Iterator[Vectors]:
    """The vectors in a file or folder. Whatever is wrong with it, now or while it is read, becomes InputError."""
    try:
        if path.is_dir():
            yield _folder(*files_of(path))
            return
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream = gzip.GzipFile(fileobj=file) if packed else file
            yield _vectors(stream, path.stat().st_size)
            while packed and stream.read(BLOCK):  # the checksum comes last
                pass
    except InputError:
        raise
    except Exception as error:  # damaged bytes raise nearly anything
        raise InputError(f"{path}: {one_line(error)}; give a whole file in a format of word vectors") from error


def _vectors(stream: IO[bytes], size: int) -> Vectors:
    head = stream.read(HEAD)
    stream.seek(0)
    if not head.strip():
        raise ValueError("is empty")
    if files.begins_web_page(head):
        raise ValueError("is a web page that was saved in place of the weights")
    if head.startswith(b"PK\x03\x04"):
        raise ValueError("is a zip archive, to be unpacked")
    if head.startswith(FASTTEXT_MAGIC):
        return _fasttext(stream)
    first, _, rest = head.partition(b"\n")
    if not re.fullmatch(rb"[0-9]{1,15} [0-9]{1,15}[ \r]*", first):
        return _text(stream, head, size)
    stream.seek(len(first) + 1)
    count, dim = _announced(*first.split())
    line = rest.partition(b"\n")[0]
    if _row(line, dim) or not re.search(rb"[\x00-\x08\x0e-\x1f]", rest):
        return _text(stream, rest, size, count, dim)
    return Vectors(dim, count, _word2vec(stream, count, dim))


def _announced(count: int | bytes, dim: int | bytes) -> tuple[int, int]:
    count, dim = int(count), int(dim)
    if count < 1 or not 1 <= dim <= MOST_DIMENSIONS:
        raise ValueError(f"its header announces {count} words of {dim} dimensions")
    return count, dim


# -- text ---------------------------------------------------------------------------------------


def _text(stream: IO[bytes], head: bytes, size: int, count: int | None = None, dim: int = 0) -> Vectors:
    """Lines of text that begin with `head`, after a header of count and dim or without one."""
    lines = [line for line in head.splitlines() if line.strip()]
    whole = lines if len(head) < HEAD else lines[:-1]
    forms = Counter((line.count(b" "), line.endswith(b" ")) for line in whole[:SAMPLE])
    (blanks, blank_at_end), _ = forms.most_common(1)[0]
    _, dim = _announced(1, dim or blanks - blank_at_end)
    estimate = max(1, size * len(lines) // len(head))
    return Vectors(dim, count or estimate, _rows(stream, dim, blank_at_end, count))


def _rows(stream: IO[bytes], dim: int, blank_at_end: bool, announced: int | None) -> Iterator[Block]:
    """Blocks parsed by Arrow; those in which it finds a line of too few or too many fields are taken apart here."""
    import pyarrow as pa
    from pyarrow import csv

    numbers = [str(i) for i in range(dim)]
    names = ["word", *numbers, *(["end"] if blank_at_end else [])]
    types = {"word": pa.binary()} | dict.fromkeys(numbers, pa.float32())
    how = (
        csv.ReadOptions(column_names=names, block_size=2 * BLOCK, use_threads=False),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(column_types=types, include_columns=["word", *numbers], null_values=[]),
    )
    read, lines = 0, int(announced is not None)
    for data in _whole_lines(stream):
        try:
            word, *columns = csv.read_csv(pa.BufferReader(data), *how).columns
            block = word.to_pylist(), np.column_stack([column.to_numpy() for column in columns])
        except pa.ArrowInvalid:
            block = _taken_apart(data, dim, lines)
        read += len(block[0])
        lines += data.count(b"\n")
        yield block
    if announced not in (None, read):
        raise ValueError(f"holds {read} words where its header announces {announced}")


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while data := stream.read(BLOCK):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"has a line of {len(rest)} bytes or more")
    if rest:
        yield rest


def _taken_apart(data: bytes, dim: int, before: int) -> Block:
    """Lines, some of them perhaps of a word with blanks in it; `before` so many others of the file."""
    rows = []
    for number, line in enumerate(data.split(b"\n"), before + 1):
        if line.strip():
            row = _row(line, dim)
            if row is None:
                start = line[:40].decode("utf-8", "replace")
                raise ValueError(f"line {number} is not a word and {dim} numbers: {start!r}")
            rows.append(row)
    with np.errstate(over="ignore"):  # infinity is refused later, as in every format
        vectors = np.array([numbers for _, numbers in rows]).astype(np.float32)
    return [word for word, _ in rows], vectors.reshape(-1, dim)


def _row(line: bytes, dim: int) -> tuple[bytes, list[float]] | None:
    """A line's word and numbers; None if not just its last `dim` fields are numbers."""
    fields = line.rstrip(b" \r").split(b" ")
    word, numbers = fields[:-dim], fields[-dim:]
    if not word or not all(map(_is_number, numbers)) or (len(word) > 1 and _is_number(word[-1])):
        return None
    return b" ".join(word), [float(number) for number in numbers]


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


# -- binary -------------------------------------------------------------------------------------


def _word2vec(stream: IO[bytes], count: int, dim: int) -> Iterator[Block]:
    for names, data in _records(stream, count, b" ", 4 * dim):
        yield [name.removeprefix(b"\n") for name in names], np.frombuffer(data, "<f4").reshape(-1, dim)


def _records(stream: IO[bytes], count: int, delimiter: bytes, size: int) -> Iterator[tuple[list[bytes], bytes]]:
    """Records of a name, a delimiter and `size` bytes, in blocks: the names, and what follows them put together."""
    rest, left = b"", count
    while left:
        data = rest + stream.read(BLOCK + size)
        names, parts, end = [], [], 0
        while len(names) < left:
            middle = data.find(delimiter, end)
            stop = middle + 1 + size
            if middle < 0 or stop > len(data):
                break
            names.append(data[end:middle])
            parts.append(data[middle + 1 : stop])
            end = stop
        if not names:
            raise ValueError(f"holds {count - left} words where its header announces {count}")
        rest, left = data[end:], left - len(names)
        yield names, b"".join(parts)


FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
START, MATRIX, ENTRY = struct.Struct("<2i12id3i2q"), struct.Struct("<B2q"), struct.Struct("<qb")
OTHER_MODELS = {3: "a supervised model, a classifier", 4: "a Sent2Vec model", 5: "a Sent2Vec model"}


def _fasttext(stream: IO[bytes]) -> Vectors:
    """fastText's binary models (versions 11 and 12 of the format; little-endian, packed).

    1. int32 magic, int32 version
    2. int32 dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate; float64 t
    3. int32 entries, words, labels; int64 tokens; int64 pruned (-1, unless the model is quantized)
    4. an entry: its bytes, a zero, int64 count, int8 type
    5. bool quantized; int64 rows (words + bucket), int64 dim, float32[rows, dim]: the input matrix
    6. the output matrix, not read
    """
    _, version, dim, *_, model, bucket, shortest, longest, _, _, entries, count, labels, _, pruned = START.unpack(
        stream.read(START.size)
    )
    _announced(count, dim)
    if version not in (11, 12):
        raise ValueError(f"has version {version} of fastText's format, which is not 11 or 12")
    if longest > LONGEST_NGRAM:
        raise ValueError(f"its header announces n-grams of up to {longest} letters")
    if model in OTHER_MODELS or labels:
        raise ValueError(f"is {OTHER_MODELS.get(model, 'a classifier')}, not one of words")
    words = [word for names, _ in _records(stream, entries, b"\0", ENTRY.size) for word in names]
    matrix = START.size + sum(map(len, words)) + (1 + ENTRY.size) * len(words)
    stream.seek(matrix)
    quantized, rows, width = MATRIX.unpack(stream.read(MATRIX.size))
    if quantized or pruned >= 0:
        raise ValueError("is a quantized model, which has lost its vectors' precision")
    if (rows, width, entries) != (count + bucket, dim, count):
        raise ValueError(f"has {rows} rows of {width} numbers where its header announces {count + bucket} of {dim}")
    first = matrix + MATRIX.size
    blocks = _fasttext_words(words, _fasttext_rows(stream, first, count, dim))
    if not bucket or longest < max(shortest, 1):
        return Vectors(dim, count, blocks)
    ngrams = _fasttext_rows(stream, first + 4 * dim * count, bucket, dim)
    return Vectors(dim, count, blocks, (shortest, longest), ngrams)


def _fasttext_words(words: list[bytes], rows: Iterator[np.ndarray]) -> Iterator[Block]:
    done = 0
    for vectors in rows:
        yield words[done : done + len(vectors)], vectors
        done += len(vectors)


def _fasttext_rows(stream: IO[bytes], start: int, count: int, dim: int) -> Iterator[np.ndarray]:
    """Rows of the input matrix from this place of the file on."""
    stream.seek(start)
    step = max(1, BLOCK // (4 * dim))
    for done in range(0, count, step):
        n = min(step, count - done)
        yield np.frombuffer(stream.read(4 * dim * n), "<f4").reshape(n, dim)


def _folder(matrix_file: Path, words_file: Path) -> Vectors:
    import pyarrow.parquet as parquet

    matrix, count = np.load(matrix_file, mmap_mode="r", allow_pickle=False), parquet.read_metadata(words_file).num_rows
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size or len(matrix) != count:
        raise ValueError(f"has a {matrix.dtype} matrix of shape {matrix.shape} for {count} words")
    words = parquet.read_table(words_file, columns=["index"])["index"].to_pylist()
    step = max(1, BLOCK // (4 * matrix.shape[1]))
    blocks = (
        ([word.encode() for word in words[i : i + step]], matrix[i : i + step].astype(np.float32))
        for i in range(0, len(words), step)
    )
    return Vectors(matrix.shape[1], len(words), blocks)
