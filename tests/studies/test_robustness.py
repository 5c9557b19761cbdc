"""Robustness of N2O: rankings by hand, other searches against plain NumPy.

Intervals include their estimates.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats as scipy_stats
from scipy.spatial.distance import cdist

from audit import n2o as study
from audit import samples, searching
from lib import corpora, n2o, stats
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
    far = rng.normal(size=(200, 8))
    return {"base": base, "near": near, "far": far, "counts": counts}


@pytest.fixture(scope="module")
def overlaps(vectors) -> np.ndarray:
    return study.overlap(robustness.nearest(vectors, QUERIES, 10))


def test_the_toy_of_the_lesson_by_hand() -> None:
    over_k = study.shared(TOY).mean(axis=0) / [1, 2]
    np.testing.assert_allclose(over_k, [[2 / 3, 2 / 3], [1 / 3, 5 / 6], [0, 1 / 2]])
    assert stats.spearman(*over_k.T) == pytest.approx(0.5)


def test_shared_neighbors_are_those_of_n2o_at_every_k(vectors) -> None:
    ids = robustness.nearest(vectors, QUERIES, 10)
    counts = study.shared(ids)
    for k in (1, 4, 10):
        first = {name: lists[:, :k] for name, lists in ids.items()}
        expected = study.overlap(first)
        np.testing.assert_array_equal(counts[:, :, k - 1] / k, expected)


def test_an_order_gives_the_second_of_a_pair_other_queries() -> None:
    # A finds 0, 1 for the first query, B finds 1, 0 for the third.
    counts = study.shared(TOY, order=np.array([2, 0, 1]))
    assert counts[0, 0].tolist() == [0, 2]


def by_scipy(vectors: np.ndarray, metric: str, left_out=()) -> np.ndarray:
    """The five nearest of each query, itself and some others left out."""
    distances = cdist(vectors[QUERIES], vectors, metric)
    distances[np.arange(len(QUERIES)), QUERIES] = np.inf
    distances[:, left_out] = np.inf
    return np.argsort(distances, axis=1)[:, :5]


def test_a_part_of_the_corpus_is_searched_as_if_it_were_all(vectors) -> None:
    found = robustness.nearest(vectors, QUERIES, 5, np.arange(0, 200, 2))["far"]
    expected = by_scipy(vectors["far"], "cosine", np.arange(1, 200, 2))
    np.testing.assert_array_equal(found, expected)


def test_euclidean_neighbors_are_those_of_scipy(vectors) -> None:
    found = searching.euclidean(vectors, QUERIES, 5)
    for name in ("base", "far"):
        expected = by_scipy(vectors[name], "euclidean")
        np.testing.assert_array_equal(found[name], expected)
    assert not (found["counts"] == QUERIES[:, None]).any()


def test_agreement_is_that_of_scipy_within_its_interval(overlaps) -> None:
    other = overlaps[::-1] ** 2
    found = robustness.agreement(overlaps, other, SAMPLING)
    means = overlaps.mean(axis=0), other.mean(axis=0)
    expected = scipy_stats.spearmanr(*means).statistic
    assert found.estimate == pytest.approx(expected)
    assert found.low <= found.estimate <= found.high
    same = robustness.agreement(overlaps, overlaps, SAMPLING)
    assert same == pytest.approx((1, 1, 1))


def test_samples_are_disjoint_and_averaged_over_many_deals() -> None:
    rng = np.random.default_rng(2)
    overlaps = rng.normal(np.arange(30) / 30, 0.6, size=(40, 30))

    def of_one_deal() -> float:
        one, other = rng.permutation(overlaps).reshape(2, 20, 30).mean(axis=1)
        return scipy_stats.spearmanr(one, other).statistic

    expected = np.tanh(np.mean([np.arctanh(of_one_deal()) for _ in range(1000)]))
    between = samples.between_samples(overlaps, 20, SAMPLING)
    assert between.estimate == pytest.approx(expected, abs=0.05)
    assert between.low < between.estimate < between.high
    changed = samples.less_than_samples(overlaps, overlaps, 20, SAMPLING)
    assert changed.estimate == pytest.approx(1 - expected, abs=0.05)


def test_queries_of_one_verse_count_once() -> None:
    rng = np.random.default_rng(3)
    verses = rng.normal(np.arange(30) / 30, 0.6, size=(2, 8, 30))
    copied = np.repeat(verses, 4, axis=1)
    apart = robustness.agreement(*copied, SAMPLING)
    together = robustness.agreement(*copied, SAMPLING, np.repeat(np.arange(8), 4))
    assert together.estimate == apart.estimate
    assert together.high - together.low > 1.5 * (apart.high - apart.low)
    alone = robustness.agreement(*copied, SAMPLING, np.full(32, -1))
    assert alone == apart


def test_of_a_verse_one_translation_is_asked() -> None:
    bible = corpora.load("bible-gospels-fifth")
    mixed = np.random.default_rng(0).permutation(len(bible))
    groups = bible.groups[robustness.distinct(mixed, bible)]
    known = groups[groups >= 0]
    assert len(np.unique(known)) == len(known)
    assert set(bible.groups.tolist()) == set(groups.tolist())
    plain = robustness.distinct(np.array([5, 3, 9]), corpora.load("lee"))
    assert plain.tolist() == [5, 3, 9]


def test_growth_is_read_from_the_benchmark(monkeypatch, tmp_path) -> None:
    header = "vectors,search,queries,sentences,dimensions,run,seconds"
    rows = [header]
    for size, run in itertools.product((100, 1000, 10000), range(3)):
        rows.append(f"some,exact,1,{size},50,{run},{1e-6 * size}")
        rows.append(f"some,hnsw,1,{size},50,{run},{1e-5 * size**0.5}")
    (tmp_path / "growth.csv").write_text("\n".join(rows))
    monkeypatch.setattr(searching, "BENCHMARK", tmp_path / "growth.csv")
    table = searching.growth(SAMPLING)
    np.testing.assert_allclose(table["slope"], [1, 0.5])
    np.testing.assert_allclose(table["times_as_fast"], [np.nan, 10])
    np.testing.assert_allclose(table["seconds"].iloc[0], 100 * 1e-6 * 8e6 * 6)


def test_other_measures_are_one_for_the_same_and_rotated_vectors(vectors) -> None:
    ids = {"a": TOY["A"], "b": TOY["A"][:, ::-1]}
    counts = study.shared(ids)
    assert study.jaccard(counts).tolist() == [[1]] * 3
    # At depth 1 nothing is shared, at depth 2 everything: weights 0.9 and 0.81.
    expected = np.full((3, 1), 0.81 / 1.71)
    np.testing.assert_allclose(study.rank_biased_overlap(counts), expected)
    rotation = scipy_stats.ortho_group.rvs(12, random_state=0)
    base = vectors["base"]
    products = map(n2o.inner_products, (base, 3 * base @ rotation + 5))
    rows = np.arange(200)
    np.testing.assert_allclose(n2o.cka([*products], rows, rows), 1)
