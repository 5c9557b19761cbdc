"""How far the estimate of equation (9) is from the maximum of the likelihood that it stands for, in real sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.usif_derivation.likelihood import angles, estimate, maximum_likelihood, sentence_log_probability

Sentence = tuple[np.ndarray, np.ndarray]  # vectors of its words, float64[t, d], and their p(w), float64[t]
Estimate = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def _of_unit_vectors(words: np.ndarray, p: np.ndarray, a: float) -> np.ndarray:
    lengths = np.linalg.norm(words, axis=1, keepdims=True)
    return estimate(words / np.where(lengths > 0, lengths, 1), p, a)


ESTIMATES: dict[str, Estimate] = {
    "equation (9)": estimate,
    "equation (9), vectors of length 1": _of_unit_vectors,
    "plain mean": lambda words, p, a: estimate(words, np.zeros(len(p)), a),
}


def compare(
    sentences: Sequence[Sentence], a: float, rng: np.random.Generator, repetitions: int, confidence: float
) -> pd.DataFrame:
    """How far each of `ESTIMATES` is from the exact maximum, averaged over sentences.

    Parameters
    ----------
    sentences : of each the vectors float[t, d] and the probabilities float[t] of its words
    a : float, of the model
    rng, repetitions, confidence : as for `lib.stats.bootstrap_mean`

    Returns
    -------
    DataFrame with columns estimate; degrees, the angle between both; lost, by how much the log-likelihood a word falls
    short of its maximum (0 or more); each of the two followed by its interval over sentences (_low, _high)
    """
    measured = np.array([_measure(words, p, a) for words, p in sentences])  # (sentences, estimates, 2)
    bounds = stats.bootstrap_mean(measured.reshape(len(measured), -1), rng, None, None, repetitions, confidence)
    low, high = (bound.reshape(len(ESTIMATES), 2) for bound in bounds)
    columns: dict[str, object] = {"estimate": list(ESTIMATES)}
    for i, name in enumerate(("degrees", "lost")):
        columns |= {name: measured[:, :, i].mean(axis=0), f"{name}_low": low[:, i], f"{name}_high": high[:, i]}
    return pd.DataFrame(columns)


def _measure(words: np.ndarray, p: np.ndarray, a: float) -> list[tuple[float, float]]:
    best = maximum_likelihood(words, p, a)
    top = sentence_log_probability(best, words, p, a)
    found = [find(words, p, a) for find in ESTIMATES.values()]
    lost = [(top - sentence_log_probability(direction, words, p, a)) / len(p) for direction in found]
    return [(_degrees(direction, best), short) for direction, short in zip(found, lost, strict=True)]


def stretched(sentences: Sequence[Sentence], a: float, factor: float) -> dict[str, float]:
    """By how many degrees an estimate turns if the vector of a sentence's rarest word becomes `factor` times as long.

    The mean over sentences, for "equation (9)" and "the exact maximum".
    """
    turned = {"equation (9)": estimate, "the exact maximum": maximum_likelihood}
    return {
        name: float(np.mean([_turn(find, *some, a, factor) for some in sentences])) for name, find in turned.items()
    }


def _turn(find: Estimate, words: np.ndarray, p: np.ndarray, a: float, factor: float) -> float:
    longer = words.copy()
    longer[np.argmin(p)] *= factor
    return _degrees(find(words, p, a), find(longer, p, a))


def _degrees(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.degrees(angles(left, right)[0, 0]))
