"""Our N2O beside the published heatmap: the right cells, and an interval that an independent library gives too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from lib import n2o_published
from lib.catalog import published

KIND = {"glove-6b-100d": "glove-6b-50d", "bert-base-cls": "minilm-cls", "bert-base-avg": "minilm-avg"}


@pytest.fixture
def pairs() -> pd.DataFrame:
    names = ["minilm-cls", "tfidf", "glove-6b-50d", "minilm-avg"]
    rows = [(a, b, i / 10, i / 10 - 0.05, i / 10 + 0.05) for i, (a, b) in enumerate(_combinations(names), start=1)]
    return pd.DataFrame(rows, columns=["a", "b", "n2o", "low", "high"])


def _combinations(names: list[str]) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def test_each_published_cell_stands_beside_the_pair_of_its_kind(pairs) -> None:
    cells = n2o_published.opposite(pairs, KIND).set_index(["a", "b"])
    stated = published.cells("n2o_heatmap", by=["a", "b"], value="n2o").dropna()
    assert 0 < len(cells) <= len(pairs)
    for place, cell in cells.iterrows():
        assert cell["published"] == stated[place]
        assert {cell["our_a"], cell["our_b"]} == {KIND.get(name, name) for name in place}
    assert not cells["same"].any()


def test_an_embedder_that_is_here_stands_beside_itself_rather_than_beside_its_kind() -> None:
    pairs = pd.DataFrame([("bert-base-cls", "bert-base-avg", 0.2, 0.1, 0.3)], columns=["a", "b", "n2o", "low", "high"])
    cells = n2o_published.opposite(pairs, KIND)
    assert cells["same"].tolist() == [True]
    assert cells["published"].tolist() == [0.17]  # figure 3's larger version, page 12


def test_correlation_is_scipys_and_its_interval_spans_the_resamples(pairs, rng) -> None:
    cells = n2o_published.opposite(pairs, KIND)
    resampled = pairs["n2o"].to_numpy() + rng.normal(0, 0.05, (200, len(pairs)))
    rho, low, high = n2o_published.rank_correlation(cells, resampled, 0.9)
    assert rho == pytest.approx(spearmanr(cells["published"], cells["n2o"]).statistic)
    each = [spearmanr(cells["published"], row[cells.index]).statistic for row in resampled]
    np.testing.assert_allclose([low, high], np.quantile(each, [0.05, 0.95]), atol=1e-12)


def test_pairs_without_a_counterpart_are_left_out() -> None:
    pairs = pd.DataFrame([("bow", "pca-bow", 0.2, 0.1, 0.3)], columns=["a", "b", "n2o", "low", "high"])
    assert n2o_published.opposite(pairs, KIND).empty
