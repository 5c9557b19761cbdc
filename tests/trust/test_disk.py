"""Files that users ask for, on a full disk or on another one.

A failure is reported in one sentence, and existing files stay whole. What the cache
keeps is tested in `test_cache`.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from lib import plotting
from lib.base import files, paths
from lib.sent2vec import Sent2Vec
from tests.refusals import refused
from tests.studies.test_situate import IDS, QUERIES, hoods
from tests.tools.test_run import BAD, BROKEN, GOOD, write_notebook
from tests.trust.launcher import files_of_at_most
from tools.run import jobs, runner


def figure(folder: Path) -> None:
    drawn, axes = plt.subplots(figsize=(2, 2))
    axes.plot([1, 2, 3])
    plotting.show(drawn, "toy", "lines", "Lines.")
    plt.close("all")


def table(folder: Path) -> None:
    plotting.write_table(pd.DataFrame({"k": range(2000)}), "toy", "table")


def neighbors(folder: Path) -> None:
    hoods(IDS, QUERIES, 6).write(folder / "neighbors.parquet")


@cache
def trained() -> Sent2Vec:
    sentences = [f"sentence number {i} of many" for i in range(40)]
    return Sent2Vec.train(sentences, dim=4, epochs=1, min_count=1, bucket=50, threads=1)


def model(folder: Path) -> None:
    trained().save(folder / "model.bin")


# SECURITY: "A large or damaged file may use up memory or disk. That ends with a
# sentence ...; results stay."
@pytest.mark.parametrize("write", [figure, table, neighbors, model])
def test_a_full_disk_gets_a_sentence_and_leaves_what_was_there(
    tmp_path, monkeypatch, write
) -> None:
    monkeypatch.setenv(paths.FIGURES_VARIABLE, str(tmp_path))
    write(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for size in (0, min(map(len, before.values())) - 1):
        with files_of_at_most(size), refused("cannot be written (File too large)"):
            write(tmp_path)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


# -- other disks -----------------------------------------------------------------------

FULL = (
    "cannot be written (No space left on device); make room there, or make it "
    "writable, and run again"
)
# Fills the disk of the figures, and says nothing about it.
FILL = (
    "import os\nfrom lib.base import paths\n"
    "with open(paths.figures_folder('x') / 'fill', 'wb', buffering=0) as stream:\n"
    "    try:\n        while True: stream.write(bytes(4096))\n"
    "    except OSError: pass\n"
)


@pytest.fixture
def disk(tmp_path) -> Iterator[Callable[[str, str], Path]]:
    """A function that mounts a small file system under a name.

    The test is skipped where mounting is not allowed.
    """
    mounted: list[Path] = []

    def mount(name: str, size: str) -> Path:
        place = tmp_path / name
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"needs the right to mount a file system ({error})")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def failure(tmp_path, monkeypatch) -> Callable[..., str]:
    """A function that executes a notebook here and says why it failed.

    Its figures and records are written to these places.
    """

    def reason(source: str, **places: Path) -> str:
        for name in ("notebooks", "params", "figures", "runs"):
            place = places.get(name, tmp_path / name)
            place.mkdir(exist_ok=True)
            monkeypatch.setattr(paths, name.upper(), place)
        write_notebook(paths.NOTEBOOKS, "01_x", source)
        (said,) = runner.run_all(jobs.select("01", "default"), 1, force=False).values()
        return said

    return reason


@pytest.mark.parametrize("other", ["runs", "figures"])
def test_the_first_error_comes_through_where_the_cache_and_the_figures_are_on_two_disks(
    disk, failure, other
) -> None:
    place = disk(other, "8m")
    assert failure(BAD, **{other: place}) == "k: 5 is not accepted; give 1 to 3"
    said = failure(BROKEN, **{other: place})
    assert said.startswith(
        "ZeroDivisionError in cell 2: division by zero (executed so far: "
    )
    assert Path(said.removesuffix(")").rpartition(": ")[2]).read_text().startswith("{")


# docs/troubleshooting.md: "`...: cannot be written (No space left on device); make room
# there, ...`"
@pytest.mark.parametrize("full", ["runs", "figures"])
def test_a_full_disk_is_the_sentence_of_the_documentation(disk, failure, full) -> None:
    place = disk(full, "64k")
    if full == "runs":
        with (place / "fill").open("wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(bytes(4096))
        said = failure(GOOD, runs=place)
    else:
        said = failure(f"{FILL}{GOOD}", figures=place)
    assert said.startswith(str(place))
    assert said.endswith(FULL)


def test_a_full_disk_does_not_hide_what_was_wrong_first(disk, failure) -> None:
    said = failure(
        f"{FILL}{BAD}", figures=disk("figures", "64k"), runs=disk("runs", "64k")
    )
    assert said == "k: 5 is not accepted; give 1 to 3"


@pytest.mark.parametrize(
    ("file", "place"), [(", '/x'", "/x"), ("", "figures/default/01_x")]
)
def test_a_full_disk_that_a_package_stumbles_over_is_the_sentence_too(
    failure, tmp_path, file, place
) -> None:
    said = failure(f"raise OSError({errno.ENOSPC}, 'No space left on device'{file})")
    assert said == f"{tmp_path / place}: {FULL}"


def test_a_file_moves_to_another_disk_whole_or_not_at_all(disk, tmp_path) -> None:
    target = disk("other", "64k") / "file"
    (tmp_path / "file").write_bytes(b"content")
    files.move(tmp_path / "file", target)
    assert not (tmp_path / "file").exists()
    (tmp_path / "file").write_bytes(bytes(100_000))
    with refused(f"{target}: {FULL}"):
        files.move(tmp_path / "file", target)
    assert (tmp_path / "file").exists()
    assert target.read_bytes() == b"content"
    assert [file.name for file in target.parent.iterdir()] == ["file"]


def test_a_file_moves_where_renaming_is_refused_across_disks(
    tmp_path, monkeypatch
) -> None:
    """The same where nothing may be mounted: the system's refusal is raised here."""
    replace = os.replace

    def across(source: Path, target: Path) -> None:
        if Path(source).parent != Path(target).parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        replace(source, target)

    monkeypatch.setattr(os, "replace", across)
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "folder").mkdir()
    files.move(tmp_path / "file", tmp_path / "folder" / "file")
    assert not (tmp_path / "file").exists()
    assert (tmp_path / "folder" / "file").read_bytes() == b"content"
