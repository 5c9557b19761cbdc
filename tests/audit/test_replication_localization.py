"""The replication of localization: print, families, and cells on made-up answers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from audit import localization as study
from audit.ledger import Ledger
from lib import embedders
from lib.base import paths
from lib.stats import Sampling
from tests.embedders.test_table_one import word2vec

NOTEBOOK = json.loads((paths.NOTEBOOKS / "replication/localization.ipynb").read_bytes())
CODE = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
CELLS = {cell["id"]: "".join(cell["source"]) for cell in CODE}
SAMPLING = Sampling(repetitions=4000)


def test_print_is_drawn_with_the_errors_of_its_sentences() -> None:
    drawn = study.printed(SAMPLING)
    for name, model, share, sentences in (
        ("MSRP", "URAE", 0.5114, 859),
        ("Opinosis", "SOWE", 0.6875, 521),
    ):
        assert drawn[name][model][0] == pytest.approx(share)
        error = (share * (1 - share) / sentences) ** 0.5
        assert drawn[name][model][1:].std() == pytest.approx(error, rel=0.05)


def around(**accuracies: float) -> pd.DataFrame:
    """Independent draws of accuracies with a standard error of 1."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1 + SAMPLING.repetitions, len(accuracies)))
    noise[0] = 0
    levels = np.array(list(accuracies.values()))
    draws = pd.DataFrame(noise + levels, columns=list(accuracies))
    return draws.rename_axis(columns="model")


def test_the_error_of_print_is_compared_with_that_of_paired_answers() -> None:
    # Each of 25 sentences is its own group, and both are right on others.
    drawn = around(a=0.5, b=0.5) * 0.1
    drawn.iloc[0] = 0.5
    ratio = study.paired_errors(drawn, 25)
    assert ratio.tolist() == pytest.approx([1], rel=0.05)


@pytest.mark.parametrize("margin", [False, True])
def test_all_pairs_on_all_sets_are_one_family(margin) -> None:
    sets = {"one": around(a=3.0, b=0.0), "other": around(a=0.0, b=0.0)}
    pairs = [("a", "b"), ("b", "a")]
    found = study.contrasts(sets, pairs, SAMPLING, margin)
    error = 2**0.5
    # 3 is 2.1 errors from 0: enough alone, not in a family of four.
    half = norm.isf(0.025 / 4) * error
    assert found.estimate == pytest.approx([3, -3, 0, 0])
    assert found.high - found.estimate == pytest.approx([half] * 4, rel=0.1)
    assert found.low[0] < 0 < 3 - norm.isf(0.025) * error


def test_ungrouped_sentences_are_those_of_no_group(data_folder) -> None:
    folder = data_folder / "opinosis/paraphrase_groups"
    folder.mkdir(parents=True)
    rows = ['"alone, quoted"\ta\tx', "a\tb\ty", "lonely\tc\tz"]
    (folder / "made.data").write_text("\n".join(rows))
    assert study.ungrouped() == ["alone, quoted", "lonely"]
    assert len(study.others(["Opinosis"], 1)) == 1


def verdict(names: list[str]) -> str:
    """Whether sum and mean do alike, by cells of the notebook.

    Both sets are the paper's, and the two models never differ.
    """
    alike = pd.DataFrame(0.7, range(1 + SAMPLING.repetitions), ["MOWE", "SOWE"])
    notebook = {
        "accuracy": {"MSRP-groups": alike, "Opinosis-groups": alike},
        "both": True,
        "corpus_name": "made-up",
        "difference": lambda *each, margin: study.contrasts(*each, SAMPLING, margin),
        "embedder_names": ["tfidf", "bow", "glove-6b-50d"],
        "embedders": embedders,
        "last": "Opinosis-groups",
        "ledger": Ledger("localization", "paper"),
        "sets": {"MSRP-groups": 0, "Opinosis-groups": 0},
        "table_1": {},
        "word_vectors": names,
    }
    for cell in ("chosen", "b28d17e9", "mowe-sowe"):
        exec(CELLS[cell], notebook)
    table = notebook["ledger"].table().set_index("id")
    return table.loc["localization-mowe-sowe-similar", "verdict"]


def test_with_the_papers_word_vectors_in_place_the_verdict_is_the_papers(
    data_folder,
) -> None:
    assert verdict(["w2v", "glove-6b-50d"]) == "seen here"
    (data_folder / "word2vec").mkdir()
    word2vec(data_folder)
    assert verdict(["w2v", "glove-6b-50d"]) == "holds"
