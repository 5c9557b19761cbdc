"""What is no array of numbers gets one sentence, which names the parameter."""

from __future__ import annotations

import numpy as np
import pytest

from lib.run import arrays
from lib.run.errors import InputError


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (arrays.matrix, [1.0, 2.0], "x: Expected 2D array, got 1D array instead; give a two-dimensional array"),
        (arrays.matrix, [[1.0], [1.0, 2.0]], "x: .*; give a two-dimensional array"),
        (arrays.matrix, [[1j]], "x: Complex data not supported"),
        (arrays.column, [[1.0]], r"x: has shape \(1, 1\); give a list of numbers"),
        (arrays.column, [1.0, np.nan], r"x: holds NaN or infinity \(first at 1\); give finite numbers"),
        (arrays.column, ["a"], "x: .*; give a list of finite numbers"),
        (arrays.whole, [1.5], "x: holds 1.5; give whole numbers"),
    ],
)
def test_what_is_no_array_of_numbers_gets_a_sentence(check, given, message) -> None:
    with pytest.raises(InputError, match=message) as error:
        check("x", given)
    assert "\n" not in str(error.value)
