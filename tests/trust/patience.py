"""Readers that do not come to an end are told apart from slow ones."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def in_time(seconds: int) -> Iterator[None]:
    """TimeoutError for what does not come to an end."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not at an end after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
