"""Every notebook is a lesson or a replication and follows its structure.

Notebooks are found by glob and checked without being run.
"""

from __future__ import annotations

import ast
import re

import nbformat
import pandas as pd
import pytest

from lib.base import parameters, paths
from lib.studies import findings
from tests.notebooks import replication as rules
from tests.notebooks.lesson import (
    cells,
    prose,
    solutions,
    tagged,
)
from tools import pages
from tools.exercises import SOLVED
from tools.run.profiles import has_file, of_profile

LESSONS, REPLICATIONS = paths.lessons(), paths.replications()
CLAIMS = pd.read_csv(paths.ROOT / "audit/claims.csv", dtype=str, keep_default_na=False)


@pytest.fixture(params=[*LESSONS, *REPLICATIONS], ids=paths.notebook_name)
def notebook(request):
    return request.param


@pytest.fixture(params=LESSONS, ids=paths.notebook_name)
def lesson(request):
    return request.param


# -- lessons and replications ----------------------------------------------------------


def test_every_notebook_is_a_lesson_or_replicates_a_paper_of_the_claims() -> None:
    stored = [
        file
        for pattern in ("*.ipynb", "replication/*.ipynb")
        for file in paths.NOTEBOOKS.glob(pattern)
    ]
    assert sorted(stored) == sorted([*LESSONS, *REPLICATIONS])
    assert [
        file for file in LESSONS if not re.fullmatch(r"\d\d_[a-z0-9_]+", file.stem)
    ] == []
    assert {file.stem for file in REPLICATIONS} <= set(CLAIMS["source"])


# Lessons are written for their default run; the paper profile is the replications'.
def test_every_profile_has_parameters(notebook) -> None:
    profiles = ["default", "smoke"]
    if notebook in REPLICATIONS:
        profiles.append("paper")
    for profile in profiles:
        assert has_file(notebook, profile)
        of_profile(notebook, profile)


def test_stored_without_outputs_and_with_comments_on_parameters(notebook) -> None:
    content = nbformat.read(notebook, as_version=4)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert content.metadata.kernelspec.name == "python3"
    (source,) = tagged(notebook, parameters.TAG)
    lines = source.splitlines()
    for statement in ast.parse(source).body:
        is_long = statement.lineno < statement.end_lineno
        assert is_long or "#" in lines[statement.lineno - 1]


def test_links_lead_to_files(notebook) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose(notebook)):
        assert target.startswith("http") or (notebook.parent / target).exists(), target


# -- lessons ---------------------------------------------------------------------------


# README: a table of studies with title, question and reading time
def test_opens_with_what_a_class_needs_and_says_its_limits(lesson) -> None:
    first = cells(lesson, "markdown")[0]
    for part in (
        r"\A# ",
        r"\n\n\*\*Question\.\*\* ",
        r"\*\*Paper\.\*\* ",
        r"\*\*Reading time:\*\* about \d*[05] minutes\.",
        r"\*\*After this lesson you can\*\* ",
        r"\*\*You need\*\* ",
    ):
        assert re.search(part, first), f"the first cell lacks {part}"
    _, _, plan = first.partition("**90 minutes:** ")
    minutes = re.findall(r"\d+", plan.partition(".")[0])
    assert sum(map(int, minutes)) == 90, "the plan's numbers add up to 90"
    limits = r"^(##? (Findings and l|L)imits$|\*\*Limits\.\*\* )"
    assert re.search(limits, prose(lesson), re.MULTILINE), "say **Limits.**"


def test_guesses_come_first_and_answers_are_folded(lesson) -> None:
    assert "**Guess:**" in prose(lesson) or "**Guess**" in prose(lesson)
    assert tagged(lesson, "answer"), "no cell is tagged answer"
    # Answers stand in the lesson's findings; of older lessons, in its own cells.
    answers = [] if findings.file_of(lesson.stem).exists() else tagged(lesson, "answer")
    folded = [*answers, *tagged(lesson, "solution")]
    assert all(cell.startswith("<details><summary>") for cell in folded)
    assert all(cell.endswith("</details>") for cell in folded)
    assert len(folded) == prose(lesson).count("<details>")


def test_cells_are_short(lesson) -> None:
    longest = max(cells(lesson, "code"), key=lambda source: source.count("\n"))
    assert longest.count("\n") < 13, f"more than twelve lines: {longest}"
    lines = "\n".join(cells(lesson, "code")).splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_exercises_have_short_folded_solutions_that_say_what_comes_out(
    lesson,
) -> None:
    _, _, exercises = prose(lesson).partition("## Exercises\n")
    numbers = re.findall(r"^\*\*(\d|Open task)", exercises, re.MULTILINE)
    assert numbers == ["1", "2", "Open task"]
    folded = SOLVED.findall(prose(lesson))
    assert len(folded) == 3
    for solution, blocks in zip(folded, solutions(lesson), strict=True):
        assert len(blocks) <= 1
        most = 30 if solution == folded[-1] else 15
        assert "".join(blocks).count("\n") < most, f"code of {most} lines or more"
        assert not blocks or re.search(r"(\A|\n\n)```python\n", solution), (
            "a blank line is missing before a block of code"
        )
        *_, last = solution.split("\n```\n")
        assert len(re.findall(r"\w+", last)) > 5, "say what comes out, in six words"
    assert any(solutions(lesson))


# README: "What every word means: the glossary."
def test_glossary_is_a_table_that_leads_to_the_whole(lesson) -> None:
    _, _, after = prose(lesson).partition("## Glossary\n\n")
    assert after.startswith("| term | meaning | in code |\n|---|---|---|\n| ")
    table, _, rest = after.partition("\n\n")
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()} == {4}
    assert rest.startswith("All terms: [the glossary](../docs/glossary.md).")


def test_a_term_means_the_same_in_every_lesson() -> None:
    meanings = pages.terms().groupby("term")["meaning"].nunique()
    assert list(meanings.index[meanings > 1]) == []


# -- replications ----------------------------------------------------------------------


@pytest.mark.parametrize("replication", REPLICATIONS, ids=paths.notebook_name)
def test_a_replication_judges_each_claim_of_its_paper_once_in_short_cells(
    replication,
) -> None:
    claims = CLAIMS[CLAIMS["source"] == replication.stem]
    assert rules.faults(replication, claims) == []
    assert cells(replication, "markdown")[0].startswith("# ")
