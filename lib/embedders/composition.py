"""Sentence vectors composed of word vectors: the average, SIF and uSIF.

Words without a vector are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from lib import progress, text
from lib.embedders import fingerprints, word_means
from lib.embedders.base import Embedder, packed, unpacked
from lib.embedders.lexicon import Lexicon
from lib.embedders.tokens import Tokenizer
from lib.embedders.trained import Training
from lib.errors import InputError

VERSION = 2


class WordComposition(Embedder):
    """An embedder that composes a sentence's vector of those of its words.

    Parameters
    ----------
    name : str
    vectors : mapping word -> float32[d] (a dict will do), or a `trained.Training`, which `fit` trains
    tokenize : a function from a sentence to its tokens
    """

    version = VERSION
    batch_size = 8192

    def __init__(
        self, name: str, vectors: Mapping[str, np.ndarray] | Training, tokenize: Tokenizer = text.word_tokens
    ) -> None:
        self.name, self.tokenize = name, tokenize
        self.training = vectors if isinstance(vectors, Training) else None
        if self.training:
            self.needs_fit = True
            vectors = {}
        elif not vectors:
            raise InputError(f"{name}: vectors is empty; give a mapping from words to vectors")
        self.vectors = vectors
        self._lexicon: Lexicon | None = None

    @property
    def settings(self) -> dict[str, Any]:
        vectors = self.training.settings if self.training else fingerprints.of_mapping(self.vectors)
        return {"vectors": vectors, "tokenize": fingerprints.of_function(self.tokenize)}

    def __getstate__(self) -> dict[str, Any]:
        # What was looked up stays here: a copy in another process looks up what it meets.
        return vars(self) | {"_lexicon": None}

    @property
    def lexicon(self) -> Lexicon:
        """The vectors and weights of the types met so far."""
        if self._lexicon is None:
            self._lexicon = Lexicon(self.vectors, self.tokenize, self._weights)
        return self._lexicon

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        """float64, a weight for each of some words."""
        return np.ones(len(words))

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        if self.training:
            self.vectors = self.training.train(sentences, show_progress_bar)
        self._lexicon = None

    def _state(self) -> dict[str, np.ndarray]:
        # The trained vectors themselves are kept by their training.
        return {"trained": np.array(1)} if self.training else {}

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        if self.training:
            self.vectors = self.training.trained(fitted_on)
        self._lexicon = None


class Average(WordComposition):
    """The mean of the vectors of a sentence's words."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return word_means.means(self.lexicon.words(sentences))


class Sum(WordComposition):
    """The sum of the vectors of a sentence's words (SOWE)."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return word_means.means(self.lexicon.words(sentences), average=False)


class SIF(WordComposition):
    """Smoothed inverse frequency (Arora et al. 2017): weights a / (a + p(w)), then m common components removed.

    Parameters
    ----------
    vectors : mapping word -> float32[d], or a `trained.Training`
    probabilities : mapping word -> p(w); a word that it lacks is looked up in lower case, and then gets the smallest
        p(w) that it has. None for those of the words of the fitted text.
    a : float, the smoothing parameter
    m : int, how many first singular vectors of the fitted text's embeddings are removed; 0 for none

    The singular value decomposition is not centered, as in the authors' program.
    """

    needs_fit = True
    normalize: Literal["divide", "multiply"] | None = None

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        probabilities: Mapping[str, float] | None,
        a: float = 1.0e-3,
        m: int = 1,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "sif",
    ) -> None:
        super().__init__(name, vectors, tokenize)
        if a <= 0:
            raise InputError(f"a: {a!r} is not accepted; give a number above 0")
        if m < 0:
            raise InputError(f"m: {m!r} is not accepted; give 0 or more components")
        self.a, self.m, self.given = a, m, probabilities
        self.probabilities: Mapping[str, float] = {}
        if probabilities is not None:
            self._look_up_in(probabilities)
        self.components = self.removed = None

    @property
    def settings(self) -> dict[str, Any]:
        probabilities = "of the fitted text" if self.given is None else fingerprints.of_mapping(self.given)
        return super().settings | {"probabilities": probabilities, "a": self.a, "m": self.m}

    def _look_up_in(self, probabilities: Mapping[str, float]) -> None:
        if not probabilities:
            raise InputError(f"{self.name}: probabilities is empty; give a mapping from words to p(w)")
        self.probabilities, self.rarest = probabilities, min(probabilities.values())

    def _probability(self, word: str) -> float:
        p = self.probabilities.get(word)
        return self.probabilities.get(word.lower(), self.rarest) if p is None else p

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        return self.a / (self.a + np.array([self._probability(word) for word in words]))

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        super()._fit(sentences, show_progress_bar)
        if self.given is None:
            self._look_up_in(text.relative_frequencies(sentences, self.tokenize))
        self._derive_weights(sentences)
        self._find_components(sentences, show_progress_bar)

    def _derive_weights(self, sentences: Sequence[str]) -> None:
        """What the weights take from the fitted text besides probabilities."""

    def _find_components(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        gram = 0.0
        starts = range(0, len(sentences), self.batch_size)
        for start in progress.track(starts, f"fit {self.name}", "batches", show_progress_bar):
            words = self.lexicon.words(sentences[start : start + self.batch_size])
            vectors = word_means.means(words, self.normalize).astype(np.float64)
            gram = gram + vectors.T @ vectors
        # The eigenvectors of A'A are the right singular vectors of A, its eigenvalues their squared values.
        squares, directions = np.linalg.eigh(gram)
        self.components = directions[:, ::-1][:, : self.m].T
        self.removed = self._shares(squares[::-1][: self.m])

    def _shares(self, squares: np.ndarray) -> np.ndarray:
        """float64[m]: how much of the projection on each component is removed."""
        return np.ones(len(squares))

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self.lexicon.words(sentences)
        return word_means.means(words, self.normalize, self.components, self.removed)

    def _state(self) -> dict[str, np.ndarray]:
        state = super()._state() | {"components": self.components, "removed": self.removed, "a": np.array(self.a)}
        if self.given is None:
            words = list(self.probabilities)
            state |= {"words": packed(words), "p": np.array([self.probabilities[word] for word in words])}
        return state

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        super()._restore(state, fitted_on)
        self.components, self.removed, self.a = state["components"], state["removed"], float(state["a"])
        if self.given is None:
            self._look_up_in(dict(zip(unpacked(state["words"]), state["p"].tolist(), strict=True)))


class USIF(SIF):
    """Unsupervised smoothed inverse frequency (Ethayarajh 2018, Algorithm 1).

    Weights a / (p(w) + a/2), with `a` derived from the vocabulary by equation (11), then piecewise common
    component removal: of the projection on component i the share s_i**2 / sum_j s_j**2 is taken away.

    Parameters
    ----------
    vectors : mapping word -> float32[d], or a `trained.Training`
    probabilities : mapping word -> p(w); its words are the vocabulary V of equation (11). None for the words of the
        fitted text.
    n : float or None, length of the random walk; None for the mean number of tokens of the fitted sentences
    m : int, number of common components
    normalize : how the vectors of a sentence's words are evened out in each dimension before they are
        weighted: "divide" by the dimension's L2 norm across the sentence, as the author's program does;
        "multiply" by it, as the text of section 3.3 says; None, as in Algorithm 1

    Attributes
    ----------
    alpha : float, the share of V that is likelier by chance than by the random walk
    a : float, (1 - alpha) / (alpha Z) with Z = |V| / 2; both are there without `fit` when `n` and
        `probabilities` are given
    """

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        probabilities: Mapping[str, float] | None,
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
        if n is not None and probabilities is not None:
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

    def _derive_weights(self, sentences: Sequence[str]) -> None:
        if self.n is not None:
            return self._derive(self.n)
        # The random walk visits every token, with a vector or without.
        starts = range(0, len(sentences), self.batch_size)
        batches = (self.lexicon.tokens.of(sentences[start : start + self.batch_size]) for start in starts)
        self._derive(sum(len(batch.ids) for batch in batches) / len(sentences))

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        return self.a / (np.array([self._probability(word) for word in words]) + self.a / 2)

    def _shares(self, squares: np.ndarray) -> np.ndarray:
        total = squares.sum()
        return squares / total if total > 0 else np.zeros(len(squares))
