"""A floor under the scores: what passes before and after, and where it should be."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lib import stats
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.swap.comparison import BOUNDS, Swap

RANGES = {
    "cosine": (-1.0, 1.0),
    "dot": (-1e9, 1e9),
    "euclidean": (-1e9, 0.0),  # negative distances
}


MEANING = {
    "results_old": "results that pass before",
    "results_new": "results that pass after, at the same floor",
    "queries_old": "queries with a result that passes before",
    "queries_new": "queries with a result that passes after, at the same floor",
    "query_flips_same": "queries that change between some and none, at the same floor",
    "result_flips_same": "results of either side that pass on one alone, at the same",
    "query_flips_matched": "queries that change, at the matched floor",
    "result_flips_matched": "results that pass on one side alone, at the matched floor",
}


def floors(found: Swap, floor: float) -> dict[str, Any]:
    """What passes a floor under the scores.

    Returns the floor; "matched", that of the new side which lets as many results pass
    (by the weights of the queries), with its interval; and "shares", the rows of
    `MEANING` with intervals.

    Raises InputError for a floor outside the range of the old side's similarity, and
    for one that no result passes.
    """
    placed = found.old.placed
    in_range("FLOOR", floor, *RANGES[placed.similarity if placed else "cosine"])
    old, new = (side.scores[:, : found.k] for side in (found.old, found.new))
    if not (old >= floor).any():
        raise InputError(
            f"FLOOR: {floor:g}: no result of {found.old.name} passes; its scores are "
            f"{old.min():.3g} to {old.max():.3g}"
        )
    weights = found.task.weights
    matched = stats.bootstrap(
        partial(_matched, floor=floor),
        old,
        new,
        np.ones(len(old)) if weights is None else weights,
        sampling=found.sampling,
        clusters=found.task.clusters,
    )
    passing = old >= floor
    columns = {
        "results_old": passing.mean(axis=1),
        "results_new": (new >= floor).mean(axis=1),
        "queries_old": passing.any(axis=1),
        "queries_new": (new >= floor).any(axis=1),
    }
    for name, level in (("same", floor), ("matched", matched.estimate)):
        flips = passing.any(axis=1) != (new >= level).any(axis=1)
        columns[f"query_flips_{name}"] = flips
        columns[f"result_flips_{name}"] = _flips(found, passing, new >= level)
    shares = found.means(pd.DataFrame(columns).astype(float), (0, 1))
    names = dict(zip(BOUNDS, matched, strict=True))
    table = shares[list(BOUNDS)].to_dict("index")
    return {"floor": floor, "matched": names, "shares": table}


def _matched(
    old: np.ndarray, new: np.ndarray, weights: np.ndarray, floor: float
) -> np.ndarray:
    """The floor that as many new scores pass as old ones pass the given one."""
    passing = weights @ (old >= floor).sum(axis=1)
    best_first = np.argsort(-new, axis=None)
    passed = weights.repeat(new.shape[1])[best_first].cumsum()
    place = np.searchsorted(passed, passing * (1 - 1e-12))  # for rounding
    return new.ravel()[best_first[min(place, new.size - 1)]]


def _flips(found: Swap, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Of the results of either side, the share that passes on one side alone."""
    shares = []
    for query in range(len(old)):
        before = found.old.ids[query, : found.k]
        after = found.new.ids[query, : found.k]
        flips = np.setxor1d(before[old[query]], after[new[query]])
        shares.append(len(flips) / len(np.union1d(before, after)))
    return np.array(shares)
