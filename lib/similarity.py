"""How well the similarity of two embeddings agrees with human ratings.

The similarity is the cosine, or one that is learned.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019),
section 3. UCP (unsupervised cosine and Pearson) is the usual evaluation;
z-normalization and a learned similarity are the paper's alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import pearsonr, spearmanr
from sklearn.preprocessing import StandardScaler

from lib.base.errors import InputError
from lib.vectors import (
    Embeddings,
    as_column,
    as_matrix,
    check_finite,
    dense,
    narrow,
    unit,
)

LEAST_PAIRS = 3
SAME = 1e-12  # relative; numbers that differ by less differ by rounding
BLOCK = 10_000_000  # numbers of either side that are worked on at a time in float64

# One matrix of sentences, or two of pairs: a row of each is a pair.
Sides = Sequence[Embeddings]
# Mean and standard deviation of each column, float64[d].
Columns = tuple[np.ndarray, np.ndarray]


def ucp(
    left: Embeddings, right: Embeddings, gold: np.ndarray, normalize: str | None = None
) -> dict[str, float]:
    """Unsupervised cosine and Pearson: how well cosine follows human ratings.

    Parameters
    ----------
    left, right : float[n, d]
        Arrays or CSR arrays; row i of both is pair i.
    gold : float[n]
        Higher is more alike.
    normalize : {None, "z"}
        "z": z-normalized before, see `similarities`.

    Returns
    -------
    dict
        `pearson` and `spearman`, each in [-1, 1].

    Raises
    ------
    InputError
        Fewer than three pairs, numbers of rows that differ, NaN, constant gold scores,
        constant similarity.

    Examples
    --------
    >>> from lib.similarity import ucp
    >>> left = np.array([[1, 0], [1, 1], [0, 2]])
    >>> right = np.array([[2, 0], [1, 0], [3, 0]])
    >>> scores = ucp(left, right, gold=np.array([5, 3, 0]))
    >>> {name: round(score, 3) for name, score in scores.items()}
    {'pearson': 0.993, 'spearman': 1.0}
    """
    similarity = similarities(left, right, normalize)
    gold = as_column("gold", gold)
    if similarity.shape != gold.shape:
        raise InputError(
            f"gold: shape {gold.shape} for similarities of {similarity.shape}; "
            "give one score per pair"
        )
    if len(gold) < LEAST_PAIRS:
        raise InputError(f"gold: {len(gold)} pairs; give {LEAST_PAIRS} or more")
    check_varies("gold", gold)
    check_varies("similarity", similarity)
    pearson = pearsonr(similarity, gold).statistic
    spearman = spearmanr(similarity, gold).statistic
    return {"pearson": float(pearson), "spearman": float(spearman)}


def check_varies(name: str, values: np.ndarray) -> None:
    """Raise InputError for float64[n] that are all the same."""
    if np.ptp(values) <= SAME * np.abs(values).max():
        raise InputError(
            f"{name}: the same for all {len(values)} pairs; "
            "a correlation needs two that differ"
        )


def similarities(
    left: Embeddings, right: Embeddings, normalize: str | None = None
) -> np.ndarray:
    """The cosine of each row of `left` and the same row of `right`.

    float64[n] in [-1, 1]; 0 for a zero vector.

    With ``"z"`` both sides are z-normalized before (the paper's footnote 1): from each
    column the mean over all 2n rows is subtracted, and it is divided by its standard
    deviation. A constant column becomes 0. This looks at the pairs that are evaluated,
    both sides together, but not at their gold scores.

    Raises InputError for another `normalize`, for shapes that differ, and for NaN or
    infinity.

    Examples
    --------
    >>> from lib.similarity import similarities
    >>> similarities(np.array([[1, 0], [1, 1]]), np.array([[0, 3], [2, 2]])).round(3)
    array([0., 1.])
    """
    if normalize not in (None, "z"):
        raise InputError(f"normalize: {normalize!r} is not known; give None or 'z'")
    left, right = checked("left and right", left, right)
    columns = column_statistics(left, right) if normalize else None
    cosines = np.empty(left.shape[0])
    step = max(1, BLOCK // max(1, left.shape[1]))
    for start in range(0, len(cosines), step):
        block = slice(start, start + step)
        left_units = _units(left[block], columns)
        right_units = _units(right[block], columns)
        cosines[block] = np.einsum("ij,ij->i", left_units, right_units)
    return np.clip(cosines, -1.0, 1.0)


def _units(rows: Embeddings, columns: Columns | None) -> np.ndarray:
    """Rows of length 1, float64[n, d]; with `columns` after z-normalization."""
    rows = dense(rows).astype(np.float64, copy=False)
    if columns:
        rows = standardized(rows, columns)
    return unit(rows)


def checked(name: str, *sides: Embeddings) -> Sides:
    """The sides as arrays; InputError unless they match and are finite.

    All must be arrays, or all CSR arrays, of one shape.
    """
    sides = [as_matrix(name, side) for side in sides]
    if len({(side.shape, sp.issparse(side)) for side in sides}) > 1:
        shapes = " and ".join(str(side.shape) for side in sides)
        raise InputError(
            f"{name}: have shapes {shapes}; "
            "give two arrays of the same shape (n, d) and kind"
        )
    for side in sides:
        check_finite(name, side)
    return sides


# -- columns, and the features of a classifier or a regression -------------------------


def column_statistics(*matrices: Embeddings) -> Columns:
    """Mean and standard deviation of the columns of stacked matrices.

    The deviation of a constant column is exactly 0.
    """
    if sp.issparse(matrices[0]):
        rows = sp.vstack(matrices, format="csr", dtype=np.float64)
        scaler = StandardScaler(with_mean=False).fit(rows)
        # scikit-learn scales a column by 1 if it is constant but for rounding.
        varies = scaler.scale_ == np.sqrt(scaler.var_)
        return scaler.mean_, np.where(varies, scaler.scale_, 0.0)
    rows = np.concatenate(matrices)
    mean = rows.mean(axis=0, dtype=np.float64)
    deviation = rows.std(axis=0, dtype=np.float64)
    # By the extremes, since the mean of equal numbers may differ by rounding.
    varies = np.ptp(rows, axis=0) > 0
    return mean, np.where(varies, deviation, 0.0)


def standardized(vectors: Embeddings, columns: Columns) -> Embeddings:
    """Each column minus its mean, divided by its standard deviation.

    Sparse vectors are only divided, and stay sparse. A column of deviation 0 becomes 0.
    The numbers keep their type.
    """
    mean, deviation = columns
    factor = np.zeros(len(deviation))
    np.divide(1.0, deviation, out=factor, where=deviation > 0)
    factor = factor.astype(vectors.dtype)
    if sp.issparse(vectors):
        return sp.csr_array(vectors @ sp.diags_array(factor))
    return (vectors - mean.astype(vectors.dtype)) * factor


class Features:
    """From embeddings to the features of a classifier or a regression.

    `fit` estimates everything, on training rows.

    1. With `normalize`, each column of the embeddings gets mean 0 and standard
       deviation 1 (the paper's footnote 2); one that is constant on the training rows
       becomes 0. The two sides of pairs are estimated together.
    2. Pairs become ``[|u - v|, u * v]`` (Tai et al., 2015, section 4.2; SentEval).
    3. The mean is subtracted, and all is divided by one number so that the mean
       variance of a column is 1. This only sets the unit of a penalty: a linear model
       with a free intercept makes the same predictions from the raw features with the
       penalty multiplied by the square of that number.

    Sparse vectors are not centered in either step, which would fill them. Where the
    intercept is free and without a penalty, that makes no difference to a linear model
    of single sentences; it does to the products of pairs.

    Parameters
    ----------
    normalize : bool
        Whether columns are z-normalized.
    dtype : type
        Of what `transform` returns.
    """

    def __init__(self, normalize: bool, dtype: type[np.floating] = np.float32) -> None:
        self.normalize = normalize
        self.dtype = dtype

    def fit(self, sides: Sides) -> Features:
        """Estimate everything on training rows; returns itself.

        InputError for rows that are all alike.
        """
        self.columns = column_statistics(*sides) if self.normalize else None
        mean, deviation = column_statistics(self._features(sides))
        scale = np.sqrt((deviation**2).mean())
        if not scale > 0:
            raise InputError(
                "vectors: all training rows are the same; give vectors that differ"
            )
        self.mean = mean.astype(self.dtype)
        self.factor = self.dtype(1 / scale)
        return self

    def transform(self, sides: Sides) -> Embeddings:
        """``dtype[n, d]``, or [n, 2 d] for pairs; CSR if the vectors are."""
        features = self._features(sides)
        if sp.issparse(features):
            return narrow(sp.csr_array(features * self.factor))
        return (features - self.mean) * self.factor

    def _features(self, sides: Any) -> Embeddings:
        sides = [side.astype(self.dtype, copy=False) for side in sides]
        if self.columns:
            sides = [standardized(side, self.columns) for side in sides]
        if len(sides) == 1:
            return sides[0]
        left, right = sides
        difference = abs(left - right)
        if sp.issparse(left):
            product = left.multiply(right)
            return sp.csr_array(sp.hstack([difference, product], format="csr"))
        return np.hstack([difference, left * right])


# -- a similarity that is learned ------------------------------------------------------
