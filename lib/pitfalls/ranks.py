"""Whether two conditions rank embedders alike: ranks, Kendall's tau with its interval, and which orders change.

"Pitfalls in the Evaluation of Sentence Embeddings", section 3: "A main problem arises when the ranking of systems is
not stable across different classifiers."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from lib import stats
from lib.pitfalls.transfer_study import Resamples, Study
from lib.pitfalls.transfer_tasks import TransferTask
from lib.run.errors import InputError
from lib.run.parameters import one_of

LEAST = 3  # embedders
DECIMALS = 12  # of a mean accuracy: what differs by less differs by the order of summation


def mean_accuracies(study: Study, labels: Mapping[str, str]) -> pd.DataFrame:
    """Accuracy, mean over tasks, in percent: a row an embedder, a column for each condition under its label."""
    return pd.DataFrame({label: 100 * study.accuracies(name).mean(axis=1) for name, label in labels.items()})


def ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """The rank of each row in each column, 1 for the highest score; equal ones share the mean of their ranks.

    Raises InputError for fewer than three rows, NaN, or a column whose scores are all equal.
    """
    _check(scores)
    return scores.round(DECIMALS).rank(ascending=False)


def kendall(scores: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of every two rows: the share of pairs in one order less that in the other, ties accounted for.

    Parameters
    ----------
    scores : float[..., c, m]; the axes before the last two (resamples, say) are worked through together

    Returns
    -------
    float64[..., c, c] in [-1, 1]; NaN for a row whose values are all equal
    """
    first, second = np.triu_indices(np.shape(scores)[-1], 1)
    scores = np.round(np.asarray(scores, np.float64), DECIMALS)
    orders = np.sign(scores[..., first] - scores[..., second])
    lengths = np.sqrt((orders**2).sum(axis=-1, keepdims=True))
    orders = np.divide(orders, lengths, out=np.full(orders.shape, np.nan), where=lengths > 0)
    return np.clip(orders @ np.swapaxes(orders, -1, -2), -1.0, 1.0)


def agreement(study: Study, labels: Mapping[str, str], draws: Resamples) -> pd.DataFrame:
    """Kendall's tau between the rankings of embedders under every two conditions, with its interval.

    Test sentences are drawn anew, the same for all embedders and conditions, and in each resample all are ranked anew.
    The interval leans to the low side: a resample has the noise of its sample, and its own on top.

    Parameters
    ----------
    labels : the conditions, and what each is called in the table

    Returns
    -------
    DataFrame with columns a, b (labels), tau, low, high, and of the pairs of embedders: pairs, swapped (in the other
    order under the other condition) and clearly (swapped, and the interval of either difference is off zero)

    Raises InputError as `ranks` does, or if no resample ranks the embedders.
    """
    scores = mean_accuracies(study, labels)
    _check(scores)
    resampled = study.resampled(list(labels), draws)
    taus = kendall(resampled)
    taus = taus[~np.isnan(taus).any(axis=(1, 2))]
    if not len(taus):
        raise InputError("agreement: in no resample do all conditions rank the embedders; give more test sentences")
    low, high = draws.interval(taus)
    tau = kendall(scores.to_numpy().T)
    order, clear = _orders(scores.to_numpy().T), _clear_orders(resampled, draws)
    rows = []
    for (i, a), (j, b) in combinations(enumerate(scores.columns), 2):
        swapped, clearly = (int((some[i] * some[j] < 0).sum()) for some in (order, clear))
        rows.append((a, b, tau[i, j], low[i, j], high[i, j], order.shape[1], swapped, clearly))
    return pd.DataFrame(rows, columns=["a", "b", "tau", "low", "high", "pairs", "swapped", "clearly"])


def halves(study: Study, labels: Mapping[str, str], seed: int, splits: int = 100) -> pd.Series:
    """Kendall's tau of a condition with itself, on two halves of the test sentences: what noise alone would do.

    Sentences that say the same are in one half. Mean over random splits. A half has half the sentences, so that this
    is less than what two tests of full size would give.

    Parameters
    ----------
    labels : the conditions, and what each is called in the result

    Returns
    -------
    Series indexed by label. Splits in which a half ranks nothing do not count; 0 if that is all of them.
    """
    sides = _in_halves(study, list(labels), seed, splits).mean(axis=3)
    return pd.Series(_mean(kendall(np.moveaxis(sides, 1, 2))[..., 0, 1]), list(labels.values()))


def reliability(study: Study, condition: str, seed: int, splits: int = 100) -> pd.Series:
    """Spearman's correlation of each task's scores with themselves, on two halves of its test sentences; as `halves`.

    Where it is near 0, the scores tell embedders apart by chance only, and cannot be correlated with anything.
    """
    sides = _in_halves(study, [condition], seed, splits)[:, :, 0]
    found = [[_spearman(*of_task) for of_task in split.swapaxes(0, 1)] for split in sides]
    return pd.Series(_mean(np.array(found)), list(study.tasks))


def _in_halves(study: Study, conditions: Sequence[str], seed: int, splits: int) -> np.ndarray:
    """Accuracy on either half of the test sentences, float64[splits, 2, conditions, tasks, embedders]."""
    rng = np.random.default_rng(seed)
    found = np.empty((splits, 2, len(conditions), len(study.tasks), len(study.embedders)))
    for t, (name, task) in enumerate(study.tasks.items()):
        correct = np.stack([study.correct(name, condition) for condition in conditions]).astype(np.float64)
        for split in range(splits):
            second = _second_half(task, rng)
            for half, some in enumerate((~second, second)):
                found[split, half, :, t] = correct[:, some].mean(axis=1)
    return found


def _second_half(task: TransferTask, rng: np.random.Generator) -> np.ndarray:
    """A random half of the test sentences, bool[n]; those that say the same are in one half."""
    alone = np.arange(len(task.tested)) if task.groups is None else stats.clusters(task.groups[task.tested])
    group = np.unique(alone, return_inverse=True)[1]
    return (rng.permutation(group.max() + 1) % 2)[group].astype(bool)


def _spearman(first: np.ndarray, second: np.ndarray) -> float:
    """NaN if one of them is constant."""
    constant = min(np.ptp(first), np.ptp(second)) == 0
    return np.nan if constant else float(stats.spearman_matrix(np.stack([first, second]))[0, 1])


def _mean(values: np.ndarray) -> np.ndarray:
    """Over the first axis, without NaN; 0 where there is nothing else: what ranks nothing agrees with nothing."""
    known = ~np.isnan(values)
    return np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def best_of(study: Study, condition: str, some: Sequence[str], draws: Resamples) -> pd.DataFrame:
    """How the best of some embedders does beside the best of the others, task by task.

    The best are chosen on a random half of the test sentences and compared on the other half, and the other way round:
    whoever is chosen and compared on the same sentences is flattered, the more so the more there are to choose from.

    Returns
    -------
    DataFrame with columns task, some, others (names of the best; of two if the halves chose two), difference (in
    points, the best of some less the best of the others), low, high (test sentences drawn anew)

    Raises InputError if `some` are none or all of the embedders.
    """
    names = study.embedders
    others = [name for name in names if name not in set(some)]
    if not 0 < len(others) < len(names):
        raise InputError(f"some: {len(names) - len(others)} of {len(names)} embedders; give a part of them")
    rng, rows = draws.rng, []
    for name, task in study.tasks.items():
        correct = pd.DataFrame(study.correct(name, condition).astype(np.float64), columns=names)
        second, difference, chosen = _second_half(task, rng), np.empty(len(correct)), []
        for half in (~second, second):
            chosen.append([correct.loc[half, list(group)].mean().idxmax() for group in (some, others)])
            of_some, of_others = (correct.loc[~half, one].to_numpy() for one in chosen[-1])
            difference[~half] = of_some - of_others
        groups = None if task.groups is None else task.groups[task.tested]
        resampled = stats.resampled_means(difference[:, None], rng, groups, repetitions=draws.repetitions)
        best = (" or ".join(dict.fromkeys(each)) for each in zip(*chosen, strict=True))
        low, high = draws.interval(resampled[:, 0])
        rows.append((name, *best, *(100 * x for x in (difference.mean(), low, high))))
    return pd.DataFrame(rows, columns=["task", "some", "others", "difference", "low", "high"])


def moves(scores: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """How far embedders move from one column's ranking to another's, the farthest first.

    Returns
    -------
    DataFrame indexed as `scores` with columns from, to (ranks) and rise (from - to, positive is upwards)
    """
    found = ranks(scores[[one_of("column", name, scores.columns) for name in (first, second)]])
    table = found.rename(columns={first: "from", second: "to"}).assign(rise=lambda t: t["from"] - t["to"])
    return table.sort_values("rise", key=np.abs, ascending=False, kind="stable")


def _orders(scores: np.ndarray) -> np.ndarray:
    """The sign of every pair's difference, [..., pairs]."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    return np.sign(np.round(scores[..., first] - scores[..., second], DECIMALS))


def _clear_orders(resampled: np.ndarray, draws: Resamples) -> np.ndarray:
    """As `_orders`, of resamples float[repetitions, conditions, embedders]; 0 where the interval spans zero."""
    first, second = np.triu_indices(resampled.shape[-1], 1)
    low, high = draws.interval(resampled[..., first] - resampled[..., second])
    return np.where(low > 0, 1, np.where(high < 0, -1, 0))


def _check(scores: pd.DataFrame) -> None:
    if len(scores) < LEAST:
        raise InputError(f"scores: of {len(scores)} embedders; a ranking needs {LEAST} or more")
    for name, column in scores.items():
        if column.isna().any():
            raise InputError(f"scores: {name!r} has none for {column.index[column.isna()][0]!r}; give one for each")
        if np.ptp(column.to_numpy().round(DECIMALS)) == 0:
            raise InputError(f"scores: {name!r} is the same for all embedders; a ranking needs two that differ")
