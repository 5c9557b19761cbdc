"""A run's tables agree with the reference within 0.002 or 1 %, and the reference is renewed by copies of a run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from lib.run import jobs, paths, reference
from lib.run.errors import InputError
from tools.exercises import append_solutions, exercises
from tools.pages import between
from tools.reference import PAGES, REFERENCE, head, page, renew, withhold

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
    for name in ("one.csv", "two.csv", "one.png", "one.svg", "timings.csv", "timings.png"):
        (made.results / name).write_text(TABLE)
    nbformat.write(nbformat.v4.new_notebook(), made.results / "01_toy.ipynb")
    made.write_record(made.digest())
    return made


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


CLAIM = "ours,x\n0.5 (-0.4 to 6e-1) holds,0.01\n"


@pytest.mark.parametrize(
    ("text", "agrees"),
    [
        (TABLE, True),
        (TABLE.replace("0.5", "0.5049"), True),  # 0.0049 is less than 1 % of 0.5049
        (TABLE.replace("0.5", "0.5051"), False),  # 0.0051 is more than 1 % of 0.5051, and than 0.002
        (TABLE.replace("nan", "0.1"), False),
        (TABLE.replace("b,", "c,"), False),
        (TABLE + "c,1,1\n", False),
        ("score,name,n\n0.5,a,1000\nnan,b,3\n", False),
        (CLAIM.replace("0.5 (-0.4 to 6e-1)", "0.501 (-0.401 to 0.601)"), True),
        (CLAIM.replace("0.5 (", "0.51 ("), False),
        (CLAIM.replace("holds", "fails"), False),
    ],
)
def test_tables_agree_in_columns_rows_text_and_nearly_in_numbers(tmp_path, text, agrees) -> None:
    one = write(tmp_path, "one.csv", TABLE if "n" in text.split("\n")[0].split(",") else CLAIM)
    other = write(tmp_path, "other.csv", text)
    assert reference.agree(one, other) == reference.agree(other, one) == agrees


def test_renewing_copies_tables_and_figures_and_removes_what_is_no_longer_made(job) -> None:
    folder = paths.FIGURES / "reference" / "default" / "01_toy"
    folder.mkdir(parents=True)
    for name in ("older.csv", "older.png", "README.md"):
        write(folder, name, "older")
    assert renew(job) == folder
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md", "one.csv", "one.png", "parameters.json", "two.csv",
    ]  # fmt: skip
    assert json.loads((folder / "parameters.json").read_text(encoding="utf-8")) == {"k": 7, "names": ["ä"]}


def test_results_that_are_not_up_to_date_are_no_reference(job) -> None:
    (job.results / "one.csv").unlink()
    with pytest.raises(InputError, match="01_toy: not up to date; run make figures first"):
        renew(job)


# README: "ends with a line on how many of its tables agree with the committed ones", "`make reference` puts the last
# run in their place"
def test_the_line_counts_the_tables_that_agree_and_names_the_others(job) -> None:
    assert reference.compare([job]) == f"no reference to compare with in {paths.FIGURES}/reference/default"
    renew(job)
    assert reference.compare([job]) == f"2 of 2 {AGREE}"
    other = jobs.Job(job.notebook.with_name("02_toy.ipynb"), "default", {})
    assert reference.compare([job, other]) == f"2 of 2 {AGREE}; without a reference: 02_toy"
    write(job.results, "one.csv", "x\n")
    write(job.results, "three.csv", "x\n")
    assert reference.compare([job]) == f"1 of 3 {AGREE}; not 01_toy/one.csv, 01_toy/three.csv"
    job.changes["k"] = 8
    assert reference.compare([job]) == f"0 of 0 {AGREE}; not compared, for other parameters: 01_toy"


def test_the_verdicts_of_all_studies_come_together(tmp_path) -> None:
    for name, verdict in (("02_b", "fails"), ("01_a", "holds")):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "claims.csv", f"id,verdict\nx,{verdict}\n")
    reference.gather_claims(tmp_path)
    assert (tmp_path / "claims.csv").read_text() == "study,id,verdict\n01_a,x,holds\n02_b,x,fails\n"


def test_a_page_shows_pictures_by_link_tables_without_style_and_links_from_its_own_folder() -> None:
    picture, plain = {"text/html": "<img src='data:...'>", "text/plain": "A map."}, {"text/plain": "3"}
    widget = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "slider"}
    cells = [
        nbformat.v4.new_markdown_cell(
            "# One\n\n[two](02_two.ipynb#end), [terms](../docs/glossary.md), [site](https://x.org)"
        ),
        nbformat.v4.new_code_cell("draw()"),
    ]
    cells[1].outputs = [
        nbformat.v4.new_output("display_data", picture, metadata={"text/html": {"figure": "map", "alt": "A map."}}),
        nbformat.v4.new_output("display_data", {"text/html": "<style>p {}</style>\n<table></table>"}),
        nbformat.v4.new_output("display_data", widget),
        nbformat.v4.new_output("execute_result", plain),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    assert page(notebook) == (
        "# One\n\n[two](../02_two/README.md#end), [terms](../../../../docs/glossary.md), [site](https://x.org)\n\n"
        "```python\ndraw()\n```\n\n![A map.](map.png)\n\n<table></table>\n\n    3\n"
    )


@pytest.mark.parametrize("notebook", sorted(paths.NOTEBOOKS.glob("*.ipynb")), ids=lambda notebook: notebook.stem)
def test_the_committed_page_is_of_the_lesson_as_it_is(notebook) -> None:
    """Pages of the paper profile are not compared: who changes a lesson need not have the papers' data."""
    found = (REFERENCE / "default" / notebook.stem / "README.md").read_text(encoding="utf-8")
    for line in page(nbformat.read(notebook, as_version=4)).splitlines():
        assert line in found, "run make figures, then make reference"


@pytest.mark.parametrize("lesson", sorted((REFERENCE / "paper").glob("*/README.md")), ids=lambda page: page.parent.name)
def test_the_head_of_a_page_of_the_paper_profile_names_the_verdicts_that_differ(lesson) -> None:
    _, _, rest = lesson.read_text(encoding="utf-8").partition("\n\n")
    assert rest.startswith(f"{head(lesson.parent.name)}\n")


def test_sentences_that_may_not_be_passed_on_are_named_by_number_however_they_are_escaped() -> None:
    instead = {'He said: "buy" $5 & more': "[text 1]", 'buy" $5 &': "[text 2]"}
    shown = 'a,"He said: ""buy"" $5 & more"\n| He said: "buy" <span>&#36;</span>5 &#38; more |\n<td>buy" $5 &</td>'
    assert withhold(shown, instead) == 'a,"[text 1]"\n| [text 1] |\n<td>[text 2]</td>'


# README: "the exercises with what their solutions print"
def test_solutions_follow_the_notebook_in_their_order(tmp_path) -> None:
    folded = "**1.** Why?\n\n<details><summary>Solution</summary>\n\n```python\nprint(1)\n```\n\nSo.\n\n</details>"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(folded)])
    assert exercises(notebook) == [("**1.** Why?\n\n", "```python\nprint(1)\n```\n\nSo.\n\n")]
    nbformat.write(notebook, tmp_path / "lesson.ipynb")
    append_solutions(tmp_path / "lesson.ipynb")
    added = nbformat.read(tmp_path / "lesson.ipynb", as_version=4).cells[-1]
    assert (added.source, added.metadata["exercise"]) == ("print(1)", 1)


# README: "Every claim with its verdict, by paper", "Which embedder for my task?", "What is in each table"
@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_the_committed_results_say(name) -> None:
    mark, made = PAGES[name]
    assert (paths.ROOT / name).read_text(encoding="utf-8") == between(name, mark, f"\n{made()}")


FINDINGS = [
    line.strip()
    for name, end in (("README.md", "## Two commands"), ("docs/replication.md", "<!-- claims -->"))
    for line in re.split(r"\n(?=- |\d+\. )", (paths.ROOT / name).read_text().partition(end)[0])
    if re.search(r"\d\.\d", line.partition("](")[0])
]


# README: "What replicates", with its numbers
@pytest.mark.parametrize("finding", FINDINGS)
def test_a_number_of_a_finding_stands_in_a_table_of_its_study(finding) -> None:
    """Every number with a decimal point, as the tables round it."""
    said, study = re.match(r"(.*?)\[study \d\]\((?:\.\./)?(figures/\S+)/README.md\)", finding, re.DOTALL).groups()
    cells = " ".join(file.read_text() for file in (paths.ROOT / study).glob("*.csv"))
    found = [float(cell) for cell in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", cells)]
    for number in re.findall(r"\d+\.\d+", said):
        assert any(f"{value:.{len(number.partition('.')[2])}f}" == number for value in found), number
