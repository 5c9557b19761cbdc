"""The words of sentences with their vectors and weights, and what embedders that compose them have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer
from lib.embedders.trained import Training
from lib.run.errors import InputError


class Words(NamedTuple):
    """The words of some sentences that have a vector.

    Attributes
    ----------
    vectors, weights : float32[v, d] and float32[v]
        Of the distinct words.
    ids : int64[t]
        The row of each word in `vectors`, one sentence after the other.
    starts : int64[n + 1]
        Sentence i has ``ids[starts[i]:starts[i + 1]]``.
    lengths : int64[n]
        Tokens of each sentence, those without a vector included.
    """

    vectors: np.ndarray
    weights: np.ndarray
    ids: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """int64[n]: how many words of each sentence have a vector."""
        return np.diff(self.starts)

    def of(self, sentence: int) -> np.ndarray:
        """float32[t, d]: the vectors of the words of one sentence."""
        return self.vectors[self.ids[self.starts[sentence] : self.starts[sentence + 1]]]

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """float64[n, d]: over the words of each sentence, of one row for each distinct word."""
        shape = len(self.known), len(rows)
        return sp.csr_array((np.ones(len(self.ids)), self.ids, self.starts), shape) @ rows.astype(np.float64)

    def means(self) -> np.ndarray:
        """float64[n, d]: of weight times vector; zero for a sentence without a word that has one."""
        return self.sums(self.weights[:, None] * self.vectors) / np.maximum(self.known, 1)[:, None]


class WordComposition(Embedder):
    """An embedder that composes a sentence's vector of those of its words.

    Parameters
    ----------
    name : str
    vectors : mapping or trained.Training
        From words to float32[d] (a dict will do), or what `fit` trains.
    tokenize : callable
        From a sentence to its tokens.
    """

    version = 2
    batch_size = 8192
    parameters = ("tokenize", "source")

    def __init__(
        self, name: str, vectors: Mapping[str, np.ndarray] | Training, tokenize: Tokenizer = text.word_tokens
    ) -> None:
        self.name, self.tokenize, self.source = name, tokenize, vectors
        self.vectors: Mapping[str, np.ndarray] = {}
        if isinstance(vectors, Training):
            self.needs_fit = True
        elif not vectors:
            raise InputError(f"{name}: vectors is empty; give a mapping from words to vectors")
        else:
            self.vectors = vectors

    @property
    def word_dim(self) -> int:
        """Dimensions of a word's vector."""
        return len(next(iter(self.vectors.values())))

    def _words(self, sentences: Sequence[str]) -> Words:
        """The words with a vector and a weight above 0."""
        tokens = [self.tokenize(sentence) for sentence in sentences]
        lengths = np.array([len(one) for one in tokens], np.int64)
        flat = list(chain.from_iterable(tokens))
        found = {word: self.vectors.get(word) for word in dict.fromkeys(flat)}
        types = [word for word, vector in found.items() if vector is not None]
        weights = self._weights(types)
        types = [word for word, weight in zip(types, weights, strict=True) if weight > 0]
        rows = {word: row for row, word in enumerate(types)}
        ids = np.array([rows.get(word, -1) for word in flat], np.int64)
        starts = np.concatenate([[0], np.cumsum(ids >= 0)])[np.concatenate([[0], np.cumsum(lengths)])]
        vectors = np.array([found[word] for word in types], np.float32).reshape(-1, self.word_dim)
        return Words(vectors, weights[weights > 0].astype(np.float32), ids[ids >= 0], starts, lengths)

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        """float64, a weight for each of some words."""
        return np.ones(len(words))

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        if isinstance(self.source, Training):
            self.vectors = self.source.train(sentences, show_progress_bar)

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        if isinstance(self.source, Training):  # which keeps the vectors
            self.vectors = self.source.trained(fitted_on)
        return super().restore(state, fitted_on)
