"""How long a piece of work takes, and how much memory."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import psutil

INTERVAL = 0.02  # seconds between two looks at the memory


class Meter:
    """Measures what happens in a ``with`` statement.

    Attributes
    ----------
    seconds : float, how long it took
    gigabytes : float, how much more memory was resident at some moment than at the beginning; looked at 50 times a
        second, so that a shorter peak can be missed. Pages of mapped files count as long as the system keeps them.
    """

    seconds = 0.0
    gigabytes = 0.0

    def __enter__(self) -> Meter:
        self._process, self._ended = psutil.Process(), threading.Event()
        self._before = self._highest = self._resident()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        self._started = time.perf_counter()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.seconds = time.perf_counter() - self._started
        self._ended.set()
        self._watcher.join()
        self.gigabytes = (max(self._highest, self._resident()) - self._before) / 1e9

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._highest = max(self._highest, self._resident())

    def _resident(self) -> int:
        return self._process.memory_info().rss
