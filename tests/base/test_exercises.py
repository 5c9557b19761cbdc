"""A check in a student's copy of a lesson knows what is right and does not show it."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.base.exercises import Checks, hashes
from tests.refusals import refused

RIGHT = {
    "01.1": (2, hashes("01.1", 2 / 3, 2)),
    "01.2": (1, hashes("01.2", 51, 1)),
    "02.1": (2, hashes("02.1", -0.8, 2)),
}


def said(exercise: str, answer: object) -> str:
    """What a check prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        Checks(RIGHT)(exercise, answer)
    return printed.getvalue().strip()


# docs/teaching: "The check accepts the last digit one up or down"
@pytest.mark.parametrize(
    ("exercise", "answer", "is_right"),
    [
        ("01.1", 2 / 3, True),
        ("01.1", np.float32(0.66), True),
        ("01.1", np.array(0.68), True),
        ("01.1", 0.69, False),
        ("01.1", -2 / 3, False),
        ("01.2", 50, False),
        ("02.1", -0.8, True),
    ],
)
def test_the_answer_and_its_neighbors_are_right(exercise, answer, is_right) -> None:
    verdict = "right" if is_right else "not right yet"
    assert said(exercise, answer) == f"{exercise}: {answer} is {verdict}"


def test_an_exercise_that_nobody_has_solved_is_no_error() -> None:
    assert said("01.1", ...) == "01.1: no answer yet"


@pytest.mark.parametrize("answer", [None, "a lot", [0.6, 0.7], np.nan, np.inf])
def test_what_is_not_one_number_is_refused_in_a_sentence(answer) -> None:
    with refused("is not accepted; give one number"):
        said("01.1", answer)


# Two processors, or two ways of rounding
@given(st.floats(-100, 100), st.floats(-0.0099, 0.0099))
def test_less_than_one_in_the_last_digit_never_counts(answer, difference) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        Checks({"01.1": (2, hashes("01.1", answer, 2))})("01.1", answer + difference)
    assert printed.getvalue().endswith(" is right\n")


# docs/teaching: "nobody can read the answer off the copy"
def test_hashes_are_salted_and_do_not_tell_the_middle_one() -> None:
    assert not set(hashes("01.1", 0.5, 2)) & set(hashes("01.2", 0.5, 2))
    found = hashes("01.1", 0.5, 2)
    assert found == sorted(found)
    assert all(re.fullmatch("[0-9a-f]{12}", one) for one in found)
