"""Sentences as numbers: a distinct token has an id, a vector and a weight.

A batch is tokenized once for all embedders, and a token is looked up once for each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from lib.corpora import text

Tokenizer = Callable[[str], list[str]]


class Tokens(NamedTuple):
    """A batch of sentences, tokenized.

    Attributes
    ----------
    ids : int32[t]
        The tokens of one sentence after the other.
    starts : int64[n + 1]
        Sentence i has ``ids[starts[i]:starts[i + 1]]``.
    """

    ids: np.ndarray
    starts: np.ndarray


class Tokenization:
    """A tokenizer and the types (distinct tokens) that it has met; a type's id is its place in `types`."""

    KEPT = 1 << 26  # tokens of the latest batches, 256 MB

    def __init__(self, tokenize: Tokenizer) -> None:
        self.tokenize = tokenize
        self._ids: defaultdict[str, int] = defaultdict()
        self._ids.default_factory = self._ids.__len__
        self._types: list[str] = []
        self._batches: dict[str, Tokens] = {}

    @property
    def types(self) -> list[str]:
        """The types met so far; it only ever grows."""
        if len(self._types) < len(self._ids):
            self._types.extend(list(self._ids)[len(self._types) :])
        return self._types

    def of(self, sentences: Sequence[str]) -> Tokens:
        """Tokenize a batch, or remember how it was tokenized for another embedder a moment ago."""
        key = text.fingerprint(sentences)
        if key not in self._batches:
            if sum(len(tokens.ids) for tokens in self._batches.values()) > self.KEPT:
                self.forget()
            self._batches[key] = self._tokenized(sentences)
        return self._batches[key]

    def forget(self) -> None:
        """Drop the remembered batches; types keep their ids."""
        self._batches.clear()

    def _tokenized(self, sentences: Sequence[str]) -> Tokens:
        number = self._ids.__getitem__
        ids = [[*map(number, self.tokenize(sentence))] for sentence in sentences]
        starts = np.fromiter(accumulate(map(len, ids), initial=0), np.int64, len(ids) + 1)
        return Tokens(np.fromiter((i for sentence in ids for i in sentence), np.int32, starts[-1]), starts)


@cache
def tokenization(tokenize: Tokenizer) -> Tokenization:
    """The one `Tokenization` of a tokenizer, which all embedders share."""
    return Tokenization(tokenize)


# -- vectors ------------------------------------------------------------------------------------


class Words(NamedTuple):
    """A batch of sentences with the vectors and weights of its words.

    Attributes
    ----------
    ids : int32[t]
        Types of the tokens, one sentence after the other.
    starts : int64[n + 1]
        Sentence i has ``ids[starts[i]:starts[i + 1]]``.
    table, more : float32[v, d] and float32[u, d]
        Vectors; row r of both, one below the other, belongs to the types that have r in `rows`.
    rows : int32[types]
        -1 for a type without a vector.
    weights : float32[types]
    """

    ids: np.ndarray
    starts: np.ndarray
    table: np.ndarray
    more: np.ndarray
    rows: np.ndarray
    weights: np.ndarray

    @property
    def known_starts(self) -> np.ndarray:
        """int64[n + 1]: where each sentence starts, if only the words with a vector are counted."""
        return np.concatenate([[0], np.cumsum(self.rows[self.ids] >= 0)])[self.starts]

    def means(self, *options: Any, **more: Any) -> np.ndarray:
        """`word_means.means` of them; the compiler is imported when it is needed."""
        from lib.embedders import word_means

        return word_means.means(self, *options, **more)


class _Growing:
    """An array that rows are appended to, at a cost that does not depend on how many there are."""

    def __init__(self, empty: np.ndarray) -> None:
        self._buffer, self._used = empty, 0

    def __len__(self) -> int:
        return self._used

    @property
    def array(self) -> np.ndarray:
        return self._buffer[: self._used]

    def append(self, values: np.ndarray) -> None:
        end = self._used + len(values)
        if end > len(self._buffer):
            room = np.empty((max(2 * len(self._buffer), end), *self._buffer.shape[1:]), self._buffer.dtype)
            room[: self._used] = self.array
            self._buffer = room
        self._buffer[self._used : end] = values
        self._used = end


class Lexicon:
    """The vectors and weights of a tokenizer's types, looked up once for each type.

    Parameters
    ----------
    vectors : mapping
        From words to float32[d]. Words that it holds in a matrix (`WordVectors`) stay there; all others, such as those
        that subwords make up, are kept here.
    tokenize : callable
        From a sentence to its tokens.
    weigh : callable, optional
        From words to their weights, float64; 1 without it.
    """

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray],
        tokenize: Tokenizer,
        weigh: Callable[[Sequence[str]], np.ndarray] | None = None,
    ) -> None:
        self.vectors, self.weigh = vectors, weigh or (lambda words: np.ones(len(words)))
        self.tokens: Tokenization = tokenization(tokenize)
        in_matrix = hasattr(vectors, "rows")
        dim = vectors.matrix.shape[1] if in_matrix else len(next(iter(vectors.values())))
        self._table = vectors.matrix if in_matrix else np.empty((0, dim), np.float32)
        self._more = _Growing(np.empty((0, dim), np.float32))
        self._rows, self._weights = _Growing(np.empty(0, np.int32)), _Growing(np.empty(0, np.float32))

    @property
    def dim(self) -> int:
        """Dimensions of a word's vector."""
        return self._table.shape[1]

    def words(self, sentences: Sequence[str]) -> Words:
        """The words of a batch of sentences with their vectors and weights."""
        tokens = self.tokens.of(sentences)
        self._learn(self.tokens.types[len(self._rows) :])
        return Words(*tokens, self._table, self._more.array, self._rows.array, self._weights.array)

    def sequences(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of the known words, float32[t, d], and where each sentence starts among them, int64[n + 1]."""
        words = self.words(sentences)
        rows = words.rows[words.ids]
        rows = rows[rows >= 0]
        vectors = np.empty((len(rows), self.dim), np.float32)
        in_table = rows < len(self._table)
        vectors[in_table] = self._table[rows[in_table]]
        vectors[~in_table] = self._more.array[rows[~in_table] - len(self._table)]
        return vectors, words.known_starts

    def _learn(self, types: Sequence[str]) -> None:
        """Look up the types that have not been seen before."""
        if not types:
            return
        rows = self.vectors.rows(types) if len(self._table) else np.full(len(types), -1)
        made_up = [i for i in np.flatnonzero(rows < 0) if types[i] in self.vectors]
        if made_up:
            rows[made_up] = len(self._table) + len(self._more) + np.arange(len(made_up))
            self._more.append(np.array([self.vectors[types[i]] for i in made_up], np.float32))
        self._rows.append(rows)
        self._weights.append(self.weigh(types))
