"""Study 7: pairs and their resamples, differences by hand, sizes whose curve is known, probing beside transfer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from lib import stats
from lib import transfer as measures
from lib.catalog import published
from lib.stats import Interval, Sampling
from lib.studies import dimensions, orders, pitfalls, probes, transfer
from lib.studies.dimensions import Line
from lib.studies.orders import Resampled
from lib.studies.scores import pearsons
from lib.studies.transfer import Results
from lib.tasks import ClassificationTask

SAMPLING = Sampling(1, 100)


# -- pairs and cosines --------------------------------------------------------------------------


def test_a_verse_stands_beside_itself_the_next_one_and_one_from_elsewhere() -> None:
    found = pitfalls.rated("Verse-pairs", 40, seed=3)
    assert np.bincount(found["gold"].astype(int)).tolist() == [40, 40, 40]
    same, after, elsewhere = (table for _, table in found.groupby("gold"))
    assert same["left"].tolist() == after["left"].tolist() == elsewhere["left"].tolist()
    assert not set(same["right"]) & set(elsewhere["right"])
    splits = [set(found["first"][found["split"] == part]) for part in range(3)]
    assert len(set.union(*splits)) == sum(map(len, splits))


@pytest.mark.parametrize(
    ("drawn", "units", "times"),
    [([(0, 1), (0, 2), (1, 2)], [0, 1, 1], [2, 0, 0]), ([(0, 0), (1, 1), (1, 1)], [1, 1], [0, 2, 2])],
    ids=["documents", "verses"],
)
def test_a_pair_is_drawn_as_often_as_both_of_its_units_are_together(drawn, units, times) -> None:
    assert Resampled(np.array(drawn), None, SAMPLING).times(np.array(units)).tolist() == times


def test_an_interval_over_clusters_is_that_of_their_rows(rng) -> None:
    clusters, values = np.repeat(np.arange(20), 2), rng.normal(size=40)
    scores = Resampled(np.stack([clusters] * 2, axis=1), lambda times: np.average(values, weights=times), SAMPLING)
    expected = stats.bootstrap(stats.mean, values, sampling=SAMPLING, clusters=clusters, method="normal")
    assert scores.interval(float) == pytest.approx(expected)
    halves = scores.in_halves(lambda a, b: a + b)
    assert halves.estimate == pytest.approx(2 * values.mean())


def test_correlations_and_tau_are_those_of_scipy(rng) -> None:
    columns, gold = rng.normal(size=(30, 2, 4)), rng.normal(size=30)
    found = pearsons(columns, gold)
    assert found[1, 2] == pytest.approx(scipy_stats.pearsonr(columns[:, 1, 2], gold).statistic)
    a, b = rng.integers(0, 4, size=(2, 9))
    assert orders.kendall(a, b) == pytest.approx(scipy_stats.kendalltau(a, b).statistic)


def test_opposed_is_above_zero_only_for_two_clear_differences_of_opposite_sign() -> None:
    first = Interval(np.array([2.0, 2, 2]), np.array([1.0, 1, -1]), np.array([3.0, 3, 5]))
    second = Interval(np.array([-4.0, 4, -4]), np.array([-5.0, 3, -5]), np.array([-3.0, 5, -3]))
    found = orders.opposed(first, second)
    assert found.estimate.tolist() == [2, -2, 2]
    assert found.low.tolist() == [1, -3, -1]
    assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()


def test_the_papers_spread_narrows_but_not_without_its_averages() -> None:
    cells = published.load("pitfalls_table2").pivot(index="model", columns="normalization", values="value")
    found = pitfalls.published_spread(cells).set_index("without")["value"]
    assert found["none"] == pytest.approx(np.log(2.47 / 8.63), abs=0.01)
    assert found["plain averages"] == pytest.approx(np.log(1.83 / 1.77), abs=0.01)


def test_spectrum_by_hand() -> None:
    found = probes.spectrum(np.array([[3.0, 1], [1, 1], [3, -1], [1, -1]]))
    assert found == {"mean": pytest.approx(4 / 6), "first": pytest.approx(0.5), "dimensions": pytest.approx(2)}


def test_normalization_repairs_a_dimension_that_drowns_the_others(rng) -> None:
    pairs = pitfalls.rated("Verse-pairs", 40, seed=0)
    place = {text: i for i, text in enumerate(pitfalls.texts(pairs))}
    vectors = rng.normal(size=(len(place), 8))
    for i in range(80):
        vectors[place[pairs["right"][i]]] = vectors[place[pairs["left"][i]]] + (i // 40) * rng.normal(size=8)
    vectors[:, 0] = 100 * rng.normal(size=len(place)) + 50  # says nothing, and drowns the others
    encode = lambda texts: vectors[[place[text] for text in texts]]  # noqa: E731
    table = pitfalls.table_2(pitfalls.ucp(pairs, {"toy": encode}, SAMPLING), "toy").set_index("what")
    assert table.loc["gain", "low"] > 0
    assert table.loc["gain", "value"] == pytest.approx(table.loc["z", "value"] - table.loc["raw", "value"])


def test_recommendations_are_judged_by_listed_claims() -> None:
    listed = pd.read_csv(stats.CLAIMS)["id"]
    assert {claim for *_, claim in pitfalls.RECOMMENDATIONS} <= set(listed)


# -- transfer -----------------------------------------------------------------------------------


def outcome(accuracies: dict[tuple[str, str], float], n: int = 400) -> Results:
    """Results of two tasks with the given accuracies, spread evenly over the sentences."""
    place = np.arange(n) / n
    correct = {key: place % 0.5 * 2 < share for key, share in accuracies.items()}
    return Results(["a", "b"], np.arange(n) * 2 // n, np.arange(n), correct, SAMPLING)


def test_a_concave_curve_rises_and_bends() -> None:
    sizes = [10, 20, 40, 80, 160]
    line = Line("toy", sizes, [[None, None]] * 5)
    concave, straight = (
        outcome({("chosen", name): f(d) for d, names in zip(sizes, line.names, strict=True) for name in names})
        for f in (lambda d: 0.2 * np.log10(d) + 0.2, lambda d: 0.3 + 0.004 * d)
    )
    rise, contrast, bends = dimensions.growth(concave, line)
    assert min(rise.low, contrast.low, *bends.estimate) > 0
    assert dimensions.growth(straight, line)[1].estimate == pytest.approx(0, abs=1e-4)
    assert dimensions.curve(concave, line).loc[160, "value"] == pytest.approx(0.64, abs=0.01)


def test_accuracies_are_those_of_the_evaluation_and_intervals_hold_them(rng) -> None:
    labels = np.arange(60) % 2
    vectors = {"good": labels[:, None] + 0.1 * rng.normal(size=(60, 3)), "bad": rng.normal(size=(60, 3))}
    task = [ClassificationTask([str(i) for i in range(60)], labels)]
    encode = {
        name: (lambda given: lambda texts: given[[int(text) for text in texts]])(v) for name, v in vectors.items()
    }
    jobs = {name: (each, {"never": {"normalize": [False]}}) for name, each in encode.items()}
    results = transfer.evaluate(jobs, {"toy": task}, 2, seed=0, sampling=SAMPLING)
    options = {"folds": 2, "normalize": [False], "inner_folds": 1}
    expected = measures.evaluate([(vectors["bad"], labels)], **options).correct.mean()
    table = results.table(["never"], ["good", "bad"]).set_index(["embedder", "task"])
    assert table.loc[("good", "toy"), "accuracy"] == 1
    assert table.loc[("bad", "mean"), "accuracy"] == pytest.approx(expected)
    assert table["accuracy"].between(table["low"], table["high"]).all()
    assert transfer.lead(results, ["good", "bad"], "never", "never")["value"].tolist() == [0, 0]


def test_tasks_that_rank_alike_correlate_fully(rng) -> None:
    names = [f"e{i}" for i in range(8)]
    scores = pd.DataFrame({"MR": np.arange(8.0), "CR": np.arange(8.0)}, names)
    probing = pd.DataFrame({"SentLen": np.arange(8.0) ** 2, "WC": -np.arange(8.0)}, names)
    table, found = probes.of_probing(scores, probing, np.arange(8) < 4, SAMPLING)
    assert table.set_index("probing")["value"].round(9).to_dict() == {"SentLen": 1, "WC": -1}
    assert found["pitfalls-probing-average", "low"].estimate == pytest.approx(0)
    assert found["pitfalls-probing-wc-lowest", ""].low[0] > 0


def test_what_a_run_cannot_measure_is_undecided_and_says_so() -> None:
    nothing = pd.DataFrame(index=["e0", "e1"])
    _, found = probes.of_probing(nothing, nothing, [True, False], SAMPLING)
    equal = pd.DataFrame({"embedder": ["use-dan"], "size": 512, "value": 0.2, "low": 0.1, "high": 0.3})
    ledger = stats.Ledger("07_ucp_normalization", "default")
    orders.enter(ledger, {**found, **dimensions.of_equal_size(equal)}, "toy")
    rows = ledger.table().set_index("id")
    assert rows.loc["pitfalls-probing-wc-lowest", "verdict"] == "undecided"
    assert "not measured" in rows.loc["pitfalls-probing-wc-lowest", "note"]
    assert rows.loc["pitfalls-equal-size", "verdict"] == "fails (analogue)"


def test_relatives_are_drawn_together() -> None:
    kin = probes.kin(["glove-6b-50d", "glove-6b-50d+sif", "tfidf", "w2v-corpus"])
    assert kin[0] == kin[1]
    assert len(set(kin)) == 3
