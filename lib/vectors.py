"""Arrays of vectors: their type, checks of what users give, length 1, and stacking.

A check that fails raises an InputError of one sentence that begins with the given name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from lib.base.errors import InputError

Embeddings: TypeAlias = np.ndarray | sp.csr_array

# -- what users give -------------------------------------------------------------------


def as_matrix(name: str, values: Any) -> Embeddings:
    """An array or CSR array of numbers with two axes, copied only where it must be.

    Whether the numbers are finite is checked by the functions that go through them,
    block by block.

    Raises
    ------
    InputError
        Another number of axes, rows of different lengths, or entries that are not real
        numbers.
    """
    wanted = "a two-dimensional array of numbers, a row for each vector"
    array = _checked(name, values, wanted)
    return sp.csr_array(array) if sp.issparse(array) else array


def as_column(name: str, values: Any) -> np.ndarray:
    """Finite numbers, float64[n]; anything else raises an InputError."""
    wanted = "a list of finite numbers"
    array = _checked(name, values, wanted, ensure_2d=False, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{name}: has shape {array.shape}; give a list of numbers")
    check_finite(name, array)
    return array


def as_integers(name: str, values: Any) -> np.ndarray:
    """Whole numbers, int64 of any shape; anything else raises an InputError."""
    array = _checked(name, values, "whole numbers", ensure_2d=False, allow_nd=True)
    with np.errstate(invalid="ignore"):
        integers = array.astype(np.int64)
    differs = integers != array
    if differs.any():
        raise InputError(f"{name}: contains {array[differs][0]}; give whole numbers")
    return integers


def check_finite(name: str, values: Any) -> None:
    """Raise an InputError, with the first place, if some values are NaN or infinite."""
    finite = np.isfinite(values.data if sp.issparse(values) else values)
    if not finite.all():
        place = ", ".join(map(str, np.argwhere(~finite)[0]))
        raise InputError(
            f"{name}: contains NaN or infinity (first at {place}); give finite numbers"
        )


def check_finite_rows(name: str, sums: np.ndarray, first: int = 0) -> None:
    """Raise an InputError for the first row whose sum, or norm, is NaN or infinite.

    Parameters
    ----------
    name : str
        What errors call the array.
    sums : float[n]
        A number for each row, finite where all of the row is.
    first : int
        The number of the first row.
    """
    finite = np.isfinite(sums)
    if not finite.all():
        row = first + int(np.argmin(finite))
        raise InputError(
            f"{name}: row {row} contains NaN or infinity; "
            "remove such vectors or make them zero before the search"
        )


def _checked(name: str, values: Any, wanted: str, **options: Any) -> Any:
    """By scikit-learn's `check_array`, whose message becomes one sentence."""
    try:
        return check_array(
            values,
            accept_sparse="csr",
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name=name,
            **{"dtype": "numeric", **options},
        )
    except (TypeError, ValueError) as error:
        problem = str(error).splitlines()[0].rstrip(".:")
        raise InputError(f"{name}: {problem}; give {wanted}") from error


# -- length 1 --------------------------------------------------------------------------


def unit(vectors: Embeddings, name: str = "vectors", first: int = 0) -> Embeddings:
    """A copy whose rows have length 1, float64; zero rows stay zero.

    Parameters
    ----------
    vectors : real[n, d]
        An array or a CSR array.
    name : str
        What errors call it.
    first : int
        The number of the first row in errors.

    Raises
    ------
    InputError
        NaN or infinity.
    """
    if sp.issparse(vectors):
        return _sparse_unit(vectors, name, first)
    rows = np.asarray(vectors, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    check_finite_rows(name, largest[:, 0], first)
    rows = rows / np.where(largest > 0, largest, 1.0)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows / np.where(norms > 0, norms, 1.0)


def _sparse_unit(vectors: sp.csr_array, name: str, first: int) -> sp.csr_array:
    rows = sp.csr_array(vectors, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    row_of_entry = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norms = np.sqrt(np.bincount(row_of_entry, rows.data**2, rows.shape[0]))
    check_finite_rows(name, norms, first)
    rows.data /= np.where(norms > 0, norms, 1.0)[row_of_entry]
    return rows


# -- parts of arrays -------------------------------------------------------------------


def stack(parts: Sequence[Embeddings]) -> Embeddings:
    """Embeddings of one kind below each other, as float32."""
    if sp.issparse(parts[0]):
        stacked = sp.vstack(parts, format="csr")
        return narrow(sp.csr_array(stacked, dtype=np.float32))
    return np.concatenate(parts).astype(np.float32, copy=False)


def dense(vectors: Any) -> np.ndarray:
    """The vectors as a dense array."""
    return vectors.toarray() if sp.issparse(vectors) else vectors


def narrow(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix with int32 indices, as some libraries need, unless it is too large."""
    try:
        index = sp.safely_cast_index_arrays(matrix)
    except (ValueError, AttributeError):  # Pyodide's SciPy has no such function
        return matrix
    return sp.csr_array((matrix.data, *index), shape=matrix.shape)


def slice_rows(vectors: sp.csr_array, start: int, stop: int) -> sp.csr_array:
    """Some rows; unlike SciPy's slices, those of a memory-map are not copied."""
    first = vectors.indptr[start]
    last = vectors.indptr[stop]
    starts = vectors.indptr[start : stop + 1] - first
    entries = (vectors.data[first:last], vectors.indices[first:last], starts)
    return sp.csr_array(entries, shape=(stop - start, vectors.shape[1]))
