"""uSIF's random walk: likelihoods with a constant and with a varying Z, and how far estimates are from their maximum.

Equation (8) is p(w|c) = alpha p(w) + (1 - alpha) d(c, v_w) / Z(c), where Z(c) is the sum of d(c, v) over the
vocabulary V. With E(c) = Z(c) / |V| and a = (1 - alpha) / (alpha |V| / 2) that is alpha (p(w) + a d(c, v_w) / 2 E(c)).
The paper sets E(c) = 1/2 (Ethayarajh 2018, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import corpora, stats
from lib.corpora import text
from lib.embedders import word_probabilities
from lib.run.errors import InputError

SAME = 1e-9  # sines below it: the discourse vector lies on a word's direction, where the angle has a cusp

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Sentence(NamedTuple):
    """The words of a sentence that have a vector and a probability: float64[t, d] and float64[t]."""

    vectors: np.ndarray
    p: np.ndarray


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each row of float[n, d] divided by its length; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def degrees(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The angle between the same rows of two arrays, float64[n]."""
    cosines = (unit(left) * unit(right)).sum(axis=-1)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def sentences(
    texts: Sequence[str], vectors: Mapping, probabilities: Mapping, tokenize: Callable, count: int, seed: int
) -> list[Sentence]:
    """So many sentences, drawn from those with three known words or more.

    Raises InputError if there are fewer than ten.
    """
    found = []
    for i in np.random.default_rng(seed).permutation(len(texts)):
        words = [word for word in tokenize(texts[i]) if word in vectors and word in probabilities]
        if len(words) > 2:
            known = np.array([vectors[word] for word in words], np.float64)
            found.append(Sentence(known, np.array([probabilities[word] for word in words])))
        if len(found) == count:
            break
    if len(found) < 10:
        raise InputError(f"checked_sentences: {len(found)} have three known words; give another corpus")
    return found


def vocabulary(vectors: Mapping, probabilities: Mapping, count: int, seed: int) -> np.ndarray:
    """Vectors of so many words (or all), drawn evenly from those with a vector and a probability, float64[v, d]."""
    listed = list(probabilities)
    order = np.random.default_rng(seed).permutation(len(listed))
    drawn = [word for word in (listed[i] for i in order) if word in vectors][:count]
    return np.array([vectors[word] for word in drawn], np.float64)


# -- likelihoods --------------------------------------------------------------------------------


def angular(sentence: Sentence, a: float, words: np.ndarray | None = None) -> Objective:
    """log p(s|c) of equation (8), less its constant |s| log alpha, and the gradient on the unit sphere.

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
        From a unit vector c to the value and its gradient. The likelihood has a cusp at each word's direction: there
        the gradient is that of the other words.
    """
    own = unit(sentence.vectors)
    every = None if words is None else unit(words)

    def evaluate(c: np.ndarray) -> tuple[float, np.ndarray]:
        similarity, slope = _similarity(own @ c)
        mean, drift = 0.5, 0.0
        if every is not None:
            of_all, slopes = _similarity(every @ c)
            mean, drift = of_all.mean(), slopes @ every / len(every)
        scaled = a / (2 * mean)
        likelihood = sentence.p + scaled * similarity
        gradient = (slope / likelihood) @ own * scaled - (similarity / likelihood).sum() * scaled / mean * drift
        return float(np.log(likelihood).sum()), gradient

    return evaluate


def _similarity(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d = 1 - arccos(cos) / pi, and its derivative by the cosine (0 at the cusp)."""
    cosines = np.clip(cosines, -1, 1)
    sine = np.sqrt(1 - cosines**2)
    slope = np.divide(1 / np.pi, sine, out=np.zeros_like(sine), where=sine > SAME)
    return 1 - np.arccos(cosines) / np.pi, slope


def log_linear(sentence: Sentence, words: np.ndarray) -> Objective:
    """log p(s|c) of equation (1) with Z(c) over a vocabulary, float64[v, d], and its gradient, as `angular`."""
    total, count = sentence.vectors.sum(axis=0), len(sentence.vectors)

    def evaluate(c: np.ndarray) -> tuple[float, np.ndarray]:
        log_z, expected = log_partition(c, words)
        return float(total @ c - count * log_z), total - count * expected

    return evaluate


def log_partition(c: np.ndarray, words: np.ndarray) -> tuple[float, np.ndarray]:
    """log of the mean of exp<c, v> over float64[v, d], which is log Z(c) - log |V|, and its gradient by c."""
    inner = words @ c
    terms = np.exp(inner - inner.max())
    return float(np.log(terms.mean()) + inner.max()), terms @ words / terms.sum()


def maximum(objective: Objective, starts: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The unit vector of the greatest likelihood that is found, float64[d].

    Quasi-Newton steps from each of `starts`, float[k, d]; then the best of what they reach and of `candidates`, the
    words' own directions, where the likelihood has cusps.
    """
    from scipy.optimize import minimize

    def descend(c: np.ndarray) -> tuple[float, np.ndarray]:
        length = np.linalg.norm(c)
        value, gradient = objective(c / length)
        return -value, -(gradient - (gradient @ c) * c / length**2) / length

    found = [minimize(descend, start, jac=True, method="L-BFGS-B").x for start in unit(starts)]
    reached = unit(np.vstack([*found, starts, candidates]))
    return reached[np.argmax([objective(c)[0] for c in reached])]


# -- estimates ----------------------------------------------------------------------------------


def equation_9(sentence: Sentence, a: float, vectors: np.ndarray | None = None) -> np.ndarray:
    """The direction of equation (9): the sum of a / (p + a/2) times vector, as a unit vector, float64[d].

    `vectors`, float[t, d], stand for the sentence's own.
    """
    weights = a / (sentence.p + a / 2)
    return unit(weights @ (sentence.vectors if vectors is None else vectors))


def estimates(sentence: Sentence, a: float, center: np.ndarray) -> dict[str, np.ndarray]:
    """What may stand for the maximum, by name; `center` is the mean unit vector of the vocabulary, float[d]."""
    units = unit(sentence.vectors)
    return {
        "equation (9)": equation_9(sentence, a),
        "plain mean": unit(sentence.vectors.sum(axis=0)),
        "(9), unit vectors": equation_9(sentence, a, units),
        "(9), centered unit vectors": equation_9(sentence, a, units - center),
    }


def sif_gap(sentence: Sentence, words: np.ndarray) -> float:
    """The angle in degrees of a sentence's mean with its likeliest unit vector under (1), Z(c) over a vocabulary."""
    average = unit(sentence.vectors.sum(axis=0))
    top = maximum(log_linear(sentence, words), average[None], unit(sentence.vectors))
    return float(degrees(top, average))


def maxima(sentence: Sentence, a: float, words: np.ndarray) -> dict[str, np.ndarray]:
    """The likeliest unit vectors of a sentence under equation (8), Z constant and Z(c) over the vocabulary."""
    found = estimates(sentence, a, unit(words).mean(axis=0))
    starts = np.array([found["equation (9)"], found["(9), centered unit vectors"]])
    versions = {"Z constant": angular(sentence, a), "Z(c)": angular(sentence, a, words)}
    return {name: maximum(objective, starts, unit(sentence.vectors)) for name, objective in versions.items()}


# -- the confound of length, frequencies ----------------------------------------------------------


def natural(some: Sequence[Sentence], words: np.ndarray) -> pd.DataFrame:
    """What the likelihood of natural sentences goes with (section 3.2); a row for each of `some`.

    Returns
    -------
    DataFrame
        length (mean norm of the word vectors); coherence (mean cosine of two of them); and log p(s|c) a word, Z(c) over
        a vocabulary, float64[v, d]: of the log-linear model with c the mean, without and with Z(c), and c the mean's
        direction; of the angular model.
    """
    rows = []
    units = unit(words)
    for vectors, _ in some:
        c, own, count = vectors.mean(axis=0), unit(vectors), len(vectors)
        row = {"length": np.linalg.norm(vectors, axis=1).mean()}
        row["coherence"] = ((own.sum(axis=0) ** 2).sum() - count) / (count * (count - 1))
        row["c the mean, no Z"] = c @ c
        row["c the mean, Z(c)"] = c @ c - log_partition(c, words)[0]
        row["c of length 1, Z(c)"] = unit(c) @ c - log_partition(unit(c), words)[0]
        similarity, of_all = (_similarity(each @ unit(c))[0] for each in (own, units))
        row["angular model, Z(c)"] = np.log(similarity).mean() - np.log(of_all.mean())
        rows.append(row)
    return pd.DataFrame(rows)


def partial_spearman(x: np.ndarray, y: np.ndarray, fixed: np.ndarray) -> float:
    """Spearman's correlation of x and y with a third column held fixed, float[n] each."""
    xy, xf, yf = stats.spearman(x, y), stats.spearman(x, fixed), stats.spearman(y, fixed)
    return (xy - xf * yf) / np.sqrt((1 - xf**2) * (1 - yf**2))


def unevenness(changed: np.ndarray, raw: np.ndarray) -> float:
    """How much less even the variances of the dimensions become: log ratio of their coefficients of variation.

    Both are float[words, d]; above 0 the change makes the variances less even.
    """
    after, before = changed.var(axis=0), raw.var(axis=0)
    return float(np.log(after.std() / after.mean()) - np.log(before.std() / before.mean()))


def beyond_the_fifth(rows: np.ndarray) -> float:
    """The share of the squared singular values of float[n, d] beyond the five largest."""
    squares = np.linalg.eigvalsh(rows.T @ rows)
    return float(squares[:-5].sum() / squares.sum())


def frequencies(name: str) -> Mapping[str, float]:
    """p(w) by the name of a list, "wordfreq" or "enwiki" (the paper's), or of a corpus: its own words, lower case."""
    if name in ("wordfreq", "enwiki"):
        return word_probabilities.named(name)
    return text.relative_frequencies(corpora.load(name).sentences, text.lower_words)
