"""Every notebook, end to end, in the smoke profile, as ``make figures PROFILE=smoke`` runs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lib import paths

NOTEBOOKS = [file.stem for file in sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))]
SMOKE = paths.FIGURES / "smoke"
KEPT = (".png", ".svg", ".csv", ".parquet")


def run_all(cache, hash_seed: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "lib.run", "--profile", "smoke", "--jobs", "2"]
    environment = os.environ | {"SENTENCE_CACHE": str(cache), "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, cwd=paths.ROOT, env=environment, capture_output=True, text=True, timeout=600)


def results() -> dict[str, bytes]:
    """The files that must be the same on every run: all but executed notebooks and what measures time."""
    files = [file for file in SMOKE.rglob("*") if file.suffix in KEPT and not file.stem.startswith("timings")]
    return {str(file.relative_to(SMOKE)): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """The results of one run from scratch, and what a second one says right after it."""
    cache = tmp_path_factory.mktemp("cache")
    ended = run_all(cache, "1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return results(), run_all(cache, "1").stdout


def test_every_notebook_runs(first_run) -> None:
    for name in NOTEBOOKS:
        assert (SMOKE / name / f"{name}.ipynb").exists()
        assert list((SMOKE / name).glob("*.png"))


def test_from_scratch_with_another_hash_seed_the_bytes_are_the_same(first_run, tmp_path) -> None:
    ended = run_all(tmp_path, "2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    again = results()
    assert again.keys() == first_run[0].keys()
    assert [name for name in again if again[name] != first_run[0][name]] == []


def test_unchanged_notebooks_are_skipped(first_run) -> None:
    assert first_run[1].count("unchanged, skipped") == len(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_figure_is_png_and_svg_with_a_description(first_run, name) -> None:
    for png in (SMOKE / name).glob("*.png"):
        assert b"Description" in png.read_bytes()[:2000]
        assert "<dc:description>" in png.with_suffix(".svg").read_text()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_figure_shown_has_alternative_text_and_a_reading(first_run, name) -> None:
    cells = json.loads((SMOKE / name / f"{name}.ipynb").read_text())["cells"]
    for i, cell in enumerate(cells):
        shown = [output for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
        for output in shown:
            assert output["metadata"]["image/png"]["alt"]
        if shown:
            following = cells[i + 1]
            prose = "".join(following["source"]) + json.dumps(following.get("outputs", []))
            assert len(re.findall(r"\w+", prose)) > 15


def test_n2o_matrix_is_symmetric_with_a_unit_diagonal(first_run) -> None:
    table = pd.read_csv(SMOKE / "01_n2o" / "n2o_matrix.csv", index_col="embedder")
    assert list(table.index) == list(table.columns)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 1)
    assert table.to_numpy().min() >= 0
