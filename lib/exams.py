"""Exams for sentence embedders: sets of rated pairs (STS, SICK, Lee), and how answers are scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lib import tasks
from lib.embedders.base import Embedder
from lib.run.errors import InputError
from lib.similarity import cosine


class Exam(ABC):
    """What an embedder answers with numbers, one an item, and how the answers are scored.

    Attributes
    ----------
    name : str; a set of pairs, such as "STS12 MSRpar"
    task : str, what the set belongs to, such as "STS12"
    measure : str, of the score: higher is better
    """

    name: str
    task: str
    measure: str

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

    @abstractmethod
    def answers(self, embedder: Embedder, fitted_on: str | Sequence[str]) -> np.ndarray:
        """float64[items]. An embedder that learns from text learns it here: from what `fitted_on` says."""

    @abstractmethod
    def scores(self, answers: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """float64[r, c]: the score of each column of float[items, c] under each row of weights, float[r, items]."""

    def draws(self, rng: np.random.Generator, repetitions: int) -> np.ndarray:
        """How often each resample of a bootstrap draws each item, float64[repetitions, items]."""
        return rng.multinomial(len(self), np.full(len(self), 1 / len(self)), repetitions).astype(np.float64)


@dataclass(eq=False)
class RatedPairs(Exam):
    """Pairs of texts with people's ratings; the answers are cosines, the score is Pearson's correlation.

    `ids` are the items that pairs are of, where pairs share items: then items are drawn, and with them their pairs.
    """

    name: str
    task: str
    left: list[str]
    right: list[str]
    gold: np.ndarray
    ids: np.ndarray | None = None
    measure: str = "Pearson"

    def __len__(self) -> int:
        return len(self.gold)

    def answers(self, embedder: Embedder, fitted_on: str | Sequence[str] = "set") -> np.ndarray:
        both = self.left + self.right
        if fitted_on == "sides":
            left, right = embedder.fit_encode(self.left), embedder.fit_encode(self.right)
        else:
            vectors = embedder.fit(both if fitted_on == "set" else fitted_on).encode(both)
            left, right = np.split(vectors, 2)
        return cosine(left, right)

    def draws(self, rng: np.random.Generator, repetitions: int) -> np.ndarray:
        if self.ids is None:
            return super().draws(rng, repetitions)
        items = rng.multinomial(self.ids.max() + 1, np.full(self.ids.max() + 1, 1 / (self.ids.max() + 1)), repetitions)
        return (items[:, self.ids[:, 0]] * items[:, self.ids[:, 1]]).astype(np.float64)

    def scores(self, answers: np.ndarray, draws: np.ndarray) -> np.ndarray:
        return pearson(answers, self.gold, draws)


# -- the exams there are ------------------------------------------------------------------------


def rated(names: Sequence[str], split: str = "test") -> list[RatedPairs]:
    """The sets of rated pairs (`lib.tasks`), a year of STS as one exam a file (subset).

    Raises InputError for a set without ratings, for none, and as `lib.tasks.load` does.
    """
    exams = []
    for name in names:
        task = tasks.load(name, split)
        if not isinstance(task, tasks.PairTask) or task.score is None:
            raise InputError(f"task_names: {name!r} has no rated pairs; give Lee, WS353, STS12 ... STS15, SICK-R")
        whole = not name.startswith("STS1")
        files = np.full(len(task), name) if whole else np.array([f"{name} {file}" for file in task.genre])
        exams += [_of_file(name, str(file), task, np.flatnonzero(files == file)) for file in dict.fromkeys(files)]
    return exams


def _of_file(name: str, file: str, task: tasks.PairTask, rows: np.ndarray) -> RatedPairs:
    left, right = ([side[i] for i in rows] for side in (task.left, task.right))
    ids = None if task.ids is None else np.array(task.ids)[rows]
    return RatedPairs(file, name, left, right, task.score[rows], ids)


# -- measures -----------------------------------------------------------------------------------


def pearson(columns: np.ndarray, gold: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """float64[r, c]: Pearson's correlation of each column with `gold` under each row of weights.

    Parameters
    ----------
    columns : float[n, c]
    gold : float[n]
    draws : float[r, n], how often each row counts

    NaN under weights that leave a column, or `gold`, constant. Raises InputError where they are constant as they stand.
    """
    x, y = columns - columns.mean(axis=0), (gold - gold.mean())[:, None]
    if not y.any() or not x.any(axis=0).all():
        raise InputError("pearson: gold scores or similarities are all the same; give at least two that differ")
    total = draws.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):  # weights of 0 throughout
        mean_x, mean_y = draws @ x / total, draws @ y / total
        covariance = draws @ (x * y) / total - mean_x * mean_y
        return covariance / np.sqrt(_variance(x, mean_x, draws / total) * _variance(y, mean_y, draws / total))


def _variance(values: np.ndarray, mean: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The weighted variance of each column; NaN where it is nothing but rounding."""
    square = shares @ values**2
    variance = square - mean**2
    return np.where(variance > 1e-12 * square, variance, np.nan)
