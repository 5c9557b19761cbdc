"""Robustness of N2O: rankings by hand, other searches against plain NumPy.

Intervals include their estimates.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats as scipy_stats
from scipy.spatial.distance import cdist

from lib import corpora, stats
from lib.studies import robustness

# The lesson's: at k = 1 the pairs have 2/3, 1/3 and 0, at k = 2 they have 2/3, 5/6 and
# 1/2.
TOY = {
    "A": np.array([[0, 1], [0, 1], [0, 1]]),
    "B": np.array([[0, 2], [0, 2], [1, 0]]),
    "C": np.array([[1, 0], [1, 0], [0, 2]]),
}
QUERIES = np.arange(0, 60, 3)
SAMPLING = stats.Sampling(repetitions=60)


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    """Four embedders of 200 sentences, two of them close; lengths differ widely."""
    rng = np.random.default_rng(7)
    base = rng.normal(size=(200, 12)) * rng.gamma(2, size=(200, 1))
    counts = sp.csr_array(rng.poisson(0.2, size=(200, 40)).astype(np.float32))
    near = base + 0.3 * rng.normal(size=base.shape)
    return {
        "base": base,
        "near": near,
        "far": rng.normal(size=(200, 8)),
        "counts": counts,
    }


@pytest.fixture(scope="module")
def overlaps(vectors) -> np.ndarray:
    return robustness.overlap(robustness.nearest(vectors, QUERIES, 10))


def test_the_toy_of_the_lesson_by_hand() -> None:
    over_k = robustness.shared(TOY).mean(axis=0) / [1, 2]
    np.testing.assert_allclose(over_k, [[2 / 3, 2 / 3], [1 / 3, 5 / 6], [0, 1 / 2]])
    assert stats.spearman(*over_k.T) == pytest.approx(0.5)


def test_shared_neighbors_are_those_of_n2o_at_every_k(vectors) -> None:
    ids = robustness.nearest(vectors, QUERIES, 10)
    counts = robustness.shared(ids)
    for k in (1, 4, 10):
        expected = robustness.overlap(
            {name: lists[:, :k] for name, lists in ids.items()}
        )
        np.testing.assert_array_equal(counts[:, :, k - 1] / k, expected)


def test_an_order_gives_the_second_of_a_pair_other_queries() -> None:
    counts = robustness.shared(TOY, order=np.array([2, 0, 1]))
    assert counts[0, 0].tolist() == [
        0,
        2,
    ]  # A finds 0, 1 for the first query, B finds 1, 0 for the third


def test_a_part_of_the_corpus_is_searched_as_if_it_were_all(vectors) -> None:
    among = np.arange(0, 200, 2)
    found = robustness.nearest(vectors, QUERIES, 5, among)["far"]
    distances = cdist(vectors["far"][QUERIES], vectors["far"], "cosine")
    distances[np.arange(len(QUERIES)), QUERIES] = distances[:, 1::2] = np.inf
    np.testing.assert_array_equal(found, np.argsort(distances, axis=1)[:, :5])


def test_euclidean_neighbors_are_those_of_scipy(vectors) -> None:
    found = robustness.euclidean(vectors, QUERIES, 5)
    for name in ("base", "far"):
        distances = cdist(vectors[name][QUERIES], vectors[name])
        distances[np.arange(len(QUERIES)), QUERIES] = np.inf
        np.testing.assert_array_equal(found[name], np.argsort(distances, axis=1)[:, :5])
    assert not (found["counts"] == QUERIES[:, None]).any()


def test_agreement_is_that_of_scipy_within_its_interval(overlaps) -> None:
    other = overlaps[::-1] ** 2
    found = robustness.agreement(overlaps, other, SAMPLING)
    expected = scipy_stats.spearmanr(
        overlaps.mean(axis=0), other.mean(axis=0)
    ).statistic
    assert found.estimate == pytest.approx(expected)
    assert found.low <= found.estimate <= found.high
    assert robustness.agreement(overlaps, overlaps, SAMPLING) == pytest.approx(
        (1, 1, 1)
    )


def test_samples_are_disjoint_and_averaged_over_many_deals() -> None:
    rng = np.random.default_rng(2)
    overlaps = rng.normal(np.arange(30) / 30, 0.6, size=(40, 30))

    def of_one_deal() -> float:
        one, other = rng.permutation(overlaps).reshape(2, 20, 30).mean(axis=1)
        return scipy_stats.spearmanr(one, other).statistic

    expected = np.tanh(np.mean([np.arctanh(of_one_deal()) for _ in range(1000)]))
    between = robustness.between_samples(overlaps, 20, SAMPLING)
    assert between.estimate == pytest.approx(expected, abs=0.05)
    assert between.low < between.estimate < between.high
    again = robustness.between_samples(overlaps[::-1], 20, SAMPLING)
    assert again.estimate == pytest.approx(
        between.estimate, abs=0.05
    )  # the order of the queries hardly matters
    changed = robustness.less_than_samples(overlaps, overlaps, 20, SAMPLING)
    assert changed.estimate == pytest.approx(1 - expected, abs=0.05)


def test_queries_of_one_verse_count_once() -> None:
    rng = np.random.default_rng(3)
    copied, other = (
        np.repeat(rng.normal(np.arange(30) / 30, 0.6, size=(8, 30)), 4, axis=0)
        for _ in range(2)
    )
    apart = robustness.agreement(copied, other, SAMPLING)
    together = robustness.agreement(
        copied, other, SAMPLING, clusters=np.repeat(np.arange(8), 4)
    )
    assert together.estimate == apart.estimate
    assert together.high - together.low > 1.5 * (apart.high - apart.low)
    alone = robustness.agreement(copied, other, SAMPLING, clusters=np.full(32, -1))
    assert alone == apart


def test_of_a_verse_one_translation_is_asked() -> None:
    bible = corpora.load("bible-gospels-fifth")
    asked = robustness.distinct(np.random.default_rng(0).permutation(len(bible)), bible)
    groups = bible.groups[asked]
    assert len(set(groups[groups >= 0].tolist())) == (groups >= 0).sum()
    assert set(bible.groups.tolist()) == set(groups.tolist())
    plain = corpora.load("lee")
    np.testing.assert_array_equal(
        robustness.distinct(np.array([5, 3, 9]), plain), [5, 3, 9]
    )


def test_growth_is_read_from_the_benchmark(monkeypatch, tmp_path) -> None:
    rows = [
        ("some", search, 1, size, 50, run, factor * size**slope)
        for search, factor, slope in (("exact", 1e-6, 1.0), ("hnsw", 1e-5, 0.5))
        for size in (100, 1000, 10000)
        for run in range(3)
    ]
    columns = [
        "vectors",
        "search",
        "queries",
        "sentences",
        "dimensions",
        "run",
        "seconds",
    ]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "growth.csv", index=False)
    monkeypatch.setattr(robustness, "BENCHMARK", tmp_path / "growth.csv")
    table = robustness.growth(SAMPLING)
    np.testing.assert_allclose(table["slope"], [1, 0.5])
    np.testing.assert_allclose(table["times_as_fast"], [np.nan, 10])
    assert table.loc[("some", "exact", 1), "seconds"] == pytest.approx(
        100 * 1e-6 * 8e6 * 6
    )
