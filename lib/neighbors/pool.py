"""Work in threads, for compiled code that runs without Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any


def in_threads(
    work: Callable[[Any, range], None],
    states: Sequence[Any],
    ranges: Iterable[range],
    update: Callable[[int], Any],
    enter_thread: Callable[[], None] | None = None,
) -> None:
    """Call ``work(state, range)`` for each of `ranges`, in as many threads as there are `states`.

    No two calls use one state at the same time. `update` is called with the length of each range that is done, in
    order; so the first range that fails is the one whose error is raised. `enter_thread` is called once in each
    thread.
    """
    idle: SimpleQueue[Any] = SimpleQueue()
    for state in states:
        idle.put(state)

    def one(some: range) -> int:
        state = idle.get()
        try:
            work(state, some)
        finally:
            idle.put(state)
        return len(some)

    with ThreadPoolExecutor(len(states), initializer=enter_thread) as pool:
        for done in pool.map(one, ranges):
            update(done)


def cut(start: int, stop: int, step: int) -> list[range]:
    """The integers from `start` to before `stop`, in consecutive ranges of at most `step`."""
    return [range(first, min(first + step, stop)) for first in range(start, stop, step)]
