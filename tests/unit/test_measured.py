"""Resampled scores against formulas, SciPy and NumPy.

Also what a bootstrap must not depend on.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import pearsonr

from lib.run.errors import InputError
from lib.stats import Measured, Sampling, bootstrap

SAMPLING = Sampling(seed=1, repetitions=400)
RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]


def test_means_have_the_interval_of_the_plain_bootstrap():
    values = RNG.normal(size=(40, 3))
    groups = np.repeat(np.arange(20), 2)
    found = Measured.means(values, {"embedder": NAMES}, SAMPLING, groups).interval(
        method="percentile"
    )
    expected = bootstrap(
        lambda rows: rows.mean(axis=0), values, sampling=SAMPLING, clusters=groups
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_contrast_is_the_paired_difference():
    shared = RNG.normal(size=400)
    values = np.stack([shared + 0.2 + RNG.normal(size=400) / 50, shared], axis=1)
    measured = Measured.means(values, {"embedder": ["better", "worse"]}, SAMPLING)
    found = measured.contrast("better", "worse")
    assert found.estimate == pytest.approx((values[:, 0] - values[:, 1]).mean())
    # The noise that both share is gone: 1.96 standard errors of the differences, not of
    # the scores.
    half = 1.96 * (values[:, 0] - values[:, 1]).std() / 20
    assert found.high - found.low == pytest.approx(2 * half, rel=0.15)
    both = measured.contrast(["better", "worse"], ["worse", "better"])
    np.testing.assert_allclose(both.estimate, [found.estimate, -found.estimate])


@pytest.mark.parametrize("columns", [2, 7, 50])
def test_what_scores_alike_differs_by_exactly_nothing(columns):
    values = np.repeat(RNG.normal(size=(101, 1)), columns, axis=1)
    names = [str(number) for number in range(columns)]
    axes = {"embedder": names}
    for measured in (
        Measured.means(values, axes, SAMPLING),
        Measured.correlations(values, RNG.normal(size=101), axes, SAMPLING),
    ):
        difference = measured.contrast(names[1:], names[:-1])
        assert not np.any(difference)


def test_correlations_are_scipy_s_on_the_items_that_count():
    values = RNG.normal(size=(30, 2, 3))
    gold = RNG.normal(size=30)
    axes = {"condition": ["raw", "z"], "embedder": NAMES}
    counts = RNG.integers(0, 3, size=30)
    rows = np.repeat(np.arange(30), counts)
    found = Measured.correlations(values, gold, axes, SAMPLING).score(counts)
    expected = [
        [pearsonr(values[rows, i, j], gold[rows]).statistic for j in range(3)]
        for i in range(2)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isnan(
        Measured.correlations(
            np.ones((30, 1)), gold, {"embedder": ["flat"]}, SAMPLING
        ).score(counts)
    ).all()


def test_a_pair_of_documents_counts_as_often_as_both_are_drawn_together():
    pairs = np.array(list(combinations(range(3), 2)))
    measured = Measured.means(np.eye(3), {"embedder": NAMES}, SAMPLING, pairs)
    # Document 0 twice, document 2 once: only the pair of both counts, twice.
    np.testing.assert_array_equal(measured.counts(np.array([0, 0, 2])), [0, 2, 0])


def test_sets_are_joined_averaged_and_chosen():
    axes = {"embedder": NAMES}
    first, second = RNG.normal(size=(10, 3)), RNG.normal(size=(20, 3))
    parts = {
        "one": Measured.means(first, axes, SAMPLING),
        "two": Measured.means(second, axes, SAMPLING),
    }
    joined = Measured.joined(parts, "set")
    assert joined.axes == {"set": ["one", "two"], "embedder": NAMES}
    np.testing.assert_allclose(
        joined.estimate(), [first.mean(axis=0), second.mean(axis=0)]
    )
    means = (first.mean(axis=0) + second.mean(axis=0)) / 2
    np.testing.assert_allclose(joined.mean("set").estimate(), means)
    np.testing.assert_allclose(
        joined.mean("set").only("embedder", ["c", "a"]).estimate(), means[[2, 0]]
    )


def test_differences_and_gains_are_named_scores_again():
    values = RNG.uniform(1, 2, size=(20, 3, 2))
    axes = {"embedder": NAMES, "vectors": ["v", "w"]}
    measured = Measured.means(values, axes, SAMPLING)
    a, b, c = values.mean(axis=0)
    differences = measured.differences([("a", "b"), ("c", "a")])
    assert differences.axes["embedder"] == ["a - b", "c - a"]
    np.testing.assert_allclose(differences.estimate(), [a - b, c - a])
    table = measured.gains("b").ordered("vectors", "embedder").table()
    assert list(table["vectors"]) == ["v"] * 3 + ["w"] * 3
    expected = np.stack([a / b, b / b, c / b], axis=1) - 1
    np.testing.assert_allclose(table["value"], expected.ravel(), atol=1e-12)


def test_seeds_are_averaged_and_widen_the_interval():
    alike = np.repeat(RNG.normal(size=(50, 1, 1)), 5, axis=2)
    apart = alike + np.arange(5) / 2
    axes = {"embedder": ["w2v"], "seed": list("12345")}
    narrow, wide = (
        Measured.means(values, axes, SAMPLING).interval() for values in (alike, apart)
    )
    assert (wide.high - wide.low > 1.5 * (narrow.high - narrow.low)).all()
    table = Measured.means(apart, axes, SAMPLING).table()
    assert list(table.columns) == ["embedder", "value", "low", "high", "constant"]
    assert table["value"].item() == pytest.approx(apart.mean())


def test_what_is_chosen_on_one_half_gains_nothing_on_the_other():
    values = RNG.normal(size=(200, 12))  # twelve embedders of equal skill
    measured = Measured.means(
        values, {"embedder": [str(i) for i in range(12)]}, SAMPLING
    )
    best = measured.halves(lambda a, b: b[a.argmax()] - b.mean())
    assert best.low < 0 < best.high
    assert (
        values.mean(axis=0).max() - values.mean() > 0.1
    )  # on the same items the best one seems better


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: Measured.means(np.zeros((5, 2)), m.axes, SAMPLING),
            r"values: have shape \(5, 2\); give \(items, 3\)",
        ),
        (lambda m: m.contrast("a", "x"), "embedder"),
        (lambda m: m.mean("set"), "axis"),
        (
            lambda m: Measured.joined({"1": m, "2": m.only("embedder", ["a"])}, "set"),
            "different axes",
        ),
    ],
)
def test_refusals(call, message):
    measured = Measured.means(
        np.arange(15.0).reshape(5, 3), {"embedder": NAMES}, SAMPLING
    )
    with pytest.raises(InputError, match=message) as refused:
        call(measured)
    assert "\n" not in str(refused.value)
