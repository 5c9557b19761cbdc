"""Probing tasks beside transfer tasks.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019),
section 3, figure 3.
`audit.probing` makes or reads the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain

import numpy as np
import pandas as pd

from audit import probing
from audit.accuracies import Splits, correct_labels, sentences, stratified_sample
from audit.rankings import over_halves
from audit.senteval import SentEval
from lib import catalog, stats
from lib.base.errors import InputError
from lib.corpora import Corpus
from lib.stats import Sampling

SHARES = (0.4, 0.1, 0.5)  # of a probing task: train, dev, test
CLASSIFIER = "logistic"  # regression, SentEval's, on vectors as they come
HALVINGS = 4  # of a size that a corpus has too few sentences for
# Spearman of a task's scores on two halves: below, a task is not interpreted.
RELIABLE = 0.5


def probing_tasks(
    names: Sequence[str], corpus: Corpus, size: int, seed: int
) -> dict[str, Splits]:
    """Probing tasks of `size` sentences by name: SentEval's, or made from a corpus.

    Where the corpus has too few sentences, the size is halved, four times at most. A
    task that can be had in neither way is left out.
    """
    by_name = {}
    for name in names:
        for most in size // 2 ** np.arange(HALVINGS + 1):
            sizes = [round(share * most) for share in SHARES]
            with suppress(InputError):
                by_name[name] = _probing_task(name, corpus, sizes, seed)
                break
    return by_name


def _probing_task(name: str, corpus: Corpus, sizes: Sequence[int], seed: int) -> Splits:
    if catalog.find(f"senteval/probing/{probing.FILES[name]}.txt"):
        task = probing.read(name)
    else:
        task = probing.make(name, corpus, sizes, seed)
    splits = zip(task.splits, sizes, strict=True)
    return [stratified_sample(split, most, seed) for split, most in splits]


def answers(
    encoders: Mapping[str, Callable],
    labelled: Mapping[str, Splits],
    folds: int,
    seed: int,
) -> pd.DataFrame:
    """What `CLASSIFIER` labels right, as from `accuracies.correct_labels`."""
    conditions = {CLASSIFIER: {"classifier": SentEval(), "normalize": [False]}}
    jobs = {name: (encode, conditions) for name, encode in encoders.items()}
    return correct_labels(jobs, labelled, folds, seed)


def together(
    encoders: Mapping[str, Callable], labelled: Mapping[str, Splits]
) -> dict[str, Callable]:
    """Encoders that look vectors up: the sentences of all tasks are encoded at once."""
    every = dict.fromkeys(chain(*map(sentences, labelled.values())))
    place = {sentence: row for row, sentence in enumerate(every)}

    def once(encode: Callable) -> Callable:
        vectors = lru_cache(1)(lambda: encode(list(every)))
        return lambda asked: vectors()[[place[sentence] for sentence in asked]]

    return {name: once(encode) for name, encode in encoders.items()}


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
    transfer_scores: np.ndarray,
    probing_scores: np.ndarray,
    held: np.ndarray | None = None,
) -> np.ndarray:
    """Spearman's correlation of every two tasks, [t, p], from [e, t] and [e, p].

    Partial, where something of the embedders is held constant.
    """
    both = np.hstack([transfer_scores, probing_scores])
    ranks = pd.DataFrame(both).rank().to_numpy()
    if held is not None:
        known = np.column_stack([np.ones(len(held)), pd.Series(held).rank()])
        ranks = ranks - known @ np.linalg.lstsq(known, ranks, rcond=None)[0]
    count = transfer_scores.shape[1]
    return pd.DataFrame(ranks).corr().to_numpy()[:count, count:]
