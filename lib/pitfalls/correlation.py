"""Spearman's correlation of transfer and probing scores over embedders, and how it hangs on the set of embedders.

"Pitfalls in the Evaluation of Sentence Embeddings", section 3, figure 3, and its last warning: "depending on the set of
evaluated sentence encoders, such correlations can yield contradictory outcomes".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import stats
from lib.pitfalls.transfer_study import Resamples
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

LEAST = 3  # embedders
FEWEST = 5  # embedders of a set that is looked at: with fewer a rank correlation has but a handful of values


class Correlations(NamedTuple):
    """Spearman's correlation over embedders, of every transfer task (rows) with every probing task (columns).

    Attributes
    ----------
    rho, low, high : DataFrame; the interval draws embedders anew, and so says what other embedders of the same kinds
        might have given. Of test sentences, which are drawn too, it knows nothing.
    by_probe : DataFrame indexed by probing task with columns mean, low, high: the mean over transfer tasks
    overall : float, float, float: the mean over all cells, and its interval
    resamples : int, those in which every task ranks the embedders that were drawn
    """

    rho: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    by_probe: pd.DataFrame
    overall: tuple[float, float, float]
    resamples: int


def over_embedders(transfer: pd.DataFrame, probing: pd.DataFrame, draws: Resamples) -> Correlations:
    """Correlate the scores of embedders (rows of both, columns are tasks).

    Raises
    ------
    InputError
        Fewer than three embedders, rows that differ, NaN, or a task on which all embedders score the same.
    """
    scores = _checked(transfer, probing)
    found = _cross(scores, transfer.shape[1])
    chosen = draws.rng.integers(len(transfer), size=(draws.repetitions, len(transfer)))
    resampled = np.moveaxis(scores[:, chosen], 0, 1)  # float[repetitions, tasks, embedders]
    resampled = resampled[_ranks_something(resampled)]
    if not len(resampled):
        raise InputError("embedders: in no resample of them do all tasks rank anything; give more embedders")
    rhos = _cross(resampled, transfer.shape[1])
    frame = {"index": transfer.columns, "columns": probing.columns}
    low, high = (pd.DataFrame(bound, **frame) for bound in draws.interval(rhos))
    bounds = draws.interval(rhos.mean(axis=1))
    by_probe = pd.DataFrame({"mean": found.mean(axis=0), "low": bounds[0], "high": bounds[1]}, index=probing.columns)
    overall = (float(found.mean()), *map(float, draws.interval(rhos.mean(axis=(1, 2)))))
    return Correlations(pd.DataFrame(found, **frame), low, high, by_probe, overall, len(resampled))


# -- other sets of embedders --------------------------------------------------------------------


def unions(families: Mapping[str, str], at_least: int = FEWEST) -> dict[str, list[str]]:
    """Every union of families that has so many embedders: their names by those of the families, "a + b".

    `families` has the family of each embedder. Unions of few families come first, all of them last.
    """
    kinds = list(dict.fromkeys(families.values()))
    found = {}
    for count in range(1, len(kinds) + 1):
        for some in combinations(kinds, count):
            members = [name for name, family in families.items() if family in some]
            if len(members) >= at_least:
                found[" + ".join(some)] = members
    return found


def halves(names: Sequence[str], rng: np.random.Generator, count: int = 1000) -> dict[str, list[str]]:
    """So many random halves of some embedders (the smaller half of an odd number), in their order; some may recur.

    Raises InputError for fewer than six embedders: a half must have three.
    """
    in_range("embedders", len(names), 2 * LEAST, 10**6, "a half must have three")
    size = len(names) // 2
    drawn = (np.sort(rng.permutation(len(names))[:size]) for _ in range(count))
    return {str(i): [names[j] for j in some] for i, some in enumerate(drawn, start=1)}


def over_sets(transfer: pd.DataFrame, probing: pd.DataFrame, sets: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The correlation of each probing task with transfer tasks (mean over these), in each set of embedders.

    Returns
    -------
    DataFrame with a row for each set, a column for each probing task. Left out are sets in which some task gives all
    embedders one score, for which there is no correlation.

    Raises
    ------
    InputError
        A set with fewer than three embedders, or none that ranks the embedders; else as `over_embedders`.
    """
    scores = _checked(transfer, probing)
    place = {name: i for i, name in enumerate(transfer.index)}
    rows = dict(_of_sets(scores, place, sets, transfer.shape[1]))
    if not rows:
        raise InputError("sets: in none of them do all tasks rank the embedders; give larger sets")
    return pd.DataFrame.from_dict(rows, orient="index", columns=probing.columns)


def _of_sets(
    scores: np.ndarray, place: Mapping[str, int], sets: Mapping[str, Sequence[str]], tasks: int
) -> Iterator[tuple[str, np.ndarray]]:
    for label, members in sets.items():
        if len(members) < LEAST:
            raise InputError(f"sets: {label!r} has {len(members)} embedders; a rank correlation needs {LEAST} or more")
        some = scores[:, [place[one_of("sets", name, place)] for name in members]]
        if _ranks_something(some):
            yield label, _cross(some, tasks).mean(axis=0)


def stability(by_set: pd.DataFrame, whole: pd.Series) -> pd.DataFrame:
    """How each probing task's correlation fares over sets of embedders.

    Parameters
    ----------
    by_set : from `over_sets`
    whole : the same over all embedders

    Returns
    -------
    DataFrame indexed by probing task with columns all (the correlation over all embedders), lowest, median, highest
    (over the sets), flipped (the share of the sets with the other sign) and first (the share in which no task is
    correlated more)
    """
    values = by_set.to_numpy()
    whole = whole[by_set.columns]
    first = values.round(12) == values.max(axis=1, keepdims=True).round(12)
    return pd.DataFrame(
        {
            "all": whole,
            "lowest": by_set.min(),
            "median": by_set.median(),
            "highest": by_set.max(),
            "flipped": (values * whole.to_numpy() < 0).mean(axis=0),
            "first": first.mean(axis=0),
        }
    )


# -- checks -------------------------------------------------------------------------------------


def _cross(scores: np.ndarray, tasks: int) -> np.ndarray:
    """Correlations of the first `tasks` rows with the others, [..., tasks, others]."""
    return stats.spearman_matrix(scores)[..., :tasks, tasks:]


def _ranks_something(scores: np.ndarray) -> np.ndarray:
    """Whether no row of scores is constant, over the axes before the last two."""
    return (np.ptp(scores, axis=-1) > 0).all(axis=-1)


def _checked(transfer: pd.DataFrame, probing: pd.DataFrame) -> np.ndarray:
    """The scores of both, float64[tasks, embedders], rounded so that ties are ties."""
    if list(transfer.index) != list(probing.index):
        raise InputError("transfer and probing: have other embedders as rows; give the same, in the same order")
    if len(transfer) < LEAST:
        raise InputError(f"embedders: {len(transfer)}; a rank correlation needs {LEAST} or more")
    both = pd.concat([transfer, probing], axis=1)
    for task, column in both.items():
        if column.isna().any():
            raise InputError(f"{task}: has no score for {column.index[column.isna()][0]!r}; give one for each")
        if np.ptp(column.to_numpy().round(12)) == 0:
            raise InputError(f"{task}: all embedders score the same; a rank correlation needs two that differ")
    return both.to_numpy(dtype=np.float64).T.round(12)
