"""What learns from some sentences of each group what the group is: a linear SVM, centroids, the nearest sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib.embedders.base import Embeddings

TOLERANCE = 0.01  # of LIBLINEAR; with a hundredth of it fits take two to three times as long for the same accuracy
ITERATIONS = 1000

Weights = Mapping[int, float] | str | None


class Classifier(Protocol):
    """Learns from the vectors of sentences and the numbers of their groups, from 0 on, none of them missing."""

    def fit(self, vectors: Embeddings, groups: np.ndarray) -> Classifier:
        """Learn from float[n, d], dense or CSR, and int[n]; returns itself."""

    def scores(self, vectors: Embeddings) -> np.ndarray:
        """float64[n, groups], higher where a sentence more likely belongs to a group."""


class SVM:
    """LIBLINEAR's linear SVM: squared hinge, one group against the rest.

    In the dual: there are fewer sentences than groups times dimensions, and rows may be sparse. It takes the sentences
    in a random order that a seed of its own fixes; that order is the program's and not the thread's, so that two
    threads at once would not give the same weights twice.
    """

    def __init__(self, C: float, class_weight: Weights = None) -> None:
        from sklearn.svm import LinearSVC

        settings = {"dual": True, "tol": TOLERANCE, "max_iter": ITERATIONS, "random_state": 0}
        self.model = LinearSVC(C=C, class_weight=class_weight, **settings)

    def fit(self, vectors: Embeddings, groups: np.ndarray) -> SVM:
        """As `Classifier.fit`."""
        self.model.fit(vectors, groups)
        return self

    def scores(self, vectors: Embeddings) -> np.ndarray:
        """The distances from the planes, as `Classifier.scores`."""
        scores = self.model.decision_function(vectors)
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


class Centroid:
    """The cosine with the mean of each group's unit vectors."""

    def fit(self, vectors: Embeddings, groups: np.ndarray) -> Centroid:
        """As `Classifier.fit`."""
        from sklearn.preprocessing import normalize

        members = sp.csr_array((np.ones(len(groups)), (groups, np.arange(len(groups)))))
        self.centroids = members @ normalize(vectors)
        return self

    def scores(self, vectors: Embeddings) -> np.ndarray:
        """As `Classifier.scores`."""
        return _cosines(vectors, self.centroids)


class Nearest:
    """The cosine with the nearest sentence of each group."""

    def fit(self, vectors: Embeddings, groups: np.ndarray) -> Nearest:
        """As `Classifier.fit`."""
        order = np.argsort(groups, kind="stable")
        self.vectors, self.starts = vectors[order], np.searchsorted(groups[order], np.arange(groups.max() + 1))
        return self

    def scores(self, vectors: Embeddings) -> np.ndarray:
        """As `Classifier.scores`."""
        return np.maximum.reduceat(_cosines(vectors, self.vectors), self.starts, axis=1)


CLASSIFIERS: Mapping[str, Callable[[float, Weights], Classifier]] = {
    "svm": SVM,
    "centroid": lambda C, class_weight: Centroid(),
    "nearest": lambda C, class_weight: Nearest(),
}


def parting_lines(points: np.ndarray, groups: Sequence[Any], C: float = 1.0) -> pd.DataFrame:
    """The functions x * X + y * Y + offset of a linear SVM in the plane, to draw the lines where they are 0.

    Parameters
    ----------
    points : float[n, 2]
    groups : [n], names; of two groups the second is on the positive side of one line, of more each has a line

    Returns
    -------
    DataFrame with columns group, x, y, offset
    """
    model = SVM(C).fit(np.asarray(points, dtype=np.float64), np.asarray(groups)).model
    named = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    lines = np.column_stack([model.coef_, model.intercept_])
    return pd.DataFrame(lines, columns=["x", "y", "offset"]).assign(group=named)[["group", "x", "y", "offset"]]


def weights_of_2015(groups: np.ndarray) -> dict[int, float]:
    """What ``class_weight="auto"`` was in the scikit-learn of the paper's time: 1 / size, with a mean of 1 over groups.

    Today's "balanced" has a mean of 1 over sentences.
    """
    present, sizes = np.unique(groups, return_counts=True)
    shares = 1 / sizes
    return dict(zip(present.tolist(), (shares / shares.mean()).tolist(), strict=True))


def _cosines(vectors: Embeddings, others: Embeddings) -> np.ndarray:
    """float64[n, m]; 0 with a vector of zeros."""
    from sklearn.preprocessing import normalize

    products = normalize(vectors) @ normalize(others).T
    return products.toarray() if sp.issparse(products) else products
