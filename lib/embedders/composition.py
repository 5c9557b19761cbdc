"""Sentence vectors composed of word vectors: the average, SIF and uSIF.

Words without a vector are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from lib.corpora import text
from lib.embedders import fingerprints, word_probabilities
from lib.embedders.base import Embedder, packed, unpacked
from lib.embedders.lexicon import Lexicon, Words
from lib.embedders.registry import composition
from lib.embedders.tokens import Tokenizer
from lib.embedders.trained import Training
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import in_range

VERSION = 2


def _means(words: Words, *options: Any, **more: Any) -> np.ndarray:
    """`word_means.means`; the compiler is imported when it is needed."""
    from lib.embedders import word_means

    return word_means.means(words, *options, **more)


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
            self.vectors, self._lexicon = self.training.train(sentences, show_progress_bar), None

    def _state(self) -> dict[str, np.ndarray]:
        # The trained vectors themselves are kept by their training.
        return super()._state() | ({"trained": np.array(1)} if self.training else {})

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        super()._restore(state, fitted_on)
        if self.training:
            self.vectors = self.training.trained(fitted_on)
        self._lexicon = None


@composition("mowe", "mean of word embeddings, as without a suffix", "Mikolov et al. 2013")
class Average(WordComposition):
    """The mean of the vectors of a sentence's words."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return _means(self.lexicon.words(sentences))


@composition("sowe", "sum of word embeddings", "White et al. 2015, section 3.2.3")
class Sum(WordComposition):
    """The sum of the vectors of a sentence's words (SOWE)."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return _means(self.lexicon.words(sentences), average=False)


# What the papers leave open, and the values that are accepted; the first of each is SIF's.
DECISIONS: dict[str, tuple[str | None, ...]] = {
    "normalize": (None, "divide", "multiply"),
    "removal": ("whole", "share", "share-squared"),
    "one_word": ("normalize", "keep"),
    "unlisted": ("rarest", "never", "skip"),
    "unknown": ("skip", "count"),
}


@composition("sif", "smoothed inverse frequency", "Arora et al. 2017")
class SIF(WordComposition):
    """Smoothed inverse frequency (Arora et al. 2017): weights a / (a + p(w)), then m common components removed.

    Parameters
    ----------
    vectors : mapping word -> float32[d], or a `trained.Training`
    probabilities : mapping word -> p(w), above 0 and at most 1; a word that it lacks is looked up in lower case. By
        name: "wordfreq"; "enwiki", the counts of English Wikipedia; "corpus" or None, those of the fitted text.
    a : float above 0, the smoothing parameter
    m : int, how many first singular vectors of the fitted text's embeddings are removed; 0 for none
    normalize : how the vectors of a sentence's words are evened out in each dimension before they are weighted:
        "divide" by the dimension's L2 norm across the sentence (a dimension of zeros stays zero), "multiply" by it,
        or None
    removal : of the projection on component i, "whole" is taken away; the "share" s_i**2 / sum_j s_j**2, with s the
        singular values of the m components; or "share-squared", as programs do that apply the share twice
    one_word : whether a sentence of one known word, which "divide" turns into a vector of -1, 0 and 1, is to
        "normalize" all the same or to "keep" its vector
    unlisted : what becomes of a word with a vector that `probabilities` lacks: it counts as the "rarest" word there
        is, as one that occurs "never" (p(w) = 0), or is to "skip"
    unknown : whether words without a vector "skip" or "count" in the length that a sum of vectors is divided by

    The singular value decomposition is not centered, as in the authors' program. A sentence without known words has a
    zero vector.

    Raises
    ------
    InputError
        Options that are not accepted; probabilities that are none (`word_probabilities.checked`); from `fit`, fewer
        sentences than `m`, or vectors that are all zero or not finite.
    """

    needs_fit = True
    learned = ("components", "removed", "a")
    own: ClassVar[dict[str, str | None]] = {decision: accepted[0] for decision, accepted in DECISIONS.items()}

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        probabilities: Mapping[str, float] | str | None = "wordfreq",
        a: float = 1.0e-3,
        m: int = 1,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "sif",
        **decisions: str | None,
    ) -> None:
        super().__init__(name, vectors, tokenize)
        self.a, self.m = in_range("a", a, 1e-300, 1e300), in_range("m", m, 0, 10**6, "components")
        self.given = word_probabilities.named(probabilities)
        self.decisions = self._decided(decisions)
        self.probabilities: Mapping[str, float] = {}
        if self.given is not None:
            self._look_up_in(self.given)
        self.components = self.removed = None

    def _decided(self, decisions: dict[str, str | None]) -> dict[str, str | None]:
        if unknown := decisions.keys() - DECISIONS.keys():
            raise TypeError(f"{type(self).__name__} has no option {min(unknown)!r}")
        for decision, chosen in decisions.items():
            if chosen not in DECISIONS[decision]:
                accepted = ", ".join(map(repr, DECISIONS[decision]))
                raise InputError(f"{decision}: {chosen!r} is not known; accepted: {accepted}")
        return self.own | decisions

    @property
    def settings(self) -> dict[str, Any]:
        probabilities = "of the fitted text" if self.given is None else fingerprints.of_mapping(self.given)
        differing = {decision: chosen for decision, chosen in self.decisions.items() if chosen != self.own[decision]}
        return super().settings | {"probabilities": probabilities, "a": self.a, "m": self.m} | differing

    def _look_up_in(self, probabilities: Mapping[str, float]) -> None:
        self.listed = word_probabilities.checked(self.name, probabilities)
        self.probabilities = probabilities
        # The weight of a word that never ceases to occur is 0, by which it is told from the others.
        self.unlisted = {"rarest": self.listed.min(), "never": 0.0, "skip": np.inf}[self.decisions["unlisted"]]

    def _probability(self, word: str) -> float:
        p = self.probabilities.get(word)
        return self.probabilities.get(word.lower(), self.unlisted) if p is None else p

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        return self.a / (self.a + np.array([self._probability(word) for word in words]))

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        super()._fit(sentences, show_progress_bar)
        if self.given is None:
            self._look_up_in(text.relative_frequencies(sentences, self.tokenize))
            self._lexicon = None
        self._derive_weights(sentences)
        self._find_components(sentences, show_progress_bar)

    def _derive_weights(self, sentences: Sequence[str]) -> None:
        """What the weights take from the fitted text besides probabilities."""

    def _find_components(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        if len(sentences) < self.m:
            raise InputError(
                f"{self.name}: fitted on {len(sentences)} sentences, which cannot have {self.m} common components; "
                f"give {self.m} sentences or more, or fewer components (m)"
            )
        gram = 0.0
        starts = range(0, len(sentences), self.batch_size)
        for start in progress.track(starts, f"fit {self.name}", "batches", show_progress_bar):
            vectors = self._composed(self._words(sentences[start : start + self.batch_size])).astype(np.float64)
            gram = gram + vectors.T @ vectors
        if not np.isfinite(gram).all():
            raise InputError(f"{self.name}: vectors: those of the fitted text hold NaN or infinity; give numbers")
        # The eigenvectors of A'A are the right singular vectors of A, its eigenvalues their squared values.
        squares, directions = np.linalg.eigh(gram)
        self.components = directions[:, ::-1][:, : self.m].T
        self.removed = self._shares(squares[::-1][: self.m])

    def _shares(self, squares: np.ndarray) -> np.ndarray:
        """float64[m]: how much of the projection on each component is removed; nothing where there is none."""
        total = squares.sum()
        if total <= 0:
            return np.zeros(len(squares))
        exponent = {"whole": 0, "share": 1, "share-squared": 2}[self.decisions["removal"]]
        return (squares / total) ** exponent

    def _words(self, sentences: Sequence[str]) -> Words:
        words = self.lexicon.words(sentences)
        if self.decisions["unlisted"] == "skip":
            words = words._replace(rows=np.where(words.weights > 0, words.rows, -1))
        return words

    def _composed(self, words: Words, *removal: np.ndarray) -> np.ndarray:
        """float32[n, d]: the weighted means, less what `removal` (components and shares) takes away."""
        means = _means(words, self.decisions["normalize"], *removal)
        if self.decisions["one_word"] == "normalize" and self.decisions["unknown"] == "skip":
            return means
        lengths = np.diff(words.starts)
        known = np.diff(np.concatenate([[0], np.cumsum(words.rows[words.ids] >= 0)])[words.starts])
        if self.decisions["one_word"] == "keep" and (known == 1).any():
            means[known == 1] = _means(words, None, *removal)[known == 1]
        if self.decisions["unknown"] == "count":
            means *= np.divide(known, lengths, out=np.zeros(len(lengths)), where=lengths > 0)[:, None]
        return means

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._composed(self._words(sentences), self.components, self.removed)

    def _state(self) -> dict[str, np.ndarray]:
        state = super()._state()
        if self.given is None:
            words = list(self.probabilities)
            state |= {"words": packed(words), "p": np.array([self.probabilities[word] for word in words])}
        return state

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        super()._restore(state, fitted_on)
        if self.given is None:
            self._look_up_in(dict(zip(unpacked(state["words"]), state["p"].tolist(), strict=True)))


@composition("usif", "unsupervised SIF", "Ethayarajh 2018, algorithm 1")
class USIF(SIF):
    """Unsupervised smoothed inverse frequency (Ethayarajh 2018, Algorithm 1).

    Weights a / (p(w) + a/2), with `a` derived from the vocabulary by equation (11), then piecewise common
    component removal: of the projection on component i the share s_i**2 / sum_j s_j**2 is taken away.

    Parameters
    ----------
    vectors : mapping word -> float32[d], or a `trained.Training`
    probabilities : as for `SIF`; its words are the vocabulary V of equation (11)
    n : int or None, steps of the random walk; None for the mean number of tokens of the fitted sentences
    m : int, number of common components
    normalize : how the vectors of a sentence's words are evened out in each dimension before they are
        weighted: "divide" by the dimension's L2 norm across the sentence, as the author's program does;
        "multiply" by it, as the text of section 3.3 says; None, as in Algorithm 1
    decisions : as for `SIF`

    Attributes
    ----------
    alpha : float, the share of V that is likelier by chance than by the random walk
    partition : float, ``Z = |V| / 2``
    a : float, (1 - alpha) / (alpha Z); all three are there without `fit` when `n` and `probabilities` are given
    """

    learned = (*SIF.learned, "alpha", "partition")
    own: ClassVar[dict[str, str | None]] = SIF.own | {"normalize": "divide", "removal": "share"}

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        probabilities: Mapping[str, float] | str | None = "wordfreq",
        n: int | None = None,
        m: int = 5,
        tokenize: Tokenizer = text.word_tokens,
        normalize: Literal["divide", "multiply"] | None = "divide",
        name: str = "usif",
        **decisions: str | None,
    ) -> None:
        super().__init__(vectors, probabilities, m=m, tokenize=tokenize, name=name, normalize=normalize, **decisions)
        self.n = n
        self.a = self.alpha = self.partition = float("nan")
        if n is not None:
            in_range("n", n, 1, 10**6, "words of a sentence")
            if self.given is not None:
                self._derive(float(n))

    @property
    def settings(self) -> dict[str, Any]:
        # `a` follows from n, the probabilities and the fitted text.
        return super().settings | {"a": None, "n": self.n, "normalize": self.decisions["normalize"]}

    def _derive(self, n: float) -> None:
        if n <= 0:
            raise InputError(f"{self.name}: the fitted text has no words; give sentences with words, or n")
        walk = word_probabilities.random_walk(self.listed, n)
        if not 0 < walk.alpha < 1:
            raise InputError(
                f"probabilities: equation (11) gives alpha = {walk.alpha:g} for {len(self.listed)} words; give the "
                "probabilities of a larger vocabulary"
            )
        self.alpha, self.partition, self.a = walk.alpha, walk.partition, walk.a

    def _derive_weights(self, sentences: Sequence[str]) -> None:
        if self.n is not None:
            return self._derive(float(self.n))
        # The random walk visits every token, with a vector or without.
        starts = range(0, len(sentences), self.batch_size)
        batches = (self.lexicon.tokens.of(sentences[start : start + self.batch_size]) for start in starts)
        self._derive(sum(len(batch.ids) for batch in batches) / max(1, len(sentences)))
        self._lexicon = None  # its weights are those of another a

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        return self.a / (np.array([self._probability(word) for word in words]) + self.a / 2)


class Concatenation(Embedder):
    """The vectors of several embedders, one beside the other; float32[n, sum of their dimensions].

    Parameters
    ----------
    name : str
    parts : embedders with dense vectors, at least two
    """

    def __init__(self, name: str, parts: Sequence[Embedder]) -> None:
        if len(parts) < 2:
            raise InputError(f"{name}: concatenates {len(parts)} embedders; give at least two")
        self.name, self.parts = name, list(parts)
        self.needs_fit = any(part.needs_fit for part in parts)

    @property
    def settings(self) -> dict[str, Any]:
        return {"parts": [{"name": part.name, "version": part.version} | part.settings for part in self.parts]}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        for part in self.parts:
            part.fit(sentences, show_progress_bar)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return np.hstack([part.encode(sentences) for part in self.parts])

    def _state(self) -> dict[str, np.ndarray]:
        return {f"{i}/{key}": array for i, part in enumerate(self.parts) for key, array in part.state().items()}

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        for i, part in enumerate(self.parts):
            own = {key.removeprefix(f"{i}/"): array for key, array in state.items() if key.startswith(f"{i}/")}
            part.restore(own, fitted_on if part.needs_fit else "")
