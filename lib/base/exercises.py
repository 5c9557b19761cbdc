"""Checks of a student's answers that do not show what is right.

In a student's copy of a lesson (`make student`), ``check("01.2", answer)`` says whether
an answer is right. The copy holds hashes of the right answer, rounded, and of the two
numbers next to it: processors differ in the last digit, and so do ways of rounding.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from lib.base import parameters
from lib.base.errors import InputError

SHOWN = 12  # hexadecimal digits of a hash


class Checks:
    """The checks of one lesson.

    Parameters
    ----------
    right : mapping
        By exercise, such as ``"01.2"``: to how many digits after the point answers are
        rounded, and the hashes of those that are right, as `hashes` makes them.
    """

    def __init__(self, right: Mapping[str, tuple[int, list[str]]]) -> None:
        self.right = right

    def __call__(self, exercise: str, answer: Any) -> None:
        """Print whether an answer is right; Ellipsis (``...``) is no answer yet."""
        parameters.one_of("exercise", exercise, self.right)
        if answer is ...:
            print(f"{exercise}: no answer yet")
            return
        digits, right = self.right[exercise]
        is_right = _hash(exercise, _steps(exercise, answer, digits)) in right
        print(f"{exercise}: {answer} is {'right' if is_right else 'not right yet'}")


def hashes(exercise: str, answer: Any, digits: int) -> list[str]:
    """Hashes of an answer rounded to so many digits, and of its two neighbors.

    They are sorted, so their order does not tell which is which.
    """
    steps = _steps(exercise, answer, digits)
    return sorted(_hash(exercise, steps + near) for near in (-1, 0, 1))


def _steps(exercise: str, answer: Any, digits: int) -> int:
    """An answer in units of its last digit; InputError if it is not a number."""
    try:
        number = float(answer)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{exercise}: {parameters.shown(answer)} is not accepted; give one number"
        )
    return round(number * 10**digits)


def _hash(exercise: str, steps: int) -> str:
    """A hash that differs between exercises for the same number."""
    return hashlib.sha256(f"{exercise}: {steps}".encode()).hexdigest()[:SHOWN]
