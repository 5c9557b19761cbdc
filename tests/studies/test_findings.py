"""What a lesson says of its results stands where it is true, and nowhere else."""

from __future__ import annotations

import json
import re

import pytest

from lib.base import parameters, paths
from lib.studies.findings import OWN, STUDENT, Findings, file_of
from tests.notebooks.lesson import cells

TEXTS = """
figures:
  map:
    plain: A map
    when: score > limit
    says: "{best} is best"
    alt: Points.
  other: {plain: Rows, says: Rows rise, alt: Dots.}
answers:
  sum: {when: always, says: It is 3.}
  why: {says: It rains.}
found: {says: We found it.}
"""
WITH_FINDINGS = [file for file in paths.lessons() if file_of(file.stem).exists()]


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The findings of a toy lesson, from its variables."""
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    tags = {"tags": ["parameters"]}
    cell = {"cell_type": "code", "metadata": tags, "source": ["limit = 1"]}
    (tmp_path / "01_toy.ipynb").write_text(json.dumps({"cells": [cell]}))
    file_of("01_toy").parent.mkdir()
    file_of("01_toy").write_text(TEXTS)

    def build(**variables):
        return Findings("01_toy", {"limit": 1, "best": "USE"} | variables)

    return build


@pytest.mark.parametrize(
    ("variables", "title", "other"),
    [
        ({"score": 2}, "USE is best", "Rows rise"),
        ({"score": 0}, "A map", "Rows rise"),
        ({"score": 3, "limit": 2}, "USE is best", "Rows"),
        ({"score": 2, STUDENT: True}, "A map", "Rows"),
    ],
)
def test_a_title_says_what_is_true_and_tells_a_student_nothing(
    told, variables, title, other
) -> None:
    assert told(**variables).title("map") == title
    assert told(**variables).title("other") == other
    assert told(**variables).alt("map") == "Points."


@pytest.mark.parametrize(("limit", "is_own"), [(1, True), (2, False)])
def test_answers_and_findings_belong_to_the_lessons_own_parameters(
    told, limit, is_own
) -> None:
    toy = told(limit=limit)
    assert "It is 3." in toy.answer("sum").data
    assert ("It rains." in toy.answer("why").data) == is_own
    assert (toy.answer("why").data == OWN) != is_own
    assert bool(toy.found().data) == is_own


@pytest.mark.parametrize("lesson", WITH_FINDINGS, ids=paths.notebook_name)
def test_a_lesson_tells_each_of_its_findings_once(lesson) -> None:
    texts = parameters.read_yaml(file_of(lesson.stem))
    code = "\n".join(cells(lesson, "code"))
    asked = re.findall(r"told\.answer\(\"(.+?)\"\)", code)
    assert sorted(asked) == sorted(texts["answers"])
    drawn = re.findall(r"figures\.\w+\(\s*\"(.+?)\"", code)
    assert sorted(drawn) == sorted(texts["figures"])
    assert code.count("told.found()") == 1
