"""The replication of N2O: its cells, on lists whose answer is known."""

from __future__ import annotations

import ast
import json
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest

from lib import embedders, n2o, stats
from lib.catalog import published
from lib.ledger import Ledger
from lib.run import paths
from lib.studies import n2o as study

NAMES = list(embedders.GROUPS["installed"])
PAPER = list(published.load("n2o_table1")["embedder"])
NOTEBOOK = json.loads(
    (paths.NOTEBOOKS / "replication" / "n2o.ipynb").read_text(encoding="utf-8")
)
CELLS = {cell["id"]: "".join(cell["source"]) for cell in NOTEBOOK["cells"]}
CODE = [cell["id"] for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
SECTION_5 = CODE[CODE.index("n2o-chance-level-tail") : CODE.index("section-6-draws")]
JUDGING = [cell for cell in SECTION_5 if not cell.startswith("figure-")]


def _judged(ids: dict[str, np.ndarray]) -> pd.DataFrame:
    """The verdicts of section 5, by claim."""
    rng = np.random.default_rng(1)
    queries = len(next(iter(ids.values())))
    stand_ins = [name for name in study.STAND_INS.values() if "half" in name]
    more = {name: _lists(rng, queries) for name in stand_ins}
    everyone = [*ids, *more]
    readings = [
        pd.DataFrame(rng.random((queries, len(everyone))), columns=everyone)
        for _ in range(2)
    ]
    sampling = stats.Sampling(1, 60)
    notebook = {
        "drawn": np.arange(queries),
        "here": "made-up lists",
        "ids": ids,
        "ledger": Ledger("n2o", "default"),
        "names": list(ids),
        "overlaps": study.Overlaps(ids, more, np.arange(queries), sampling),
        "paper": PAPER,
        "readings": readings,
    }
    for cell in ["imports", "imports-2", "n2o-output-range", *JUDGING]:
        exec(CELLS[cell], notebook)
    return notebook["ledger"].table().set_index("id")


def _lists(rng: np.random.Generator, queries: int = 60) -> np.ndarray:
    return np.array([rng.choice(1000, 10, replace=False) for _ in range(queries)])


def test_lists_drawn_at_random_do_not_hold_against_chance() -> None:
    rng = np.random.default_rng(0)
    table = _judged({name: _lists(rng) for name in NAMES})
    assert table.loc["n2o-output-range", "verdict"] == "holds"
    assert table.loc["n2o-chance-level", "ours"].startswith("tail: 0 (0 to 0) holds")
    assert table.loc["n2o-chance-level", "verdict"] != "seen here"
    assert table.loc["n2o-averaging-raises-n2o", "verdict"] != "seen here"


def test_one_pair_of_averages_decides_nothing() -> None:
    rng = np.random.default_rng(0)
    common = _lists(rng)
    averages = ("glove-6b-50d", "wordllama")
    ids = {name: common if name in averages else _lists(rng) for name in NAMES}
    row = _judged(ids).loc["n2o-static-averages-alike"]
    assert row["verdict"] == "undecided"
    assert row["ours"].count("(-1 to 1)") == 2


def test_three_unrelated_averages_that_agree_are_alike() -> None:
    rng = np.random.default_rng(0)
    common = _lists(rng)
    averages = ["glove-6b-50d", "wordllama", "w2v"]
    encoders = ["minilm-cls", "minilm-avg", "use-multilingual-q8"]
    ids = {name: common for name in averages} | {name: _lists(rng) for name in encoders}
    notebook = {"chain": chain, "np": np, "study": study}
    notebook["overlaps"] = study.Overlaps(ids, {}, np.arange(60), stats.Sampling(1, 60))
    for cell in ("leads", "intervals"):
        exec(CELLS[f"n2o-static-averages-alike-{cell}"], notebook)
    pairs = list(combinations(study.of_origin(ids, "pretrained"), 2))
    assert notebook["each_left_out"](pairs).low.min() > 0


def test_tfidf_is_compared_within_one_origin() -> None:
    rng = np.random.default_rng(0)
    here, elsewhere = (
        np.tile(np.arange(start, start + 10), (60, 1)) for start in (0, 500)
    )

    def mixed(origin: str) -> np.ndarray:
        """Eight of ten neighbors shared with one origin, none with the other."""
        found = _lists(rng) + 1000
        if origin == "word counts":
            found[:, :3] = here[:, :3]
            found[:, 3:6] = elsewhere[:, 3:6]
        else:
            found[:, :8] = (here if origin == "pretrained" else elsewhere)[:, :8]
        return found

    table = _judged({name: mixed(embedders.kind(name).origin) for name in NAMES})
    assert table.loc["n2o-tfidf-low-n2o", "verdict"] == "seen here"


def test_an_average_that_agrees_with_all_others_raises_n2o() -> None:
    rng = np.random.default_rng(0)
    common = _lists(rng)
    ids = {name: common if name != "minilm-cls" else _lists(rng) for name in NAMES}
    table = _judged(ids)
    assert table.loc["n2o-averaging-raises-n2o", "verdict"] == "seen here"
    assert n2o.matrix(ids).loc["minilm-avg", "tfidf"] == 1


@pytest.fixture(scope="module")
def with_all_weights() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return _judged({name: _lists(rng) for name in dict.fromkeys([*PAPER, *NAMES])})


def test_with_all_weights_of_the_paper_only_tuning_is_left_untested(
    with_all_weights,
) -> None:
    judged = with_all_weights[with_all_weights["ours"] != ""].index
    about = (
        "elmo-capacity",
        "specific-token",
        "averaging-nears",
        "infersent",
        "use-distinct",
    )
    assert all(any(part in claim for claim in judged) for part in about)
    assert (
        with_all_weights.loc["n2o-finetuning-does-not-help", "verdict"]
        == "not testable here"
    )
    assert with_all_weights.loc["n2o-elmo-capacity-and-data", "verdict"] == "undecided"


def _function(cell: str, name: str, **known):
    """A function that a cell defines."""
    (definition,) = [
        node
        for node in ast.parse(CELLS[cell]).body
        if isinstance(node, ast.FunctionDef)
    ]
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
    found = [spread(table + true) for table in noise]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(
        true.std(ddof=1), rel=0.05
    )
