"""Word probabilities: what counts as such, and what the random walk of uSIF makes of them (equations 10 and 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lib import catalog
from lib.corpora import text
from lib.run.errors import InputError
from lib.run.parameters import one_of

NAMES = ("wordfreq", "enwiki", "corpus")
RANKS = 10  # from so many words on, multiples 1, 2, 3 ... of one number are no accident


def named(given: str | Mapping[str, float] | None) -> Mapping[str, float] | None:
    """p(w) by the name of their source; None for those of the fitted text. A mapping is returned as it is."""
    if not isinstance(given, str):
        return given
    one_of("probabilities", given, NAMES)
    if given == "corpus":
        return None
    if given == "enwiki":
        return text.read_probabilities(catalog.file("frequencies/enwiki_vocab_min200.txt"))
    return text.word_probabilities()


def checked(name: str, probabilities: Mapping[str, float]) -> np.ndarray:
    """The numbers of a mapping word -> p(w), float64[|V|], in its order.

    Raises InputError, naming the embedder, for an empty mapping, ranks in the place of counts (gensim fills in
    N, N - 1 ... 1 where a file of vectors has no counts), and numbers that are not above 0 and at most 1.
    """
    if not probabilities:
        raise InputError(f"{name}: probabilities is empty; give a mapping from words to p(w)")
    values = np.fromiter(probabilities.values(), np.float64, len(probabilities))
    if _are_ranks(values):
        raise InputError(f"{name}: probabilities: are ranks, 1, 2, 3 ... times the smallest; give relative frequencies")
    wrong = np.flatnonzero(~((values > 0) & (values <= 1)))
    if len(wrong):
        word, value = list(probabilities)[wrong[0]], values[wrong[0]]
        raise InputError(f"{name}: probabilities: {word!r} has {value:g}; give numbers above 0 and at most 1")
    return values


def _are_ranks(values: np.ndarray) -> bool:
    """Whether numbers are 1, 2, 3 ... in some order, or, where there are many, these times any one number."""
    n, lowest = len(values), values.min()
    if lowest <= 0 or n < (2 if lowest == 1 else RANKS):
        return False
    return np.allclose(np.sort(values) / lowest, np.arange(1, n + 1), rtol=1e-6)


class RandomWalk(NamedTuple):
    """What uSIF derives of a vocabulary.

    Attributes
    ----------
    threshold : float
        The probability that a random word of the vocabulary is produced by a discourse vector at least once.
    alpha : float
        The share of the vocabulary that is more frequent than that, in [0, 1] (equation 11).
    partition : float
        Z, the sum of the similarities of all words to a discourse vector (equation 10).
    a : float
        (1 - alpha) / (alpha Z); infinite if alpha is 0.
    """

    threshold: float
    alpha: float
    partition: float
    a: float


def random_walk(probabilities: np.ndarray, n: float, similarity: float = 0.5) -> RandomWalk:
    """The quantities of uSIF's section 3.3.

    Parameters
    ----------
    probabilities : float[|V|]
        p(w) of every word of the vocabulary V.
    n : float
        Steps of the walk: the mean number of words of a sentence, above 0.
    similarity : float
        E[d(c, v_w)] over the vocabulary; 1/2 if word vectors lie evenly around the origin.
    """
    size = len(probabilities)
    threshold = 1 - (1 - 1 / size) ** n
    alpha = float(np.mean(probabilities > threshold))
    partition = size * similarity
    return RandomWalk(threshold, alpha, partition, (1 - alpha) / (alpha * partition) if alpha else np.inf)
