"""Static word vectors: mappings from words to vectors over a memory-mapped matrix.

A published file is converted once, into an entry of the cache (`lib.base.cache`)::

    matrix.npy               float32[v, d]
    buckets.npy              float32[b, d], fastText's character n-grams, if it has any
    words.npy                the words, a line each
    hashes.npy, order.npy    the index: ascending hashes of the words, and their rows

It takes 4 d bytes for each word and each bucket: 3.7 GB for
GoogleNews-vectors-negative300, 4.9 GB for crawl-300d-2M-subword.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lib.base import characters, paths, progress
from lib.base.cache import CacheEntry
from lib.embedders import word_files

# Files of an entry of the cache.
MATRIX = "matrix.npy"
BUCKETS = "buckets.npy"
WORDS = "words.npy"
HASHES = "hashes.npy"
ORDER = "order.npy"
HEADER = 128  # bytes of NumPy's, in which there is room for the number of rows

_log = logging.getLogger(__name__)


class WordVectors(Mapping[str, np.ndarray]):
    """A mapping word -> float32[d].

    Parameters
    ----------
    name : str
        Which vectors these are.
    words : sequence of str, length v
        All different.
    matrix : float32[v, d]
        A memory-map will do.
    index : (uint64[v], int64[v]), optional
        Of the words, if it has been made before (`_index`).

    Attributes
    ----------
    name, words, matrix
        As above; `matrix` is read-only where it is memory-mapped.
    dim : int
        d
    """

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        matrix: np.ndarray,
        index: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.name = name
        self.words = words
        self.matrix = matrix
        self._hashes, self._order = map(np.asarray, index or _index(words))

    @classmethod
    def load(cls, path: str | Path, show_progress_bar: bool = True) -> WordVectors:
        """The vectors of a published file.

        The first call converts the file into the cache; later ones map the result, so
        that they take no time and all processes share one copy in memory.

        Parameters
        ----------
        path : str or Path
            A file of word2vec (binary or text), GloVe, PARAGRAM, ParaNMT or fastText
            (``.vec`` or ``.bin``), which may be packed by gzip; or a folder with
            ``*_emb.npy`` (float[v, d]) and ``*_index.parquet`` (column ``index``:
            words). Told apart by content (`lib.embedders.word_files`).
        show_progress_bar : bool
            While the file is converted.

        Returns
        -------
        WordVectors
            `SubwordVectors` for a fastText ``.bin`` with character n-grams. Of the rows
            that repeat a word, the first is used, and a warning says how many there
            are.

        Raises
        ------
        InputError
            A file that is missing, empty, not whole, or of another kind; a row of other
            dimensions, that are not numbers, NaN or infinite; a full disk.

        Examples
        --------
        >>> from lib.embedders.static import WordVectors
        >>> size = Path("mine.txt").write_text("red 0.5 2")
        >>> WordVectors.load("mine.txt", show_progress_bar=False)["red"].tolist()
        [0.5, 2.0]
        """
        path = Path(path)
        versions = []
        for file in word_files.files_of(path):
            status = file.stat()
            versions.append((str(file.resolve()), status.st_size, status.st_mtime_ns))
        name = path.name
        if not path.is_dir():
            name = re.sub(r"(\.(bin|txt|vec))?(\.gz)?$", "", name)
        entry = CacheEntry(
            paths.CACHE / "vectors", name, {"files": versions, "index": 3}
        )

        def convert() -> dict[str, Any]:
            with word_files.opened(path) as vectors:
                return write(entry, vectors, show_progress_bar)

        return of_entry(entry, entry.made(convert, f"converting {path.name}"))

    @property
    def dim(self) -> int:
        return self.matrix.shape[1]

    def __getitem__(self, word: str) -> np.ndarray:
        row = self._row(word)
        if row is None:
            raise KeyError(word)
        # A row of a memory-map costs more to make than an array.
        return np.asarray(self.matrix)[row]

    def _row(self, word: object) -> int | None:
        if not isinstance(word, str):
            return None
        hashed = _hashed([word])[0]
        place = self._hashes.searchsorted(hashed)
        if place == len(self._hashes) or self._hashes[place] != hashed:
            return None
        return int(self._order[place])

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.matrix)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change if, and only if, a word or number does."""
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        for part in self._parts():
            digest.update(np.ascontiguousarray(part))
        return digest.hexdigest()[:32]

    def _parts(self) -> list[np.ndarray]:
        """What the vectors depend on besides the words."""
        return [self.matrix.astype("<f4", copy=False)]


class SubwordVectors(WordVectors):
    """fastText's vectors, which words outside of the dictionary have too.

    The vector of such a word is the mean over its character n-grams. Iteration, `len`,
    `words` and `matrix` are those of the dictionary. A word without n-grams (shorter
    than the shortest, or fastText's "</s>") is unknown, unless the dictionary has it.

    Parameters
    ----------
    buckets : float32[b, d]
        Vectors of the n-grams; the one of an n-gram lies at its hash, modulo b.
    lengths : (int, int)
        Of the shortest and the longest n-gram in code points, the angle brackets around
        the word among them.
    *vectors
        What `WordVectors` takes; a row of the matrix is the mean of the word's own
        vector and of its n-grams'.
    """

    def __init__(
        self, buckets: np.ndarray, lengths: tuple[int, int], *vectors: Any
    ) -> None:
        super().__init__(*vectors)
        self.buckets = buckets
        self.lengths = lengths

    def __getitem__(self, word: str) -> np.ndarray:
        if self._row(word) is not None:
            return super().__getitem__(word)
        ngrams = _ngrams(word, self.lengths, np.asarray(self.buckets))
        if not len(ngrams):
            raise KeyError(word)
        return _mean(ngrams)

    def _parts(self) -> list[np.ndarray]:
        return [*super()._parts(), self.buckets, np.array(self.lengths)]


def _ngrams(word: object, lengths: tuple[int, int], buckets: np.ndarray) -> np.ndarray:
    """float32[n, d]: the vectors of a word's n-grams, by start and then by length."""
    from gensim.models.fasttext import ft_ngram_hashes

    # "</s>" is fastText's mark at the end of a line.
    if not isinstance(word, str) or word == "</s>":
        return buckets[:0]
    hashes = ft_ngram_hashes(characters.mend(word), *lengths, len(buckets))
    return buckets[np.array(hashes, np.int64)]


def _mean(rows: np.ndarray) -> np.ndarray:
    return rows.sum(axis=0) * np.float32(1 / len(rows))


# -- words -----------------------------------------------------------------------------


def _hashed(words: Iterable[str]) -> np.ndarray:
    """uint64[n]: of 3 million words, two have the same hash once in 4 million sets."""
    digests = []
    for word in words:
        data = word.encode("utf-8", "surrogatepass")
        digests.append(hashlib.blake2b(data, digest_size=8).digest())
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64, copy=False)


def _index(words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of words, ascending, and the row of each."""
    hashes = _hashed(words)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], order


class _Words(Sequence[str]):
    """The words of an entry, decoded when one is asked for."""

    def __init__(self, letters: np.ndarray) -> None:
        self._letters = letters

    @cached_property
    def _decoded(self) -> list[str]:
        return self._letters.tobytes().decode("utf-8", "surrogatepass").split("\n")

    def __len__(self) -> int:
        return len(self._decoded)

    def __getitem__(self, i: Any) -> Any:
        return self._decoded[i]


# -- the cache -------------------------------------------------------------------------


def of_entry(entry: CacheEntry, facts: dict[str, Any]) -> WordVectors:
    """The vectors that `write` has put into an entry of the cache."""
    index = entry.array(HASHES), entry.array(ORDER)
    parts = entry.name, _Words(entry.array(WORDS)), entry.array(MATRIX), index
    if facts["lengths"] is None:
        vectors = WordVectors(*parts)
    else:
        vectors = SubwordVectors(entry.array(BUCKETS), tuple(facts["lengths"]), *parts)
    if "fingerprint" in facts:
        # This takes the place of the cached property.
        vectors.fingerprint = facts["fingerprint"]
    return vectors


def write(
    entry: CacheEntry, vectors: word_files.Vectors, show: bool = False
) -> dict[str, Any]:
    """Put vectors into an entry of the cache; returns its facts.

    Raises InputError for a full disk, ValueError for a vector with NaN or infinity.
    """
    if vectors.lengths:
        _write_rows(entry, BUCKETS, vectors.dim, vectors.buckets)
        buckets = np.asarray(entry.array(BUCKETS))
    words: dict[str, None] = {}
    repeated = 0

    def kept() -> Iterator[np.ndarray]:
        nonlocal repeated
        with progress.bar(
            vectors.count, f"convert {entry.name}", unit="words", show=show
        ) as bar:
            for names, rows in vectors.blocks:
                new = []
                for i, name in enumerate(names):
                    name = name.replace("\n", " ")  # it is kept on a line
                    if name not in words:
                        words[name] = None
                        new.append(i)
                repeated += len(names) - len(new)
                rows = rows[new]
                if vectors.lengths:
                    means = []
                    for i, row in zip(new, rows, strict=True):
                        ngrams = _ngrams(names[i], vectors.lengths, buckets)
                        means.append(_mean(np.vstack([row, ngrams])))
                    rows = np.reshape(means, rows.shape)
                yield rows
                bar.update(len(names))

    _write_rows(entry, MATRIX, vectors.dim, kept())
    if repeated:
        _log.warning(
            "%s: %d rows repeat a word; the first of each is used", entry.name, repeated
        )
    letters = np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), np.uint8)
    hashes, order = _index(words)
    entry.save(WORDS, letters)
    entry.save(HASHES, hashes)
    entry.save(ORDER, order)
    facts = {"lengths": vectors.lengths}
    return facts | {"fingerprint": of_entry(entry, facts).fingerprint}


def _write_rows(
    entry: CacheEntry, file: str, dim: int, blocks: Iterable[np.ndarray]
) -> None:
    """Write a matrix whose height is not known beforehand.

    Raises ValueError for NaN and infinity.
    """
    with entry.writing(file) as stream:
        stream.write(bytes(HEADER))
        for rows in blocks:
            if not np.isfinite(rows).all():
                raise ValueError("contains vectors with NaN or infinity")
            stream.write(np.ascontiguousarray(rows, "<f4"))
        shape = ((stream.tell() - HEADER) // (4 * dim), dim)
        stream.seek(0)
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
