"""Concatenated power means of word vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lib.corpora import text
from lib.embedders.composition import VERSION, WordComposition
from lib.embedders.registry import composition
from lib.embedders.tokens import Tokenizer
from lib.embedders.trained import Training
from lib.run.errors import InputError

POWERS = (1.0, float("inf"), float("-inf"))


@composition("power-means", "mean, maximum and minimum, concatenated", "Rücklé et al. 2018", dims="3 d")
class PowerMeans(WordComposition):
    """Power means of the vectors of a sentence's words, one beside the other (Rücklé et al. 2018, equation 1).

    The power mean with exponent p of t numbers is (sum of x**p / t)**(1/p), in each dimension; p = 1 is the average,
    p = infinity the maximum, p = -infinity the minimum. Of an odd p the root keeps the sign; others but 1 and the
    infinities are not real for negative numbers and are not accepted.

    Parameters
    ----------
    vectors : mapping word -> float32[d], or a `trained.Training`
    powers : exponents; the result has d dimensions for each. The default is the paper's choice for English.

    Several vector sets are put side by side by `concatenation.Concatenation`.
    """

    version = VERSION
    batch_size = 1024  # the words' vectors of a batch lie in memory, one after the other

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        powers: Sequence[float] = POWERS,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "power-means",
    ) -> None:
        super().__init__(name, vectors, tokenize)
        wrong = [p for p in powers if not np.isinf(p) and not (p > 0 and p % 2 == 1)]
        if wrong or not powers:
            raise InputError(f"powers: {wrong or powers!r} is not accepted; give 1, 3, 5, ..., inf or -inf")
        self.powers = tuple(float(p) for p in powers)

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"powers": [str(p) for p in self.powers]}

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors, starts = self.lexicon.sequences(sentences)
        worded = np.flatnonzero(np.diff(starts))
        means = np.zeros((len(sentences), len(self.powers), self.lexicon.dim), np.float32)
        for j, power in enumerate(self.powers if len(worded) else ()):
            means[worded, j] = _power_means(vectors, starts[worded], np.diff(starts)[worded, None], power)
        return means.reshape(len(sentences), len(self.powers) * self.lexicon.dim)


def _power_means(vectors: np.ndarray, starts: np.ndarray, lengths: np.ndarray, power: float) -> np.ndarray:
    """One power mean for each run of rows that begins at one of `starts`."""
    if np.isinf(power):
        return (np.maximum if power > 0 else np.minimum).reduceat(vectors, starts, axis=0)
    mean = np.add.reduceat(vectors.astype(np.float64) ** power, starts, axis=0) / lengths
    return np.sign(mean) * np.abs(mean) ** (1 / power)
