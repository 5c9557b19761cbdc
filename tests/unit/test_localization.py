"""Semantic localization: against scikit-learn written out, what a test sentence must not change, hand-made cases."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lib import localization
from lib.catalog import published
from lib.localization import classification, classifiers, projection
from lib.run.errors import InputError


def clouds(rng: np.random.Generator, sizes=(3, 4, 5, 3, 6, 3, 4), d: int = 8, spread: float = 0.6):
    """Vectors of groups of these sizes, each around a place of its own, in a random order; and their labels."""
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(len(sizes), d))[labels] + spread * rng.normal(size=(len(labels), d)), labels


@pytest.fixture
def quiet() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        yield


# -- against scikit-learn, written out ----------------------------------------------------------


def by_hand(vectors, labels, fold, C, pca=None, weight=None):
    """The paper's procedure in scikit-learn's own words: (accuracy of each fold, label of each sentence)."""
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    said = np.empty_like(labels)
    for number in range(fold.max() + 1):
        svm = LinearSVC(C=C, class_weight=weight, tol=1e-6, max_iter=100_000)
        steps = [svm] if pca is None else [PCA(pca), svm]
        model = make_pipeline(*steps).fit(vectors[fold != number], labels[fold != number])
        said[fold == number] = model.predict(vectors[fold == number])
    return [np.mean(said[fold == number] == labels[fold == number]) for number in range(fold.max() + 1)], said


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("options", [{}, {"pca": 4}, {"class_weight": "balanced"}], ids=str)
@pytest.mark.parametrize(("d", "spread"), [(8, 0.9), (100, 2.5)], ids=["narrow", "wider than training data are many"])
def test_agrees_with_a_scikit_learn_pipeline(rng, monkeypatch, options, d, spread) -> None:
    monkeypatch.setattr(classifiers, "TOLERANCE", 1e-6)  # up to that of the solver, which may move a close decision
    monkeypatch.setattr(classifiers, "ITERATIONS", 100_000)
    vectors, labels = clouds(rng, (3,) * 12, d, spread)
    found = localization.classify(vectors, labels, C=0.5, **options)
    accuracies, said = by_hand(vectors, labels, found.fold, 0.5, options.get("pca"), options.get("class_weight"))
    np.testing.assert_allclose(found.fold_accuracies, accuracies)
    np.testing.assert_array_equal(found.predictions, said)
    assert found.accuracy == pytest.approx(np.mean(accuracies))
    assert found.std == pytest.approx(np.std(accuracies, ddof=1))
    assert 0 < found.accuracy < 1


def test_sparse_vectors_are_classified_as_the_same_dense_ones(rng) -> None:
    vectors, labels = clouds(rng, spread=0.9)
    vectors[np.abs(vectors) < 0.5] = 0
    for classifier in classifiers.CLASSIFIERS:
        dense = localization.classify(vectors, labels, classifier=classifier)
        sparse = localization.classify(sp.csr_array(vectors), labels, classifier=classifier)
        np.testing.assert_array_equal(dense.predictions, sparse.predictions)


def test_arrays_from_the_store_may_be_read_only_and_unsorted(rng) -> None:
    parts = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 3.0]), np.array([1, 0, 1, 0, 2, 2]), np.array([0, 2, 4, 5, 6])
    for part in parts:
        part.flags.writeable = False
    found = localization.classify(sp.csr_array(parts, shape=(4, 3)), [0, 0, 1, 1], folds=2)
    assert found.accuracy == 1


# -- folds --------------------------------------------------------------------------------------


@given(st.lists(st.integers(3, 9), min_size=2, max_size=8), st.integers(0, 2**16))
def test_folds_have_each_group_in_proportion(sizes, seed) -> None:
    vectors, labels = clouds(np.random.default_rng(seed), tuple(sizes))
    fold = localization.classify(vectors, labels, seed=seed, classifier="nearest", repetitions=1).fold
    shares = pd.crosstab(labels, fold).to_numpy()
    assert shares.shape == (len(sizes), 3)
    assert (shares.max(axis=1) - shares.min(axis=1)).max() <= 1
    assert shares.min() >= 1
    assert np.ptp(np.bincount(fold)) <= 1


def test_folds_depend_on_the_seed_and_not_on_the_vectors(rng) -> None:
    vectors, labels = clouds(rng)
    one = localization.classify(vectors, labels, seed=1)
    np.testing.assert_array_equal(one.fold, localization.classify(-(vectors**2), labels, seed=1, pca=2).fold)
    assert (one.fold != localization.classify(vectors, labels, seed=2).fold).any()


# -- what a test sentence must not change -------------------------------------------------------


def test_pca_never_sees_the_test_fold(rng, monkeypatch) -> None:
    from sklearn import decomposition

    seen = []
    fit = decomposition.PCA.fit
    monkeypatch.setattr(decomposition.PCA, "fit", lambda self, X, y=None: seen.append(np.array(X)) or fit(self, X, y))
    vectors, labels = clouds(rng)
    fold = localization.classify(vectors, labels, pca=3).fold
    assert len(seen) == 3
    for number, rows in enumerate(seen):
        np.testing.assert_array_equal(rows, vectors[fold != number])
    seen.clear()
    localization.classify(vectors, labels, pca=3, pca_on="all")
    assert [len(rows) for rows in seen] == [len(vectors)] * 3


def test_a_test_sentence_does_not_change_what_is_said_of_the_others(rng) -> None:
    vectors, labels = clouds(rng, spread=0.9)
    before = localization.classify(vectors, labels, pca=3)
    moved = vectors.copy()
    moved[0] += 100
    after = localization.classify(moved, labels, pca=3)
    others = (before.fold == before.fold[0]) & (np.arange(len(labels)) > 0)
    np.testing.assert_allclose(before.scores[others], after.scores[others], atol=1e-6)
    cheating = localization.classify(moved, labels, pca=3, pca_on="all")
    assert not np.allclose(cheating.scores[others], after.scores[others], atol=1e-3)
    alone, beside = (localization.classify(rows, labels, common_scale=True) for rows in (vectors, moved))
    np.testing.assert_allclose(alone.scores[others], beside.scores[others], atol=1e-6)


def test_an_honest_c_does_not_depend_on_the_test_fold(rng) -> None:
    vectors, labels = clouds(rng, (6,) * 5, spread=1.2)
    before = localization.classify(vectors, labels, C=[0.001, 0.1, 10])
    moved = np.where((before.fold == 0)[:, None], rng.normal(size=vectors.shape), vectors)
    assert localization.classify(moved, labels, C=[0.001, 0.1, 10]).C[0] == before.C[0]


def test_the_published_c_is_the_best_on_the_test_folds(rng) -> None:
    vectors, labels = clouds(rng, (6,) * 5, spread=1.2)
    grid = (0.001, 0.1, 10.0)
    each = [localization.classify(vectors, labels, C=C).accuracy for C in grid]
    found = localization.classify(vectors, labels, C=grid, protocol="published")
    assert found.accuracy == max(each)
    assert set(found.C) == {grid[int(np.argmax(each))]}
    assert localization.classify(vectors, labels, C=grid).accuracy <= found.accuracy


@pytest.mark.usefixtures("quiet")
def test_swapped_folds_train_on_one_and_test_on_the_others(rng) -> None:
    from sklearn.svm import LinearSVC

    vectors, labels = clouds(rng, (3,) * 8, spread=0.8)
    found = localization.classify(vectors, labels, swap_folds=True)
    for number, accuracy in enumerate(found.fold_accuracies):
        model = LinearSVC(tol=1e-6, max_iter=100_000).fit(vectors[found.fold == number], labels[found.fold == number])
        rest = found.fold != number
        assert accuracy == pytest.approx(model.score(vectors[rest], labels[rest]))
    assert set(np.unique(found.correct)) <= {0, 0.5, 1}
    assert found.accuracy == pytest.approx(np.average(found.correct, weights=found.weights))


def test_more_components_than_sentences_are_as_many_as_there_can_be(rng) -> None:
    train, test = projection.projected(rng.normal(size=(10, 50)), rng.normal(size=(4, 50)), 300)
    assert train.shape == (10, 10)
    assert test.shape == (4, 10)


# -- invariances --------------------------------------------------------------------------------


def test_same_seed_same_table(rng) -> None:
    vectors, labels = clouds(rng)
    one, other = (
        localization.summary(localization.evaluate({"a": vectors, "b": vectors**2}, labels, show_progress_bar=False))
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, other)


def test_names_of_groups_make_no_difference(rng) -> None:
    vectors, labels = clouds(rng, spread=1.0)
    renamed = np.array([f"{(5 * label) % 7} x" for label in labels])
    one, other = localization.classify(vectors, labels), localization.classify(vectors, renamed)
    np.testing.assert_array_equal(one.correct, other.correct)
    assert (one.low, one.high) == (other.low, other.high)
    assert set(other.predictions) <= set(renamed)


@pytest.mark.parametrize("classifier", list(classifiers.CLASSIFIERS))
def test_a_rotation_makes_no_difference(rng, classifier) -> None:
    vectors, labels = clouds(rng, (4,) * 6)
    rotation = np.linalg.qr(rng.normal(size=(8, 8))).Q
    one = localization.classify(vectors, labels, classifier=classifier)
    other = localization.classify(vectors @ rotation, labels, classifier=classifier)
    np.testing.assert_array_equal(one.predictions, other.predictions)


def test_on_a_common_scale_neither_length_nor_place_of_the_vectors_matters(rng) -> None:
    vectors, labels = clouds(rng, (4,) * 6, spread=0.8)
    vectors[np.abs(vectors) < 0.3] = 0
    short = 0.01 * vectors
    for options in ({}, {"pca": 4}):
        one = localization.classify(vectors, labels, common_scale=True, **options)
        for other in (short, short + 3, sp.csr_array(short)):
            again = localization.classify(other, labels, common_scale=True, **options)
            np.testing.assert_array_equal(again.predictions, one.predictions)
        assert localization.classify(short, labels, **options).accuracy < one.accuracy


def test_a_common_scale_is_the_training_sentences() -> None:
    train, test = projection.scaled(np.array([[1.0, 4], [5, 4]]), np.array([[3.0, 8]]))  # mean (3, 4), distances 2
    np.testing.assert_array_equal(train, [[-1, 0], [1, 0]])
    np.testing.assert_array_equal(test, [[0, 2]])
    alike, _ = projection.scaled(np.ones((3, 2)), np.ones((1, 2)))
    assert not alike.any()


def test_an_oracle_is_always_right_and_zeros_are_counted(rng) -> None:
    places = np.eye(6)
    labels = np.repeat(np.arange(6), 4)
    found = localization.classify(places[labels], labels)
    assert (found.accuracy, found.low, found.high, found.std, found.zero_vectors) == (1, 1, 1, 0, 0)
    places[3] = 0
    assert localization.classify(places[labels], labels).zero_vectors == 4


# -- the simple classifiers, weights, the plane -------------------------------------------------


def test_centroid_and_nearest_by_hand() -> None:
    known = np.array([[1, 0], [0.8, 0.6], [0, 2]])  # two of group 0, one of group 1 that is long
    asked = np.array([[0.6, 0.8]])  # cosines 0.6, 0.96 and 0.8
    groups = np.array([0, 0, 1])
    np.testing.assert_allclose(classifiers.Nearest().fit(known, groups).scores(asked), [[0.96, 0.8]])
    mean = np.array([1.8, 0.6]) / np.hypot(1.8, 0.6)
    np.testing.assert_allclose(classifiers.Centroid().fit(known, groups).scores(asked), [[asked[0] @ mean, 0.8]])


def test_weights_of_2015_have_a_mean_of_one_over_groups() -> None:
    weights = localization.weights_of_2015(np.array([0, 0, 0, 1, 1, 2]))  # 1/3, 1/2, 1 over their mean 11/18
    assert weights == pytest.approx({0: 6 / 11, 1: 9 / 11, 2: 18 / 11})


def test_class_weights_by_label_move_the_border(rng) -> None:
    labels = np.array(["many"] * 30 + ["few"] * 6)
    vectors = rng.normal(size=(36, 2)) + (labels == "few")[:, None]
    plain = localization.classify(vectors, labels)
    kind = localization.classify(vectors, labels, class_weight={"few": 20.0})
    assert (kind.predictions == "few").sum() > (plain.predictions == "few").sum()


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_line_of_four_sentences_is_where_calculus_puts_it(C) -> None:
    points = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    line = localization.parting_lines(points, ["right", "right", "left", "left"], C)
    assert line["group"].tolist() == ["right"]
    np.testing.assert_allclose(line[["x", "y", "offset"]], [[8 * C / (1 + 8 * C), 0, 0]], atol=0.01)
    assert len(localization.parting_lines(points, [0, 1, 2, 2], C)) == 3


# -- agreement, ensembles, difficulty -----------------------------------------------------------


def test_agreement_of_a_hand_made_case() -> None:
    labels = [0, 0, 1, 1, 2]
    said = {"a": [0, 1, 2, 2, 0], "b": [1, 1, 2, 0, 0], "c": labels}
    found = localization.agreement(labels, said)
    assert found.mistakes.to_dict() == {"a": 4, "b": 5, "c": 0}
    assert found.both.loc["a", "b"] == 4
    assert found.same.loc["a", "b"] == 3
    assert found.share.loc["a", "b"] == 0.75
    assert found.pairs()["share"].isna().tolist() == [False, True, True]  # 0/0 stays absent


@given(st.integers(1, 30), st.integers(0, 2**16))
def test_agreement_counts_as_the_definition_does(n, seed) -> None:
    rng = np.random.default_rng(seed)
    labels, (one, other) = rng.integers(4, size=n), rng.integers(4, size=(2, n))
    found = localization.agreement(labels, {"one": one, "other": other})
    both = [(a, b) for a, b, y in zip(one, other, labels, strict=True) if a != y and b != y]
    assert found.both.loc["one", "other"] == found.both.loc["other", "one"] == len(both)
    assert found.same.loc["one", "other"] == found.same.loc["other", "one"] == sum(a == b for a, b in both)


def test_an_ensemble_knows_what_its_members_know(rng) -> None:
    labels = np.repeat(np.arange(4), 6)
    halves = np.eye(2)[labels // 2], np.eye(2)[labels % 2]  # each tells one half of the answer
    members = [localization.repeat(half, labels, (0, 1)) for half in halves]
    together = localization.ensemble(*members)
    assert max(member.accuracy for member in members) <= 0.5
    assert together.accuracy == 1
    one = localization.ensemble(members[0])
    np.testing.assert_array_equal(one.correct, members[0].correct)
    assert one.row() == members[0].row()


def test_differences_are_of_the_same_sentences(rng) -> None:
    vectors, labels = clouds(rng, (5,) * 6, spread=0.5)
    found = localization.evaluate({"good": vectors, "noise": rng.normal(size=vectors.shape)}, labels, (0, 1))
    row = localization.differences(found, [("good", "noise")]).iloc[0]
    assert row["difference"] == pytest.approx(found["good"].accuracy - found["noise"].accuracy)
    assert 0 < row["low"] < row["difference"] < row["high"]
    assert localization.differences(found, [("good", "good")])[["difference", "low", "high"]].eq(0).all(axis=None)


def test_a_difference_of_nothing_is_nothing_and_not_the_noise_of_rounding(rng) -> None:
    vectors, labels = clouds(rng, spread=0.9)
    one = localization.repeat(vectors, labels)
    found = {"one": one, "one summed otherwise": replace(one, correct=np.nextafter(one.correct, 0))}
    rows = localization.differences(found, [("one", "one summed otherwise")])
    assert rows[["difference", "low", "high"]].eq(0).all(axis=None)


def test_several_seeds_are_averaged_with_their_spread(rng) -> None:
    vectors, labels = clouds(rng, spread=1.0)
    both = localization.repeat(vectors, labels, (3, 4))
    each = [localization.classify(vectors, labels, seed=seed) for seed in (3, 4)]
    assert both.accuracy == pytest.approx(np.mean([result.accuracy for result in each]))
    assert both.seed_std == pytest.approx(np.std([result.accuracy for result in each], ddof=1))
    assert both.fold_std == pytest.approx(np.mean([result.std for result in each]))
    assert np.average(both.correct, weights=both.weights) == pytest.approx(both.accuracy)
    assert localization.repeat(vectors, labels, (3,)).seed_std is None


def test_overlap_inside_a_group_by_hand_and_accuracy_over_it() -> None:
    sentences = ["a b c", "a b d", "a b c e", "x y", "X, y!", "y z"]
    labels = np.array([7, 7, 7, 9, 9, 9])
    overlap = localization.word_overlap(sentences, labels)
    assert overlap.to_dict() == pytest.approx({7: (2 / 4 + 3 / 4 + 2 / 5) / 3, 9: (1 + 1 / 3 + 1 / 3) / 3})
    rough = np.array([[1, 0], [0, 1], [1, 1], [5, 5], [6, 6], [7, 7.0]])
    found = {"rough": localization.repeat(rough, labels, (0,))}
    (table,) = localization.by_overlap(found, overlap, 2).values()
    np.testing.assert_allclose(table.index, sorted(overlap))
    correct = found["rough"].correct
    assert table["value"].tolist() == pytest.approx([correct[:3].mean(), correct[3:].mean()])
    assert table["groups"].tolist() == [1, 1]


def test_equal_sizes_leave_out_what_a_model_does_not_have(rng) -> None:
    vectors, labels = clouds(rng)
    found = localization.at_sizes({"a": vectors, "b": vectors[:, :3]}, labels, [2, 5, 8, 100], show_progress_bar=False)
    assert {name: list(table.index) for name, table in found.items()} == {"a": [2, 5, 8], "b": [2]}
    assert found["a"].loc[5, "value"] == localization.classify(vectors, labels, pca=5).accuracy


def test_the_hardest_group_is_named_with_what_it_is_taken_for() -> None:
    labels = np.repeat([5, 6, 7], 3)
    vectors = np.eye(3)[[0, 0, 0, 1, 1, 1, 2, 2, 0]]  # the last sentence lies among those of group 5
    sentences = [f"sentence {i}" for i in range(9)]
    found = {"one": localization.repeat(vectors, labels), "two": localization.repeat(2 * vectors, labels)}
    table = localization.hardest(found, sentences)
    assert table.loc[0, ["group", "never_right", "example", "taken_for"]].tolist() == [7, 1, "sentence 8", "sentence 0"]
    assert localization.never_right(found).tolist() == [False] * 8 + [True]
    assert table["taken_for"].isna().sum() >= 1


# -- sets, words, the paper's table -------------------------------------------------------------


def test_sets_can_be_narrowed_to_short_sentences() -> None:
    some = localization.load("Verses", groups=7, longest=12)
    assert localization.breakdown(some.labels).sum() == 7
    assert max(len(sentence.split()) for sentence in some.sentences) <= 16
    assert min(np.bincount(some.labels)) >= 3
    again = localization.load("Verses", groups=7, longest=12)
    assert again.sentences == some.sentences


def test_names_that_are_here_are_kept_and_too_few_are_refused() -> None:
    assert localization.present("names", ["b", "x", "a"], ["a", "b", "c"], 2) == ["b", "a"]
    with pytest.raises(InputError, match=r"names: 1 of \['x', 'a'\] are here; give 2 or more of \['a', 'b'\]"):
        localization.present("names", ["x", "a"], ["a", "b"], 2)


def test_bag_of_words_counts_lower_cased_treebank_tokens() -> None:
    bag = localization.bag_of_words(["The cat, the dog.", "Dogs can't."])
    assert bag.toarray().sum(axis=1).tolist() == [6, 4]  # the the cat , dog . and dogs ca n't .
    assert bag.shape == (2, 8)
    assert localization.vocabulary_sizes(["The the cat."])["Treebank, lower case"] == 3


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("BOW", "BOW"), ("PCA BOW", "PCA BOW"), ("glove-6b-50d", "MOWE"), ("w2v+sowe", "SOWE"), ("w2v+mowe", "MOWE"),
        ("pv-dm-corpus", "PV-DM"), ("pv-dbow-corpus-300d", "PV-DBOW"), ("glove-6b-50d+usif", None), ("bow", None),
        ("minilm-avg", None),
    ],
)  # fmt: skip
def test_models_are_put_beside_the_papers_of_their_kind(name, kind) -> None:
    assert localization.kind(name) == kind


def test_table_1_stands_beside_ours_with_what_is_missing() -> None:
    summary = pd.DataFrame({"accuracy": [0.98, 0.5], "low": 0.4, "high": 0.99}, index=["BOW", "minilm-avg"])
    table = localization.beside(summary, "MSRP-groups").set_index("of the paper")
    assert table.loc["BOW", ["published", "model", "ours"]].tolist() == [98.37, "BOW", 98]
    assert table["model"].notna().sum() == 1
    assert len(table) == published.load("localization_table1")["model"].nunique()
    assert localization.beside(summary, "Verses")["published"].isna().all()


# -- facts of the paper -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "file", "points"),
    [("MSRP-groups", "senteval/MRPC", 0.5), ("Opinosis-groups", "opinosis/paraphrase_groups", 3.0)],
)
def test_bow_is_as_accurate_as_published(data_file, task, file, points) -> None:
    data_file(file)
    own = localization.load(task)
    bow = localization.bag_of_words(own.sentences)
    found = localization.repeat(bow, own.labels, (0,), C=localization.GRID, protocol="published")
    theirs = published.cells("localization_table1", "dataset", model="BOW")[localization.DATASETS[task]]
    assert 100 * found.accuracy == pytest.approx(theirs, abs=points)


# -- bad input ----------------------------------------------------------------------------------

SIX = np.arange(12.0).reshape(6, 2)
TWO = [0, 0, 0, 1, 1, 1]
WITH_NAN = np.where(SIX == 4, np.nan, SIX)


@pytest.mark.parametrize(
    ("vectors", "labels", "options", "message"),
    [
        (SIX, [0, 0, 0, 0, 1, 1], {}, r"class 1 has too few members \(2\) .* give 3 or more of each class"),
        (SIX, [4] * 6, {}, "all sentences are of class 4; give two classes or more"),
        (SIX[:5], TWO, {}, r"vectors: shape \(5, 2\) for 6 labels; give a row for each sentence"),
        (SIX[:, 0], TWO, {}, "vectors: Expected 2D array, got 1D array instead; give a two-dimensional array"),
        (WITH_NAN, TWO, {}, "vectors: row 2 holds NaN or infinity"),
        (sp.csr_array(WITH_NAN), TWO, {"sentences": list("abcdef")}, r"row 2 \('c'\) holds NaN or infinity"),
        (SIX, TWO, {"sentences": list("abcdea")}, "'a' is in groups 0 and 1; merge them, or leave one out"),
        (SIX, TWO, {"sentences": list("abbdef")}, "'b' is in group 0 twice; leave one of the two out"),
        (SIX, TWO, {"sentences": list("abc")}, "sentences: 3 for 6 labels"),
        (SIX, TWO, {"folds": 1}, "folds: 1 is not accepted"),
        (SIX, TWO, {"C": 0}, "C: 0 is not accepted; give a number above 0"),
        (SIX, TWO, {"C": []}, "C: .* is not accepted"),
        (SIX, TWO, {"pca": 0}, "pca: 0 is not accepted"),
        (SIX, TWO, {"protocol": "honset"}, "protocol: 'honset' is not known; did you mean honest"),
        (SIX, TWO, {"classifier": "forest"}, "classifier: 'forest' is not known"),
        (SIX, TWO, {"pca_on": "test"}, "pca_on: 'test' is not known"),
        (SIX, TWO, {"class_weight": "ballanced"}, "class_weight: 'ballanced' is not known"),
        (SIX, TWO, {"class_weight": {3: 1.0}}, "class_weight: 3 is no label"),
        (SIX, TWO, {"C": [1, 10], "swap_folds": True}, r"too few members \(1\)"),
    ],
)
def test_what_cannot_be_classified_gets_a_sentence(vectors, labels, options, message) -> None:
    with pytest.raises(InputError, match=message):
        localization.classify(vectors, labels, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: localization.repeat(SIX, TWO, ()), "seeds: .* give at least one"),
        (lambda: localization.repeat(SIX, TWO, (1, 1)), "seeds: .* and each once"),
        (lambda: localization.agreement([0, 1], {}), "predictions: there are none"),
        (lambda: localization.agreement([0, 1], {"a": [0]}), "predictions: 1 of 'a' for 2 labels"),
        (lambda: localization.load("MSRP"), "task: 'MSRP' is not known; did you mean MSRP-groups"),
        (lambda: localization.load("Verses", groups=10**6), "groups: 1000000 is not accepted"),
        (lambda: localization.word_overlap(["a"], np.array([3])), "group 3 has one sentence"),
        (lambda: localization.by_overlap({}, pd.Series([0.1, 0.2]), 1), "bins: 1 is not accepted; give 2 to 2, the"),
        (lambda: localization.by_overlap({}, pd.Series([0.1, 0.2]), 3), "bins: 3 is not accepted; give 2 to 2, the"),
        (
            lambda: localization.ensemble(localization.repeat(SIX, TWO, (0,)), localization.repeat(SIX, TWO, (0, 1))),
            "members: their sentences, folds or seeds differ",
        ),
    ],
)
def test_what_cannot_be_asked_gets_a_sentence(call, message) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_the_grid_is_the_papers() -> None:
    assert classification.GRID == (0.1, 1, 10, 100, 1000, 10_000)
