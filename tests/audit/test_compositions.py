"""What uSIF is tuned and judged on, by hand and on the papers' own sets."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import yaml

from audit import compositions
from lib import stats, tasks
from lib.base import paths
from lib.studies import scores
from lib.studies.scores import Fitted
from lib.tasks import PairTask

SAMPLING = stats.Sampling(0, 4000)
NOTEBOOK = paths.ROOT / "notebooks" / "replication" / "usif.ipynb"
PARAMETERS = paths.ROOT / "params" / "paper" / "replication" / "usif.yaml"


def pairs(item_set: scores.ItemSet) -> set[frozenset[str]]:
    """The pairs that an item set gives an embedder to read."""
    read: list[str] = []

    def encode(sentences):
        read.extend(sentences)
        return np.random.default_rng(0).normal(size=(len(sentences), 2))

    item_set.values(Fitted(encode))
    left, right = read[: len(read) // 2], read[len(read) // 2 :]
    return set(scores.pair_keys(PairTask(left, right)))


def test_no_pair_that_tunes_is_judged_by_and_sick_has_864_clusters(data_file) -> None:
    data_file("senteval/STS")
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    (source,) = ("".join(c["source"]) for c in cells if c["id"] == "8e8011c9")
    names = yaml.safe_load(PARAMETERS.read_text()) | {"sets": {}}
    exec(source, vars(compositions) | {"compositions": compositions} | names, names)
    judged = set(chain.from_iterable(map(pairs, names["item_sets"])))
    (tuning,) = names["tuning"]
    assert len(tuning.clusters) == 385
    assert judged.isdisjoint(pairs(tuning))
    (sick,) = compositions.rated("SICK-R")
    assert len(np.unique(sick.clusters)) == 864


def test_pairs_with_a_common_sentence_are_drawn_together() -> None:
    task = PairTask(["a", "b", "c", "e"], ["b", "d", "c", "f"])
    assert compositions.connected(task).tolist() == [0, 0, 1, 2]


def test_each_draw_takes_what_is_best_on_its_own_other_data() -> None:
    columns = pd.MultiIndex.from_tuples(
        [("one", "t", "v"), ("two", "t", "v")], names=["what", "group", "vectors"]
    )
    on_dev = pd.DataFrame([[0.2, 0.3], [0.5, 0.4]], columns=columns)
    on_test = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=columns)
    found, chosen = compositions.tuned(on_dev, on_test, ["one", "two"])
    assert found["t", "v"].tolist() == [2, 3]
    assert chosen["v"].tolist() == [1, 0]


def test_printed_scores_have_the_sampling_error_of_their_test_sets() -> None:
    drawn = compositions.printed(SAMPLING)
    assert drawn["BYTE mLSTM", "SST"][0] == pytest.approx(0.918)
    deviation = drawn[1:].std()
    by_hand = np.sqrt(0.807 * 0.193 / 1821)
    assert deviation["ParaNMT+UP", "SST"] == pytest.approx(by_hand, rel=0.05)
    files = (1 - 0.636**2) / np.sqrt([186, 747, 558])
    by_hand = np.sqrt((files**2).sum()) / 3
    assert deviation["GloVe+UP", "STS'13"] == pytest.approx(by_hand, rel=0.05)
    assert not drawn.columns.duplicated().any()
    behind = compositions.shortfalls(drawn)
    assert behind.shape[1] == 10  # STS-B is not in table 1
    assert behind["GloVe", "STS'12"][0] == pytest.approx(7.157 / 12 - 0.562)


@pytest.mark.parametrize("name", compositions.PAPER)
def test_the_sizes_of_the_test_sets_are_those_of_the_data(name, data_file) -> None:
    data_file("senteval/STS")
    task = tasks.load(name)
    counts = [len(getattr(task, "left", None) or task.sentences)]
    if name.startswith("STS1"):
        counts = pd.Series(task.genre).value_counts(sort=False).tolist()
    for dataset in compositions.PAPER[name]:
        assert sorted(counts) == sorted(compositions.SIZES[dataset])
