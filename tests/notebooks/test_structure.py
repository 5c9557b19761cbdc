"""Every notebook is a lesson of one shape: found by glob, checked without being run."""

from __future__ import annotations

import ast
import json
import re

import pytest

from lib import parameters, paths

NOTEBOOKS = sorted(paths.NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda file: file.stem)
def notebook(request):
    return request.param


def cells(notebook, kind: str) -> list[str]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


def test_name_sorts_itself_and_every_profile_has_parameters(notebook) -> None:
    assert re.fullmatch(r"\d\d_[a-z0-9_]+", notebook.stem)
    for profile in ("default", "smoke", "paper"):
        parameters.of_profile(notebook, profile)


def test_stored_without_outputs_and_with_the_kernel_named(notebook) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert content["metadata"]["kernelspec"]["name"] == "python3"


def test_opens_with_title_question_paper_and_cost(notebook) -> None:
    first = cells(notebook, "markdown")[0]
    assert first.startswith("# ")
    for word in ("**Question.**", "**Paper.**", "**Reads.**", "**Takes**"):
        assert word in first


def test_has_glossary_exercises_with_folded_solutions_findings_and_footer(notebook) -> None:
    prose = "\n".join(cells(notebook, "markdown"))
    assert "## Glossary" in prose
    assert "## Findings" in prose
    assert 2 <= prose.count("<details><summary>Solution</summary>") == prose.count("</details>") <= 3
    assert "environment.footer()" in cells(notebook, "code")[-1]


def test_no_cell_is_longer_than_fifteen_lines(notebook) -> None:
    lengths = [source.count("\n") + 1 for source in cells(notebook, "code")]
    assert max(lengths) <= 15


def test_parameters_cell_comments_each_parameter(notebook) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    (source,) = [
        "".join(cell["source"]) for cell in content["cells"] if parameters.TAG in cell["metadata"].get("tags", [])
    ]
    for statement in ast.parse(source).body:
        if statement.lineno == statement.end_lineno:
            assert "#" in source.splitlines()[statement.lineno - 1]


def test_imports_from_lib_only_what_lib_has(notebook) -> None:
    for node in [node for source in cells(notebook, "code") for node in ast.walk(ast.parse(source))]:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "lib":
            module = __import__(node.module, fromlist=[alias.name for alias in node.names])
            for alias in node.names:
                assert hasattr(module, alias.name)


def test_links_lead_to_files(notebook) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", "\n".join(cells(notebook, "markdown"))):
        assert target.startswith("http") or (notebook.parent / target).exists(), target
