r"""The angular random walk: similarity, likelihood, gradient, Taylor expansion, and the exact maximum (section 3.3).

With Z constant and a = (1 - alpha) / (alpha Z), equation (8) is p(w | c) = alpha (p(w) + a d(c, v_w)): besides a
constant, the likelihood of a sentence depends on `a` and the words alone.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lib.run.errors import InputError


def angles(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """float64[m, n]: the angle between each row of float[m, d] and each of float[n, d], in [0, pi].

    Twice the arctangent of |u - v| / |u + v| for unit vectors u and v, which small angles survive. A vector of zeros
    is at pi / 2 to everything.
    """
    left, right = _units(left), _units(right)
    zero = ~left.any(axis=1)[:, None] | ~right.any(axis=1)[None]
    cosines = left @ right.T
    found = np.arccos(np.clip(cosines, -1, 1))
    i, j = np.nonzero((np.abs(cosines) > 0.99) & ~zero)  # where the arccosine loses half of the digits
    apart, along = (np.linalg.norm(left[i] + sign * right[j], axis=1) for sign in (-1, 1))
    found[i, j] = 2 * np.arctan2(apart, along)
    found[zero] = np.pi / 2
    return found


def similarities(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """float64[m, n]: d(c, v) = 1 - angle / pi (equation 8), in [0, 1]; 1 for one direction, 1/2 for orthogonal ones."""
    return 1 - angles(left, right) / np.pi


def _units(vectors: np.ndarray) -> np.ndarray:
    vectors = np.atleast_2d(np.asarray(vectors, np.float64))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def cosine_gradient(discourse: np.ndarray, word: np.ndarray) -> np.ndarray:
    """The gradient of cos(v_w, c) by c, float64[d]: v_w / (|v_w| |c|) - cos c / |c|**2. It is orthogonal to c."""
    c, v = np.asarray(discourse, np.float64), np.asarray(word, np.float64)
    lengths = np.linalg.norm(c) * np.linalg.norm(v)
    return v / lengths - (c @ v / lengths) * c / (c @ c)


def log_probability(discourse: np.ndarray, word: np.ndarray, p: float, alpha: float, partition: float) -> float:
    """f_w(c) = log p(w | c) of equation (8), for c and v_w float[d]."""
    d = similarities(discourse, word)[0, 0]
    return float(np.log(alpha * p + (1 - alpha) * d / partition))


def gradient(discourse: np.ndarray, word: np.ndarray, p: float, alpha: float, partition: float) -> np.ndarray:
    """The gradient of f_w by c, float64[d], as the paper states it; InputError where c and v_w are parallel."""
    c, v = np.asarray(discourse, np.float64), np.asarray(word, np.float64)
    sine = np.sin(angles(c, v)[0, 0])
    if sine < 1e-12:
        raise InputError("discourse: parallel to the word's vector, where the angle has no gradient; give another")
    probability = np.exp(log_probability(c, v, p, alpha, partition))
    return (1 - alpha) / (np.pi * partition * probability * sine) * cosine_gradient(c, v)


def orthogonal(word: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """v'_w, a point of expansion: a random vector orthogonal to v_w, of length 1 / |v_w|, float64[d]."""
    v = np.asarray(word, np.float64)
    drawn = rng.normal(size=v.shape)
    drawn -= (drawn @ v) / (v @ v) * v
    return drawn / (np.linalg.norm(drawn) * np.linalg.norm(v))


def weight(p: ArrayLike, a: float) -> np.ndarray:
    """The weight of a word in equation (9), a / (p(w) + a/2): at most 2, falling with p(w)."""
    return a / (np.asarray(p, np.float64) + a / 2)


def expansion(theta: np.ndarray, p: float, a: float) -> pd.DataFrame:
    """f_w at an angle theta from v_w, less its value at a right angle, and the Taylor polynomial of first degree there.

    Parameters
    ----------
    theta : float[n] in [0, pi]
    p : float, the probability of the word
    a : float, of the model

    Returns
    -------
    DataFrame with columns exact, linear and error (linear - exact), indexed by theta. `exact` is log((p + a d) /
    (p + a/2)), -infinity at theta = pi if p = 0; `linear` is weight / pi times cos(theta), for a discourse vector as
    long as the point of expansion, 1 / |v_w|.
    """
    theta = np.asarray(theta, np.float64)
    with np.errstate(divide="ignore"):
        exact = np.log((p + a * (1 - theta / np.pi)) / (p + a / 2))
    linear = weight(p, a) / np.pi * np.cos(theta)
    return pd.DataFrame(
        {"exact": exact, "linear": linear, "error": linear - exact}, index=pd.Index(theta, name="angle")
    )


def estimate(words: np.ndarray, p: np.ndarray, a: float) -> np.ndarray:
    """The direction of equation (9), float64[d] of length 1: the mean of weight times vector.

    `words` is float[t, d], the vectors of the sentence's words, `p` float[t] their probabilities.
    """
    return _units(weight(p, a) @ np.asarray(words, np.float64))[0]


def sentence_log_probability(discourse: np.ndarray, words: np.ndarray, p: np.ndarray, a: float) -> float:
    """log p(s | c) less its constant |s| log alpha: the sum over the words of log(p(w) + a d(c, v_w))."""
    return float(np.log(p + a * similarities(discourse, words)[0]).sum())


def maximum_likelihood(words: np.ndarray, p: np.ndarray, a: float) -> np.ndarray:
    """The direction c that maximizes the likelihood of a sentence, without any expansion; float64[d] of length 1.

    The likelihood depends on directions alone, and has a cusp at each word's: the maximum is a weighted spherical
    median rather than a mean, and may be a word itself. Found by quasi-Newton steps from equation (9)'s direction and
    from the mean of the unit vectors, beside the words' own directions.

    Parameters
    ----------
    words : float[t, d], the vectors of the sentence's words
    p : float[t], their probabilities
    a : float, of the model
    """
    from scipy.optimize import minimize

    units, p = _units(words), np.asarray(p, np.float64)

    def descend(start: np.ndarray) -> np.ndarray:
        return minimize(_negative, start, (units, p, a), method="L-BFGS-B", jac=True).x

    found = [descend(start) for start in (estimate(words, p, a), estimate(units, p, a))]
    candidates = _units(np.vstack([*found, units]))
    likelihoods = np.log(p + a * similarities(candidates, units)).sum(axis=1)
    return candidates[int(np.argmax(likelihoods))]


def _negative(c: np.ndarray, units: np.ndarray, p: np.ndarray, a: float) -> tuple[float, np.ndarray]:
    """Minus the log-likelihood at c, and its gradient; at a cusp the gradient without the word that is there."""
    length = np.linalg.norm(c)
    theta = angles(c, units)[0]
    likelihood = p + a * (1 - theta / np.pi)
    sine = np.sin(theta)
    slope = np.divide(a / np.pi / likelihood, sine, out=np.zeros_like(sine), where=sine > 1e-9)
    by_c = (slope @ units - (slope @ np.cos(theta)) * c / length) / length
    return -float(np.log(likelihood).sum()), -by_c
