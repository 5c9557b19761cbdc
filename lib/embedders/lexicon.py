"""Which vector and which weight each type of a tokenization has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lib.embedders.tokens import Tokenization, Tokenizer, tokenization


class Words(NamedTuple):
    """A batch of sentences with the vectors and weights of its words.

    Attributes
    ----------
    ids : int32[t], types of the tokens, one sentence after the other
    starts : int64[n + 1], sentence i has ``ids[starts[i]:starts[i + 1]]``
    table, more : float32[v, d] and float32[u, d], vectors; row r of both, one below the other, belongs to the types
        that have r in `rows`
    rows : int32[types], -1 for a type without a vector
    weights : float32[types]
    """

    ids: np.ndarray
    starts: np.ndarray
    table: np.ndarray
    more: np.ndarray
    rows: np.ndarray
    weights: np.ndarray


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
    vectors : mapping word -> float32[d]. Words that it holds in a matrix (`WordVectors`) stay there; all others, such
        as those that subwords make up, are kept here.
    tokenize : a function from a sentence to its tokens
    weigh : a function from words to their weights, float64; None for 1
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
        starts = np.concatenate([[0], np.cumsum(rows >= 0)])[words.starts]
        return self._gathered(rows[rows >= 0]), starts

    def _gathered(self, rows: np.ndarray) -> np.ndarray:
        vectors = np.empty((len(rows), self.dim), np.float32)
        in_table = rows < len(self._table)
        vectors[in_table] = self._table[rows[in_table]]
        vectors[~in_table] = self._more.array[rows[~in_table] - len(self._table)]
        return vectors

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
