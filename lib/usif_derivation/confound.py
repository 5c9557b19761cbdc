"""Vector length as a confound of the log-linear random walk (section 3.2).

Sentence g is two words x and y, sentence h is the word z twice. A good model finds h likelier than g, for its words are
alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.usif_derivation.likelihood import similarities


def family(k: Sequence[float], sigma: float, beta: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The word vectors x, y and z of equation (5), float64[d] each.

    z is `k`; x has its first half of the dimensions times sigma and its second half times 1 - sigma, y the other way
    round, both times beta. In the plane that is equation (5) itself; beta = 2 and sigma = 1 are equation (4).

    Parameters
    ----------
    k : float[d], d even
    sigma : float in [0, 1]; at 0 and 1 x and y are orthogonal, at 1/2 they are the same
    beta : float, the length of x + y in units of z; the paper takes 2 or more

    Raises InputError for an odd number of dimensions, or a sigma out of its range.
    """
    z = np.asarray(k, np.float64)
    if z.ndim != 1 or not z.size or z.size % 2:
        raise InputError(f"k: shape {z.shape} is not accepted; give one list of an even number of components")
    if not 0 <= sigma <= 1:
        raise InputError(f"sigma: {sigma!r} is not accepted; give 0 to 1")
    share = np.repeat([sigma, 1 - sigma], z.size // 2)
    return beta * share * z, beta * (1 - share) * z, z


def log_linear(words: np.ndarray) -> float:
    """log p(s | c_s) of a sentence under equation (1), without the constant log Z of each word.

    `words` is float[t, d], the vectors of the sentence's words, of one weight; c_s is their mean. Not bounded.
    """
    discourse = words.mean(axis=0)
    return float((words @ discourse).sum())


def angular(words: np.ndarray) -> float:
    """log p(s | c_s) of a sentence under equation (7), without the constant log Z; at most 0.

    `words` is float[t, d], as for `log_linear`.
    """
    return float(np.log(similarities(words.mean(axis=0, keepdims=True), words)).sum())


MODELS: dict[str, Callable[[np.ndarray], float]] = {"log-linear": log_linear, "angular": angular}


def advantage(x: np.ndarray, y: np.ndarray, z: np.ndarray, model: str) -> float:
    """log p(g | c_g) - log p(h | c_h) under a model of `MODELS`; above 0 the wrong sentence is likelier."""
    likelihood = MODELS[one_of("model", model, MODELS)]
    return likelihood(np.stack([x, y])) - likelihood(np.stack([z, z]))


def surface(betas: Sequence[float], sigmas: Sequence[float], model: str, k: Sequence[float] = (1, 1)) -> pd.DataFrame:
    """`advantage` over the family of equation (5): rows beta, columns sigma."""
    values = [[advantage(*family(k, sigma, beta), model) for sigma in sigmas] for beta in betas]
    return pd.DataFrame(values, index=pd.Index(betas, name="beta"), columns=pd.Index(sigmas, name="sigma"))


def of_sentences(sentences: Sequence[np.ndarray]) -> pd.DataFrame:
    """What the likelihood of natural sentences goes with: a row a sentence.

    Parameters
    ----------
    sentences : float[t, d] each, the vectors of a sentence's words, two or more

    Returns
    -------
    DataFrame with columns log-linear and angular (log p(s | c_s) a word), length (the mean L2 norm of the words'
    vectors) and coherence (the mean cosine of two of its words)
    """
    return pd.DataFrame([_described(np.asarray(words, np.float64)) for words in sentences])


def _described(words: np.ndarray) -> dict[str, float]:
    lengths, t = np.linalg.norm(words, axis=1), len(words)
    units = words / np.where(lengths > 0, lengths, 1)[:, None]
    pairs = (np.square(units.sum(axis=0)).sum() - np.square(units).sum()) / (t * (t - 1))
    likelihoods = {name: model(words) / t for name, model in MODELS.items()}
    return likelihoods | {"length": lengths.mean(), "coherence": pairs}


def effects(described: pd.DataFrame, rng: np.random.Generator, repetitions: int, confidence: float) -> pd.DataFrame:
    """What the likelihood of natural sentences goes with, and whether vector length has a part of its own in it.

    Parameters
    ----------
    described : from `of_sentences`

    Returns
    -------
    DataFrame with a row for each model and the columns model; length and coherence, Spearman's correlations of the
    likelihood with them; own_length, the partial correlation with length, coherence held fixed (0 if coherence leaves
    nothing to explain); each of the three followed by its bootstrap interval over sentences (_low, _high)
    """
    places = np.vstack([np.arange(len(described)), rng.integers(len(described), size=(repetitions, len(described)))])
    rows = []
    for model in MODELS:
        columns = described[[model, "length", "coherence"]].to_numpy().T
        with_length, with_coherence, both = _correlations(columns[:, places].swapaxes(0, 1))
        left = np.sqrt((1 - with_coherence**2) * (1 - both**2))
        partial = np.divide(with_length - with_coherence * both, left, out=np.zeros_like(left), where=left > 1e-12)
        row: dict[str, object] = {"model": model}
        for name, values in (("length", with_length), ("coherence", with_coherence), ("own_length", partial)):
            low, high = stats.percentiles(values[1:], confidence)
            row |= {name: values[0], f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)


def _correlations(rows: np.ndarray) -> np.ndarray:
    """Spearman's correlations of the first two, of the first and third, and of the last two of float[r, 3, n] rows."""
    matrix = stats.spearman_matrix(rows)
    return np.stack([matrix[:, 0, 1], matrix[:, 0, 2], matrix[:, 1, 2]])
