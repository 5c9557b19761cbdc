"""Readers of word vectors in the formats that they are published in, told apart by content.

=================  ==================================================================================
word2vec, binary   "v d" and a newline; then v times a word, a blank, d float32, perhaps a newline
word2vec, text;    "v d" and a newline; then v lines of a word and d numbers
fastText ``.vec``
GloVe; PARAGRAM;   lines of a word and d numbers
ParaNMT
fastText ``.bin``  see `lib.embedders.word_vectors.fasttext_file`
a folder           ``*_emb.npy``: float[v, d]; ``*_index.parquet``: column ``index`` with v words
=================  ==================================================================================

All but the folder may be packed by gzip. In lines of text, one blank separates fields, and the last d fields are
the numbers, so that the words of glove.840B with blanks in them (". . .", "at name@domain.com") are read right.
"""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lib.embedders.word_vectors.byte_source import BLOCK, Source
from lib.embedders.word_vectors.fasttext_file import FastTextFile
from lib.embedders.word_vectors.reader import MOST_DIMENSIONS, Block, SourceReader, VectorReader
from lib.embedders.word_vectors.text_rows import END, RowError, Rows, numbers_at_end, parse_rows
from lib.run.errors import InputError, one_line
from lib.run.files import begins_web_page

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = 1 << 20  # bytes that tell the format
SAMPLE = 100  # lines that tell the dimension
THREADS = 2
FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")


def files_of(path: Path) -> list[Path]:
    """The files that the vectors at this path are read from; InputError if they are not there."""
    if os.path.isdir(path):  # unlike Path.is_dir, also of a name too long to be one
        return [_only(path, "*_emb.npy"), _only(path, "*_index.parquet")]
    if not os.path.exists(path):
        raise InputError(f"{path}: is not there; give a file of word vectors")
    return [path]


def open_vectors(path: Path) -> VectorReader:
    """A reader for the file or folder at this path.

    Raises InputError for what is not a file of word vectors. Readers raise it too, while they read: for a file that
    ends early or goes on for too long, and for a row that is not made of a word and `dim` numbers.
    """
    if os.path.isdir(path):
        return _Folder(*files_of(path))
    source = Source(path)
    try:
        return _reader(source)
    except BaseException:
        source.close()
        raise


def _reader(source: Source) -> VectorReader:
    head = source.read(HEAD)
    source.seek(0)
    _refuse_others(source.path, head)
    if head.startswith(FASTTEXT_MAGIC):
        return FastTextFile(source)
    first, _, rest = head.partition(b"\n")
    header = _header(source.path, first, rest)
    if header is None:
        return _Text(source, None, _dimension(source.path, head))
    source.skip(len(first) + 1, "its header")
    return (_Text if _is_text(rest) else _Word2vecBinary)(source, *header)


# -- what is it? --------------------------------------------------------------------------------


def _refuse_others(path: Path, head: bytes) -> None:
    start = head[:1000].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        raise InputError(f"{path}: is empty; download it again")
    if begins_web_page(start):
        raise InputError(f"{path}: is a web page that was saved in place of the weights; download the file itself")
    if head.startswith(b"PK\x03\x04"):
        raise InputError(f"{path}: is a zip archive; unpack it and give the file inside")


def _header(path: Path, first: bytes, rest: bytes) -> tuple[int, int] | None:
    """Words and dimensions, if a file starts with two integers and they are not a word with its only number."""
    if not re.fullmatch(rb"[0-9]{1,15} [0-9]{1,15}[ \r]*", first):
        return None
    count, dim = map(int, first.split())
    if dim != 1 and len(rest.partition(b"\n")[0].split(b" ")) == 2 and _is_text(rest):
        return None
    if not count or not 1 <= dim <= MOST_DIMENSIONS:
        raise InputError(
            f"{path}: its header announces {count} words of {dim} dimensions; "
            f"give a file with at least one of each, and at most {MOST_DIMENSIONS} dimensions"
        )
    return count, dim


def _is_text(rest: bytes) -> bool:
    """Whether lines of text follow a header. Bytes of floats are not printable for long."""
    line = rest.partition(b"\n")[0].rstrip(END)
    return 0 < numbers_at_end(line) == line.count(b" ") or not re.search(rb"[\x00-\x08\x0e-\x1f]", rest)


def _dimension(path: Path, head: bytes) -> int:
    """The dimension of a file without a header: that of most of its first lines, of the first where none prevails."""
    lines = head.split(b"\n")
    lines = [line for line in lines[: min(SAMPLE, max(len(lines) - 1, 1))] if line.rstrip(END)]
    counts = Counter(numbers_at_end(line) for line in lines)
    dim = counts.most_common(1)[0][0] if counts else 0
    if not dim:
        start = head[:40].decode("utf-8", "replace")
        raise InputError(
            f"{path}: is no file of word vectors, it starts with {start!r}; "
            "give one in the format of word2vec, GloVe or fastText"
        )
    return dim


# -- readers ------------------------------------------------------------------------------------


class _Word2vecBinary(SourceReader):
    """word2vec's binary format."""

    def __init__(self, source: Source, count: int, dim: int) -> None:
        super().__init__(source)
        self.count, self.dim = count, dim

    def blocks(self, folder: Path) -> Iterator[Block]:
        for names, data in self.source.records(self.count, b" ", 4 * self.dim, "words"):
            words = [name.removeprefix(b"\n") for name in names]
            yield words, np.frombuffer(data, "<f4").reshape(-1, self.dim)
        if self.source.read(BLOCK).strip(b"\n"):
            raise InputError(f"{self.source.path}: goes on after the {self.count} words that its header announces")


class _Text(SourceReader):
    """Lines of a word and its numbers, after a header or without one."""

    def __init__(self, source: Source, count: int | None, dim: int) -> None:
        super().__init__(source)
        self.count, self.dim = count, dim

    def blocks(self, folder: Path) -> Iterator[Block]:
        read, line = 0, 1 if self.count is None else 2
        for future in self._parsed():
            try:
                words, vectors, lines = future.result()
            except RowError as error:
                raise InputError(f"{self.source.path}, line {line + error.line}: {error.reason}") from error
            line += lines
            read += len(words)
            yield words, vectors
        if self.count is not None and read != self.count:
            raise InputError(
                f"{self.source.path}: holds {read} words and its header announces {self.count}; "
                "download it again, it may not be whole"
            )

    def _parsed(self) -> Iterator[Future[Rows]]:
        """The rest of the file in its order, parsed a little ahead."""
        with ThreadPoolExecutor(THREADS) as pool:
            waiting: deque[Future[Rows]] = deque()
            for data in self.source.lines():
                waiting.append(pool.submit(parse_rows, data, self.dim))
                if len(waiting) > THREADS:
                    yield waiting.popleft()
            yield from waiting


class _Folder(VectorReader):
    """NumPy's matrix beside a table of words."""

    def __init__(self, matrix: Path, words: Path) -> None:
        self._read = 0
        self._matrix = _mapped(matrix)
        self._words = _column(words, len(self._matrix))
        shape = self._matrix.shape
        if len(shape) != 2 or self._matrix.dtype.kind != "f" or not all(shape):
            raise InputError(
                f"{matrix}: is {self._matrix.dtype}{list(shape)}; give a row of floating-point numbers for each word"
            )
        self.count, self.dim = shape

    def blocks(self, folder: Path) -> Iterator[Block]:
        step = max(1, BLOCK // (4 * self.dim))
        for start in range(0, self.count, step):
            words = self._words.slice(start, step).to_pylist()
            yield [word.encode() for word in words], self._matrix[start : start + step].astype(np.float32)
            self._read = start + len(words)

    def fraction(self) -> float:
        return self._read / max(self.count, 1)

    def close(self) -> None:
        """Nothing to do: the memory-map goes with its array."""


def _mapped(file: Path) -> np.ndarray:
    """The array in a file of NumPy's, mapped."""
    try:
        array = np.lib.format.open_memmap(file, mode="r")
    except Exception as error:  # a damaged header, which is Python, can raise nearly anything
        raise InputError(f"{file}: is not a NumPy array ({one_line(error)}); download it again") from error
    if not array.ndim or array.offset + array.nbytes != file.stat().st_size:
        raise InputError(f"{file}: goes on after the {list(array.shape)} that its header announces; download it again")
    return array


def _column(file: Path, rows: int) -> pa.ChunkedArray:
    """The column ``index`` of a table of so many rows, str."""
    import pyarrow.parquet as parquet

    try:
        count = parquet.read_metadata(file).num_rows
        table = parquet.read_table(file, columns=["index"], page_checksum_verification=True) if count == rows else None
        if table is None or len(table) != rows:
            raise InputError(f"{file}: holds {count} words for a matrix of {rows} rows; give a word for each row")
        words = table["index"]
        words.validate(full=True)
    except InputError:
        raise
    except Exception as error:  # those of Arrow share no class
        raise InputError(
            f"{file}: is not a Parquet table with a column 'index' ({one_line(error)}); download it again"
        ) from error
    if not all(isinstance(word, str) for word in words.to_pylist()):
        raise InputError(f"{file}: its column 'index' is {words.type}; give strings, none of them missing")
    return words


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(file for file in folder.glob(pattern) if file.is_file())
    if len(found) != 1:
        raise InputError(f"{folder}: holds {len(found)} files {pattern}; give a folder with one, or a file of vectors")
    return found[0]
