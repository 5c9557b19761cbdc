"""Recall of approximate search, and the least effort that reaches one.

"Situating Sentence Embedders with Nearest Neighbor Overlap", appendix C, advises the
"use of a small held-out set of queries to tune the ANN method parameters towards higher
precision/recall (vs. speed)": `tune` does so. The measure of recall is one of those of
Aumueller, Bernhardsson and Faithfull, ANN-Benchmarks (2019).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from lib.base.errors import InputError
from lib.neighbors.approximate import Index
from lib.neighbors.brute_force import exact
from lib.neighbors.contract import Exclude, Neighbors


def recall_by_ids(ids: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of the k true neighbors that are found: float64[q] in [0, 1].

    `ids` and `truth` are int[q, k].

    Where the k-th neighbor is tied with others, one that is as near as a true one may
    count as wrong.
    """
    is_found = (truth[:, :, None] == ids[:, None, :]).any(axis=2)
    return is_found.mean(axis=1)


class Tuning(NamedTuple):
    """What `tune` found.

    Attributes
    ----------
    effort : float
        For ``Index.search(effort=...)``; the largest that there is if none reaches the
        recall.
    recall_by_ids : float
        Mean over the held-out queries. Chosen as the least that suffices, the effort
        may fall a little short on other queries: report the recall on those.
    """

    effort: float
    recall_by_ids: float


def tune(
    index: Index,
    queries: np.ndarray,
    k: int,
    recall: float = 0.96,
    truth: Neighbors | None = None,
    exclude: Exclude = None,
) -> Tuning:
    """Find the least effort with which an index reaches a mean recall by ids.

    It is measured on held-out queries. Recall is taken to rise with effort: the effort
    is doubled until it suffices, then bisected.

    Parameters
    ----------
    index : Index
        From `build`.
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
        raise InputError(
            f"recall: {recall!r} is not accepted; give more than 0 and at most 1"
        )
    if truth is None:
        truth = exact(queries, index.corpus, k, exclude)
    efforts = index.efforts(k)

    @cache
    def reached(place: int) -> float:
        ids = index.search(queries, k, exclude, efforts[place]).ids
        return float(recall_by_ids(ids, truth.ids).mean())

    last = len(efforts) - 1
    low = 0  # falls short
    high = 0
    while reached(high) < recall and high < last:
        low = high
        high = min(2 * high + 1, last)
    while reached(high) >= recall and high - low > 1:
        middle = (low + high) // 2
        if reached(middle) >= recall:
            high = middle
        else:
            low = middle
    return Tuning(efforts[high], reached(high))
