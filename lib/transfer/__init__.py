"""Transfer: what a classifier learns from frozen embeddings, by cross-validation or on official splits.

"Pitfalls in the Evaluation of Sentence Embeddings", sections 2 and 3; "Unsupervised Learning of Sentence Embeddings
using Compositional n-Gram Features", section 4.

Nothing of a fold's test sentences is seen before they are labelled: normalization, penalty and size are chosen inside
the training sentences. What an embedder was fitted on is another matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lib import stats, tasks
from lib.embedders.base import Embeddings
from lib.run import arrays
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of
from lib.similarity import Features, Vectors, quiet
from lib.tasks import ClassificationTask, PairTask
from lib.transfer.classifiers import CLASSIFIERS, MLP, SVM, Classifier, Logistic, Setting

__all__ = [
    "MLP",
    "OFFICIAL",
    "SVM",
    "Choice",
    "Logistic",
    "Options",
    "Result",
    "cross_validate",
    "deal",
    "on_task",
    "train_test",
]

VALIDATION_FOLDS = 10  # of which one is held out where `inner_folds` is 1

# Sets that come with splits; all others are cross-validated.
OFFICIAL = {
    "TREC": ("train", "test"),
    "MRPC": ("train", "test"),
    "SST2": ("train", "dev", "test"),
    "SST5": ("train", "dev", "test"),
    "SICK-E": ("train", "dev", "test"),
}


class Choice(NamedTuple):
    """What was chosen inside a fold's training data: whether to z-normalize, and the classifier's setting."""

    normalized: bool
    setting: Setting


@dataclass(frozen=True, eq=False)
class Result:
    """How well a classifier does on frozen embeddings.

    Attributes
    ----------
    accuracy, low, high : float
        In [0, 1]: the mean over folds and its bootstrap interval over test sentences, or over groups where there are
        any; the bounds are NaN without a `sampling`.
    choices : sequence of Choice
        One for each fold.
    predicted : [n]
        Label of each test sentence, in the order given.
    correct : bool[n]
    """

    accuracy: float
    low: float
    high: float
    choices: Sequence[Choice]
    predicted: np.ndarray = field(repr=False)
    correct: np.ndarray = field(repr=False)


class Labelled(NamedTuple):
    """Embeddings, float[n, d] or CSR or a tuple of two such for pairs, and labels; any such pair will do."""

    vectors: Vectors
    labels: np.ndarray

    def rows(self, some: np.ndarray) -> Labelled:
        """Some of the sentences or pairs."""
        if isinstance(self.vectors, tuple):
            return Labelled(tuple(side[some] for side in self.vectors), self.labels[some])
        return Labelled(self.vectors[some], self.labels[some])


class Options(NamedTuple):
    """What both kinds of evaluation take.

    Attributes
    ----------
    classifier : str or Classifier
        "logistic", "svm", "mlp", or one with settings of your own.
    normalize : sequence of bool
        Which to choose from: embeddings as they are (False), z-normalized (True).
    inner_folds : int
        Settings are chosen by so many folds inside the training data, but no more than the rarest class has members;
        1: by one tenth of it, held out (a fifth of the time of 5, and noisier choices).
    seed : int
        Of folds, of validation sets, of a perceptron's weights.
    sampling : Sampling, optional
        Of the interval; None for none.
    """

    classifier: str | Classifier = "logistic"
    normalize: Sequence[bool] = (False, True)
    inner_folds: int = 5
    seed: int = 0
    sampling: stats.Sampling | None = stats.Sampling()


def cross_validate(
    vectors: Vectors,
    labels: np.ndarray,
    *,
    folds: int = 10,
    groups: np.ndarray | None = None,
    **options: Any,
) -> Result:
    """Nested cross-validation: each fold is labelled by a classifier that was chosen and trained on the others.

    Parameters
    ----------
    vectors : float[n, d], dense or CSR, or a tuple of two
        Two for pairs, of which the classifier sees ``[|u - v|, u * v]``.
    labels : int[n] or str[n]
    groups : int[n], optional
        Sentences that must stay in one fold, in the inner folds too; a negative number stands alone.
    **options
        `Options`.

    Raises
    ------
    InputError
        Rows and labels that do not match, NaN, a class with fewer members (groups) than folds, vectors all alike.
    """
    run = _Run(Options(**options))
    data = _checked("vectors", vectors, labels)
    fold = deal(data.labels, folds, np.random.default_rng(run.options.seed), groups)
    predicted = np.empty_like(data.labels)
    for number in range(folds):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        inner = None if groups is None else np.asarray(groups)[inside]
        train = data.rows(inside)
        validation = run.validation(train, inner, number)
        predicted[outside] = run.predict(train, validation, data.rows(outside).vectors, number)
    return run.result(data.labels, predicted, fold, groups)


def train_test(
    train: tuple[Vectors, np.ndarray],
    test: tuple[Vectors, np.ndarray],
    dev: tuple[Vectors, np.ndarray] | None = None,
    **options: Any,
) -> Result:
    """Official splits: chosen on dev, or without one by folds inside the training data; trained on train; one test.

    Parameters
    ----------
    train, test, dev : tuple
        Embeddings (a tuple of two for pairs) and labels of each split.
    **options
        `Options`.

    Raises
    ------
    InputError
        Rows and labels that do not match, a class with one member, a label that the training split does not have.
    """
    run = _Run(Options(**options))
    known, tested = _checked("train", *train), _checked("test", *test)
    check_classes(known.labels, 2, np.arange(len(known.labels)))
    strange = np.setdiff1d(tested.labels, known.labels)
    if len(strange):
        raise InputError(f"test: has the label {strange[0]}, which train does not have; give splits of one task")
    validation = run.validation(known, None, 0) if dev is None else [(known, _checked("dev", *dev))]
    predicted = run.predict(known, validation, tested.vectors, 0)
    return run.result(tested.labels, predicted, np.zeros(len(predicted), np.int64), None)


def on_task(
    task: str | ClassificationTask | PairTask,
    encode: Callable[[Sequence[str]], Embeddings],
    *,
    folds: int = 10,
    **options: Any,
) -> Result:
    """Evaluate on a labelled set: by its official splits (`OFFICIAL`) if it has any, else by cross-validation.

    Parameters
    ----------
    task : str, ClassificationTask or PairTask
        A name of `lib.tasks`; or a task, which is cross-validated.
    encode : callable
        From sentences to embeddings, such as ``partial(store.embed, embedder)``. It is called once, with the sentences
        of all splits; an embedder that it fits on them is transductive.
    folds : int
        Of cross-validation, which keeps the groups of a task together if it has any.
    **options
        `Options`.

    Raises
    ------
    InputError
        A task of pairs that have scores and no labels.
    """
    splits = OFFICIAL.get(task) if isinstance(task, str) else None
    parts = [tasks.load(task, split) for split in splits or ("all",)] if isinstance(task, str) else [task]
    sides = [(part.left, part.right) if isinstance(part, PairTask) else (part.sentences,) for part in parts]
    labels = [part.label if isinstance(part, PairTask) else part.labels for part in parts]
    if any(each is None for each in labels):
        raise InputError("task: its pairs have scores and no labels; lib.similarity is for those")
    vectors = encode([sentence for part in sides for side in part for sentence in side])
    ends = np.cumsum([0, *(len(side) for part in sides for side in part)])
    pieces = (vectors[start:end] for start, end in pairwise(ends))
    encoded = [tuple(next(pieces) for _ in part) for part in sides]
    data = [(each if len(each) > 1 else each[0], known) for each, known in zip(encoded, labels, strict=True)]
    if splits:
        train, *dev, test = data
        return train_test(train, test, *dev, **options)
    return cross_validate(*data[0], folds=folds, groups=getattr(parts[0], "groups", None), **options)


class _Run:
    """One evaluation: what it was asked for, what it has chosen, and how its fits went."""

    def __init__(self, options: Options) -> None:
        self.options = options
        named = isinstance(options.classifier, str)
        self.classifier = options.classifier
        if named:
            self.classifier = CLASSIFIERS[one_of("classifier", options.classifier, CLASSIFIERS)]()
        if not len(options.normalize):
            raise InputError("normalize: is empty; give (False, True), (False,) or (True,)")
        self.choices: list[Choice] = []

    def validation(self, train: Labelled, groups: np.ndarray | None, number: int) -> Iterator[tuple]:
        """What to train on and what to validate by, one after the other, inside the training data."""
        rng = np.random.default_rng([self.options.seed, number])
        held_out = self.options.inner_folds == 1
        wanted = VALIDATION_FOLDS if held_out else self.options.inner_folds
        fold = deal(train.labels, max(2, min(wanted, smallest_class(train.labels, groups))), rng, groups)
        for inner in range(1 if held_out else fold.max() + 1):
            yield train.rows(np.flatnonzero(fold != inner)), train.rows(np.flatnonzero(fold == inner))

    def predict(self, train: Labelled, validation: Iterable[tuple], vectors: Vectors, number: int) -> np.ndarray:
        """Choose by `validation`, train on all of `train`, and label `vectors`."""
        seed = int(np.random.SeedSequence([self.options.seed, number]).generate_state(1)[0])
        # One thread: products of a matrix and a vector wait for memory, not for cores, and the sums stay the same.
        with quiet(), threadpool_limits(1):
            choice = self._choose(validation, seed)
            features = Features(choice.normalized).fit(train.vectors)
            model = self.classifier.fit(features.transform(train.vectors), train.labels, choice.setting, seed)
            predicted = model.predict(features.transform(vectors))
        self.choices.append(choice)
        return predicted

    def _choose(self, validation: Iterable[tuple], seed: int) -> Choice:
        """The choice with the most validation sentences labelled right; the first of equally good ones."""
        candidates = [Choice(z, setting) for z in self.options.normalize for setting in self.classifier.settings]
        if len(candidates) == 1:
            return candidates[0]
        right: Counter[Choice] = Counter()
        for train, held_out in validation:
            for normalized in self.options.normalize:
                features = Features(normalized).fit(train.vectors)
                known, asked = features.transform(train.vectors), features.transform(held_out.vectors)
                for setting, model in self.classifier.path(known, train.labels, seed):
                    right[Choice(normalized, setting)] += int((model.predict(asked) == held_out.labels).sum())
        return max(candidates, key=right.__getitem__)

    def result(self, gold: np.ndarray, predicted: np.ndarray, fold: np.ndarray, groups: np.ndarray | None) -> Result:
        """What has come out: gold and predicted labels [n], the fold int[n] and the group int[n] of each sentence."""
        correct = gold == predicted
        # So weighted, the mean over sentences is the mean over folds, whatever their sizes.
        share = correct * len(fold) / ((fold.max() + 1) * np.bincount(fold)[fold])
        low = high = np.nan
        if self.options.sampling:
            _, low, high = stats.bootstrap(stats.mean, share, sampling=self.options.sampling, clusters=groups)
        return Result(float(share.mean()), low, high, tuple(self.choices), predicted, correct)


def _checked(name: str, vectors: Vectors, labels: np.ndarray) -> Labelled:
    labels = checked_labels(labels)
    sides = [arrays.matrix(name, side) for side in (vectors if isinstance(vectors, tuple) else (vectors,))]
    shapes = {side.shape for side in sides}
    if len(shapes) > 1 or sides[0].shape[0] != len(labels):
        raise InputError(f"{name}: vectors of shape {shapes} for {len(labels)} labels; give a row for each label")
    if not all(np.isfinite(side.data if sp.issparse(side) else side).all() for side in sides):
        raise InputError(f"{name}: the vectors hold NaN or infinity; give finite numbers")
    return Labelled(tuple(sides) if isinstance(vectors, tuple) else sides[0], labels)


# -- folds ------------------------------------------------------------------------------------------


def deal(labels: np.ndarray, folds: int, rng: np.random.Generator, groups: np.ndarray | None = None) -> np.ndarray:
    """The fold of each sentence, int64[n], from 0 on.

    Groups are shuffled, ordered by the label of their first member, and dealt out in turn like cards, so that sizes of
    folds differ by one group at most, and so do a class's shares of them. (StratifiedGroupKFold of scikit-learn
    balances mixed groups better, in seconds where this takes none.)

    Parameters
    ----------
    labels : float[n] or str[n]
    groups : int[n], optional
        Equal for sentences that must be in one fold; a negative number stands for a group of its own.

    Raises
    ------
    InputError
        Fewer than two classes, or a class with fewer members (in different groups) than there are folds.
    """
    in_range("folds", folds, 2, 10**6)
    _, first, member = np.unique(_members(labels, groups), return_index=True, return_inverse=True)
    check_classes(labels, folds, member)
    shuffled = rng.permutation(len(first))
    in_turn = shuffled[np.argsort(labels[first][shuffled], kind="stable")]
    fold = np.empty(len(first), np.int64)
    fold[in_turn] = np.arange(len(first)) % folds
    return fold[member]


def checked_labels(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array [n] that can be put in order; InputError for NaN, missing ones and such as cannot."""
    try:
        found = np.asarray(labels)
        if found.dtype.kind == "O" and found.ndim == 1:
            np.sort(found)
    except (TypeError, ValueError) as error:
        raise InputError("labels: are not of one kind; give numbers, or text, one for each sentence") from error
    if found.ndim != 1 or (found != found).any():
        raise InputError("labels: hold NaN, or more than one for a sentence; give one for each sentence")
    return found


def check_classes(labels: np.ndarray, least: int, member: np.ndarray) -> None:
    """Raise InputError unless there are two classes or more, each with members in `least` groups, int[n]."""
    counts = pd.Series(member).groupby(labels).nunique()
    if len(counts) < 2:
        raise InputError(f"labels: are of {len(counts)} classes; give two classes or more")
    if counts.min() < least:
        what = "members" if len(np.unique(member)) == len(member) else "groups"
        raise InputError(
            f"labels: class {counts.idxmin()} has too few {what} ({counts.min()}) to train and test on; "
            f"give {least} or more of each class, or fewer folds"
        )


def smallest_class(labels: np.ndarray, groups: np.ndarray | None = None) -> int:
    """In how many groups the rarest class has members."""
    return int(pd.Series(_members(labels, groups)).groupby(labels).nunique().min())


def _members(labels: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    if groups is None:
        return np.arange(len(labels))
    if len(groups) != len(labels):
        raise InputError(f"groups: {len(groups)} for {len(labels)} labels; give one for each")
    return stats.clusters(groups)
