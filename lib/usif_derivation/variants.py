"""uSIF taken apart and varied: the ablation of section 4.3, sweeps, and the decisions that the paper leaves open.

uSIF weighs a word by a / (p + a/2), twice as much as SIF at a/2. So uSIF is SIF with another a, a normalization and
another removal, and each of these can be switched on alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from lib import embedders
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.composition import SIF, USIF, Average
from lib.embedders.tokens import Tokenizer
from lib.run.errors import InputError

SIF_A = 1.0e-3  # SIF's a where nobody tunes it
UNWEIGHTED = 1.0e6  # as a: every word weighs 1, but for one part in a million
WITH_PUNCTUATION = {text.cased_words: text.word_tokens, text.lower_words: text.lower_word_tokens}


@dataclass(frozen=True)
class Words:
    """Word vectors, word probabilities and a tokenizer, of which embedders are made.

    Attributes
    ----------
    vectors : mapping word -> float32[d]
    probabilities : mapping word -> p(w)
    tokenize : a function from a sentence to its tokens
    n : int, steps of the random walk
    m : int, components of uSIF
    """

    vectors: Mapping[str, np.ndarray]
    probabilities: Mapping[str, float]
    tokenize: Tokenizer
    n: int = 11
    m: int = 5

    @classmethod
    def of(cls, name: str, probabilities: Mapping[str, float], n: int = 11, m: int = 5) -> Words:
        """A set of word vectors of the registry, with words in the case that it has and without punctuation.

        Raises InputError for what is no such set, or is trained on the text at hand.
        """
        embedder = embedders.load(name)
        if not isinstance(embedder, Average) or embedder.training:
            raise InputError(
                f"vector_names: {name!r} is no set of published word vectors; give one, such as glove-6b-50d"
            )
        cased = embedder.tokenize("A") == ["A"]
        return cls(embedder.vectors, probabilities, text.cased_words if cased else text.lower_words, n, m)

    @cached_property
    def a(self) -> float:
        """uSIF's own a."""
        return self.usif().a

    def known(self, sentence: str) -> tuple[np.ndarray, np.ndarray]:
        """The vectors, float64[t, d], and the probabilities, float64[t], of a sentence's words that have both.

        Where no word has, the vectors have no columns.
        """
        words = [word for word in self.tokenize(sentence) if word in self.vectors and word in self.probabilities]
        vectors = np.array([self.vectors[word] for word in words], np.float64)
        return vectors.reshape(len(words), -1 if words else 0), np.array([self.probabilities[word] for word in words])

    def sentences(
        self, corpus: Sequence[str], count: int, rng: np.random.Generator
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """What is `known` of so many sentences, drawn from those with three known words or more.

        Raises InputError if there are fewer than two such sentences.
        """
        found = [self.known(corpus[i]) for i in rng.permutation(len(corpus))[: 3 * count]]
        long = [(vectors, p) for vectors, p in found if len(p) > 2][:count]
        if len(long) < 2:
            raise InputError(
                f"checked_sentences: {len(long)} of {count} have known words; give more, or another corpus"
            )
        return long

    def vocabulary(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Vectors and probabilities of so many words (or all), drawn evenly from those that have both."""
        listed = list(self.probabilities)
        drawn = (listed[i] for i in rng.permutation(len(listed)))
        chosen = list(islice((word for word in drawn if word in self.vectors), count))
        vectors = np.array([self.vectors[word] for word in chosen], np.float64)
        return vectors, np.array([self.probabilities[word] for word in chosen])

    def mean(self) -> Embedder:
        """The unweighted mean."""
        return Average("mean", self.vectors, self.tokenize)

    def sif(self, **options: object) -> SIF:
        """SIF; options are those of its class."""
        return SIF(self.vectors, self.probabilities, **({"tokenize": self.tokenize} | options))

    def usif(self, **options: object) -> USIF:
        """uSIF; options are those of its class."""
        own = {"vectors": self.vectors, "n": self.n, "m": self.m, "tokenize": self.tokenize}
        return USIF(probabilities=self.probabilities, **(own | options))

    def usif_with(self, a: float, **options: object) -> SIF:
        """uSIF with another a than its own: SIF at a/2, normalized, with piecewise removal; half of uSIF's vectors."""
        return self.sif(**({"a": a / 2, "m": self.m, "normalize": "divide", "removal": "share"} | options))


def ablation(words: Words) -> dict[str, Embedder]:
    """SIF, SIF with each contribution of uSIF alone, uSIF, and uSIF without each (section 4.3).

    Weights: uSIF's a in the place of 1e-3. Normalization: dividing by the norms. Removal: piecewise, of m components,
    in the place of one whole component.
    """
    weights, normalization, removal = {"a": words.a / 2}, {"normalize": "divide"}, {"m": words.m, "removal": "share"}
    return {
        "SIF": words.sif(a=SIF_A),
        "SIF + weights": words.sif(**weights),
        "SIF + normalization": words.sif(a=SIF_A, **normalization),
        "SIF + removal": words.sif(a=SIF_A, **removal),
        "uSIF": words.sif(**weights, **normalization, **removal),
        "uSIF - weights": words.sif(a=SIF_A, **normalization, **removal),
        "uSIF - normalization": words.sif(**weights, **removal),
        "uSIF - removal": words.sif(**weights, **normalization),
        "uSIF, unweighted": words.sif(a=UNWEIGHTED, **normalization, **removal),
        "uSIF, nothing removed": words.sif(**weights, **normalization, m=0),
    }


def decisions(words: Words) -> dict[str, Embedder]:
    """uSIF as it is here, and with one decision at a time taken otherwise, that the paper leaves open or ports change.

    On which text the components are fitted is no option of an embedder: `results.sit` takes it.
    """
    return {
        "uSIF": words.usif(),
        "multiplied by the norms": words.usif(normalize="multiply"),
        "not normalized": words.usif(normalize=None),
        "one-word sentences kept": words.usif(one_word="keep"),
        "n measured": words.usif(n=None),
        "unlisted words: p = 0": words.usif(unlisted="never"),
        "unlisted words skipped": words.usif(unlisted="skip"),
        "unknown words counted": words.usif(unknown="count"),
        "punctuation kept": words.usif(tokenize=WITH_PUNCTUATION[words.tokenize]),
        "shares applied twice": words.usif(removal="share-squared"),
        "components removed whole": words.usif(removal="whole"),
        "word vectors of length 1": words.usif(vectors=UnitVectors(words.vectors)),
    }


def sweeps(words: Words, values_of_a: Sequence[float], counts: Sequence[int]) -> dict[str, Embedder]:
    """uSIF and SIF over a, and uSIF over m; named "uSIF: a=0.001" and so on."""
    over_a = {f"uSIF: a={a:g}": words.usif_with(a) for a in values_of_a}
    sif = {f"SIF: a={a:g}": words.sif(a=a) for a in values_of_a}
    return over_a | sif | {f"uSIF: m={m}": words.usif(m=m) for m in counts}


def census(words: Words, sentences: Sequence[str]) -> dict[str, float]:
    """How often what the decisions are about occurs in some sentences.

    Returns
    -------
    dict of the number of sentences; words, the mean number of their tokens; how many have one_known word or
    none_known; the shares of all tokens that are unknown (no vector) and unlisted (a vector, but no probability); and
    zero_columns, how many have a dimension that is zero in all of their vectors
    """
    tokens = [words.tokenize(sentence) for sentence in sentences]
    known = [[token for token in some if token in words.vectors] for some in tokens]
    total, with_vector = sum(map(len, tokens)), sum(map(len, known))
    unlisted = sum(token not in words.probabilities for some in known for token in some)
    return {
        "sentences": len(tokens),
        "words": total / max(1, len(tokens)),
        "one_known": sum(len(some) == 1 for some in known),
        "none_known": sum(not some for some in known),
        "unknown": 1 - with_vector / max(1, total),
        "unlisted": unlisted / max(1, total),
        "zero_columns": sum(_has_zero_column(words, some) for some in known if some),
    }


def _has_zero_column(words: Words, known: list[str]) -> bool:
    return not np.array([words.vectors[word] for word in known]).any(axis=0).all()


class UnitVectors(Mapping[str, np.ndarray]):
    """Word vectors, each divided by its length; a vector of zeros stays."""

    def __init__(self, vectors: Mapping[str, np.ndarray]) -> None:
        self.vectors = vectors

    def __getitem__(self, word: str) -> np.ndarray:
        vector = self.vectors[word]
        return vector / (np.linalg.norm(vector) or 1)

    def __contains__(self, word: object) -> bool:
        return word in self.vectors

    def __iter__(self) -> Iterator[str]:
        return iter(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)
