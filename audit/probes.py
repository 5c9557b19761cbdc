"""Probing tasks beside transfer tasks.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019),
section 3, figure 3.
`audit.probing` makes or reads the tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pandas as pd

from audit import probing
from audit.accuracies import Splits, stratified_sample
from audit.orders import over_halves
from lib import catalog, stats
from lib.base.errors import InputError
from lib.corpora import Corpus
from lib.stats import Sampling

SHARES = (0.4, 0.1, 0.5)  # of a probing task: train, dev, test
# Spearman of a task's scores on two halves: below, a task is not interpreted.
RELIABLE = 0.5


def probing_tasks(
    names: Sequence[str], corpus: Corpus, size: int, seed: int
) -> dict[str, Splits]:
    """Probing tasks of `size` sentences by name: SentEval's, or made from a corpus.

    A task that can be had in neither way is left out.
    """
    sizes = [round(share * size) for share in SHARES]
    by_name = {}
    for name in names:
        with suppress(InputError):
            by_name[name] = _probing_task(name, corpus, sizes, seed)
    return by_name


def _probing_task(name: str, corpus: Corpus, sizes: Sequence[int], seed: int) -> Splits:
    if catalog.find(f"senteval/probing/{probing.FILES[name]}.txt"):
        task = probing.read(name)
    else:
        task = probing.make(name, corpus, sizes, seed)
    splits = zip(task.splits, sizes, strict=True)
    return [stratified_sample(split, most, seed) for split, most in splits]


def reliability(scores: pd.DataFrame, sampling: Sampling) -> pd.DataFrame:
    """How well each task's ranking of embedders repeats on two halves of its sentences.

    Spearman's correlation of draws of halves by task and embedder: value, low, high,
    indexed by task.
    """
    tasks = scores.columns.unique("task")

    def rank_correlations(half: pd.DataFrame, other: pd.DataFrame) -> np.ndarray:
        by_task = [rank_correlation(half[task], other[task]) for task in tasks]
        return np.column_stack(by_task)

    found = over_halves(scores, rank_correlations)
    return stats.intervals(found, sampling, "fisher").table(tasks)


def rank_correlation(x: pd.DataFrame, y: pd.DataFrame) -> np.ndarray:
    """Spearman's correlation of each draw in two tables, float[1 + draws]."""
    rows = zip(x.to_numpy(), y.to_numpy(), strict=True)
    return np.array([stats.spearman(*pair) for pair in rows])


def task_correlations(
    transfer_scores: np.ndarray, probing_scores: np.ndarray
) -> np.ndarray:
    """Spearman's correlation of every two tasks, [t, p], from [e, t] and [e, p]."""
    ranks = pd.DataFrame(np.hstack([transfer_scores, probing_scores])).rank()
    count = transfer_scores.shape[1]
    return ranks.corr().to_numpy()[:count, count:]
