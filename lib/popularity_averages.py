"""Popularity averaged over queries, with intervals: how it is spread, and how it goes with words and meaning.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 7. The tables that are averaged come from
`lib.popularity`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import comb

from lib import popularity, stats
from lib.run.errors import InputError

FEWEST = 10  # groups of queries (verses) behind an average: fewer tell nothing of its spread


def histogram(near: pd.DataFrame, queries: int, embedders: int) -> np.ndarray:
    """int64[queries, embedders]: how many sentences of each query have popularity 1, 2, ... embedders."""
    counts = np.zeros((queries, embedders), dtype=np.int64)
    np.add.at(counts, (near["query"], near["popularity"] - 1), 1)
    return counts


def shared(counts: np.ndarray) -> np.ndarray:
    """How many sentences m embedders, drawn blindly from all E, are expected to share, for m = 1 ... E.

    A sentence of popularity p is held by all of the m in C(p, m) of C(E, m) draws. With m = 1 that is k, with m = 2
    it is k times the average N2O of all pairs, and with m = E the number of sentences popular with all.

    `counts` is from `histogram`; returns float64[queries, E].
    """
    every = np.arange(1, counts.shape[1] + 1)
    return counts @ (comb(every[:, None], every) / comb(len(every), every))


def by_kind(
    near: pd.DataFrame,
    clusters: np.ndarray,
    embedders: int,
    of: Callable[[np.ndarray], np.ndarray] = np.asarray,
    **settings: Any,
) -> dict[str, pd.DataFrame]:
    """For each of `popularity.kinds` the mean over queries of its histogram, or of what `of` makes of that.

    Parameters
    ----------
    near : from `popularity.popular`, described
    clusters : int[q], the same for queries that are drawn together (a verse's translations)
    of : from int[q, embedders] to float[q, embedders], such as `shared`
    settings : rng, repetitions and confidence of the bootstrap

    Returns
    -------
    for each kind a DataFrame with columns value, low, high, indexed by 1 to the number of embedders
    """
    every, means = np.arange(1, embedders + 1), {}
    for kind, pairs in popularity.kinds(near).items():
        counts = of(histogram(pairs, len(clusters), embedders))
        means[kind] = with_interval(pd.DataFrame(counts, columns=every), clusters, **settings)
    return means


def with_interval(values: pd.DataFrame, clusters: np.ndarray, **settings: Any) -> pd.DataFrame:
    """The mean of each column, and its bootstrap interval: columns value, low, high.

    `values` has a row a query; `clusters` and `settings` are those of `by_kind`.
    """
    low, high = stats.bootstrap_mean(values.to_numpy(np.float64), groups=clusters, **settings)
    return pd.DataFrame({"value": values.mean().to_numpy(np.float64), "low": low, "high": high}, index=values.columns)


def by_level(pairs: pd.DataFrame, column: str, level: str, clusters: np.ndarray, **settings: Any) -> pd.DataFrame:
    """The mean of a column of pairs at each level of another, and its bootstrap interval: columns value, low, high.

    The result is indexed by level, ascending. A level with pairs of fewer than `FEWEST` clusters is left out, and so
    are pairs that lack the value. `clusters` and `settings` are those of `by_kind`.
    """
    complete = pairs[pairs[column].notna()]
    rows = {}
    for value, chosen in complete.groupby(level):
        groups = clusters[chosen["query"]]
        if len(np.unique(groups)) >= FEWEST:
            rows[value] = with_interval(chosen[[column]], groups, **settings).iloc[0]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"]).rename_axis(level)


def correlation(pairs: pd.DataFrame, clusters: np.ndarray, **settings: Any) -> dict[str, float]:
    """Spearman's correlation of popularity with word overlap, with bootstrap intervals that draw whole clusters.

    Parameters
    ----------
    pairs : from `popularity.popular`, described
    clusters, settings : those of `by_kind`

    Returns
    -------
    dict with pairs, rho, low, high, over all pairs; and with queries, within, within_low, within_high, the mean of each
    query's own correlation, over the queries that have one (in which neither is constant)

    Raises InputError where popularity or overlap is constant in all pairs, or in those of each query.
    """
    both, query = pairs[["popularity", "overlap"]], pairs["query"]
    rho, low, high = stats.bootstrap_spearman(*both.to_numpy().T, groups=clusters[query], **settings)
    pooled = {"pairs": len(pairs), "rho": rho, "low": low, "high": high}
    own = _spearman_within(both, query)
    if own.empty:
        raise InputError("pairs: within no query do both popularity and overlap vary; give more of them")
    within, within_low, within_high = with_interval(own.to_frame(), clusters[own.index], **settings).iloc[0]
    return pooled | {"queries": len(own), "within": within, "within_low": within_low, "within_high": within_high}


def _spearman_within(both: pd.DataFrame, query: pd.Series) -> pd.Series:
    """Spearman's correlation of two columns for each query in which neither is constant."""
    ranks = both.groupby(query).rank()
    left, right = (column - column.groupby(query).transform("mean") for _, column in ranks.items())
    products = pd.DataFrame({"both": left * right, "left": left**2, "right": right**2}).groupby(query).sum()
    varying = products[(products["left"] > 0) & (products["right"] > 0)]
    return varying["both"] / np.sqrt(varying["left"] * varying["right"])
