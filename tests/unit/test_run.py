"""The runner skips what is unchanged, replaces results only by whole ones, and lets no failure stop the others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from lib.run import parameters, paths
from lib.run import runner as run
from lib.run.digest import library_files
from lib.run.errors import InputError

GOOD = (
    "from lib.run import paths, progress\n"
    "folder = paths.figures_folder('x')\n"
    "(folder / 'table.csv').write_text(f'k\\n{k}\\n')\n"
    "with progress.bar(3, 'counting', 'steps') as bar:\n"
    "    bar.update(3)"
)
BAD = "from lib.run.errors import InputError\nraise InputError('k: 5 is not accepted; give 1 to 3')"
BROKEN = "1 / 0"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Places for notebooks, parameters, figures and records; returns a function that writes a notebook."""
    for name in ("NOTEBOOKS", "PARAMS", "FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
        (tmp_path / name.lower()).mkdir()

    def write(name: str, source: str) -> None:
        cells = [
            nbformat.v4.new_code_cell("k = 5", metadata={"tags": ["parameters"]}),
            nbformat.v4.new_code_cell(source),
        ]
        python = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=python), paths.NOTEBOOKS / f"{name}.ipynb")

    return write


def job(name: str, profile: str = "default") -> run.Job:
    (found,) = run.select(name, profile)
    return found


def test_done_then_unchanged_then_done_again_when_anything_changes(project) -> None:
    project("01_good", GOOD)
    assert run.run(job("01")).status == "done"
    results = {file.name for file in job("01").results.iterdir()}
    assert results == {"01_good.ipynb", "table.csv", paths.COST}
    assert run.run(job("01")).status == "unchanged"
    (job("01").results / "table.csv").write_text("edited by hand")
    assert run.run(job("01")).status == "done"
    project("01_good", GOOD + "\n# edited")
    assert run.run(job("01")).status == "done"
    assert run.run(job("01"), force=True).status == "done"


def test_parameters_of_a_profile_reach_the_notebook_and_its_figures_their_folder(project) -> None:
    project("01_good", GOOD)
    (paths.PARAMS / "smoke").mkdir()
    (paths.PARAMS / "smoke" / "01_good.yaml").write_text("k: 7\n")
    assert run.run(job("01", "smoke")).status == "done"
    assert (paths.FIGURES / "smoke" / "01_good" / "table.csv").read_text() == "k\n7\n"


def test_progress_is_printed_and_kept_as_plain_lines(project, capsys) -> None:
    project("01_good", GOOD)
    run.run(job("01"))
    line = "counting: 3 of 3 steps (100 %)"
    assert line in (paths.RUNS / "default" / "01_good.log").read_text()
    assert f"01_good  {line}" in capsys.readouterr().out


def test_a_failure_leaves_the_old_results_and_says_why_in_a_sentence(project) -> None:
    project("01_good", GOOD)
    run.run(job("01"))
    project("01_good", BAD)
    outcome = run.run(job("01"))
    assert (outcome.status, outcome.reason) == ("failed", "k: 5 is not accepted; give 1 to 3")
    assert (job("01").results / "table.csv").read_text() == "k\n5\n"
    assert [folder.name for folder in job("01").results.parent.iterdir()] == ["01_good"]
    assert run.run(job("01")).status == "failed"


def test_an_error_of_ours_names_the_cell_and_keeps_what_was_executed(project) -> None:
    project("01_broken", BROKEN)
    outcome = run.run(job("01"))
    assert "ZeroDivisionError in cell 2: division by zero" in outcome.reason
    assert (paths.RUNS / "default" / "01_broken.failed.ipynb").exists()


def test_digest_covers_what_a_notebook_imports_and_nothing_else(project) -> None:
    files = {file.name for file in library_files([GOOD])}
    assert {"paths.py", "progress.py"} <= files
    assert not {"n2o.py", "heatmaps.py", "store.py"} & files
    embedding = {file.name for file in library_files(["from lib import embedders\nfrom lib.catalog import published"])}
    assert {"transformer.py", "composition.py", "n2o.csv"} <= embedding


def test_a_users_text_is_part_of_the_digest(project, tmp_path) -> None:
    project("01_good", GOOD)
    text = tmp_path / "mine.txt"
    text.write_text("one\n")
    with_text = run.Job(job("01").notebook, "default", {"corpus_name": f"lines:{text}"})
    before = with_text.digest
    text.write_text("one\ntwo\n")
    assert with_text.digest != before


def test_unknown_notebooks_and_profiles_point_to_the_nearest(project) -> None:
    project("01_good", GOOD)
    with pytest.raises(InputError, match="NOTEBOOK: '02' is not known"):
        run.select("02", "default")
    with pytest.raises(InputError, match="PROFILE: 'papre' is not known"):
        run.select("", "papre")


def test_bad_parameters_stop_everything_before_it_runs(project, capsys) -> None:
    project("01_good", GOOD)
    (paths.PARAMS / "smoke").mkdir()
    (paths.PARAMS / "smoke" / "01_good.yaml").write_text("K: 7\n")
    assert run.main(["--profile", "smoke"]) == 2
    assert "unknown parameter 'K'" in capsys.readouterr().err
    assert not list(paths.FIGURES.iterdir())


def test_the_parameters_cell_of_the_runner_is_that_of_papermill() -> None:
    assert parameters.TAG == "parameters"


def test_one_failing_notebook_does_not_stop_the_others_and_the_exit_status_is_1(project, tmp_path) -> None:
    """In a project of its own, since the runner's worker processes know only the folder that they stand in."""
    for name in ("lib", "requirements.lock"):
        source = paths.ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    for name, source in (("01_bad", BAD), ("02_good", GOOD), ("03_broken", BROKEN)):
        project(name, source)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SENTENCE_")}
    ended = subprocess.run(
        [sys.executable, "-m", "lib.run", "--jobs", "2"],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert (tmp_path / "figures" / "default" / "02_good" / "table.csv").exists()
    assert "FAILED 01_bad: k: 5 is not accepted; give 1 to 3" in ended.stderr
    assert "FAILED 03_broken: ZeroDivisionError" in ended.stderr
    assert "1 of 3 notebooks up to date" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
