"""Unsupervised similarity: the cosine of two embeddings, as they are or after z-normalization."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lib.embedders.base import Embeddings
from lib.neighbors.contract import unit
from lib.run import arrays
from lib.run.errors import InputError
from lib.run.parameters import nearest
from lib.similarity.correlation import correlations
from lib.similarity.features import BLOCK, column_statistics, standardized

DENSE = 10**8  # numbers, 0.8 GB: the largest sparse matrix that `z_normalized` fills


def ucp(left: Embeddings, right: Embeddings, gold: np.ndarray, normalize: str | None = None) -> dict[str, float]:
    """Unsupervised cosine and Pearson: how well the cosine of two embeddings follows what people say of the pair.

    Parameters
    ----------
    left, right : float[n, d], arrays or CSR arrays; row i of both is pair i
    gold : float[n], higher is more alike
    normalize : None, or "z" (`z_normalized`)

    Returns
    -------
    dict with `pearson` and `spearman`, each in [-1, 1]

    Raises
    ------
    InputError
        Fewer than three pairs, numbers of rows that differ, NaN, constant gold scores, constant similarity.
    """
    return correlations(similarities(left, right, normalize), gold)


def similarities(left: Embeddings, right: Embeddings, normalize: str | None = None) -> np.ndarray:
    """The cosine of each pair, float64[n] in [-1, 1], of the embeddings as they are or (``"z"``) z-normalized.

    Raises InputError for another `normalize`, and as `cosine` and `z_normalized` do.
    """
    if normalize not in (None, "z"):
        raise InputError(f"normalize: {normalize!r} is not known; {nearest(str(normalize), ['None', 'z'])}")
    if normalize is None:
        return cosine(left, right)
    left, right = _sides(left, right)
    return _sparse_z_cosine(left, right) if sp.issparse(left) else cosine(*z_normalized(left, right))


def cosine(left: Embeddings, right: Embeddings) -> np.ndarray:
    """The cosine of each row of `left` and the same row of `right`, float64[n]; a zero vector is similar to nothing: 0.

    Raises InputError for shapes that differ, and for NaN or infinity.
    """
    left, right = _sides(left, right)
    if sp.issparse(left):
        products = left.multiply(right).sum(axis=1, dtype=np.float64)
        return _quotient(products, _squared_norms(left) * _squared_norms(right))
    found = np.empty(len(left))
    for start in range(0, len(left), BLOCK):
        units = [unit(side[start : start + BLOCK], name, start) for side, name in ((left, "left"), (right, "right"))]
        found[start : start + BLOCK] = np.einsum("ij,ij->i", *units)
    return np.clip(found, -1.0, 1.0)


def z_normalized(left: Embeddings, right: Embeddings) -> tuple[np.ndarray, np.ndarray]:
    """Both sides z-normalized, float64[n, d] each (the paper's footnote 1).

    From each column the mean over all 2n rows is subtracted, and it is divided by its standard deviation; then each row
    gets length 1. A constant column, and a row that is the mean, becomes 0. This looks at the pairs that are evaluated,
    both sides together, but not at their gold scores.

    Raises
    ------
    InputError
        Shapes that differ, NaN or infinity, or sparse sides that would take more than 0.8 GB when filled
        (`similarities` needs no filling).
    """
    left, right = _sides(left, right)
    if sp.issparse(left) and 2 * left.shape[0] * left.shape[1] > DENSE:
        raise InputError(
            f"left and right: sparse, {left.shape[0]} x {left.shape[1]} each, and z-normalization would fill them; "
            "give fewer dimensions, or take similarities(..., normalize='z')"
        )
    columns = column_statistics(left, right)
    return tuple(unit(standardized(_dense(side), columns)) for side in (left, right))


def _dense(side: Embeddings) -> np.ndarray:
    return (side.toarray() if sp.issparse(side) else side).astype(np.float64, copy=False)


def _sparse_z_cosine(left: sp.csr_array, right: sp.csr_array) -> np.ndarray:
    """As the cosine of `z_normalized`, by (u - m)(v - m) = u v - u m - v m + m m, so that nothing is filled."""
    columns = column_statistics(left, right)
    u, v = (standardized(side.astype(np.float64), columns) for side in (left, right))
    varies = columns.deviation > 0
    m = np.divide(columns.mean, columns.deviation, out=np.zeros(len(varies)), where=varies)
    u_m, v_m, m_m = u @ m, v @ m, m @ m
    products = u.multiply(v).sum(axis=1) - u_m - v_m + m_m
    squared_norms = [_squared_norms(side) - 2 * along + m_m for side, along in ((u, u_m), (v, v_m))]
    return _quotient(products, squared_norms[0] * squared_norms[1])


def _squared_norms(rows: sp.csr_array) -> np.ndarray:
    return rows.multiply(rows).sum(axis=1, dtype=np.float64)


def _quotient(products: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Products of rows divided by their lengths, of whose product `squared` is the square; 0 for a length of 0."""
    lengths = np.sqrt(np.maximum(squared, 0.0))
    return np.clip(np.divide(products, lengths, out=np.zeros(len(lengths)), where=lengths > 0), -1.0, 1.0)


def _sides(left: Embeddings, right: Embeddings) -> tuple[Embeddings, Embeddings]:
    """Both sides, checked; sparse ones as floating-point numbers, each entry once."""
    if sp.issparse(left) != sp.issparse(right):
        raise InputError("left and right: one is sparse and one is not; give two of a kind")
    left, right = (arrays.matrix(name, side) for name, side in (("left", left), ("right", right)))
    if left.shape != right.shape:
        raise InputError(f"left and right: shapes {left.shape} and {right.shape}; give two arrays of one shape (n, d)")
    if not sp.issparse(left):
        return left, right
    return _entries("left", left), _entries("right", right)


def _entries(name: str, side: sp.csr_array) -> sp.csr_array:
    if side.dtype.kind != "f":
        side = side.astype(np.float64)
    side = arrays.canonical(side)
    if not np.isfinite(side.data).all():
        raise InputError(f"{name}: holds NaN or infinity; give finite numbers")
    return side
