"""Transfer: what a classifier learns from frozen embeddings.

It is tested by cross-validation or on official splits.

"Pitfalls in the Evaluation of Sentence Embeddings", sections 2 and 3; "Unsupervised
Learning of Sentence Embeddings using Compositional n-Gram Features", section 4.

The test sentences of a fold are not used before they are labeled: normalization
and penalty are chosen on the training sentences. This says nothing about the text
that an embedder was fitted on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from lib import stats
from lib.base.environment import single_threaded
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.similarity import Features, Sides, checked
from lib.tasks import PairTask, Task
from lib.transfer.classifiers import SVM, Classifier, Logistic
from lib.vectors import Embeddings

__all__ = [
    "SVM",
    "Classifier",
    "Logistic",
    "deal",
    "evaluate",
    "on_splits",
]

USUAL = Logistic()  # unless another classifier is given
VALIDATION_FOLDS = 10  # of which one is held out where `inner_folds` is 1


class Result(NamedTuple):
    """How well a classifier does on frozen embeddings.

    Attributes
    ----------
    accuracy : float
        In [0, 1], the mean over folds. Its interval: ``stats.bootstrap(stats.mean,
        result.correct, ...)``.
    choices : list of (bool, float)
        The choice for each fold, made on its training data: whether to z-normalize, and
        the classifier's penalty.
    predicted : [n]
        Label of each test sentence, in the order given.
    correct : bool[n]
    """

    accuracy: float
    choices: Sequence[tuple[bool, float]]
    predicted: np.ndarray
    correct: np.ndarray


class Examples(NamedTuple):
    """Embeddings with labels [n] and groups int[n].

    Of n sentences, or of both sides of n pairs.
    """

    sides: Sides
    labels: np.ndarray
    groups: np.ndarray

    def subset(self, chosen: np.ndarray) -> Examples:
        """The chosen sentences or pairs: a mask bool[n] or indices."""
        sides = [side[chosen] for side in self.sides]
        return Examples(sides, self.labels[chosen], self.groups[chosen])


Vectors: TypeAlias = Embeddings | tuple[Embeddings, Embeddings]
Split = tuple[Vectors, np.ndarray]  # with its labels


def examples(
    vectors: Vectors, labels: np.ndarray, groups: np.ndarray | None = None
) -> Examples:
    """Embeddings with labels; InputError unless finite and one for each label."""
    if not isinstance(vectors, tuple):
        vectors = (vectors,)
    sides = checked("vectors", *vectors)
    labels = np.asarray(labels)
    groups = np.arange(len(labels)) if groups is None else stats.clusters(groups)
    rows = sides[0].shape[0]
    if not rows == len(labels) == len(groups):
        counts = f"{rows} rows, {len(labels)} labels and {len(groups)} groups"
        raise InputError(f"vectors: has {counts}; give one of each per sentence")
    return Examples(sides, labels, groups)


def evaluate(
    splits: Sequence[Split],
    *,
    folds: int = 10,
    groups: np.ndarray | None = None,
    **options: Any,
) -> Result:
    """How well a classifier labels sentences that it has not seen.

    One split is cross-validated: each fold is labeled by a classifier that was chosen
    and trained on the others. With two or three splits, the classifier is trained on
    the first and labels the last. It is chosen on the one between, or else by folds
    inside the first.

    Parameters
    ----------
    splits : list of (vectors, labels)
        All; or train and test; or train, dev and test. Vectors are float[n, d], dense
        or CSR, or a tuple of two for pairs, of which the classifier sees
        ``[|u - v|, u * v]``; labels are int[n] or str[n].
    folds : int
        Of cross-validation.
    groups : int[n], optional
        Of one split: sentences with the same number stay in one fold, in the inner
        folds too; a negative number stands alone.
    **options
        Those of `Evaluation`: classifier, normalize, absolute, inner_folds, seed,
        validated.

    Raises
    ------
    InputError
        No split or more than three, rows and labels that do not match, NaN, a class
        with fewer members (groups) than folds, vectors that are all alike.
    """
    if not 1 <= len(splits) <= 3:
        raise InputError(f"splits: {len(splits)} are given; give one, two or three")
    evaluation = Evaluation(**options)
    if len(splits) == 1:
        return evaluation.cross_validate(examples(*splits[0], groups), folds)
    train, *dev, test = [examples(*split) for split in splits]
    validation = [(train, dev[0])] if dev else evaluation.inside(train, 0)
    predicted = evaluation.predict(train, validation, test, 0)
    correct = predicted == test.labels
    return Result(float(correct.mean()), evaluation.choices, predicted, correct)


def on_splits(
    parts: Sequence[Task], encode: Callable[[Sequence[str]], Embeddings], **options: Any
) -> Result:
    """Evaluate on a labeled set, by its official splits or else cross-validation.

    Parameters
    ----------
    parts : sequence of Task
        All of it; or train, dev (if there is one) and test. Its groups stay in one
        fold.
    encode : callable
        From sentences to embeddings, such as ``partial(store.embed, embedder)``. It is
        called once, with the sentences of all splits; an embedder that it fits on them
        is transductive.
    **options
        Those of `evaluate`.
    """
    sides = [side for part in parts for side in _texts(part)]
    vectors = encode([sentence for side in sides for sentence in side])
    ends = np.cumsum([len(side) for side in sides])
    rows = [
        vectors[end - len(side) : end] for side, end in zip(sides, ends, strict=True)
    ]
    splits: list[Any] = []
    for part in parts:
        if isinstance(part, PairTask):
            splits.append(((rows.pop(0), rows.pop(0)), part.label))
        else:
            splits.append((rows.pop(0), part.labels))
    groups = getattr(parts[0], "groups", None)
    return evaluate(splits, groups=groups, **options)


def _texts(task: Task) -> list[list[str]]:
    """The sentences of a task, or the two sides of its pairs."""
    if isinstance(task, PairTask):
        return [task.left, task.right]
    return [task.sentences]


@dataclass
class Evaluation:
    """How a classifier is chosen and trained, and what was chosen.

    Attributes
    ----------
    classifier : Classifier
        `Logistic` or `SVM`, with penalties of your own or its usual ones.
    normalize : sequence of bool
        Which to choose from: embeddings as they are (False), z-normalized (True).
    absolute : bool
        Whether penalties apply to the columns as they are, raw or z-normalized, as 1 /
        C does in scikit-learn, rather than relative to the number and the variance of
        the columns. For logistic regression this is the only difference between raw
        columns and those of `lib.similarity.Features`, since its free intercept absorbs
        a shift.
    inner_folds : int
        The number of folds of the training data by which settings are chosen, at most
        as many as the rarest class has members. 1: a held-out tenth (a fifth of the
        time of 5, and noisier choices).
    seed : int
        Of folds and validation sets.
    validated : dict
        How many validation sentences each choice labels right. Evaluations of the same
        sentences that differ only in `normalize` may share one, so that nothing is
        validated twice.
    choices : list
        As of `Result`.
    """

    classifier: Classifier = USUAL
    normalize: Sequence[bool] = (False, True)
    absolute: bool = False
    inner_folds: int = 5
    seed: int = 0
    validated: dict = field(default_factory=dict)
    choices: list[tuple[bool, float]] = field(default_factory=list)

    def cross_validate(self, data: Examples, folds: int) -> Result:
        """Label each fold with a classifier chosen and trained on the others."""
        fold = deal(data.labels, folds, np.random.default_rng(self.seed), data.groups)
        predicted = np.empty_like(data.labels)
        for number in range(folds):
            train = data.subset(fold != number)
            test = data.subset(fold == number)
            validation = self.inside(train, number)
            predicted[fold == number] = self.predict(train, validation, test, number)
        correct = predicted == data.labels
        accuracy = pd.Series(correct).groupby(fold).mean().mean()
        return Result(float(accuracy), self.choices, predicted, correct)

    def predict(
        self, train: Examples, validation: Iterable[tuple], test: Examples, number: int
    ) -> np.ndarray:
        """Choose by `validation`, train on all of `train`, and label `test`."""
        # One thread: products of a matrix and a vector wait for memory, not for cores,
        # and the sums stay the same.
        with (
            warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
            single_threaded(),
        ):
            normalized, penalty = self._choice(validation, number)
            features = Features(normalized).fit(train.sides)
            classifier = self._scaled(features)
            place = self.classifier.ordered.index(penalty)
            rows = features.transform(train.sides)
            model = classifier.fit(rows, train.labels, classifier.ordered[place])
            self.choices.append((normalized, penalty))
            return model.predict(features.transform(test.sides))

    def inside(
        self, train: Examples, number: int
    ) -> Iterator[tuple[Examples, Examples]]:
        """What to train on and what to validate by, inside the training data.

        Pairs come one after the other.
        """
        held_out = self.inner_folds == 1
        wanted = VALIDATION_FOLDS if held_out else self.inner_folds
        folds = max(2, min(wanted, smallest_class(train.labels, train.groups)))
        fold = deal(
            train.labels,
            folds,
            np.random.default_rng([self.seed, number]),
            train.groups,
        )
        for inner in range(1 if held_out else folds):
            yield train.subset(fold != inner), train.subset(fold == inner)

    def _scaled(self, features: Features) -> Classifier:
        """The classifier for scaled features.

        A penalty of raw columns is multiplied by the square of the factor.
        """
        if not self.absolute:
            return self.classifier
        unit = features.factor**2 / len(features.mean)
        penalties = [float(penalty * unit) for penalty in self.classifier.penalties]
        return replace(self.classifier, penalties=penalties)

    def _choice(self, validation: Iterable[tuple], number: int) -> tuple[bool, float]:
        """The choice that labels most validation sentences right; the first of ties."""
        penalties = self.classifier.ordered
        if len(self.normalize) * len(penalties) == 1:
            return self.normalize[0], penalties[0]
        unknown = [
            each for each in self.normalize if (number, each) not in self.validated
        ]
        for normalized in unknown:
            self.validated[number, normalized] = dict.fromkeys(penalties, 0)
        for train, held_out in validation if unknown else ():
            for normalized in unknown:
                self._validate(normalized, train, held_out, number)
        correct = {}
        for normalized in self.normalize:
            for penalty, count in self.validated[number, normalized].items():
                correct[normalized, penalty] = count
        return max(correct, key=correct.__getitem__)

    def _validate(
        self, normalized: bool, train: Examples, held_out: Examples, number: int
    ) -> None:
        """Count the held-out sentences that are labeled right with each penalty."""
        features = Features(normalized).fit(train.sides)
        rows = features.transform(train.sides)
        held_out_rows = features.transform(held_out.sides)
        path = self._scaled(features).path(rows, train.labels)
        counts = self.validated[number, normalized]
        for penalty, (_, model) in zip(self.classifier.ordered, path, strict=True):
            correct = model.predict(held_out_rows) == held_out.labels
            counts[penalty] += int(correct.sum())


# -- folds -----------------------------------------------------------------------------


def deal(
    labels: np.ndarray,
    folds: int,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """The fold of each sentence, int64[n], from 0 on.

    Groups are shuffled, ordered by the label of their first member, and dealt out in
    turn like cards, so the sizes of folds differ by one group at most, and so do the
    numbers of groups of each class. (StratifiedGroupKFold of scikit-learn balances
    mixed groups better, but takes seconds.)

    Parameters
    ----------
    labels : int[n] or str[n]
    groups : int[n], optional
        Equal for sentences that must be in one fold; a negative number stands for a
        group of its own.

    Raises
    ------
    InputError
        A class with members in fewer groups than there are folds.
    """
    in_range("folds", folds, 2, 10**6)
    groups = np.arange(len(labels)) if groups is None else stats.clusters(groups)
    fewest = smallest_class(labels, groups)
    if fewest < folds:
        raise InputError(
            f"labels: a class has {fewest} members in different groups; "
            f"give {folds} or more, or fewer folds"
        )
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    shuffled = rng.permutation(len(first))
    in_turn = shuffled[np.argsort(labels[first][shuffled], kind="stable")]
    fold = np.empty(len(first), np.int64)
    fold[in_turn] = np.arange(len(first)) % folds
    return fold[member]


def smallest_class(labels: np.ndarray, groups: np.ndarray) -> int:
    """In how many groups the rarest class has members."""
    return int(pd.Series(groups).groupby(labels).nunique().min())
