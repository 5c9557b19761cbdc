"""Every notebook, end to end, as ``make figures PROFILE=smoke`` runs it.

They run in a copy of the project, where the solutions of the exercises follow each
notebook, and where all is different that must not change a byte (`tests.differences`).
Light ones run here as well; in the nightly size all of them do.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from lib.ledger import CLAIMS
from lib.run import paths
from tests.differences import PLAIN, Elsewhere, results
from tests.notebooks.lesson import failure
from tests.notebooks.tables import faults
from tests.sizes import NIGHTLY
from tools.exercises import append_solutions

LESSONS = [paths.notebook_name(file) for file in paths.lessons()]
NOTEBOOKS = LESSONS + [paths.notebook_name(file) for file in paths.replications()]
TWICE = NOTEBOOKS if NIGHTLY else ["04_paraphrase_mrr"]
EVERY = pytest.mark.parametrize("name", NOTEBOOKS)
# Who can read the kernel's temporary files and its description, and through what it is
# talked to.
KERNEL = """
import json, os
from ipykernel.connect import get_connection_file
from lib.run import paths
file = get_connection_file()
modes = [os.stat(path).st_mode for path in (os.environ["TMPDIR"], file)]
found = {"transport": json.load(open(file))["transport"], "modes": modes}
(paths.figures_folder("") / "kernel.json").write_text(json.dumps(found))
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Elsewhere:
    """A copy of the project after a fresh run of all notebooks and solutions."""
    place = Elsewhere(tmp_path_factory.mktemp("elsewhere"))
    notebooks = [place.project / "notebooks" / f"{name}.ipynb" for name in NOTEBOOKS]
    for notebook in notebooks:
        append_solutions(notebook)
    first = nbformat.read(notebooks[0], as_version=4)
    first.cells.append(nbformat.v4.new_code_cell(KERNEL))
    nbformat.write(first, notebooks[0])
    ended = place.run("smoke")
    (place.project / "printed.txt").write_text(ended.stdout + ended.stderr)
    return place


@pytest.fixture(scope="module")
def smoke(elsewhere) -> Path:
    """The results of that run."""
    return elsewhere.project / "figures" / "smoke"


def executed_in(folder: Path, name: str) -> Path:
    """The executed notebook of this name among the results in a folder."""
    return folder / name / f"{Path(name).name}.ipynb"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Path:
    """A cache in which nothing is kept yet."""
    return tmp_path_factory.mktemp("scratch")


# README: "make figures # execute the notebooks and regenerate every figure and table"
# README: "two notebooks run at a time"
@EVERY
def test_every_notebook_and_the_solutions_of_its_exercises_run(
    elsewhere, smoke, name
) -> None:
    executed = executed_in(smoke, name)
    if not executed.exists():
        executed = (
            elsewhere.project / ".cache" / "runs" / "smoke" / f"{name}.failed.ipynb"
        )
    assert executed.exists(), (elsewhere.project / "printed.txt").read_text()
    assert failure(executed) == ""
    assert list((smoke / name).glob("*.png"))


# README: "Same parameters, same machine: the same bytes in every CSV, PNG and SVG, but
# for `timings*`", "A notebook whose source, parameters, modules of `lib`, packages and
# data are unchanged is skipped"
@pytest.mark.parametrize("name", TWICE)
def test_from_scratch_here_the_bytes_are_the_same_and_then_nothing_is_run_again(
    smoke, scratch, name
) -> None:
    command = [
        sys.executable,
        "-m",
        "lib.run",
        "--profile",
        "smoke",
        "--notebook",
        name,
    ]
    variables = os.environ | PLAIN | {"SENTENCE_CACHE": str(scratch)}
    options = {
        "cwd": paths.ROOT,
        "env": variables,
        "capture_output": True,
        "encoding": "utf-8",
        "timeout": 900,
    }
    first, second = (subprocess.run(command, **options) for _ in range(2))
    assert first.returncode == 0, first.stdout + first.stderr
    assert "unchanged, skipped" in second.stdout
    here, there = results(paths.FIGURES / "smoke" / name), results(smoke / name)
    assert here.keys() == there.keys()
    assert [file for file in here if here[file] != there[file]] == []


# SECURITY: "kernels of `make figures` on sockets that you alone can open"
def test_nobody_else_can_talk_to_a_kernel(smoke) -> None:
    found = json.loads((smoke / NOTEBOOKS[0] / "kernel.json").read_text())
    assert found["transport"] == "ipc"
    assert [mode & (stat.S_IRWXG | stat.S_IRWXO) for mode in found["modes"]] == [0, 0]


@EVERY
def test_every_figure_is_described_in_its_files_and_where_it_is_shown(
    smoke, name
) -> None:
    for png in (smoke / name).glob("*.png"):
        assert b"Description" in png.read_bytes()[:2000]
        assert "<dc:description>" in png.with_suffix(".svg").read_text()
    for cell in json.loads(executed_in(smoke, name).read_text())["cells"]:
        assert all(metadata["alt"] for metadata in figures(cell))
        # A figure that a cell begins and leaves to the next one is shown unfinished.
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        assert not any("image/png" in data for data in shown)


def figures(cell: dict) -> list[dict]:
    """What the outputs of a cell say of the figures that they show."""
    html = [
        output.get("metadata", {}).get("text/html", {})
        for output in cell.get("outputs", [])
    ]
    return [metadata for metadata in html if "figure" in metadata]


@pytest.mark.parametrize("name", LESSONS)
def test_every_figure_of_a_lesson_is_read_below_it(smoke, name) -> None:
    for cell, following in pairwise(
        json.loads(executed_in(smoke, name).read_text())["cells"]
    ):
        shown = figures(cell)
        prose = "".join(following["source"]) + json.dumps(following.get("outputs", []))
        assert not shown or len(re.findall(r"\w+", prose)) > 15


# README: "Every estimate that a verdict rests on has an interval."
@EVERY
def test_tables_obey_the_rules(smoke, name) -> None:
    assert [
        fault for file in (smoke / name).glob("*.csv") for fault in faults(file)
    ] == []


# README: "for each claim of the papers a verdict by a written rule"
def test_every_claim_has_a_verdict_or_is_put_off_in_the_list(smoke) -> None:
    claims = pd.read_csv(smoke / "claims.csv", dtype=str, keep_default_na=False)
    assert list(claims.loc[claims["verdict"] == "", "id"]) == []
    listed = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    judged = listed["lesson"].isin(NOTEBOOKS) & ~listed["status"].str.startswith(
        "pending"
    )
    assert set(listed.loc[judged, "id"]) <= set(claims["id"])


def test_n2o_matrix_is_symmetric_with_a_unit_diagonal(smoke) -> None:
    table = pd.read_csv(smoke / "01_n2o" / "n2o_matrix.csv", index_col="embedder")
    assert list(table.index) == list(table.columns)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 1)
    assert table.to_numpy().min() >= 0
