"""Copies of the lessons for a class: one for students, one for the teacher.

Run ``python -m tools.student``, or ``make student``; with ``--check``, as ``make
exercises`` calls it, only the solutions are run.

The lessons are the one source. A cell that shows an answer is tagged ``answer``, one
that says what was found ``found``, a folded solution ``solution``, and a function that
students can write themselves ``yours``. The metadata of a solution's cell name what can
be checked, ``{"answer": {"value": "row.mean()", "says": "the mean"}}``, or else what to
``discuss``.

Each lesson is executed with its solutions, unless nothing has changed since the last
time, and the values of the answers are read from it. The teacher's copy is that
executed notebook. The student's copy has neither answers, solutions nor findings, and
titles of figures that tell nothing, but checks that hold hashes of the values. What
students can write themselves lies folded below the cell where they write it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from lib.base import files, parameters, paths
from lib.base.errors import command
from lib.base.exercises import Checks, hashes
from lib.studies import findings
from tools.exercises import FENCED, exercises
from tools.run.jobs import Job, select
from tools.run.kernel import SOLUTION
from tools.run.runner import run_all

STUDENT, TEACHER = "student", "teacher"  # the folders of the copies in notebooks/
ANSWER = "answer"  # a tag of cells, and of metadata
FOUND, WRITTEN = "found", "yours"  # tags of cells
HEADING = "## Exercises\n"
LINK = re.compile(r"(\]\()((?:\.\./|replication/)[^)\s]+\))")

YOURS = (
    "**What do you see?** Compare it with your guess, and say why. *(Write here: "
    "double-click, then Shift+Enter.)*"
)
UNSHOWN = (
    "**What is your guess, and why?** No cell shows the answer; discuss it in class. "
    "*(Write here: double-click, then Shift+Enter.)*"
)
HOW = (
    "Run the next cell, which makes `check`. Then set `answer` in the cell of an "
    "exercise, run it, and run the check below it, which also shows your point, 1 or "
    "0. A check is valid only for the original parameters at the top; numbers may be "
    'off by 5 %, and 12 % may be written as `0.12`, `12` or `"12 %"`.'
)
WRITE = "# Write your code here."
WRITE_FIRST = (
    "# Write {} here yourself.\n"
    "# Then run the next cell, which has it, too; to compare, open it (click ...)."
)
FOLDED = {"jupyter": {"source_hidden": True}}  # metadata: JupyterLab shows "..."
PLAIN = f"{findings.STUDENT} = True  # figure titles give nothing away"
DISCUSS = "**Discuss.** There is no single right answer."
# Stands in for the checks while their answers are not known yet.
PRINT = """import json

def check(exercise, answer):
    print(json.dumps(answer, default=float))"""
CHECKS, CHECK = "checks", "check"  # metadata of the cells that make and call checks
Right = dict[str, list[list[str]]]  # by exercise: hashes


class Worked(Job):
    """A lesson that is executed with its solutions, among the records of runs."""

    @property
    def name(self) -> str:
        """The lesson's name."""
        return self.notebook.stem

    @property
    def results(self) -> Path:
        """The folder with the executed notebook."""
        return self.notebook.with_suffix("")


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson.

    Attributes
    ----------
    id : str
        Such as ``01.2``.
    question, solution : str
        As Markdown, the solution without its folds.
    about : dict
        The metadata of the solution's cell.
    """

    id: str
    question: str
    solution: str
    about: dict

    @property
    def assignment(self) -> str:
        """The line in which a solution sets `answer`; empty if there is nothing to."""
        return self._assignment(self.about[ANSWER]["value"]) if self.has_check else ""

    @property
    def blank(self) -> str:
        """That line before the exercise is solved."""
        return self._assignment("...") if self.has_check else ""

    @property
    def has_check(self) -> bool:
        """Whether its answer can be checked."""
        return ANSWER in self.about

    def _assignment(self, value: str) -> str:
        return f"# {self.about[ANSWER]['says']}\nanswer = {value}"

    def end(self) -> NotebookNode:
        """The cell that ends the exercise: its check, or what to discuss."""
        if self.has_check:
            source = f'check("{self.id}", answer)'
            graded = for_nbgrader(f"check-{self.id}", points=1)
            return new_code_cell(source, metadata={CHECK: self.id} | graded)
        source = f"{DISCUSS} {self.about.get('discuss', '')}".strip()
        graded = for_nbgrader(f"discuss-{self.id}", points=1, theirs=True)
        return new_markdown_cell(source, metadata=graded)


def exercises_of(notebook: NotebookNode, lesson: str) -> list[Exercise]:
    """The exercises of a lesson, whose name begins with its number."""
    cells = [cell for cell in notebook.cells if has_tag(cell, SOLUTION)]
    return [
        Exercise(f"{lesson[:2]}.{place}", question.strip(), solution, cell.metadata)
        for place, ((question, solution), cell) in enumerate(
            zip(exercises(notebook), cells, strict=True), start=1
        )
    ]


def for_nbgrader(id: str, points: int = 0, theirs: bool = False) -> dict[str, dict]:
    """The metadata of a cell for nbgrader; `theirs` are the cells students write."""
    fields = {
        "grade": points > 0,
        "grade_id": id.replace(".", "-"),
        "locked": not theirs,
        "schema_version": 3,
        "solution": theirs,
        "task": False,
    }
    return {"nbgrader": fields | ({"points": points} if points else {})}


def has_tag(cell: NotebookNode, tag: str) -> bool:
    """Whether a cell has a tag."""
    return tag in cell.metadata.get("tags", [])


# -- the copies ------------------------------------------------------------------------


def copied(
    job: Job,
    of_tag: Mapping[str, Callable[[NotebookNode], list[NotebookNode]]],
    of_exercise: Callable[[Exercise], list[NotebookNode]],
    checks: str,
) -> NotebookNode:
    """A copy of a lesson with the parameters of a profile.

    Parameters
    ----------
    job : Job
    of_tag : mapping of str to callable
        The cells of the copy that take the place of a cell with a tag.
    of_exercise : callable
        Those that take the place of an exercise with its solution.
    checks : str
        The code that makes `check`.
    """
    notebook = nbformat.read(job.notebook, as_version=4)
    cells = []
    for cell in notebook.cells:
        if has_tag(cell, SOLUTION):
            continue
        told = [tag for tag in of_tag if has_tag(cell, tag)]
        if told:
            cells += of_tag[told[0]](cell)
        elif cell.source.startswith(HEADING):
            cells.append(new_markdown_cell(f"{HEADING}\n{HOW}"))
            locked = for_nbgrader("checks")
            cells.append(new_code_cell(checks, metadata={CHECKS: True} | locked))
            for exercise in exercises_of(notebook, job.name):
                cells += of_exercise(exercise)
        else:
            cells.append(cell)
        if has_tag(cell, parameters.TAG) and job.changes:
            cells.append(new_code_cell(_assignments(job.changes)))
    notebook.cells = cells
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(r"\1../\2", cell.source)
        cell.id = f"cell-{place}"  # the same in every copy, and from run to run
    return notebook


def _assignments(values: dict) -> str:
    return "\n".join(f"{name} = {value!r}" for name, value in values.items())


def with_solutions(exercise: Exercise) -> list[NotebookNode]:
    """The cells of an exercise in the teacher's copy."""
    before, *rest = FENCED.split(exercise.solution)
    code, after = rest if rest else ("", "")
    code = "\n\n".join(part for part in (code, exercise.assignment) if part)
    ended = [exercise.end()]
    explained = [new_markdown_cell(after.strip())] if after.strip() else []
    return [
        new_markdown_cell(exercise.question),
        new_markdown_cell(f"**Solution.** {before}".strip()),
        *([new_code_cell(code)] if code else []),
        *(ended + explained if exercise.has_check else explained + ended),
    ]


def without_solutions(exercise: Exercise) -> list[NotebookNode]:
    """The cells of an exercise in the student's copy."""
    source = "\n\n".join(part for part in (WRITE, exercise.blank) if part)
    return [
        new_markdown_cell(exercise.question),
        new_code_cell(source, metadata=for_nbgrader(exercise.id, theirs=True)),
        exercise.end(),
    ]


def worked_copy(job: Job) -> NotebookNode:
    """A lesson with its solutions as cells; its checks only print the answers."""
    return copied(job, {}, with_solutions, PRINT)


def student_copy(job: Job, right: Right) -> NotebookNode:
    """A lesson without answers, solutions and findings, but with checks."""
    of_tag = {
        parameters.TAG: lambda cell: [cell, new_code_cell(PLAIN)],
        ANSWER: lambda _: [new_markdown_cell(YOURS)],
        FOUND: lambda _: [],
        WRITTEN: lambda cell: [new_code_cell(_invitation(cell)), _folded(cell)],
    }
    notebook = copied(job, of_tag, without_solutions, source_of(right))
    for before, cell in pairwise(notebook.cells):
        if cell.source == YOURS and before.cell_type == "markdown":
            cell.source = UNSHOWN
    return notebook


def _folded(cell: NotebookNode) -> NotebookNode:
    cell.metadata.update(FOLDED)
    return cell


def _invitation(cell: NotebookNode) -> str:
    """Asks for the functions that a cell defines."""
    names = re.findall(r"^def (\w+)", cell.source, re.MULTILINE)
    return WRITE_FIRST.format(" and ".join(names))


# -- the right answers -----------------------------------------------------------------


def answers(executed: NotebookNode) -> dict[str, Any]:
    """The values of the answers, by exercise, in a notebook executed with solutions."""
    return {
        cell.metadata[CHECK]: json.loads(cell.outputs[0]["text"])
        for cell in executed.cells
        if CHECK in cell.metadata
    }


def checks_of(job: Job, values: Mapping[str, Any]) -> Right:
    """What the checks of a lesson know, given the values of its answers."""
    lesson = nbformat.read(job.notebook, as_version=4)
    return {
        exercise.id: hashes(exercise.id, values[exercise.id])
        for exercise in exercises_of(lesson, job.name)
        if exercise.has_check
    }


def source_of(right: Right) -> str:
    """The code that makes `check`."""
    entries = json.dumps(right).replace("]], ", "]],\n    ").strip("{}")
    imported = "from lib.base.exercises import Checks"
    return f"{imported}\n\ncheck = Checks({{\n    {entries}\n}})"


def with_checks(executed: NotebookNode, right: Right) -> NotebookNode:
    """The teacher's copy: the executed notebook with its answers checked."""
    values = answers(executed)
    check = Checks(right)
    executed.metadata.pop("papermill", None)
    for cell in executed.cells:
        cell.metadata.pop("papermill", None)  # when it ran
        if CHECKS in cell.metadata:
            cell.source = source_of(right)
        elif CHECK in cell.metadata:
            printed = io.StringIO()
            with redirect_stdout(printed):
                check(cell.metadata[CHECK], values[cell.metadata[CHECK]])
            cell.outputs = [new_output("stream", text=printed.getvalue())]
    return executed


# -- files -----------------------------------------------------------------------------


def worked(job: Job) -> Worked:
    """A lesson with its solutions as a job; its notebook is written."""
    place = f"worked/{job.profile}"
    file = paths.RUNS / place / job.notebook.name
    _write(worked_copy(job), file)
    return Worked(file, place, {})


def save(notebook: NotebookNode, folder: str, name: str) -> str:
    """Write a copy unless somebody has worked on the one there; returns what was done.

    A copy holds the digest of its cells as they were written.
    """
    file = paths.NOTEBOOKS / folder / f"{name}.ipynb"
    shown = f"{paths.NOTEBOOKS.name}/{folder}/{name}.ipynb"
    if file.exists():
        there = nbformat.read(file, as_version=4)
        if there.metadata.get("written") != _digest(there):
            return f"{shown} has been edited and was kept; move it to get a new one"
    notebook.metadata["written"] = _digest(notebook)
    _write(notebook, file)
    return shown


def _write(notebook: NotebookNode, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(file) as stream:
        stream.write(nbformat.writes(notebook).encode())


def _digest(notebook: NotebookNode) -> str:
    sources = json.dumps([cell.source for cell in notebook.cells])
    return hashlib.sha256(sources.encode()).hexdigest()


def save_both(job: Job, executed: NotebookNode) -> None:
    """Write both copies of a lesson."""
    right = checks_of(job, answers(executed))
    print(save(student_copy(job, right), STUDENT, job.name))
    print(save(with_checks(executed, right), TEACHER, job.name))


@command
def main(arguments: list[str] | None = None) -> int:
    """Write the copies; the exit status is 0, or 1 if a solution failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.student", description="Write copies for a class."
    )
    parser.add_argument("--profile", default="default")
    parser.add_argument("--notebook", default="", metavar="PREFIX")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--check", action="store_true", help="only run the solutions")
    options = parser.parse_args(arguments)
    workers = parameters.in_range("JOBS", parameters.literal(options.jobs), 1, 64)
    jobs = select(options.notebook, options.profile)
    lessons = {worked(job): job for job in jobs if not job.is_replication}
    failed = run_all(list(lessons), workers, force=False)
    for own, job in lessons.items():
        if own in failed:
            print(f"FAILED {job.name}: {failed[own]}", file=sys.stderr)
        elif not options.check:
            save_both(job, nbformat.read(own.executed, as_version=4))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
