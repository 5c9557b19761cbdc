"""The classifiers of `lib.transfer`, each with the penalties that it chooses from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lib.vectors import Embeddings

ITERATIONS = 1000  # of L-BFGS, at most


@dataclass(frozen=True)
class Classifier:
    """A kind of classifier with the penalties that it chooses from.

    Of equally good penalties, the strongest is chosen. They are L2, larger is stronger,
    and are multiplied by the number of features, as if the variances of all features
    summed to 1; `lib.similarity.Features` scales them to a mean of 1.
    """

    fit: ClassVar[Callable[..., Any]]
    penalties: Sequence[float]

    @property
    def ordered(self) -> list[float]:
        """The penalties, the strongest first."""
        return sorted(self.penalties, reverse=True)

    def path(
        self, features: Embeddings, labels: np.ndarray
    ) -> Iterator[tuple[float, Any]]:
        """Each penalty with a model trained on float[n, d] and labels [n].

        Vectors are dense or CSR. A model is good until the next.
        """
        for penalty in self.ordered:
            yield penalty, self.fit(features, labels, penalty)


@dataclass(frozen=True)
class Logistic(Classifier):
    """Logistic regression, multinomial for more than two classes.

    The intercept has no penalty. L-BFGS in float32 goes from the strongest penalty to
    the weakest, each fit starting where the last one ended. That costs a tenth of fits
    from zero in float64, and the predictions differ in one sentence of a thousand or
    so.
    """

    penalties: Sequence[float] = (10, 3, 1, 0.3, 0.1, 0.01, 0.001)

    def path(
        self, features: Embeddings, labels: np.ndarray
    ) -> Iterator[tuple[float, Any]]:
        """As in `Classifier.path`."""
        from sklearn.linear_model import LogisticRegression

        features = features.astype(np.float32)
        model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
        for penalty in self.ordered:
            model.C = 1 / (penalty * features.shape[1])
            yield penalty, model.fit(features, labels)

    def fit(self, features: Embeddings, labels: np.ndarray, penalty: float) -> Any:
        """The model that the path reaches at a penalty."""
        for reached, model in self.path(features, labels):
            if reached == penalty:
                return model
        raise ValueError(f"{penalty} is not one of {self.penalties}")


@dataclass(frozen=True)
class SVM(Classifier):
    """Linear SVM (LIBLINEAR: squared hinge, one class against the rest)."""

    penalties: Sequence[float] = (100, 10, 1, 0.1, 0.01)

    def fit(self, features: Embeddings, labels: np.ndarray, penalty: float) -> Any:
        """A model with one penalty."""
        from sklearn.svm import LinearSVC

        # LIBLINEAR's own tolerance is 1e-2; scikit-learn's 1e-4 takes five times as
        # long as 1e-3 for the same labels.
        C = 1 / (penalty * features.shape[1])
        model = LinearSVC(C=C, dual=False, tol=1e-3, max_iter=ITERATIONS)
        return model.fit(features.astype(np.float64), labels)
