"""A run's tables agree with the reference within 0.002 or 1 %, and the reference is renewed by copies of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lib.run import jobs, paths, reference
from lib.run.errors import InputError

AGREE = "tables agree with the reference within 0.002 or 1 %"
TABLE = "name,score,n\na,0.5,1000\nb,nan,3\n"


@pytest.fixture
def job(tmp_path, monkeypatch) -> jobs.Job:
    """A notebook of the default profile that has been run: two tables, two figures, and what measures time."""
    for name in ("FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
    notebook = tmp_path / "01_toy.ipynb"
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": ["k = 5\n", 'names = ["ä"]']}
    notebook.write_text(json.dumps({"cells": [cell]}))
    made = jobs.Job(notebook, "default", {"k": 7})
    made.results.mkdir(parents=True)
    made.record.parent.mkdir(parents=True)
    for name in ("one.csv", "two.csv", "one.png", "one.svg", "timings.csv", "timings.png", "01_toy.ipynb"):
        (made.results / name).write_text(TABLE)
    made.write_record(made.digest())
    return made


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("text", "agrees"),
    [
        (TABLE, True),
        (TABLE.replace("0.5", "0.5049"), True),  # 0.0049 is less than 1 % of 0.5049
        (TABLE.replace("0.5", "0.5051"), False),  # 0.0051 is more than 1 % of 0.5051, and than 0.002
        (TABLE.replace("1000", "1009.0"), True),
        (TABLE.replace("1000", "1011"), False),
        (TABLE.replace(",3", ",3.1"), False),
        (TABLE.replace("nan", "0.1"), False),
        (TABLE.replace("b,", "c,"), False),
        (TABLE.replace("score", "scores"), False),
        (TABLE + "c,1,1\n", False),
        ("score,name,n\n0.5,a,1000\nnan,b,3\n", False),
    ],
)
def test_tables_agree_in_columns_rows_text_and_nearly_in_numbers(tmp_path, text, agrees) -> None:
    one, other = write(tmp_path, "one.csv", TABLE), write(tmp_path, "other.csv", text)
    assert reference.agree(one, other) == reference.agree(other, one) == agrees


def test_small_numbers_agree_within_two_thousandths(tmp_path) -> None:
    for text, agrees in (("x\n0.012\n", True), ("x\n0.0121\n", False), ("x\n0.0079\n", False)):
        expected = write(tmp_path, "expected.csv", "x\n0.01\n")
        assert reference.agree(write(tmp_path, "found.csv", text), expected) == agrees


def test_renewing_copies_tables_and_figures_and_removes_what_is_no_longer_made(job) -> None:
    folder = paths.FIGURES / "reference" / "default" / "01_toy"
    folder.mkdir(parents=True)
    for name in ("older.csv", "older.png", "README.md"):
        write(folder, name, "older")
    assert reference.renew(job) == folder
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md", "one.csv", "one.png", "parameters.json", "two.csv",
    ]  # fmt: skip
    assert json.loads((folder / "parameters.json").read_text(encoding="utf-8")) == {"k": 7, "names": ["ä"]}


def test_results_that_are_not_up_to_date_are_no_reference(job) -> None:
    (job.results / "one.csv").unlink()
    with pytest.raises(InputError, match="01_toy: not up to date; run make figures first"):
        reference.renew(job)


def test_the_line_counts_the_tables_that_agree_and_names_the_others(job) -> None:
    assert reference.compare([job]) == f"no reference to compare with in {paths.FIGURES}/reference/default"
    reference.renew(job)
    assert reference.compare([job]) == f"2 of 2 {AGREE}"
    other = jobs.Job(job.notebook.with_name("02_toy.ipynb"), "default", {})
    assert reference.compare([job, other]) == f"2 of 2 {AGREE}; without a reference: 02_toy"
    write(job.results, "one.csv", "x\n")
    write(job.results, "three.csv", "x\n")
    assert reference.compare([job]) == f"1 of 3 {AGREE}; not 01_toy/one.csv, 01_toy/three.csv"
    job.changes["k"] = 8
    assert reference.compare([job]) == f"0 of 0 {AGREE}; not compared, for other parameters: 01_toy"
