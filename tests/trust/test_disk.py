"""Files that users ask for, on a full disk: one sentence, and what was there before stays whole.

What the cache keeps is tested in `test_cache`.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from lib import plotting
from lib.run import paths
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec
from tests.unit.test_situate import toy

SENTENCES = [f"sentence number {i} of many" for i in range(40)]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the system refuse to write more bytes to any file, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def figure(folder: Path) -> None:
    drawn, axes = plt.subplots(figsize=(2, 2))
    axes.plot([1, 2, 3])
    plotting.show(drawn, "toy", "lines", "Lines.")
    plt.close("all")


def table(folder: Path) -> None:
    plotting.write_table(pd.DataFrame({"k": range(2000)}), "toy", "table")


def neighbors(folder: Path) -> None:
    toy().write(folder / "neighbors.parquet")


@cache
def trained() -> Sent2Vec:
    return Sent2Vec.train(SENTENCES, dim=4, epochs=1, min_count=1, bucket=50, threads=1)


def model(folder: Path) -> None:
    trained().save(folder / "model.bin")


@pytest.mark.parametrize("write", [figure, table, neighbors, model])
def test_a_full_disk_gets_a_sentence_and_leaves_what_was_there(tmp_path, monkeypatch, write) -> None:
    monkeypatch.setenv(paths.FIGURES_VARIABLE, str(tmp_path))
    write(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for size in (0, min(map(len, before.values())) - 1):
        with files_of_at_most(size), pytest.raises(InputError) as error:
            write(tmp_path)
        assert "cannot be written (File too large)" in str(error.value)
        assert "\n" not in str(error.value)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is always full")
def test_output_that_goes_to_a_full_disk_gets_a_sentence(tmp_path) -> None:
    (tmp_path / "runs").mkdir()
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lib.run.cache"],
            cwd=paths.ROOT,
            env=os.environ | {"SENTENCE_CACHE": str(tmp_path)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
