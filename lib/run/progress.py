"""Progress of long work: items, rate and time left, in a terminal, in JupyterLab, and as lines in a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tqdm.auto import tqdm as tqdm_auto
from tqdm.std import tqdm as tqdm_std

from lib.run import paths

SECONDS_BETWEEN_LINES = 5.0
CURSOR_UP = "\x1b[A"  # tqdm moves between nested bars with it
LINE_FORMAT = "{desc}: {n_fmt} of {total_fmt}{unit} ({percentage:.0f} %), {rate_noinv_fmt}, {remaining} left"


def bar(total: int, description: str, unit: str = "sentences", initial: int = 0, show: bool = True) -> tqdm_std:
    """A progress bar to be used in a ``with`` statement and moved with ``update(n)``.

    In a terminal or in JupyterLab it is drawn in place. Where nobody watches (a notebook executed
    headlessly, output sent to a file) it becomes plain lines, one every few seconds, which go to the file
    that the environment variable SENTENCE_LOG names or else to standard error.
    """
    common = {"total": total, "initial": initial, "desc": description, "unit": f" {unit}", "disable": not show}
    log = os.environ.get(paths.LOG_VARIABLE)
    if not log and (_in_jupyter() or sys.stderr.isatty()):
        return tqdm_auto(**common)
    return tqdm_std(**common, file=_Lines(log), bar_format=LINE_FORMAT, mininterval=SECONDS_BETWEEN_LINES, miniters=1)


def track(items: Iterable[Any], description: str, unit: str = "items", show: bool = True) -> Iterable[Any]:
    """Iterate over `items` (which must have a length) under a progress bar."""
    with bar(len(items), description, unit, show=show) as progress:  # type: ignore[arg-type]
        for item in items:
            yield item
            progress.update(1)


def say(line: str) -> None:
    """Write one line to where the bars of this process are written as lines: the run's log, or standard error."""
    _Lines(os.environ.get(paths.LOG_VARIABLE)).write(line)


def _in_jupyter() -> bool:
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return bool(shell) and shell.__class__.__name__ == "ZMQInteractiveShell"


class _Lines:
    """A text stream that turns tqdm's redrawn bar into one line per drawing."""

    def __init__(self, file: str | None) -> None:
        self.file = file

    def write(self, text: str) -> None:
        if not (line := text.replace(CURSOR_UP, "").strip()):
            return
        with suppress(OSError):  # where the log cannot be written, the work must go on
            if self.file is None:
                print(line, file=sys.stderr)
                return
            with open(self.file, "a", encoding="utf-8") as log:
                print(line, file=log)

    def flush(self) -> None:
        """Nothing to do: every line is written out at once."""
