"""What N2O, and the ranking of pairs of embedders by it, depend on.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 6 and appendix C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from lib import stats
from lib.corpora import Corpus
from lib.neighbors import exact
from lib.stats import Interval, Sampling
from lib.stats.bounds import NEAR_ONE
from lib.vectors import Embeddings

Vectors = Mapping[str, Embeddings]  # of one corpus, under each embedder
# The neighbors of the same queries under each embedder, int64[q, k], nearest first.
Ids = dict[str, np.ndarray]

RANKED = 3  # pairs that have a ranking: those of three embedders
# How often the queries are dealt into samples, and bootstrap draws for each deal.
DEALS = 100
LEAST_DRAWS = 20


# -- queries and neighbors -------------------------------------------------------------


def distinct(queries: np.ndarray, corpus: Corpus) -> np.ndarray:
    """The queries, int[q], without those that mean the same as an earlier one.

    Of a verse, one translation is kept.
    """
    groups = stats.clusters(corpus.groups[queries])
    return queries[np.sort(np.unique(groups, return_index=True)[1])]


def nearest(
    vectors: Vectors, queries: np.ndarray, k: int, among: np.ndarray | None = None
) -> Ids:
    """The k sentences of greatest cosine with each query, the query itself left out.

    Parameters
    ----------
    vectors : mapping of str to float[n, d]
    queries : int[q]
        Corpus indices.
    k : int
    among : int[m], optional
        Ascending corpus indices: where to search, by default everywhere. A query need
        not be one of them.
    """
    if among is None:
        return {
            name: exact(each[queries], each, k, exclude=queries).ids
            for name, each in vectors.items()
        }
    itself = pd.Index(among).get_indexer(queries)  # -1 for a query that is none of them
    return {
        name: among[exact(each[queries], each[among], k, exclude=itself).ids]
        for name, each in vectors.items()
    }


# -- rankings --------------------------------------------------------------------------


def of_rankings(
    statistic: Callable[..., Any], *columns: np.ndarray, **options: Any
) -> Interval:
    """`stats.bootstrap` of a correlation of rankings.

    Undefined for fewer than three pairs, or if all are tied. The last axis of the last
    column is that of the pairs.
    """
    if columns[-1].shape[-1] < RANKED:
        return stats.UNDEFINED
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isnan(statistic(*columns)):
            return stats.UNDEFINED
        return stats.bootstrap(statistic, *columns, **options)


def agreement(
    x: np.ndarray, y: np.ndarray, sampling: Sampling, clusters: np.ndarray | None = None
) -> Interval:
    """Spearman's correlation of two rankings of pairs, with Fisher's interval.

    The interval is over queries. `x` and `y`, float[q, pairs], hold what two embedders
    have in common for each query, under two conditions. Row by row they are of the same
    queries, or of queries that were drawn independently. `clusters`, int[q], are equal
    for queries that mean the same (`Corpus.groups`).
    """

    def correlation(x: np.ndarray, y: np.ndarray) -> float:
        return stats.spearman(x.mean(axis=0), y.mean(axis=0))

    return of_rankings(
        correlation, x, y, sampling=sampling, clusters=clusters, method="fisher"
    )


def between_samples(overlaps: np.ndarray, n: int, sampling: Sampling) -> Interval:
    """Mean correlation of rankings from every two disjoint samples of n queries.

    Correlations are Spearman's. `overlaps`, float[q, pairs], has at least 2 n rows. The
    queries are dealt into samples many times; correlation and interval are the means
    over deals, on Fisher's scale.
    """
    dealt = _over_deals(_mean_correlation, n, [overlaps], sampling, "fisher")
    below_one = np.clip(dealt, -NEAR_ONE, NEAR_ONE)
    means = np.arctanh(below_one).mean(axis=0)
    return Interval(*np.tanh(means).tolist())


def less_than_samples(
    exactly: np.ndarray, otherwise: np.ndarray, n: int, sampling: Sampling
) -> Interval:
    """Correlation between two ways to search minus that between two samples.

    Samples are of n queries. Positive where the search changes the ranking less than
    other queries do. `exactly` and `otherwise`, float[q, pairs], are the overlaps of
    the same queries; both correlations are means over disjoint samples of n, and over
    many deals of the queries into samples.
    """

    def difference(one: np.ndarray, other: np.ndarray) -> float:
        by_sample = list(map(stats.spearman, one.mean(axis=0), other.mean(axis=0)))
        return float(np.mean(by_sample)) - _mean_correlation(one)

    dealt = _over_deals(difference, n, [exactly, otherwise], sampling, "normal")
    return Interval(*dealt.mean(axis=0).tolist())


def _over_deals(
    statistic: Callable,
    n: int,
    columns: Sequence[np.ndarray],
    sampling: Sampling,
    method: str,
) -> np.ndarray:
    """A statistic of `_samples` and its interval for each deal, float[deals, 3].

    Each deal divides the queries into samples.
    """
    rng = np.random.default_rng(sampling.seed)
    draws = max(LEAST_DRAWS, sampling.repetitions // DEALS)
    few = replace(sampling, repetitions=draws)
    found = []
    for _ in range(DEALS):
        order = rng.permutation(len(columns[0]))
        samples = [_samples(each[order], n) for each in columns]
        found.append(of_rankings(statistic, *samples, sampling=few, method=method))
    return np.array(found)


def _samples(overlaps: np.ndarray, n: int) -> np.ndarray:
    """float[n, samples, pairs]: a row has one query of each disjoint sample.

    So rows are independent.
    """
    samples = len(overlaps) // n
    return overlaps[: samples * n].reshape(n, samples, -1)


def _mean_correlation(rows: np.ndarray) -> float:
    rho = np.corrcoef(rankdata(rows.mean(axis=0), axis=1))
    return rho[np.triu_indices(len(rho), 1)].mean()
