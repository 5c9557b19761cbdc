"""Transfer against scikit-learn: folds, and the tasks of our own.

Also what a test sentence must not be able to change.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import corpora, embedders, tasks, transfer
from lib.corpora import bible
from lib.run.errors import InputError
from lib.tasks import local
from lib.transfer import classifiers


def clouds(
    rng: np.random.Generator, n: int = 120, d: int = 6, classes: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """A class a cloud, which overlap, in columns of very different scale."""
    labels = np.arange(n) % classes
    centers = rng.normal(size=(classes, d))
    return (centers[labels] + rng.normal(size=(n, d))) * np.logspace(
        -2, 2, d
    ) + 5, labels


@pytest.fixture
def hasty_perceptrons(monkeypatch) -> None:
    monkeypatch.setattr(classifiers, "PATIENT_EPOCHS", 3)
    monkeypatch.setattr(classifiers, "PATIENT_STEPS", 3)


# -- against scikit-learn --------------------------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("classifier", ["logistic", "svm"])
def test_linear_classifiers_agree_with_scikit_learn(
    rng, classifier, classes, normalized
) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    vectors, labels = clouds(rng, 400, classes=classes)
    train, test = (vectors[:200], labels[:200]), (vectors[200:], labels[200:])
    scaler = StandardScaler(with_std=normalized).fit(train[0])
    factor = 1 if normalized else np.sqrt(scaler.transform(train[0]).var(axis=0).mean())
    known, asked = (scaler.transform(split[0]) / factor for split in (train, test))
    strength = 1 / (0.3 * vectors.shape[1])
    if classifier == "logistic":
        ours, theirs = (
            transfer.Logistic([0.3]),
            LogisticRegression(C=strength, tol=1e-8, max_iter=10_000),
        )
    else:
        ours, theirs = transfer.SVM([0.3]), LinearSVC(C=strength, tol=1e-8, dual=False)
    found = transfer.evaluate([train, test], classifier=ours, normalize=(normalized,))
    predicted = theirs.fit(known, train[1]).predict(asked)
    assert (found.predicted != predicted).mean() <= 0.01
    assert found.accuracy == pytest.approx((found.predicted == test[1]).mean())


@pytest.mark.parametrize("normalized", [False, True], ids=["raw", "z-normalized"])
def test_absolute_penalties_are_those_of_scikit_learn_on_the_columns_as_they_are(
    rng, normalized
) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    labels = np.arange(400) % 3
    vectors = 0.01 * (rng.normal(size=(3, 6))[labels] + rng.normal(size=(400, 6)))
    train, test = (vectors[:200], labels[:200]), (vectors[200:], labels[200:])
    scaler = StandardScaler(with_mean=normalized, with_std=normalized).fit(train[0])
    known, asked = (scaler.transform(split[0]) for split in (train, test))
    for penalty in (1e-2, 1e-4):
        options = {
            "classifier": transfer.Logistic([penalty]),
            "normalize": (normalized,),
            "absolute": True,
        }
        found = transfer.evaluate([train, test], **options)
        theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(
            known, train[1]
        )
        assert (found.predicted != theirs.predict(asked)).mean() <= 0.01


def test_what_was_validated_before_is_not_validated_again_and_changes_nothing(
    rng,
) -> None:
    vectors, labels = clouds(rng, 200)
    shared: dict = {}
    for normalize in ((False,), (True,), (False, True)):
        options = {"normalize": normalize, "folds": 2, "inner_folds": 3}
        alone = transfer.evaluate([(vectors, labels)], **options)
        together = transfer.evaluate([(vectors, labels)], validated=shared, **options)
        assert alone.choices == together.choices
        np.testing.assert_array_equal(alone.predicted, together.predicted)
    assert len(shared) == 4  # two folds, raw and normalized


def test_the_perceptron_learns_what_no_linear_classifier_can() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.uniform(-1, 1, size=(600, 2))
    labels = (vectors[:, 0] * vectors[:, 1] > 0).astype(int)
    linear, layered = (
        transfer.evaluate(
            [(vectors, labels)], classifier=classifier, folds=2, inner_folds=1
        ).accuracy
        for classifier in (
            transfer.Logistic(),
            transfer.MLP(penalties=[0.01], hidden=[50]),
        )
    )
    assert linear < 0.65 < 0.85 < layered


# -- what may not matter ---------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier",
    [transfer.Logistic(), transfer.SVM(), transfer.MLP([1], [10])],
    ids=["logistic", "svm", "mlp"],
)
def test_neither_normalization_nor_penalty_sees_the_test_fold(
    classifier, hasty_perceptrons
) -> None:
    vectors, labels = clouds(np.random.default_rng(4), 200)
    options = {"classifier": classifier, "folds": 3, "inner_folds": 2}
    expected = transfer.evaluate([(vectors, labels)], **options)
    fold = transfer.deal(labels, 3, np.random.default_rng(0))
    for k in range(3):
        of_fold = np.flatnonzero(fold == k)
        wild = vectors.copy()
        wild[of_fold[::2]] *= -1e4
        found = transfer.evaluate([(wild, labels)], **options)
        assert found.choices[k] == expected.choices[k]
        np.testing.assert_array_equal(
            found.predicted[of_fold[1::2]], expected.predicted[of_fold[1::2]]
        )


def test_the_choice_is_the_best_on_dev_and_the_simplest_of_equals(rng) -> None:
    vectors, labels = clouds(rng, 300)
    train, dev, test = ((vectors[rows::3], labels[rows::3]) for rows in range(3))
    penalties = (10.0, 1.0, 0.1)
    single = {
        (normalized, penalty): transfer.evaluate(
            [train, dev],
            classifier=transfer.Logistic([penalty]),
            normalize=(normalized,),
        ).accuracy
        for normalized in (False, True)
        for penalty in penalties
    }
    splits = [train, dev, test]
    (normalized, setting), *_ = transfer.evaluate(
        splits, classifier=transfer.Logistic(penalties)
    ).choices
    assert (normalized, setting.penalty) == max(single, key=single.__getitem__)


def test_the_same_seed_gives_the_same_result_and_another_seed_other_folds(
    rng, hasty_perceptrons
) -> None:
    vectors, labels = clouds(rng, 200)
    options = {"classifier": transfer.MLP([1], [5, 10]), "folds": 3, "inner_folds": 1}
    first, again, other = (
        transfer.evaluate([(vectors, labels)], seed=seed, **options)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.predicted, again.predicted)
    assert first.choices == again.choices
    assert not np.array_equal(first.predicted, other.predicted)


# -- folds -----------------------------------------------------------------------------


@given(st.integers(2, 6), st.integers(2, 4), st.integers(0, 2**32))
def test_folds_are_alike_in_size_and_classes(folds, classes, seed) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(
        np.concatenate([np.arange(classes).repeat(folds), rng.integers(0, classes, 30)])
    )
    fold = transfer.deal(labels, folds, rng)
    for counts in [
        np.bincount(fold),
        *(np.bincount(fold[labels == c], minlength=folds) for c in range(classes)),
    ]:
        assert counts.max() - counts.min() <= 1


@given(st.integers(2, 5), st.integers(0, 2**32))
def test_what_says_the_same_is_in_one_fold(folds, seed) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.append(np.arange(40).repeat(3), np.full(20, -1)))
    labels = np.where(groups < 0, rng.integers(0, 2, len(groups)), groups % 2)
    fold = transfer.deal(labels, folds, rng, groups)
    assert all(len(set(fold[groups == group])) == 1 for group in range(40))
    assert len(set(fold[groups == -1])) > 1


def test_groups_are_kept_together_in_the_inner_folds_too(rng, monkeypatch) -> None:
    seen = []
    vectors = np.column_stack([rng.normal(size=90), np.arange(90) // 3])
    labels = np.arange(90) // 3 % 2

    def spy(self, features, labels, setting, seed):
        seen.append(features)
        return type(
            "Model", (), {"predict": lambda self, rows: np.zeros(len(rows), int)}
        )()

    monkeypatch.setattr(transfer.SVM, "fit", spy)
    # The second column is the group, and recognizable after centering and scaling: all
    # three of a group, or none.
    transfer.evaluate(
        [(vectors, labels)],
        classifier=transfer.SVM(),
        folds=3,
        inner_folds=3,
        groups=np.arange(90) // 3,
    )
    assert seen
    for features in seen:
        assert set(np.unique(features[:, 1].round(4), return_counts=True)[1]) == {3}


# -- tasks -----------------------------------------------------------------------------


def test_official_splits_are_encoded_once_and_kept_apart(monkeypatch) -> None:
    words = {"red": [0.0, 1], "blue": [1.0, 0], "pink": [0.2, 1]}
    parts = {
        "train": tasks.ClassificationTask(["red", "blue"] * 5, np.array([0, 1] * 5)),
        "test": tasks.ClassificationTask(["pink", "blue"], np.array([0, 1])),
    }
    monkeypatch.setattr(tasks, "load", lambda name, split: parts[split])
    calls = []

    def encode(sentences):
        calls.append(list(sentences))
        return np.array([words[sentence] for sentence in sentences], np.float32)

    found = transfer.on_task("TREC", encode, inner_folds=2)
    assert calls == [["red", "blue"] * 5 + ["pink", "blue"]]
    assert (found.predicted.tolist(), found.accuracy) == ([0, 1], 1.0)


def test_pairs_with_labels_are_a_task(rng, monkeypatch) -> None:
    vectors = dict(zip("abcdef", rng.normal(size=(6, 3)), strict=True))
    left, right = [*"abcdef" * 4], [*"abcfde" * 4]
    labels = np.array([a == b for a, b in zip(left, right, strict=True)], int)
    monkeypatch.setattr(
        tasks, "load", lambda name, split: tasks.PairTask(left, right, label=labels)
    )
    encode = lambda sentences: np.array([vectors[sentence] for sentence in sentences])  # noqa: E731
    assert transfer.on_task("MR", encode, folds=3, inner_folds=2).accuracy == 1


def test_translations_of_a_verse_are_a_group() -> None:
    task = local.translations()
    assert set(np.unique(task.groups, return_counts=True)[1]) == {
        len(bible.TRANSLATIONS)
    }
    fold = transfer.deal(task.labels, 5, np.random.default_rng(0), task.groups)
    assert [np.bincount(task.labels[fold == k]).tolist() for k in range(5)] == [
        [60] * 5
    ] * 5


@pytest.mark.parametrize(
    ("name", "counts"),
    [("Translations", [300] * 5), ("Books", [300] * 5), ("Questions", [400] * 2)],
)
def test_tasks_of_our_own_are_balanced_and_always_the_same(name, counts) -> None:
    first, again = tasks.load(name), tasks.load(name)
    assert first.sentences == again.sentences
    assert np.bincount(first.labels).tolist() == counts


def test_books_have_the_right_labels_and_stand_in_the_default_corpus() -> None:
    task = local.books()
    books = {
        verse.text: verse.number // 1_000_000 - 40
        for verse in bible.verses(*bible.PARTS[local.CORPUS])
    }
    assert [books[sentence] for sentence in task.sentences] == task.labels.tolist()
    assert len(set(task.groups.tolist())) == len(task)
    assert set(corpora.load(local.CORPUS).sentences).issuperset(
        [*task.sentences, *local.translations().sentences]
    )


def test_what_is_a_question(tmp_path, monkeypatch) -> None:
    file = tmp_path / "text.txt"
    file.write_text('Who?\n"Where to?"\nHere.\nIs it? It is.\nThere!\n')
    monkeypatch.setattr(local, "CORPUS", f"lines:{file}")
    monkeypatch.setattr(local, "QUESTIONS", 2)
    task = local.questions()
    found = dict(zip(task.sentences, task.labels.tolist(), strict=True))
    assert found == {'"Where to': 1, "Who": 1, "Here": 0, "There": 0}


def test_glove_on_mrpc_and_customer_reviews(data_file) -> None:
    data_file("senteval/MRPC/msr_paraphrase_train.txt")
    data_file("senteval/CR/custrev.pos")
    embedder = embedders.load("glove-6b-50d")
    found = transfer.on_task("MRPC", embedder.encode, inner_folds=3)
    assert 0.66 < found.accuracy < 0.74
    assert (
        0.70
        < transfer.on_task("CR", embedder.encode, folds=5, inner_folds=1).accuracy
        < 0.80
    )


# -- bad input -------------------------------------------------------------------------

VECTORS, LABELS = clouds(np.random.default_rng(0), 20)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"labels": LABELS[:5]},
            "20 rows, 5 labels and 5 groups; give one of each for each sentence",
        ),
        ({"groups": LABELS[:5]}, "20 rows, 20 labels and 5 groups"),
        (
            {"labels": np.append(LABELS[:19], 7)},
            "a class has 1 members in different groups; give 2 or fewer folds",
        ),
        ({"groups": LABELS}, "a class has 1 members in different groups"),
        ({"folds": 1}, "folds: 1 is not accepted"),
        ({"vectors": VECTORS * np.nan}, "vectors: holds NaN"),
        ({"vectors": np.ones((20, 3))}, "all training rows are alike"),
        ({"vectors": (VECTORS, VECTORS[:, :2])}, "give two arrays of one shape"),
    ],
)
def test_what_cannot_be_cross_validated_gets_a_sentence(given, message) -> None:
    options = {"vectors": VECTORS, "labels": LABELS, "folds": 2} | given
    split = options.pop("vectors"), options.pop("labels")
    with pytest.raises(InputError, match=message):
        transfer.evaluate([split], **options)
