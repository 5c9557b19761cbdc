"""Progress of long work in a terminal, in JupyterLab, and as lines in a log.

It shows items, rate and time left.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lib.base import paths

if TYPE_CHECKING:
    from tqdm.std import tqdm

SECONDS_BETWEEN_LINES = 5.0
CURSOR_UP = "\x1b[A"  # tqdm moves between nested bars with it
LINE_FORMAT = (
    "{desc}: {n_fmt} of {total_fmt}{unit} ({percentage:.0f} %), "
    "{rate_noinv_fmt}, {remaining} left"
)


def bar(
    total: int | None,
    description: str,
    unit: str = "sentences",
    initial: int = 0,
    show: bool = True,
) -> tqdm | _Hidden:
    """A progress bar to be used in a ``with`` statement and moved with ``update(n)``.

    In a terminal or in JupyterLab it is drawn in place. Where nobody watches (a
    notebook executed headlessly, output sent to a file) it becomes plain lines, one
    every few seconds, for `say`.
    """
    if not show:
        return _Hidden()
    from tqdm.auto import tqdm as tqdm_auto
    from tqdm.std import tqdm as tqdm_std

    options = {
        "total": total,
        "initial": initial,
        "desc": description,
        "unit": f" {unit}",
    }
    if paths.LOG_VARIABLE not in os.environ and (_in_jupyter() or sys.stderr.isatty()):
        return tqdm_auto(**options)
    return tqdm_std(
        **options,
        file=_Lines(),
        bar_format=LINE_FORMAT,
        mininterval=SECONDS_BETWEEN_LINES,
        miniters=1,
    )


def track(
    items: Collection[Any], description: str, unit: str = "items", show: bool = True
) -> Iterable[Any]:
    """Iterate over `items` under a progress bar."""
    with bar(len(items), description, unit, show=show) as progress:
        for item in items:
            yield item
            progress.update(1)


class Timed(dict[str, Any]):
    """Results by name, with the time that each one took.

    Parameters
    ----------
    names : iterable of str
        All names, in the order of the results.

    Attributes
    ----------
    seconds : dict of str to float
        Wall-clock time by name.
    """

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(names))
        self.seconds = dict.fromkeys(self, 0.0)

    def put(self, name: str, make: Callable[..., Any], *arguments: Any) -> None:
        """Store under a name what ``make(*arguments)`` returns and how long it took."""
        started = time.perf_counter()
        self[name] = make(*arguments)
        self.seconds[name] = time.perf_counter() - started


def say(line: str) -> None:
    """Write one line to the run's log, or else to standard error."""
    log = os.environ.get(paths.LOG_VARIABLE)
    with suppress(OSError):  # where it cannot be written, the work must go on
        if log is None:
            print(line, file=sys.stderr)
            return
        with open(log, "a", encoding="utf-8") as lines:
            print(line, file=lines)


_told: set[tuple[str, str]] = set()
_listening: list[list[str]] = []


def note(subject: str, predicate: str) -> None:
    """Tell the reader something once: below the cell that runs, and in the run's log.

    Inside `noted`, the predicate is collected instead.
    """
    if _listening:
        _listening[-1].append(predicate)
    elif (subject, predicate) not in _told:
        _told.add((subject, predicate))
        print(subject, predicate, file=sys.stderr)
        if paths.LOG_VARIABLE in os.environ:
            say(f"{subject} {predicate}")


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect what `note` would tell in a list."""
    lines: list[str] = []
    _listening.append(lines)
    try:
        yield lines
    finally:
        _listening.pop()


def _in_jupyter() -> bool:
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return bool(shell) and shell.__class__.__name__ == "ZMQInteractiveShell"


class _Hidden:
    """A bar that nobody sees and that counts nothing."""

    n = 0
    disable = True

    def __enter__(self) -> _Hidden:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to close."""

    def update(self, number: int = 1) -> None:
        """Nothing to draw."""

    def set_description_str(self, description: str, refresh: bool = True) -> None:
        """Nothing to describe."""


class _Lines:
    """A text stream that turns tqdm's redrawn bar into one line per drawing."""

    def write(self, text: str) -> None:
        line = text.replace(CURSOR_UP, "").strip()
        if line:
            say(line)

    def flush(self) -> None:
        """Nothing to do: every line is written out at once."""
