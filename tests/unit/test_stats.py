"""Bootstrap intervals: against SciPy's, and what grouping and weights must do to them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from lib import stats
from lib.run.errors import InputError


def test_agrees_with_scipy(rng) -> None:
    values = rng.gamma(2, size=80)
    low, high = stats.bootstrap_mean(values[:, None], rng, repetitions=20_000)
    theirs = scipy_stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=rng)
    assert low[0] == pytest.approx(theirs.confidence_interval.low, abs=0.02)
    assert high[0] == pytest.approx(theirs.confidence_interval.high, abs=0.02)


def test_rows_of_one_group_count_as_one_observation(rng) -> None:
    values = rng.normal(size=(40, 1))
    copied = np.repeat(values, 5, axis=0)
    group = np.repeat(np.arange(40), 5)
    narrow = np.ptp(stats.bootstrap_mean(copied, np.random.default_rng(1), repetitions=4000))
    honest = np.ptp(stats.bootstrap_mean(copied, np.random.default_rng(1), group, repetitions=4000))
    plain = np.ptp(stats.bootstrap_mean(values, np.random.default_rng(1), repetitions=4000))
    assert honest == pytest.approx(plain)
    assert narrow < 0.6 * honest


def test_negative_groups_are_groups_of_their_own(rng) -> None:
    values = rng.normal(size=(30, 2))
    alone = stats.bootstrap_mean(values, np.random.default_rng(2), np.full(30, -1))
    np.testing.assert_allclose(alone, stats.bootstrap_mean(values, np.random.default_rng(2)))


def test_a_weight_is_a_repeated_row() -> None:
    values = np.array([[0.0], [1.0]])
    low, high = stats.bootstrap_mean(values, np.random.default_rng(3), weights=[1, 3], repetitions=1)
    assert low == high
    assert low[0] in (0.0, 0.75, 1.0)


def test_same_seed_same_interval(rng) -> None:
    values = rng.normal(size=(20, 3))
    first, second = (stats.bootstrap_mean(values, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_constant_has_an_interval_of_no_width() -> None:
    low, high = stats.bootstrap_mean(np.full((10, 1), 0.25), np.random.default_rng(5))
    assert low[0] == high[0] == 0.25


@pytest.mark.parametrize("bad", [{"repetitions": 0}, {"confidence": 1.0}])
def test_bad_settings_get_a_sentence(bad) -> None:
    with pytest.raises(InputError, match="is not accepted"):
        stats.bootstrap_mean(np.ones((3, 1)), np.random.default_rng(6), **bad)


@pytest.mark.parametrize(
    ("rows", "groups", "message"),
    [
        (0, None, "values: there are no rows to draw from; give at least one"),
        (3, [0, 1], "groups: 2 for 3 rows; give one for each"),
        (2, [[0, 1]], r"groups: have shape \(1, 2\); give one whole number for each row"),
    ],
)
def test_what_cannot_be_resampled_gets_a_sentence(rows, groups, message) -> None:
    with pytest.raises(InputError, match=message):
        stats.bootstrap_mean(np.ones((rows, 1)), np.random.default_rng(6), groups)


def test_rank_correlation_is_scipys_with_ties(rng) -> None:
    x, y = rng.integers(0, 5, 60), rng.integers(0, 4, 60)
    rho, low, high = stats.bootstrap_spearman(x, y, rng)
    assert rho == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
    assert low < rho < high


def test_rank_correlation_resamples_whole_groups() -> None:
    rng = np.random.default_rng(7)
    x, y, groups = rng.normal(size=24), rng.integers(0, 5, 24), np.repeat(np.arange(8), 3)
    _, low, high = stats.bootstrap_spearman(x, y, np.random.default_rng(8), groups, 200, 0.9)
    draws = np.random.default_rng(8).multinomial(8, np.full(8, 1 / 8), size=200)
    repeated = [np.repeat(np.arange(24), draw[groups]) for draw in draws]
    by_scipy = [scipy_stats.spearmanr(x[rows], y[rows]).statistic for rows in repeated]
    np.testing.assert_allclose([low, high], np.quantile(by_scipy, [0.05, 0.95]))


def test_resamples_without_a_correlation_do_not_count() -> None:
    # Half of the resamples of two rows hold one of them twice; the others say 1.
    assert stats.bootstrap_spearman([1, 2], [3, 5], np.random.default_rng(9)) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2], "have 3 and 2 rows"),
        ([1, 1, 1], [1, 2, 3], "is constant, or empty"),
        ([], [], "is constant, or empty"),
    ],
)
def test_what_has_no_correlation_gets_a_sentence(x, y, message) -> None:
    for bootstrap in (stats.bootstrap_spearman, stats.bootstrap_pearson):
        with pytest.raises(InputError, match=message):
            bootstrap(x, y, np.random.default_rng(10))
