"""Pairs and resamples, differences by hand, sizes with known curves.

Also probing beside transfer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from lib import stats
from lib import transfer as measures
from lib.catalog import published
from lib.stats import Interval, Measured, Sampling
from lib.studies import dimensions, orders, pitfalls, probes, transfer
from lib.studies.dimensions import Line
from lib.tasks import ClassificationTask

SAMPLING = Sampling(1, 100)


# -- pairs and cosines -----------------------------------------------------------------


def test_a_verse_stands_beside_itself_the_next_one_and_one_from_elsewhere() -> None:
    found = pitfalls.rated_pairs("Verse-pairs", 40, seed=3)
    assert np.bincount(found["gold"].astype(int)).tolist() == [40, 40, 40]
    same, after, elsewhere = (table for _, table in found.groupby("gold"))
    assert same["left"].tolist() == after["left"].tolist() == elsewhere["left"].tolist()
    assert not set(same["right"]) & set(elsewhere["right"])
    splits = [set(found["first"][found["split"] == part]) for part in range(3)]
    assert len(set.union(*splits)) == sum(map(len, splits))


def test_tau_is_that_of_scipy(rng) -> None:
    a, b = rng.integers(0, 4, size=(2, 9))
    assert orders.kendall(a, b) == pytest.approx(scipy_stats.kendalltau(a, b).statistic)


def test_opposed_is_above_zero_only_for_two_clear_differences_of_opposite_sign() -> (
    None
):
    first = Interval(
        np.array([2.0, 2, 2]), np.array([1.0, 1, -1]), np.array([3.0, 3, 5])
    )
    second = Interval(
        np.array([-4.0, 4, -4]), np.array([-5.0, 3, -5]), np.array([-3.0, 5, -3])
    )
    found = orders.opposed(first, second)
    assert found.estimate.tolist() == [2, -2, 2]
    assert found.low.tolist() == [1, -3, -1]
    assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()


def test_reversed_embedders_are_found_and_noise_is_not(rng) -> None:
    skill = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]])  # the first two change places
    values = skill + rng.normal(size=(400, 2, 3))
    axes = {"condition": ["before", "after"], "embedder": ["a", "b", "c"]}
    found = orders.reversals(Measured.means(values, axes, SAMPLING))
    assert (found.low > 0).tolist() == [True, False, False]


def test_the_papers_spread_narrows_but_not_without_its_averages() -> None:
    cells = published.load("pitfalls_table2").pivot(
        index="model", columns="normalization", values="value"
    )
    found = pitfalls.published_narrowings(cells).set_index("without")["value"]
    assert found["none"] == pytest.approx(np.log(2.47 / 8.63), abs=0.01)
    assert found["plain averages"] == pytest.approx(np.log(1.83 / 1.77), abs=0.01)


# -- transfer --------------------------------------------------------------------------


def outcome(accuracies: dict[tuple[str, str], float], n: int = 400) -> pd.DataFrame:
    """Labels of two tasks with the given accuracies, spread evenly over sentences."""
    place = np.arange(n) / n
    index = pd.MultiIndex.from_arrays([np.repeat(["a", "b"], n // 2), np.arange(n)])
    correct = {key: place % 0.5 * 2 < share for key, share in accuracies.items()}
    return pd.DataFrame(correct, index.set_names(["task", "group"]))


def test_a_concave_curve_rises_and_bends() -> None:
    sizes = [10, 20, 40, 80, 160]
    for seeds in (1, 2):
        line = Line("toy", sizes, [[None] * seeds] * 5)
        concave, straight = (
            outcome(
                {
                    ("chosen", name): f(d)
                    for d, names in zip(sizes, line.names, strict=True)
                    for name in names
                }
            )
            for f in (lambda d: 0.2 * np.log10(d) + 0.2, lambda d: 0.3 + 0.004 * d)
        )
        rise, contrast, bends = dimensions.growth(concave, line, SAMPLING)
        assert min(rise.low, contrast.low, *bends.estimate) > 0
        assert dimensions.growth(straight, line, SAMPLING)[1].estimate == pytest.approx(
            0, abs=1e-4
        )


def test_accuracies_are_those_of_the_evaluation_and_intervals_hold_them(rng) -> None:
    labels = np.arange(60) % 2
    vectors = {
        "good": labels[:, None] + 0.1 * rng.normal(size=(60, 3)),
        "bad": rng.normal(size=(60, 3)),
    }
    task = [ClassificationTask([str(i) for i in range(60)], labels)]
    encode = {
        name: (lambda given: lambda texts: given[[int(text) for text in texts]])(v)
        for name, v in vectors.items()
    }
    jobs = {
        name: (each, {"never": {"normalize": [False]}}) for name, each in encode.items()
    }
    correct = transfer.correct_labels(jobs, {"toy": task}, 2, seed=0)
    options = {"folds": 2, "normalize": [False], "inner_folds": 1}
    expected = measures.evaluate([(vectors["bad"], labels)], **options).correct.mean()
    scores = transfer.accuracy(correct, ["never"], ["good", "bad"], SAMPLING)
    table = transfer.accuracy_table(scores).set_index(["embedder", "task"])
    assert table.loc[("good", "toy"), "accuracy"] == 1
    assert table.loc[("bad", "mean"), "accuracy"] == pytest.approx(expected)
    assert table["accuracy"].between(table["low"], table["high"]).all()


def test_sentences_of_one_group_are_drawn_together(rng) -> None:
    values = rng.random(40) < 0.5
    index = pd.MultiIndex.from_arrays(
        [["a"] * 40, np.repeat(np.arange(20), 2)], names=["task", "group"]
    )
    correct = pd.DataFrame({("chosen", "x"): values}, index)
    found = transfer.accuracy(correct, ["chosen"], ["x"], SAMPLING).interval()
    groups = np.repeat(np.arange(20), 2)
    expected = stats.bootstrap(
        stats.mean, values * 1.0, sampling=SAMPLING, clusters=groups, method="normal"
    )
    np.testing.assert_allclose(np.ravel(found), expected)


def test_tasks_that_rank_alike_correlate_fully() -> None:
    order = np.arange(8.0)
    transfer_scores = np.column_stack([order, 2 * order])
    probing_scores = np.column_stack([order**2, -order])
    rho = probes.task_correlations(transfer_scores, probing_scores)
    np.testing.assert_allclose(rho, [[1, -1], [1, -1]])
