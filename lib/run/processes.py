"""Work in several processes, none of which outlives the one that started them."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from lib.run.errors import InputError
from lib.run.processor import cores

AHEAD = 2  # pieces of work for each process that are taken on before the oldest is done
LOOK = 1  # seconds between two looks at whether who started a process is still there


def in_processes(function: Callable, inputs: Iterable[tuple], workers: int = 0) -> Iterator[Any]:
    """`function` of each of some tuples of arguments, in their order, computed in so many processes; 0: one a core.

    Inputs are taken only a few ahead of what is done. What `function` raises is raised here, at once. Raises Killed,
    an InputError, if a process was killed.
    """
    workers = workers or cores()
    if workers == 1:
        yield from (function(*given) for given in inputs)
        return
    pool = _kept.pop(workers, None) or [_Worker() for _ in range(workers)]
    try:
        yield from _in_order(pool, function, inputs)
    except BaseException:  # an interrupt, too: nobody waits for what is still being worked on
        for worker in pool:
            worker.process.kill()
        raise
    _kept.clear()
    _kept[workers] = pool


class Killed(InputError):
    """One of several processes was ended from outside."""


# The processes of the last call by their number, since each takes seconds to start; while they work, nobody else's.
_kept: dict[int, list[_Worker]] = {}


def _in_order(pool: list[_Worker], function: Callable, inputs: Iterable[tuple]) -> Iterator[Any]:
    """Work goes only to who has none, so that nothing is on its way to a process that may have died."""
    idle, busy = list(pool), {}
    answers: dict[int, Any] = {}
    place = 0
    for number, given in enumerate(inputs):
        worker = idle.pop()
        worker.ask(function, given)
        busy[worker.connection] = number, worker
        while not idle or number >= place + AHEAD * len(pool):
            idle += _collect(busy, answers)
            while place in answers:
                yield answers.pop(place)
                place += 1
    while busy:
        _collect(busy, answers)
    yield from (answers[number] for number in sorted(answers))


def _collect(busy: dict[Connection, tuple[int, _Worker]], answers: dict[int, Any]) -> list[_Worker]:
    """Wait for answers; returns who has given them."""
    ready = [busy.pop(connection) for connection in wait(list(busy))]
    for number, worker in ready:
        answers[number] = worker.answer()
    return [worker for _, worker in ready]


class _Worker:
    """A process that does one piece of work after the other."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, os.getpid()), daemon=True)
        self.process.start()
        other.close()

    def ask(self, function: Callable, given: tuple) -> None:
        try:
            self.connection.send((function, given))
        except BrokenPipeError as error:
            raise self._dead() from error

    def answer(self) -> Any:
        try:
            result, error = self.connection.recv()
        except (EOFError, ConnectionError) as ended:
            raise self._dead() from ended
        if error is not None:
            raise error
        return result

    def _dead(self) -> Killed:
        self.process.join()
        return Killed(
            f"workers: one of several processes ended with status {self.process.exitcode} (-9 stands for killed, "
            "most often for lack of memory); give fewer, or free memory"
        )


def _serve(connection: Connection, parent: int) -> None:
    end_with(parent)
    while True:
        try:
            function, given = connection.recv()
        except EOFError:
            return
        try:
            answer = function(*given), None
        except Exception as error:
            error.add_note(f"In another process:\n{traceback.format_exc()}")
            answer = None, error
        connection.send(answer)


def end_with(parent: int) -> None:
    """Let this process end once its parent has: killed, it could not say so.

    An interrupt is for the parent, which then ends this one; a kernel that ends also sends one to all it has started.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def exiting_on_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP a SystemExit in the main thread, with a shell's status, so that work can be ended.

    What is ignored stays ignored: nohup's SIGHUP.
    """

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    endings = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in endings:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in endings:
            signal.signal(number, signal.SIG_DFL)
