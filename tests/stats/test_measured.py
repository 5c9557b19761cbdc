"""Resampled scores against formulas, SciPy and NumPy.

Also what a bootstrap must not depend on.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import pearsonr

from lib.stats import Measured, Sampling, bootstrap, mean
from tests.refusals import refused

SAMPLING = Sampling(seed=1, repetitions=400)
RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
AXES = {"embedder": NAMES}


def test_means_have_the_interval_of_the_plain_bootstrap() -> None:
    values = RNG.normal(size=(40, 3))
    groups = np.repeat(np.arange(20), 2)
    measured = Measured.means(values, AXES, SAMPLING, groups)
    found = measured.interval(method="percentile")
    expected = bootstrap(mean, values, sampling=SAMPLING, clusters=groups)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_contrast_is_the_paired_difference() -> None:
    shared = RNG.normal(size=400)
    gap = 0.2 + RNG.normal(size=400) / 50
    values = np.stack([shared + gap, shared], axis=1)
    measured = Measured.means(values, {"embedder": ["better", "worse"]}, SAMPLING)
    found = measured.contrast("better", "worse")
    assert found.estimate == pytest.approx(gap.mean())
    # The noise that both share is gone: 1.96 standard errors of the differences.
    half = 1.96 * gap.std() / 20
    assert found.high - found.low == pytest.approx(2 * half, rel=0.15)
    both = measured.contrast(["better", "worse"], ["worse", "better"])
    np.testing.assert_allclose(both.estimate, [found.estimate, -found.estimate])


@pytest.mark.parametrize("columns", [2, 7, 50])
def test_what_scores_alike_differs_by_exactly_nothing(columns) -> None:
    values = np.repeat(RNG.normal(size=(101, 1)), columns, axis=1)
    names = [str(number) for number in range(columns)]
    axes = {"embedder": names}
    for measured in (
        Measured.means(values, axes, SAMPLING),
        Measured.correlations(values, RNG.normal(size=101), axes, SAMPLING),
    ):
        difference = measured.contrast(names[1:], names[:-1])
        assert not np.any(difference)


def test_correlations_are_scipy_s_on_the_items_that_count() -> None:
    values = RNG.normal(size=(30, 2, 3))
    gold = RNG.normal(size=30)
    axes = {"condition": ["raw", "z"], "embedder": NAMES}
    counts = RNG.integers(0, 3, size=30)
    rows = np.repeat(np.arange(30), counts)
    found = Measured.correlations(values, gold, axes, SAMPLING).score(counts)
    expected = pearsonr(values[rows], gold[rows][:, None, None]).statistic
    np.testing.assert_allclose(found, expected, atol=1e-12)
    flat = Measured.correlations(np.ones((30, 3)), gold, AXES, SAMPLING)
    assert np.isnan(flat.score(counts)).all()


def test_a_pair_of_documents_counts_as_often_as_both_are_drawn_together() -> None:
    pairs = np.array(list(combinations(range(3), 2)))
    measured = Measured.means(np.eye(3), AXES, SAMPLING, pairs)
    # Document 0 twice, document 2 once: only the pair of both counts, twice.
    np.testing.assert_array_equal(measured.counts(np.array([0, 0, 2])), [0, 2, 0])


def test_sets_are_joined_averaged_and_chosen() -> None:
    values = {"one": RNG.normal(size=(10, 3)), "two": RNG.normal(size=(20, 3))}
    parts = {name: Measured.means(own, AXES, SAMPLING) for name, own in values.items()}
    joined = Measured.joined(parts, "set")
    assert joined.axes == {"set": ["one", "two"], "embedder": NAMES}
    expected = np.array([own.mean(axis=0) for own in values.values()])
    np.testing.assert_allclose(joined.estimate(), expected)
    chosen = joined.mean("set").only("embedder", ["c", "a"])
    np.testing.assert_allclose(chosen.estimate(), expected.mean(axis=0)[[2, 0]])


def test_differences_and_gains_are_named_scores_again() -> None:
    values = RNG.uniform(1, 2, size=(20, 3, 2))
    measured = Measured.means(values, AXES | {"vectors": ["v", "w"]}, SAMPLING)
    a, b, c = values.mean(axis=0)
    differences = measured.differences([("a", "b"), ("c", "a")])
    assert differences.axes["embedder"] == ["a - b", "c - a"]
    np.testing.assert_allclose(differences.estimate(), [a - b, c - a])
    table = measured.gains("b").ordered("vectors", "embedder").table()
    assert list(table["vectors"]) == ["v"] * 3 + ["w"] * 3
    expected = np.stack([a / b, b / b, c / b], axis=1) - 1
    np.testing.assert_allclose(table["value"], expected.ravel(), atol=1e-12)


def test_seeds_are_averaged_and_widen_the_interval() -> None:
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


def test_what_is_chosen_on_one_half_gains_nothing_on_the_other() -> None:
    values = RNG.normal(size=(200, 12))  # twelve embedders of equal skill
    measured = Measured.means(values, {"embedder": list("abcdefghijkl")}, SAMPLING)
    best = measured.halves(lambda a, b: b[a.argmax()] - b.mean())
    assert best.low < 0 < best.high
    # On the same items the best one seems better.
    assert values.mean(axis=0).max() - values.mean() > 0.1


def test_a_family_has_the_draws_that_it_needs_and_shares_of_none_an_interval() -> None:
    values = RNG.normal(size=(40, 20, 2))
    axes = {"embedder": list("abcdefghijklmnopqrst"), "seed": ["1", "2"]}
    more = Sampling(seed=1, repetitions=800)
    for options in ({"method": "percentile", "holm": True}, {"method": "percentile"}):
        sampling = more if "holm" in options else SAMPLING
        found = Measured.means(values, axes, SAMPLING).interval(**options)
        expected = Measured.means(values, axes, sampling).interval(**options)
        np.testing.assert_array_equal(found, expected)
    none = Measured.means(np.zeros((40, 3)), AXES, SAMPLING, within=(0, 1))
    np.testing.assert_allclose(none.table()["high"], 0.0876, atol=1e-4)
    assert not np.any(none.contrast("a", "b"))  # two that are alike, as an identity


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda _: Measured.means(np.zeros((5, 2)), AXES, SAMPLING),
            "values: have shape (5, 2); give (items, 3)",
        ),
        (lambda m: m.contrast("a", "x"), "embedder"),
        (lambda m: m.mean("set"), "axis"),
        (
            lambda m: Measured.joined({"1": m, "2": m.only("embedder", ["a"])}, "set"),
            "different axes",
        ),
    ],
)
def test_refusals(call, message) -> None:
    measured = Measured.means(np.arange(15.0).reshape(5, 3), AXES, SAMPLING)
    with refused(message):
        call(measured)
