"""Word vectors converted once, into files that are memory-mapped from then on.

An entry is a folder in ``vectors`` of the cache, named after the file of vectors and a digest of its path, size, time
of change, and the vocabulary asked for::

    glove.840B.300d-1f8d.../
        matrix.npy      float32[v, d]
        buckets.npy     float32[b, d], fastText's character n-grams, of models that have them
        letters.npy, offsets.npy    the words: UTF-8, and where each starts
        hashes.npy, order.npy       the index: hashes of the words, ascending, and the row of each
        about.json      what it is, size and checksum of each file, which rows were left out, and its own checksum

It takes 4 d bytes for each word, some 32 more for the word and its index, and 4 d for each bucket: 3.7 GB for
GoogleNews-vectors-negative300, 2.7 GB for glove.840B.300d, 4.9 GB for crawl-300d-2M-subword. When a file of vectors
changes, its former entry stays until the cache is emptied.

One process at a time writes an entry, under another name, and renames it when all of its bytes have reached the disk:
what a kill leaves behind is never taken for an entry.

The first time that a process opens an entry its bytes are checked, a second for each gigabyte; an entry that is not as
it was written is converted again. Of a matrix of more than a gigabyte only the first gigabyte is checked, and the size:
reading it all would take the better part of a minute on a slow disk and push other things out of memory, where a study
uses few of its rows, and mostly the first, which are those of the frequent words. The words, and which row is whose,
are always checked.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lib.corpora import text
from lib.embedders.word_vectors.files import VectorReader, files_of, open_vectors
from lib.embedders.word_vectors.matrix_file import MatrixFile
from lib.embedders.word_vectors.word_table import Fingerprint, WordIndex, WordList, digest_numbers, encode
from lib.run import files, locks, paths, progress
from lib.run.errors import InputError

FORMAT = 1
ABOUT, MATRIX, BUCKETS = "about.json", "matrix.npy", "buckets.npy"
CHECKED = 1 << 30  # bytes of each file; of what lies beyond them only the size is checked
SHOWN = 100  # duplicate words that about.json names

_log = logging.getLogger(__name__)


class Entry(NamedTuple):
    """Converted vectors, memory-mapped.

    Attributes
    ----------
    name, fingerprint : str
    index : WordIndex
    matrix : float32[v, d]
    buckets : float32[b, d], or None without subwords
    subwords : (int, int) or None, lengths of the shortest and the longest character n-gram
    """

    name: str
    fingerprint: str
    index: WordIndex
    matrix: np.ndarray
    buckets: np.ndarray | None
    subwords: tuple[int, int] | None


def open_entry(path: Path, vocabulary: Collection[str] | None = None, show_progress_bar: bool = False) -> Entry:
    """The vectors of a file or folder, converted first if they have not been before.

    Raises InputError for what cannot be read (see `files`), for vectors with NaN or infinity, for a `vocabulary` that
    is no collection of str or has no word in common with the vectors, and for a full disk.
    """
    wanted = None if vocabulary is None else _checked(vocabulary)
    folder = _folder(path, wanted)
    about = _about(folder)
    if about is None:
        with (
            files.writing(folder.parent, "make room there, or name another folder in SENTENCE_CACHE"),
            locks.held(Path(f"{folder}.lock"), f"converting {path.name}"),
        ):
            about = _about(folder) or _convert(path, wanted, folder, show_progress_bar)
    words = WordList(_map(folder, "letters"), _map(folder, "offsets"))
    index = WordIndex(words, _map(folder, "hashes"), _map(folder, "order"))
    subwords = tuple(about["subwords"]) if about["subwords"] else None
    buckets = _map(folder, "buckets") if subwords else None
    return Entry(_name(path), about["fingerprint"], index, _map(folder, "matrix"), buckets, subwords)


def _checked(vocabulary: Collection[str]) -> frozenset[str]:
    if isinstance(vocabulary, str):
        raise InputError(f"vocabulary: got one string ({vocabulary[:40]!r}); give a collection of words")
    for word in vocabulary:
        if not isinstance(word, str):
            raise InputError(f"vocabulary: holds {word!r}, a {type(word).__name__}; give a collection of words")
    return frozenset(vocabulary)


def _name(path: Path) -> str:
    """A file's name without the endings of formats; a folder's as it is."""
    return path.name if path.is_dir() else re.sub(r"(\.(bin|txt|vec))?(\.gz)?$", "", path.name)


def _folder(path: Path, wanted: frozenset[str] | None) -> Path:
    """Where the entry belongs."""
    status = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files_of(path)]
    words = None if wanted is None else text.fingerprint(sorted(wanted))
    key = json.dumps({"format": FORMAT, "files": status, "vocabulary": words})
    name = re.sub(r"[^A-Za-z0-9.+-]", "_", _name(path))[:80]
    return paths.CACHE / "vectors" / f"{name}-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}"


def _about(folder: Path) -> dict[str, Any] | None:
    """What ``about.json`` says; None if there is no such entry, or not one as it was written."""
    try:
        about = files.unsealed((folder / ABOUT).read_bytes())
        whole = all(_is_as_written(folder / name, *written) for name, written in about["files"].items())
    except (OSError, ValueError, KeyError):
        return None
    return about if whole else None


def _is_as_written(file: Path, size: int, checksum: int) -> bool:
    return file.stat().st_size == size and files.crc32(file, CHECKED) == checksum


def _map(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)


# -- writing ------------------------------------------------------------------------------------


def _convert(path: Path, wanted: frozenset[str] | None, folder: Path, show: bool) -> dict[str, Any]:
    """Write the entry; returns its description."""
    if folder.exists():
        _log.warning("%s: is damaged, or of an older version; converting again", folder)
    with files.replacing_folder(folder) as new:
        return _write(path, wanted, new, show)


def _write(path: Path, wanted: frozenset[str] | None, folder: Path, show: bool) -> dict[str, Any]:
    reader = open_vectors(path)
    table = _Table(path, wanted)
    try:
        with MatrixFile(folder / MATRIX, reader.dim) as matrix:
            _copy(reader, table, matrix, folder, show)
    finally:
        reader.close()
    if not table.words:
        what = f"{path}: holds no words" if wanted is None else f"vocabulary: has no word in common with {path}"
        raise InputError(f"{what}; give another one")
    table.warn()
    words = WordList.of(table.words)
    index = WordIndex.of(words)
    arrays = {"letters": words.letters, "offsets": words.offsets, "hashes": index.hashes, "order": index.order}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    more = (*reader.subwords, digest_numbers(_map(folder, "buckets"))) if reader.subwords else ()
    written = {file.name: [file.stat().st_size, files.crc32(file, CHECKED)] for file in sorted(folder.glob("*.npy"))}
    about = {
        "format": FORMAT,
        "name": _name(path),
        "path": str(path),
        "rows": matrix.rows,
        "dim": reader.dim,
        "subwords": reader.subwords,
        "fingerprint": table.fingerprint.hexdigest(*more),
        "duplicates": table.duplicates,
        "first_duplicates": [word.decode() for word in table.first_duplicates],
        "words_not_utf8": table.mended,
        "files": written,
    }
    (folder / ABOUT).write_text(files.sealed(about), encoding="utf-8")
    return about


def _copy(reader: VectorReader, table: _Table, matrix: MatrixFile, folder: Path, show: bool) -> None:
    with progress.bar(reader.count or 0, f"convert {table.path.name}", unit="words", show=show) as bar:
        for words, vectors in reader.blocks(folder):
            matrix.append(table.add(words, vectors))
            if reader.count is None:  # an estimate
                bar.total = round(table.read / max(reader.fraction(), 1e-9))
            bar.update(len(words))


class _Table:
    """The words that have been read.

    Attributes
    ----------
    words : dict, the kept ones as UTF-8, in order
    read : int, how many were read
    duplicates : int, how many were left out because they had been there before
    first_duplicates : list of bytes, at most `SHOWN` of them
    mended : int, how many were not UTF-8 and were read as Latin-1
    fingerprint : Fingerprint of the kept words and vectors
    """

    def __init__(self, path: Path, wanted: frozenset[str] | None) -> None:
        self.path = path
        self.words: dict[bytes, None] = {}
        self.read = self.duplicates = self.mended = 0
        self.first_duplicates: list[bytes] = []
        self.fingerprint = Fingerprint()
        self._wanted = None if wanted is None else frozenset(map(encode, wanted))

    def add(self, words: list[bytes], vectors: np.ndarray) -> np.ndarray:
        """Take over what is wanted of the next rows; returns their vectors."""
        words = self._as_utf8(words)
        self._refuse_not_finite(words, vectors)
        self.read += len(words)
        kept = np.fromiter(map(self._keeps, words), bool, len(words))
        if not kept.all():
            words, vectors = [word for word, keep in zip(words, kept, strict=True) if keep], vectors[kept]
        self.fingerprint.add(words, vectors)
        return vectors

    def _keeps(self, word: bytes) -> bool:
        if self._wanted is not None and word not in self._wanted:
            return False
        if word in self.words:
            self.duplicates += 1
            if len(self.first_duplicates) < SHOWN:
                self.first_duplicates.append(word)
            return False
        self.words[word] = None
        return True

    def _as_utf8(self, words: list[bytes]) -> list[bytes]:
        try:
            b"\n".join(words).decode()
        except UnicodeDecodeError:
            before = words
            words = [_mended(word) for word in before]
            self.mended += sum(map(bytes.__ne__, words, before))
        return words

    def _refuse_not_finite(self, words: list[bytes], vectors: np.ndarray) -> None:
        if not np.isfinite(vectors).all():
            i = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            word = words[i][:40].decode("utf-8", "replace")
            raise InputError(
                f"{self.path}: the vector of {word!r} (row {self.read + i + 1}) holds NaN or infinity; "
                "give a file of finite numbers"
            )

    def warn(self) -> None:
        """Log what was not taken over as it was."""
        if self.duplicates:
            first = ", ".join(repr(word.decode()) for word in self.first_duplicates[:3])
            _log.warning(
                "%s: %d rows repeat a word (%s ...); the first of each is used", self.path, self.duplicates, first
            )
        if self.mended:
            _log.warning("%s: %d words are not UTF-8; read as Latin-1", self.path, self.mended)


def _mended(word: bytes) -> bytes:
    try:
        word.decode()
    except UnicodeDecodeError:
        return word.decode("latin-1").encode()
    return word
