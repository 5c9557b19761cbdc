"""Why normalization matters: how embeddings lie around their mean, and in which directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib import stats
from lib.embedders.base import Embeddings
from lib.neighbors.contract import unit
from lib.run.parameters import in_range
from lib.similarity.features import column_statistics, standardized

FEWEST = 4  # embedders that a correlation over embedders is computed of


class Spectrum(NamedTuple):
    """How the embeddings of n texts are spread.

    Attributes
    ----------
    mean_share : float in [0, 1], the squared length of the mean vector over the mean squared length: what all share
    shares : float64[min(n, d)], each principal component's share of the variance around the mean, falling, sum 1
    """

    mean_share: float
    shares: np.ndarray

    @property
    def effective(self) -> float:
        """The effective number of dimensions, 1 over the sum of squared shares: d if all of d carry the same."""
        return float(1 / (self.shares**2).sum())


def spectrum(vectors: Embeddings) -> Spectrum:
    """The spectrum of float[n, d] or CSR; rows and columns of zeros are fine, two rows or more must differ."""
    rows = _dense(vectors)
    mean = rows.mean(axis=0)
    centered = rows - mean
    # The smaller of the two products has all eigenvalues that are not 0.
    product = centered.T @ centered if centered.shape[1] <= len(rows) else centered @ centered.T
    values = np.clip(np.linalg.eigvalsh(product)[::-1], 0, None)
    return Spectrum(float(mean @ mean / (rows**2).sum(axis=1).mean()), values / values.sum())


def unit_rows(vectors: Embeddings, normalize: str | None = None) -> np.ndarray:
    """float64[n, d] of length 1, as they are or ("z") after each column got mean 0 and standard deviation 1."""
    rows = _dense(vectors)
    return unit(standardized(rows, column_statistics(rows)) if normalize == "z" else rows)


def mean_cosine(units: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The mean cosine of two different rows, over all pairs of them; float64[r] for weights float[r, n], else [1].

    (|sum of rows|^2 - sum of |row|^2) / (n (n - 1)): no pair needs to be drawn. Under weights (how often a resample
    has each row) copies of one row are no pair.
    """
    weights = np.ones((1, len(units))) if weights is None else weights
    sums = weights @ units
    same = weights**2
    total = weights.sum(axis=1) ** 2 - same.sum(axis=1)
    return ((sums**2).sum(axis=1) - same @ (units**2).sum(axis=1)) / total


def _dense(vectors: Embeddings) -> np.ndarray:
    if sp.issparse(vectors):
        used = np.unique(vectors.indices)  # a column that no row has adds nothing to any of this
        return vectors[:, used].toarray().astype(np.float64)
    return np.asarray(vectors, dtype=np.float64)


def summary(
    embeddings: Mapping[str, Embeddings], rng: np.random.Generator, repetitions: int = 1000, confidence: float = 0.95
) -> pd.DataFrame:
    """One row for each embedder; intervals are over texts, drawn anew once for all embedders.

    Parameters
    ----------
    embeddings : by embedder, float[n, d] or CSR, of the same n texts

    Returns
    -------
    DataFrame with columns embedder, dimensions, mean_share, first (share of the variance of the first component), ten
    (of the first ten), effective; raw, raw_low, raw_high, z, z_low, z_high (mean cosine of two texts)
    """
    count = next(iter(embeddings.values())).shape[0]
    draws = rng.multinomial(count, np.full(count, 1 / count), repetitions).astype(np.float64)
    rows = []
    for name, vectors in embeddings.items():
        found = spectrum(vectors)
        row = {"embedder": name, "dimensions": vectors.shape[1], "mean_share": found.mean_share}
        row |= {"first": found.shares[0], "ten": found.shares[:10].sum(), "effective": found.effective}
        for column, normalize in (("raw", None), ("z", "z")):
            units = unit_rows(vectors, normalize)
            low, high = stats.percentiles(mean_cosine(units, draws), confidence)
            row |= {column: float(mean_cosine(units)[0]), f"{column}_low": low, f"{column}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)


def against_gain(
    gains: pd.Series,
    summary: pd.DataFrame,
    columns: Sequence[str],
    rng: np.random.Generator,
    repetitions: int = 1000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Spearman's correlation over embedders of the gain by normalizing with columns of `summary`.

    The interval draws embedders; those that share word vectors are not independent, so that it is too narrow.

    Returns
    -------
    DataFrame with columns property, embedders, rho, low, high

    Raises InputError for fewer than `FEWEST` embedders.
    """
    in_range("embedders", len(gains), FEWEST, 10**6, "that have something to say of the pairs")
    of = summary.set_index("embedder").loc[gains.index]
    rows = []
    for column in columns:
        found = stats.bootstrap_spearman(of[column].to_numpy(), gains.to_numpy(), rng, None, repetitions, confidence)
        rows.append((column, len(gains), *found))
    return pd.DataFrame(rows, columns=["property", "embedders", "rho", "low", "high"])
