"""Draws of scores against formulas, SciPy and NumPy.

Also what a bootstrap must not depend on.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from audit.rankings import over_halves
from lib.stats import Sampling, bootstrap, differences, draws, intervals, mean_over
from lib.stats import mean as mean_of_rows
from lib.stats.resampling import counts, scores
from tests.refusals import refused

SAMPLING = Sampling(seed=1, repetitions=400)
RNG = np.random.default_rng(0)


def table(values: np.ndarray, *names: list) -> pd.DataFrame:
    """Values of items, with the levels embedder and seed."""
    levels = ["embedder", "seed"][: len(names)]
    columns = pd.MultiIndex.from_product(names, names=levels)
    values = values.reshape(len(values), -1)
    return pd.DataFrame(values, columns=columns)


def test_means_have_the_interval_of_the_plain_bootstrap() -> None:
    values = RNG.normal(size=(40, 3))
    groups = np.repeat(np.arange(20), 2)
    found = intervals(draws(pd.DataFrame(values), SAMPLING, groups), SAMPLING)
    expected = bootstrap(mean_of_rows, values, sampling=SAMPLING, clusters=groups)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_difference_of_columns_is_paired() -> None:
    shared = RNG.normal(size=400)
    gap = 0.2 + RNG.normal(size=400) / 50
    both = draws(pd.DataFrame({"better": shared + gap, "worse": shared}), SAMPLING)
    found = intervals(both["better"] - both["worse"], SAMPLING, "normal")
    assert found.estimate == pytest.approx(gap.mean())
    # The noise that both share is gone: 1.96 standard errors of the differences.
    half = 1.96 * gap.std() / 20
    assert found.high - found.low == pytest.approx(2 * half, rel=0.15)
    named = differences(both, [("better", "worse"), ("worse", "better")])
    assert list(named) == ["better - worse", "worse - better"]
    np.testing.assert_allclose(named.loc[0], [found.estimate, -found.estimate])


@pytest.mark.parametrize("columns", [2, 7, 50])
def test_what_scores_alike_differs_by_exactly_nothing(columns) -> None:
    values = pd.DataFrame(np.repeat(RNG.normal(size=(101, 1)), columns, axis=1))
    for gold in (None, RNG.normal(size=101)):
        gaps = differences(draws(values, SAMPLING, gold=gold), list(pairwise(values)))
        assert not np.any(intervals(gaps, SAMPLING, "normal"))


def test_correlations_are_scipy_s_on_the_items_that_count() -> None:
    values = RNG.normal(size=(30, 6))
    gold = RNG.normal(size=30)
    times = RNG.integers(0, 3, size=30)
    rows = np.repeat(np.arange(30), times)
    found = scores(values, times, gold)
    expected = pearsonr(values[rows], gold[rows][:, None]).statistic
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isnan(scores(np.ones((30, 3)), times, gold)).all()


def test_a_pair_of_documents_counts_as_often_as_both_are_drawn_together() -> None:
    pairs = np.array(list(combinations(range(3), 2)))
    # Document 0 twice, document 2 once: only the pair of both counts, twice.
    np.testing.assert_array_equal(counts(pairs, np.array([0, 0, 2])), [0, 2, 0])
    found = draws(pd.DataFrame(np.eye(3)), SAMPLING, pairs)
    assert found.loc[0].tolist() == [1 / 3] * 3


def test_sets_are_scored_apart_and_averaged() -> None:
    values = pd.DataFrame(RNG.normal(size=(30, 2)), columns=["a", "b"])
    sets = pd.Index(["one"] * 10 + ["two"] * 20, name="set")
    gold = np.where(sets == "one", np.nan, RNG.normal(size=30))
    found = draws(values, SAMPLING, sets=sets, gold=gold)
    assert found.columns.names == ["set", None]
    np.testing.assert_allclose(found.loc[0, "one"], values[:10].mean())
    of_two = values[10:].corrwith(pd.Series(gold[10:], range(10, 30)))
    np.testing.assert_allclose(found.loc[0, "two"], of_two)
    over_sets = mean_over(found.rename_axis(columns=["set", "embedder"]), "set")
    np.testing.assert_allclose(over_sets, (found["one"] + found["two"]) / 2)


def test_seeds_are_averaged_and_widen_the_interval() -> None:
    alike = np.repeat(RNG.normal(size=(50, 1, 1)), 5, axis=2)
    apart = alike + np.arange(5) / 2
    narrow, wide = (
        draws(table(values, ["w2v"], [*"12345"]), SAMPLING) for values in (alike, apart)
    )
    of_alike, found = (intervals(each, SAMPLING, "normal") for each in (narrow, wide))
    assert found.high - found.low > 1.5 * (of_alike.high - of_alike.low)
    assert found.estimate.item() == pytest.approx(apart.mean())
    alone = intervals(wide["w2v"], SAMPLING, "normal")
    assert isinstance(alone.low, float)
    assert alone == tuple(side.item() for side in found)


def test_what_is_chosen_on_one_half_gains_nothing_on_the_other() -> None:
    values = RNG.normal(size=(200, 12))  # twelve embedders of equal skill
    halves = draws(pd.DataFrame(values), SAMPLING, halves=True)

    def lead_of_best(a, b):
        best = a.to_numpy().argmax(axis=1)
        return b.to_numpy()[np.arange(len(b)), best] - b.mean(axis=1)

    best = intervals(over_halves(halves, lead_of_best), SAMPLING, "normal")
    assert best.low < 0 < best.high
    # On the same items the best one seems better.
    assert values.mean(axis=0).max() - values.mean() > 0.1


def test_a_family_has_the_draws_that_it_needs_and_others_no_more() -> None:
    values = table(RNG.normal(size=(40, 20, 2)), [*"abcdefghijklmnopqrst"], [1, 2])
    more = Sampling(seed=1, repetitions=800)
    enough = draws(values, SAMPLING.for_family(20))
    for sampling, options in ((more, {"holm": True}), (SAMPLING, {})):
        expected = intervals(draws(values, sampling), sampling, **options)
        np.testing.assert_array_equal(intervals(enough, SAMPLING, **options), expected)
    with refused("400 draws do not show"):
        intervals(draws(values, SAMPLING), SAMPLING, holm=True)


def test_shares_of_none_have_an_interval_and_their_differences_have_none() -> None:
    none = draws(pd.DataFrame(np.zeros((40, 2))), SAMPLING)
    found = intervals(none, SAMPLING, "normal", within=(0, 1), units=40)
    np.testing.assert_allclose(found.high, 0.0876, atol=1e-4)
    assert not np.any(intervals(none[0] - none[1], SAMPLING))  # as an identity


def test_a_single_unit_has_no_bounds() -> None:
    alone = draws(pd.DataFrame(np.ones((5, 2))), SAMPLING, np.zeros(5, int))
    found = intervals(alone, SAMPLING)
    assert found.estimate.tolist() == [1, 1]
    assert np.isnan([found.low, found.high]).all()
