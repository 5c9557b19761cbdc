"""Semantic localization: whether sentences with the same meaning lie together.

They should also lie apart from all other sentences.

"How Well Sentence Embeddings Capture Meaning", section 3.3: a linear SVM learns from
some sentences of each group of equal meaning, and predicts the groups of the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from lib.base.compiled import njit
from lib.base.environment import single_threaded
from lib.base.errors import InputError
from lib.corpora.closure import groups_from_pairs
from lib.vectors import Embeddings, as_matrix, check_finite, dense, narrow

__all__ = [
    "GRID",
    "Classified",
    "OneScale",
    "classify",
    "double",
    "groups_from_pairs",
    "svm",
]

# Penalties; beyond, separable groups get the same planes.
GRID = (0.1, 1.0, 10.0, 100.0)
TOLERANCE = 1e-4  # LIBLINEAR's; with 0.01 close decisions are still open
ITERATIONS = 100_000  # turns; far more than any set here needs
LARGEST = 20_000  # training sentences, whose products take 3.2 GB
ORDERS = 37  # random ones, in which sentences take turns
INNER_FOLDS = 2  # a group of three leaves two sentences to learn from


class Classified(NamedTuple):
    """Predictions of a cross-validated classifier.

    Attributes
    ----------
    accuracy : float
        In [0, 1], over all sentences.
    predictions : label[n]
        Of each sentence, by the classifier that has not seen it.
    scores : float64[n, groups]
        Decision values, the highest of which is predicted; groups sorted by label.
    """

    accuracy: float
    predictions: np.ndarray
    scores: np.ndarray


class OneScale(TransformerMixin, BaseEstimator):
    """Center vectors, and divide all by their root mean square distance.

    Sparse vectors are not centered. The dimensions keep their proportions. One penalty
    C is then as strict with short vectors as with long ones.
    """

    def fit(self, X: Embeddings, y: object = None) -> OneScale:
        """Measure mean and distance."""
        columns = StandardScaler(with_mean=False).fit(X)
        self.mean_ = 0 if sp.issparse(X) else columns.mean_
        self.distance_ = np.sqrt(columns.var_.sum()) or 1.0
        return self

    def transform(self, X: Embeddings) -> Embeddings:
        """Move and divide."""
        return (X - self.mean_) / self.distance_


class SVM(LinearSVC):
    """scikit-learn's LinearSVC, solved by inner products: faster with many groups.

    More than `LARGEST` training sentences are left to scikit-learn.
    """

    def fit(self, X: Embeddings, y: np.ndarray) -> SVM:
        """As in scikit-learn, with groups weighted alike."""
        if len(y) > LARGEST:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The number of unique classes")
                return super().fit(X, y)
        self.classes_, groups = np.unique(y, return_inverse=True)
        sizes = np.bincount(groups)
        penalties = self.C * len(groups) / (len(sizes) * sizes)
        # LIBLINEAR weights the other side only if that is one group.
        others = penalties[::-1] if len(sizes) == 2 else np.full(len(sizes), self.C)
        # The offset is learned like the weight of a dimension that is always 1.
        products = np.ascontiguousarray(dense(X @ X.T) + 1.0)
        rng = np.random.default_rng(0)
        orders = np.array([rng.permutation(len(groups)) for _ in range(ORDERS)])
        weights, converged = _weights(
            products, groups, 0.5 / penalties, 0.5 / others, orders
        )
        if not converged:
            warnings.warn(
                f"no convergence after {ITERATIONS:,} turns: choose a smaller C",
                ConvergenceWarning,
                stacklevel=2,
            )
        if len(sizes) == 2:
            weights = weights[1:]
        self.coef_ = (X.T @ weights.T).T
        self.intercept_ = weights.sum(axis=1)
        return self


@njit
def _weights(
    products: np.ndarray,
    groups: np.ndarray,
    own: np.ndarray,
    other: np.ndarray,
    orders: np.ndarray,
) -> tuple[np.ndarray, bool]:
    """The weights of sentences in the normal vectors of planes, float64[groups, n].

    The second value says whether all planes converged. By dual coordinate descent
    (Hsieh et al., 2008). `own` and `other` are what each group's plane adds to a
    sentence's product with itself, for its own sentences and for the others.
    """
    found = np.zeros((len(own), len(groups)))
    converged = 0
    for group in range(len(own)):
        weights = found[group]
        values = np.zeros(len(groups))  # of the plane's function, for each sentence
        sides = np.where(groups == group, 1.0, -1.0)
        added = np.where(groups == group, own[group], other[group])
        for turn in range(ITERATIONS):
            # Sentences without weight keep none for three turns out of four.
            everyone = turn % 4 == 0
            steepest = 0.0
            for row in orders[turn % len(orders)]:
                weight = sides[row] * weights[row]
                if weight == 0 and not everyone:
                    continue
                slope = sides[row] * values[row] - 1 + added[row] * weight
                if weight == 0 and slope >= 0:
                    continue
                steepest = max(steepest, abs(slope))
                better = max(0.0, weight - slope / (products[row, row] + added[row]))
                step = sides[row] * (better - weight)
                weights[row] = sides[row] * better
                for place in range(len(values)):
                    values[place] += step * products[row, place]
            if everyone and steepest < TOLERANCE:
                converged += 1
                break
    return found, converged == len(own)


def svm(*steps: Any, C: float = 1.0, scale: bool = True) -> Pipeline:
    """A linear SVM behind other steps: the planes that LIBLINEAR finds.

    Squared hinge, one group against the rest, groups weighted alike.

    Parameters
    ----------
    *steps : scikit-learn transformers
        Between scale and SVM, such as a projection.
    C : float
        Penalty; larger fits the training sentences more closely.
    scale : bool
        Whether vectors are first brought to one scale (`OneScale`).
    """
    first = OneScale() if scale else "passthrough"
    # For sets that scikit-learn solves.
    solver = {"tol": TOLERANCE, "max_iter": ITERATIONS, "random_state": 0}
    return make_pipeline(first, *steps, SVM(C=C, class_weight="balanced", **solver))


def classify(
    vectors: Embeddings,
    labels: Sequence[Any],
    *steps: Any,
    folds: int = 3,
    halves: bool = False,
    seed: int = 0,
    C: float | Sequence[float] = 1.0,
    scale: bool = True,
) -> Classified:
    """How well a linear SVM tells a sentence's group from its vector (section 3.3).

    The sentences of a group have the same meaning.

    Parameters
    ----------
    vectors : float[n, d]
        Dense or CSR.
    labels : [n] of int or str
        The group of each sentence.
    *steps : scikit-learn transformers
        Fitted like scale and SVM on the training sentences alone.
    folds : int
        Of cross-validation; every group is spread evenly over them.
    halves : bool
        Whether the first half of the rows and the second are the two folds instead: two
        translations, say.
    seed : int
        Of the folds.
    C : float or sequence of float
        Penalty of the SVM. If several are given, such as `GRID`, each fold uses the one
        that is best in folds within its training sentences.
    scale : bool
        As for `svm`.

    Returns
    -------
    Classified

    Raises
    ------
    InputError
        Vectors that are not finite or not one for each label, fewer than two groups,
        or a group with fewer sentences than folds.

    Examples
    --------
    >>> from lib.localization import classify
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1, 2], 6)
    >>> vectors = np.eye(3)[labels] + 0.1 * rng.normal(size=(18, 3))
    >>> classify(vectors, labels).accuracy
    1.0
    """
    labels = np.asarray(labels)
    penalties = np.atleast_1d(C)
    vectors = double(as_matrix("vectors", vectors))
    check_finite("vectors", vectors)
    if vectors.shape[0] != len(labels):
        raise InputError(
            f"labels: {len(labels)} for {vectors.shape[0]} vectors; "
            "give one for each vector"
        )
    if len(np.unique(labels)) < 2:
        raise InputError("labels: fewer than two groups; give two or more")
    least = np.unique(labels, return_counts=True)[1].min()
    if least < folds and not halves:
        raise InputError(
            f"labels: a group has {least} sentences; "
            f"give {folds} or more of each, or fewer folds"
        )
    model = svm(*steps, C=penalties[0], scale=scale)
    outer = StratifiedKFold(folds, shuffle=True, random_state=seed)
    if halves:
        outer = PredefinedSplit(np.arange(len(labels)) * 2 // len(labels))
    groups = np.unique(labels)
    scores = np.full((len(labels), len(groups)), np.finfo(float).min)
    with warnings.catch_warnings(), single_threaded():
        warnings.filterwarnings("ignore", "The least populated class")
        for train, test in outer.split(vectors, labels):
            known = vectors[train], labels[train]
            best = clone(model)
            if len(penalties) > 1:
                best.set_params(svm__C=_best(model, penalties, *known, seed))
            values = best.fit(*known).decision_function(vectors[test])
            if values.ndim == 1:
                values = np.column_stack([-values, values])
            scores[np.ix_(test, np.isin(groups, best.classes_))] = values
    predictions = groups[scores.argmax(axis=1)]
    accuracy = float((predictions == labels).mean())
    return Classified(accuracy, predictions, scores)


def _best(
    model: Pipeline,
    penalties: np.ndarray,
    vectors: Embeddings,
    labels: np.ndarray,
    seed: int,
) -> float:
    """The penalty that is right most often in folds, the first of several."""
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
    accuracies = []
    for train, test in folds.split(vectors, labels):
        steps = clone(model[:-1]).fit(vectors[train], labels[train])
        known = steps.transform(vectors[train])
        asked = steps.transform(vectors[test])
        for C in penalties:
            machine = clone(model[-1]).set_params(C=C).fit(known, labels[train])
            accuracies.append(np.mean(machine.predict(asked) == labels[test]))
    means = np.mean(np.reshape(accuracies, (INNER_FOLDS, -1)), axis=0)
    return penalties[means.argmax()]


def double(vectors: Embeddings) -> Embeddings:
    """In float64 and, if sparse, with index arrays of int32."""
    if sp.issparse(vectors):
        return narrow(sp.csr_array(vectors, dtype=np.float64))
    return np.asarray(vectors, np.float64)


def spread(vectors: Embeddings, labels: np.ndarray) -> np.ndarray:
    """Squared distances of sentences and of their groups, float64[n, 2].

    First from each sentence to its group's mean, then from that to the mean of all.
    """
    rows = pd.DataFrame(dense(vectors).astype(np.float64))
    means = rows.groupby(labels).transform("mean")
    parts = [rows - means, means - rows.mean()]
    return np.column_stack([(part**2).sum(axis=1) for part in parts])
