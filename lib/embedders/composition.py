"""Sentence vectors composed of word vectors: average, sum, power means, SIF, uSIF. Words without one are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lib.corpora import text
from lib.embedders import word_probabilities
from lib.embedders.base import Embedder, described, packed, unpacked
from lib.embedders.registry import composition
from lib.embedders.tokens import Lexicon, Tokenizer, Words
from lib.embedders.trained import Training
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

VERSION = 2


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

    version = VERSION
    batch_size = 8192
    parameters = ("tokenize",)

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
        return super().settings | {"vectors": self.training.settings if self.training else described(self.vectors)}

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

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        if self.training:  # which keeps the vectors
            self.vectors = self.training.trained(fitted_on)
        self._lexicon = None
        return super().restore(state, fitted_on)


@composition("mowe", "mean of word embeddings, as without a suffix", "Mikolov et al. 2013")
class Average(WordComposition):
    """The mean of the vectors of a sentence's words."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self.lexicon.words(sentences).means()


@composition("sowe", "sum of word embeddings", "White et al. 2015, section 3.2.3")
class Sum(WordComposition):
    """The sum of the vectors of a sentence's words (SOWE)."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self.lexicon.words(sentences).means(average=False)


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
    vectors : mapping or trained.Training
        From words to float32[d].
    probabilities : mapping or str, optional
        From words to p(w), above 0 and at most 1; a word that it lacks is looked up in lower case. By name: "wordfreq";
        "enwiki", the counts of English Wikipedia; "corpus" or None, those of the fitted text.
    a : float
        The smoothing parameter, above 0.
    m : int
        How many first singular vectors of the fitted text's embeddings are removed; 0 for none.
    normalize : {None, "divide", "multiply"}
        How the vectors of a sentence's words are evened out in each dimension before they are weighted: divided by the
        dimension's L2 norm across the sentence (a dimension of zeros stays zero), or multiplied by it.
    removal : {"whole", "share", "share-squared"}
        How much of the projection on component i is taken away: all, the share s_i**2 / sum_j s_j**2, with s the
        singular values of the m components, or its square, as programs do that apply the share twice.
    one_word : {"normalize", "keep"}
        Whether a sentence of one known word, which "divide" turns into a vector of -1, 0 and 1, keeps its vector.
    unlisted : {"rarest", "never", "skip"}
        What becomes of a word with a vector that `probabilities` lacks: it counts as the rarest word there is, as one
        that never occurs (p(w) = 0), or is skipped.
    unknown : {"skip", "count"}
        Whether words without a vector count in the length that a sum of vectors is divided by.

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
        for decision, chosen in decisions.items():
            if decision not in DECISIONS:
                raise TypeError(f"{type(self).__name__} has no option {decision!r}")
            if chosen is not None or decision != "normalize":
                one_of(decision, chosen, filter(None, DECISIONS[decision]))
        self.decisions = self.own | decisions
        self.probabilities: Mapping[str, float] = {}
        if self.given is not None:
            self._look_up_in(self.given)
        self.components = self.removed = None

    @property
    def settings(self) -> dict[str, Any]:
        probabilities = "of the fitted text" if self.given is None else described(self.given)
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
        means = words.means(self.decisions["normalize"], *removal)
        if self.decisions["one_word"] == "normalize" and self.decisions["unknown"] == "skip":
            return means
        lengths = np.diff(words.starts)
        known = np.diff(words.known_starts)
        if self.decisions["one_word"] == "keep" and (known == 1).any():
            means[known == 1] = words.means(None, *removal)[known == 1]
        if self.decisions["unknown"] == "count":
            means *= np.divide(known, lengths, out=np.zeros(len(lengths)), where=lengths > 0)[:, None]
        return means

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._composed(self._words(sentences), self.components, self.removed)

    def state(self) -> dict[str, np.ndarray]:
        state = super().state()
        if self.given is None:
            words = list(self.probabilities)
            state |= {"words": packed(words), "p": np.array([self.probabilities[word] for word in words])}
        return state

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        if self.given is None:
            self._look_up_in(dict(zip(unpacked(state["words"]), state["p"].tolist(), strict=True)))
        return super().restore(state, fitted_on)


@composition("usif", "unsupervised SIF", "Ethayarajh 2018, algorithm 1")
class USIF(SIF):
    """Unsupervised smoothed inverse frequency (Ethayarajh 2018, Algorithm 1).

    Weights a / (p(w) + a/2), with `a` derived from the vocabulary by equation (11), then piecewise common
    component removal: of the projection on component i the share s_i**2 / sum_j s_j**2 is taken away.

    Parameters
    ----------
    vectors, probabilities, tokenize, name
        As for `SIF`; the words of `probabilities` are the vocabulary V of equation (11).
    n : int, optional
        Steps of the random walk; by default the mean number of tokens of the fitted sentences.
    m : int
        Number of common components.
    normalize : {"divide", "multiply", None}
        As for `SIF`. The author's program divides, the text of section 3.3 multiplies, Algorithm 1 does neither.
    **decisions
        As for `SIF`.

    Attributes
    ----------
    alpha : float
        The share of V that is likelier by chance than by the random walk.
    partition : float
        ``Z = |V| / 2``
    a : float
        (1 - alpha) / (alpha Z); all three are there without `fit` when `n` and `probabilities` are given.
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
        name: str = "usif",
        **decisions: str | None,
    ) -> None:
        super().__init__(vectors, probabilities, m=m, tokenize=tokenize, name=name, **decisions)
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


POWERS = (1.0, float("inf"), float("-inf"))


@composition("power-means", "mean, maximum and minimum, concatenated", "Rücklé et al. 2018", dims="3 d")
class PowerMeans(WordComposition):
    """Power means of the vectors of a sentence's words, one beside the other (Rücklé et al. 2018, equation 1).

    The power mean with exponent p of t numbers is (sum of x**p / t)**(1/p), in each dimension; p = 1 is the average,
    p = infinity the maximum, p = -infinity the minimum. Of an odd p the root keeps the sign; others but 1 and the
    infinities are not real for negative numbers and are not accepted.

    Parameters
    ----------
    vectors : mapping or trained.Training
        From words to float32[d].
    powers : sequence of float
        Exponents; the result has d dimensions for each. The default is the paper's choice for English.
    """

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
