"""What an evaluation returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lib import stats
from lib.transfer.classifiers import Setting


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
    accuracy : float in [0, 1], the mean over folds
    low, high : float, its percentile bootstrap interval over test sentences (over groups where there are any)
    std : float, standard deviation of the folds' accuracies; None where there is one fold
    f1 : float in [0, 1], of the class with the higher code, over all test sentences together; None for more than two
        classes, and where neither gold nor predicted labels have that class
    f1_low, f1_high : float, its interval; None as `f1`, and where a resample may lack that class
    folds : int, 1 for official splits
    choices : a Choice for each fold
    convergence_warnings : int, fits that have not converged, those of the search for settings among them
    seed : int
    predicted : label of each test sentence, in the order given
    correct : bool[n]
    seconds : float; no part of `row`, for it differs from run to run
    """

    classifier: str
    accuracy: float
    low: float
    high: float
    std: float | None
    f1: float | None
    f1_low: float | None
    f1_high: float | None
    folds: int
    choices: Sequence[Choice]
    convergence_warnings: int
    seed: int
    predicted: np.ndarray = field(repr=False)
    correct: np.ndarray = field(repr=False)
    seconds: float

    @property
    def penalty(self) -> float:
        """The penalty that most folds chose; of equally common ones the strongest."""
        return _commonest([choice.setting.penalty for choice in self.choices])

    @property
    def hidden(self) -> int | None:
        """The size of the hidden layer that most folds chose, the larger of equally common ones; None without one."""
        sizes = [choice.setting.hidden for choice in self.choices]
        return None if sizes[0] is None else _commonest(sizes)

    @property
    def normalized(self) -> float:
        """The share of folds that chose to z-normalize, in [0, 1]."""
        return float(np.mean([choice.normalized for choice in self.choices]))

    def row(self) -> dict[str, Any]:
        """Everything for a table's row, the same from run to run."""
        names = [*Scores._fields, "folds", "penalty", "hidden", "normalized", "convergence_warnings", "seed"]
        return {"classifier": self.classifier} | {name: getattr(self, name) for name in names}


def _commonest(values: Sequence[float]) -> float:
    counts = Counter(values)
    return max(counts, key=lambda value: (counts[value], value))


class Scores(NamedTuple):
    """Accuracy and F1 with their intervals; the fields are those of Result."""

    accuracy: float
    low: float
    high: float
    std: float | None
    f1: float | None
    f1_low: float | None
    f1_high: float | None


def scores(
    gold: np.ndarray,
    predicted: np.ndarray,
    fold: np.ndarray,
    groups: np.ndarray | None,
    seed: int,
    repetitions: int,
    confidence: float,
) -> Scores:
    """Accuracy as the mean over folds, F1 over all together."""
    correct = (gold == predicted).astype(np.float64)
    sizes = np.bincount(fold)
    by_fold = np.bincount(fold, correct) / sizes
    weights = 1 / sizes[fold]  # so that what is resampled is the mean over folds, whatever their sizes

    def interval(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        rng = np.random.default_rng(seed)
        low, high = stats.bootstrap_mean(values[:, None], rng, groups, weights, repetitions, confidence)
        return float(low[0]), float(high[0])

    std = float(by_fold.std(ddof=1)) if len(by_fold) > 1 else None
    accuracy = (float(by_fold.mean()), *interval(correct, weights), std)
    classes = np.union1d(gold, predicted)
    if len(classes) != 2:
        return Scores(*accuracy, None, None, None)
    # F1 = 2 TP / (2 TP + FP + FN) is the mean of "true positive" with a weight of 2 TP + FP + FN of each sentence.
    positive = classes[1]
    weights = (gold == positive).astype(np.float64) + (predicted == positive)
    hits = ((gold == positive) & (predicted == positive)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        low, high = interval(hits, weights)
    known = np.isfinite([low, high]).all()
    return Scores(*accuracy, float(hits @ weights / weights.sum()), *((low, high) if known else (None, None)))
