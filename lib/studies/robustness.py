"""What N2O, and the ranking of pairs of embedders by it, depend on.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 6 and appendix C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from lib import stats
from lib.corpora import Corpus
from lib.neighbors import exact
from lib.stats import Interval, Sampling
from lib.vectors import Embeddings

Vectors = Mapping[str, Embeddings]  # of one corpus, under each embedder
# The neighbors of the same queries under each embedder, int64[q, k], nearest first.
Ids = dict[str, np.ndarray]

RANKED = 3  # pairs that have a ranking: those of three embedders


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
