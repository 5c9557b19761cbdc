"""The words of sentences with their vectors and weights, and what embedders that compose them have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer
from lib.embedders.trained import Training
from lib.run.errors import InputError


class Words(NamedTuple):
    """The words of some sentences that have a vector.

    Attributes
    ----------
    vectors : float32[v, d]
        Of the distinct words.
    ids, weights : int64[t] and float32[t]
        The row of each word in `vectors`, and its weight; one sentence after the other.
    starts : int64[n + 1]
        Sentence i has ``ids[starts[i]:starts[i + 1]]``.
    """

    vectors: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    starts: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """int64[n]: how many words of each sentence have a vector."""
        return np.diff(self.starts)

    def of(self, sentence: int) -> np.ndarray:
        """float32[t, d]: the vectors of the words of one sentence."""
        return self.vectors[self.ids[self.starts[sentence] : self.starts[sentence + 1]]]

    def _pooled(self, rows: np.ndarray, **options: Any) -> np.ndarray:
        """float32[n, d]: over the words of each sentence, of their rows (one for each distinct word); zero without."""
        from torch import from_numpy, nn

        bags = map(from_numpy, (self.ids, rows, self.starts))
        return nn.functional.embedding_bag(*bags, include_last_offset=True, **options).numpy()

    def sums(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """float32[n, d]: over the words of each sentence, of their rows (one for each distinct word) times weights."""
        from torch import from_numpy

        return self._pooled(rows, mode="sum", per_sample_weights=from_numpy(weights))

    def maxima(self, rows: np.ndarray) -> np.ndarray:
        """float32[n, d]: over the words of each sentence, of their rows (one for each distinct word); zero without."""
        return self._pooled(rows, mode="max")

    def means(self) -> np.ndarray:
        """float32[n, d]: of weight times vector; zero for a sentence without a word that has one."""
        lengths = np.repeat(self.known, self.known).astype(np.float32)
        return self.sums(self.vectors, self.weights / lengths)


def max_over_time(lstm: Any, sentences: Sequence[np.ndarray]) -> np.ndarray:
    """float32[n, dim]: the maximum of an LSTM's states over the words (float32[t, d]) of sentences."""
    import torch
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    words = pack_sequence([torch.from_numpy(vectors) for vectors in sentences], enforce_sorted=False)
    # TF32 would move entries by about 1e-3.
    with torch.inference_mode(), torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
        states, _ = lstm(words.to(lstm.weight_ih_l0.device))
        padded, _ = pad_packed_sequence(states, padding_value=-torch.inf)  # [time, sentence, dim]
        return padded.amax(dim=0).cpu().numpy()


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

    version = 3
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
        flat = list(chain.from_iterable(tokens))
        found = {word: self.vectors.get(word) for word in dict.fromkeys(flat)}
        types = [word for word, vector in found.items() if vector is not None]
        weights = self._weights(types)
        types = [word for word, weight in zip(types, weights, strict=True) if weight > 0]
        rows = {word: row for row, word in enumerate(types)}
        ids = np.array([rows.get(word, -1) for word in flat], np.int64)
        starts = np.concatenate([[0], np.cumsum(ids >= 0)])[np.cumsum([0, *map(len, tokens)])]
        vectors = np.array([found[word] for word in types], np.float32).reshape(-1, self.word_dim)
        ids = ids[ids >= 0]
        return Words(vectors, ids, weights[weights > 0][ids].astype(np.float32), starts)

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
