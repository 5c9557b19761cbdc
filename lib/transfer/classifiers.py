"""The classifiers of `lib.transfer`, each with the settings that it chooses from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lib.vectors import Embeddings

ITERATIONS = 1000  # of L-BFGS, at most

# The multi-layer perceptron. It stops after so many epochs and so many steps without
# progress, since an epoch may be a few steps only.
BATCH = 128  # sentences a step
PATIENT_EPOCHS = 5
PATIENT_STEPS = 100
# Adam's usual rate of 0.001 gives up too early on a thousand sentences, and 0.01 is
# worse on ten thousand.
RATE = 0.003
LONGEST = 20  # times the patience; by then it has not converged
HELD_OUT = 0.1  # share of the training data that shows the progress


class Setting(NamedTuple):
    """The strength of a penalty and, for a perceptron, its layer's size.

    Both are chosen for a classifier.
    """

    penalty: float
    hidden: int | None = None


@dataclass(frozen=True)
class Classifier:
    """A kind of classifier with the settings that it chooses from.

    Of equally good settings, the first is chosen. Penalties are L2, larger is stronger.
    Those of the two linear ones are multiplied by the number of features, as if the
    variances of all features summed to 1; `lib.similarity.Features` scales them to a
    mean of 1.
    """

    fit: ClassVar[Callable[..., Any]]
    penalties: Sequence[float]
    hidden: Sequence[int | None] = (None,)

    @property
    def settings(self) -> list[Setting]:
        """The settings, the strongest penalty first."""
        penalties = sorted(self.penalties, reverse=True)
        return [Setting(penalty, size) for size in self.hidden for penalty in penalties]

    def path(
        self, features: Embeddings, labels: np.ndarray, seed: int
    ) -> Iterator[tuple[Setting, Any]]:
        """Each setting with a model trained on float[n, d] and labels [n].

        Vectors are dense or CSR. A model is good until the next.
        """
        for setting in self.settings:
            yield setting, self.fit(features, labels, setting, seed)


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
        self, features: Embeddings, labels: np.ndarray, seed: int
    ) -> Iterator[tuple[Setting, Any]]:
        """As in `Classifier.path`."""
        from sklearn.linear_model import LogisticRegression

        features = features.astype(np.float32)
        model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
        for setting in self.settings:
            model.C = 1 / (setting.penalty * features.shape[1])
            yield setting, model.fit(features, labels)

    def fit(
        self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int
    ) -> Any:
        """The model that the path reaches at a setting."""
        for reached, model in self.path(features, labels, seed):
            if reached == setting:
                return model
        raise ValueError(f"{setting} is not one of {self.settings}")


@dataclass(frozen=True)
class SVM(Classifier):
    """Linear SVM (LIBLINEAR: squared hinge, one class against the rest)."""

    penalties: Sequence[float] = (100, 10, 1, 0.1, 0.01)

    def fit(
        self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int
    ) -> Any:
        """A model with one setting."""
        from sklearn.svm import LinearSVC

        # LIBLINEAR's own tolerance is 1e-2; scikit-learn's 1e-4 takes five times as
        # long as 1e-3 for the same labels.
        C = 1 / (setting.penalty * features.shape[1])
        model = LinearSVC(C=C, dual=False, tol=1e-3, max_iter=ITERATIONS)
        return model.fit(features.astype(np.float64), labels)


@dataclass(frozen=True)
class MLP(Classifier):
    """A perceptron with one hidden layer of rectified linear units, trained by Adam.

    A tenth of the training data is held out, and training ends when its accuracy rises
    no more; where a tenth cannot hold every class, the training loss is watched
    instead.
    """

    penalties: Sequence[float] = (1, 0.01)
    hidden: Sequence[int] = (50, 200)

    def fit(
        self, features: Embeddings, labels: np.ndarray, setting: Setting, seed: int
    ) -> Any:
        """A model with one setting."""
        from sklearn.neural_network import MLPClassifier

        counts = np.unique(labels, return_counts=True)[1]
        held_out = bool(counts.min() >= 2 and HELD_OUT * len(labels) >= len(counts))
        known = len(labels)
        if held_out:
            known -= int(np.ceil(HELD_OUT * len(labels)))
        steps_an_epoch = -(-known // BATCH)
        patience = max(PATIENT_EPOCHS, PATIENT_STEPS // steps_an_epoch)
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
