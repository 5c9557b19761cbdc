"""Semantic localization: against scikit-learn written out and handmade cases.

Also what a test sentence must not change.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import t
from sklearn import decomposition
from sklearn.decomposition import PCA

from lib import corpora, localization, tasks
from lib.stats import Sampling
from lib.studies import localization as study
from tests.refusals import refused


def clouds(
    rng: np.random.Generator,
    sizes=(3, 4, 5, 3, 6, 3, 4),
    d: int = 8,
    spread: float = 0.9,
):
    """Vectors of groups of these sizes, shuffled, and their labels.

    Each group lies around its own center.
    """
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(len(sizes), d))[labels] + spread * rng.normal(
        size=(len(labels), d)
    ), labels


# -- the classifier --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("pca", [None, 4])
def test_agrees_with_scikit_learn_written_out(rng, pca) -> None:
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import LinearSVC

    vectors, labels = clouds(rng, (3,) * 12)
    steps = [PCA(pca)] if pca else []
    found = localization.classify(vectors, labels, *steps, C=0.5, seed=7)
    predictions = np.empty_like(labels)
    for train, test in StratifiedKFold(3, shuffle=True, random_state=7).split(
        vectors, labels
    ):
        mean = vectors[train].mean(axis=0)
        distance = np.sqrt(((vectors[train] - mean) ** 2).sum(axis=1).mean())
        known, asked = ((vectors[rows] - mean) / distance for rows in (train, test))
        for step in steps:
            known, asked = step.fit_transform(known), step.transform(asked)
        svm = LinearSVC(C=0.5, class_weight="balanced", dual=False, tol=1e-10).fit(
            known, labels[train]
        )
        predictions[test] = svm.predict(asked)
    np.testing.assert_array_equal(found.predictions, predictions)
    assert found.accuracy == pytest.approx((found.predictions == labels).mean())
    assert 0 < found.accuracy < 1


def test_sparse_and_read_only_vectors_are_classified_as_dense_ones(rng) -> None:
    vectors, labels = clouds(rng)
    vectors[np.abs(vectors) < 0.5] = 0
    sparse = sp.csr_array(vectors)
    for part in (sparse.data, sparse.indices, sparse.indptr):
        part.flags.writeable = False
    dense, found = (
        localization.classify(each, labels, scale=False) for each in (vectors, sparse)
    )
    np.testing.assert_array_equal(dense.predictions, found.predictions)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_border_of_four_sentences_is_where_calculus_puts_it(C) -> None:
    points = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    model = localization.svm(C=C, scale=False).fit(points, [1, 1, 0, 0])
    np.testing.assert_allclose(model[-1].coef_, [[8 * C / (1 + 8 * C), 0]], atol=0.02)


def test_a_test_sentence_changes_neither_projection_nor_penalty(
    rng, monkeypatch
) -> None:
    seen = []
    fit = decomposition.PCA.fit
    monkeypatch.setattr(
        decomposition.PCA,
        "fit",
        lambda self, X, y=None: seen.append(len(X)) or fit(self, X, y),
    )
    vectors, labels = clouds(rng, (6,) * 5)
    localization.classify(vectors, labels, study.Components(3))
    assert seen == [20] * 3
    before = localization.classify(vectors, labels, C=localization.GRID)
    moved = vectors.copy()
    moved[0] += 100
    after = localization.classify(moved, labels, C=localization.GRID)
    differs = ~np.isclose(before.scores, after.scores).all(axis=1)
    assert differs[0]
    assert differs.sum() > 1  # where it was learned from
    assert (~differs).sum() == 9  # the others of its fold


def test_an_oracle_is_always_right_and_two_groups_have_two_scores(rng) -> None:
    labels = np.repeat(np.arange(6), 4)
    assert localization.classify(np.eye(6)[labels], labels).accuracy == 1
    assert localization.classify(rng.normal(size=(8, 3)), labels[:8]).scores.shape == (
        8,
        2,
    )


def test_a_group_too_small_for_its_folds_gets_a_sentence() -> None:
    with refused(
        "labels: a group has 2 sentences; give 3 or more of each, or fewer folds"
    ):
        localization.classify(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])


# -- the study -------------------------------------------------------------------------


def test_one_translation_is_learned_and_the_other_labelled(rng) -> None:
    places = rng.normal(size=(9, 5))
    labels = np.tile(np.arange(9), 2)
    answers = study.across(
        {"same": np.concatenate([places, places]), "zero": np.zeros((18, 2))}, labels
    )
    share = study.share(study.right(answers))
    assert share.mean().to_dict() == pytest.approx({"same": 1, "zero": 1 / 9})


def placed(labels: np.ndarray, **models: np.ndarray) -> pd.DataFrame:
    """`study.right` of models that are right as given: [n, deals] of 0 and 1."""
    columns = {
        (deal, name): own[:, deal]
        for name, own in models.items()
        for deal in range(own.shape[1])
    }
    names = pd.MultiIndex.from_tuples(columns, names=["deal", "model"])
    return pd.DataFrame(
        np.column_stack(list(columns.values())), pd.Index(labels, name="group"), names
    )


def test_intervals_cover_other_deals_of_the_folds() -> None:
    labels = np.repeat(np.arange(8), 3)
    lucky = np.zeros((24, 4))
    lucky[:, 0] = 1  # in the first deal all is right, in the others nothing
    right = placed(labels, lucky=lucky, other=np.zeros((24, 4)))
    sampling = Sampling(repetitions=100)
    found = study.accuracy(right, sampling).contrast(
        "lucky", "other", "model", "percentile"
    )
    half = (
        t.isf(0.025, 3) * np.std([1, 0, 0, 0], ddof=1) / 2
    )  # groups add nothing: all are alike
    np.testing.assert_allclose(np.ravel(found), [0.25, 0.25 - half, 0.25 + half])
    table = study.accuracies(right, sampling)
    np.testing.assert_allclose(
        table.loc["lucky", ["accuracy", "low", "high"]].astype(float), np.ravel(found)
    )
    assert study.share(right)["lucky"].eq(0.25).all()


def test_near_copies_are_resampled_together() -> None:
    found = study.relatives(
        ["BOW", "glove-6b-50d", "minilm-cls", "glove-6b-50d+usif", "minilm-avg"]
    )
    assert (found == found[:, None]).sum(axis=1).tolist() == [1, 2, 2, 2, 2]


# -- what is learned from --------------------------------------------------------------


def test_no_tested_verse_is_learned_from_in_any_translation() -> None:
    tested = tasks.load("Verses-far", "all").sentences
    every, english = corpora.load("bible-gospels"), corpora.load("bible-gospels:web")
    groups = dict(zip(every.sentences, every.groups.tolist(), strict=True))
    asked = {groups[sentence] for sentence in tested}
    for corpus in (every, english):
        learned = study.held_out(corpus, tested[:600], tested[600:])
        assert set(learned) < set(corpus.sentences)
        assert asked.isdisjoint(groups[sentence] for sentence in learned)
        assert {groups[sentence] for sentence in corpus.sentences} - asked == {
            groups[sentence] for sentence in learned
        }


def test_a_text_without_tested_sentences_is_learned_from_as_it_is() -> None:
    corpus = corpora.load("lee")
    assert (
        study.held_out(
            corpus, ["Nobody wrote this."], tasks.load("Verses-far").sentences
        )
        is corpus
    )
    assert len(study.held_out(corpus, corpus.sentences[3:5])) == len(corpus) - 2


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
    apart = np.array(
        [[0.0, 1], [0, -1], [4, 1], [4, -1]]
    )  # within: 1 each; between: 4 each
    table = study.space({"apart": apart, "mixed": apart[[0, 2, 1, 3]]}, labels)
    assert table.loc["apart"].tolist() == pytest.approx([1 / 4, 1])
    assert table.loc["mixed", "scatter"] == pytest.approx(4)


def test_word_overlap_of_a_hand_made_case() -> None:
    sentences = ["the cat sat", "the cat ran", "a dog barked", "the dog barked"]
    found = study.overlaps(sentences, np.array([0, 0, 1, 1]))
    assert found["own_nearest"].tolist() == pytest.approx([2 / 4, 2 / 4, 2 / 4, 2 / 4])
    assert found["other_nearest"].tolist() == pytest.approx([1 / 5, 1 / 5, 0, 1 / 5])
    assert found["other"].tolist() == pytest.approx([1 / 10, 1 / 10, 0, 1 / 5])
    assert found["margin"].tolist() == pytest.approx([0.3, 0.3, 0.5, 0.3])
    assert found["size"].tolist() == [2] * 4
    assert found["words"].tolist() == [3] * 4


def test_bag_of_words_counts_lower_cased_treebank_tokens() -> None:
    bag = study.bag_of_words(["The cat, the dog.", "Dogs can't."])
    assert bag.toarray().sum(axis=1).tolist() == [
        6,
        4,
    ]  # the the cat , dog . and dogs ca n't .
    assert bag.shape == (2, 8)


# -- facts of the paper ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "file", "sizes", "accuracy"),
    [
        ("MSRP-groups", "senteval/MRPC", (859, 274), (0.978, 0.99)),
        ("Opinosis-groups", "opinosis/paraphrase_groups", (521, 89), (0.58, 0.68)),
    ],
)
def test_bow_is_as_accurate_as_published(
    data_file, task, file, sizes, accuracy
) -> None:
    data_file(file)
    own = study.groups_of(task)
    assert (len(own), len(np.unique(own.labels))) == sizes
    assert (
        accuracy[0]
        < localization.classify(study.bag_of_words(own.sentences), own.labels).accuracy
        < accuracy[1]
    )
