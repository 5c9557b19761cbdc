"""The copies of lessons for a class, as ``make student`` writes them.

What they hold is checked for every lesson; one lesson is executed in the smoke profile,
all of them in the nightly size.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from lib.base import parameters, paths
from lib.studies import findings
from tests.copies import copy_project, run
from tests.notebooks.lesson import tagged
from tests.sizes import NIGHTLY
from tools import student as tool
from tools.run import jobs

LESSONS = [paths.notebook_name(file) for file in paths.lessons()]
RUN = LESSONS if NIGHTLY else ["00_start_here"]
# Another answer than the right one, whatever it is.
WRONG = """[
    "nobody" if isinstance(one, str) else -2 * one
    for one in (answer if isinstance(answer, list | tuple) else [answer])
]"""
FOLDS = re.compile(r"</?details>|<summary>.*?</summary>|```\w*")


def job(name: str) -> jobs.Job:
    (found,) = jobs.select(name, "smoke")
    return found


@pytest.fixture(params=LESSONS)
def lesson(request) -> jobs.Job:
    return job(request.param)


def source(cells: list[NotebookNode]) -> str:
    """Their text, with the links as they are in the lesson."""
    text = "\n\n".join(cell.source for cell in cells)
    text = text.replace("](../../", "](../")
    return text.replace("](../replication/", "](replication/")


def parts(lesson: jobs.Job) -> tuple[list[NotebookNode], list[NotebookNode]]:
    """The cells of a lesson's answers and solutions, and the others."""
    hidden = []
    others = []
    for cell in nbformat.read(lesson.notebook, as_version=4).cells:
        tags = {"answer", "found", "solution"} & set(cell.metadata.get("tags", []))
        (hidden if tags else others).append(cell)
    return hidden, others


def lines(cells: list[NotebookNode]) -> list[str]:
    """The longer lines of folded cells."""
    stripped = map(str.strip, FOLDS.sub("", source(cells)).splitlines())
    return [line for line in stripped if len(line) > 20]


def sentences(lesson: jobs.Job) -> list[str]:
    """What a lesson says of its results."""
    file = findings.file_of(lesson.name)
    if not file.exists():
        return []
    told = parameters.read_yaml(file)
    texts = [told["found"]["says"]]
    texts += [answer["says"] for answer in told["answers"].values()]
    titles = [figure["says"] for figure in told["figures"].values()]
    return titles + re.split(r"(?<=[.?!]) |\n+", "\n".join(texts).strip())


def ids(lesson: jobs.Job) -> list[str]:
    """The exercises of a lesson that have a check."""
    notebook = nbformat.read(lesson.notebook, as_version=4)
    found = tool.exercises_of(notebook, lesson.name)
    assert len(found) == 3
    others = [exercise for exercise in found if not exercise.has_check]
    assert all(exercise.about["discuss"].endswith("?") for exercise in others)
    return [exercise.id for exercise in found if exercise.has_check]


# docs/teaching: "no answer and no solution. Plan, guesses and questions stay", "The
# teacher's copy has everything"
def test_a_students_copy_hides_answers_and_solutions_and_a_teachers_has_all(
    lesson,
) -> None:
    hidden, others = parts(lesson)
    right = tool.checks_of(lesson, dict.fromkeys(ids(lesson), 0.5))
    copy = tool.student_copy(lesson, right)
    text = source(copy.cells)
    secret = [line for line in lines(hidden) if line not in source(others)]
    assert secret
    assert [line for line in secret if line in text] == []
    assert "<details>" not in text
    assert '"value"' not in json.dumps(copy)
    paragraphs = [each for cell in others for each in cell.source.split("\n\n")]
    assert [paragraph for paragraph in paragraphs if paragraph not in text] == []
    assert text.count(tool.WRITE) == 3
    for number in ids(lesson):
        assert text.count(f'check("{number}", answer)') == 1
    asked = len(tagged(lesson.notebook, "answer"))
    assert text.count(tool.YOURS) + text.count(tool.UNSHOWN) == asked
    assert [sentence for sentence in sentences(lesson) if sentence in text] == []
    worked = source(tool.worked_copy(lesson).cells)
    assert [line for line in lines(hidden) if line not in worked] == []
    assert len(re.findall(r"^answer = ", worked, re.MULTILINE)) == len(ids(lesson))


# docs/teaching: "the written function lies folded in the next one"
def test_what_a_student_can_write_is_folded_away_until_it_is_opened(lesson) -> None:
    right = tool.checks_of(lesson, dict.fromkeys(ids(lesson), 0.5))
    cells = tool.student_copy(lesson, right).cells
    for before, cell in pairwise(cells):
        is_folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert is_folded == tool.has_tag(cell, tool.WRITTEN)
        assert not is_folded or before.source.startswith("# Write ")
        if cell.source == tool.YOURS:  # there is something to see
            assert before.cell_type == "code"


def test_links_of_a_copy_lead_to_files_or_other_copies(lesson) -> None:
    copies = [f"{name}.ipynb" for name in LESSONS]
    for cell in tool.worked_copy(lesson).cells:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", cell.source):
            place = paths.NOTEBOOKS / tool.STUDENT / target
            there = target in copies or (place.parent.resolve() / place.name).exists()
            assert there or target.startswith("http"), target


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
    assert "has been edited and was kept" in tool.save(notebook, "student", "01_n2o")
    assert nbformat.read(file, as_version=4).cells[0].source == "answer = 0.67"


# -- executed --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classroom(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A copy of the project with the copies for a class, and its variables."""
    folder = tmp_path_factory.mktemp("classroom")
    variables = copy_project(folder)
    one = [] if NIGHTLY else ["--notebook", RUN[0]]
    ended = run(folder, variables, "-m", "tools.student", "--profile", "smoke", *one)
    assert ended.returncode == 0, ended.stderr
    return folder, variables


def printed(notebook: NotebookNode) -> list[str]:
    """What the checks of an executed copy say; not the end of a progress bar."""
    checks = [cell for cell in notebook.cells if tool.CHECK in cell.metadata]
    outputs = [output for cell in checks for output in cell.outputs]
    texts = [output.get("text", "").strip() for output in outputs]
    return [text for text in texts if text]


# docs/teaching: "has an empty cell ... and a check", "solutions as cells"
@pytest.mark.parametrize("name", RUN)
def test_copies_run_and_solutions_pass_and_wrong_answers_do_not(
    classroom, name
) -> None:
    folder, variables = classroom
    copies = folder / "notebooks"
    teacher = nbformat.read(copies / tool.TEACHER / f"{name}.ipynb", as_version=4)
    passed = printed(teacher)
    assert len(passed) == len(ids(job(name))) > 0
    assert all(line.endswith(" is right") for line in passed)

    solutions = {}
    for cell, following in pairwise(teacher.cells):
        if tool.CHECK in following.metadata:
            solutions[following.metadata[tool.CHECK]] = cell.source
    student = nbformat.read(copies / tool.STUDENT / f"{name}.ipynb", as_version=4)
    cells = []
    for cell in student.cells:
        cells.append(cell)
        if number := cell.metadata.get(tool.CHECK):
            wrong = f'check("{number}", {WRONG})'
            cells.append(nbformat.v4.new_code_cell(solutions[number]))
            for source in (cell.source, wrong):
                metadata = {tool.CHECK: number}
                cells.append(nbformat.v4.new_code_cell(source, metadata=metadata))
    student.cells = cells
    place = copies / tool.STUDENT
    nbformat.write(student, place / "solved.ipynb")
    options = ["--cwd", str(place), str(place / "solved.ipynb")]
    options.append(str(place / "run.ipynb"))
    # As `make figures` runs notebooks: nbclient sometimes waits forever for what a
    # slider shows (jupyter/nbclient#312).
    headless = variables | {paths.FIGURES_VARIABLE: str(folder / "solved")}
    ended = run(folder, headless, "-m", "papermill", *options)
    assert ended.returncode == 0, ended.stderr
    said = printed(nbformat.read(place / "run.ipynb", as_version=4))
    assert len(said) == 3 * len(passed)
    assert all(line.endswith(": no answer yet") for line in said[::3])
    assert said[1::3] == passed
    assert all(line.endswith(" is not right yet") for line in said[2::3])
