"""The partition function Z and the mean similarity E[d] (equation 10): on the sphere, and for real vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib.run.parameters import one_of
from lib.usif_derivation.likelihood import angles, similarities

BLOCK = 4_000_000  # similarities in memory at a time


def on_the_sphere(dims: Sequence[int], words: int, discourses: int, rng: np.random.Generator) -> pd.DataFrame:
    """Monte Carlo of E[d] and Z: word and discourse vectors drawn evenly from the unit sphere.

    Returns
    -------
    DataFrame with a row for each of `dims` and the columns dim; mean, of d over all pairs (the paper: 1/2); error,
    the standard error of that mean, over discourse vectors; spread, the standard deviation of d; z_spread, that of
    Z / |V| over discourse vectors, and of_chance, what independent words would give: spread / sqrt(words)
    """
    rows = []
    for dim in dims:
        d = similarities(rng.normal(size=(discourses, dim)), rng.normal(size=(words, dim)))
        ratios = d.mean(axis=1)
        spread = ratios.std(ddof=1)
        rows.append((dim, d.mean(), spread / discourses**0.5, d.std(), spread, d.std() / words**0.5))
    return pd.DataFrame(rows, columns=["dim", "mean", "error", "spread", "z_spread", "of_chance"])


def _log_linear(discourses: np.ndarray, words: np.ndarray) -> np.ndarray:
    units = discourses / np.linalg.norm(discourses, axis=1, keepdims=True)
    return np.exp(units @ words.T)


# What is summed over the vocabulary under each model; a discourse vector has length 1.
TERMS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "angular": similarities,
    "exponentiated cosine": lambda discourses, words: np.exp(np.cos(angles(discourses, words))),
    "log-linear": _log_linear,
}


def ratios(discourses: np.ndarray, words: np.ndarray, model: str = "angular") -> np.ndarray:
    """Z / |V| for each discourse vector: the mean over the vocabulary of what a model sums.

    Parameters
    ----------
    discourses : float[m, d], none of them zero
    words : float[|V|, d]
    model : "angular" (d, equation 8), "exponentiated cosine" or "log-linear" (equation 1)

    Returns
    -------
    float64[m]; for "angular" in [0, 1], 1/2 where the paper's assumption holds
    """
    term = TERMS[one_of("model", model, TERMS)]
    discourses = np.asarray(discourses, np.float64)
    total = np.zeros(len(discourses))
    for block in _blocks(words, len(discourses)):
        total += term(discourses, block).sum(axis=1)
    return total / len(words)


def table(discourses: Mapping[str, np.ndarray], words: np.ndarray) -> pd.DataFrame:
    """`ratios` of several kinds of discourse vectors under each model.

    Returns
    -------
    DataFrame with columns discourse, model, z_over_v (the mean), q05 and q95 (quantiles over discourse vectors), and
    variation, standard deviation over mean: 0 if Z is the same for all
    """
    rows = []
    for name, vectors in discourses.items():
        for model in TERMS:
            found = ratios(vectors, words, model)
            rows.append((name, model, found.mean(), *np.quantile(found, [0.05, 0.95]), found.std() / found.mean()))
    return pd.DataFrame(rows, columns=["discourse", "model", "z_over_v", "q05", "q95", "variation"])


def exponentiated_cosine(dim: int) -> float:
    """E[exp(cos)] of vectors drawn evenly from the sphere: 0F1(dim/2; 1/4), which falls to 1 as `dim` grows."""
    from scipy.special import hyp0f1

    return float(hyp0f1(dim / 2, 0.25))


def produced(discourses: np.ndarray, words: np.ndarray, n: int) -> tuple[float, float]:
    """How likely a random word is produced at least once in n steps: for real vectors, and as the paper has it.

    Returns
    -------
    real : the mean over words and discourse vectors of 1 - (1 - d / Z)**n, the discourse vector standing still
    paper : 1 - (1 - 1/|V|)**n
    """
    discourses = np.asarray(discourses, np.float64)
    partition = ratios(discourses, words)[:, None] * len(words)
    total = 0.0
    for block in _blocks(words, len(discourses)):
        total += -np.expm1(n * np.log1p(-similarities(discourses, block) / partition)).sum()
    return total / (len(words) * len(discourses)), -np.expm1(n * np.log1p(-1 / len(words)))


def angle_density(discourses: np.ndarray, words: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The density of the angles between discourse and word vectors in the bins between `edges`, float64[bins]."""
    counts = np.zeros(len(edges) - 1)
    for block in _blocks(words, len(discourses)):
        counts += np.histogram(angles(discourses, block), edges)[0]
    return counts / (counts.sum() * np.diff(edges))


def sphere_density(theta: np.ndarray, dim: int) -> np.ndarray:
    """The density of the angle between two directions drawn evenly from the sphere: sin(theta)**(dim - 2), scaled."""
    from scipy.special import gammaln

    scale = np.exp(gammaln(dim / 2) - gammaln((dim - 1) / 2)) / np.pi**0.5
    return scale * np.sin(theta) ** (dim - 2)


def _blocks(words: np.ndarray, rows: int) -> list[np.ndarray]:
    size = max(1, BLOCK // max(rows, 1))
    return [words[start : start + size] for start in range(0, len(words), size)]
