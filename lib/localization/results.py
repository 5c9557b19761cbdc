"""What the classification of one seed returns, and the interval of an accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lib import stats


@dataclass(frozen=True, eq=False)
class Result:
    """How well groups are told apart.

    Attributes
    ----------
    accuracy : float in [0, 1], the mean over folds
    low, high : float, its percentile bootstrap interval; groups are drawn, with all of their sentences
    std : float, standard deviation of the folds' accuracies
    fold_accuracies : float64[folds]
    predictions : label[n], of each sentence when it was not trained on (with swapped folds: the last of several)
    correct : float64[n] in [0, 1], the share of those times that it was right; 0 or 1 unless folds are swapped
    weights : float64[n], what a sentence counts in the mean over folds
    labels : label[n], as given
    scores : float32[n, groups], what `predictions` are the highest of; groups in the order in which `labels` name them
    fold : int64[n], that each sentence was dealt to
    C : float of each fold, as chosen
    seed, zero_vectors, convergence_warnings : int
    """

    accuracy: float
    low: float
    high: float
    std: float
    fold_accuracies: np.ndarray
    predictions: np.ndarray = field(repr=False)
    correct: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    fold: np.ndarray = field(repr=False)
    C: tuple[float, ...]
    seed: int
    zero_vectors: int
    convergence_warnings: int


def scored(
    scores: Sequence[np.ndarray],
    asked: Sequence[np.ndarray],
    groups: np.ndarray,
    names: np.ndarray,
    fold: np.ndarray,
    seed: int,
    repetitions: int = 1000,
    confidence: float = 0.95,
    **facts: Any,
) -> Result:
    """The result of the scores, float[asked, groups], that each fold's test sentences `asked` have got.

    `groups` are the sentences' groups as numbers, `names` what the numbers stand for.
    """
    hits, weights = np.zeros(len(groups)), np.zeros(len(groups))
    said, every = np.zeros(len(groups), np.int64), np.zeros((len(groups), len(names)), np.float32)
    accuracies = np.zeros(len(asked))
    for number, (rows, own) in enumerate(zip(asked, scores, strict=True)):
        said[rows], every[rows] = own.argmax(axis=1), own
        right = said[rows] == groups[rows]
        accuracies[number] = right.mean()
        hits[rows] += right / len(rows)
        weights[rows] += 1 / len(rows)
    correct, names = hits / weights, np.asarray(names)
    low, high = interval(correct, weights, groups, repetitions, confidence, seed)
    mean, std = float(accuracies.mean()), float(accuracies.std(ddof=1))
    return Result(
        mean, low, high, std, accuracies, names[said], correct, weights, names[groups], every, fold, seed=seed, **facts
    )


def interval(
    values: np.ndarray,
    weights: np.ndarray,
    groups: np.ndarray,
    repetitions: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """The bootstrap interval of a weighted mean over sentences; groups are drawn."""
    rng = np.random.default_rng(seed)
    low, high = stats.bootstrap_mean(values[:, None], rng, groups, weights, repetitions, confidence)
    return float(low[0]), float(high[0])
