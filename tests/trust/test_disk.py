"""Files that users ask for, on a full disk.

A failure is reported in one sentence, and existing files stay whole. What the cache
keeps is tested in `test_cache`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from lib import plotting
from lib.run import jobs, paths, runner
from lib.sent2vec import Sent2Vec
from tests.refusals import refused
from tests.trust.launcher import files_of_at_most
from tests.unit.test_run import write_notebook
from tests.unit.test_situate import toy


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


# docs/troubleshooting.md: "`...: cannot be written (No space left on device); make room
# there, ...`"
@pytest.mark.parametrize("file", [", '/x'", ""])
def test_a_full_disk_that_a_notebook_runs_into_is_the_sentence_of_the_documentation(
    tmp_path, monkeypatch, file
) -> None:
    for name in ("notebooks", "params", "figures", "runs"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(paths, name.upper(), tmp_path / name)
    source = f"import os\nraise OSError(28, os.strerror(28){file})"
    write_notebook(paths.NOTEBOOKS, "01_x", source)
    (said,) = runner.run_all(jobs.select("01", "default"), 1, force=False).values()
    place = "/x" if file else tmp_path / "figures" / "default" / "01_x"
    assert said == (
        f"{place}: cannot be written (No space left on device); make room there, or "
        "make it writable, and run again"
    )
