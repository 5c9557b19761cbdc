"""Columns of embeddings: their mean and standard deviation, and what a classifier or a regression is given to see."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.embedders.base import Embeddings, narrow
from lib.run.errors import InputError

BLOCK = 4096  # rows that are worked on at a time in float64

# Sentences have one matrix, pairs of sentences two: a row of each is a pair.
Vectors = Embeddings | tuple[Embeddings, Embeddings]


class Columns(NamedTuple):
    """Mean and standard deviation of each column, float64[d]; the deviation of a constant column is exactly 0."""

    mean: np.ndarray
    deviation: np.ndarray


def column_statistics(*matrices: Embeddings) -> Columns:
    """Mean and standard deviation (over all rows, no correction) of the columns of matrices laid below each other.

    Raises InputError for NaN or infinity, or if there is no row.
    """
    rows = sum(matrix.shape[0] for matrix in matrices)
    if not rows:
        raise InputError("vectors: there are no rows; give at least one")
    if not matrices[0].shape[1]:
        raise InputError("vectors: have no dimensions; give at least one")
    mean = sum(_sum(matrix) for matrix in matrices) / rows
    if not np.isfinite(mean).all():
        raise InputError(f"vectors: column {int(np.argmin(np.isfinite(mean)))} holds NaN or infinity")
    # From the extremes, for the mean of equal numbers may be rounded to another one.
    highest = np.max([_extreme(matrix, "max") for matrix in matrices], axis=0)
    lowest = np.min([_extreme(matrix, "min") for matrix in matrices], axis=0)
    variance = sum(_squared_distance(matrix, mean) for matrix in matrices) / rows
    return Columns(mean, np.where(highest > lowest, np.sqrt(variance), 0.0))


def _sum(matrix: Embeddings) -> np.ndarray:
    return np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel()


def _extreme(matrix: Embeddings, which: str) -> np.ndarray:
    found = getattr(matrix, which)(axis=0)
    return found.toarray().ravel() if sp.issparse(found) else np.asarray(found).ravel()


def _squared_distance(matrix: Embeddings, mean: np.ndarray) -> np.ndarray:
    """Of each column from its mean."""
    if not sp.issparse(matrix):
        blocks = (matrix[start : start + BLOCK] - mean for start in range(0, len(matrix), BLOCK))
        return sum((block**2).sum(axis=0) for block in blocks)
    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    stored = np.bincount(matrix.indices, minlength=len(mean))
    away = np.bincount(matrix.indices, (matrix.data - mean[matrix.indices]) ** 2, len(mean))
    return away + (matrix.shape[0] - stored) * mean**2


def pair_features(left: Embeddings, right: Embeddings) -> Embeddings:
    """``[|u - v|, u * v]`` of each pair, float[n, 2 d] (Tai et al., 2015, section 4.2; SentEval)."""
    if sp.issparse(left):
        return sp.csr_array(sp.hstack([abs(left - right), left.multiply(right)], format="csr"))
    return np.hstack([np.abs(left - right), left * right])


class Features:
    """From embeddings to what a classifier or a regression sees; everything is estimated by `fit`, on training rows.

    1. With `normalize`, each column of the embeddings gets mean 0 and standard deviation 1 (the paper's footnote 2);
       one that is constant on the training rows becomes 0. The two sides of pairs are estimated together.
    2. Pairs become `pair_features`.
    3. The mean is subtracted, and all is divided by one number so that the mean variance of a column is 1. A shift and
       a common factor are nothing to a linear model, but with them a penalty means the same for every embedder.

    Sparse vectors are not centered in either step, which would fill them. Where the intercept is free and without a
    penalty, that makes no difference to a linear model of single sentences; it does to the products of pairs.

    Parameters
    ----------
    normalize : bool, whether columns are z-normalized
    dtype : of what `transform` returns
    """

    def __init__(self, normalize: bool, dtype: type = np.float32) -> None:
        self.normalize, self.dtype = normalize, dtype

    def fit(self, vectors: Vectors) -> Features:
        """Estimate everything on training rows; returns itself. InputError for NaN, or for rows that are all alike."""
        sides = vectors if isinstance(vectors, tuple) else (vectors,)
        self.columns = column_statistics(*sides) if self.normalize else None
        features = self._features(vectors)
        mean, deviation = column_statistics(features)
        scale = np.sqrt((deviation**2).mean())
        if not scale > 0:
            raise InputError("vectors: all training rows are alike; give vectors that differ")
        with np.errstate(over="ignore"):
            self.mean, self.factor = mean.astype(self.dtype), self.dtype(1 / scale)
        if not 0 < self.factor < np.inf:
            raise _out_of_range(self.dtype)
        return self

    def transform(self, vectors: Vectors) -> Embeddings:
        """``dtype[n, d]``, or [n, 2 d] for pairs; CSR if the vectors are."""
        features = self._features(vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(features):
                features = narrow(sp.csr_array(features * self.factor))
            else:
                features = features - self.mean
                features *= self.factor
        if not np.isfinite(features.data if sp.issparse(features) else features).all():
            raise _out_of_range(self.dtype)
        return features

    def _features(self, vectors: Vectors) -> Embeddings:
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinity is refused
            if not isinstance(vectors, tuple):
                return self._normalized(vectors)
            return pair_features(*map(self._normalized, vectors))

    def _normalized(self, vectors: Embeddings) -> Embeddings:
        vectors = vectors.astype(self.dtype, copy=False)
        return vectors if self.columns is None else standardized(vectors, self.columns)


def _out_of_range(dtype: type) -> InputError:
    return InputError(
        f"vectors: hold NaN, infinity, or numbers too large or too small for what {np.dtype(dtype)} computes of them; "
        "multiply all of them by what brings them near 1"
    )


def standardized(vectors: Embeddings, columns: Columns) -> Embeddings:
    """Each column less its mean, divided by its deviation; sparse vectors are divided only.

    A column of deviation 0 becomes 0. The numbers keep their type.
    """
    varies = columns.deviation > 0
    with np.errstate(over="ignore"):
        factor = np.divide(1.0, columns.deviation, out=np.zeros(len(varies)), where=varies).astype(vectors.dtype)
    if not np.isfinite(factor).all():
        raise _out_of_range(vectors.dtype)
    if sp.issparse(vectors):
        return sp.csr_array(vectors @ sp.diags_array(factor))
    vectors = vectors - columns.mean.astype(vectors.dtype)
    vectors *= factor
    return vectors
