"""Sentence vectors composed of word vectors: the average, SIF and uSIF.

A batch of sentences is a sparse matrix of token counts C[n, v] over its words and a matrix of their vectors
V[v, d]; every composition is a product of the two. Words without a vector are skipped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from lib import text
from lib.embedders.base import Embedder
from lib.errors import InputError

VERSION = 1

Tokenizer = Callable[[str], list[str]]


class Bag:
    """Token counts of a batch of sentences over the words that have a vector.

    Attributes
    ----------
    words : list of str, length v, sorted so that sums do not depend on the batch
    counts : float64 CSR [n, v]
    vectors : float64[v, d]
    """

    def __init__(self, sentences: Sequence[str], vectors: Mapping[str, np.ndarray], tokenize: Tokenizer) -> None:
        tokens = [[token for token in tokenize(sentence) if token in vectors] for sentence in sentences]
        self.words = sorted({token for sentence in tokens for token in sentence})
        column = {word: j for j, word in enumerate(self.words)}
        columns = np.fromiter((column[token] for sentence in tokens for token in sentence), dtype=np.int64)
        rows = np.repeat(np.arange(len(tokens)), [len(sentence) for sentence in tokens])
        shape = (len(tokens), len(self.words))
        self.counts = sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))
        dim = len(next(iter(vectors.values())))
        self.vectors = np.array([vectors[word] for word in self.words], dtype=np.float64).reshape(-1, dim)

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        """float64[n, d]: the mean over tokens of weight times vector; zero for a sentence without known words."""
        vectors = self.vectors if weights is None else weights[:, None] * self.vectors
        lengths = self.counts.sum(axis=1)
        return (self.counts @ vectors) / np.maximum(lengths, 1)[:, None]

    def dimension_norms(self) -> np.ndarray:
        """float64[n, d]: the L2 norm of each dimension across the tokens of a sentence."""
        return np.sqrt(self.counts @ self.vectors**2)


class Average(Embedder):
    """The mean of the vectors of a sentence's words."""

    version = VERSION

    def __init__(self, name: str, vectors: Mapping[str, np.ndarray], tokenize: Tokenizer = text.word_tokens) -> None:
        if not vectors:
            raise InputError(f"{name}: vectors is empty; give a mapping from words to vectors")
        self.name, self.vectors, self.tokenize = name, vectors, tokenize

    @property
    def settings(self) -> dict[str, Any]:
        return {"vectors": _fingerprint(self.vectors), "tokenize": _qualified_name(self.tokenize)}

    def _bag(self, sentences: Sequence[str]) -> Bag:
        return Bag(sentences, self.vectors, self.tokenize)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._bag(sentences).mean().astype(np.float32)


class SIF(Average):
    """Smoothed inverse frequency (Arora et al. 2017): weights a / (a + p(w)), then m common components removed.

    Parameters
    ----------
    vectors : mapping word -> float32[d]
    probabilities : mapping word -> p(w); a word that it lacks gets the smallest p(w) that it has
    a : float, the smoothing parameter
    m : int, how many first singular vectors of the fitted text's embeddings are removed; 0 for none

    The singular value decomposition is not centered, as in the authors' program.
    """

    needs_fit = True

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray],
        probabilities: Mapping[str, float],
        a: float = 1.0e-3,
        m: int = 1,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "sif",
    ) -> None:
        super().__init__(name, vectors, tokenize)
        if not probabilities:
            raise InputError(f"{name}: probabilities is empty; give a mapping from words to p(w)")
        if a <= 0:
            raise InputError(f"a: {a!r} is not accepted; give a number above 0")
        if m < 0:
            raise InputError(f"m: {m!r} is not accepted; give 0 or more components")
        self.probabilities, self.a, self.m = probabilities, a, m
        self.rarest = min(probabilities.values())
        self.components = np.empty((0, 0))
        self.removed = np.empty(0)

    @property
    def settings(self) -> dict[str, Any]:
        probabilities = _fingerprint(self.probabilities)
        return super().settings | {"probabilities": probabilities, "a": self.a, "m": self.m}

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        probabilities = np.array([self.probabilities.get(word, self.rarest) for word in words])
        return self.a / (self.a + probabilities)

    def _weighted(self, sentences: Sequence[str]) -> np.ndarray:
        """float64[n, d], before common components are removed."""
        bag = self._bag(sentences)
        return bag.mean(self._weights(bag.words))

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        gram = 0.0
        for start in range(0, len(sentences), self.batch_size):
            vectors = self._weighted(sentences[start : start + self.batch_size])
            gram = gram + vectors.T @ vectors
        # The eigenvectors of A'A are the right singular vectors of A, its eigenvalues their squared values.
        squares, directions = np.linalg.eigh(gram)
        self.components = directions[:, ::-1][:, : self.m].T
        self.removed = self._shares(squares[::-1][: self.m])

    def _shares(self, squares: np.ndarray) -> np.ndarray:
        """float64[m]: how much of the projection on each component is removed."""
        return np.ones(len(squares))

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = self._weighted(sentences)
        projections = vectors @ self.components.T
        return (vectors - (projections * self.removed) @ self.components).astype(np.float32)


class USIF(SIF):
    """Unsupervised smoothed inverse frequency (Ethayarajh 2018, Algorithm 1).

    Weights a / (p(w) + a/2), with `a` derived from the vocabulary by equation (11), then piecewise common
    component removal: of the projection on component i the share s_i**2 / sum_j s_j**2 is taken away.

    Parameters
    ----------
    vectors : mapping word -> float32[d]
    probabilities : mapping word -> p(w); its words are the vocabulary V of equation (11)
    n : float or None, length of the random walk; None for the mean number of tokens of the fitted sentences
    m : int, number of common components
    normalize : how the vectors of a sentence's words are evened out in each dimension before they are
        weighted: "divide" by the dimension's L2 norm across the sentence, as the author's program does;
        "multiply" by it, as the text of section 3.3 says; None, as in Algorithm 1

    Attributes
    ----------
    alpha : float, the share of V that is likelier by chance than by the random walk
    a : float, (1 - alpha) / (alpha Z) with Z = |V| / 2; both are there without `fit` when `n` is given
    """

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray],
        probabilities: Mapping[str, float],
        n: float | None = None,
        m: int = 5,
        tokenize: Tokenizer = text.word_tokens,
        normalize: Literal["divide", "multiply"] | None = "divide",
        name: str = "usif",
    ) -> None:
        if normalize not in ("divide", "multiply", None):
            raise InputError(f"normalize: {normalize!r} is not known; accepted: 'divide', 'multiply', None")
        super().__init__(vectors, probabilities, m=m, tokenize=tokenize, name=name)
        self.n, self.normalize = n, normalize
        self.a = self.alpha = float("nan")
        if n is not None:
            self._derive(n)

    @property
    def settings(self) -> dict[str, Any]:
        # `a` follows from n, the probabilities and the fitted text.
        return super().settings | {"a": None, "n": self.n, "normalize": self.normalize}

    def _derive(self, n: float) -> None:
        if n <= 0:
            raise InputError(f"n: {n!r} is not accepted; give the mean number of words of a sentence, above 0")
        probabilities = np.fromiter(self.probabilities.values(), dtype=np.float64)
        size = len(probabilities)
        threshold = 1 - (1 - 1 / size) ** n
        self.alpha = float(np.mean(probabilities > threshold))
        if self.alpha == 0:
            raise InputError(
                f"probabilities: none of the {size} words is more frequent than {threshold:.3g}, so that equation (11) "
                "gives alpha = 0 and no finite a; give the probabilities of a larger vocabulary"
            )
        self.a = (1 - self.alpha) / (self.alpha * size / 2)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        if self.n is None:
            lengths = [len(self.tokenize(sentence)) for sentence in sentences]
            self._derive(float(np.mean(lengths)))
        super()._fit(sentences, show_progress_bar)

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        probabilities = np.array([self.probabilities.get(word, self.rarest) for word in words])
        return self.a / (probabilities + self.a / 2)

    def _weighted(self, sentences: Sequence[str]) -> np.ndarray:
        bag = self._bag(sentences)
        mean = bag.mean(self._weights(bag.words))
        if self.normalize is None:
            return mean
        # The norms are the same for all tokens of a sentence, so that they can be applied to the sum.
        norms = bag.dimension_norms()
        if self.normalize == "multiply":
            return mean * norms
        return np.divide(mean, norms, out=np.zeros_like(mean), where=norms > 0)

    def _shares(self, squares: np.ndarray) -> np.ndarray:
        total = squares.sum()
        return squares / total if total > 0 else np.zeros(len(squares))


def _fingerprint(mapping: Mapping[str, Any]) -> str:
    """A digest of a mapping's words and numbers."""
    if hasattr(mapping, "fingerprint"):
        return mapping.fingerprint
    digest = hashlib.blake2b(digest_size=16)
    for word in sorted(mapping):
        digest.update(word.encode() + b"\0" + np.asarray(mapping[word], dtype=np.float64).tobytes())
    return digest.hexdigest()


def _qualified_name(function: Callable) -> str:
    return f"{function.__module__}.{function.__qualname__}"
