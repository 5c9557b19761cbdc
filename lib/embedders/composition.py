"""Sentence vectors composed of word vectors.

Average, sum, power means, SIF and uSIF. Words without a vector are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from lib import catalog
from lib.base import progress
from lib.base.errors import InputError
from lib.base.parameters import in_range, one_of
from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer, setting_key
from lib.embedders.kinds import NO_TRAINING, POOLED_WORDS, STATIC_AVERAGE
from lib.embedders.registry import composition
from lib.embedders.trained import WordTraining
from lib.embedders.words import WordComposition

POOLED = {"architecture": POOLED_WORDS, "objective": NO_TRAINING, "reads_order": False}
PLAIN = POOLED | {"architecture": STATIC_AVERAGE}


@composition(
    "mowe",
    "mean of word embeddings, as without a suffix",
    "Mikolov et al. 2013",
    **PLAIN,
)
class Average(WordComposition):
    """The mean of the vectors of a sentence's words."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._words(sentences).means()


@composition(
    "sowe", "sum of word embeddings", "White et al. 2015, section 3.2.3", **POOLED
)
class Sum(WordComposition):
    """The sum of the vectors of a sentence's words (SOWE)."""

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        return words.sums(words.vectors, words.weights)


# -- SIF and uSIF ----------------------------------------------------------------------

# What the papers leave open, and what is accepted.
DECISIONS = {
    "normalize": (None, "divide", "multiply"),
    "removal": ("whole", "share"),
    "one_word": ("normalize", "keep"),
    "unlisted": ("rarest", "skip"),
}


def named_probabilities(source: str) -> Mapping[str, float] | None:
    """p(w) by the name of its source: "wordfreq", "enwiki" or "corpus".

    None for "corpus", whose probabilities are those of the fitted text.
    """
    one_of("probabilities", source, ("wordfreq", "enwiki", "corpus"))
    if source == "enwiki":
        file = catalog.file("frequencies/enwiki_vocab_min200.txt")
        return text.read_probabilities(file)
    if source == "wordfreq":
        return text.word_probabilities()
    return None


@composition("sif", "smoothed inverse frequency", "Arora et al. 2017", **POOLED)
class SIF(WordComposition):
    """Smoothed inverse frequency (Arora et al. 2017).

    Words are weighted by a / (a + p(w)); then m common components are removed.

    Parameters
    ----------
    vectors : mapping, gensim's KeyedVectors or trained.WordTraining
        From words to float32[d].
    probabilities : mapping or str, optional
        From words to p(w), above 0 and at most 1; a word that it lacks is looked up in
        lower case. By name: "wordfreq"; "enwiki", the counts of English Wikipedia;
        "corpus" or None, those of the fitted text.
    a : float
        The smoothing parameter, above 0.
    m : int
        How many first singular vectors of the fitted text's embeddings are removed; 0
        for none.
    tokenize : callable
        From a sentence to its tokens.
    name : str
    normalize : {None, "divide", "multiply"}
        How the vectors of a sentence's words are evened out in each dimension before
        they are weighted: divided by the dimension's L2 norm across the sentence (a
        dimension of zeros stays zero), or multiplied by it.
    removal : {"whole", "share"}
        How much of the projection on component i is removed: all, or the share
        s_i**2 / sum_j s_j**2, with s the singular values of the m components.
    one_word : {"normalize", "keep"}
        Whether a sentence of one known word, which "divide" turns into a vector of -1,
        0 and 1, keeps its vector.
    unlisted : {"rarest", "skip"}
        How to treat a word that has a vector but no probability: as the rarest word, or
        skip it.

    Raises
    ------
    InputError
        Options that are not accepted; probabilities outside (0, 1]; from `fit`, fewer
        sentences than `m`, or vectors that are not finite.

    Notes
    -----
    The singular value decomposition is not centered, as in the authors' program. A
    sentence without known words has a zero vector.

    Examples
    --------
    >>> from lib.embedders.composition import SIF
    >>> vectors = {"red": np.array([1.0, 0]), "the": np.array([0, 1.0])}
    >>> sif = SIF(vectors, {"red": 0.001, "the": 0.05}, m=0, tokenize=str.split)
    >>> sif.fit_encode(["the red"]).round(3)
    array([[0.25, 0.01]], dtype=float32)
    """

    parameters = (*WordComposition.parameters, "given_digest", "a", "m", *DECISIONS)
    needs_fit = True
    learned: tuple[str, ...] = ("components", "removed")

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | WordTraining,
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
        self.a = in_range("a", a, 1e-300, 1e300)
        self.m = in_range("m", m, 0, 10**6, "components")
        self.normalize = normalize
        self.removal = removal
        self.one_word = one_word
        self.unlisted = unlisted
        for decision, accepted in DECISIONS.items():
            decided = getattr(self, decision)
            if decided not in accepted:
                one_of(decision, decided, filter(None, accepted))
        if isinstance(probabilities, str):
            probabilities = named_probabilities(probabilities)
        self.given = probabilities
        self.probabilities: Mapping[str, float] = {}
        if self.given is None:
            self.learned = (*self.learned, "probabilities")
        else:
            self._look_up_in(self.given)
        self.components: np.ndarray | None = None
        self.removed: np.ndarray | None = None

    @cached_property
    def given_digest(self) -> str | None:
        """The digest of the probabilities, of a third of a million words."""
        return setting_key("probabilities", self.given)

    def _look_up_in(self, probabilities: Mapping[str, float]) -> None:
        """Take p(w) from this mapping.

        Raises InputError if it is empty, or for a number that is not above 0 and at
        most 1.
        """
        if not probabilities:
            raise InputError(
                f"{self.name}: probabilities is empty; "
                "give a mapping from words to p(w)"
            )
        values = np.fromiter(probabilities.values(), np.float64, len(probabilities))
        wrong = np.flatnonzero(~((values > 0) & (values <= 1)))
        if len(wrong):
            first = wrong[0]
            shown = f"{list(probabilities)[first]!r} has {values[first]:g}"
            raise InputError(
                f"{self.name}: probabilities: {shown}; "
                "give numbers above 0 and at most 1"
            )
        self.probabilities = probabilities
        self.listed = values
        # An infinite probability gives a weight of 0, so the word is skipped.
        self._of_unlisted = values.min() if self.unlisted == "rarest" else np.inf

    def _probability(self, word: str) -> float:
        p = self.probabilities.get(word)
        if p is None:
            p = self.probabilities.get(word.lower(), self._of_unlisted)
        return p

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        p = np.array([self._probability(word) for word in words])
        return self.a / (self.a + p)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        super()._fit(sentences, show_progress_bar)
        if self.given is None:
            self._look_up_in(text.relative_frequencies(sentences, self.tokenize))
        self._derive_weights(sentences)
        self._find_components(sentences, show_progress_bar)

    def _derive_weights(self, sentences: Sequence[str]) -> None:
        """Learn what the weights need besides probabilities."""

    def _find_components(
        self, sentences: Sequence[str], show_progress_bar: bool
    ) -> None:
        if len(sentences) < self.m:
            raise InputError(
                f"{self.name}: fitted on {len(sentences)} sentences; "
                f"give {self.m} or more, or a smaller m"
            )
        self.components = None
        gram = np.zeros((self.word_dim, self.word_dim))
        starts = range(0, len(sentences), self.batch_size)
        for start in progress.track(
            starts, f"fit {self.name}", "batches", show_progress_bar
        ):
            batch = sentences[start : start + self.batch_size]
            vectors = self._encode(batch).astype(np.float64)
            gram += vectors.T @ vectors
        if not np.isfinite(gram).all():
            raise InputError(
                f"{self.name}: vectors: those of the fitted text contain NaN or "
                "infinity; give numbers"
            )
        # The eigenvectors of A'A are the right singular vectors of A, its eigenvalues
        # their squared values.
        squares, directions = np.linalg.eigh(gram)
        self.components = directions[:, ::-1][:, : self.m].T
        squares = squares[::-1][: self.m]
        if self.removal == "whole":
            self.removed = np.ones(len(squares))
        else:
            self.removed = squares / max(squares.sum(), 1e-300)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        means = words.means().astype(np.float64)
        if self.normalize:
            norms = np.sqrt(words.sums(words.vectors**2, np.ones_like(words.weights)))
            if self.normalize == "multiply":
                normalized = means * norms
            else:
                normalized = np.zeros_like(means)
                np.divide(means, norms, out=normalized, where=norms > 0)
            is_kept = (words.known == 1) & (self.one_word == "keep")
            means = np.where(is_kept[:, None], means, normalized)
        if self.components is not None:
            projections = means @ self.components.T * self.removed
            means -= projections @ self.components
        return means.astype(np.float32)

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        super().restore(state, fitted_on)
        self._look_up_in(self.probabilities)
        return self


@composition("usif", "unsupervised SIF", "Ethayarajh 2018, algorithm 1", **POOLED)
class USIF(SIF):
    """Unsupervised smoothed inverse frequency (Ethayarajh 2018, Algorithm 1).

    Weights a / (p(w) + a/2), with `a` derived from the vocabulary by equation (11),
    then piecewise common component removal, which removes the share
    s_i**2 / sum_j s_j**2 of the projection on component i.

    Parameters
    ----------
    vectors, probabilities, tokenize, name
        As for `SIF`; the words of `probabilities` are the vocabulary V of equation
        (11).
    n : int, optional
        Steps of the random walk; by default the mean number of tokens of the fitted
        sentences.
    m : int
        Number of common components.
    normalize : {"divide", "multiply", None}
        As for `SIF`. The author's program divides, the text of section 3.3 multiplies,
        Algorithm 1 does neither.
    removal : {"share", "whole"}
        As for `SIF`.
    one_word, unlisted
        As for `SIF`.

    Attributes
    ----------
    alpha : float
        The share of V that is likelier by chance than by the random walk.
    partition : float
        ``Z = |V| / 2``
    a : float
        (1 - alpha) / (alpha Z); all three are there without `fit` when `n` and
        `probabilities` are given.

    Examples
    --------
    >>> from lib.embedders.composition import USIF
    >>> usif = USIF({"red": np.ones(2)}, "wordfreq", n=11)
    >>> round(usif.alpha, 3), round(usif.a, 3)
    (0.009, 0.001)
    """

    parameters = (*WordComposition.parameters, "given_digest", "n", "m", *DECISIONS)
    learned = (*SIF.learned, "a", "alpha", "partition")

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | WordTraining,
        probabilities: Mapping[str, float] | str | None = "wordfreq",
        n: int | None = None,
        m: int = 5,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "usif",
        normalize: str | None = "divide",
        removal: str = "share",
        one_word: str = "normalize",
        unlisted: str = "rarest",
    ) -> None:
        super().__init__(
            vectors,
            probabilities,
            m=m,
            tokenize=tokenize,
            name=name,
            normalize=normalize,
            removal=removal,
            one_word=one_word,
            unlisted=unlisted,
        )
        self.n = n
        self.a = self.alpha = self.partition = float("nan")
        if n is not None:
            in_range("n", n, 1, 10**6, "words of a sentence")
            if self.given is not None:
                self._derive(n)

    def _derive(self, n: float) -> None:
        """Section 3.3: `n` steps of the random walk over the vocabulary."""
        size = len(self.listed)
        # The probability that a discourse vector produces a random word at least once.
        threshold = 1 - (1 - 1 / size) ** n
        self.alpha = float(np.mean(self.listed > threshold))
        self.partition = size / 2
        if not 0 < self.alpha < 1:
            raise InputError(
                f"probabilities: equation (11) gives alpha = {self.alpha:g} for {size} "
                f"words and sentences of {n:g}; "
                "give the probabilities of a larger vocabulary, or sentences with words"
            )
        self.a = (1 - self.alpha) / (self.alpha * self.partition)

    def _derive_weights(self, sentences: Sequence[str]) -> None:
        # Tokens with a vector and without.
        tokens = sum(len(self.tokenize(sentence)) for sentence in sentences)
        mean_length = tokens / max(1, len(sentences))
        self._derive(mean_length if self.n is None else self.n)

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        p = np.array([self._probability(word) for word in words])
        return self.a / (p + self.a / 2)


@composition(
    "power-means",
    "mean, maximum and minimum, concatenated",
    "Rücklé et al. 2018",
    dims="3 d",
    **POOLED,
)
class PowerMeans(WordComposition):
    """Concatenated power means of word vectors (Rücklé et al. 2018, equation 1).

    The exponents are the paper's choice for English: 1, infinity and -infinity, which
    are mean, maximum and minimum in each dimension.
    """

    batch_size = 1024  # whose words' vectors lie in memory, one after the other

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = self._words(sentences)
        lowest = 0 - words.maxima(-words.vectors)  # and not -0 where there are no words
        return np.hstack([words.means(), words.maxima(words.vectors), lowest])
