"""One matrix: each kind of failure against each kind of thing that the cache keeps.

Whatever happens to a run, the next one ends with the same bytes; two at once do the work once; what cannot be written
is one sentence, and what is complete is still read.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from lib.run import cache
from tests.sizes import KILLS
from tests.trust.jobs import FOLDERS, JOBS
from tests.trust.launcher import Plan, Run, empty, tree

WAITS = "waiting for another run that is"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """All runs of one job work below the same path, since what they keep may name it."""
    return tmp_path_factory.mktemp("cache") / "work"


@pytest.fixture(scope="module", params=list(JOBS))
def undisturbed(request, place) -> tuple[str, dict, dict[str, bytes]]:
    """A job, what it answers when nothing happens to it, and all files that it leaves."""
    answer = Run(request.param, empty(place)).end()
    return request.param, answer, tree(place)


def finish(job: str, place: Path, answer: dict, files: dict[str, bytes]) -> None:
    """Run a job to its end: its result and all its files are those of an undisturbed run."""
    assert Run(job, place).end()["result"] == answer["result"]
    assert {name: content == files.get(name) for name, content in tree(place).items()} == dict.fromkeys(files, True)


def kept(job: str, files: dict[str, bytes]) -> list[str]:
    """The files that a job reads when all is there."""
    names = [name for name in files if name.startswith(FOLDERS[job]) and not name.endswith(("lock", cache.ABOUT))]
    assert names
    return names


def test_a_second_run_reads(undisturbed, place) -> None:
    job, answer, files = undisturbed
    Run(job, empty(place)).end()
    assert Run(job, place, Plan(read_only=True)).end()["result"] == answer["result"]
    assert tree(place) == files


@pytest.mark.parametrize("undisturbed", [*JOBS, "sent2vec"], indirect=True)
def test_killed_at_any_moment_the_next_run_ends_with_the_same_bytes(undisturbed, place) -> None:
    job, answer, files = undisturbed
    rng = random.Random(job)
    empty(place)
    for touch in sorted(rng.choices(range(1, answer["touches"] + 1), k=KILLS)):
        killed = Run(job, place, Plan(signal.SIGKILL, touch)).end()["killed"]
        if not killed:  # what is there left fewer touches to be done
            empty(place)
    Run(job, place, Plan(signal.SIGKILL, answer["touches"])).end()
    finish(job, place, answer, files)


@pytest.mark.parametrize("undisturbed", [*JOBS, "sent2vec"], indirect=True)
def test_killed_at_random_times(undisturbed, place) -> None:
    job, answer, files = undisturbed
    rng = random.Random(f"{job} times")
    empty(place)
    for _ in range(KILLS):
        run = Run(job, place)
        run.process.join(rng.uniform(0, answer["seconds"]))
        run.process.kill()
        run.end()
    finish(job, place, answer, files)


@pytest.mark.parametrize("damage", ["cut", "emptied", "deleted"])
def test_a_file_of_another_size_is_made_again(undisturbed, place, damage) -> None:
    job, answer, files = undisturbed
    for name in kept(job, files):
        empty(place)
        Run(job, place).end()
        content = files[name]
        (place / name).unlink()
        if damage != "deleted":
            (place / name).write_bytes(content[:-1] if damage == "cut" else b"")
        finish(job, place, answer, files)


def test_a_description_that_is_gone_means_that_it_is_made_again(undisturbed, place) -> None:
    job, answer, files = undisturbed
    Run(job, empty(place)).end()
    for about in place.glob(f"{FOLDERS[job]}/*/{cache.ABOUT}"):
        about.unlink()
    finish(job, place, answer, files)


def test_of_two_at_once_one_works_and_the_other_waits_says_so_and_uses_it(undisturbed, place) -> None:
    job, answer, files = undisturbed
    first = Run(job, empty(place), Plan(signal.SIGSTOP, answer["touches"]))
    first.wait_until_stopped()
    second = Run(job, place)
    second.wait_for(WAITS)
    first.kill(signal.SIGCONT)
    assert first.end()["result"] == second.end()["result"] == answer["result"]
    assert WAITS not in first.printed.read_text()
    assert tree(place) == files


def test_where_the_one_that_works_is_killed_the_other_goes_on(undisturbed, place) -> None:
    job, answer, files = undisturbed
    first = Run(job, empty(place), Plan(signal.SIGSTOP, answer["touches"]))
    first.wait_until_stopped()
    second = Run(job, place)
    second.wait_for(WAITS)
    first.kill()
    assert second.end()["result"] == answer["result"]
    assert tree(place) == files


@pytest.mark.parametrize("undisturbed", [*JOBS, "sent2vec"], indirect=True)
def test_a_full_disk_gets_a_sentence_and_loses_nothing(undisturbed, place) -> None:
    job, answer, files = undisturbed
    empty(place)
    largest = max(map(len, files.values()), default=1000)
    refused = Run(job, place, Plan(largest_file=largest - 1)).end()["refused"]
    assert "cannot be written (File too large); make room there" in refused
    assert "\n" not in refused
    finish(job, place, answer, files)


@pytest.mark.parametrize("undisturbed", [*JOBS, "sent2vec"], indirect=True)
def test_a_folder_that_cannot_be_written_gets_a_sentence(undisturbed, place) -> None:
    job, _, _ = undisturbed
    refused = Run(job, empty(place), Plan(read_only=True)).end()["refused"]
    assert "cannot be written (Permission denied)" in refused
    assert str(place) in refused


def test_another_format_means_that_it_is_made_again(undisturbed, place) -> None:
    job, answer, files = undisturbed
    Run(job, empty(place)).end()
    assert Run(job, place, Plan(format=cache.FORMAT + 1)).end()["result"] == answer["result"]
    both = tree(place)
    assert {name: both[name] for name in files} == files
    assert len(both) >= 2 * len(files)


def test_the_check_names_what_was_changed_without_changing_its_size(undisturbed, place) -> None:
    job, _, files = undisturbed
    Run(job, empty(place)).end()
    assert cache.damaged(place) == []
    name = kept(job, files)[0]
    content = bytearray(files[name])
    content[-1] ^= 1
    (place / name).write_bytes(content)
    assert cache.damaged(place) == [place / name]
