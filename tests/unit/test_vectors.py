"""Vector arrays: what is refused, and equal numbers for dense and sparse ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lib import vectors
from lib.run.errors import InputError


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (
            vectors.as_matrix,
            [1.0, 2.0],
            "x: Expected 2D array, got 1D array instead; give a two-dimensional array",
        ),
        (vectors.as_matrix, [[1.0], [1.0, 2.0]], "x: .*; give a two-dimensional array"),
        (vectors.as_matrix, [[1j]], "x: Complex data not supported"),
        (vectors.as_column, [[1.0]], r"x: has shape \(1, 1\); give a list of numbers"),
        (
            vectors.as_column,
            [1.0, np.nan],
            r"x: holds NaN or infinity \(first at 1\); give finite numbers",
        ),
        (vectors.as_column, ["a"], "x: .*; give a list of finite numbers"),
        (vectors.as_integers, [1.5], "x: holds 1.5; give whole numbers"),
    ],
)
def test_what_is_no_array_of_numbers_gets_a_sentence(check, given, message) -> None:
    with pytest.raises(InputError, match=message) as error:
        check("x", given)
    assert "\n" not in str(error.value)


ROWS = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_of_length_one_by_hand_and_zero_rows_stay_zero(make) -> None:
    units = vectors.unit(make(ROWS))
    assert sp.issparse(units) == sp.issparse(make(ROWS))
    np.testing.assert_allclose(_dense(units), [[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]])
    with pytest.raises(InputError, match=r"corpus: row 12 holds NaN or infinity"):
        vectors.unit(make(np.array([[1.0], [0.0], [np.nan]])), "corpus", first=10)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_stacked_parts_are_the_whole_in_float32_with_narrow_indices(make) -> None:
    stacked = vectors.stack([make(ROWS[:1]), make(ROWS[1:])])
    assert stacked.dtype == np.float32
    np.testing.assert_array_equal(_dense(stacked), ROWS)
    if sp.issparse(stacked):
        assert stacked.indices.dtype == stacked.indptr.dtype == np.int32


def test_rows_of_a_sparse_array_are_a_view() -> None:
    whole = sp.csr_array(ROWS)
    rows = vectors.slice_rows(whole, 1, 3)
    np.testing.assert_array_equal(rows.toarray(), ROWS[1:])
    assert np.shares_memory(rows.data, whole.data)


def _dense(array) -> np.ndarray:
    return array.toarray() if sp.issparse(array) else array
