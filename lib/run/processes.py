"""Work in several processes."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import starmap
from typing import Any

from joblib.externals.loky import BrokenProcessPool, get_reusable_executor, process_executor

from lib.run.errors import InputError
from lib.run.processor import cores

AHEAD = 2  # pieces of work for each process that are prepared before the oldest is done


def in_processes(function: Callable, inputs: Iterable[tuple], workers: int = 0) -> Iterator[Any]:
    """Compute a function of each of some tuples of arguments in several processes; yield the results in order.

    `joblib.Parallel` would prepare the inputs, for which embedders encode, in a thread of its own.

    Parameters
    ----------
    function : callable
        What it raises is raised here.
    inputs : iterable of tuple
        Taken only a few ahead of what is done.
    workers : int
        Number of processes; 0 for one a core. Results do not depend on it.

    Raises InputError if a process was killed.
    """
    workers = workers or cores()
    if workers == 1:
        yield from starmap(function, inputs)
        return
    pool = get_reusable_executor(workers, timeout=None, initializer=_begin)
    pending = deque()
    try:
        for arguments in inputs:
            pending.append(pool.submit(function, *arguments))
            if len(pending) == AHEAD * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise InputError(
            "workers: one of several processes was killed, most often for lack of memory; give fewer, or free memory"
        ) from error
    except BaseException:  # an interrupt, too: nobody waits for what is still being computed
        pool.shutdown(wait=False, kill_workers=True)
        raise


def _begin() -> None:
    """Let this process end when its parent was killed, and only then.

    By itself it would also end, with a warning, once it has grown by 300 MB since its first piece of work, as it does
    when the second one imports a large package.
    """
    process_executor._MAX_MEMORY_LEAK_SIZE = float("inf")
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
