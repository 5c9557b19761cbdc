"""How many of the true neighbors an approximate search finds, and the least effort that finds enough of them.

"Situating Sentence Embedders with Nearest Neighbor Overlap", appendix C: "use of a small held-out set of queries to
tune the ANN method parameters towards higher precision/recall (vs. speed)". The two measures of recall are those of
Aumueller, Bernhardsson and Faithfull, ANN-Benchmarks (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lib.neighbors import Neighbors, exact
from lib.neighbors.approximate import Index
from lib.run.errors import InputError
from lib.run.parameters import one_of

TOLERANCE = 1e-6  # of a float32 similarity


def recall_by_ids(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of the k true neighbors that were found, query by query.

    Parameters
    ----------
    found, truth : int[q, k]

    Returns
    -------
    float64[q] in [0, 1]. Where the k-th neighbor is tied with others, one that is as near as a true one may count
    as wrong: `recall_by_distance` does not punish that.
    """
    found, truth = _same_shape("ids", found, truth)
    return np.array([np.isin(row, names).mean() for row, names in zip(truth, found, strict=True)], dtype=np.float64)


def recall_by_distance(found: np.ndarray, truth: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """The share of the k found vectors that are as near as the k-th true neighbor, query by query.

    Parameters
    ----------
    found, truth : float[q, k], similarities, nearest first
    tolerance : how much less than the k-th true similarity still counts

    Returns
    -------
    float64[q] in [0, 1]
    """
    found, truth = _same_shape("similarities", found, truth)
    return (found >= truth[:, -1:] - tolerance).mean(axis=1, dtype=np.float64)


def _same_shape(what: str, found: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found, truth = np.asarray(found), np.asarray(truth)
    if found.shape != truth.shape or found.ndim != 2 or not found.shape[1]:
        raise InputError(f"{what}: shapes {found.shape} and {truth.shape}; give two arrays of one shape (queries, k)")
    return found, truth


@dataclass(frozen=True)
class Tuning:
    """What `tune` found. As text it is one sentence.

    Attributes
    ----------
    effort_name : str, ef_search, nprobe or epsilon
    effort : its value, for ``Index.search(effort=...)``
    wanted : float, the recall that was asked for
    reached : bool; if not, `effort` is the best that there is
    recall_by_ids, recall_by_distance : float, means over the held-out queries. Chosen as the least that
        suffices, the effort may fall a little short on other queries: report the recall on those.
    queries : int, how many were held out
    """

    effort_name: str
    effort: float
    wanted: float
    reached: bool
    recall_by_ids: float
    recall_by_distance: float
    queries: int

    def __str__(self) -> str:
        verdict = f"{self.effort_name} {self.effort:g} reaches recall {self.wanted:g}"
        if not self.reached:
            verdict = f"recall {self.wanted:g} cannot be reached: the best is {self.effort_name} {self.effort:g}"
        shares = f"{self.recall_by_ids:.4f} by ids, {self.recall_by_distance:.4f} by distance"
        return f"{verdict} ({shares}, {self.queries} held-out queries)"


def tune(
    index: Index,
    queries: np.ndarray,
    k: int,
    recall: float = 0.96,
    by: str = "ids",
    truth: Neighbors | None = None,
    exclude: Sequence[int] | Sequence[Sequence[int]] | None = None,
) -> Tuning:
    """Find the least effort with which `index` reaches a mean recall on held-out queries.

    Recall is taken to rise with effort: the effort is doubled until it suffices, then bisected.

    Parameters
    ----------
    index : from `approximate.build`
    queries : float[q, d], held out: not those on which results are reported
    k : int
    recall : the mean that is wanted, in (0, 1]; 0.96 is what the paper reports
    by : "ids" or "distance", which recall has to reach it
    truth : their `exact` neighbors in ``index.corpus``; None to search for them
    exclude : as in ``Index.search``

    Raises
    ------
    InputError
        No queries, a recall outside (0, 1], a truth of another shape, or what ``Index.search`` refuses.
    """
    if not 0 < recall <= 1:
        raise InputError(f"recall: {recall!r} is not accepted; give more than 0 and at most 1")
    one_of("by", by, ["ids", "distance"])
    if not len(queries):
        raise InputError("queries: none are held out; give at least one to tune on")
    true = exact(queries, index.corpus, k, exclude) if truth is None else truth
    efforts = index.efforts(k)

    def measure(position: int) -> Tuning:
        found = index.search(queries, k, exclude, efforts[position])
        ids = float(recall_by_ids(found.ids, true.ids).mean())
        distance = float(recall_by_distance(found.similarities, true.similarities).mean())
        reached = (ids if by == "ids" else distance) >= recall
        return Tuning(index.effort_name, efforts[position], recall, reached, ids, distance, len(queries))

    return _least(measure, len(efforts), by)


def _least(measure: Callable[[int], Tuning], positions: int, by: str) -> Tuning:
    """The first of the positions 0, 1, ... that reaches the recall, or the best of those tried if the last does not."""
    tried = [measure(0)]
    low, high = 0, 0  # `low` falls short, `high` is the latest tried
    while not tried[-1].reached and high < positions - 1:
        low, high = high, min(2 * high + 1, positions - 1)
        tried.append(measure(high))
    if not tried[-1].reached:
        return max(tried, key=lambda tuning: getattr(tuning, f"recall_by_{by}"))
    best = tried[-1]
    while high - low > 1:
        middle = (low + high) // 2
        attempt = measure(middle)
        low, high, best = (low, middle, attempt) if attempt.reached else (middle, high, best)
    return best
