"""`lib.stats.bootstrap`: SciPy's intervals for plain rows, otherwise coverage.

Where SciPy has no intervals, the stated coverage is checked.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from lib.run.errors import InputError
from lib.stats import Sampling, bootstrap, mean, means, spearman

OFTEN = Sampling(seed=0, repetitions=9999)


@pytest.mark.parametrize(
    ("method", "theirs"),
    [("percentile", "percentile"), ("normal", "percentile")],
)
def test_percentiles_agree_with_scipy(rng, method, theirs) -> None:
    values = rng.exponential(size=80)
    ours = bootstrap(mean, values, sampling=OFTEN, method=method)
    expected = scipy_stats.bootstrap(
        (values,), np.mean, method=theirs, rng=rng
    ).confidence_interval
    assert ours.estimate == values.mean()
    np.testing.assert_allclose(ours[1:], expected, atol=0.015)


def test_bca_is_scipy_s(rng) -> None:
    values = rng.exponential(size=(30, 2))
    ours = bootstrap(
        lambda rows: np.ptp(rows.mean(axis=0)),
        values,
        sampling=Sampling(7, 500),
        method="bca",
    )
    theirs = scipy_stats.bootstrap(
        (np.arange(30),),
        lambda rows: np.ptp(values[rows].mean(axis=0)),
        vectorized=False,
        n_resamples=500,
        method="BCa",
        rng=np.random.default_rng(7),
    )
    np.testing.assert_allclose(ours[1:], theirs.confidence_interval)


def test_rank_correlations_agree_with_scipy(rng) -> None:
    x, y = rng.integers(0, 9, (2, 50))
    assert spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y)[0])
    assert np.isnan(spearman(x, np.ones(50)))


def test_copies_of_a_row_in_one_cluster_change_nothing(rng) -> None:
    values = rng.normal(size=40)
    copies, clusters = np.repeat(values, 5), np.repeat(np.arange(40), 5)
    once = bootstrap(mean, values, sampling=Sampling())
    np.testing.assert_allclose(
        bootstrap(mean, copies, clusters=clusters, sampling=Sampling()), once
    )
    _, low, high = bootstrap(mean, copies, sampling=Sampling())
    assert high - low < 0.6 * (once.high - once.low)


@pytest.mark.parametrize("options", [{}, {"method": "normal"}, {"holm": True}])
def test_one_cluster_has_an_estimate_and_no_interval(rng, options) -> None:
    values = rng.normal(5, 1, (40, 2))
    estimate, low, high = bootstrap(
        mean, values, clusters=np.full(40, 7), sampling=Sampling(), **options
    )
    np.testing.assert_allclose(estimate, values.mean(axis=0))
    assert np.isnan([low, high]).all()
    assert np.isnan(bootstrap(mean, values[:1, 0], sampling=Sampling())[1:]).all()


def test_negative_clusters_are_clusters_of_their_own_and_columns_are_resampled_alike(
    rng,
) -> None:
    values = rng.normal(size=30)
    alone = bootstrap(mean, values, clusters=np.full(30, -1), sampling=Sampling())
    assert alone == bootstrap(mean, values, sampling=Sampling())
    shifted = bootstrap(
        lambda a, b: (a - b).mean(), values + 0.25, values, sampling=Sampling()
    )
    np.testing.assert_allclose(shifted, 0.25)


def test_one_of_a_family_is_judged_as_if_alone_and_many_by_holms_steps(rng) -> None:
    alone = rng.normal(0.3, 1, (60, 1))
    assert bootstrap(mean, alone, sampling=OFTEN, holm=True) == bootstrap(
        mean, alone, sampling=OFTEN
    )
    # p-values of two-sided z tests: Holm rejects the first and the second, not the
    # third.
    values = rng.normal(size=(400, 3))
    values += np.array([4.0, 2.4, 1.9]) / 20 - values.mean(axis=0)
    values /= values.std(axis=0)
    family = bootstrap(mean, values, sampling=OFTEN, method="normal", holm=True)
    assert list(family.low > 0) == [True, True, False]


def rejected_by_holm(values: np.ndarray, method: str, alpha: float) -> np.ndarray:
    """Whether each interval excludes 0 at the level of its step; bool[m].

    The columns are float[n, m], and each interval is taken alone.
    """
    members = range(values.shape[1])
    alone = [
        bootstrap(
            mean,
            values,
            sampling=Sampling(0, 200, 1 - alpha / (len(members) - step)),
            method=method,
        )
        for step in members
    ]
    excludes = np.array(
        [(each.low > 0) | (each.high < 0) for each in alone]
    )  # [step, member]
    rejected = np.zeros(len(members), bool)
    for step, member in enumerate(np.argsort(-excludes.sum(axis=0), kind="stable")):
        if not excludes[step, member]:
            break
        rejected[member] = True
    return rejected


def test_the_intervals_of_skewed_families_exclude_0_just_where_holm_rejects() -> None:
    method = "percentile"
    for seed in range(60):
        rng = np.random.default_rng(seed)
        values = rng.lognormal(sigma=1.5, size=(20, 6)) * rng.choice(
            [-1, 1], 6
        ) - rng.normal(0, 2, 6)
        family = bootstrap(
            mean, values, sampling=Sampling(0, 200), method=method, holm=True
        )
        excludes = (family.low > 0) | (family.high < 0)
        np.testing.assert_array_equal(
            excludes, rejected_by_holm(values, method, alpha=0.05), err_msg=f"{seed}"
        )


@pytest.mark.parametrize("method", ["percentile", "normal", "fisher"])
def test_draws_in_which_a_statistic_is_undefined_do_not_count(rng, method) -> None:
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    least = spearman(x, y) - 0.1

    def correlations(x, y):
        found = spearman(x, y)
        return np.array([found, np.nan if found < least else found])

    defined, sometimes = np.transpose(
        bootstrap(correlations, x, y, sampling=Sampling(), method=method)
    )
    assert np.isfinite(sometimes).all()
    assert defined[0] == sometimes[0]
    assert defined[1] < sometimes[1] <= sometimes[0] <= sometimes[2]


def test_what_is_constantly_zero_is_the_last_of_a_family(rng) -> None:
    columns = np.column_stack([np.zeros(60), rng.normal(1, 0.1, 60), np.ones(60)])
    family = bootstrap(mean, columns, sampling=OFTEN, holm=True)
    assert (family.low > 0).tolist() == [False, True, True]


def test_seeds_widen_the_interval_by_students_t() -> None:
    # Items without any spread: what is left is the t interval of five seeds.
    by_seed = np.array([0.1, 0.3, 0.2, 0.5, 0.4])
    found = bootstrap(mean, np.tile(by_seed, (20, 1)), sampling=Sampling(), seeds=True)
    expected = scipy_stats.t.interval(0.95, 4, by_seed.mean(), scipy_stats.sem(by_seed))
    np.testing.assert_allclose(found[1:], expected)


def coverage(make, truth: float, **options) -> float:
    """How often 150 made samples' intervals include the truth; standard error 0.018."""
    covered = []
    for seed in range(150):
        statistic, *columns, clusters = make(np.random.default_rng(seed))
        sampling = Sampling(seed, repetitions=150)
        _, low, high = bootstrap(
            statistic, *columns, clusters=clusters, sampling=sampling, **options
        )
        covered.append(low <= truth <= high)
    return float(np.mean(covered))


def difference(rng):
    shared = rng.normal(size=60)
    return (
        (lambda a, b: a.mean() - b.mean()),
        shared + rng.normal(0.2, 0.5, 60),
        shared,
        None,
    )


def clustered(rng):
    clusters = np.repeat(np.arange(40), 5)
    return mean, rng.normal(size=40)[clusters] + 0.3 * rng.normal(size=200), clusters


def trained(rng):
    return (
        mean,
        rng.normal(size=(100, 1))
        + 0.2 * rng.normal(size=5)
        + 0.5 * rng.normal(size=(100, 5)),
        None,
    )


def rankings(rng):
    levels = np.random.default_rng(0).normal(size=40)
    first, second = levels + 2 * rng.normal(size=(2, 100, 40))
    return (lambda a, b: spearman(a.mean(axis=0), b.mean(axis=0))), first, second, None


def expected_rank_correlation() -> float:
    """The rank correlation of two samples of this size.

    It is lower than that of the levels themselves.
    """
    made = (rankings(np.random.default_rng(seed)) for seed in range(10_000, 10_100))
    return float(np.mean([statistic(*columns) for statistic, *columns, _ in made]))


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


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 4), min_size=5, max_size=30),
    st.sampled_from(["percentile", "normal"]),
    st.booleans(),
)
def test_an_interval_holds_its_estimate(values, method, holm) -> None:
    columns = np.column_stack([values, np.sort(values)]).astype(float)
    estimate, low, high = bootstrap(
        mean, columns, sampling=Sampling(repetitions=50), method=method, holm=holm
    )
    assert (low <= estimate).all()
    assert (estimate <= high).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bootstrap(mean, np.ones(3), np.ones(2), sampling=Sampling()),
            "equally many",
        ),
        (lambda: bootstrap(mean, np.ones(0), sampling=Sampling()), "at least one"),
        (
            lambda: bootstrap(mean, np.ones(3), clusters=[1, 2], sampling=Sampling()),
            "equally many",
        ),
        (
            lambda: bootstrap(spearman, np.ones(3), np.arange(3), sampling=Sampling()),
            "NaN",
        ),
        # Percentiles of a rank correlation near 1.
        (
            lambda: coverage(rankings, 0.0),
            "give more data or more repetitions, or in code method='normal'",
        ),
        (
            lambda: bootstrap(mean, np.ones((9, 1)), sampling=Sampling(), seeds=True),
            "seeds: .* give two or more",
        ),
        # BCa is for a single number that is defined in every resample, and not always
        # the same.
        (
            lambda: bca(mean, np.arange(20.0).reshape(10, 2)),
            "method: 'bca' is for a single number",
        ),
        (
            lambda: bca(mean, np.arange(20.0).reshape(10, 2), seeds=True),
            "method: 'bca' .* without seeds or holm",
        ),
        (
            lambda: bca(mean, np.arange(10.0), holm=True),
            "method: 'bca' .* without seeds or holm",
        ),
        (
            lambda: bca(mean, np.ones(10)),
            "statistic: is NaN in some resamples or the same in all",
        ),
        (
            lambda: bca(positive_mean, np.arange(-4.0, 6)),
            "statistic: is NaN in some resamples or the same in all",
        ),
    ],
)
def test_refusals(call, message) -> None:
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(InputError, match=message) as refused,
    ):
        call()
    assert "\n" not in str(refused.value)


def bca(statistic, values, **options):
    return bootstrap(
        statistic, values, sampling=Sampling(repetitions=200), method="bca", **options
    )


def positive_mean(values: np.ndarray) -> float:
    """NaN where the mean is not positive, as in some resamples."""
    found = values.mean()
    return found if found > 0 else np.nan


def test_means_of_columns_keep_the_names_of_the_columns() -> None:
    names = pd.MultiIndex.from_tuples([("a", "x"), ("b", "x")], names=["p", "q"])
    columns = pd.DataFrame([[0.0, 1], [1, 1], [1, 1], [0, 1]], columns=names)
    table = means(columns, Sampling(0, 100))
    assert table.index.equals(names)
    assert table["value"].tolist() == [0.5, 1]
    assert table["constant"].tolist() == [False, True]
    # Both clusters have the same mean.
    together = means(columns, Sampling(0, 100), np.array([0, 1, 0, 1]))
    assert together["constant"].tolist() == [True, True]
