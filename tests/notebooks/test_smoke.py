"""Every notebook, end to end, in the smoke profile, as ``make figures PROFILE=smoke`` runs it.

The second of two runs is made in a copy of the project, where the solutions of the exercises follow each notebook, and
where all is different that must not change a byte (`tests.differences`).
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
from tests.notebooks.lesson import append_solutions, failure
from tests.notebooks.tables import faults

NOTEBOOKS = [file.stem for file in sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))]
SMOKE = paths.FIGURES / "smoke"


def run_all(folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "lib.run", "--profile", "smoke", "--jobs", "2"]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=1800)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """The results of one run from scratch, and what a second one says right after it."""
    variables = os.environ | {"SENTENCE_CACHE": str(tmp_path_factory.mktemp("cache")), "PYTHONHASHSEED": "1"}
    ended = run_all(paths.ROOT, variables)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return results(SMOKE), run_all(paths.ROOT, variables).stdout


@pytest.fixture(scope="module")
def run_with_solutions(tmp_path_factory) -> Path:
    """A copy of the project elsewhere after a run from scratch of the notebooks and their solutions."""
    place = Place(tmp_path_factory.mktemp("elsewhere")).make(*AT_ONCE)
    for name in NOTEBOOKS:
        append_solutions(place.project / "notebooks" / f"{name}.ipynb")
    ended = place.run("smoke", jobs=2)
    (place.project / "said.txt").write_text(ended.stdout + ended.stderr)
    return place.project


def executed(project: Path, name: str) -> Path:
    """The notebook as it was executed in the copy, whether to its end or not."""
    done = project / "figures" / "smoke" / name / f"{name}.ipynb"
    return done if done.exists() else project / ".cache" / "runs" / "smoke" / f"{name}.failed.ipynb"


def test_every_notebook_runs(first_run) -> None:
    for name in NOTEBOOKS:
        assert (SMOKE / name / f"{name}.ipynb").exists()
        assert list((SMOKE / name).glob("*.png"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_solutions_of_the_exercises_run(run_with_solutions, name) -> None:
    assert executed(run_with_solutions, name).exists(), (run_with_solutions / "said.txt").read_text()
    assert failure(executed(run_with_solutions, name)) == ""


def test_from_scratch_elsewhere_the_bytes_are_the_same(first_run, run_with_solutions) -> None:
    again = results(run_with_solutions / "figures" / "smoke")
    assert again.keys() == first_run[0].keys(), (run_with_solutions / "said.txt").read_text()
    assert [name for name in again if again[name] != first_run[0][name]] == []


def test_unchanged_notebooks_are_skipped(first_run) -> None:
    assert first_run[1].count("unchanged, skipped") == len(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_figure_is_png_and_svg_with_a_description(first_run, name) -> None:
    for png in (SMOKE / name).glob("*.png"):
        assert b"Description" in png.read_bytes()[:2000]
        assert "<dc:description>" in png.with_suffix(".svg").read_text()


def html_metadata(output: dict) -> dict:
    return output.get("metadata", {}).get("text/html", {})


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_figure_shown_has_alternative_text_and_a_reading(first_run, name) -> None:
    cells = json.loads((SMOKE / name / f"{name}.ipynb").read_text())["cells"]
    for i, cell in enumerate(cells):
        shown = [output for output in cell.get("outputs", []) if "figure" in html_metadata(output)]
        for output in shown:
            assert html_metadata(output)["alt"]
        if shown:
            following = cells[i + 1]
            prose = "".join(following["source"]) + json.dumps(following.get("outputs", []))
            assert len(re.findall(r"\w+", prose)) > 15


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_tables_obey_the_rules(first_run, name) -> None:
    for file in (SMOKE / name).glob("*.csv"):
        assert faults(file) == []


def test_every_claim_has_a_verdict_or_is_put_off_in_the_list(first_run) -> None:
    claims = pd.read_csv(SMOKE / "claims.csv", dtype=str, keep_default_na=False)
    assert list(claims.loc[claims["verdict"] == "", "id"]) == []
    listed = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    judged = listed["study"].isin(NOTEBOOKS) & ~listed["status"].str.startswith("pending")
    assert set(listed.loc[judged, "id"]) <= set(claims["id"])


def test_n2o_matrix_is_symmetric_with_a_unit_diagonal(first_run) -> None:
    table = pd.read_csv(SMOKE / "01_n2o" / "n2o_matrix.csv", index_col="embedder")
    assert list(table.index) == list(table.columns)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 1)
    assert table.to_numpy().min() >= 0
