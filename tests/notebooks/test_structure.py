"""Every notebook is a lesson of one shape: found by glob, checked without being run."""

from __future__ import annotations

import ast
import json
import re

import pytest

from lib.run import parameters, paths
from tests.notebooks.lesson import FOLDED, cells, prose, solutions
from tools import pages

NOTEBOOKS = sorted(paths.NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda file: file.stem)
def notebook(request):
    return request.param


def test_name_sorts_itself_and_every_profile_has_parameters(notebook) -> None:
    assert re.fullmatch(r"\d\d_[a-z0-9_]+", notebook.stem)
    for profile in ("default", "smoke", "paper"):
        parameters.of_profile(notebook, profile)


def test_stored_without_outputs_in_short_cells_and_with_the_kernel_named(notebook) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert max(source.count("\n") for source in cells(notebook, "code")) < 15
    assert content["metadata"]["kernelspec"]["name"] == "python3"


# README: a table of studies with title, question and reading time
def test_opens_with_title_question_paper_and_reading_time_and_says_its_limits(notebook) -> None:
    first = cells(notebook, "markdown")[0]
    assert first.startswith("# ")
    assert "\n\n**Question.** " in first
    assert "**Paper.** " in first
    assert re.search(r"\*\*Reading time:\*\* about \d*[05] minutes\.", first)
    assert re.search(r"^##? (Findings and l|L)imits$", prose(notebook), re.MULTILINE)


def test_has_three_exercises_with_short_folded_solutions_that_say_what_comes_out(notebook) -> None:
    _, _, exercises = prose(notebook).partition("## Exercises\n")
    assert re.findall(r"^\*\*(\d)\.\*\*", exercises, re.MULTILINE) == ["1", "2", "3"]
    folded = FOLDED.findall(prose(notebook))
    assert len(folded) == prose(notebook).count("<details>") == 3
    for solution, blocks in zip(folded, solutions(notebook), strict=True):
        assert len(blocks) == 1
        assert blocks[0].count("\n") < 15
        assert re.search(r"(\A|\n\n)```python\n", solution), "a blank line is missing before a block of code"
        *_, last = solution.split("\n```\n")
        assert last.startswith("\n"), "a blank line is missing after a block of code"
        assert len(re.findall(r"\w+", last)) > 5, "nothing says what comes out"


# README: "What every word means: the glossary."
def test_glossary_is_a_table_that_leads_to_the_whole(notebook) -> None:
    _, _, after = prose(notebook).partition("## Glossary\n\n")
    assert after.startswith("| term | meaning | in code |\n|---|---|---|\n| ")
    table, _, rest = after.partition("\n\n")
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()} == {4}
    assert rest.startswith("All terms: [the glossary](../docs/glossary.md).")


def test_a_term_means_the_same_in_every_notebook() -> None:
    meanings = pages.terms().groupby("term")["meaning"].nunique()
    assert list(meanings.index[meanings > 1]) == []


def test_parameters_cell_comments_each_parameter(notebook) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    (source,) = [
        "".join(cell["source"]) for cell in content["cells"] if parameters.TAG in cell["metadata"].get("tags", [])
    ]
    for statement in ast.parse(source).body:
        assert statement.lineno < statement.end_lineno or "#" in source.splitlines()[statement.lineno - 1]


def test_links_lead_to_files(notebook) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose(notebook)):
        assert target.startswith("http") or (notebook.parent / target).exists(), target
