"""The copies of lessons for a class, as ``make student`` writes them.

What they hold is checked for every lesson; in the nightly size all of them are executed
in the smoke profile. In `make test`, `test_smoke` executes all solutions.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from lib.run import jobs, paths
from tests.copies import copy_project
from tests.notebooks.lesson import failure, tagged
from tests.sizes import NIGHTLY
from tools import student as tool

LESSONS = [paths.notebook_name(file) for file in paths.lessons()]
FOLDS = re.compile(r"</?details>|<summary>.*?</summary>|```\w*")


def job(name: str) -> jobs.Job:
    (found,) = jobs.select(name, "smoke")
    return found


@pytest.fixture(params=LESSONS)
def lesson(request) -> jobs.Job:
    return job(request.param)


def sources(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells)


def as_in_lesson(copy: NotebookNode) -> str:
    """The sources of a copy, with the links as they are in the lesson."""
    text = sources(copy).replace("](../../docs/", "](../docs/")
    return text.replace("](../replication/", "](replication/")


def ids(lesson: jobs.Job) -> list[str]:
    """The exercises of a lesson that have a check."""
    notebook = nbformat.read(lesson.notebook, as_version=4)
    found = tool.exercises_of(notebook, lesson.name)
    assert len(found) == 3
    assert all(
        exercise.has_check or exercise.about["discuss"].endswith("?")
        for exercise in found
    )
    return [exercise.id for exercise in found if exercise.has_check]


def for_students(lesson: jobs.Job) -> NotebookNode:
    """The student's copy, with made-up answers."""
    right = tool.checks_of(lesson, dict.fromkeys(ids(lesson), 0.5))
    return tool.student_copy(lesson, right)


def hidden(lesson: jobs.Job) -> list[str]:
    """The lines of a lesson's answers and solutions."""
    cells = [*tagged(lesson.notebook, "answer"), *tagged(lesson.notebook, "solution")]
    lines = FOLDS.sub("", "\n".join(cells)).splitlines()
    return [line.strip() for line in lines if len(line.strip()) > 20]


# docs/teaching: "no answer and no solution"
def test_a_students_copy_holds_no_line_of_an_answer_or_a_solution(lesson) -> None:
    copy = for_students(lesson)
    text = json.dumps(copy, ensure_ascii=False)
    rest = [
        cell.source
        for cell in nbformat.read(lesson.notebook, as_version=4).cells
        if not set(cell.metadata.get("tags", [])) & {"answer", "solution"}
    ]
    lines = [line for line in hidden(lesson) if line not in "\n".join(rest)]
    assert lines
    assert [
        line for line in lines if json.dumps(line, ensure_ascii=False)[1:-1] in text
    ] == []
    assert "<details>" not in text
    assert '"value"' not in text


# docs/teaching: "Plan, guesses and questions stay"
def test_a_students_copy_holds_all_else(lesson) -> None:
    copy = for_students(lesson)
    text = as_in_lesson(copy)
    for cell in nbformat.read(lesson.notebook, as_version=4).cells:
        tags = set(cell.metadata.get("tags", []))
        if not tags & {"answer", "solution"}:
            for paragraph in cell.source.split("\n\n"):
                assert paragraph in text
    assert text.count(tool.WRITE) == 3
    for number in ids(lesson):
        assert text.count(f'check("{number}", answer)') == 1
    answers = len(tagged(lesson.notebook, "answer"))
    assert text.count("**What do you see?**") == answers
    assert not any(cell.get("outputs") for cell in copy.cells)


def test_a_teachers_copy_holds_everything(lesson) -> None:
    text = as_in_lesson(tool.worked_copy(lesson))
    assert [line for line in hidden(lesson) if line not in text] == []
    assert len(re.findall(r"^answer = ", text, re.MULTILINE)) == len(ids(lesson))


def test_both_copies_check_the_answers_that_were_executed(lesson, capsys) -> None:
    executed = tool.worked_copy(lesson)
    for cell in executed.cells:
        if tool.CHECK in cell.metadata:
            printed = nbformat.v4.new_output("stream", text="0.6666\n")
            cell.outputs = [printed]
    right = tool.checks_of(lesson, tool.answers(executed))
    teacher = tool.with_checks(executed, right)
    for copy in (teacher, tool.student_copy(lesson, right)):
        (checks,) = [cell for cell in copy.cells if tool.CHECKS in cell.metadata]
        calls = [cell.source for cell in copy.cells if tool.CHECK in cell.metadata]
        for answer, verdict in ((0.6666, "right"), (9.0, "not right yet")):
            for call in calls:
                exec(f"{checks.source}\n{call}", {"answer": answer})
            said = capsys.readouterr().out.splitlines()
            expected = [f"{id}: {answer} is {verdict}" for id in ids(lesson)]
            assert said == expected
    outputs = [
        cell.outputs[0]["text"] for cell in teacher.cells if tool.CHECK in cell.metadata
    ]
    assert outputs == [f"{id}: 0.6666 is right\n" for id in ids(lesson)]


def test_links_of_copies_lead_to_files(lesson) -> None:
    folder = paths.NOTEBOOKS / tool.STUDENT
    copies = [f"{name}.ipynb" for name in LESSONS]
    for copy in (for_students(lesson), tool.worked_copy(lesson)):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", sources(copy)):
            place = (folder / target).resolve()
            assert target in copies or target.startswith("http") or place.exists()


# docs/teaching: "A copy that somebody has worked on stays as it is."
def test_a_copy_that_somebody_has_worked_on_is_not_written_over(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    cells = [nbformat.v4.new_code_cell("answer = ...")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    shown = f"{tmp_path.name}/student/01_n2o.ipynb"
    assert tool.save(notebook, "student", "01_n2o") == shown
    file = tmp_path / "student" / "01_n2o.ipynb"
    mine = nbformat.read(file, as_version=4)
    mine.cells[0].outputs = [nbformat.v4.new_output("stream", text="1")]
    nbformat.write(mine, file)  # run, and nothing written
    notebook.cells[0].source = "answer = ...  # newer"
    assert tool.save(notebook, "student", "01_n2o") == shown
    mine.cells[0].source = "answer = 0.67"
    nbformat.write(mine, file)
    assert "has been worked on and stays" in tool.save(notebook, "student", "01_n2o")
    assert nbformat.read(file, as_version=4).cells[0].source == "answer = 0.67"


# -- executed --------------------------------------------------------------------------


class Classroom:
    """A copy of the project in which the copies for a class are made and run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables = copy_project(folder)
        self.run("tools.student", "--profile", "smoke")

    def copy(self, kind: str, name: str) -> Path:
        return self.folder / "notebooks" / kind / f"{name}.ipynb"

    def run(self, *command: str) -> None:
        subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=self.variables,
            check=True,
            timeout=1800,
        )

    def executed(self, file: Path) -> NotebookNode:
        """A notebook after it was run in its place, as JupyterLab runs it."""
        out = file.with_suffix(".executed.ipynb")
        self.run("papermill", "--cwd", str(file.parent), str(file), str(out))
        assert failure(out) == ""
        return nbformat.read(out, as_version=4)


@pytest.fixture(scope="module")
def classroom(tmp_path_factory) -> Classroom:
    return Classroom(tmp_path_factory.mktemp("classroom"))


def printed(notebook: NotebookNode) -> list[str]:
    """What the checks of an executed copy say."""
    return [
        output["text"].strip()
        for cell in notebook.cells
        if tool.CHECK in cell.metadata
        for output in cell.outputs
    ]


# docs/teaching: "has an empty cell ... and a check", "solutions as cells"
@pytest.mark.skipif(not NIGHTLY, reason="nightly")
@pytest.mark.parametrize("name", LESSONS)
def test_copies_run_and_solutions_pass_and_wrong_answers_do_not(
    classroom, name
) -> None:
    teacher = nbformat.read(classroom.copy(tool.TEACHER, name), as_version=4)
    passed = printed(teacher)
    assert len(passed) == len(ids(job(name))) > 0
    assert all(line.endswith(" is right") for line in passed)

    solutions = {}
    for cell, following in zip(teacher.cells, teacher.cells[1:], strict=False):
        if tool.CHECK in following.metadata:
            solutions[following.metadata[tool.CHECK]] = cell.source
    file = classroom.copy(tool.STUDENT, name)
    copy = nbformat.read(file, as_version=4)
    cells = []
    for cell in copy.cells:
        cells.append(cell)
        if number := cell.metadata.get(tool.CHECK):
            solved, wrong = solutions[number], f'check("{number}", answer + 5)'
            for source in (solved, cell.source, wrong):
                metadata = {} if source == solved else {tool.CHECK: number}
                cells.append(nbformat.v4.new_code_cell(source, metadata=metadata))
    copy.cells = cells
    nbformat.write(copy, file.with_name("solved.ipynb"))
    said = printed(classroom.executed(file.with_name("solved.ipynb")))
    assert len(said) == 3 * len(passed)
    assert all(line.endswith(": no answer yet") for line in said[::3])
    assert said[1::3] == passed
    assert all(line.endswith(" is not right yet") for line in said[2::3])
