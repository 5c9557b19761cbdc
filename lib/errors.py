"""The one exception that is meant for the user's eyes, and how a command shows it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence: which parameter or file, what was wrong, what would be right.
    """


def said_in_a_sentence(command: Callable[..., int]) -> Callable[..., int]:
    """A command that, where it raises InputError, prints the sentence to standard error and returns 2."""

    @functools.wraps(command)
    def answered(*arguments: object) -> int:
        try:
            return command(*arguments)
        except InputError as error:
            print(error, file=sys.stderr)
            return 2

    return answered
