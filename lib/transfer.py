"""Transfer: what a classifier learns from frozen embeddings, by cross-validation or on official splits.

"Pitfalls in the Evaluation of Sentence Embeddings", sections 2 and 3; "Unsupervised Learning of Sentence Embeddings
using Compositional n-Gram Features", section 4.

Nothing of a fold's test sentences is seen before they are labelled: normalization, penalty and size are chosen inside
the training sentences. What an embedder was fitted on is another matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from lib import stats, tasks
from lib.embedders.base import Embeddings
from lib.run.errors import InputError
from lib.run.parameters import in_range
from lib.similarity import ITERATIONS, Features, Sides, checked
from lib.tasks import PairTask, Task

# -- classifiers ------------------------------------------------------------------------------------

BATCH = 128  # sentences that the multi-layer perceptron takes a step by
PATIENCE = 5, 100  # it ends after so many epochs, and so many steps, without progress: an epoch may be few steps
RATE = 0.003  # of Adam; its usual 0.001 gives up too early on a thousand sentences, 0.01 is worse on ten thousand
LONGEST = 20  # times its patience, after which it has not converged
HELD_OUT = 0.1  # of its training data, to see progress by


class Setting(NamedTuple):
    """What is chosen for a classifier: the strength of its penalty, and for a perceptron the size of its layer."""

    penalty: float
    hidden: int | None = None


@dataclass(frozen=True)
class Classifier:
    """A kind of classifier with the settings that it chooses from, of equally good ones the first.

    Penalties are L2, larger is stronger. Those of the two linear ones are divided by the number of features, as if the
    variances of all features together were 1; `lib.similarity.Features` has seen to it that their mean is 1.
    """

    penalties: Sequence[float]
    hidden: Sequence[int | None] = (None,)

    @property
    def settings(self) -> list[Setting]:
        """The settings, the strongest penalty first."""
        return [Setting(penalty, size) for size in self.hidden for penalty in sorted(self.penalties, reverse=True)]

    def path(self, features: Embeddings, labels: np.ndarray, seed: int) -> Iterator[tuple[Setting, Any]]:
        """Each setting with a model trained on float[n, d], dense or CSR, and labels [n]; it is good until the next."""
        for setting in self.settings:
            yield setting, self.fit(features, labels, setting, seed)


@dataclass(frozen=True)
class Logistic(Classifier):
    """Logistic regression, multinomial for more than two classes; the intercept has no penalty.

    L-BFGS in float32 goes from the strongest penalty to the weakest, each fit starting where the last one ended. That
    costs a tenth of fits from zero in float64, and the predictions differ in one sentence of a thousand or so.
    """

    penalties: Sequence[float] = (10, 3, 1, 0.3, 0.1, 0.01, 0.001)

    def path(self, features: Embeddings, labels: np.ndarray, seed: int) -> Iterator[tuple[Setting, Any]]:
        """As of any classifier."""
        from sklearn.linear_model import LogisticRegression

        features = features.astype(np.float32)
        model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
        for setting in self.settings:
            model.C = 1 / (setting.penalty * features.shape[1])
            yield setting, model.fit(features, labels)

    def fit(self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int) -> Any:
        """The model that the path reaches at a setting."""
        return next(model for reached, model in self.path(features, labels, seed) if reached == setting)


@dataclass(frozen=True)
class SVM(Classifier):
    """Linear support vector machine (LIBLINEAR: squared hinge, one class against the rest)."""

    penalties: Sequence[float] = (100, 10, 1, 0.1, 0.01)

    def fit(self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int) -> Any:
        """A model with one setting."""
        from sklearn.svm import LinearSVC

        # LIBLINEAR's own tolerance is 1e-2; scikit-learn's 1e-4 takes five times as long as 1e-3 for the same labels.
        model = LinearSVC(C=1 / (setting.penalty * features.shape[1]), dual=False, tol=1e-3, max_iter=ITERATIONS)
        return model.fit(features.astype(np.float64), labels)


@dataclass(frozen=True)
class MLP(Classifier):
    """Multi-layer perceptron with one hidden layer of rectified linear units, trained by Adam.

    A tenth of the training data is held out, and training ends when its accuracy rises no more (`PATIENCE`);
    where a tenth cannot hold every class, the training loss is watched instead.
    """

    penalties: Sequence[float] = (1, 0.01)
    hidden: Sequence[int] = (50, 200)

    def fit(self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int) -> Any:
        """A model with one setting."""
        from sklearn.neural_network import MLPClassifier

        counts = np.unique(labels, return_counts=True)[1]
        held_out = bool(counts.min() >= 2 and HELD_OUT * len(labels) >= len(counts))
        known = len(labels) - (int(np.ceil(HELD_OUT * len(labels))) if held_out else 0)
        epochs, steps = PATIENCE
        patience = max(epochs, steps // -(-known // BATCH))
        model = MLPClassifier(
            hidden_layer_sizes=(setting.hidden,),
            alpha=setting.penalty,
            learning_rate_init=RATE,
            batch_size=min(BATCH, known),
            max_iter=LONGEST * patience,
            early_stopping=held_out,
            validation_fraction=HELD_OUT,
            n_iter_no_change=patience,
            random_state=seed,
        )
        return model.fit(features.astype(np.float32), labels)


# -- evaluation -------------------------------------------------------------------------------------

VALIDATION_FOLDS = 10  # of which one is held out where `inner_folds` is 1


class Result(NamedTuple):
    """How well a classifier does on frozen embeddings.

    Attributes
    ----------
    accuracy : float
        In [0, 1], the mean over folds. Its interval: ``stats.bootstrap(stats.mean, result.correct, ...)``.
    choices : list of (bool, Setting)
        For each fold what was chosen inside its training data: whether to z-normalize, and the classifier's setting.
    predicted : [n]
        Label of each test sentence, in the order given.
    correct : bool[n]
    """

    accuracy: float
    choices: Sequence[tuple[bool, Setting]]
    predicted: np.ndarray
    correct: np.ndarray


class Labelled(NamedTuple):
    """Embeddings of n sentences, or of the two sides of n pairs, their labels [n] and groups int[n]."""

    sides: Sides
    labels: np.ndarray
    groups: np.ndarray

    def rows(self, some: np.ndarray) -> Labelled:
        """Some of the sentences or pairs."""
        return Labelled([side[some] for side in self.sides], self.labels[some], self.groups[some])


Vectors = Embeddings | tuple[Embeddings, Embeddings]
Split = tuple[Vectors, np.ndarray]  # with its labels


def labelled(name: str, vectors: Vectors, labels: np.ndarray, groups: np.ndarray | None = None) -> Labelled:
    """What is evaluated; InputError for vectors that are not finite numbers, or not one for each label."""
    sides = checked(name, *(vectors if isinstance(vectors, tuple) else (vectors,)))
    labels = np.asarray(labels)
    groups = np.arange(len(labels)) if groups is None else stats.clusters(groups)
    if not sides[0].shape[0] == len(labels) == len(groups):
        counts = f"{sides[0].shape[0]} rows, {len(labels)} labels and {len(groups)} groups"
        raise InputError(f"{name}: has {counts}; give one of each for each sentence")
    return Labelled(sides, labels, groups)


def evaluate(splits: Sequence[Split], *, folds: int = 10, groups: np.ndarray | None = None, **options: Any) -> Result:
    """How well a classifier labels what it has not seen.

    One split is cross-validated: each fold is labelled by a classifier that was chosen and trained on the others. Of
    two or three, it is trained on the first and labels the last, and is chosen on the one between, or by folds inside
    of the first.

    Parameters
    ----------
    splits : list of (vectors, labels)
        All; or train and test; or train, dev and test. Vectors are float[n, d], dense or CSR, or a tuple of two for
        pairs, of which the classifier sees ``[|u - v|, u * v]``; labels are int[n] or str[n].
    folds : int
        Of cross-validation.
    groups : int[n], optional
        Of one split: sentences that must stay in one fold, in the inner folds too; a negative number stands alone.
    **options
        Those of `Evaluation`.

    Raises
    ------
    InputError
        Rows and labels that do not match, NaN, a class with fewer members (groups) than folds, vectors all alike.
    """
    run = Evaluation(**options)
    if len(splits) > 1:
        train, *dev, test = (labelled("vectors", *split) for split in splits)
        validation = [(train, each) for each in dev] or run.inside(train, 0)
        fold, predicted = np.zeros(len(test.labels)), run.predict(train, validation, test, 0)
    else:
        test = labelled("vectors", *splits[0], groups)
        fold = deal(test.labels, folds, np.random.default_rng(run.seed), test.groups)
        predicted = np.empty_like(test.labels)
        for number in range(folds):
            train, rest = test.rows(fold != number), test.rows(fold == number)
            predicted[fold == number] = run.predict(train, run.inside(train, number), rest, number)
    correct = predicted == test.labels
    return Result(float(pd.Series(correct).groupby(fold).mean().mean()), run.choices, predicted, correct)


def on_task(name: str, encode: Callable[[Sequence[str]], Embeddings], **options: Any) -> Result:
    """Evaluate on a labelled set: by its official splits if it has any, else by cross-validation.

    Parameters
    ----------
    name : str
        Of `lib.tasks`: sentences with classes, or pairs with labels. Its groups stay in one fold.
    encode : callable
        From sentences to embeddings, such as ``partial(store.embed, embedder)``. It is called once, with the sentences
        of all splits; an embedder that it fits on them is transductive.
    **options
        Those of `evaluate`.
    """
    return on_splits([tasks.load(name, split) for split in tasks.splits(name)], encode, **options)


def on_splits(parts: Sequence[Task], encode: Callable[[Sequence[str]], Embeddings], **options: Any) -> Result:
    """The same of a set's splits: all, or train, dev (if there is one) and test."""
    pairs = isinstance(parts[0], PairTask)
    sides = [side for part in parts for side in ((part.left, part.right) if pairs else (part.sentences,))]
    vectors = encode([sentence for side in sides for sentence in side])
    ends = np.cumsum([len(side) for side in sides])
    pieces = iter([vectors[end - len(side) : end] for side, end in zip(sides, ends, strict=True)])
    data = [((next(pieces), next(pieces)), part.label) if pairs else (next(pieces), part.labels) for part in parts]
    return evaluate(data, groups=getattr(parts[0], "groups", None), **options)


@dataclass
class Evaluation:
    """How a classifier is chosen and trained, and what was chosen.

    Attributes
    ----------
    classifier : Classifier
        `Logistic`, `SVM` or `MLP`, with settings of your own or its usual ones.
    normalize : sequence of bool
        Which to choose from: embeddings as they are (False), z-normalized (True).
    inner_folds : int
        Settings are chosen by so many folds inside the training data, but no more than the rarest class has members;
        1: by one tenth of it, held out (a fifth of the time of 5, and noisier choices).
    seed : int
        Of folds, of validation sets, of a perceptron's weights.
    choices : list
        As of `Result`.
    """

    classifier: Classifier = Logistic()
    normalize: Sequence[bool] = (False, True)
    inner_folds: int = 5
    seed: int = 0
    choices: list[tuple[bool, Setting]] = field(default_factory=list)

    def predict(self, train: Labelled, validation: Iterable[tuple], test: Labelled, number: int) -> np.ndarray:
        """Choose by `validation`, train on all of `train`, and label `test`."""
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        # One thread: products of a matrix and a vector wait for memory, not for cores, and the sums stay the same.
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning), threadpool_limits(1):
            normalized, setting = self._choice(validation, seed)
            features = Features(normalized).fit(train.sides)
            model = self.classifier.fit(features.transform(train.sides), train.labels, setting, seed)
            self.choices.append((normalized, setting))
            return model.predict(features.transform(test.sides))

    def inside(self, train: Labelled, number: int) -> Iterator[tuple[Labelled, Labelled]]:
        """What to train on and what to validate by, one after the other, inside the training data."""
        held_out = self.inner_folds == 1
        wanted = VALIDATION_FOLDS if held_out else self.inner_folds
        folds = max(2, min(wanted, smallest_class(train.labels, train.groups)))
        fold = deal(train.labels, folds, np.random.default_rng([self.seed, number]), train.groups)
        for inner in range(1 if held_out else folds):
            yield train.rows(fold != inner), train.rows(fold == inner)

    def _choice(self, validation: Iterable[tuple], seed: int) -> tuple[bool, Setting]:
        """The choice with the most validation sentences labelled right; the first of equally good ones."""
        right = dict.fromkeys(product(self.normalize, self.classifier.settings), 0)
        if len(right) == 1:
            return next(iter(right))
        for train, held_out in validation:
            for normalized in self.normalize:
                features = Features(normalized).fit(train.sides)
                rows, tested = features.transform(train.sides), features.transform(held_out.sides)
                for setting, model in self.classifier.path(rows, train.labels, seed):
                    right[normalized, setting] += int((model.predict(tested) == held_out.labels).sum())
        return max(right, key=right.__getitem__)


# -- folds ------------------------------------------------------------------------------------------


def deal(labels: np.ndarray, folds: int, rng: np.random.Generator, groups: np.ndarray | None = None) -> np.ndarray:
    """The fold of each sentence, int64[n], from 0 on.

    Groups are shuffled, ordered by the label of their first member, and dealt out in turn like cards, so that sizes of
    folds differ by one group at most, and so do a class's shares of them. (StratifiedGroupKFold of scikit-learn
    balances mixed groups better, in seconds where this takes none.)

    Parameters
    ----------
    labels : int[n] or str[n]
    groups : int[n], optional
        Equal for sentences that must be in one fold; a negative number stands for a group of its own. InputError for a
        class with members in fewer groups than there are folds.
    """
    in_range("folds", folds, 2, 10**6)
    groups = np.arange(len(labels)) if groups is None else stats.clusters(groups)
    fewest = smallest_class(labels, groups)
    if fewest < folds:
        raise InputError(f"labels: a class has {fewest} members in different groups; give {folds} or fewer folds")
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    shuffled = rng.permutation(len(first))
    in_turn = shuffled[np.argsort(labels[first][shuffled], kind="stable")]
    fold = np.empty(len(first), np.int64)
    fold[in_turn] = np.arange(len(first)) % folds
    return fold[member]


def smallest_class(labels: np.ndarray, groups: np.ndarray) -> int:
    """In how many groups the rarest class has members."""
    return int(pd.Series(groups).groupby(labels).nunique().min())
