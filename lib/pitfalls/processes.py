"""Work in several processes, none of which outlives the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing.synchronize import Event
from typing import Any

from lib.processor import cores

AHEAD = 2  # pieces of work a process has waiting: enough to be busy, and few embeddings in memory
LOOK = 1  # seconds between two looks at whether who started a process is still there


def in_processes(function: Callable, inputs: Iterable[tuple], workers: int = 0) -> Iterator[Any]:
    """`function` of each of some tuples of arguments, in their order, computed in so many processes; 0: one a core."""
    workers = workers or cores()
    if workers == 1:
        yield from (function(*given) for given in inputs)
        return
    pool, stop = _pool(workers)
    waiting: deque = deque()
    try:
        for given in inputs:
            waiting.append(pool.submit(function, *given))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BaseException:  # an interrupt, too: nobody waits for what is still being worked on
        stop.set()
        _pool.cache_clear()
        raise


@lru_cache(maxsize=1)
def _pool(workers: int) -> tuple[ProcessPoolExecutor, Event]:
    """The processes, kept from one call to the next since each takes seconds to start, and what ends them at once."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    return ProcessPoolExecutor(workers, context, initializer=_end_with, initargs=(os.getpid(), stop)), stop


def _end_with(parent: int, stop: Event) -> None:
    """Let this process end when it is told to, and once its parent has: killed, it leaves processes without work.

    An interrupt is for the parent, which then tells; a kernel that ends also sends one to all that it has started.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent and not stop.wait(LOOK):
            continue
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
