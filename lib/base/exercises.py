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
NOTHING = 0.001  # a smaller number is shown as 0.00


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
        """Print whether an answer is right, in a sentence without a traceback.

        Returns the points that nbgrader reads, 1 for a right answer and 0 otherwise.

        A number may be given in percent, with or without the sign in a string. Where
        several things are asked, the answer is a list or an array of them. Ellipsis
        (``...``) and an empty string are no answer yet.
        """
        right = self.right[parameters.one_of("exercise", exercise, self.right)]
        given = _listed(answer)
        if any(each is ... or _is_blank(each) for each in given):
            print(f"{exercise}: no answer yet")
            return 0
        try:
            is_right = _agree(exercise, given, right)
        except InputError as refused:
            print(f"{exercise}: {parameters.shown(answer)} is not accepted; {refused}")
            return 0
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


def _agree(exercise: str, given: list, right: Sequence[Sequence[str]]) -> bool:
    """Whether each name or number given is right; raises InputError for no answers."""
    count = len(right)
    if len(given) != count:
        wanted = "one answer" if count == 1 else f"a list of {count} answers"
        raise InputError(f"give {wanted}")
    forms = [_forms(one) for one in given]
    if any(
        isinstance(one, str) and len(each) == 1 < len(known)
        for one, each, known in zip(given, forms, right, strict=True)
    ):
        raise InputError("give a number")  # a name has one hash, a number more
    hashed = [{_hash(exercise, form) for form in each} for each in forms]
    pairs = zip(hashed, right, strict=True)
    return not any(own.isdisjoint(known) for own, known in pairs)


def _listed(answer: Any) -> list:
    is_row = isinstance(answer, list | tuple) or getattr(answer, "ndim", 0) == 1
    return list(answer) if is_row else [answer]


def _is_blank(answer: Any) -> bool:
    return isinstance(answer, str) and not answer.strip()


def _forms(answer: Any) -> list[str]:
    """What stands for a name, or for a number as it is and as a percentage.

    A string may be either: ``"12 %"`` and ``"1/8"`` are numbers, too.
    """
    names = [answer.strip().casefold()] if isinstance(answer, str) else []
    try:
        number = _written(answer) if names else float(answer)
    except (TypeError, ValueError, ArithmeticError):
        number = math.nan
    if math.isfinite(number):
        return [*names, *_zero(number), _steps(number), _steps(number / 100)]
    if names:
        return names
    raise InputError("give a number or a name")


def _written(text: str) -> float:
    over, _, under = text.strip().removesuffix("%").partition("/")
    return float(over) / float(under or 1)


def _near(number: float) -> list[str]:
    """What stands for a number and for those near it."""
    around = [number * math.exp(step * STEP) for step in range(-NEAR, NEAR + 1)]
    return list(dict.fromkeys([*_zero(number), *map(_steps, around)]))


def _zero(number: float) -> list[str]:
    """What stands for 0 if that is what a number is shown as."""
    return [_steps(0)] if abs(number) < NOTHING else []


def _steps(number: float) -> str:
    """A number in steps of 1 %, with its sign; no other number stands for 0."""
    if number == 0:
        return "zero"
    return f"{'minus ' * (number < 0)}{round(math.log(abs(number)) / STEP)}"


def _hash(exercise: str, form: str) -> str:
    """A hash that differs between exercises for the same answer."""
    return hashlib.sha256(f"{exercise}: {form}".encode()).hexdigest()[:SHOWN]
