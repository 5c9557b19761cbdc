"""Untrained encoders: random projections of word vectors (Wieting and Kiela 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Tokenizer
from lib.embedders.kinds import NO_TRAINING, RANDOM
from lib.embedders.registry import composition
from lib.embedders.trained import WordTraining
from lib.embedders.words import WordComposition, max_over_time

DIM = 4096  # as in the paper
WIETING = "Wieting and Kiela 2019"
NETWORK = {
    "architecture": RANDOM,
    "objective": NO_TRAINING,
    "dims": str(DIM),
    "sized": True,
}
TOKENS_PER_BATCH = 16384


class _RandomEncoder(WordComposition):
    """A random map of word vectors, and the maximum of its outputs over the words.

    Parameters
    ----------
    vectors : mapping, gensim's KeyedVectors or trained.WordTraining
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
        vectors: Mapping[str, np.ndarray] | WordTraining,
        dim: int = DIM,
        seed: int = 1,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "random",
    ) -> None:
        super().__init__(name, vectors, tokenize)
        if dim < 2 or dim % 2:
            raise InputError(
                f"dim: {dim!r} is not accepted; "
                "give an even number of dimensions, 2 or more"
            )
        self.dim = dim
        self.seed = seed

    def _uniform(
        self, rng: np.random.Generator, fan_in: int, *shape: int
    ) -> np.ndarray:
        """Uniform between -1/sqrt(fan_in) and 1/sqrt(fan_in).

        The paper initializes every matrix in this way.
        """
        limit = fan_in**-0.5
        return rng.uniform(-limit, limit, shape).astype(np.float32)


@composition(
    "borep", "random projection, maximum", WIETING, reads_order=False, **NETWORK
)
class BOREP(_RandomEncoder):
    """Bag of random embedding projections (section 3.1.1).

    The maximum over the words of each word's vector times one random matrix.
    """

    batch_size = 256  # bounds the memory that 4,096 numbers for each word take

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        return words.maxima(words.vectors @ self._matrix)

    @cached_property
    def _matrix(self) -> np.ndarray:
        d = self.word_dim
        return self._uniform(np.random.default_rng(self.seed), d, d, self.dim)


@composition(
    "random-lstm", "random LSTM, maximum", WIETING, reads_order=True, **NETWORK
)
class RandomLSTM(_RandomEncoder):
    """A bidirectional LSTM with random weights (section 3.1.2).

    A sentence's vector is the maximum of the states over its words. Half of the
    dimensions come from each direction. Every sentence starts from a zero state, and
    padding is ignored.
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
            pooled[rows] = max_over_time(
                self._lstm, [words.vectors_of(row) for row in rows]
            )
        return pooled

    @cached_property
    def _lstm(self) -> Any:
        import torch

        rng = np.random.default_rng(self.seed)
        hidden = self.dim // 2
        lstm = torch.nn.LSTM(self.word_dim, hidden, bidirectional=True)
        with torch.no_grad():
            for parameter in lstm.parameters():
                parameter.copy_(
                    torch.from_numpy(self._uniform(rng, hidden, *parameter.shape))
                )
        return lstm
