"""Sentence vectors composed of word vectors: average, sum, power means, SIF, uSIF. Words without one are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from lib import catalog
from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer, described
from lib.embedders.registry import composition
from lib.embedders.trained import Training
from lib.embedders.words import WordComposition
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of


@composition("mowe", "mean of word embeddings, as without a suffix", "Mikolov et al. 2013")
class Average(WordComposition):
    """The mean of the vectors of a sentence's words."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._words(sentences).means()


@composition("sowe", "sum of word embeddings", "White et al. 2015, section 3.2.3")
class Sum(WordComposition):
    """The sum of the vectors of a sentence's words (SOWE)."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        return words.sums(words.vectors, words.weights)


# -- SIF and uSIF ---------------------------------------------------------------------------------

# What the papers leave open, and what is accepted.
DECISIONS = {
    "normalize": (None, "divide", "multiply"),
    "removal": ("whole", "share"),
    "one_word": ("normalize", "keep"),
    "unlisted": ("rarest", "skip"),
}


def named_probabilities(source: str) -> Mapping[str, float] | None:
    """p(w) by the name of its source, "wordfreq" or "enwiki"; None for "corpus", those of the fitted text."""
    one_of("probabilities", source, ("wordfreq", "enwiki", "corpus"))
    if source == "enwiki":
        return text.read_probabilities(catalog.file("frequencies/enwiki_vocab_min200.txt"))
    return text.word_probabilities() if source == "wordfreq" else None


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
    tokenize : callable
        From a sentence to its tokens.
    name : str
    normalize : {None, "divide", "multiply"}
        How the vectors of a sentence's words are evened out in each dimension before they are weighted: divided by the
        dimension's L2 norm across the sentence (a dimension of zeros stays zero), or multiplied by it.
    removal : {"whole", "share"}
        How much of the projection on component i is taken away: all, or the share s_i**2 / sum_j s_j**2, with s the
        singular values of the m components.
    one_word : {"normalize", "keep"}
        Whether a sentence of one known word, which "divide" turns into a vector of -1, 0 and 1, keeps its vector.
    unlisted : {"rarest", "skip"}
        What becomes of a word with a vector that `probabilities` lacks: it counts as the rarest word there is, or is
        skipped.

    The singular value decomposition is not centered, as in the authors' program. A sentence without known words has a
    zero vector.

    Raises
    ------
    InputError
        Options that are not accepted; probabilities that are none; from `fit`, fewer sentences than `m`, or vectors
        that are not finite.
    """

    parameters = (*WordComposition.parameters, "given_digest", "a", "m", *DECISIONS)
    needs_fit = True
    learned = ("components", "removed")

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        probabilities: Mapping[str, float] | str | None = "wordfreq",
        a: float = 1.0e-3,
        m: int = 1,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "sif",
        normalize: str | None = None,
        removal: str = "whole",
        one_word: str = "normalize",
        unlisted: str = "rarest",
    ) -> None:
        super().__init__(name, vectors, tokenize)
        self.a, self.m = in_range("a", a, 1e-300, 1e300), in_range("m", m, 0, 10**6, "components")
        self.normalize, self.removal, self.one_word, self.unlisted = normalize, removal, one_word, unlisted
        for decision, accepted in DECISIONS.items():
            if getattr(self, decision) is not None:
                one_of(decision, getattr(self, decision), filter(None, accepted))
        self.given = named_probabilities(probabilities) if isinstance(probabilities, str) else probabilities
        self.probabilities: Mapping[str, float] = {}
        if self.given is None:
            self.learned = (*self.learned, "probabilities")
        else:
            self._look_up_in(self.given)
        self.components = self.removed = None

    @cached_property
    def given_digest(self) -> str | None:
        """What stands in the settings for the probabilities, a third of a million words."""
        return described(self.given)

    def _look_up_in(self, probabilities: Mapping[str, float]) -> None:
        """Take p(w) from here; InputError for an empty mapping, and for a number that is not above 0 and at most 1."""
        if not probabilities:
            raise InputError(f"{self.name}: probabilities is empty; give a mapping from words to p(w)")
        values = np.fromiter(probabilities.values(), np.float64, len(probabilities))
        wrong = np.flatnonzero(~((values > 0) & (values <= 1)))
        if len(wrong):
            shown = f"{list(probabilities)[wrong[0]]!r} has {values[wrong[0]]:g}"
            raise InputError(f"{self.name}: probabilities: {shown}; give numbers above 0 and at most 1")
        self.probabilities, self.listed = probabilities, values
        # The weight of a word that never ceases to occur is 0, so that it is skipped.
        self._of_unlisted = values.min() if self.unlisted == "rarest" else np.inf

    def _probability(self, word: str) -> float:
        p = self.probabilities.get(word)
        return self.probabilities.get(word.lower(), self._of_unlisted) if p is None else p

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
        if len(sentences) < self.m:
            raise InputError(
                f"{self.name}: fitted on {len(sentences)} sentences; give {self.m} or more, or a smaller m"
            )
        self.components, gram = None, np.zeros((self.word_dim, self.word_dim))
        starts = range(0, len(sentences), self.batch_size)
        for start in progress.track(starts, f"fit {self.name}", "batches", show_progress_bar):
            vectors = self._encode(sentences[start : start + self.batch_size]).astype(np.float64)
            gram += vectors.T @ vectors
        if not np.isfinite(gram).all():
            raise InputError(f"{self.name}: vectors: those of the fitted text hold NaN or infinity; give numbers")
        # The eigenvectors of A'A are the right singular vectors of A, its eigenvalues their squared values.
        squares, directions = np.linalg.eigh(gram)
        self.components, squares = directions[:, ::-1][:, : self.m].T, squares[::-1][: self.m]
        self.removed = np.ones(len(squares)) if self.removal == "whole" else squares / max(squares.sum(), 1e-300)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        means = words.means().astype(np.float64)
        if self.normalize:
            norms = np.sqrt(words.sums(words.vectors**2, np.ones_like(words.weights)))
            if self.normalize == "multiply":
                normalized = means * norms
            else:
                normalized = np.divide(means, norms, out=np.zeros_like(means), where=norms > 0)
            is_kept = (words.known == 1) & (self.one_word == "keep")
            means = np.where(is_kept[:, None], means, normalized)
        if self.components is not None:
            means -= (means @ self.components.T * self.removed) @ self.components
        return means.astype(np.float32)

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        super().restore(state, fitted_on)
        self._look_up_in(self.probabilities)
        return self


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
    removal : {"share", "whole"}
        As for `SIF`.
    **decisions
        The others of `SIF`.

    Attributes
    ----------
    alpha : float
        The share of V that is likelier by chance than by the random walk.
    partition : float
        ``Z = |V| / 2``
    a : float
        (1 - alpha) / (alpha Z); all three are there without `fit` when `n` and `probabilities` are given.
    """

    parameters = (*WordComposition.parameters, "given_digest", "n", "m", *DECISIONS)
    learned = (*SIF.learned, "a", "alpha", "partition")

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        probabilities: Mapping[str, float] | str | None = "wordfreq",
        n: int | None = None,
        m: int = 5,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "usif",
        normalize: str | None = "divide",
        removal: str = "share",
        **decisions: str,
    ) -> None:
        decisions |= {"normalize": normalize, "removal": removal}
        super().__init__(vectors, probabilities, m=m, tokenize=tokenize, name=name, **decisions)
        self.n = n
        self.a = self.alpha = self.partition = float("nan")
        if n is not None:
            in_range("n", n, 1, 10**6, "words of a sentence")
            if self.given is not None:
                self._derive(n)

    def _derive(self, n: float) -> None:
        """Section 3.3: `n` steps of the random walk over the vocabulary."""
        size = len(self.listed)
        threshold = 1 - (1 - 1 / size) ** n  # that a random word is produced by a discourse vector at least once
        self.alpha, self.partition = float(np.mean(self.listed > threshold)), size / 2
        if not 0 < self.alpha < 1:
            raise InputError(
                f"probabilities: equation (11) gives alpha = {self.alpha:g} for {size} words and sentences of {n:g}; "
                "give the probabilities of a larger vocabulary, or sentences with words"
            )
        self.a = (1 - self.alpha) / (self.alpha * self.partition)

    def _derive_weights(self, sentences: Sequence[str]) -> None:
        tokens = sum(len(self.tokenize(sentence)) for sentence in sentences)  # with a vector or without
        self._derive(tokens / max(1, len(sentences)) if self.n is None else self.n)

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        return self.a / (np.array([self._probability(word) for word in words]) + self.a / 2)


@composition("power-means", "mean, maximum and minimum, concatenated", "Rücklé et al. 2018", dims="3 d")
class PowerMeans(WordComposition):
    """Power means of the vectors of a sentence's words, one beside the other (Rücklé et al. 2018, equation 1).

    The exponents are the paper's choice for English: 1, infinity and -infinity, which are mean, maximum and minimum in
    each dimension.
    """

    batch_size = 1024  # the words' vectors of a batch lie in memory, one after the other

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        lowest = 0 - words.maxima(-words.vectors)  # and not -0 where there are no words
        return np.hstack([words.means(), words.maxima(words.vectors), lowest])
