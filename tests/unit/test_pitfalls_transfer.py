"""The transfer half of study 7: rankings, correlations over embedders, and sets that a similarity is learned on."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from lib import corpora, similarity, tasks, transfer
from lib.pitfalls import checklist, correlation, learned_similarity, probes, ranks, transfer_tasks
from lib.pitfalls.learned_similarity import COSINE, LEARNED, NORMALIZED
from lib.pitfalls.transfer_study import Resamples, Study, evaluate, out_of_corpus
from lib.pitfalls.transfer_tasks import TransferTask
from lib.run.errors import InputError
from lib.similarity import correlations
from lib.tasks import ClassificationTask, PairTask

DRAWS = Resamples(seed=3, repetitions=200)


class Answered:
    """A result of which nothing but the right answers is known."""

    def __init__(self, correct) -> None:
        self.correct = np.asarray(correct, bool)


def study_of(correct: dict[str, dict[str, list]], groups=None) -> Study:
    """Of one task; condition -> embedder -> which test sentences are labelled right."""
    embedders = list(next(iter(correct.values())))
    n = len(next(iter(next(iter(correct.values())).values())))
    groups = None if groups is None else np.asarray(groups)
    task = TransferTask("toy", ["x"] * n, np.zeros(n, np.int32), groups=groups)
    results = {(name, "toy", how): Answered(row) for how, rows in correct.items() for name, row in rows.items()}
    return Study({"toy": task}, results, dict.fromkeys(embedders, 3))


@pytest.fixture
def study(rng) -> Study:
    """Three conditions, five embedders of rising quality, 120 sentences in groups of two."""
    chance = {"a": 0.3, "b": 0.45, "c": 0.6, "d": 0.7, "e": 0.85}
    of = {how: {name: rng.random(120) < p for name, p in chance.items()} for how in ("one", "two", "three")}
    return study_of(of, np.arange(120) // 2)


LABELS = {"one": "One", "two": "Two", "three": "Three"}


# -- rankings -----------------------------------------------------------------------------------


def test_kendalls_tau_by_hand() -> None:
    tau = ranks.kendall(np.array([[80, 70, 60, 50], [70, 80, 60, 50], [50, 60, 70, 80]]))
    np.testing.assert_allclose(tau, [[1, 4 / 6, -1], [4 / 6, 1, -4 / 6], [-1, -4 / 6, 1]])


@given(st.lists(st.lists(st.integers(0, 4), min_size=6, max_size=6), min_size=2, max_size=4))
def test_kendalls_tau_with_ties_is_scipys(rows) -> None:
    expected = [[scipy_stats.kendalltau(a, b).statistic for a in rows] for b in rows]
    np.testing.assert_allclose(ranks.kendall(np.array(rows, float)), expected, atol=1e-12)


def test_ranks_begin_with_the_best_and_equal_ones_share() -> None:
    found = ranks.ranks(pd.DataFrame({"x": [0.5, 0.9, 0.5, 0.1]}, index=list("abcd")))
    assert found["x"].tolist() == [2.5, 1, 2.5, 4]


def test_differences_by_rounding_are_ties() -> None:
    found = ranks.ranks(pd.DataFrame({"x": [0.1 + 0.2, 0.3, 0.0]}))
    assert found["x"].tolist() == [1.5, 1.5, 3]


def test_swapped_pairs_by_hand() -> None:
    always, never = [1] * 20, [0] * 20
    half = [1] * 10 + [0] * 10
    found = ranks.agreement(
        study_of({"one": {"a": always, "b": half, "c": never}, "two": {"a": never, "b": half, "c": never}}),
        {"one": "One", "two": "Two"},
        DRAWS,
    )
    # One: a > b > c. Two: b > a = c. The pair (a, b) swaps, clearly; (a, c) is tied under Two; (b, c) keeps its order.
    row = found.iloc[0]
    assert (row.a, row.b, row.pairs, row.swapped, row.clearly) == ("One", "Two", 3, 1, 1)
    assert row.tau == pytest.approx(scipy_stats.kendalltau([3, 2, 1], [1, 2, 1]).statistic)


def test_interval_of_tau_is_that_of_a_bootstrap_written_out(study) -> None:
    found = ranks.agreement(study, {"one": "One", "two": "Two"}, DRAWS).iloc[0]
    draws, taus = np.random.default_rng(3).multinomial(60, np.full(60, 1 / 60), size=200), []
    for draw in draws:
        weights = np.repeat(draw, 2)  # both sentences of a group
        scores = [weights @ study.correct("toy", how) for how in ("one", "two")]
        taus.append(scipy_stats.kendalltau(*scores).statistic)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(taus, [0.025, 0.975])))


def test_new_names_change_names_only(study) -> None:
    renamed = {"a": "z", "b": "y", "c": "x", "d": "w", "e": "v"}
    other = Study(
        study.tasks,
        {(renamed[name], task, how): result for (name, task, how), result in study.results.items()},
        {renamed[name]: size for name, size in study.sizes.items()},
    )
    pd.testing.assert_frame_equal(ranks.agreement(study, LABELS, DRAWS), ranks.agreement(other, LABELS, DRAWS))
    moved, again = (ranks.moves(ranks.mean_accuracies(each, LABELS), "One", "Two") for each in (study, other))
    assert [renamed[name] for name in moved.index] == list(again.index)


def test_a_condition_agrees_with_itself_on_other_sentences_as_far_as_there_is_signal(rng) -> None:
    even = {name: rng.permutation(400) < 200 for name in "abcdef"}  # what one half has, the other lacks
    apart = {name: rng.random(400) < p for name, p in zip("abcdef", np.linspace(0.1, 0.9, 6), strict=True)}
    study = study_of({"one": even, "two": apart})
    found = ranks.halves(study, {"one": "noise", "two": "signal"}, seed=0)
    assert found["noise"] == pytest.approx(-1)
    assert found["signal"] > 0.95
    assert ranks.reliability(study, "one", seed=0)["toy"] == pytest.approx(-1)
    assert ranks.reliability(study, "two", seed=0)["toy"] > 0.95


def test_what_says_the_same_is_in_one_half() -> None:
    # In every group one embedder is right on the first sentence, the other on the second: equal on any half of groups.
    first = [1, 0] * 30
    study = study_of({"one": {"a": first, "b": [0, 1] * 30, "c": [0, 0] * 30}}, np.arange(60) // 2)
    assert ranks.halves(study, {"one": "One"}, seed=0)["One"] == pytest.approx(1)


def test_the_best_of_some_beside_the_best_of_the_others(study) -> None:
    found = ranks.best_of(study, "one", ["a", "e", "b"], DRAWS).iloc[0]
    assert (found.some, found.others) == ("e", "d")
    accuracy = study.accuracies("one")["toy"]
    assert found.difference == pytest.approx(100 * (accuracy["e"] - accuracy["d"]))  # the same two on either half
    assert found.low < found.difference < found.high


def test_the_luckiest_of_many_is_not_taken_for_better(rng) -> None:
    correct = {str(i): rng.random(1000) < 0.5 for i in range(40)} | {"other": rng.random(1000) < 0.5}
    study = study_of({"one": correct})
    lucky = study.accuracies("one")["toy"].drop("other").max() - study.accuracies("one")["toy"]["other"]
    found = ranks.best_of(study, "one", [name for name in correct if name != "other"], DRAWS).iloc[0]
    assert lucky > 0.02
    assert found.low < 0 < found.high
    assert found.difference < 100 * lucky / 2


def test_a_difference_of_conditions_is_paired(study) -> None:
    shown = study.differences("one", "one", DRAWS)
    assert (shown == 0).all(axis=None)
    other = study.differences("one", "two", DRAWS)
    assert (other["low"] < other["mean"]).all()
    assert (other["mean"] < other["high"]).all()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (pd.DataFrame({"x": [1.0, 2]}), "of 2 embedders; a ranking needs 3"),
        (pd.DataFrame({"x": [1.0, 2, 3], "same": [5.0] * 3}), "'same' is the same for all embedders"),
        (pd.DataFrame({"x": [1.0, np.nan, 3]}, index=list("abc")), "'x' has none for 'b'"),
    ],
)
def test_what_cannot_be_ranked_gets_a_sentence(scores, message) -> None:
    with pytest.raises(InputError, match=message):
        ranks.ranks(scores)


def test_constant_or_too_few_scores_have_no_agreement(study) -> None:
    flat = study_of({how: {name: [1, 0] * 10 for name in "abc"} for how in ("one", "two")})
    with pytest.raises(InputError, match="is the same for all embedders"):
        ranks.agreement(flat, {"one": "One", "two": "Two"}, DRAWS)
    with pytest.raises(InputError, match="condition: 'four' is not known"):
        ranks.agreement(study, {"one": "One", "four": "Four"}, DRAWS)
    with pytest.raises(InputError, match="give a part of them"):
        ranks.best_of(study, "one", [], DRAWS)
    with pytest.raises(InputError, match="column: 'Four' is not known"):
        ranks.moves(ranks.mean_accuracies(study, LABELS), "One", "Four")


def test_embedders_that_no_resample_ranks_have_no_agreement() -> None:
    # They differ in the first of twenty sentences only, which one resample of three leaves out.
    rows = {"a": [0] + [1] * 19, "b": [1] * 20, "c": [1] * 20}
    seed = next(seed for seed in range(99) if not _drawn(study_of({"one": rows}), seed))
    with pytest.raises(InputError, match="in no resample do all conditions rank the embedders; give more test"):
        ranks.agreement(study_of({"one": rows, "two": rows}), {"one": "One", "two": "Two"}, Resamples(seed, 1))


def _drawn(study: Study, seed: int) -> bool:
    """Whether the only resample holds the sentence that makes the difference."""
    return np.ptp(study.resampled(["one"], Resamples(seed, 1))) > 0


# -- correlations over embedders ----------------------------------------------------------------

NAMES = list("abcdefgh")


@pytest.fixture
def scores(rng) -> tuple[pd.DataFrame, pd.DataFrame]:
    quality = np.arange(8)[:, None]
    transfer_scores = pd.DataFrame(quality + rng.normal(size=(8, 2)), NAMES, ["T1", "T2"])
    return transfer_scores, pd.DataFrame(-quality + 3 * rng.normal(size=(8, 3)), NAMES, ["P1", "P2", "P3"])


def test_correlation_by_hand_and_as_scipy_has_it(scores) -> None:
    one = pd.DataFrame({"T": [1.0, 2, 3, 4]}, list("abcd"))
    two = pd.DataFrame({"P": [1.0, 2, 4, 3]}, list("abcd"))
    found = correlation.over_embedders(one, two, DRAWS)
    assert found.rho.loc["T", "P"] == pytest.approx(1 - 6 * 2 / (4 * 15))  # squared rank differences: 0, 0, 1, 1
    found = correlation.over_embedders(*scores, DRAWS)
    for task, probe in ((t, p) for t in scores[0] for p in scores[1]):
        assert found.rho.loc[task, probe] == pytest.approx(scipy_stats.spearmanr(scores[0][task], scores[1][probe])[0])
    assert found.by_probe["mean"].to_numpy() == pytest.approx(found.rho.mean().to_numpy())
    assert found.overall[0] == pytest.approx(found.rho.to_numpy().mean())


def test_interval_of_correlation_is_that_of_a_bootstrap_written_out(scores) -> None:
    found = correlation.over_embedders(*scores, DRAWS)
    rhos = []
    for draw in np.random.default_rng(3).integers(8, size=(200, 8)):
        chosen = [frame.iloc[draw] for frame in scores]
        if all(frame.nunique().min() > 1 for frame in chosen):
            rhos.append(scipy_stats.spearmanr(chosen[0]["T2"], chosen[1]["P1"])[0])
    assert found.resamples == len(rhos)
    low, high = np.quantile(rhos, [0.025, 0.975])
    assert (found.low.loc["T2", "P1"], found.high.loc["T2", "P1"]) == pytest.approx((low, high))


@given(st.integers(0, 2**32))
def test_only_the_order_of_scores_and_no_name_matters(seed) -> None:
    rng = np.random.default_rng(seed)
    one, two = (pd.DataFrame(rng.random((6, 2)).round(3), list("abcdef"), list(columns)) for columns in ("TU", "PQ"))
    if min(one.nunique().min(), two.nunique().min()) < 2:
        return
    draws = Resamples(repetitions=20)
    expected = correlation.over_embedders(one, two, draws)
    bent, renamed = one**3 + 5, [frame.set_axis(list("uvwxyz")) for frame in (one, two)]
    for found in (correlation.over_embedders(bent, two, draws), correlation.over_embedders(*renamed, draws)):
        pd.testing.assert_frame_equal(found.rho, expected.rho)
        pd.testing.assert_frame_equal(found.low, expected.low)


def test_unions_of_families_by_hand() -> None:
    families = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z"}
    found = correlation.unions(families, at_least=3)
    assert found == {
        "x + y": ["a", "b", "c", "d"],
        "x + z": ["a", "b", "e"],
        "y + z": ["c", "d", "e"],
        "x + y + z": ["a", "b", "c", "d", "e"],
    }
    assert list(correlation.unions(families, at_least=5)) == ["x + y + z"]


def test_halves_have_half_of_the_embedders_in_their_order() -> None:
    found = correlation.halves(list("abcdefg"), np.random.default_rng(0), 300)
    assert {len(some) for some in found.values()} == {3}
    assert all(some == sorted(set(some)) for some in found.values())
    assert {tuple(some) for some in found.values()} == set(combinations("abcdefg", 3))  # all 35 of them
    again = correlation.halves(list("abcdefg"), np.random.default_rng(0), 300)
    assert found == again


def test_a_set_is_correlated_as_if_there_were_no_other_embedder(scores) -> None:
    some = ["b", "c", "e", "h"]
    found = correlation.over_sets(*scores, {"some": some, "all": NAMES})
    alone = correlation.over_embedders(*(frame.loc[some] for frame in scores), DRAWS)
    assert found.loc["some"].to_numpy() == pytest.approx(alone.by_probe["mean"].to_numpy())
    whole = correlation.over_embedders(*scores, DRAWS)
    assert found.loc["all"].to_numpy() == pytest.approx(whole.by_probe["mean"].to_numpy())


def test_sets_that_rank_nothing_are_left_out() -> None:
    one = pd.DataFrame({"T": [1.0, 1, 1, 2, 3]}, list("abcde"))
    two = pd.DataFrame({"P": [1.0, 2, 3, 4, 5]}, list("abcde"))
    found = correlation.over_sets(one, two, {"flat": list("abc"), "fine": list("bde")})
    assert found.index.tolist() == ["fine"]
    assert not found.isna().any(axis=None)
    with pytest.raises(InputError, match="in none of them"):
        correlation.over_sets(one, two, {"flat": list("abc")})


def test_stability_by_hand() -> None:
    by_set = pd.DataFrame({"P": [0.5, -0.1, 0.3, 0.2], "Q": [0.4, 0.6, 0.3, 0.1]})
    found = correlation.stability(by_set, pd.Series({"Q": 0.35, "P": 0.2}))
    assert found.loc["P"].tolist() == pytest.approx([0.2, -0.1, 0.25, 0.5, 1 / 4, 3 / 4])  # first in 1, 3 (tied) and 4
    assert found.loc["Q"].tolist() == pytest.approx([0.35, 0.1, 0.35, 0.6, 0, 2 / 4])


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        ([1.0, 2], [1.0, 2], "embedders: 2; a rank correlation needs 3"),
        ([1.0, 2, 3], [4.0, 4, 4], "P: all embedders score the same"),
        ([1.0, 2, np.nan], [1.0, 2, 3], "T: has no score for 2"),
        ([1.0, 2, 3], [1.0, 2, 3, 4], "have other embedders as rows"),
    ],
)
def test_what_cannot_be_correlated_gets_a_sentence(one, two, message) -> None:
    with pytest.raises(InputError, match=message):
        correlation.over_embedders(pd.DataFrame({"T": one}), pd.DataFrame({"P": two}), DRAWS)


def test_embedders_that_no_resample_ranks_have_no_correlation() -> None:
    one, two = (pd.DataFrame({name: [1.0, 2, 3]}) for name in "TP")
    draws = Resamples(seed=4, repetitions=1)
    assert draws.rng.integers(3, size=3).tolist() == [2, 2, 2]  # one embedder, three times
    with pytest.raises(InputError, match="in no resample of them do all tasks rank anything; give more embedders"):
        correlation.over_embedders(one, two, draws)


def test_sets_that_make_no_sense_get_a_sentence(scores) -> None:
    with pytest.raises(InputError, match="'two' has 2 embedders"):
        correlation.over_sets(*scores, {"two": ["a", "b"]})
    with pytest.raises(InputError, match="sets: 'nobody' is not known"):
        correlation.over_sets(*scores, {"some": ["a", "b", "nobody"]})
    with pytest.raises(InputError, match=r"embedders: 5 is not accepted.*a half must have three"):
        correlation.halves(list("abcde"), np.random.default_rng(0))


# -- tasks and their evaluation -----------------------------------------------------------------


def clouds(rng, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(n, dtype=np.int32) % 2
    return rng.normal(size=(n, 4)) + labels[:, None] * [1.5, 0, 0, 0], labels


def test_a_part_of_a_task_keeps_the_shares_of_its_classes(rng) -> None:
    labels = np.repeat([0, 1, 2], [600, 300, 100]).astype(np.int32)
    task = ClassificationTask([str(i) for i in range(1000)], labels)
    found = transfer_tasks.drawn(task, 100, rng)
    assert np.bincount(found.labels).tolist() == pytest.approx([60, 30, 10], abs=1)
    assert [int(sentence) for sentence in found.sentences] == sorted({int(s) for s in found.sentences})
    assert transfer_tasks.drawn(task, 0, rng) is transfer_tasks.drawn(task, 5000, rng) is task


def test_only_the_training_split_of_a_set_with_splits_is_drawn_from(monkeypatch) -> None:
    sizes = {"train": 400, "dev": 50, "test": 60}
    parts = {k: ClassificationTask([f"{k}{i}" for i in range(n)], np.arange(n) % 2) for k, n in sizes.items()}
    monkeypatch.setattr(tasks, "load", lambda name, split: parts[split])
    found = transfer_tasks.load("SST2", 40)
    assert found.splits == (40, 50, 60)
    assert [found.sentences[i] for i in found.tested] == parts["test"].sentences
    assert found.labels[-60:].tolist() == parts["test"].labels.tolist()


def test_a_local_task_is_balanced_and_keeps_its_groups() -> None:
    found = transfer_tasks.load("Translations", 50, seed=1)
    assert np.bincount(found.labels).tolist() == [10] * 5
    assert set(np.unique(found.groups, return_counts=True)[1]) == {5}


def test_splits_are_handed_on_as_they_are(rng) -> None:
    vectors, labels = clouds(rng, 90)
    task = TransferTask("toy", ["x"] * 90, labels, splits=(50, 10, 30))
    options = {"classifier": transfer.Logistic([1, 0.1]), "inner_folds": 1}
    found = task.evaluate(vectors, folds=5, **options)
    train, dev, test = ((vectors[a:b], labels[a:b]) for a, b in ((0, 50), (50, 60), (60, 90)))
    assert found.row() == transfer.train_test(train, test, dev, **options).row()


def test_a_study_is_what_lib_transfer_says_and_does_not_depend_on_workers(rng) -> None:
    vectors, labels = clouds(rng)
    task = TransferTask("toy", [str(i) for i in range(60)], labels)
    encoders = {"good": lambda sentences: vectors, "blind": lambda sentences: rng_of(sentences)}
    conditions = {"plain": {"normalize": (False,)}, "z": {"normalize": (True,)}}
    conditions = {k: v | {"classifier": transfer.Logistic([1]), "inner_folds": 1} for k, v in conditions.items()}
    studies = [evaluate(encoders, {"toy": task}, conditions, 3, 5, workers, False) for workers in (1, 2)]
    pd.testing.assert_frame_equal(studies[0].table(), studies[1].table())
    expected = transfer.cross_validate(vectors, labels, folds=3, seed=5, **conditions["z"])
    np.testing.assert_array_equal(studies[0].results["good", "toy", "z"].correct, expected.correct)
    assert studies[0].accuracies("z").loc["good", "toy"] == pytest.approx(expected.correct.mean())
    assert studies[0].sizes == {"good": 4, "blind": 4}


def rng_of(sentences) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(len(sentences), 4))


def test_fits_that_do_not_converge_are_named_with_their_task(rng, monkeypatch) -> None:
    monkeypatch.setattr("lib.transfer.classifiers.ITERATIONS", 1)
    vectors, labels = clouds(rng)
    task = TransferTask("toy", ["x"] * 60, labels)
    conditions = {"plain": {"classifier": transfer.Logistic([1]), "normalize": (False,)}}
    found = evaluate({"a": lambda s: vectors, "b": lambda s: vectors}, {"toy": task}, conditions, 2, 0, 1, False)
    assert found.warnings().to_dict("records") == [{"condition": "plain", "task": "toy", "fits": 4, "embedders": 2}]


def test_what_a_corpus_holds_is_taken_from_its_embeddings() -> None:
    corpus = corpora.load("lee")
    calls = []

    def encode(sentences):
        calls.append(list(sentences))
        return np.array([[len(sentence), sentence.count("e")] for sentence in sentences], np.float32)

    looked_up = out_of_corpus({"a": encode}, corpus)["a"]
    wanted = ["not in it", corpus.sentences[7], "nor this", corpus.sentences[2]]
    np.testing.assert_array_equal(looked_up(wanted), encode(wanted))
    assert [len(call) for call in calls[:2]] == [len(corpus), 2]
    calls.clear()
    looked_up(["only", "new"])
    assert calls == [["only", "new"]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: transfer_tasks.load("MRPC"), "task_names: 'MRPC' is not known"),
        (lambda: transfer_tasks.load("Books", 3), "sentences: 3 is not accepted"),
        (lambda: evaluate({}, {}, {}, 2, 0), "one of them is empty"),
    ],
)
def test_tasks_that_make_no_sense_get_a_sentence(ask, message) -> None:
    with pytest.raises(InputError, match=message):
        ask()


def test_probing_tasks_are_tasks_with_splits_and_what_lacks_is_said() -> None:
    corpus = corpora.load("lee")
    found = probes.load_all(["SentLen", "BShift", "Tense", "SOMO"], corpus, 120, seed=1)
    assert list(found.tasks) == found.table["task"].tolist() == ["SentLen", "BShift"]
    task, row = found.tasks["BShift"], found.table.iloc[1]
    assert task.splits == (row.train, row.dev, row.test)
    assert len(task) == sum(task.splits) == len(task.labels)
    assert "spaCy pipeline" in found.left_out["Tense"]
    assert "SentEval's file" in found.left_out["SOMO"]
    with pytest.raises(InputError, match="none of them can be had"):
        probes.load_all(["SOMO"], corpus, 120)
    with pytest.raises(InputError, match="probe_names: 'Length' is not known"):
        probes.load_all(["Length"], corpus, 120)


# -- learned similarity -------------------------------------------------------------------------


def all_pairs(items: int, rng) -> tuple[PairTask, np.ndarray]:
    """Every pair of some items, whose score falls with the distance of their vectors."""
    vectors = rng.normal(size=(items, 3))
    ids = list(combinations(range(items), 2))
    score = np.array([np.exp(-np.linalg.norm(vectors[i] - vectors[j])) for i, j in ids])
    return PairTask([str(i) for i, _ in ids], [str(j) for _, j in ids], score, ids=ids), vectors


def test_no_item_is_in_two_splits_and_every_item_is_tested_once(rng) -> None:
    task, _ = all_pairs(20, rng)
    rated = learned_similarity.by_items("toy", task, seed=0)
    tested = []
    for split in rated.splits:
        items = [set(rated.ids[rows].ravel().tolist()) for rows in split]
        assert len(set.union(*items)) == sum(map(len, items)) == 20
        assert [len(some) for some in items] == [12, 4, 4]
        assert [len(rows) for rows in split] == [66, 6, 6]
        tested += sorted(items[2])
    assert sorted(tested) == list(range(20))


def test_a_learned_similarity_is_that_of_lib_similarity(rng) -> None:
    task, vectors = all_pairs(25, rng)
    rated = learned_similarity.by_items("toy", task, seed=0)
    encode = lambda texts: vectors[[int(text) for text in texts]].astype(np.float32)  # noqa: E731
    found = learned_similarity.evaluate({"a": encode}, rated, workers=1, show_progress_bar=False)
    left, right = (encode(side) for side in (task.left, task.right))
    splits = [[similarity.Pairs(left[r], right[r], task.score[r]) for r in rows] for rows in rated.splits]
    for how, normalize in (("", (False,)), (NORMALIZED, (True,)), (", chosen", (False, True))):
        scores = [similarity.learned(*split, method="ridge", normalize=normalize) for split in splits]
        row = found.table(DRAWS).set_index("condition").loc[LEARNED + how]
        assert row["pearson"] == pytest.approx(np.mean([score["pearson"] for score in scores]))
        assert row["mse"] == pytest.approx(np.mean([score["mse"] for score in scores]))  # all splits test equally many
        assert row["low"] < row["pearson"] < row["high"]
    cosines = [similarity.ucp(test.left, test.right, test.gold)["pearson"] for _, _, test in splits]
    assert found.table(DRAWS).set_index("condition").loc[COSINE, "pearson"] == pytest.approx(np.mean(cosines))
    normalized = similarity.similarities(left, right, "z")  # over all pairs of the set
    expected = np.mean([correlations(normalized[test], task.score[test])["pearson"] for _, _, test in rated.splits])
    row = found.table(DRAWS).set_index("condition").loc[COSINE + NORMALIZED]
    assert row["pearson"] == pytest.approx(expected)
    assert (found.differences(COSINE, COSINE, DRAWS) == 0).all(axis=None)


def test_predicting_the_mean_has_the_error_that_is_said(rng) -> None:
    task = PairTask(list("abcdef"), list("ghijkl"), np.array([0.0, 2, 1, 1, 4, 2]))
    rated = learned_similarity.RatedSet("toy", [task], [(np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))])
    ratings = learned_similarity.Ratings(rated, {}, [], pd.Series(), pd.Series(), {})
    assert ratings.error_of_the_mean == pytest.approx(((4 - 1) ** 2 + (2 - 1) ** 2) / 2)


def test_an_embedder_that_says_nothing_is_left_out_with_the_reason(rng) -> None:
    task, vectors = all_pairs(20, rng)
    rated = learned_similarity.by_items("toy", task, seed=0)
    encoders = {
        "good": lambda texts: vectors[[int(text) for text in texts]].astype(np.float32),
        "silent": lambda texts: np.zeros((len(texts), 3), np.float32),
    }
    found = learned_similarity.evaluate(encoders, rated, workers=1, show_progress_bar=False)
    assert found.embedders == ["good"]
    assert "all training rows are alike" in found.left_out["silent"]
    with pytest.raises(InputError, match="toy: nothing can be learned from any embedder"):
        learned_similarity.evaluate({"silent": encoders["silent"]}, rated, workers=1, show_progress_bar=False)


def test_an_embedder_for_which_all_tested_pairs_are_alike_is_left_out_with_the_reason(rng) -> None:
    task = PairTask([f"a{i}" for i in range(30)], [f"b{i}" for i in range(30)], rng.random(30))
    rated = learned_similarity.RatedSet("toy", [task], [tuple(np.arange(30).reshape(3, 10))])
    vectors = {text: rng.normal(size=4) for text in [*task.left, *task.right]}
    vectors |= {f"{side}{i}": vectors[f"{side}20"] for side in "ab" for i in range(20, 30)}
    encode = lambda texts: np.array([vectors[text] for text in texts])  # noqa: E731
    with pytest.raises(InputError, match=r"toy: nothing can be learned .*: the same for all 10 tested pairs"):
        learned_similarity.evaluate({"flat": encode}, rated, workers=1, show_progress_bar=False)


def test_sets_without_splits_are_named() -> None:
    found, left_out = learned_similarity.load_all(["Lee", "WS353"])
    assert [each.name for each in found] == ["Lee, 5 splits by documents"]
    assert left_out == {"WS353": "it has no training split"}
    with pytest.raises(InputError, match="parts: 5 is not accepted for 10 items"):
        learned_similarity.by_items("toy", all_pairs(10, np.random.default_rng(0))[0], seed=0)


# -- the checklist ------------------------------------------------------------------------------


def test_every_recommendation_needs_an_answer() -> None:
    answers = {key: checklist.Answer("done", "changed") for key in checklist.RECOMMENDATIONS}
    assert checklist.table(answers).iloc[:, 0].tolist() == list(checklist.RECOMMENDATIONS.values())
    with pytest.raises(InputError, match="recommendation: 'speed' is not known"):
        checklist.table(answers | {"speed": answers["size"]})
    del answers["size"]
    with pytest.raises(InputError, match="answers: none to 'size'"):
        checklist.table(answers)
