"""The classifiers that the papers put on top of embeddings, each with the settings that it chooses from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lib.embedders.base import Embeddings
from lib.run.errors import InputError

ITERATIONS = 1000  # of a linear classifier's solver, at most
BATCH = 128  # sentences that the multi-layer perceptron takes a step by
PATIENCE = 5, 100  # it ends after so many epochs, and so many steps, without progress: an epoch may be few steps
RATE = 0.003  # of Adam; its usual 0.001 gives up too early on a thousand sentences, 0.01 is worse on ten thousand
LONGEST = 20  # times its patience, after which it has not converged
HELD_OUT = 0.1  # of its training data, to see progress by


class Setting(NamedTuple):
    """What is chosen for a classifier: the strength of its penalty, and for a perceptron the size of its layer."""

    penalty: float
    hidden: int | None = None


class Classifier(ABC):
    """A kind of classifier with the settings that it chooses from, of equally good ones the first.

    Penalties are L2, larger is stronger. Those of the two linear ones are divided by the number of features, as if the
    variances of all features together were 1; `lib.similarity.Features` has seen to it that their mean is 1.
    """

    def __init__(self, penalties: Sequence[float], hidden: Sequence[int | None] = (None,)) -> None:
        if not len(penalties) or not min(penalties) > 0 or not len(hidden) or 0 in hidden:
            raise InputError(f"penalties, hidden: {penalties}, {hidden}; give penalties above 0 and sizes of 1 or more")
        strong_to_weak = sorted(map(float, penalties), reverse=True)
        self.settings = [Setting(penalty, size) for size in hidden for penalty in strong_to_weak]

    @abstractmethod
    def fit(self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int) -> Any:
        """A trained model with ``predict``, from float[n, d], dense or CSR, and the labels [n]."""

    def path(self, features: Embeddings, labels: np.ndarray, seed: int) -> Iterator[tuple[Setting, Any]]:
        """A trained model for each setting, good until the next is asked for."""
        for setting in self.settings:
            yield setting, self.fit(features, labels, setting, seed)


class Logistic(Classifier):
    """Logistic regression, multinomial for more than two classes; the intercept has no penalty.

    L-BFGS in float32 goes from the strongest penalty to the weakest, each fit starting where the last one ended. That
    costs a tenth of fits from zero in float64, and the predictions differ in one sentence of a thousand or so.
    """

    def __init__(self, penalties: Sequence[float] = (10, 3, 1, 0.3, 0.1, 0.01, 0.001)) -> None:
        super().__init__(penalties)

    def path(self, features: Embeddings, labels: np.ndarray, seed: int) -> Iterator[tuple[Setting, Any]]:
        from sklearn.linear_model import LogisticRegression

        features = features.astype(np.float32)
        model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
        for setting in self.settings:
            model.C = 1 / (setting.penalty * features.shape[1])
            yield setting, model.fit(features, labels)

    def fit(self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int) -> Any:
        return next(model for reached, model in self.path(features, labels, seed) if reached == setting)


class SVM(Classifier):
    """Linear support vector machine (LIBLINEAR: squared hinge, one class against the rest)."""

    def __init__(self, penalties: Sequence[float] = (100, 10, 1, 0.1, 0.01)) -> None:
        super().__init__(penalties)

    def fit(self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int) -> Any:
        from sklearn.svm import LinearSVC

        # LIBLINEAR's own tolerance is 1e-2; scikit-learn's 1e-4 takes five times as long as 1e-3 for the same labels.
        model = LinearSVC(C=1 / (setting.penalty * features.shape[1]), dual=False, tol=1e-3, max_iter=ITERATIONS)
        return model.fit(features.astype(np.float64), labels)


class MLP(Classifier):
    """Multi-layer perceptron with one hidden layer of rectified linear units, trained by Adam.

    A tenth of the training data is held out, and training ends when its accuracy rises no more (`PATIENCE`);
    where a tenth cannot hold every class, the training loss is watched instead.
    """

    def __init__(self, penalties: Sequence[float] = (1, 0.01), hidden: Sequence[int] = (50, 200)) -> None:
        super().__init__(penalties, hidden)

    def fit(self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int) -> Any:
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


CLASSIFIERS = {"logistic": Logistic, "svm": SVM, "mlp": MLP}
