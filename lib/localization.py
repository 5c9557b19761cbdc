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
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from lib.corpora.closure import groups_from_pairs
from lib.run.errors import InputError
from lib.vectors import Embeddings, narrow

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
TOLERANCE = 1e-4  # of LIBLINEAR's dual solver; with 0.01 close decisions are still open
ITERATIONS = 100_000  # a bound that is not reached; C = 100 takes up to some 5,000
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
        What the prediction is the highest of; groups in rising order of their labels.
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
    """scikit-learn's LinearSVC without its warning of many groups."""

    def fit(
        self, X: Embeddings, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> SVM:
        """As in scikit-learn."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes")
            return super().fit(X, y, sample_weight)


def svm(*steps: Any, C: float = 1.0, scale: bool = True) -> Pipeline:
    """LIBLINEAR's linear SVM, behind other steps.

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
    first = [OneScale()] if scale else []
    solver = {"dual": True, "tol": TOLERANCE, "max_iter": ITERATIONS, "random_state": 0}
    return make_pipeline(*first, *steps, SVM(C=C, class_weight="balanced", **solver))


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
        Penalty of the SVM. Of several, such as `GRID`, each fold takes the best in
        folds inside its training sentences.
    scale : bool
        As for `svm`.

    Raises
    ------
    InputError
        A group with fewer sentences than folds.
    """
    labels = np.asarray(labels)
    penalties = np.atleast_1d(C)
    least = np.unique(labels, return_counts=True)[1].min()
    if least < folds and not halves:
        raise InputError(
            f"labels: a group has {least} sentences; "
            f"give {folds} or more of each, or fewer folds"
        )
    model = svm(*steps, C=penalties[0], scale=scale)
    if len(penalties) > 1:
        inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
        model = GridSearchCV(model, {"svm__C": penalties}, cv=inner)
    outer = StratifiedKFold(folds, shuffle=True, random_state=seed)
    if halves:
        outer = PredefinedSplit(np.arange(len(labels)) * 2 // len(labels))
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "The least populated class|The number of unique classes"
        )
        scores = cross_val_predict(
            model, double(vectors), labels, cv=outer, method="decision_function"
        )
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    predictions = np.unique(labels)[scores.argmax(axis=1)]
    accuracy = float((predictions == labels).mean())
    return Classified(accuracy, predictions, scores)


def double(vectors: Embeddings) -> Embeddings:
    """In float64 and with index arrays of int32, as LIBLINEAR takes them."""
    if sp.issparse(vectors):
        return narrow(sp.csr_array(vectors, dtype=np.float64))
    return np.asarray(vectors, np.float64)
