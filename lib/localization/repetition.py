"""The classification with several seeds: results of one model, of models together, and of models side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lib.embedders.base import Embeddings
from lib.localization.classification import classify
from lib.localization.results import Result, interval, scored
from lib.run import progress
from lib.run.errors import InputError


@dataclass(frozen=True, eq=False)
class Repeated:
    """Results of several seeds, which deal the same sentences out to other folds.

    Attributes
    ----------
    results : of each seed
    accuracy, low, high : float in [0, 1], the mean over seeds and folds, and its interval over groups
    fold_std : float, standard deviation over the folds of a seed, averaged over seeds
    seed_std : float, standard deviation of the seeds' accuracies; None for one seed
    correct, weights : float64[n], as of a Result, over all seeds
    """

    results: tuple[Result, ...]
    accuracy: float
    low: float
    high: float
    fold_std: float
    seed_std: float | None
    correct: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)

    def row(self) -> dict[str, Any]:
        """Everything for a table's row; counts are of all seeds together, but for that of zero vectors."""
        first = self.results[0]
        return {
            "accuracy": self.accuracy,
            "low": self.low,
            "high": self.high,
            "fold_std": self.fold_std,
            "seed_std": self.seed_std,
            "zero_vectors": first.zero_vectors,
            "convergence_warnings": sum(result.convergence_warnings for result in self.results),
        }


def repeat(vectors: Embeddings, labels: Sequence[Any], seeds: Sequence[int] = (0, 1, 2), **options: Any) -> Repeated:
    """`classify` with each of several seeds; `options` are its own.

    Raises InputError for no seed, for one that is given twice, and as `classify` does.
    """
    if not len(seeds) or len(set(seeds)) < len(seeds):
        raise InputError(f"seeds: {list(seeds)} is not accepted; give at least one, and each once")
    results = [classify(vectors, labels, seed=seed, **options) for seed in seeds]
    return _together(results, {name: options[name] for name in ("repetitions", "confidence") if name in options})


def ensemble(*members: Repeated, **bounds: Any) -> Repeated:
    """Several models as one: a sentence belongs to the group with the highest sum of their scores (section 5.2).

    Parameters
    ----------
    members : results of the same sentences and seeds, each with one classifier for all members, and no swapped folds
    bounds : `repetitions`, `confidence` of the interval

    Raises InputError for members whose sentences, folds or seeds differ.
    """
    first = members[0].results
    for other in members[1:]:
        same = len(other.results) == len(first) and all(
            np.array_equal(a.fold, b.fold) and np.array_equal(a.labels, b.labels)
            for a, b in zip(first, other.results, strict=True)
        )
        if not same:
            raise InputError("members: their sentences, folds or seeds differ; give results of the same ones")
    together = []
    for results in zip(*(member.results for member in members), strict=True):
        one = results[0]
        groups, names = pd.factorize(one.labels)
        asked = [np.flatnonzero(one.fold == number) for number in range(one.fold.max() + 1)]
        total = sum(result.scores.astype(np.float64) for result in results)
        facts = {name: sum(getattr(r, name) for r in results) for name in ("zero_vectors", "convergence_warnings")}
        scores = [total[rows] for rows in asked]
        together.append(scored(scores, asked, groups, names, one.fold, one.seed, **bounds, C=one.C, **facts))
    return _together(together, bounds)


def _together(results: Sequence[Result], bounds: Mapping[str, Any]) -> Repeated:
    weights = sum(result.weights for result in results)
    correct = sum(result.correct * result.weights for result in results) / weights
    low, high = interval(correct, weights, pd.factorize(results[0].labels)[0], **bounds)
    accuracies = [result.accuracy for result in results]
    fold_std = float(np.mean([result.std for result in results]))
    seed_std = float(np.std(accuracies, ddof=1)) if len(results) > 1 else None
    return Repeated(tuple(results), float(np.mean(accuracies)), low, high, fold_std, seed_std, correct, weights)


def evaluate(
    models: Mapping[str, Embeddings],
    labels: Sequence[Any],
    seeds: Sequence[int] = (0, 1, 2),
    show_progress_bar: bool = True,
    **options: Any,
) -> dict[str, Repeated]:
    """`repeat` for each of several models' vectors of the same sentences, by name."""
    each = progress.track(list(models), "classification", "models", show_progress_bar)
    return {name: repeat(models[name], labels, seeds, **options) for name in each}


def summary(repeated: Mapping[str, Repeated]) -> pd.DataFrame:
    """A row for each name, best first, with the columns of `Repeated.row`."""
    table = pd.DataFrame({name: each.row() for name, each in repeated.items()}).T.rename_axis("model")
    counts = {"zero_vectors": int, "convergence_warnings": int}
    return table.astype(dict.fromkeys(table.columns, float) | counts).sort_values(
        "accuracy", ascending=False, kind="stable"
    )


def differences(
    repeated: Mapping[str, Repeated],
    pairs: Sequence[tuple[str, str]],
    repetitions: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """By how much the first of two is more accurate than the second, on the same drawn groups.

    All must be of the same sentences, folds and seeds. Returns columns a, b, difference, low, high, free of the noise
    of rounding: a bound that should be 0 is 0, and lies neither above nor below it.
    """
    rows = []
    for a, b in pairs:
        one, other = repeated[a], repeated[b]
        groups = pd.factorize(one.results[0].labels)[0]
        apart = one.correct - other.correct
        bounds = interval(apart, one.weights, groups, repetitions, confidence, seed)
        rows.append((a, b, *np.round([one.accuracy - other.accuracy, *bounds], 12)))
    return pd.DataFrame(rows, columns=["a", "b", "difference", "low", "high"])
