"""Checks of a student's answers that do not show what is right.

In a student's copy of a lesson (`make student`), ``check("01.2", answer)`` says whether
an answer is right. The copy holds hashes of what is right: of a name, or of a number
and of all numbers within 5 % of it, in steps of 1 %.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lib.base import parameters
from lib.base.errors import InputError

SHOWN = 12  # hexadecimal digits of a hash
STEP = math.log(1.01)
NEAR = 5  # steps


class Checks:
    """The checks of one lesson.

    Parameters
    ----------
    right : mapping
        By exercise, such as ``"01.2"``: for each name or number that it asks for, the
        hashes of what is right, as `hashes` makes them.
    """

    def __init__(self, right: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.right = right

    def __call__(self, exercise: str, answer: Any) -> int:
        """Print whether an answer is right; Ellipsis (``...``) is no answer yet.

        Returns the points that nbgrader reads, 1 for a right answer and 0 otherwise.

        A number may be given in percent. Where several things are asked, the answer is
        a list of them.
        """
        right = self.right[parameters.one_of("exercise", exercise, self.right)]
        given = _listed(answer)
        if any(each is ... for each in given):
            print(f"{exercise}: no answer yet")
            return 0
        if len(given) != len(right):
            count = len(right)
            wanted = "one answer" if count == 1 else f"a list of {count} answers"
            raise InputError(f"{exercise}: {answer!r} is not accepted; give {wanted}")
        hashed = [
            {_hash(exercise, form) for form in _forms(exercise, one)} for one in given
        ]
        pairs = zip(hashed, right, strict=True)
        is_right = not any(forms.isdisjoint(known) for forms, known in pairs)
        verdict = "right" if is_right else "not right yet"
        print(f"{exercise}: {', '.join(map(str, given))} is {verdict}")
        return int(is_right)


def hashes(exercise: str, answer: Any) -> list[list[str]]:
    """For each name or number of an answer the hashes of what is right.

    They are sorted, so their order does not tell which is which.
    """
    found = []
    for one in _listed(answer):
        forms = [one.strip().casefold()] if isinstance(one, str) else _near(one)
        found.append(sorted(_hash(exercise, form) for form in forms))
    return found


def _listed(answer: Any) -> list:
    return list(answer) if isinstance(answer, list | tuple) else [answer]


def _forms(exercise: str, answer: Any) -> list[str]:
    """What stands for a name, or for a number as it is and as a percentage."""
    if isinstance(answer, str):
        return [answer.strip().casefold()]
    try:
        number = float(answer)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{exercise}: {parameters.shown(answer)} is not accepted; "
            "give a number or a name"
        )
    return [_steps(number), _steps(number / 100)]


def _near(number: float) -> list[str]:
    """What stands for a number and for those near it."""
    around = [number * math.exp(step * STEP) for step in range(-NEAR, NEAR + 1)]
    return list(dict.fromkeys(map(_steps, around)))


def _steps(number: float) -> str:
    """A number in steps of 1 %, with its sign."""
    if number == 0:
        return "0"
    return f"{'-' * (number < 0)}{round(math.log(abs(number)) / STEP)}"


def _hash(exercise: str, form: str) -> str:
    """A hash that differs between exercises for the same answer."""
    return hashlib.sha256(f"{exercise}: {form}".encode()).hexdigest()[:SHOWN]
