"""The one exception that is meant for the user's eyes, and how a command shows it."""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence: which parameter or file, what was wrong, what would be
    right. A notebook shows it alone, without the frames of `lib`.
    """

    def _render_traceback_(self) -> list[str]:  # IPython asks for it
        return [f"{type(self).__name__}: {self}"]


def one_line(error: BaseException) -> str:
    """The message of a third-party exception, shortened to fit inside a sentence."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def command(main: Callable[..., int]) -> Callable[..., int]:
    """Let a command's function end in one sentence on stderr, not in a traceback.

    This covers bad input, and files or standard output that cannot be read or written
    (exit status 2). As shells expect, an interrupt (Ctrl-C) gives 130, and a closed
    standard output, as in ``| head -1``, gives 141. What the encoding of standard
    output lacks is printed as an escape.
    """

    @functools.wraps(main)
    def wrapped(*arguments: object) -> int:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            status = main(*arguments)
            sys.stdout.flush()
            return status
        except InputError as error:
            print(error, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("Interrupted", file=sys.stderr)
            return 130
        except BrokenPipeError:
            _drop_output()
            return 141
        except OSError as error:
            print(
                f"{error.filename or 'standard output'}: {error.strerror or error}",
                file=sys.stderr,
            )
            _drop_output()
            return 2

    return wrapped


def _drop_output() -> None:
    """Discard what standard output cannot write; Python would try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
