"""Transfer against scikit-learn: folds, and the tasks of our own.

Also what a test sentence must not be able to change.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from lib import tasks, transfer
from lib.corpora import bible
from lib.tasks import local
from tests.refusals import refused


def clouds(
    rng: np.random.Generator, n: int = 120, classes: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """A class a cloud, which overlap, in columns of very different scale."""
    labels = np.arange(n) % classes
    centers = rng.normal(size=(classes, 6))
    vectors = centers[labels] + rng.normal(size=(n, 6))
    return vectors * np.logspace(-2, 2, 6) + 5, labels


# -- against scikit-learn --------------------------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs", "absolute"),
    [
        (transfer.Logistic, LogisticRegression(tol=1e-8, max_iter=10_000), False),
        (transfer.Logistic, LogisticRegression(tol=1e-8, max_iter=10_000), True),
        (transfer.SVM, LinearSVC(tol=1e-8, dual=False), False),
    ],
    ids=["logistic", "logistic, absolute penalty", "svm"],
)
def test_linear_classifiers_agree_with_scikit_learn(
    rng, ours, theirs, normalized, absolute
) -> None:
    vectors, labels = clouds(rng, 400, classes=3)
    train = vectors[:200], labels[:200]
    test = vectors[200:], labels[200:]
    # A penalty is that of the columns as they are, or relative to their number and mean
    # variance.
    scaler = StandardScaler(with_std=normalized).fit(train[0])
    known = scaler.transform(train[0])
    factor = 1.0 if absolute else np.sqrt(known.var(axis=0).mean())
    theirs.C = 1 / 0.3 if absolute else 1 / (0.3 * vectors.shape[1])
    theirs.fit(known / factor, train[1])
    predicted = theirs.predict(scaler.transform(test[0]) / factor)
    options = {"normalize": (normalized,), "absolute": absolute}
    found = transfer.evaluate([train, test], classifier=ours([0.3]), **options)
    assert (found.predicted != predicted).mean() <= 0.01
    assert found.accuracy == pytest.approx((found.predicted == test[1]).mean())


def test_what_was_validated_before_is_not_validated_again_and_changes_nothing(
    rng,
) -> None:
    data = [clouds(rng, 200)]
    shared: dict = {}
    for normalize in ((False,), (True,), (False, True)):
        options = {"normalize": normalize, "folds": 2, "inner_folds": 3}
        alone = transfer.evaluate(data, **options)
        together = transfer.evaluate(data, validated=shared, **options)
        assert alone.choices == together.choices
        np.testing.assert_array_equal(alone.predicted, together.predicted)


# -- what may not matter ---------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier",
    [transfer.Logistic(), transfer.SVM()],
    ids=["logistic", "svm"],
)
def test_neither_normalization_nor_penalty_sees_the_test_fold(
    classifier,
) -> None:
    vectors, labels = clouds(np.random.default_rng(4), 200)
    options = {"classifier": classifier, "folds": 3, "inner_folds": 2}
    expected = transfer.evaluate([(vectors, labels)], **options)
    again = transfer.evaluate([(vectors, labels)], **options)
    np.testing.assert_array_equal(again.predicted, expected.predicted)
    fold = transfer.deal(labels, 3, np.random.default_rng(0))
    for k in range(3):
        of_fold = np.flatnonzero(fold == k)
        wild = vectors.copy()
        wild[of_fold[::2]] *= -1e4
        found = transfer.evaluate([(wild, labels)], **options)
        assert found.choices[k] == expected.choices[k]
        kept = of_fold[1::2]
        np.testing.assert_array_equal(found.predicted[kept], expected.predicted[kept])


def test_the_choice_is_the_best_on_dev_and_the_simplest_of_equals(rng) -> None:
    vectors, labels = clouds(rng, 300)
    train, dev, test = ((vectors[rows::3], labels[rows::3]) for rows in range(3))
    penalties = (10.0, 1.0, 0.1)
    single = {}
    for normalized in (False, True):
        for penalty in penalties:
            classifier = transfer.Logistic([penalty])
            options = {"classifier": classifier, "normalize": (normalized,)}
            found = transfer.evaluate([train, dev], **options)
            single[normalized, penalty] = found.accuracy
    classifier = transfer.Logistic(penalties)
    found = transfer.evaluate([train, dev, test], classifier=classifier)
    (choice,) = found.choices
    assert choice == max(single, key=single.__getitem__)


# -- folds -----------------------------------------------------------------------------


@given(st.integers(2, 6), st.integers(2, 4), st.integers(0, 2**32))
def test_folds_are_alike_in_size_and_classes(folds, classes, seed) -> None:
    rng = np.random.default_rng(seed)
    enough = np.arange(classes).repeat(folds)
    labels = rng.permutation(np.append(enough, rng.integers(0, classes, 30)))
    fold = transfer.deal(labels, folds, rng)
    for chosen in [labels >= 0, *(labels == label for label in range(classes))]:
        counts = np.bincount(fold[chosen], minlength=folds)
        assert np.ptp(counts) <= 1


@given(st.integers(2, 5), st.integers(0, 2**32))
def test_what_says_the_same_is_in_one_fold(folds, seed) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.append(np.arange(40).repeat(3), np.full(20, -1)))
    labels = np.where(groups < 0, rng.integers(0, 2, len(groups)), groups % 2)
    fold = transfer.deal(labels, folds, rng, groups)
    assert all(len(set(fold[groups == group])) == 1 for group in range(40))
    assert len(set(fold[groups == -1])) > 1


def test_groups_are_kept_together_in_the_inner_folds_too(rng) -> None:
    groups = np.arange(90) // 3
    examples = transfer.examples(rng.normal(size=(90, 2)), groups % 2, groups)
    for train, held_out in transfer.Evaluation(inner_folds=3).inside(examples, 0):
        assert not set(train.groups) & set(held_out.groups)
        assert len(train.groups) + len(held_out.groups) == 90


# -- tasks -----------------------------------------------------------------------------


WORDS = {"red": [0.0, 1], "blue": [1.0, 0], "pink": [0.2, 1]}


def encode(sentences: list[str]) -> np.ndarray:
    return np.array([WORDS[sentence] for sentence in sentences], np.float32)


def test_splits_are_kept_apart() -> None:
    train = tasks.ClassificationTask(["red", "blue"] * 5, np.array([0, 1] * 5))
    test = tasks.ClassificationTask(["pink", "blue"], np.array([0, 1]))
    found = transfer.on_splits([train, test], encode, inner_folds=2)
    assert found.predicted.tolist() == [0, 1]


def test_pairs_with_labels_are_a_task() -> None:
    left = ["red", "blue", "pink", "red"] * 6
    right = ["red", "blue", "blue", "blue"] * 6
    task = tasks.PairTask(left, right, label=np.array([1, 1, 0, 0] * 6))
    assert transfer.on_splits([task], encode, folds=3, inner_folds=2).accuracy == 1


@pytest.mark.parametrize(
    ("name", "counts"),
    [("Translations", [300] * 5), ("Books", [300] * 5), ("Questions", [400] * 2)],
)
def test_tasks_of_our_own_are_balanced_and_always_the_same(name, counts) -> None:
    first = tasks.load(name)
    assert first.sentences == tasks.load(name).sentences
    assert np.bincount(first.labels).tolist() == counts


def test_translations_of_a_verse_are_a_group_and_books_have_one_of_each() -> None:
    task = local.translations()
    sizes = np.unique(task.groups, return_counts=True)[1]
    assert set(sizes) == {len(bible.TRANSLATIONS)}
    books = local.books()
    of_verse = {}
    for verse in bible.verses(*bible.PARTS[local.CORPUS]):
        of_verse[verse.text] = verse.number // 1_000_000 - 40
    assert [of_verse[each] for each in books.sentences] == books.labels.tolist()
    assert len(set(books.groups.tolist())) == len(books)
    assert of_verse.keys() >= set(task.sentences)


def test_what_is_a_question(tmp_path, monkeypatch) -> None:
    file = tmp_path / "text.txt"
    file.write_text('Who?\n"Where to?"\nHere.\nIs it? It is.\nThere!\n')
    monkeypatch.setattr(local, "CORPUS", f"lines:{file}")
    monkeypatch.setattr(local, "QUESTIONS", 2)
    task = local.questions()
    found = dict(zip(task.sentences, task.labels.tolist(), strict=True))
    assert found == {'"Where to': 1, "Who": 1, "Here": 0, "There": 0}


# -- bad input -------------------------------------------------------------------------

VECTORS, LABELS = clouds(np.random.default_rng(0), 20)
RARE = np.append(LABELS[:19], 7)


@pytest.mark.parametrize(
    ("vectors", "labels", "options", "message"),
    [
        (VECTORS, LABELS[:5], {}, "20 rows, 5 labels and 5 groups; give one of each"),
        (VECTORS, RARE, {}, "a class has 1 members in different groups; give 2 or"),
        (VECTORS, LABELS, {"groups": LABELS}, "a class has 1 members in different"),
        (VECTORS, LABELS, {"folds": 1}, "folds: 1 is not accepted"),
        (VECTORS * np.nan, LABELS, {}, "vectors: contains NaN"),
        (np.ones((20, 3)), LABELS, {}, "all training rows are the same"),
        ((VECTORS, VECTORS[:, :2]), LABELS, {}, "give two arrays of the same shape"),
    ],
)
def test_what_cannot_be_cross_validated_gets_a_sentence(
    vectors, labels, options, message
) -> None:
    with refused(message):
        transfer.evaluate([(vectors, labels)], **{"folds": 2} | options)


@pytest.mark.parametrize("number", [0, 4])
def test_no_split_and_four_splits_get_a_sentence(number) -> None:
    with refused(f"splits: {number} are given; give one, two or three"):
        transfer.evaluate([(VECTORS, LABELS)] * number)
