"""Semantic localization: against scikit-learn written out and handmade cases.

Also what a test sentence must not change.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import t
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from audit import localization as study
from lib import corpora, localization, tasks
from lib.stats import Sampling, intervals
from lib.studies import encoding
from tests.refusals import refused


def clouds(rng: np.random.Generator, *sizes: int):
    """Vectors of groups of these sizes, shuffled, and their labels.

    Each group lies around its own center.
    """
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centers = rng.normal(size=(len(sizes), 8))
    return centers[labels] + 0.9 * rng.normal(size=(len(labels), 8)), labels


# -- the classifier --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("steps", [[], [PCA(4)]])
def test_agrees_with_scikit_learn_written_out(rng, steps) -> None:
    vectors, labels = clouds(rng, *[3] * 12)
    found = localization.classify(vectors, labels, *steps, C=0.5, seed=7)
    predictions = np.empty_like(labels)
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    for train, test in folds.split(vectors, labels):
        centered = vectors - vectors[train].mean(axis=0)
        scaled = centered / np.sqrt((centered[train] ** 2).sum(axis=1).mean())
        for step in steps:
            scaled = step.fit(scaled[train]).transform(scaled)
        svm = LinearSVC(C=0.5, class_weight="balanced", dual=False, tol=1e-10)
        svm.fit(scaled[train], labels[train])
        predictions[test] = svm.predict(scaled[test])
    np.testing.assert_array_equal(found.predictions, predictions)
    assert found.accuracy == pytest.approx((predictions == labels).mean())
    assert 0 < found.accuracy < 1


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("sizes", [[3, 4, 5, 9], [3, 9]])
def test_planes_are_those_of_scikit_learn_for_groups_of_any_size(rng, sizes, C) -> None:
    vectors, labels = clouds(rng, *sizes)
    expected = LinearSVC(C=C, class_weight="balanced", dual=False, tol=1e-10)
    expected.fit(vectors, labels)
    found = localization.svm(C=C, scale=False).fit(vectors, labels)[-1]
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-3)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-3)


def test_the_penalty_is_the_one_that_a_grid_search_takes(rng) -> None:
    vectors, labels = clouds(rng, *[6] * 8)
    found = localization.classify(vectors, labels, PCA(4), C=localization.GRID, seed=3)
    outer, inner = (StratifiedKFold(k, shuffle=True, random_state=3) for k in (3, 2))
    svm = LinearSVC(class_weight="balanced", dual=False, tol=1e-10)
    model = make_pipeline(localization.OneScale(), PCA(4), svm)
    search = GridSearchCV(model, {"linearsvc__C": localization.GRID}, cv=inner)
    expected = cross_val_predict(search, vectors, labels, cv=outer)
    np.testing.assert_array_equal(found.predictions, expected)


def test_sparse_and_read_only_vectors_are_classified_as_dense_ones(rng) -> None:
    vectors, labels = clouds(rng, 3, 4, 5, 3, 6, 3, 4)
    vectors[np.abs(vectors) < 0.5] = 0
    sparse = sp.csr_array(vectors)
    for part in (sparse.data, sparse.indices, sparse.indptr):
        part.flags.writeable = False
    dense = localization.classify(vectors, labels, scale=False)
    found = localization.classify(sparse, labels, scale=False)
    np.testing.assert_array_equal(dense.predictions, found.predictions)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_border_of_four_sentences_is_where_calculus_puts_it(C) -> None:
    points = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    model = localization.svm(C=C, scale=False).fit(points, [1, 1, 0, 0])
    np.testing.assert_allclose(model[-1].coef_, [[8 * C / (1 + 8 * C), 0]], atol=0.02)


def test_a_test_sentence_changes_neither_projection_nor_penalty(rng) -> None:
    vectors, labels = clouds(rng, *[6] * 5)
    moved = vectors.copy()
    moved[0] += 100
    before, after = (
        localization.classify(
            each, labels, study.Components(3), C=localization.GRID
        ).scores
        for each in (vectors, moved)
    )
    same = np.isclose(before, after).all(axis=1)
    assert not same[0]
    assert same.sum() == 9  # the others of its fold; the rest has learned from it


def test_an_oracle_is_always_right_and_two_groups_have_two_scores(rng) -> None:
    labels = np.repeat(np.arange(6), 4)
    assert localization.classify(np.eye(6)[labels], labels).accuracy == 1
    two = localization.classify(rng.normal(size=(8, 3)), labels[:8])
    assert two.scores.shape == (8, 2)


@pytest.mark.parametrize(
    ("vectors", "labels", "message"),
    [
        (
            np.ones((6, 2)),
            [0, 0, 1, 1, 1, 1],
            "a group has 2 sentences; give 3 or more",
        ),
        (np.ones((6, 2)), [0] * 6, "labels: fewer than two groups"),
        (
            np.ones((6, 2)),
            [0, 0, 0, 1, 1],
            "labels: 5 for 6 vectors; give one for each",
        ),
        (np.full((6, 2), np.nan), [0, 0, 0, 1, 1, 1], "vectors: contains NaN"),
    ],
)
def test_what_cannot_be_classified_gets_a_sentence(vectors, labels, message) -> None:
    with refused(message):
        localization.classify(vectors, labels)


# -- the study -------------------------------------------------------------------------


def test_one_translation_is_learned_and_the_other_labelled(rng) -> None:
    places = rng.normal(size=(9, 5))
    labels = np.tile(np.arange(9), 2)
    models = {"same": np.tile(places, (2, 1)), "zero": np.zeros((18, 2))}
    answers = study.cross_validated_labels(models, labels, [0], halves=True)
    share = study.share(study.is_correct(answers))
    assert share.mean().to_dict() == pytest.approx({"same": 1, "zero": 1 / 9})


def test_intervals_cover_other_deals_of_the_folds() -> None:
    # All is right in the first deal, nothing in the others; groups add nothing.
    deals = {(deal, "lucky"): np.full(24, deal == 0) for deal in range(4)}
    right = pd.DataFrame(deals, pd.Index(np.repeat(np.arange(8), 3), name="group"))
    right = right.rename_axis(columns=["deal", "model"])
    sampling = Sampling(repetitions=100)
    found = intervals(study.accuracy(right, sampling), sampling)
    half = t.isf(0.025, 3) * np.std([1, 0, 0, 0], ddof=1) / 2
    np.testing.assert_allclose(np.ravel(found), [0.25, 0.25 - half, 0.25 + half])
    assert study.share(right)["lucky"].eq(0.25).all()


def test_an_ensemble_adds_scores_on_one_scale(rng) -> None:
    vectors, labels = clouds(rng, *[3] * 12)
    models = {"one": vectors[:, :4], "other": vectors[:, 4:]}
    answers = study.cross_validated_labels(
        models, labels, [0, 1], {"both": ["one", "other"]}
    )
    for seed in (0, 1):
        scores = [
            localization.classify(each, labels, seed=seed).scores
            for each in models.values()
        ]
        total = sum(each / each.std() for each in scores)
        expected = total.argmax(axis=1)
        np.testing.assert_array_equal(answers[seed, "both"], expected)
    assert list(answers[1]) == ["one", "other", "both"]


# -- what is learned from --------------------------------------------------------------


@pytest.mark.parametrize("name", ["bible-gospels", "bible-gospels:web"])
def test_no_tested_verse_is_learned_from_in_any_translation(name) -> None:
    tested = tasks.load("Verses-far", "all").sentences
    every, corpus = corpora.load("bible-gospels"), corpora.load(name)
    groups = dict(zip(every.sentences, every.groups.tolist(), strict=True))
    asked = {groups[sentence] for sentence in tested}
    learned = encoding.held_out(corpus, tested[:600], tested[600:])
    assert set(learned) < set(corpus.sentences)
    there = {groups[sentence] for sentence in corpus.sentences}
    assert {groups[sentence] for sentence in learned} == there - asked


def test_a_text_without_tested_sentences_is_learned_from_as_it_is() -> None:
    corpus = corpora.load("lee")
    assert encoding.held_out(corpus, ["Nobody wrote this."]) is corpus
    assert len(encoding.held_out(corpus, corpus.sentences[3:5])) == len(corpus) - 2


def test_agreement_of_a_hand_made_case() -> None:
    labels = np.array([0, 0, 1, 1, 2])
    predictions = pd.DataFrame(
        {"a": [0, 1, 2, 2, 0], "b": [1, 1, 2, 0, 0], "c": labels}, labels
    )
    rates = study.agreement(labels, predictions.to_numpy())
    np.testing.assert_array_equal(
        rates, [[1, 0.75, np.nan], [0.75, 1, np.nan], [np.nan] * 3]
    )
    pairs = study.shared_mistakes(predictions)
    assert pairs.to_numpy().tolist() == [
        ["a", "b", 4, 3],
        ["a", "c", 0, 0],
        ["b", "c", 0, 0],
    ]


def test_space_measures_how_groups_lie() -> None:
    labels = np.repeat([0, 1], 2)
    # Within groups 1 each, between them 4 each.
    apart = np.array([[0.0, 1], [0, -1], [4, 1], [4, -1]])
    table = study.space({"apart": apart, "mixed": apart[[0, 2, 1, 3]]}, labels)
    columns = ["scatter", "separable"]
    assert table.loc["apart", columns].tolist() == pytest.approx([1 / 4, 1])
    # The plane x = 2 is 2 away from all, whose root mean square distance is 5 ** 0.5;
    # the penalty lets a border of this kind through by a thousandth.
    margin = table.loc["apart", "border_margin"]
    assert margin == pytest.approx(2 / 5**0.5, rel=2e-3)
    assert table.loc["mixed", "scatter"] == pytest.approx(4)


def test_word_overlap_of_a_hand_made_case() -> None:
    sentences = ["the cat sat", "the cat ran", "a dog barked", "the dog barked"]
    found = study.overlaps(sentences, np.array([0, 0, 1, 1]))
    assert found["own_nearest"].tolist() == pytest.approx([2 / 4, 2 / 4, 2 / 4, 2 / 4])
    assert found["other_nearest"].tolist() == pytest.approx([1 / 5, 1 / 5, 0, 1 / 5])
    assert found["other"].tolist() == pytest.approx([1 / 10, 1 / 10, 0, 1 / 5])
    assert found["margin"].tolist() == pytest.approx([0.3, 0.3, 0.5, 0.3])
    assert found["used"].tolist() == pytest.approx([2 / 3] * 4)
    assert found["size"].tolist() == [2] * 4
    assert found["words"].tolist() == [3] * 4


def test_bag_of_words_counts_lower_cased_treebank_tokens() -> None:
    # the the cat , dog . and dogs ca n't .
    bag = encoding.bag_of_words(["The cat, the dog.", "Dogs can't."])
    assert bag.toarray().sum(axis=1).tolist() == [6, 4]
    assert bag.shape == (2, 8)


# -- facts of the paper ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "file", "sizes", "low", "high"),
    [
        ("MSRP-groups", "senteval/MRPC", (859, 274), 0.978, 0.99),
        ("Opinosis-groups", "opinosis/paraphrase_groups", (521, 89), 0.58, 0.68),
    ],
)
def test_bow_is_as_accurate_as_published(
    data_file, task, file, sizes, low, high
) -> None:
    data_file(file)
    own = study.groups_of(task)
    assert (len(own), len(np.unique(own.labels))) == sizes
    bag = encoding.bag_of_words(own.sentences)
    assert low < localization.classify(bag, own.labels).accuracy < high


# numpydoc of `svm`: scikit-learn's solver takes over where products need too much room
def test_many_sentences_are_left_to_scikit_learn(rng, monkeypatch) -> None:
    vectors = rng.normal(size=(60, 5))
    groups = np.repeat(np.arange(20), 3)
    ours = localization.svm().fit(vectors, groups).predict(vectors)
    monkeypatch.setattr(localization, "LARGEST", 59)
    theirs = localization.svm().fit(vectors, groups).predict(vectors)
    np.testing.assert_array_equal(ours, theirs)


def test_planes_that_did_not_converge_are_told(rng) -> None:
    vectors = np.full((6, 2), 1e9) + rng.normal(size=(6, 2))
    with pytest.warns(ConvergenceWarning, match="choose a smaller C"):
        localization.svm(C=1e12, scale=False).fit(vectors, np.repeat([0, 1, 2], 2))
