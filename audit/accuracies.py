"""Accuracy on transfer tasks under several classifiers.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019),
section 3, figures 1 to 3. The measures are in `lib.transfer` and `audit.probing`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from audit.senteval import SentEval, kept
from lib import embedders, stats, tasks, transfer
from lib.base import progress
from lib.base.cluster import in_processes
from lib.embedders.kinds import (
    POOLED_WORDS,
    RANDOM,
    STATIC_AVERAGE,
    WORD_COUNTS,
)
from lib.stats import Sampling
from lib.tasks import ClassificationTask

# Averages and bags of words, and random projections of them; all others are encoders.
SIMPLE = (WORD_COUNTS, STATIC_AVERAGE, POOLED_WORDS, RANDOM)
# One, which is cross-validated; or train, dev (if there is one) and test.
Splits = Sequence[ClassificationTask]
Options = Mapping[str, Any]  # of `lib.transfer.Evaluation`, or as for `SentEval`
Jobs = Mapping[str, tuple[Callable, Mapping[str, Options]]]


def is_simple(name: str) -> bool:
    """Whether an embedder counts words, averages vectors, or projects at random."""
    return embedders.kind(name).architecture in SIMPLE


def sentences(splits: Splits) -> list[str]:
    """The sentences of all splits, in order."""
    return [sentence for split in splits for sentence in split.sentences]


def task_splits(name: str, most: int, seed: int) -> Splits:
    """A set of single sentences, with at most `most` to train on or cross-validate.

    0 means all. A set without official splits is cross-validated.
    """
    first, *others = (tasks.load(name, split) for split in tasks.splits(name))
    return [stratified_sample(first, most, seed), *others]


def stratified_sample(
    task: ClassificationTask, most: int, seed: int
) -> ClassificationTask:
    """At most `most` sentences, each class with its share; 0 for all."""
    if not 0 < most <= len(task) - len(np.unique(task.labels)):
        return task
    from sklearn.model_selection import train_test_split

    everything = np.arange(len(task))
    kept, _ = train_test_split(
        everything, train_size=most, stratify=task.labels, random_state=seed
    )
    kept = np.sort(kept)
    groups = None if task.groups is None else task.groups[kept]
    sentences = [task.sentences[i] for i in kept]
    return ClassificationTask(sentences, task.labels[kept], groups)


def correct_labels(
    jobs: Jobs, labelled: Mapping[str, Splits], folds: int, seed: int
) -> pd.DataFrame:
    """Which tested sentences of several tasks are labeled correctly.

    Parameters
    ----------
    jobs : mapping
        For each embedder what encodes, and its conditions: options of
        `transfer.Evaluation` by name, or a classifier `SentEval` with the kinds of
        columns to choose from, `normalize`.
    labelled : mapping
        Tasks by name.
    folds, seed : int
        Of cross-validation.

    Returns
    -------
    DataFrame
        A row for each tested sentence, indexed by task and group (equal for sentences
        that mean the same); a column of bool for each condition and embedder.
    """
    order = list(product(jobs, labelled))

    def inputs() -> Iterator[tuple]:
        for name, task in order:
            encode, conditions = jobs[name]
            splits = labelled[task]
            vectors = np.asarray(encode(sentences(splits)))
            yield f"{name} {task}", splits, vectors, conditions, folds, seed

    tracked = progress.track(order, "transfer tasks", "embedders x tasks")
    columns = defaultdict(dict)
    for (name, task), by_condition in zip(
        tracked, in_processes(_under_all, inputs()), strict=True
    ):
        for condition, correct in by_condition.items():
            columns[task][condition, name] = correct
    tables = {}
    for task, splits in labelled.items():
        test = splits[-1]
        groups = np.arange(len(test)) if test.groups is None else test.groups
        tables[task] = pd.DataFrame(columns[task], index=groups)
    return pd.concat(tables, names=["task", "group"])


def _under_all(
    what: str,
    splits: Splits,
    vectors: np.ndarray,
    conditions: Mapping[str, Options],
    folds: int,
    seed: int,
) -> dict[str, np.ndarray]:
    correct = {}
    for name, own in conditions.items():
        classifier = own.get("classifier")
        if isinstance(classifier, SentEval):
            normalize = own["normalize"]
            found = classifier.chosen(what, splits, vectors, folds, normalize)
            correct[name] = found.correct > 0
            continue
        options = {"folds": folds, "seed": seed, "inner_folds": 1, **own}

        def make(options: Options = options) -> np.ndarray:
            return transfer.on_splits(splits, lambda _: vectors, **options).correct

        correct[name] = kept(what, [repr(options)], splits, vectors, make)
    return correct


def accuracy(
    correct: pd.DataFrame,
    conditions: Sequence[str],
    names: Sequence[str] | np.ndarray,
    sampling: Sampling,
    axes: Mapping[str, Sequence[str]] | None = None,
    halves: bool = False,
) -> pd.DataFrame:
    """Draws of accuracies, with the levels task, condition and embedder.

    Sentences are drawn, groups together.

    Parameters
    ----------
    correct : DataFrame
        As from `correct_labels`.
    conditions : sequence of str
    names : str[...]
        The embedders.
    sampling : Sampling
    axes : mapping, optional
        Names along the axes of `names`, if these are not embedders in a list: levels in
        the place of embedder.
    halves : bool
        As for `lib.stats.draws`.
    """
    names = np.asarray(names)
    values = correct[list(product(conditions, names.flat))].astype(np.float64)
    axes = {"condition": conditions, **(axes or {"embedder": names})}
    values.columns = pd.MultiIndex.from_product(axes.values(), names=axes)
    options = {"clusters": correct.index.get_level_values("group"), "halves": halves}
    tasks_of_rows = correct.index.get_level_values("task")
    return stats.draws(values, sampling, sets=tasks_of_rows, **options)


def accuracy_table(scores: pd.DataFrame, sampling: Sampling) -> pd.DataFrame:
    """Rows condition, embedder, task, accuracy, low, high, constant.

    The task "mean" stands for all.
    """
    over_tasks = stats.mean_over(scores, "task")
    mean = pd.concat({"mean": over_tasks}, axis=1, names=["task"])
    both = pd.concat([scores, mean], axis=1)
    found = stats.intervals(both, sampling, "normal").table(both.columns)
    table = found.reset_index().rename(columns={"value": "accuracy"})
    return table[
        ["condition", "embedder", "task", "accuracy", "low", "high", "constant"]
    ]
