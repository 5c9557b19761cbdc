"""Lessons run with one's own models on one's own text.

They accept any two or more embedders and a text without blank lines.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import nbformat
import pytest
import yaml

from lib import corpora
from tests.copies import copy_project, run
from tests.notebooks.tables import faults
from tests.sizes import NIGHTLY

TEXT = "lines:own.txt"
MINE = """
import numpy as np


def encode(sentences):
    counts = np.zeros((len(sentences), 64))
    for row, sentence in enumerate(sentences):
        for first, second in zip(sentence, sentence[1:]):
            counts[row, (31 * ord(first) + ord(second)) % 64] += 1
    return counts
"""
EMBEDDERS = {
    "two": ["glove-6b-50d", "wordllama"],
    "two with an own": ["wordllama", "mine.py:encode"],
    "two that count": ["tfidf", "bow"],
    "three": ["glove-6b-50d", "tfidf", "mine.py:encode"],
    "five": ["wordllama", "bow", "w2v-corpus", "minilm-avg", "mine.py:encode"],
}
# Little of each lesson.
LESSONS = {
    "00_start_here": {},
    "01_n2o": {
        "corpus_name": TEXT,
        "queries": 30,
        "k": 5,
        "experiment_verses": 5,
        "experiment_k": 5,
    },
    "02_robustness": {
        "corpus_name": TEXT,
        "other_corpus": "bible-gospels:web",
        "translation": "bible-gospels:ylt",
        "k": 5,
        "queries": 30,
        "deals": 3,
    },
    "03_popularity": {"corpus_name": TEXT, "repetitions": 100, "queries": 30},
    "04_paraphrase_mrr": {"haystack": 200, "pairs": 15, "repetitions": 100},
    "09_situate_your_own": {
        "corpus_name": TEXT,
        "embedder": "mine.py:encode",
        "embedder_name": "new",
        "queries": 30,
        "k": 5,
    },
    "10_swap": {"corpus_name": TEXT, "queries": 30, "k": 5},
    "11_shrink": {"pairs": 15, "k": 5},
}
GLOVE = {"glove-6b-50d", "glove-6b-50d+sif", "glove-6b-50d+usif"}
ALSO_ENCODED = {"mine.py:encode", "new", "tfidf", *GLOVE}
# Lesson 2 ranks pairs, of which two embedders make only one; lesson 11 takes dense
# vectors alone.
MATRIX = [
    (lesson, chosen)
    for lesson, chosen in product(LESSONS, EMBEDDERS)
    if lesson != "02_robustness" or len(EMBEDDERS[chosen]) > 2
    if lesson != "11_shrink" or chosen != "two that count"
]
TRIED = MATRIX if NIGHTLY else [("01_n2o", "two with an own")]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A copy of the project with a text and a function of one's own.

    The text is one document. Also returns the variables to run it with.
    """
    folder = tmp_path_factory.mktemp("own") / "project"
    variables = copy_project(folder)
    (folder / "own.txt").write_text("\n".join(sentences()) + "\n")
    (folder / "mine.py").write_text(MINE)
    return folder, variables


def sentences() -> list[str]:
    """300 different sentences, and three that are there twice."""
    different = corpora.load("lee").sentences[:300]
    return [*different, *different[:3]]


# README: "Studies 0 to 4 and 9 compare whatever `embedder_names` lists", "They name the
# claims and sections that need other embedders before they encode anything"
@pytest.mark.parametrize(("lesson", "chosen"), TRIED)
def test_a_lesson_runs_and_says_what_it_leaves_out(project, lesson, chosen) -> None:
    folder, variables = project
    names = EMBEDDERS[chosen]
    values = LESSONS[lesson] | {"embedder_names": names}
    if lesson == "10_swap":  # the first two
        values = LESSONS[lesson] | {"old": names[0], "new": names[1]}
    if lesson == "11_shrink":  # the first
        values = LESSONS[lesson] | {"embedder": names[0]}
    profile = folder / "params" / chosen
    profile.mkdir(exist_ok=True)
    (profile / f"{lesson}.yaml").write_text(yaml.safe_dump(values))
    options = ["--profile", chosen, "--notebook", lesson]
    ended = run(folder, variables, "-m", "tools.run", *options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = folder / "figures" / chosen / lesson
    assert [fault for file in results.glob("*.csv") for fault in faults(file)] == []
    said = outputs(results / f"{lesson}.ipynb")
    if "corpus_name" in values:
        assert "303 lines read; dropped 3 repeated and 0 empty ones" in said
        assert said.count("Fewer than ten documents") == 1
    if lesson == "01_n2o":  # what one's own function is, no file says
        is_told = "is left out of comparisons by kind" in said
        assert is_told == ("mine.py:encode" in names)
    # Lesson 9 encodes one of them a second time, as "...-again".
    encoded = re.findall(r"encode (\S+):", ended.stdout)
    others = ALSO_ENCODED if lesson[:2] in ("04", "09") else set()
    found = {name.removesuffix("-again") for name in encoded}
    assert found <= {*names, *others}


def outputs(notebook: Path) -> str:
    """All Markdown that an executed notebook shows."""
    shown = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        for output in cell.get("outputs", []):
            shown.append(output.get("data", {}).get("text/markdown", ""))
    return "\n".join(shown)
