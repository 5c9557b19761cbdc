"""Encoders that nobody has trained: random projections of word vectors (Wieting and Kiela 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from lib.corpora import text
from lib.embedders.base import Tokenizer
from lib.embedders.registry import composition
from lib.embedders.trained import Training
from lib.embedders.words import WordComposition, max_over_time
from lib.run.errors import InputError

DIM = 4096  # as in the paper
TOKENS_PER_BATCH = 16384


class _RandomEncoder(WordComposition):
    """A random map of word vectors, and the maximum of its outputs over the words of a sentence.

    Parameters
    ----------
    vectors : mapping or trained.Training
        From words to float32[d], or what trains such vectors.
    dim : int
        Of the result.
    seed : int
    tokenize : callable
        From a sentence to its tokens.
    name : str
    """

    version = 1
    parameters = (*WordComposition.parameters, "dim", "seed")

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        dim: int = DIM,
        seed: int = 1,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "random",
    ) -> None:
        super().__init__(name, vectors, tokenize)
        if dim < 2 or dim % 2:
            raise InputError(f"dim: {dim!r} is not accepted; give an even number of dimensions, 2 or more")
        self.dim, self.seed = dim, seed

    def _uniform(self, rng: np.random.Generator, fan_in: int, *shape: int) -> np.ndarray:
        """Uniform between -1/sqrt(fan_in) and 1/sqrt(fan_in), as the paper initializes every matrix."""
        return rng.uniform(-(fan_in**-0.5), fan_in**-0.5, shape).astype(np.float32)


@composition("borep", "random projection, maximum", "Wieting and Kiela 2019", dims="4096", sized=True)
class BOREP(_RandomEncoder):
    """Bag of random embedding projections: each word's vector times one random matrix, the maximum (section 3.1.1)."""

    batch_size = 256  # bounds the memory that 4,096 numbers for each word take

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        return words.maxima(words.vectors @ self._matrix)

    @cached_property
    def _matrix(self) -> np.ndarray:
        d = self.word_dim
        return self._uniform(np.random.default_rng(self.seed), d, d, self.dim)


@composition("random-lstm", "random LSTM, maximum", "Wieting and Kiela 2019", dims="4096", sized=True)
class RandomLSTM(_RandomEncoder):
    """A bidirectional LSTM with random weights over the word vectors, the maximum of its states (section 3.1.2).

    Half of the dimensions come from each direction. Every sentence starts from a zero state, and padding takes part
    in nothing.
    """

    batch_size = 1024

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        pooled = np.zeros((len(sentences), self.dim), np.float32)
        by_length = np.argsort(words.known, kind="stable")
        worded = by_length[words.known[by_length] > 0]
        batches = np.cumsum(words.known[worded]) // TOKENS_PER_BATCH
        for batch in np.unique(batches):
            rows = worded[batches == batch]
            pooled[rows] = max_over_time(self._lstm, [words.of(row) for row in rows])
        return pooled

    @cached_property
    def _lstm(self) -> Any:
        import torch

        rng, hidden = np.random.default_rng(self.seed), self.dim // 2
        lstm = torch.nn.LSTM(self.word_dim, hidden, bidirectional=True)
        with torch.no_grad():
            for parameter in lstm.parameters():
                parameter.copy_(torch.from_numpy(self._uniform(rng, hidden, *parameter.shape)))
        return lstm
