"""Work in several processes keeps its order.

Nothing is left behind if the parent process is killed or interrupted.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from lib.base import paths
from lib.base.cluster import in_processes
from tests.refusals import refused
from tests.sizes import NIGHTLY

# Two processes are busy while more work is on its way to them.
SCRIPT = """
import os, time
from lib.base.cluster import in_processes

def busy(seconds, load):
    time.sleep(seconds)
    return os.getpid()

if __name__ == "__main__":
    work = ((0.2 if i < 4 else 600, b"x" * 500_000) for i in range(20))
    for pid in in_processes(busy, work, 2):
        print(pid, flush=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_work(workers) -> None:
    assert list(in_processes(pow, ((i, 2) for i in range(12)), workers)) == [
        i**2 for i in range(12)
    ]


def test_work_is_taken_on_only_a_few_pieces_ahead() -> None:
    seconds = iter([0.5, *[0.0] * 99])
    done = in_processes(time.sleep, zip(seconds), 2)
    next(done)
    # The first, and twice as many as there are processes.
    assert len(list(seconds)) >= 95
    done.close()


def test_a_killed_process_is_one_sentence_and_the_next_call_works() -> None:
    with refused("a process was killed"):
        list(in_processes(_kill_itself, [(i, b"x" * 500_000) for i in range(6)], 2))
    assert list(in_processes(pow, [(2, 3), (3, 2)], 2)) == [8, 9]


def _kill_itself(number: int, load: bytes) -> None:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)


ENDS = [
    (os.kill, signal.SIGKILL),
    (os.kill, signal.SIGINT),
    (os.killpg, signal.SIGINT),
]


@pytest.mark.parametrize(("send", "how"), ENDS if NIGHTLY else ENDS[:1])
def test_no_process_is_left_when_who_started_them_ends(tmp_path, send, how) -> None:
    """One traceback is enough, even if a kernel interrupts all processes."""
    script = tmp_path / "busy.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(paths.ROOT)}
    with (tmp_path / "errors").open("w") as errors:
        starter = subprocess.Popen(
            [sys.executable, script],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    started = {int(starter.stdout.readline()) for _ in range(4)}
    send(starter.pid, how)
    starter.wait(30)
    starter.stdout.close()
    deadline = time.monotonic() + 20
    while any(map(psutil.pid_exists, started)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(psutil.pid_exists, started))
    assert (tmp_path / "errors").read_text(encoding="utf-8").count("Traceback") <= 1
