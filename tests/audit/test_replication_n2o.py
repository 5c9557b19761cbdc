"""The replication of N2O: its cells, on lists whose answer is known."""

from __future__ import annotations

import ast
import json

import numpy as np
import pandas as pd
import pytest

from audit import figures, published
from audit import n2o as study
from audit.ledger import Ledger
from lib import embedders, stats
from lib.base import paths

NAMES = list(embedders.PRESETS["installed"])
PAPER = list(published.load("n2o_table1")["embedder"])
NOTEBOOK = json.loads((paths.NOTEBOOKS / "replication/n2o.ipynb").read_bytes())
CODE = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
CELLS = {cell["id"]: "".join(cell["source"]) for cell in CODE}
IDS = list(CELLS)
SECTION_5 = IDS[IDS.index("n2o-chance-level-tail") : IDS.index("section-6-draws")]
JUDGING = [id for id in SECTION_5 if not id.startswith(("figure-", "decoder-"))]


def _judged(ids: dict[str, np.ndarray]) -> pd.DataFrame:
    """The verdicts of section 5, by claim."""
    rng = np.random.default_rng(1)
    queries = len(next(iter(ids.values())))
    stand_ins = [name for name in study.STAND_INS.values() if "half" in name]
    more = {name: _lists(rng) for name in stand_ins}
    everyone = [*ids, *more]
    words = rng.random((2, queries, len(everyone)))
    sampling = stats.Sampling(1, 60)
    notebook = {
        "drawn": np.arange(queries),
        "here": "made-up lists",
        "ids": ids,
        "ledger": Ledger("n2o", "default"),
        "names": list(ids),
        "overlaps": study.Overlaps(ids, more, np.arange(queries), sampling),
        "paper": PAPER,
        "readings": [pd.DataFrame(each, columns=everyone) for each in words],
        "stated": published.cells("n2o", "quantity"),
    }
    for cell in ["imports", "imports-2", "n2o-output-range", *JUDGING]:
        exec(CELLS[cell], notebook)
    return notebook["ledger"].table().set_index("id")


def _lists(rng: np.random.Generator) -> np.ndarray:
    """Ten neighbors of each of 60 queries."""
    return np.array([rng.choice(1000, 10, replace=False) for _ in range(60)])


def test_lists_drawn_at_random_do_not_hold_against_chance() -> None:
    rng = np.random.default_rng(0)
    table = _judged({name: _lists(rng) for name in NAMES})
    assert table.loc["n2o-output-range", "verdict"] == "holds"
    by_print, of_pairs = table.loc["n2o-chance-level", "ours"].split("; ")
    assert by_print.endswith("holds")
    assert not of_pairs.endswith(") met (remark)")
    assert table.loc["n2o-averaging-raises-n2o", "verdict"] != "seen here"


def test_two_pretrained_averages_are_too_few() -> None:
    rng = np.random.default_rng(0)
    common = _lists(rng)
    averages = ("glove-6b-50d", "wordllama")
    names = [name for name in NAMES if not name.startswith("spacy-md")]
    ids = {name: common if name in averages else _lists(rng) for name in names}
    row = _judged(ids).loc["n2o-static-averages-alike"]
    assert row["verdict"] == "not testable here"
    assert "missing: more pretrained averages" in row["note"]


def test_three_unrelated_averages_that_agree_are_alike() -> None:
    rng = np.random.default_rng(0)
    common = _lists(rng)
    names = [*NAMES, "w2v"]
    ids = {name: common if study.is_average(name) else _lists(rng) for name in names}
    verdict = _judged(ids).loc["n2o-static-averages-alike", "verdict"]
    assert verdict == "seen here"


def test_tfidf_is_compared_within_one_origin() -> None:
    rng = np.random.default_rng(0)
    ids = {}
    for name in NAMES:
        # Eight of ten neighbors are shared with one origin, none with the other.
        origin = embedders.kind(name).origin
        ids[name] = _lists(rng) + 1000
        ids[name][:, :8] = np.arange(8) + (500 if origin == "trained here" else 0)
    ids["tfidf"][:, :8] = [0, 1, 2, 503, 504, 505, -1, -2]
    verdict = _judged(ids).loc["n2o-tfidf-low-n2o", "verdict"]
    assert verdict == "seen here"


def test_an_average_that_agrees_with_all_others_raises_n2o() -> None:
    rng = np.random.default_rng(0)
    common = _lists(rng)
    ids = {name: common if name != "minilm-cls" else _lists(rng) for name in NAMES}
    verdict = _judged(ids).loc["n2o-averaging-raises-n2o", "verdict"]
    assert verdict == "seen here"


def test_with_all_weights_of_the_paper_only_tuning_is_left_untested() -> None:
    rng = np.random.default_rng(0)
    table = _judged({name: _lists(rng) for name in dict.fromkeys([*PAPER, *NAMES])})
    of_table_1 = [
        "n2o-elmo-capacity-and-data",
        "n2o-specific-token-outliers",
        "n2o-averaging-nears-elmo",
        "n2o-infersent-near-averages",
        "n2o-use-distinct",
    ]
    assert (table.loc[of_table_1, "ours"] != "").all()
    assert table.loc["n2o-elmo-capacity-and-data", "verdict"] == "undecided"
    tuned = table.loc["n2o-finetuning-does-not-help", "verdict"]
    assert tuned == "not testable here"


def _function(cell: str, name: str, **known):
    """A function that a cell defines."""
    nodes = ast.parse(CELLS[cell]).body
    (definition,) = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    found = {"np": np} | known
    exec(ast.unparse(definition), found)
    return found[name]


def test_noise_is_the_share_of_the_variance_that_samples_explain() -> None:
    rng = np.random.default_rng(0)
    overlaps = rng.normal([0.1, 0.2, 0.3, 0.4, 0.5], 0.1, size=(2000, 5))
    noise = _function("noise", "noise", queries=100)
    assert noise(overlaps) == pytest.approx(0.01 / 100 / 0.025, rel=0.05)


def test_the_spread_between_embedders_is_without_the_noise_of_the_draw(rng) -> None:
    # Equal embedders differ by the draw alone; a true deviation of 0.2 is found again.
    spread = _function("spread", "spread")
    noise = [rng.normal(size=(50, 1)) + rng.normal(size=(50, 8)) for _ in range(200)]
    assert np.mean([table.mean(axis=0).std(ddof=1) for table in noise]) > 0.13
    assert np.mean([spread(table) for table in noise]) < 0.06
    true = np.linspace(-0.3, 0.3, 8)
    squares = [spread(table + true) ** 2 for table in noise]
    assert np.sqrt(np.mean(squares)) == pytest.approx(true.std(ddof=1), rel=0.05)


def test_every_panel_of_boxes_shows_the_largest_value() -> None:
    tables = {
        "small": pd.DataFrame({"a": [0.1, 0.2]}),
        "large": pd.DataFrame({"b": [1]}),
    }
    means = {title: table.mean() for title, table in tables.items()}
    for axes in figures.boxes(tables, "N2O", means).axes:
        low, high = axes.get_xlim()
        assert (low, high > 1) == (0, True)
