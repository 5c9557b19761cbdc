"""Transfer tasks under several conditions (classifier, normalization), and what follows from the same draws for all.

"Pitfalls in the Evaluation of Sentence Embeddings", section 3, figure 2. A condition is what `lib.transfer.Options`
says; all embedders are tested on the same sentences of the same folds, so that resamples of them are paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import probing, stats
from lib.corpora import Corpus
from lib.embedders.base import Embeddings
from lib.evaluation import Encode
from lib.pitfalls.transfer_tasks import TransferTask
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.run.processes import in_processes
from lib.transfer import Result

Conditions = Mapping[str, Mapping[str, Any]]  # what each is called, and its options


class Resamples(NamedTuple):
    """How test sentences are drawn anew, and what interval is wanted; the same seed gives the same draws.

    Attributes
    ----------
    seed, repetitions : int
    confidence : float in (0, 1)
    """

    seed: int = 0
    repetitions: int = 1000
    confidence: float = 0.95

    @property
    def rng(self) -> np.random.Generator:
        """A generator that begins anew each time it is asked for."""
        return np.random.default_rng(self.seed)

    def interval(self, resampled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bounds low and high of resamples, which run along the first axis."""
        return stats.percentiles(resampled, self.confidence)


@dataclass(frozen=True, eq=False)
class Study:
    """Results of every embedder on every task under every condition.

    Attributes
    ----------
    tasks : by name
    results : for (embedder, task, condition)
    sizes : of each embedder's vectors; vocabulary-sized ones differ from text to text, and none does here
    """

    tasks: Mapping[str, TransferTask]
    results: Mapping[tuple[str, str, str], Result]
    sizes: Mapping[str, int]

    @property
    def embedders(self) -> list[str]:
        """Their names, in the order of the rows of tables."""
        return list(self.sizes)

    @property
    def conditions(self) -> list[str]:
        """Their names, in the order in which they were given."""
        return list(dict.fromkeys(condition for _, _, condition in self.results))

    def table(self) -> pd.DataFrame:
        """A row for each result: embedder, size, task, condition, and `lib.transfer.Result.row`."""
        rows = [
            {"embedder": embedder, "size": self.sizes[embedder], "task": task, "condition": condition} | result.row()
            for (embedder, task, condition), result in self.results.items()
        ]
        return pd.DataFrame(rows)

    def correct(self, task: str, condition: str) -> np.ndarray:
        """Which test sentences each embedder's classifier labels right, bool[n, embedders]."""
        one_of("condition", condition, self.conditions)
        return np.column_stack([self.results[name, task, condition].correct for name in self.embedders])

    def accuracies(self, condition: str) -> pd.DataFrame:
        """The share of test sentences labelled right: a row an embedder, a column a task."""
        columns = {task: self.correct(task, condition).mean(axis=0) for task in self.tasks}
        return pd.DataFrame(columns, index=self.embedders)

    def resampled(self, conditions: Sequence[str], draws: Resamples) -> np.ndarray:
        """Accuracy, mean over tasks, with test sentences drawn anew: float64[repetitions, conditions, embedders].

        Each task's sentences are drawn by themselves, those that say the same together; one draw serves all
        embedders and conditions.
        """
        rng, total = draws.rng, 0.0
        for name, task in self.tasks.items():
            correct = np.hstack([self.correct(name, condition) for condition in conditions]).astype(np.float64)
            groups = None if task.groups is None else task.groups[task.tested]
            total = total + stats.resampled_means(correct, rng, groups, repetitions=draws.repetitions)
        return (total / len(self.tasks)).reshape(draws.repetitions, len(conditions), -1)

    def differences(self, first: str, second: str, draws: Resamples) -> pd.DataFrame:
        """By how much the first condition is better, mean over tasks, in points of accuracy.

        Returns
        -------
        DataFrame indexed by embedder with columns mean, low, high; test sentences are drawn once for both conditions
        """
        mean = (self.accuracies(first) - self.accuracies(second)).mean(axis=1)
        both = self.resampled([first, second], draws)
        low, high = draws.interval(both[:, 0] - both[:, 1])
        return pd.DataFrame({"mean": 100 * mean, "low": 100 * low, "high": 100 * high})

    def normalized(self, condition: str) -> pd.Series:
        """The share of folds, over all tasks, in which a condition with a choice chose to normalize; by embedder."""
        return self.table().query("condition == @condition").groupby("embedder", sort=False)["normalized"].mean()

    def warnings(self) -> pd.DataFrame:
        """Fits that have not converged: condition, task, fits, embedders; empty if all have."""
        table = self.table().query("convergence_warnings > 0").groupby(["condition", "task"], sort=False)
        counted = table["convergence_warnings"].agg(["sum", "size"]).reset_index()
        return counted.rename(columns={"sum": "fits", "size": "embedders"})


def evaluate(
    encoders: Mapping[str, Encode],
    tasks: Mapping[str, TransferTask],
    conditions: Conditions,
    folds: int,
    seed: int,
    workers: int = 0,
    show_progress_bar: bool = True,
) -> Study:
    """Evaluate every embedder on every task under every condition.

    Parameters
    ----------
    encoders : by the names that tables show
    conditions : options of `lib.transfer.Options` for each name
    folds : of cross-validation
    seed : of folds, validation sets and classifiers
    workers : processes; 0 for one a core. Results do not depend on it.

    Raises InputError if there is no encoder or no condition.
    """
    if not encoders or not conditions:
        raise InputError("encoders and conditions: one of them is empty; give at least one of each")
    jobs = [(name, task) for name in encoders for task in tasks]
    sizes: dict[str, int] = {}

    def inputs() -> Iterator[tuple]:
        for name, task in jobs:
            vectors = encoders[name](tasks[task].sentences)
            sizes[name] = max(sizes.get(name, 0), vectors.shape[1])
            yield tasks[task], _in_memory(vectors), conditions, folds, seed

    results: dict[tuple[str, str, str], Result] = {}
    with progress.bar(len(jobs), "transfer tasks", unit="embedders x tasks", show=show_progress_bar) as bar:
        for (name, task), found in zip(jobs, in_processes(_under_all, inputs(), workers), strict=True):
            results |= {(name, task, condition): result for condition, result in found.items()}
            bar.update(1)
    return Study(tasks, results, sizes)


def _under_all(
    task: TransferTask, vectors: Embeddings, conditions: Conditions, folds: int, seed: int
) -> dict[str, Result]:
    """One embedder on one task; what is resampled later is resampled for all embedders together."""
    common = {"folds": folds, "seed": seed, "repetitions": 1}
    return {name: task.evaluate(vectors, **common, **options) for name, options in conditions.items()}


def _in_memory(vectors: Embeddings) -> Embeddings:
    return vectors if not isinstance(vectors, np.memmap) else np.asarray(vectors)


def out_of_corpus(encoders: Mapping[str, Encode], corpus: Corpus) -> dict[str, Encode]:
    """As the encoders, but what a corpus holds is taken out of the embeddings of the whole corpus, which are stored.

    Only sentences that the corpus does not have are encoded; of a text that has none of its sentences, all.
    """
    known = set(corpus.sentences)

    def looked_up(encode: Encode, sentences: Sequence[str]) -> Embeddings:
        if known.isdisjoint(sentences):
            return encode(sentences)
        return probing.reusing(corpus, encode(corpus.sentences), encode)(sentences)

    return {name: partial(looked_up, encode) for name, encode in encoders.items()}
