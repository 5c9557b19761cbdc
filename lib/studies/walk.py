"""uSIF's random walk: its likelihoods, and how far estimates are from their maximum.

Equation (8) is p(w|c) = alpha p(w) + (1 - alpha) d(c, v_w) / Z(c), where Z(c) is the
sum of d(c, v) over the vocabulary V. With E(c) = Z(c) / |V| and
a = (1 - alpha) / (alpha |V| / 2) that is alpha (p(w) + a d(c, v_w) / 2 E(c)). The paper
sets E(c) = 1/2 (Ethayarajh 2018, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from lib import corpora
from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.composition import named_probabilities

# Sines below it: the discourse vector lies on a word's direction, where the angle has a
# cusp.
SAME = 1e-9

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Sentence(NamedTuple):
    """The words of a sentence that have a vector and a probability.

    float64[t, d] and float64[t].
    """

    vectors: np.ndarray
    p: np.ndarray


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each row of float[n, d] divided by its length; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths


def degrees(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The angle between the same rows of two arrays, float64[n]."""
    cosines = (unit(left) * unit(right)).sum(axis=-1)
    angles = np.arccos(np.clip(cosines, -1, 1))
    return np.degrees(angles)


def sentences(
    texts: Sequence[str],
    vectors: Mapping,
    probabilities: Mapping,
    tokenize: Callable,
    count: int,
    seed: int,
) -> list[Sentence]:
    """`count` sentences, drawn from those with three known words or more.

    Raises InputError if there are fewer than ten.
    """
    drawn = []
    for row in np.random.default_rng(seed).permutation(len(texts)):
        tokens = tokenize(texts[row])
        words = [word for word in tokens if word in vectors and word in probabilities]
        if len(words) > 2:
            word_vectors = np.array([vectors[word] for word in words], np.float64)
            drawn.append(
                Sentence(
                    word_vectors, np.array([probabilities[word] for word in words])
                )
            )
        if len(drawn) == count:
            break
    if len(drawn) < 10:
        raise InputError(
            f"checked_sentences: {len(drawn)} have three known words; "
            "give a corpus in which at least ten do"
        )
    return drawn


def vocabulary(
    vectors: Mapping, probabilities: Mapping, count: int, seed: int
) -> np.ndarray:
    """Vectors of `count` words (or all), drawn evenly, float64[v, d].

    They are drawn from the words with a vector and a probability.
    """
    words = list(probabilities)
    order = np.random.default_rng(seed).permutation(len(words))
    shuffled = [words[row] for row in order]
    known = (vectors[word] for word in shuffled if word in vectors)
    return np.array(list(islice(known, count)), np.float64)


# -- likelihoods -----------------------------------------------------------------------


def angular(sentence: Sentence, a: float, words: np.ndarray | None = None) -> Objective:
    """log p(s|c) of equation (8), and the gradient on the unit sphere.

    The constant |s| log alpha is left out.

    Parameters
    ----------
    sentence : Sentence
    a : float
        (1 - alpha) / (alpha |V| / 2).
    words : float64[v, d], optional
        Vectors of the vocabulary, for Z(c); without them Z = |V| / 2.

    Returns
    -------
    callable
        From a unit vector c to the value and its gradient. The likelihood has a cusp at
        each word's direction: there the gradient is that of the other words.
    """
    own = unit(sentence.vectors)
    listed = None if words is None else unit(words)

    def log_likelihood(c: np.ndarray) -> tuple[float, np.ndarray]:
        similarity, slope = _similarity(own @ c)
        mean = 0.5
        drift = 0.0  # of the mean, by c
        if listed is not None:
            similarities, slopes = _similarity(listed @ c)
            mean = similarities.mean()
            drift = slopes @ listed / len(listed)
        scale = a / (2 * mean)
        likelihood = sentence.p + scale * similarity
        by_similarity = (slope / likelihood) @ own * scale
        by_mean = (similarity / likelihood).sum() * scale / mean * drift
        return float(np.log(likelihood).sum()), by_similarity - by_mean

    return log_likelihood


def _similarity(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d = 1 - arccos(cos) / pi, and its derivative by the cosine (0 at the cusp)."""
    cosines = np.clip(cosines, -1, 1)
    angles = np.arccos(cosines)
    sines = np.sqrt(1 - cosines**2)
    slopes = np.zeros_like(sines)
    np.divide(1 / np.pi, sines, out=slopes, where=sines > SAME)
    return 1 - angles / np.pi, slopes


def log_partition(c: np.ndarray, words: np.ndarray) -> tuple[float, np.ndarray]:
    """log Z(c) - log |V|, and its gradient by c.

    This is the log of the mean of exp<c, v> over float64[v, d].
    """
    inner = words @ c
    log_mean = logsumexp(inner) - np.log(len(words))
    return log_mean, softmax(inner) @ words


def maximum(
    objective: Objective, starts: np.ndarray, candidates: np.ndarray
) -> np.ndarray:
    """The unit vector of the greatest likelihood that is found, float64[d].

    Quasi-Newton steps from each of `starts`, float[k, d]; then the best of what they
    reach and of `candidates`, the words' own directions, where the likelihood has
    cusps.
    """
    from scipy.optimize import minimize

    def descend(c: np.ndarray) -> tuple[float, np.ndarray]:
        length = np.linalg.norm(c)
        value, gradient = objective(c / length)
        return -value, -(gradient - (gradient @ c) * c / length**2) / length

    ends = [
        minimize(descend, start, jac=True, method="L-BFGS-B").x
        for start in unit(starts)
    ]
    directions = unit(np.vstack([*ends, starts, candidates]))
    values = [objective(c)[0] for c in directions]
    return directions[np.argmax(values)]


# -- estimates -------------------------------------------------------------------------


def equation_9(sentence: Sentence, a: float) -> np.ndarray:
    """The direction of equation (9), a unit vector, float64[d].

    The sum of a / (p + a/2) times vector.
    """
    weights = a / (sentence.p + a / 2)
    return unit(weights @ sentence.vectors)


def estimates(
    sentence: Sentence, a: float, center: np.ndarray
) -> dict[str, np.ndarray]:
    """Unit vectors that may approximate the maximum, float64[d], by name.

    `center` is the mean unit vector of the vocabulary, float[d].
    """
    units = unit(sentence.vectors)
    normalized = sentence._replace(vectors=units)
    centered = sentence._replace(vectors=units - center)
    return {
        "equation (9)": equation_9(sentence, a),
        "plain mean": unit(sentence.vectors.sum(axis=0)),
        "(9), unit vectors": equation_9(normalized, a),
        "(9), centered unit vectors": equation_9(centered, a),
    }


def maxima(sentence: Sentence, a: float, words: np.ndarray) -> dict[str, np.ndarray]:
    """The likeliest unit vectors of a sentence under equation (8).

    With Z constant, and with Z(c) over the vocabulary.
    """
    by_name = estimates(sentence, a, unit(words).mean(axis=0))
    starts = np.array([by_name["equation (9)"], by_name["(9), centered unit vectors"]])
    own = unit(sentence.vectors)
    constant = angular(sentence, a)
    variable = angular(sentence, a, words)
    return {
        "Z constant": maximum(constant, starts, own),
        "Z(c)": maximum(variable, starts, own),
    }


# -- frequencies -----------------------------------------------------------------------


def frequencies(name: str) -> Mapping[str, float]:
    """p(w) by the name of a list or of a corpus.

    Lists are "wordfreq" and "enwiki" (the paper's); of a corpus, its own words in lower
    case.
    """
    if name in ("wordfreq", "enwiki"):
        return named_probabilities(name)  # type: ignore[return-value]
    return text.relative_frequencies(corpora.load(name).sentences, text.lower_words)
