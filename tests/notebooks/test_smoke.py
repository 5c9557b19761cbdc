"""Every notebook, end to end, in the smoke profile, as ``make figures PROFILE=smoke`` runs it.

They run in a copy of the project, where the solutions of the exercises follow each notebook, and where all is different
that must not change a byte (`tests.differences`). Light ones run here as well; in the nightly size all of them do.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lib.run import paths
from lib.stats import CLAIMS
from tests.differences import AT_ONCE, Place, results
from tests.notebooks.lesson import failure
from tests.notebooks.tables import faults
from tests.sizes import NIGHTLY
from tools.exercises import append_solutions

NOTEBOOKS = [file.stem for file in sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))]
TWICE = NOTEBOOKS if NIGHTLY else ["00_start_here", "04_paraphrase_mrr"]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Place:
    """A copy of the project elsewhere after a run from scratch of the notebooks and their solutions."""
    place = Place(tmp_path_factory.mktemp("elsewhere")).make(*AT_ONCE)
    for name in NOTEBOOKS:
        append_solutions(place.project / "notebooks" / f"{name}.ipynb")
    ended = place.run("smoke", jobs=2)
    (place.project / "printed.txt").write_text(ended.stdout + ended.stderr)
    return place


@pytest.fixture(scope="module")
def smoke(elsewhere) -> Path:
    """The results of that run."""
    return elsewhere.project / "figures" / "smoke"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_notebook_and_the_solutions_of_its_exercises_run(elsewhere, smoke, name) -> None:
    executed = smoke / name / f"{name}.ipynb"
    if not executed.exists():
        executed = elsewhere.project / ".cache" / "runs" / "smoke" / f"{name}.failed.ipynb"
    assert executed.exists(), (elsewhere.project / "printed.txt").read_text()
    assert failure(executed) == ""
    assert list((smoke / name).glob("*.png"))


@pytest.mark.parametrize("name", TWICE)
def test_from_scratch_here_the_bytes_are_the_same_and_then_nothing_is_run_again(smoke, tmp_path, name) -> None:
    command = [sys.executable, "-m", "lib.run", "--profile", "smoke", "--notebook", name]
    variables = os.environ | {"SENTENCE_CACHE": str(tmp_path), "PYTHONHASHSEED": "1"}
    runs = [
        subprocess.run(command, cwd=paths.ROOT, env=variables, capture_output=True, text=True, timeout=900)
        for _ in range(2)
    ]
    assert runs[0].returncode == 0, runs[0].stdout + runs[0].stderr
    assert "unchanged, skipped" in runs[1].stdout
    here, there = results(paths.FIGURES / "smoke" / name), results(smoke / name)
    assert here.keys() == there.keys()
    assert [file for file in here if here[file] != there[file]] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_figure_is_png_and_svg_with_a_description(smoke, name) -> None:
    for png in (smoke / name).glob("*.png"):
        assert b"Description" in png.read_bytes()[:2000]
        assert "<dc:description>" in png.with_suffix(".svg").read_text()


def html_metadata(output: dict) -> dict:
    return output.get("metadata", {}).get("text/html", {})


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_figure_shown_has_alternative_text_and_a_reading(smoke, name) -> None:
    cells = json.loads((smoke / name / f"{name}.ipynb").read_text())["cells"]
    for i, cell in enumerate(cells):
        shown = [output for output in cell.get("outputs", []) if "figure" in html_metadata(output)]
        for output in shown:
            assert html_metadata(output)["alt"]
        if shown:
            following = cells[i + 1]
            prose = "".join(following["source"]) + json.dumps(following.get("outputs", []))
            assert len(re.findall(r"\w+", prose)) > 15


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_tables_obey_the_rules(smoke, name) -> None:
    for file in (smoke / name).glob("*.csv"):
        assert faults(file) == []


def test_every_claim_has_a_verdict_or_is_put_off_in_the_list(smoke) -> None:
    claims = pd.read_csv(smoke / "claims.csv", dtype=str, keep_default_na=False)
    assert list(claims.loc[claims["verdict"] == "", "id"]) == []
    listed = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    judged = listed["study"].isin(NOTEBOOKS) & ~listed["status"].str.startswith("pending")
    assert set(listed.loc[judged, "id"]) <= set(claims["id"])


def test_n2o_matrix_is_symmetric_with_a_unit_diagonal(smoke) -> None:
    table = pd.read_csv(smoke / "01_n2o" / "n2o_matrix.csv", index_col="embedder")
    assert list(table.index) == list(table.columns)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 1)
    assert table.to_numpy().min() >= 0
