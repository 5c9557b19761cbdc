"""Pairs and resamples, differences by hand, sizes with known curves.

Also probing beside transfer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from audit import accuracies, dimensions, probes, published, rankings
from audit.dimensions import Line
from lib import stats, transfer
from lib.stats import Interval, Sampling
from lib.studies import ratings
from lib.tasks import ClassificationTask

SAMPLING = Sampling(1, 100)


# -- pairs and cosines -----------------------------------------------------------------


def test_a_verse_stands_beside_itself_the_next_one_and_one_from_elsewhere() -> None:
    found = ratings.rated_pairs("Verse-pairs", 40, seed=3)
    assert np.bincount(found["gold"].astype(int)).tolist() == [40, 40, 40]
    same, after, elsewhere = (table for _, table in found.groupby("gold"))
    assert same["left"].tolist() == after["left"].tolist() == elsewhere["left"].tolist()
    assert not set(same["right"]) & set(elsewhere["right"])
    splits = [set(found["first"][found["split"] == part]) for part in range(3)]
    assert len(set.union(*splits)) == sum(map(len, splits))


def test_opposed_is_above_zero_only_for_two_clear_differences_of_opposite_sign() -> (
    None
):
    first = Interval(*np.array([[2, 2, 2], [1, 1, -1], [3, 3, 5]]))
    second = Interval(*np.array([[-4, 4, -4], [-5, 3, -5], [-3, 5, -3]]))
    found = rankings.opposed(first, second)
    assert found.estimate.tolist() == [2, -2, 2]
    assert found.low.tolist() == [1, -3, -1]


def test_kendalls_tau_is_that_of_scipy_with_ties_and_without(rng) -> None:
    for values in (5, 1000):
        a, b = rng.integers(0, values, (2, 12)) / 7
        assert rankings.kendall(a, b) == kendalltau(a, b).statistic
    assert np.isnan(rankings.kendall(a, np.zeros(12)))


def test_reversed_embedders_are_found_and_noise_is_not(rng) -> None:
    skill = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]])  # the first two change places
    values = skill + rng.normal(size=(400, 2, 3))
    columns = pd.MultiIndex.from_product([["before", "after"], ["a", "b", "c"]])
    values = pd.DataFrame(values.reshape(400, 6), columns=columns)
    found = rankings.reversals(stats.draws(values, SAMPLING), SAMPLING)
    assert (found.low > 0).tolist() == [True, False, False]


def test_the_papers_spread_narrows_but_not_without_its_averages() -> None:
    cells = published.load("pitfalls_table2").pivot(
        index="model", columns="normalization", values="value"
    )
    printed = cells.rename(columns={"none": "raw", "z-norm": "z"})[["raw", "z"]]
    rest = printed.drop(index=list(rankings.PUBLISHED_AVERAGES))
    of_all = rankings.narrowing(printed.unstack().to_frame().T)
    assert of_all.item() == pytest.approx(np.log(2.47 / 8.63), abs=0.01)
    of_rest = rankings.narrowing(rest.unstack().to_frame().T)
    assert of_rest.item() == pytest.approx(np.log(1.83 / 1.77), abs=0.01)


def test_embedders_are_drawn_with_their_relatives() -> None:
    names = ["glove-6b-50d", "glove-6b-50d+sif", "minilm-avg"]
    ones = pd.DataFrame(np.ones((101, 1)) * [1.0, -1.0, 0.0], columns=names)
    assert not rankings.mean_of_embedders(ones, SAMPLING).any()
    ones[names] = [1.0, 1.0, 0.0]
    drawn = rankings.mean_of_embedders(ones, SAMPLING)
    assert set(np.round(drawn, 9)) == {0.0, round(2 / 3, 9), 1.0}


# -- transfer --------------------------------------------------------------------------


def outcome(accuracies: dict[tuple[str, str], float], n: int = 400) -> pd.DataFrame:
    """Labels of two tasks with the given accuracies, spread evenly over sentences."""
    place = np.arange(n) / n
    index = pd.MultiIndex.from_arrays([np.repeat(["a", "b"], n // 2), np.arange(n)])
    correct = {key: place % 0.5 * 2 < share for key, share in accuracies.items()}
    return pd.DataFrame(correct, index.set_names(["task", "group"]))


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_concave_curve_rises_and_bends(seeds) -> None:
    sizes = [10, 20, 40, 80, 160]
    line = Line("toy", sizes, [[None] * seeds] * 5)

    def growth(curve):
        by_size = zip(map(curve, sizes), line.names, strict=True)
        shares = {("logistic", name): y for y, names in by_size for name in names}
        return dimensions.growth(outcome(shares), line, SAMPLING)

    concave = growth(lambda d: 0.2 * np.log10(d) + 0.2)
    assert min(concave.rise.low, concave.concavity.low, *concave.bends.estimate) > 0
    straight = growth(lambda d: 0.3 + 0.004 * d)
    assert straight.concavity.estimate == pytest.approx(0, abs=1e-4)


def test_accuracies_are_those_of_the_evaluation_and_intervals_hold_them(rng) -> None:
    labels = np.arange(60) % 2
    good = labels[:, None] + 0.1 * rng.normal(size=(60, 3))
    vectors = {"good": good, "bad": rng.normal(size=(60, 3))}
    task = [ClassificationTask([str(i) for i in range(60)], labels)]
    never = {"never": {"normalize": [False]}}
    jobs = {
        name: ((lambda texts, own=own: own[np.array(texts, int)]), never)
        for name, own in vectors.items()
    }
    correct = accuracies.correct_labels(jobs, {"toy": task}, 2, seed=0)
    scores = accuracies.accuracy(correct, ["never"], ["good", "bad"], SAMPLING)
    table = accuracies.accuracy_table(scores, SAMPLING)
    table = table.set_index(["embedder", "task"])
    options = {"folds": 2, "normalize": [False], "inner_folds": 1}
    expected = transfer.evaluate([(vectors["bad"], labels)], **options).correct.mean()
    assert table.loc[("good", "toy"), "accuracy"] == 1
    assert table.loc[("bad", "mean"), "accuracy"] == pytest.approx(expected)
    assert table["accuracy"].between(table["low"], table["high"]).all()


def test_sentences_of_one_group_are_drawn_together(rng) -> None:
    values = rng.random(40) < 0.5
    groups = np.repeat(np.arange(20), 2)
    index = pd.MultiIndex.from_product([["a"], groups], names=["task", "group"])
    correct = pd.DataFrame({("chosen", "x"): values}, index)
    scores = accuracies.accuracy(correct, ["chosen"], ["x"], SAMPLING)
    found = stats.intervals(scores, SAMPLING, "normal")
    options = {"sampling": SAMPLING, "clusters": groups, "method": "normal"}
    expected = stats.bootstrap(stats.mean, values * 1.0, **options)
    np.testing.assert_allclose(np.ravel(found), expected)


def test_tasks_that_rank_alike_correlate_fully() -> None:
    order = np.arange(8.0)
    transfer_scores = np.column_stack([order, 2 * order])
    probing_scores = np.column_stack([order**2, -order])
    rho = probes.task_correlations(transfer_scores, probing_scores)
    np.testing.assert_allclose(rho, [[1, -1], [1, -1]])
