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

from lib import n2o, stats
from lib.base import paths, progress
from lib.corpora import Corpus
from lib.neighbors import approximate, exact, tuning
from lib.stats import Interval, Sampling, intervals
from lib.vectors import Embeddings

Vectors = Mapping[str, Embeddings]  # of one corpus, under each embedder
# The neighbors of the same queries under each embedder, int64[q, k], nearest first.
Ids = dict[str, np.ndarray]

RANKED = 3  # pairs that have a ranking: those of three embedders
# How often the queries are dealt into samples, and bootstrap draws for each deal.
DEALS = 100
LEAST_DRAWS = 20
# How hard an index looks: steps above the least that it can be searched with.
EFFORTS = (1, 4, 16, 64)
BENCHMARK = paths.BENCHMARKS / "growth.csv"
PAPERS_CORPUS = 8_000_000 * 300  # numbers: sentences times dimensions


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


def euclidean(vectors: Vectors, queries: np.ndarray, k: int) -> Ids:
    """The k sentences at the least Euclidean distance from each query.

    Parameters are as for `nearest`.
    """
    from sklearn.neighbors import NearestNeighbors

    found = {}
    for name, each in vectors.items():
        index = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(each)
        ids = index.kneighbors(each[queries], return_distance=False)
        others_first = np.argsort(ids == queries[:, None], axis=1, kind="stable")
        found[name] = np.take_along_axis(ids, others_first, axis=1)[:, :k]
    return found


def overlap(ids: Ids) -> np.ndarray:
    """`lib.n2o.overlap` of each pair of embedders, float64[q, pairs]."""
    return n2o.per_query(ids).to_numpy()


# -- rankings --------------------------------------------------------------------------


def left_out(names: Sequence[str]) -> list[str]:
    """What this study cannot ask of so few embedders."""
    if len(names) > 2:
        return []
    return ["rankings of pairs of embedders (two embedders make only one pair)"]


def of_rankings(
    statistic: Callable[..., float], *columns: np.ndarray, **options: Any
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
    below_one = np.clip(dealt, -intervals.NEAR_ONE, intervals.NEAR_ONE)
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
        return np.mean(by_sample) - _mean_correlation(one)

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


# -- approximate search ----------------------------------------------------------------


def trials(
    vectors: Vectors,
    method: str,
    queries: np.ndarray,
    held_out: np.ndarray,
    truth: Ids,
    recall: float,
) -> tuple[list[Ids], np.ndarray]:
    """Search an index with little effort, with more, and with enough for a recall.

    The recall is that on held-out queries.

    Parameters
    ----------
    vectors : mapping of str to float[n, d]
    method : {"hnsw", "ivf", "ngt"}
        Built leaner than usual, so that there is something to tune at some ten thousand
        vectors.
    queries, held_out : int[q], int[h]
        Corpus indices.
    truth : mapping of str to int64[q, k]
        The exact neighbors of `queries`.
    recall : float
        To be reached on `held_out`.

    Returns
    -------
    list of mappings of str to int64[q, k]
        What is found by rising effort of `EFFORTS`, with the tuned one last.
    float64[efforts, q]
        The share of the true neighbors of each query that each effort finds, averaged
        over embedders.
    """
    lean = {"hnsw": {"M": 8, "ef_construction": 40}}
    found: list[Ids] = [{} for _ in (*EFFORTS, recall)]
    task = f"approximate search {method}"
    for name in progress.track(list(vectors), task, unit="embedders"):
        each = vectors[name]
        k = truth[name].shape[1]
        index = approximate.build(each, method, **lean.get(method, {}))
        steps = index.efforts(k)
        efforts = [steps[min(step, len(steps)) - 1] for step in EFFORTS]
        tuned = tuning.tune(index, each[held_out], k, recall, exclude=held_out)
        for ids, effort in zip(found, [*efforts, tuned.effort], strict=True):
            ids[name] = index.search(each[queries], k, queries, effort).ids
    recalls = []
    for ids in found:
        shares = [tuning.recall_by_ids(ids[name], truth[name]) for name in ids]
        recalls.append(np.mean(shares, axis=0))
    return found, np.array(recalls)


# -- time, from the committed benchmark ------------------------------------------------


def growth(sampling: Sampling) -> pd.DataFrame:
    """How search time grows with the corpus, by ``python -m benchmarks.growth``.

    Returns
    -------
    DataFrame
        A row for each kind of vectors, each search (exact, hnsw, ivf) and number of
        queries in a call. Columns: slope of log seconds over log size; at the largest
        size seconds, of 100 queries, scaled up to the paper's 8 million vectors of 300
        dimensions, and times_as_fast as exact search, which itself has none. Each has
        its interval over runs in columns _low and _high.
    """
    times = pd.read_csv(BENCHMARK)
    dimensions = times.groupby("vectors")["dimensions"].first()
    searches = times.groupby(["vectors", "search", "queries"], sort=False)
    by_search = {
        search: runs.pivot(index="run", columns="sentences", values="seconds")
        for search, runs in searches
    }
    rows = {}
    for (vectors, search, queries), seconds in by_search.items():
        size = seconds.columns.max()
        last = seconds[size]
        slopes = np.polyfit(np.log(seconds.columns), np.log(seconds.T), 1)[0]
        found = pd.DataFrame({"slope": slopes}, last.index)
        scale = PAPERS_CORPUS / (size * dimensions[vectors])
        found["seconds"] = 100 * last * scale
        found["times_as_fast"] = by_search[vectors, "exact", queries][size] / last
        means = stats.means(found, sampling)[["value", "low", "high"]]
        if search == "exact":
            means.loc["times_as_fast"] = np.nan
        rows[vectors, search, queries] = means.to_numpy().ravel()
    columns = [name + end for name in found for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns).T.rename_axis(["vectors", "search", "queries"])
