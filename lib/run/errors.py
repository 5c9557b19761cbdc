"""The one exception that is meant for the user's eyes, and how a command shows it."""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable
from contextlib import suppress


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence: which parameter or file, what was wrong, what would be right.
    """


def one_line(error: BaseException, most: int = 200) -> str:
    """What an exception of somebody else's code says, made fit to stand inside a sentence."""
    return " ".join(str(error).split())[:most] or type(error).__name__


# What the system answers when a disk, and not the program, is at fault; and what helps.
_REMEDIES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EFBIG: "make room there",
    errno.EROFS: "make it writable, or name another place",
    errno.EACCES: "make it accessible, or name another place",
    errno.EPERM: "make it accessible, or name another place",
    errno.EIO: "see to that disk",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ELOOP: "mend that circle of links",
    errno.ENOTDIR: "name another place",
    errno.EISDIR: "name another place",
}


def said_in_a_sentence(command: Callable[..., int]) -> Callable[..., int]:
    """A command that, where it raises InputError, prints the sentence to standard error and returns 2.

    So it does where a disk is full, cannot be written or fails, even that which standard output goes to, and where no
    file can have the name. An interrupt (Ctrl-C) gives 130, and a reader of standard output that has gone, as in
    ``| head -1``, 141: what shells expect.
    """

    @functools.wraps(command)
    def answered(*arguments: object) -> int:
        # A name of a file may hold bytes that are no text; what has been computed is shown all the same.
        with suppress(AttributeError):  # where standard output is no text stream
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            status = command(*arguments)
            sys.stdout.flush()
            return status
        except InputError as error:
            print(error, file=sys.stderr)
        except KeyboardInterrupt:
            print("Interrupted", file=sys.stderr)
            return 130
        except BrokenPipeError:
            _drop_output()
            return 141
        except OSError as error:
            if error.errno not in _REMEDIES:
                raise
            place = error.filename or "standard output, or a file"
            print(f"{place}: {error.strerror}; {_REMEDIES[error.errno]}, and run again", file=sys.stderr)
            _drop_output()
        return 2

    return answered


def _drop_output() -> None:
    """Let go of what standard output holds and cannot be written, which Python would try once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
