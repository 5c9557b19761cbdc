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

ANSWERS = {
    "01.1": 2 / 3,
    "01.2": 0.06,
    "02.1": -0.8,
    "02.2": "tfidf",
    "03.1": [0.2, "GloVe"],
    "03.2": 0,
    "04.1": [1, 0],
    "04.2": [0.5, 0.0006],
    "04.3": 0.0028,
}
RIGHT = {exercise: hashes(exercise, answer) for exercise, answer in ANSWERS.items()}


def said(exercise: str, answer: object, right: dict = RIGHT) -> str:
    """What a check prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        Checks(right)(exercise, answer)
    return printed.getvalue().strip()


# docs/teaching: "within 5 %", "in percent", "a name"
@pytest.mark.parametrize(
    ("exercise", "answer", "is_right"),
    [
        ("01.1", 2 / 3, True),
        ("01.1", np.float32(0.66), True),
        ("01.1", np.array(0.68), True),
        ("01.1", 0.71, False),
        ("01.1", -2 / 3, False),
        ("01.2", 6, True),
        ("01.2", 0.07, False),
        ("02.1", -0.8, True),
        ("02.2", " TFIDF", True),
        ("02.2", "bow", False),
        ("03.1", [0.2, "glove"], True),
        ("03.1", [0.3, "glove"], False),
        ("03.2", 0.0, True),
        ("03.2", 0.1, False),
        ("01.2", "6 %", True),
        ("01.2", "0.06", True),
        ("01.1", "2/3", True),
        ("02.2", "tf/idf", False),
        ("03.1", np.array([0.2, 0.3]), False),
        ("04.1", np.array([1.0, 0.0]), True),
        ("04.1", [0.999, -1e-17], True),  # as rounding leaves them
        # 0 and 1, or x and -1/x, once had the same hash.
        ("04.1", [0, 0], False),
        ("04.1", [1, 1], False),
        ("04.2", [-2, 0.0006], False),
        # What is printed as 0.00 may be given so.
        ("04.2", [0.5, 0.00], True),
        ("04.2", [0.5, 0.02], False),
        ("04.3", 0, False),
    ],
)
def test_names_and_numbers_near_the_answer_are_right(
    exercise, answer, is_right
) -> None:
    verdict = "right" if is_right else "not right yet"
    listed = list(answer) if np.ndim(answer) == 1 else [answer]
    shown = ", ".join(map(str, listed))
    assert said(exercise, answer) == f"{exercise}: {shown} is {verdict}"


@pytest.mark.parametrize("answer", [..., [0.2, ...], "", [0.2, " "]])
def test_an_exercise_that_nobody_has_solved_is_no_error(answer) -> None:
    assert said("03.1", answer) == "03.1: no answer yet"


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (None, "give a number or a name"),
        (np.nan, "give a number or a name"),
        (10**400, "give a number or a name"),
        ([0.6, 0.7], "give one answer"),
        ("farther", "give a number"),
        ("seven %", "give a number"),
        ("2/0", "give a number"),
    ],
)
def test_what_is_no_answer_is_refused_in_a_sentence(answer, wanted) -> None:
    assert said("01.1", answer).startswith("01.1: ")
    assert said("01.1", answer).endswith(f" is not accepted; {wanted}")
    assert len(said("01.1", answer)) < 150


def test_an_exercise_that_there_is_not_is_refused() -> None:
    with refused("exercise: '01.3' is not known; "):
        said("01.3", 0.5)


# Two processors, or two ways of rounding
@given(st.floats(1e-6, 1e6), st.floats(0.957, 1.043))
def test_a_difference_of_less_than_five_percent_never_counts(answer, factor) -> None:
    right = {"01.1": hashes("01.1", answer)}
    assert said("01.1", factor * answer, right).endswith(" is right")


# docs/teaching: "nobody can read the answer off the copy"
def test_hashes_are_salted_and_do_not_tell_the_middle_one() -> None:
    (found,) = hashes("01.1", 0.5)
    assert set(found).isdisjoint(*hashes("01.2", 0.5))
    assert found == sorted(found)
    assert all(re.fullmatch("[0-9a-f]{12}", one) for one in found)
