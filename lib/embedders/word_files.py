"""Published files of word vectors, read in blocks and told apart by content.

=================  =====================================================================
word2vec, binary   "v d" and a newline; then v times a word, a blank, d float32 and
                   perhaps a newline
word2vec, text;    "v d" and a newline; then v lines of a word and d numbers
fastText ``.vec``
GloVe; PARAGRAM;   lines of a word and d numbers
ParaNMT
fastText ``.bin``  see `_fasttext`
a folder           ``*_emb.npy``: float[v, d]; ``*_index.parquet``: v words in column
                   ``index``
=================  =====================================================================

All but the folder may be packed by gzip, and begin with a byte order mark. In lines of
text blanks or tabs separate fields, and the last d fields are the numbers, so that the
words of glove.840B with blanks in them (". . .", "at name@domain.com") are read right.
Without a first line that says it, d is what most of the first lines have. A word that
ends in a blank and a number like those that follow it ("the 0.1") is refused, and so is
a table's head, 0 to d - 1. A word whose bytes are not UTF-8 is read as Latin-1.
"""

from __future__ import annotations

import gzip
import mmap
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np

from lib.base import paths
from lib.base.characters import decoded
from lib.base.errors import InputError
from lib.corpora.reading import BYTE_ORDER_MARK
from lib.embedders.checkpoints import as_input_error

BLOCK = 1 << 22  # bytes read at a time
ROWS = 4096  # words in a block
SAMPLE = 100  # lines that tell how the others are laid out
LONGEST_LINE = 1 << 20  # bytes of one of them
MOST_DIMENSIONS = 1 << 16  # a file that announces more is damaged
WORD_FILE_REMEDY = "give a whole file in a format of word vectors"

Block = tuple[list[str], np.ndarray]


class Vectors(NamedTuple):
    """What is in a file.

    Attributes
    ----------
    dim : int
    count : int or None
        Words; None where the file does not say it beforehand.
    blocks : iterator of (list of str, float32[n, dim])
        Words with their vectors, some megabytes at a time.
    lengths : (int, int), optional
        Of the shortest and the longest character n-gram that has a vector, too.
    buckets : iterator of float32[n, dim]
        The n-grams' vectors, to be read before the `blocks`; those hold rows of words
        without their n-grams then.
    """

    dim: int
    count: int | None  # type: ignore[assignment] # tuple.count
    blocks: Iterator[Block]
    lengths: tuple[int, int] | None = None
    buckets: Iterator[np.ndarray] = iter(())


def files_of(path: Path) -> list[Path]:
    """The files of the vectors at this path; InputError if they are not there."""
    if not path.is_dir():
        if path.exists():
            return [path]
        raise InputError(f"{path}: no such file; give a file of word vectors")
    files = [*path.glob("*_emb.npy"), *path.glob("*_index.parquet")]
    if [file.suffix for file in files] != [".npy", ".parquet"]:
        raise InputError(
            f"{path}: has no *_emb.npy with its *_index.parquet; "
            "give such a folder, or a file"
        )
    return files


@contextmanager
def opened(path: Path) -> Iterator[Vectors]:
    """The vectors in a file or folder.

    Whatever is wrong with it, now or while it is read, becomes InputError.
    """
    with as_input_error(path, WORD_FILE_REMEDY):
        if path.is_dir():
            yield _folder(*files_of(path))
            return
        with path.open("rb") as file:
            is_packed = file.peek(2).startswith(b"\x1f\x8b")
            yield _vectors(gzip.GzipFile(fileobj=file) if is_packed else file, path)


def _vectors(stream: Any, path: Path) -> Vectors:
    if stream.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
        stream.seek(0)
    first = stream.readline(LONGEST_LINE)
    if first.startswith(FASTTEXT_MAGIC):
        stream.seek(0)
        return _fasttext(stream, path)
    if re.fullmatch(rb"[0-9]{1,15}[ \t]+[0-9]{1,15}[ \t\r]*\n", first):
        count, dim = map(int, first.split())
        _checked(dim)
        found, lines = _laid_out(stream, stream.tell(), dim)
        blocks = _text(lines, dim, count) if found else _word2vec(stream, count, dim)
        return Vectors(dim, count, blocks)
    found, lines = _laid_out(stream, stream.tell() - len(first))
    is_head = found > 2 and first.split()[-found:] == [b"%d" % i for i in range(found)]
    if first.strip(ENDS) and (not found or is_head):
        raise ValueError(f"line 1 is not a word and numbers: {first[:40]!r}")
    return Vectors(_checked(found), None, _text(lines, found))


def _checked(dim: int) -> int:
    if not 0 < dim <= MOST_DIMENSIONS:
        raise ValueError(f"begins with a line for {dim} dimensions")
    return dim


def _in_blocks(items: Iterable[Any]) -> Iterator[list[Any]]:
    remaining = iter(items)
    while block := list(islice(remaining, ROWS)):
        yield block


# -- text ------------------------------------------------------------------------------

ENDS = b" \r\n"  # of a line


def _laid_out(
    stream: IO[bytes], start: int, announced: int | None = None
) -> tuple[int, Iterable[bytes]]:
    """How many numbers most lines have, and the lines from `start` on.

    If fields are separated by tabs, or by several blanks, the lines are changed.
    """
    stream.seek(start)
    sample = [stream.readline(LONGEST_LINE) for _ in range(SAMPLE)]
    stream.seek(start)
    usual = _usual(sample)
    loose = _usual(map(_single_blanks, sample))
    tabs = max(line.rstrip().count(b"\t") for line in sample)  # outside of words
    if loose >= tabs and loose > usual != announced:
        return loose, map(_single_blanks, stream)
    return usual, stream


def _single_blanks(line: bytes) -> bytes:
    """The line with one blank in place of any run of blanks and tabs."""
    return re.sub(rb"[ \t]+", b" ", line)


def _usual(lines: Iterable[bytes]) -> int:
    """How many numbers follow the word in most lines; in a tie, the larger count."""
    stripped = [line.rstrip(ENDS) for line in lines]
    counts = [_numbers(line) for line in stripped if line]
    return max(counts, key=lambda count: (counts.count(count), count), default=0)


def _numbers(line: bytes) -> int:
    """How many of the last fields are numbers, the first field left out.

    A single number after other fields is none, as in "the, 0.1, 0.2" and "in May 2001".
    """
    fields = line.split(b" ")[1:]
    for count, field in enumerate(reversed(fields)):
        try:
            float(field)
        except ValueError:
            return count if count > 1 else 0
    return len(fields)


def _text(
    lines: Iterable[bytes], dim: int, count: int | None = None
) -> Iterator[Block]:
    """The blocks of a text file's lines, or of those that follow its header.

    The header announces `count` words.
    """
    import pyarrow as pa
    from pyarrow import csv

    numbers = [str(i) for i in range(dim)]
    types = {"word": pa.binary()} | dict.fromkeys(numbers, pa.float32())
    options = (
        csv.ReadOptions(
            column_names=list(types), block_size=1 << 30, use_threads=False
        ),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(column_types=types, null_values=[]),
    )
    rows: Any
    read = 0
    number = 1 if count is None else 2
    for block in _in_blocks(lines):
        try:
            data = pa.BufferReader(b"".join(block).replace(b" \n", b"\n"))
            first, *columns = csv.read_csv(data, *options).columns
            words = first.to_pylist()
            rows = np.column_stack([column.to_numpy() for column in columns])
        except pa.ArrowInvalid:  # a word with blanks in it, or a damaged line
            words = []
            rows = []
            for place, line in enumerate(block, number):
                if line.strip(ENDS):
                    word, row = _row(line, dim, place)
                    words.append(word)
                    rows.append(row)
        read += len(words)
        number += len(block)
        yield list(map(decoded, words)), np.reshape(rows, (-1, dim))
    if count not in (None, read):
        raise ValueError(f"holds {read} words, but its header announces {count}")


def _row(line: bytes, dim: int, number: int) -> tuple[bytes, np.ndarray]:
    """The word and the numbers of a line, float32[dim].

    Raises ValueError with the line's number if its last fields are not numbers, or if
    there is one more, written like them, or a carriage return before them.
    """
    word, *numbers = line.rstrip(ENDS).rsplit(b" ", dim)
    last = word.split(b" ")[-1]
    try:
        is_number = _numbers(word) and (b"." in last) == (b"." in b"".join(numbers))
        if is_number or b"\r" in word:
            raise ValueError(f"{dim + 1} numbers")
        return word.strip(b" "), np.array(numbers, np.float32).reshape(dim)
    except ValueError as error:
        raise ValueError(
            f"line {number} is not a word and {dim} numbers: {line[:40]!r}"
        ) from error


# -- binary ----------------------------------------------------------------------------


def _word2vec(stream: IO[bytes], count: int, dim: int) -> Iterator[Block]:
    for block in _in_blocks(_records(stream, count, 4 * dim)):
        words, rows = zip(*block, strict=True)
        names = [decoded(word.removeprefix(b"\n")) for word in words]
        matrix = np.frombuffer(b"".join(rows), "<f4").reshape(-1, dim)
        yield names, matrix


def _records(stream: IO[bytes], count: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """`count` words, each with the `size` bytes that follow the blank behind it."""
    data = b""
    start = 0
    for number in range(count):
        end = data.find(b" ", start)
        while end < 0 or end + size >= len(data):
            more = stream.read(BLOCK)
            if not more:
                raise ValueError(
                    f"holds {number} words, but its header announces {count}"
                )
            data = data[start:] + more
            start = 0
            end = data.find(b" ")
        word = data[start:end]
        start = end + 1 + size
        yield word, data[end + 1 : start]
    if (data[start:] + stream.read(BLOCK)).strip(b"\n"):
        raise ValueError(
            f"holds more than the {count} words of {size // 4} numbers that its header "
            "announces"
        )


FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")


def _fasttext(stream: IO[bytes], path: Path) -> Vectors:
    """fastText's binary models, versions 11 and 12 of the format.

    `lib.sent2vec.binary` describes the format. The input matrix has a row for each word
    and each bucket. The output matrix is not read.
    """
    from lib.sent2vec import binary

    part = binary.Parts(_mapped(stream), path)
    version, header, dictionary = binary.head(part)
    if version not in (11, 12):
        raise ValueError(
            f"has version {version} of fastText's format, which is not 11 or 12"
        )
    count = dictionary.n_words
    if header.model not in (1, 2) or count < len(dictionary.words):
        raise ValueError("is a classifier or a Sent2Vec model, not one of words")
    size = count + header.bucket
    rows = binary.matrix(part, header.dim, range(size, size + 1))
    words = _in_blocks(map(decoded, dictionary.words))
    blocks = zip(words, _slices(rows[:count]), strict=True)
    if not header.bucket or header.longest < max(header.shortest, 1):
        return Vectors(header.dim, count, blocks)
    lengths = (header.shortest, header.longest)
    return Vectors(header.dim, count, blocks, lengths, _slices(rows[count:]))


def _mapped(stream: IO[bytes]) -> mmap.mmap:
    """The bytes of a file, unpacked on disk first if it is packed.

    Unpacked, cc.en.300.bin.gz is 7 GB.
    """
    if not isinstance(stream, gzip.GzipFile):
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    with TemporaryFile(dir=paths.CACHE) as unpacked:
        shutil.copyfileobj(stream, unpacked)
        unpacked.flush()
        return _mapped(unpacked)


def _slices(rows: np.ndarray) -> Iterator[np.ndarray]:
    return (
        rows[start : start + ROWS].astype(np.float32)
        for start in range(0, len(rows), ROWS)
    )


def _folder(matrix_file: Path, words_file: Path) -> Vectors:
    import pyarrow.parquet as parquet

    matrix = np.load(matrix_file, mmap_mode="r", allow_pickle=False)
    words = parquet.read_table(words_file, columns=["index"])["index"].to_pylist()
    if (
        matrix.ndim != 2
        or matrix.dtype.kind != "f"
        or not matrix.size
        or len(matrix) != len(words)
    ):
        raise ValueError(
            f"has a {matrix.dtype} matrix of shape {matrix.shape} for {len(words)} "
            "words"
        )
    blocks = zip(_in_blocks(words), _slices(matrix), strict=True)
    return Vectors(matrix.shape[1], len(words), blocks)
