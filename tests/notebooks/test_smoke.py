"""Every notebook, end to end, as ``make figures PROFILE=smoke`` runs it.

They run in a copy of the project, where the solutions of the exercises follow each
notebook, and where all is different that must not change a byte (`tests.differences`).
The first one runs here as well; in the nightly size all of them do.
"""

from __future__ import annotations

import json
import os
import re
import stat
from itertools import pairwise
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from audit.ledger import CLAIMS
from lib.base import paths
from tests.copies import run
from tests.differences import PLAIN, Elsewhere, results
from tests.notebooks.lesson import failure
from tests.notebooks.tables import faults
from tests.sizes import NIGHTLY
from tools.exercises import append_solutions

LESSONS = [paths.notebook_name(file) for file in paths.lessons()]
ALL = LESSONS + [paths.notebook_name(file) for file in paths.replications()]
ONE = os.environ.get("NOTEBOOK", "")  # of `make test NOTEBOOK=01`
NOTEBOOKS = [name for name in ALL if name.startswith(ONE)]
TWICE = NOTEBOOKS if NIGHTLY else ["04_paraphrase_mrr"]
EVERY = pytest.mark.parametrize("name", NOTEBOOKS)
# Who can read the kernel's temporary files and its description, and through what it is
# talked to.
KERNEL = """
import json, os
from ipykernel.connect import get_connection_file
from lib.base import paths
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
    ended = place.run("smoke", ONE)
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
        runs = elsewhere.project / ".cache" / "runs" / "smoke"
        executed = runs / f"{name}.failed.ipynb"
    assert executed.exists(), (elsewhere.project / "printed.txt").read_text()
    assert failure(executed) == ""
    assert list((smoke / name).glob("*.png"))
    # README: "Every estimate that a verdict rests on has an interval."
    tables = (smoke / name).glob("*.csv")
    assert [fault for file in tables for fault in faults(file)] == []


# README: "Same parameters, same machine: the same bytes in every CSV, PNG and SVG, but
# for `timings*`", "A notebook whose source, parameters, modules of `lib`, packages and
# data are unchanged is skipped"
@pytest.mark.parametrize("name", TWICE)
def test_from_scratch_here_the_bytes_are_the_same_and_then_nothing_is_run_again(
    smoke, scratch, name
) -> None:
    variables = os.environ | PLAIN | {"SENTENCE_CACHE": str(scratch)}
    options = ["-m", "tools.run", "--profile", "smoke", "--notebook", name]
    printed = []
    for _ in range(2):
        ended = run(paths.ROOT, variables, *options)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        printed.append(ended.stdout)
    assert "unchanged, skipped" in printed[1]
    here = results(paths.FIGURES / "smoke" / name)
    there = results(smoke / name)
    assert here.keys() == there.keys()
    assert [file for file in here if here[file] != there[file]] == []


# SECURITY: "kernels of `make figures` on sockets that you alone can open"
def test_nobody_else_can_talk_to_a_kernel(smoke) -> None:
    found = json.loads((smoke / NOTEBOOKS[0] / "kernel.json").read_text())
    assert found["transport"] == "ipc"
    assert [mode & (stat.S_IRWXG | stat.S_IRWXO) for mode in found["modes"]] == [0, 0]


@EVERY
def test_every_figure_is_described_and_in_a_lesson_read_below(smoke, name) -> None:
    for png in (smoke / name).glob("*.png"):
        assert b"Description" in png.read_bytes()[:2000]
        assert "<dc:description>" in png.with_suffix(".svg").read_text()
    cells = json.loads(executed_in(smoke, name).read_text())["cells"]
    for cell, following in pairwise([*cells, {}]):
        shown = figures(cell)
        assert all(metadata["alt"] for metadata in shown)
        # A figure that a cell begins and leaves to the next one is shown unfinished.
        outputs = [output.get("data", {}) for output in cell.get("outputs", [])]
        assert not any("image/png" in data for data in outputs), "use plotting.show"
        if shown and name in LESSONS:
            below = [*following["source"], json.dumps(following.get("outputs", []))]
            words = len(re.findall(r"\w+", "".join(below)))
            assert words > 15, f"{words} words below a figure, 16 are needed"


def figures(cell: dict) -> list[dict]:
    """What the outputs of a cell say of the figures that they show."""
    found = []
    for output in cell.get("outputs", []):
        html = output.get("metadata", {}).get("text/html", {})
        if "figure" in html:
            found.append(html)
    return found


# README: "for each claim of the papers a verdict by a written rule"
def test_every_claim_has_a_verdict_or_is_put_off_in_the_list(smoke) -> None:
    claims = pd.read_csv(smoke / "claims.csv", dtype=str, keep_default_na=False)
    assert list(claims.loc[claims["verdict"] == "", "id"]) == []
    listed = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    judged = listed["lesson"].isin(NOTEBOOKS) & ~listed["status"].str.startswith(
        "pending"
    )
    assert set(listed.loc[judged, "id"]) <= set(claims["id"])
