"""A run's tables agree with the reference, or differ as processors do, or otherwise.

The reference is renewed by copying a run.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from audit.ledger import CLAIMS, UNTESTED
from lib import embedders
from lib.base import paths
from lib.base.errors import InputError
from tests.refusals import refused
from tools.pages import between
from tools.reference import page, renew, withhold
from tools.results import (
    MADE,
    PAPERS,
    PROFILES,
    REFERENCE,
    best_evidence,
    gathered,
    linked,
)
from tools.run import comparison, jobs

AGREE = "tables agree with the reference within 0.002 or 1 %"
TABLE = "name,score,n\na,0.5,1000\nb,nan,3\n"


@pytest.fixture(params=["01_toy", "replication/toy"])
def job(request, tmp_path, monkeypatch) -> jobs.Job:
    """An executed notebook of the default profile.

    It has two tables, two figures, and something that measures time.
    """
    for name in ("NOTEBOOKS", "FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
    notebook = paths.NOTEBOOKS / f"{request.param}.ipynb"
    notebook.parent.mkdir(parents=True)
    cell = {
        "cell_type": "code",
        "metadata": {"tags": ["parameters"]},
        "source": ["k = 5\n", 'names = ["ä"]'],
    }
    notebook.write_text(json.dumps({"cells": [cell]}))
    made = jobs.Job(notebook, "default", {"k": 7})
    made.results.mkdir(parents=True)
    made.record.parent.mkdir(parents=True)
    tables = ["one.csv", "two.csv", "timings.csv"]
    for name in (*tables, "one.png", "one.svg", "timings.png"):
        (made.results / name).write_text(TABLE)
    nbformat.write(nbformat.v4.new_notebook(), made.executed)
    made.write_record(made.digest())
    return made


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def differences(made: Path, committed: Path) -> dict[str, float] | str:
    """What the comparison finds, to five digits; "otherwise" stands for all."""
    found = comparison.differences(made, committed)
    if "otherwise" in found:
        return "otherwise"
    return {kind: round(size, 5) for kind, size in found.items()}


CLAIM = "ours,x\n0.5 (-0.4 to 6e-1) holds,0.01\n"
SCORES = "name,value,low,high\na,0.5,0.4,0.6\nb,0.49,0.41,0.51\n"
COUNTS = "name,mistakes,right\na,14,1\nb,20,1\n"


# A tenth of the width of 0.4 to 0.6 is 0.02, and one of -0.4 to 0.6 is 0.1; the ends
# may move by two.
@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        (TABLE, {}, {}),
        ("", {}, {}),
        ("a,b\n1,2\n", {"1,2\n": "\n1,2\n\n"}, {}),
        # 1 % of 0.505 is 0.00505.
        (TABLE, {"0.5": "0.5049"}, {}),
        (TABLE, {"0.5": "0.5051"}, {"number": 0.0051}),
        (TABLE, {"0.5": "0.5124"}, {"number": 0.0124}),
        (TABLE, {"0.5": "0.5126"}, "otherwise"),
        (TABLE, {"nan": "0.1"}, "otherwise"),
        (TABLE, {"b,": "c,"}, "otherwise"),
        (TABLE, {"b,": "c,1,1\nb,"}, "otherwise"),
        (TABLE, {"name,score": "score,name"}, "otherwise"),
        (CLAIM, {"0.5 (-0.4 to 6e-1)": "0.501 (-0.401 to 0.601)"}, {}),
        (CLAIM, {"0.5 (": "0.59 ("}, {"share": 0.09}),
        (CLAIM, {"-0.4 ": "-0.21 "}, {"share": 0.19}),
        (CLAIM, {"-0.4 ": "-0.19 "}, "otherwise"),
        (CLAIM, {"0.5 (": "0.61 ("}, "otherwise"),
        (CLAIM, {"holds": "fails"}, "otherwise"),
        (CLAIM, {"0.01": "0.0149"}, {"number": 0.0049}),
        (CLAIM, {"0.01": "0.0151"}, "otherwise"),
        (SCORES, {"0.5,": "0.518,"}, {"share": 0.09}),
        (SCORES, {"0.5,": "0.522,"}, "otherwise"),
        (SCORES, {"0.6": "0.638"}, {"share": 0.19}),
        (SCORES, {"0.6": "0.642"}, "otherwise"),
        # Without a width there is no tenth of it.
        ("value,low,high\n1,1,1\n", {"\n1,": "\n0.98,"}, "otherwise"),
        (COUNTS, {"14": "16"}, {"count": 2}),
        (COUNTS, {"14": "17"}, "otherwise"),
        (COUNTS, {"14,1": "14,0"}, "otherwise"),
        ("k,value\n50,0.5\n", {"50,": "51,"}, "otherwise"),
        ("value,n\n0.5,5\n", {",5": ",6"}, {"count": 1}),
        ("ours\n401 met; b: 3 (0 to 8)\n", {"401": "395"}, "otherwise"),
        ("ours\n14 met; b: 3 (0 to 8)\n", {"14": "12", "3": "2"}, {"count": 2}),
        ("ours\n14 met; b: 3 (0 to 8)\n", {"3": "6"}, "otherwise"),
    ],
)
def test_tables_agree_or_differ_as_processors_do_or_otherwise(
    tmp_path, text, changes, expected
) -> None:
    other = text
    for old, new in changes.items():
        other = other.replace(old, new)
    files = write(tmp_path, "made.csv", other), write(tmp_path, "committed.csv", text)
    assert differences(*files) == expected


def test_rows_change_places_where_two_estimates_do(tmp_path) -> None:
    committed = write(tmp_path, "committed.csv", SCORES)
    swapped = "name,value,low,high\nb,0.495,0.41,0.51\na,0.494,0.4,0.6\n"
    made = write(tmp_path, "made.csv", swapped)
    # 0.5 to 0.494 of 0.2, and 0.49 to 0.495 of 0.1
    assert differences(made, committed) == {"order": 1, "share": 0.05}
    write(tmp_path, "made.csv", swapped.replace("b,", "c,"))
    assert differences(made, committed) == "otherwise"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        # The last two places change hands, and two others change places.
        (
            ["Yes.,8", "No.,7", "Oh.,5", "Ah.,2"],
            {"order": 1, "sentences": 2, "count": 2},
        ),
        (["No.,9", "Yes.,7", "Oh.,5", "Ah.,6"], "otherwise"),
        (["No.,9", "Well.,7", "Oh.,5", "Ah.,3"], "otherwise"),
    ],
)
def test_at_most_two_sentences_of_a_list_give_way_to_others(
    tmp_path, made, expected
) -> None:
    committed = ["No.,9", "Yes.,7", "Now.,5", "Then.,3"]
    files = [
        write(tmp_path, name, "\n".join(["sentence,n", *rows, ""]))
        for name, rows in (("made.csv", made), ("committed.csv", committed))
    ]
    assert differences(*files) == expected


def test_text_that_the_reference_withholds_agrees_with_any(tmp_path) -> None:
    made = write(tmp_path, "made.csv", 'sentence,n\n"Gold, up 2",1\n')
    committed = write(tmp_path, "committed.csv", "sentence,n\n[reuters 12],1\n")
    assert comparison.differences(made, committed) == {}
    assert comparison.differences(committed, made) == {"sentences": 1}


def test_renewing_copies_tables_and_figures_and_removes_what_is_no_longer_made(
    job,
) -> None:
    folder = paths.FIGURES / "reference" / "default" / job.name
    folder.mkdir(parents=True)
    for name in ("older.csv", "older.png", "README.md"):
        write(folder, name, "older")
    assert renew(job) == folder
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md", "one.csv", "one.png", "parameters.json", "two.csv",
    ]  # fmt: skip
    assert json.loads((folder / "parameters.json").read_text(encoding="utf-8")) == {
        "k": 7,
        "names": ["ä"],
    }
    (job.results / "one.csv").unlink()
    with refused(f"{job.name}: not up to date; run make figures first"):
        renew(job)


# README: "ends with a line on how many of its tables agree with the committed ones",
# "`make reference` puts the last run in their place"
def test_the_line_counts_the_tables_that_agree_and_names_the_others(job) -> None:
    nothing = f"no reference to compare with in {paths.FIGURES}/reference/default"
    assert comparison.compare([job]) == nothing
    renew(job)
    assert comparison.compare([job]) == f"2 of 2 {AGREE}"
    other = jobs.Job(job.notebook.with_name("02_toy.ipynb"), "default", {})
    said = comparison.compare([job, other])
    assert said == f"2 of 2 {AGREE}; without a reference: {other.name}"
    write(job.results, "one.csv", "x\n")
    write(job.results, "three.csv", "x\n")
    said = comparison.compare([job])
    assert said == (
        f"1 of 3 {AGREE}; 2 differ otherwise: "
        f"{job.name}/one.csv, {job.name}/three.csv; no verdict changed"
    )
    job.changes["k"] = 8
    assert (
        comparison.compare([job])
        == f"not compared, because parameters differ: {job.name}"
    )


def test_the_line_tells_differences_of_processors_from_others_and_names_new_verdicts(
    job,
) -> None:
    committed = renew(job)
    write(committed, "one.csv", SCORES)
    write(committed, "two.csv", COUNTS)
    write(job.results, "one.csv", SCORES.replace("0.5,", "0.518,"))
    write(job.results, "two.csv", COUNTS.replace("14", "15"))
    said = (
        f"0 of 2 {AGREE}; 2 differ as processors do "
        "(at most 0.09 of an interval's width, 1 in a count); no verdict changed"
    )
    assert comparison.compare([job]) == said
    claims = "id,ours,verdict\nx,0.5 (0.4 to 0.6),holds\ny,1,fails\n"
    write(committed, "claims.csv", claims)
    write(job.results, "claims.csv", claims.replace("holds", "undecided"))
    said = said.replace("of 2", "of 3").partition("; no verdict")[0]
    assert comparison.compare([job]) == (
        f"{said}; 1 differs otherwise: {job.name}/claims.csv; "
        "verdicts that changed: x (holds to undecided)"
    )


# How much more than 17 % of the neighbors two embedders share that are trained here, in
# points, and how often they agree on the first.
TRAINED = """
import sys
import numpy as np
from lib import corpora, embedders, n2o, stats
from lib.neighbors import exact
sentences = list(corpora.load("lee").sentences[:600])
ids = {}
for name in ("w2v-corpus", "sent2vec-corpus-uni"):
    vectors = embedders.load(name).fit(sentences).encode(sentences)
    np.save(f"{sys.argv[1]}/{name}.npy", vectors)
    ids[name] = exact(vectors, vectors, k=10, exclude=np.arange(600)).ids
points = 100 * (n2o.per_query(ids) - 0.17)
table = stats.means(points, stats.Sampling(0, 200)).reset_index()
table["first"] = np.equal(*ids.values())[:, 0].sum()
table.to_csv(f"{sys.argv[1]}/n2o.csv", index=False)
"""
# Instructions that every x86-64 processor has
OLDER = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
}


# docs/troubleshooting.md: "On another processor"
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="needs a processor with two sets of instructions",
)
def test_training_with_other_instructions_differs_only_as_processors_do(
    tmp_path,
) -> None:
    running = []
    for name, instructions in (("committed", {}), ("made", OLDER)):
        (tmp_path / name).mkdir()
        cache = {"SENTENCE_CACHE": str(tmp_path / name / "cache")}
        command = [sys.executable, "-c", TRAINED, str(tmp_path / name)]
        variables = os.environ | cache | instructions
        running.append(subprocess.Popen(command, cwd=paths.ROOT, env=variables))
    assert [process.wait() for process in running] == [0, 0]
    for file in ("w2v-corpus.npy", "sent2vec-corpus-uni.npy"):
        made, committed = (tmp_path / name / file for name in ("made", "committed"))
        assert made.read_bytes() != committed.read_bytes()
    made, committed = (tmp_path / name / "n2o.csv" for name in ("made", "committed"))
    assert comparison.differences(made, committed).keys() <= {"share", "count"}


def test_the_verdicts_of_all_notebooks_come_together_and_a_replication_s_stands(
    tmp_path,
) -> None:
    judged = {
        "02_b": "y,fails\n",
        "01_a": "x,holds\nz,holds\n",
        "replication/n2o": "z,fails\n",
    }
    for name, rows in judged.items():
        (tmp_path / name).mkdir(parents=True)
        write(tmp_path / name, "claims.csv", f"id,verdict\n{rows}")
    for _ in range(2):
        comparison.gather_claims(tmp_path)
        assert (tmp_path / "claims.csv").read_text() == (
            "study,id,verdict\n01_a,x,holds\n02_b,y,fails\nreplication/n2o,z,fails\n"
        )


def test_a_page_shows_pictures_by_link_tables_without_style_and_links_from_its_own_folder() -> (  # noqa: E501
    None
):
    picture, plain = (
        {"text/html": "<img src='data:...'>", "text/plain": "A map."},
        {"text/plain": "3"},
    )
    widget = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "slider"}
    cells = [
        nbformat.v4.new_markdown_cell(
            "# One\n\n[two](02_two.ipynb#end), [terms](../docs/glossary.md), [site](https://x.org)"
        ),
        nbformat.v4.new_code_cell("draw()"),
    ]
    cells[1].outputs = [
        nbformat.v4.new_output(
            "display_data",
            picture,
            metadata={"text/html": {"figure": "map", "alt": "A map."}},
        ),
        nbformat.v4.new_output(
            "display_data",
            {"text/html": '<style>p {}</style>\n<table id="T_0c57a"></table>'},
        ),
        nbformat.v4.new_output("display_data", widget),
        nbformat.v4.new_output("execute_result", plain),
    ]
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"language_info": {"name": "python"}}
    )
    assert page(notebook, "01_one") == (
        "# One\n\n[two](../02_two/README.md#end), "
        "[terms](../../../../docs/glossary.md), [site](https://x.org)\n\n"
        "```python\ndraw()\n```\n\n![A map.](map.png)\n\n<table></table>\n\n    3\n"
    )


def test_a_page_shows_a_printed_line_whole_however_it_was_sent() -> None:
    cell = nbformat.v4.new_code_cell("print(1, 2)")
    sent = ("stdout", "1"), ("stderr", "a warning"), ("stdout", " 2\n")
    cell.outputs = [
        nbformat.v4.new_output("stream", name=name, text=text) for name, text in sent
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[cell], metadata={"language_info": {"name": "python"}}
    )
    assert page(notebook, "01_one") == "```python\nprint(1, 2)\n```\n\n    1 2\n"


# In the paper profile, too, links to lessons lead to their default results.
@pytest.mark.parametrize(
    ("name", "profile", "target", "expected"),
    [
        ("replication/n2o", "paper", "usif.ipynb", "../usif/README.md"),
        (
            "replication/n2o",
            "paper",
            "../01_a.ipynb",
            "../../../default/01_a/README.md",
        ),
        ("replication/n2o", "paper", "../../docs/c.md#x", "../../../../../docs/c.md#x"),
    ],
)
def test_a_link_leads_to_the_same_place_from_its_page(
    name, profile, target, expected
) -> None:
    cells = [nbformat.v4.new_markdown_cell(f"[there]({target})")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    assert page(notebook, name, profile) == f"[there]({expected})\n"


@pytest.mark.parametrize(
    "notebook", [*paths.lessons(), *paths.replications()], ids=paths.notebook_name
)
def test_the_committed_page_is_of_the_notebook_as_it_is(notebook) -> None:
    """Pages of the paper profile are not compared.

    Whoever changes a lesson need not have the papers' data.
    """
    name = paths.notebook_name(notebook)
    found = (REFERENCE / "default" / name / "README.md").read_text(encoding="utf-8")
    for line in page(nbformat.read(notebook, as_version=4), name).splitlines():
        assert line in found, "run make figures, then make reference"


def test_sentences_that_may_not_be_passed_on_are_named_by_number_however_they_are_escaped() -> (  # noqa: E501
    None
):
    instead = {'He said: "buy" $5 & more': "[text 1]", 'buy" $5 &': "[text 2]"}
    shown = (
        'a,"He said: ""buy"" $5 & more"\n'
        '| He said: "buy" <span>&#36;</span>5 &#38; more |\n<td>buy" $5 &</td>'
    )
    assert withhold(shown, instead) == 'a,"[text 1]"\n| [text 1] |\n<td>[text 2]</td>'


# README: "Every claim with its verdict, by paper", "Which embedder for my task?", "What
# is in each table"
@pytest.mark.parametrize(("name", "mark", "made"), MADE)
def test_a_page_says_what_the_committed_results_say(name, mark, made) -> None:
    assert (paths.ROOT / name).read_text(encoding="utf-8") == between(
        name, mark, f"\n{made()}"
    )


# README: "every part with its best evidence"
def test_each_part_of_a_claim_has_its_best_evidence() -> None:
    rows = [
        ("default", "a", "own", "holds"),
        ("paper", "a", "stand-in", "not seen here"),
        ("default", "b", "stand-in", "seen here"),
        ("paper", "b", "stand-in", "undecided"),
        ("default", "c", "stand-in", "seen here"),
        ("paper", "c", "own", UNTESTED),
        ("default", "d", "missing", UNTESTED),
        ("paper", "d", "missing", UNTESTED),
    ]
    columns = ["profile", "part", "evidence", "result"]
    best = best_evidence(pd.DataFrame(rows, columns=columns))
    assert list(best["part"] + " " + best["profile"]) == [
        "a default",
        "b paper",
        "c default",
        "d paper",
    ]


# README: "one table"
def test_the_table_of_all_verdicts_is_that_of_the_committed_results() -> None:
    committed = pd.read_csv(REFERENCE / "verdicts.csv", keep_default_na=False)
    stream = StringIO(gathered().to_csv(index=False))
    made = pd.read_csv(stream, keep_default_na=False)
    pd.testing.assert_frame_equal(committed, made)
    assert (REFERENCE / "verdicts.jsonld").read_text(encoding="utf-8") == linked()


# README: "What is in each table"
def test_every_column_of_every_committed_table_has_a_meaning_and_a_unit() -> None:
    page = (
        (paths.ROOT / "docs/tables.md")
        .read_text(encoding="utf-8")
        .partition("## What `value` is")[0]
    )
    rows = re.findall(r"^\| (`.*?) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    listed = {name for names, *_ in rows for name in re.findall("`([^`]+)`", names)}
    explained = listed.union(
        *(re.findall("`([^`]+)`", meaning) for _, meaning, _ in rows)
    )

    def is_explained(column: str) -> bool:
        plain = re.sub("_(low|high|seconds)$|, baseline$", "", column)
        if plain in explained or plain.isdigit():
            return True
        try:
            return bool(embedders.parse("column", plain))
        except InputError:
            return False

    folders = [
        folder
        for name in PROFILES
        for folder in comparison.results_of(REFERENCE / name).values()
    ]
    used = set()
    for file in (file for folder in folders for file in folder.glob("*.csv")):
        columns = pd.read_csv(file, nrows=0).columns
        assert [column for column in columns if not is_explained(column)] == [], file
        used.update(columns)
    assert listed - used == set(), "explained, but in no table"


@pytest.mark.parametrize("source", PAPERS)
def test_a_number_of_the_summary_of_a_paper_stands_in_its_tables(source) -> None:
    """Every number with a decimal point, as the tables round it, or as a percentage."""
    page = (paths.ROOT / "docs/replication.md").read_text(encoding="utf-8")
    link = f"[Every claim with its verdict](replication/{source}.md)"
    said = page.partition(link)[0].rpartition("\n## ")[2]
    claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    claims = claims[claims["source"] == source]
    studies = {f"replication/{source}", *claims["lesson"]}
    printed = claims[["claim", "published", "published_value"]]
    cells = " ".join(printed.to_numpy().ravel())
    for study in studies:
        for file in REFERENCE.glob(f"*/{study}/*.csv"):
            cells += file.read_text(encoding="utf-8")
    found = [float(cell) for cell in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", cells)]
    found += [100 * value for value in found]
    for number in re.findall(r"\d+\.\d+(?!e)", re.sub(r"\]\(\S+\)", "", said)):
        digits = len(number.partition(".")[2])
        assert any(f"{abs(value):.{digits}f}" == number for value in found), number


# README: "What we found", with its numbers
def test_the_numbers_of_the_readme_stand_in_the_summaries_of_the_papers() -> None:
    readme = (paths.ROOT / "README.md").read_text(encoding="utf-8")
    _, _, found = readme.partition("## What we found")
    summaries = (paths.ROOT / "docs/replication.md").read_text(encoding="utf-8")
    numbers = re.findall(r"\d+\.\d+", found.partition("\n## ")[0])
    assert numbers
    assert [number for number in numbers if number not in summaries] == []
