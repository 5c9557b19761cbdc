"""Numbers that users give, as arrays; what is none gets one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from lib.run.errors import InputError


def matrix(name: str, vectors: Any) -> np.ndarray | sp.csr_array:
    """Vectors as an array or CSR array of numbers with two axes, copied only where they must be.

    Whether the numbers are finite is checked by the functions that go through them, block by block.

    Raises
    ------
    InputError
        Another number of axes, rows of different lengths, entries that are no real numbers.
    """
    found = _checked(name, vectors, "a two-dimensional array of numbers, a row for each vector")
    return sp.csr_array(found) if sp.issparse(found) else found


def column(name: str, values: Any) -> np.ndarray:
    """Finite numbers, float64[n]; InputError for anything else."""
    found = _checked(name, values, "a list of finite numbers", ensure_2d=False, dtype=np.float64)
    if found.ndim != 1:
        raise InputError(f"{name}: has shape {found.shape}; give a list of numbers")
    return finite(name, found)


def finite(name: str, values: np.ndarray) -> np.ndarray:
    """The numbers themselves; InputError, with the place of the first, if some are NaN or infinite."""
    good = np.isfinite(values)
    if not good.all():
        place = ", ".join(map(str, np.argwhere(~good)[0]))
        raise InputError(f"{name}: holds NaN or infinity (first at {place}); give finite numbers")
    return values


def whole(name: str, values: Any) -> np.ndarray:
    """Whole numbers, int64 of any shape; InputError for anything else."""
    found = _checked(name, values, "whole numbers", ensure_2d=False, allow_nd=True)
    with np.errstate(invalid="ignore"):
        numbers = found.astype(np.int64)
    wrong = numbers != found
    if wrong.any():
        raise InputError(f"{name}: holds {found[wrong][0]}; give whole numbers")
    return numbers


def _checked(name: str, values: Any, wanted: str, **options: Any) -> Any:
    """By scikit-learn's `check_array`, whose message becomes one sentence."""
    options = {"dtype": "numeric", **options}
    try:
        return check_array(
            values,
            accept_sparse="csr",
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name=name,
            **options,
        )
    except (TypeError, ValueError) as error:
        problem = str(error).splitlines()[0].rstrip(".:")
        raise InputError(f"{name}: {problem}; give {wanted}") from error
