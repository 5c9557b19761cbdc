"""Accuracy of a classifier on frozen embeddings, by cross-validation or on official splits.

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
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lib import stats, tasks
from lib.embedders.base import Embeddings
from lib.run import arrays, progress
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.similarity import Features, Vectors, counted
from lib.tasks import ClassificationTask, PairTask
from lib.transfer.classifiers import CLASSIFIERS, Classifier, Setting
from lib.transfer.folds import check_classes, checked_labels, deal, smallest_class

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
    classifier : str
    accuracy, low, high : float
        In [0, 1]: the mean over folds and its bootstrap interval over test sentences, or over groups where there are
        any; the bounds are NaN without a `sampling`.
    f1 : float or None
        In [0, 1], of the class with the higher code, over all test sentences; None for more than two classes.
    folds : int
        1 for official splits.
    choices : sequence of Choice
        One for each fold.
    convergence_warnings : int
        Fits that have not converged, those of the search for settings among them.
    predicted : [n]
        Label of each test sentence, in the order given.
    correct : bool[n]
    """

    classifier: str
    accuracy: float
    low: float
    high: float
    f1: float | None
    folds: int
    choices: Sequence[Choice]
    convergence_warnings: int
    predicted: np.ndarray = field(repr=False)
    correct: np.ndarray = field(repr=False)

    @property
    def penalty(self) -> float:
        """The penalty that most folds chose; of equally common ones the strongest."""
        counts = Counter(choice.setting.penalty for choice in self.choices)
        return max(counts, key=lambda penalty: (counts[penalty], penalty))

    @property
    def normalized(self) -> float:
        """The share of folds that chose to z-normalize, in [0, 1]."""
        return float(np.mean([choice.normalized for choice in self.choices]))

    def row(self) -> dict[str, Any]:
        """Everything for a table's row, the same from run to run."""
        names = "classifier accuracy low high f1 folds penalty normalized convergence_warnings"
        return {name: getattr(self, name) for name in names.split()}


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
    show_progress_bar: bool = False,
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
    shown = f"{run.classifier.name}, folds"
    for number in progress.track(range(folds), shown, unit="folds", show=show_progress_bar):
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
        self.warnings = 0

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
        with counted() as warned, threadpool_limits(1):
            choice = self._choose(validation, seed)
            features = Features(choice.normalized).fit(train.vectors)
            model = self.classifier.fit(features.transform(train.vectors), train.labels, choice.setting, seed)
            predicted = model.predict(features.transform(vectors))
        self.choices.append(choice)
        self.warnings += warned.count
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
        from sklearn.metrics import f1_score

        correct = gold == predicted
        # So weighted, the mean over sentences is the mean over folds, whatever their sizes.
        share = correct * len(fold) / ((fold.max() + 1) * np.bincount(fold)[fold])
        low = high = np.nan
        if self.options.sampling:
            _, low, high = stats.bootstrap(stats.mean, share, sampling=self.options.sampling, clusters=groups)
        classes = np.union1d(gold, predicted)
        f1 = float(f1_score(gold, predicted, pos_label=classes[1])) if len(classes) == 2 else None
        outcome = float(share.mean()), low, high, f1, int(fold.max()) + 1, tuple(self.choices), self.warnings
        return Result(self.classifier.name, *outcome, predicted=predicted, correct=correct)


def _checked(name: str, vectors: Vectors, labels: np.ndarray) -> Labelled:
    labels = checked_labels(labels)
    sides = [arrays.matrix(name, side) for side in (vectors if isinstance(vectors, tuple) else (vectors,))]
    shapes = {side.shape for side in sides}
    if len(shapes) > 1 or sides[0].shape[0] != len(labels):
        raise InputError(f"{name}: vectors of shape {shapes} for {len(labels)} labels; give a row for each label")
    if not all(np.isfinite(side.data if sp.issparse(side) else side).all() for side in sides):
        raise InputError(f"{name}: the vectors hold NaN or infinity; give finite numbers")
    return Labelled(tuple(sides) if isinstance(vectors, tuple) else sides[0], labels)
