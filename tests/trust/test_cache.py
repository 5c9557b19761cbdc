"""One matrix: each kind of failure against each kind of thing that the cache keeps.

Whatever happens to a run, the next one ends with the same bytes; two at once do the
work once; what cannot be written is one sentence, and what is complete is still read.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from lib.base import cache
from tests.sizes import KILLS, NIGHTLY
from tests.trust.jobs import FOLDERS, JOBS
from tests.trust.launcher import Plan, Run, empty, tree

WAITS = "waiting for another run that is"
ALSO_TRAINING = pytest.mark.parametrize(
    "undisturbed", [*JOBS, "sent2vec"], indirect=True
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """All runs of a job use the same path, since the files they keep may name it."""
    return tmp_path_factory.mktemp("cache") / "work"


@pytest.fixture(scope="module", params=list(JOBS))
def undisturbed(request, place) -> tuple[str, dict, dict[str, bytes]]:
    """A job, its undisturbed answer, and all files that it leaves."""
    answer = Run(request.param, empty(place)).end()
    return request.param, answer, tree(place)


def finish(job: str, place: Path, answer: dict, files: dict[str, bytes]) -> None:
    """Run a job to its end: result and files match those of an undisturbed run."""
    assert Run(job, place).end()["result"] == answer["result"]
    assert tree(place) == files


# README: "Embeddings are kept in `.cache/`: a run that was killed goes on where it
# stopped."
@ALSO_TRAINING
def test_killed_at_any_moment_the_next_run_ends_with_the_same_bytes(
    undisturbed, place
) -> None:
    job, answer, files = undisturbed
    rng = random.Random(job)
    empty(place)
    for _ in range(KILLS):
        plan = Plan(signal.SIGKILL, rng.randint(1, answer["touches"]))
        if not Run(job, place, plan).end()["killed"]:
            empty(place)  # what is there left fewer touches to be done
        at_a_time = Run(job, place)
        at_a_time.process.join(rng.uniform(0, answer["seconds"]))
        at_a_time.process.kill()
        at_a_time.end()
    finish(job, place, answer, files)


def test_what_is_complete_is_read_and_of_another_size_made_again(
    undisturbed, place
) -> None:
    job, answer, files = undisturbed
    Run(job, empty(place)).end()
    assert Run(job, place, Plan(read_only=True)).end()["result"] == answer["result"]
    kept = [
        name
        for name in files
        if name.startswith(FOLDERS[job]) and not name.endswith("lock")
    ]
    for name in kept if NIGHTLY else random.Random(job).sample(kept, 2):
        (place / name).unlink()
        if not name.endswith(cache.ABOUT):
            (place / name).write_bytes(files[name][:-1])
        finish(job, place, answer, files)


@pytest.mark.parametrize("number", [signal.SIGCONT, signal.SIGKILL])
def test_of_two_at_once_one_works_the_other_waits_and_goes_on_where_it_is_killed(
    undisturbed, place, number
) -> None:
    job, answer, files = undisturbed
    first = Run(job, empty(place), Plan(signal.SIGSTOP, answer["touches"]))
    first.wait_until_stopped()
    second = Run(job, place)
    second.wait_for(WAITS)
    os.kill(first.process.pid, number)
    assert second.end()["result"] == answer["result"]
    assert first.end().get("result", answer["result"]) == answer["result"]
    assert WAITS not in first.printed.read_text()
    assert tree(place) == files


@ALSO_TRAINING
def test_a_disk_that_cannot_be_written_gets_a_sentence_and_loses_nothing(
    undisturbed, place
) -> None:
    job, answer, files = undisturbed
    largest = max(map(len, files.values()), default=1000)
    for plan, reason in (
        (Plan(largest_file=largest - 1), "(File too large); make room there"),
        (Plan(read_only=True), "(Permission denied)"),
    ):
        refused = Run(job, empty(place), plan).end()["refused"]
        assert f"cannot be written {reason}" in refused
        assert str(place) in refused
        assert "\n" not in refused
        finish(job, place, answer, files)
