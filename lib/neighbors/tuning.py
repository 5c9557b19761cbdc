"""How many of the true neighbors an approximate search finds, and the least effort that finds enough of them.

"Situating Sentence Embedders with Nearest Neighbor Overlap", appendix C: "use of a small held-out set of queries to
tune the ANN method parameters towards higher precision/recall (vs. speed)". The two measures of recall are those of
Aumueller, Bernhardsson and Faithfull, ANN-Benchmarks (2019).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from lib.neighbors import Neighbors, exact
from lib.neighbors.approximate import Index
from lib.neighbors.contract import Exclude
from lib.run.errors import InputError

TOLERANCE = 1e-6  # of a float32 similarity


def recall_by_ids(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of the k true neighbors, int[q, k], that were found, int[q, k]: float64[q] in [0, 1].

    Where the k-th neighbor is tied with others, one that is as near as a true one may count as wrong:
    `recall_by_distance` does not punish that.
    """
    return np.array([np.isin(row, names).mean() for row, names in zip(truth, found, strict=True)])


def recall_by_distance(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of the k found vectors that are as near as the k-th true neighbor: float64[q] in [0, 1].

    Both are similarities, float[q, k], nearest first; they are equal within `TOLERANCE`.
    """
    return (found >= truth[:, -1:] - TOLERANCE).mean(axis=1, dtype=np.float64)


class Tuning(NamedTuple):
    """What `tune` found.

    Attributes
    ----------
    effort_name : str
        ef_search, nprobe or epsilon.
    effort : float
        Its value, for ``Index.search(effort=...)``.
    reached : bool
        If not, `effort` is the most that there is.
    recall_by_ids, recall_by_distance : float
        Means over the held-out queries. Chosen as the least that suffices, the effort may fall a little short on
        other queries: report the recall on those.
    """

    effort_name: str
    effort: float
    reached: bool
    recall_by_ids: float
    recall_by_distance: float


def tune(
    index: Index,
    queries: np.ndarray,
    k: int,
    recall: float = 0.96,
    truth: Neighbors | None = None,
    exclude: Exclude = None,
) -> Tuning:
    """Find the least effort with which `index` reaches a mean recall by ids on held-out queries.

    Recall is taken to rise with effort: the effort is doubled until it suffices, then bisected.

    Parameters
    ----------
    index : Index
        From `approximate.build`.
    queries : float[q, d]
        Held out: not those on which results are reported.
    k : int
    recall : float
        The mean that is wanted, in (0, 1]; 0.96 is what the paper reports.
    truth : Neighbors, optional
        Their `exact` neighbors in ``index.corpus``, if they are known.
    exclude : sequence of int or of sequences of int, optional
        As in ``Index.search``.

    Raises
    ------
    InputError
        A recall outside (0, 1], or what ``Index.search`` refuses.
    """
    if not 0 < recall <= 1:
        raise InputError(f"recall: {recall!r} is not accepted; give more than 0 and at most 1")
    true = exact(queries, index.corpus, k, exclude) if truth is None else truth
    efforts = index.efforts(k)

    @cache
    def measure(place: int) -> Tuning:
        found = index.search(queries, k, exclude, efforts[place])
        by_ids = float(recall_by_ids(found.ids, true.ids).mean())
        by_distance = float(recall_by_distance(found.similarities, true.similarities).mean())
        return Tuning(index.effort_name, efforts[place], by_ids >= recall, by_ids, by_distance)

    low, high = 0, 0  # `low` falls short
    while not measure(high).reached and high < len(efforts) - 1:
        low, high = high, min(2 * high + 1, len(efforts) - 1)
    while measure(high).reached and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if measure(middle).reached else (middle, high)
    return measure(high)
