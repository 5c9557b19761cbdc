"""Encoders that nobody has trained: random projections of word vectors (Wieting and Kiela 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from lib.corpora import text
from lib.embedders.composition import WordComposition
from lib.embedders.registry import composition
from lib.embedders.tokens import Tokenizer
from lib.embedders.trained import Training
from lib.run.errors import InputError
from lib.run.parameters import one_of

VERSION = 1
DIM = 4096  # as in the paper
POOLINGS = ("max", "mean")
TOKENS_PER_BATCH = 16384


class _RandomEncoder(WordComposition):
    """A random map of word vectors, its outputs pooled over the words of a sentence.

    Parameters
    ----------
    vectors : mapping word -> float32[d], or a `trained.Training`
    dim : int, dimensions of the result
    pooling : "max" (the paper's choice) or "mean"
    seed : int, of the random numbers
    """

    version = VERSION
    batch_size = 1024

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        dim: int = DIM,
        pooling: Literal["max", "mean"] = "max",
        seed: int = 1,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "random",
    ) -> None:
        super().__init__(name, vectors, tokenize)
        if dim < 2 or dim % 2:
            raise InputError(f"dim: {dim!r} is not accepted; give an even number of dimensions, 2 or more")
        self.dim, self.pooling, self.seed = dim, one_of("pooling", pooling, POOLINGS), seed
        self._weights_made: Any = None

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"dim": self.dim, "pooling": self.pooling, "seed": self.seed}

    def _uniform(self, rng: np.random.Generator, fan_in: int, *shape: int) -> np.ndarray:
        """Uniform between -1/sqrt(fan_in) and 1/sqrt(fan_in), as the paper initializes every matrix."""
        return rng.uniform(-(fan_in**-0.5), fan_in**-0.5, shape).astype(np.float32)


@composition("borep", "random projection, maximum", "Wieting and Kiela 2019", dims="4096", sized=True)
class BOREP(_RandomEncoder):
    """Bag of random embedding projections: each word's vector times one random matrix, then pooled (section 3.1.1)."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors, starts = self.lexicon.sequences(sentences)
        if self._weights_made is None:
            d = self.lexicon.dim
            self._weights_made = self._uniform(np.random.default_rng(self.seed), d, d, self.dim)
        pooled = np.zeros((len(sentences), self.dim), np.float32)
        worded = np.flatnonzero(np.diff(starts))
        for rows in _groups(worded, np.diff(starts)[worded]):
            first, last = starts[rows[0]], starts[rows[-1] + 1]
            projected = vectors[first:last] @ self._weights_made
            pooled[rows] = _pooled(projected, starts[rows] - first, self.pooling)
        return pooled


@composition("random-lstm", "random LSTM, maximum", "Wieting and Kiela 2019", dims="4096", sized=True)
class RandomLSTM(_RandomEncoder):
    """A bidirectional LSTM with random weights over the word vectors, its states pooled (section 3.1.2).

    Half of the dimensions come from each direction. Every sentence starts from a zero state, and padding takes part
    in nothing.
    """

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        import torch

        vectors, starts = self.lexicon.sequences(sentences)
        lengths = np.diff(starts)
        encoded = np.zeros((len(sentences), self.dim), np.float32)
        worded = np.flatnonzero(lengths)
        by_length = worded[np.argsort(lengths[worded], kind="stable")]
        with torch.inference_mode():
            for rows in _groups(by_length, lengths[by_length]):
                sequences = [torch.from_numpy(vectors[starts[i] : starts[i + 1]]) for i in rows]
                encoded[rows] = self._pass(sequences).numpy()
        return encoded

    def _pass(self, sequences: list[Any]) -> Any:
        """float[n, dim]: pooled states of some sentences."""
        import torch
        from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

        packed, _ = self._lstm()(pack_sequence(sequences, enforce_sorted=False))
        padding = -torch.inf if self.pooling == "max" else 0.0
        states, lengths = pad_packed_sequence(packed, batch_first=True, padding_value=padding)
        return states.amax(1) if self.pooling == "max" else states.sum(1) / lengths[:, None]

    def _lstm(self) -> Any:
        import torch

        if self._weights_made is None:
            rng, hidden = np.random.default_rng(self.seed), self.dim // 2
            lstm = torch.nn.LSTM(self.lexicon.dim, hidden, bidirectional=True, batch_first=True)
            with torch.no_grad():
                for parameter in lstm.parameters():
                    parameter.copy_(torch.from_numpy(self._uniform(rng, hidden, *parameter.shape)))
            self._weights_made = lstm
        return self._weights_made


def _groups(rows: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Rows in their order, as many in a group as have about TOKENS_PER_BATCH words together."""
    groups = np.cumsum(lengths) // TOKENS_PER_BATCH
    return np.split(rows, np.flatnonzero(np.diff(groups)) + 1) if len(rows) else []


def _pooled(values: np.ndarray, starts: np.ndarray, pooling: str) -> np.ndarray:
    """The maximum or mean over runs of rows, each of which begins at one of `starts`."""
    if pooling == "max":
        return np.maximum.reduceat(values, starts, axis=0)
    lengths = np.diff(np.append(starts, len(values)))
    return np.add.reduceat(values, starts, axis=0) / lengths[:, None]
