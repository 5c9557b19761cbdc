"""`lib.stats.bootstrap`: SciPy's intervals for plain rows, otherwise coverage.

Where SciPy has no intervals, the stated coverage is checked.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from lib.stats import (
    UNDEFINED,
    Interval,
    Sampling,
    bootstrap,
    mean,
    means,
    resampling,
    spearman,
)
from tests.refusals import refused

OFTEN = Sampling(seed=0, repetitions=9999)


@pytest.mark.parametrize("method", ["percentile", "normal"])
def test_intervals_of_plain_rows_agree_with_scipy(rng, method) -> None:
    values = rng.exponential(size=80)
    ours = bootstrap(mean, values, sampling=OFTEN, method=method)
    theirs = scipy_stats.bootstrap((values,), np.mean, method="percentile", rng=rng)
    assert ours.estimate == values.mean()
    np.testing.assert_allclose(ours[1:], theirs.confidence_interval, atol=0.015)


def test_rank_correlations_agree_with_scipy(rng) -> None:
    x, y = rng.integers(0, 9, (2, 50))
    assert spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y)[0])
    assert np.isnan(spearman(x, np.ones(50)))


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 4), min_size=5, max_size=30),
    st.sampled_from(["percentile", "normal"]),
    st.booleans(),
)
def test_an_interval_holds_its_estimate(values, method, holm) -> None:
    columns = np.column_stack([values, np.sort(values)]).astype(float)
    sampling = Sampling(repetitions=80)
    found = bootstrap(mean, columns, sampling=sampling, method=method, holm=holm)
    assert (found.low <= found.estimate).all()
    assert (found.estimate <= found.high).all()


def test_copies_of_a_row_in_one_cluster_change_nothing(rng) -> None:
    values = rng.normal(size=40)
    copies, clusters = np.repeat(values, 5), np.repeat(np.arange(40), 5)
    once = bootstrap(mean, values, sampling=Sampling())
    together = bootstrap(mean, copies, clusters=clusters, sampling=Sampling())
    np.testing.assert_allclose(together, once)
    _, low, high = bootstrap(mean, copies, sampling=Sampling())
    assert high - low < 0.6 * (once.high - once.low)


@pytest.mark.parametrize("options", [{}, {"method": "normal"}, {"holm": True}])
def test_one_cluster_has_an_estimate_and_no_interval(rng, options) -> None:
    values = rng.normal(5, 1, (40, 2))
    alike = np.full(40, 7)
    found = bootstrap(mean, values, clusters=alike, sampling=Sampling(), **options)
    np.testing.assert_allclose(found.estimate, values.mean(axis=0))
    assert np.isnan(found[1:]).all()


def test_negative_clusters_are_clusters_of_their_own_and_columns_are_resampled_alike(
    rng,
) -> None:
    values = rng.normal(size=30)
    alone = bootstrap(mean, values, clusters=np.full(30, -1), sampling=Sampling())
    assert alone == bootstrap(mean, values, sampling=Sampling())
    assert resampling.clusters([2, -1, 1, -1, -7]).tolist() == [2, 4, 1, 6, 7]
    shifted = bootstrap(
        lambda a, b: (a - b).mean(), values + 0.25, values, sampling=Sampling()
    )
    np.testing.assert_allclose(shifted, 0.25)


def test_one_of_a_family_is_judged_as_if_alone_and_many_by_holms_steps(rng) -> None:
    alone = rng.normal(0.3, 1, (60, 1))
    assert bootstrap(mean, alone, sampling=OFTEN, holm=True) == bootstrap(
        mean, alone, sampling=OFTEN
    )


# The p-values of two-sided z tests are 0.00006; 0.021, or 0.036; 0.032, or 0.061. Holm
# compares the least with 0.05 / 3, the next with 0.05 / 2, the last with 0.05, and
# stops at the first that is larger. Without a correction, the last two of the second
# row would be rejected, with Bonferroni's none but the first of each row.
@pytest.mark.parametrize("method", ["normal", "percentile"])
@pytest.mark.parametrize(
    ("z", "rejected"),
    [
        ((4.0, 2.31, 2.14), [True, True, True]),
        ((4.0, 2.1, 2.14), [True, False, False]),
        ((4.0, 2.31, 1.87), [True, True, False]),
    ],
)
def test_a_family_is_rejected_step_by_step(method, z, rejected, rng) -> None:
    values = rng.normal(size=(400, 3))
    values = scipy_stats.zscore(values) + np.array(z) / 20
    family = bootstrap(mean, values, sampling=OFTEN, method=method, holm=True)
    assert (family.low > 0).tolist() == rejected


def test_the_strongest_of_a_family_has_the_widest_interval(rng) -> None:
    values = np.add(rng.normal(size=(60, 1)), [1, 3, 2])  # of one deviation
    family = bootstrap(mean, values, sampling=OFTEN, method="normal", holm=True)
    widths = family.high - family.low
    levels = scipy_stats.norm.isf(0.025 / np.array([1, 3, 2]))
    np.testing.assert_allclose(widths / widths[0], levels / levels[0])


@pytest.mark.parametrize(
    ("members", "confidence", "needed"), [(3, 0.95, 120), (7, 0.9, 140)]
)
def test_a_family_needs_a_draw_beyond_each_percentile(
    members, confidence, needed, rng
) -> None:
    values = rng.normal(size=(50, members))
    few = Sampling(0, needed - 1, confidence)
    with refused(f"repetitions: {needed - 1} draws do not show"):
        bootstrap(mean, values, sampling=few, holm=True)
    with refused(f"; give {needed} or more"):
        bootstrap(mean, values, sampling=few, holm=True)
    bootstrap(mean, values, sampling=few, holm=True, method="normal")
    assert few.for_family(members) == Sampling(0, needed, confidence)
    assert few.for_family(2) == few
    bootstrap(mean, values, sampling=few.for_family(members), holm=True)


def test_what_is_constantly_zero_is_the_last_of_a_family(rng) -> None:
    columns = np.column_stack([np.zeros(60), rng.normal(1, 0.1, 60), np.ones(60)])
    family = bootstrap(mean, columns, sampling=OFTEN, holm=True)
    assert (family.low > 0).tolist() == [False, True, True]


# -- units that all agree --------------------------------------------------------------


@settings(max_examples=30)
@given(
    st.integers(2, 300), st.booleans(), st.sampled_from([0.8, 0.95]), st.integers(1, 3)
)
def test_a_share_of_none_or_all_has_wilsons_interval(
    n, all_do, confidence, size
) -> None:
    test = scipy_stats.binomtest(n * all_do, n)
    wilson = test.proportion_ci(confidence, "wilson")
    values, clusters = np.full(n * size, float(all_do)), np.arange(n * size) % n
    options = {"sampling": Sampling(0, 80, confidence), "clusters": clusters}
    for method in ("percentile", "normal"):
        found = bootstrap(mean, values, within=(0, 1), method=method, **options)
        np.testing.assert_allclose(found, [all_do, *wilson], atol=1e-12)
        assert bootstrap(mean, values, method=method, **options)[1:] == (all_do, all_do)


def test_as_many_may_differ_from_other_values_to_either_end_and_then_none_is_open(
    rng,
) -> None:
    share = 1.959964**2 / (50 + 1.959964**2)
    found = bootstrap(mean, np.full(50, 0.1), sampling=Sampling(), within=(-1, 1))
    np.testing.assert_allclose(found, [0.1, 0.1 - 1.1 * share, 0.1 + 0.9 * share])
    values = np.column_stack([np.ones(50), rng.random(50) < 0.5]).astype(float)
    both = bootstrap(mean, values, sampling=Sampling(), within=(0, 1))
    alone = bootstrap(mean, values, sampling=Sampling())
    assert both.low[0] == pytest.approx(1 - share)
    assert [each[1] for each in both] == [each[1] for each in alone]
    by_seed = np.ones((50, 5))
    seeds = {"sampling": Sampling(), "within": (0, 1), "seeds": True}
    assert bootstrap(mean, by_seed, **seeds).low == pytest.approx(1 - share)


# -- what else draws do ----------------------------------------------------------------


@pytest.mark.parametrize("method", ["percentile", "normal", "fisher"])
def test_draws_in_which_a_statistic_is_undefined_do_not_count(rng, method) -> None:
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    least = spearman(x, y) - 0.1

    def correlations(x, y):
        found = spearman(x, y)
        return np.array([found, np.nan if found < least else found])

    found = bootstrap(correlations, x, y, sampling=Sampling(), method=method)
    defined, sometimes = np.transpose(found)
    assert np.isfinite(sometimes).all()
    assert defined[0] == sometimes[0]
    assert defined[1] < sometimes[1] <= sometimes[0] <= sometimes[2]


def test_a_correlation_of_1_in_every_draw_has_an_interval() -> None:
    x = np.arange(9.0)
    found = bootstrap(spearman, x, x, sampling=Sampling(), method="fisher")
    assert tuple(found) == pytest.approx((1, 1, 1))


def test_seeds_widen_the_interval_by_students_t() -> None:
    # Items without any spread: what is left is the t interval of five seeds.
    by_seed = np.array([0.1, 0.3, 0.2, 0.5, 0.4])
    found = bootstrap(mean, np.tile(by_seed, (20, 1)), sampling=Sampling(), seeds=True)
    expected = scipy_stats.t.interval(0.95, 4, by_seed.mean(), scipy_stats.sem(by_seed))
    np.testing.assert_allclose(found[1:], expected)


# -- coverage --------------------------------------------------------------------------


def difference(rng):
    shared = rng.normal(size=60)
    both = shared + rng.normal(0.2, 0.5, 60), shared
    return (lambda a, b: a.mean() - b.mean()), both, None


def clustered(rng):
    clusters = np.repeat(np.arange(40), 5)
    values = rng.normal(size=40)[clusters] + 0.3 * rng.normal(size=200)
    return mean, [values], clusters


def trained(rng):
    of_seeds = 0.2 * rng.normal(size=5) + 0.5 * rng.normal(size=(100, 5))
    return mean, [rng.normal(size=(100, 1)) + of_seeds], None


def rankings(rng):
    levels = np.random.default_rng(0).normal(size=40)
    both = levels + 2 * rng.normal(size=(2, 100, 40))
    return (lambda a, b: spearman(a.mean(axis=0), b.mean(axis=0))), both, None


def expected_rank_correlation() -> float:
    """That of two samples of this size; it is lower than that of the levels."""
    found = []
    for seed in range(10_000, 10_100):
        statistic, columns, _ = rankings(np.random.default_rng(seed))
        found.append(statistic(*columns))
    return float(np.mean(found))


def coverage(make, truth: float, **options) -> float:
    """How often 150 made samples' intervals include the truth; standard error 0.018."""
    covered = []
    for seed in range(150):
        statistic, columns, clusters = make(np.random.default_rng(seed))
        options |= {"sampling": Sampling(seed, 150), "clusters": clusters}
        _, low, high = bootstrap(statistic, *columns, **options)
        covered.append(low <= truth <= high)
    return float(np.mean(covered))


@pytest.mark.parametrize(
    ("make", "truth", "options"),
    [
        (difference, 0.2, {}),
        (clustered, 0.0, {}),
        (trained, 0.0, {"seeds": True}),
        (rankings, expected_rank_correlation(), {"method": "fisher"}),
    ],
    ids=["difference", "clusters", "seeds", "rank correlation near 1"],
)
def test_95_percent_intervals_cover_what_they_estimate(make, truth, options) -> None:
    assert 0.9 <= coverage(make, truth, **options) <= 0.995


# -- refusals and tables ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("statistic", "columns", "options", "message"),
    [
        (mean, [np.ones(3), np.ones(2)], {}, "the same number of each"),
        (mean, [np.ones(0)], {}, "at least one"),
        (mean, [np.ones(3)], {"clusters": [1, 2]}, "the same number of each"),
        (spearman, [np.ones(3), np.arange(3)], {}, "NaN"),
        (mean, [np.ones((9, 1))], {"seeds": True}, "give two or more"),
        (mean, [np.ones(9)], {"method": "bca"}, "method: 'bca' is not known"),
    ],
)
def test_refusals(statistic, columns, options, message) -> None:
    with refused(message):
        bootstrap(statistic, *columns, sampling=Sampling(), **options)


def test_percentiles_that_miss_the_estimate_are_refused() -> None:
    with refused("or in code method='normal'"):
        coverage(rankings, 0.0)


def test_means_of_columns_keep_the_names_of_the_columns() -> None:
    names = pd.MultiIndex.from_tuples([("a", "x"), ("b", "x")], names=["p", "q"])
    columns = pd.DataFrame([[0.0, 1], [1, 1], [1, 1], [0, 1]], columns=names)
    table = means(columns, Sampling(0, 100))
    assert table.index.equals(names)
    assert table["value"].tolist() == [0.5, 1]
    assert table["constant"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("interval", "constant"),
    [
        ((2e-6, 1e-6, 3e-6), False),  # seconds, slopes
        ((-2e-9, -3e-9, 0), False),
        ((1, 1 - 1e-16, 1 + 2e-16), True),
        ((3e7, 3e7, 3e7 + 1e-8), True),
        ((0, 0, 0), True),
        ((0.9, 0.89999, 0.90001), False),
    ],
)
def test_what_has_no_width_beside_its_own_size_is_constant(interval, constant) -> None:
    found = Interval(*np.array(interval, float)[:, None]).table(["a"], "name")
    assert found["constant"].tolist() == [constant]


def test_single_intervals_and_families_are_joined_to_one_family() -> None:
    family = Interval(np.array([1, 2]), np.array([0, 1]), np.array([2, 3]))
    found = Interval.joined([family, Interval(5.0, 4.0, 6.0)])
    np.testing.assert_array_equal(found, [[1, 2, 5], [0, 1, 4], [2, 3, 6]])
    assert Interval.joined([]) == UNDEFINED
