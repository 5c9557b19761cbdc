"""Numbers that others give, as arrays, checked: what is not what it should be gets one sentence.

Whether numbers are finite is seen by who goes through them anyway, block by block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.run.errors import InputError

REAL = "fiub"  # kinds of dtype
MOST_COLUMNS = 2**26  # of a sparse array: what is computed for each of them takes half a gigabyte


def matrix(name: str, vectors: Any) -> np.ndarray | sp.csr_array:
    """Vectors as an array or CSR array of real numbers with two axes, copied only where they must be.

    What is read from a file when it is sliced (a data set in HDF5) stays what it is.

    Raises
    ------
    InputError
        Rows of different lengths, one axis or three, masked entries, numbers that are not real; of a sparse array,
        indices that lie outside of it or more than `MOST_COLUMNS` columns.
    """
    if sp.issparse(vectors):
        if vectors.ndim == 2 and vectors.shape[1] > MOST_COLUMNS:
            raise InputError(f"{name}: has {vectors.shape[1]} columns; give {MOST_COLUMNS} or fewer that are not zero")
        found = _compressed(name, vectors) if vectors.ndim == 2 and vectors.dtype.kind in REAL else vectors
    else:
        lazy = isinstance(getattr(vectors, "dtype", None), np.dtype) and hasattr(vectors, "ndim")
        found = vectors if lazy and not isinstance(vectors, np.ndarray) else array(name, vectors)
    if found.ndim != 2:
        raise InputError(f"{name}: has shape {found.shape}; give a two-dimensional array, a row for each vector")
    if found.dtype.kind not in REAL:
        raise InputError(f"{name}: holds {found.dtype}; give real numbers")
    if found.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinity, which is refused
            found = found.astype(np.float64)
    return found


def column(name: str, values: Any) -> np.ndarray:
    """Finite numbers, float64[n]; InputError for anything else."""
    found = array(name, values)
    if found.ndim != 1:
        raise InputError(f"{name}: has shape {found.shape}; give one list of numbers")
    if found.dtype.kind not in REAL and found.size:
        raise InputError(f"{name}: holds {found.dtype}; give real numbers")
    with np.errstate(over="ignore"):
        found = found.astype(np.float64)
    return finite(name, found)


def finite(name: str, values: np.ndarray) -> np.ndarray:
    """The numbers themselves; InputError, with the place of the first, if some are NaN or infinite."""
    good = np.isfinite(values)
    if not good.all():
        place = ", ".join(map(str, np.argwhere(~good)[0]))
        raise InputError(f"{name}: holds NaN or infinity (first at {place}); give finite numbers")
    return values


def whole(name: str, values: Any) -> np.ndarray:
    """Whole numbers, int64 of whatever shape; InputError for anything else, and for what int64 cannot hold."""
    found = array(name, values)
    if found.dtype.kind == "f":
        found = finite(name, found)
    elif found.dtype.kind not in "iu" and found.size:
        raise InputError(f"{name}: holds {found.dtype}; give whole numbers")
    with np.errstate(invalid="ignore"):
        numbers = found.astype(np.int64)
    wrong = (numbers != found) | ((numbers < 0) != (found < 0))
    if wrong.any():
        raise InputError(f"{name}: holds {found[wrong][0]}; give whole numbers below 2**63")
    return numbers


def array(name: str, values: Any) -> np.ndarray:
    """An array of whatever shape and type; InputError for masked entries and for rows of different lengths."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name}: has masked entries; leave their rows out, or fill them with numbers")
    try:
        return np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{name}: its rows differ in length; give each as many numbers") from error


def canonical(rows: sp.csr_array) -> sp.csr_array:
    """With every entry once; a copy, where that is not so."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        with np.errstate(over="ignore"):
            rows.sum_duplicates()
    return rows


def _compressed(name: str, vectors: Any) -> sp.csr_array:
    try:
        rows = sp.csr_array(vectors)
    except ValueError as error:
        raise InputError(f"{name}: is no whole sparse array ({error}); build it again") from error
    starts, columns = rows.indptr, rows.indices
    ordered = starts[0] == 0 and starts[-1] <= min(len(columns), len(rows.data)) and (starts[1:] >= starts[:-1]).all()
    if not ordered or columns.min(initial=0) < 0 or columns.max(initial=-1) >= rows.shape[1]:
        raise InputError(f"{name}: has indices that lie outside of its {rows.shape} entries; build the array again")
    return rows
