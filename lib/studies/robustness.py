"""What N2O, and the ranking of pairs of embedders by it, depend on.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 6 and appendix C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import rankdata

from lib import embedders, n2o, stats
from lib.corpora import Corpus
from lib.embedders.base import Embeddings
from lib.neighbors import approximate, exact
from lib.run import paths, progress
from lib.stats import Interval, Sampling
from lib.store import EmbeddingStore

Vectors = Mapping[str, Embeddings]  # of one corpus, under each embedder
Ids = dict[str, np.ndarray]  # the neighbors of the same queries under each embedder, int64[q, k], nearest first

EFFORTS = (1, 4, 16, 64)  # of an index, in steps above the least that it can be searched with
BENCHMARK = paths.ROOT / "docs" / "benchmarks" / "growth.csv"
PAPERS_CORPUS = 8_000_000 * 300  # numbers: sentences times dimensions


# -- neighbors ----------------------------------------------------------------------------------


def embeddings(names: Sequence[str], corpus: Corpus) -> dict[str, Embeddings]:
    """The embeddings of a corpus under embedders of the registry, from the store."""
    store = EmbeddingStore()
    n2o.train(names, corpus)
    tracked = progress.track(names, f"embeddings of {corpus.name}", unit="embedders")
    return {name: store.embed(embedders.load(name), corpus, show_progress_bar=True) for name in tracked}


def nearest(vectors: Vectors, queries: np.ndarray, k: int, among: np.ndarray | None = None) -> Ids:
    """The k sentences of greatest cosine with each query, the query itself left out.

    Parameters
    ----------
    vectors : mapping of str to float[n, d]
    queries : int[q]
        Corpus indices.
    k : int
    among : int[m], optional
        Ascending corpus indices: where to search, by default everywhere. A query need not be one of them.
    """
    if among is None:
        return {name: exact(each[queries], each, k, exclude=queries).ids for name, each in vectors.items()}
    itself = pd.Index(among).get_indexer(queries)  # -1 for a query that is none of them
    return {name: among[exact(each[queries], each[among], k, exclude=itself).ids] for name, each in vectors.items()}


def euclidean(vectors: Vectors, queries: np.ndarray, k: int) -> Ids:
    """The k sentences at the least Euclidean distance from each query; parameters as for `nearest`."""
    from sklearn.neighbors import NearestNeighbors

    found = {}
    for name, each in vectors.items():
        index = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(each)
        ids = index.kneighbors(each[queries], return_distance=False)
        others_first = np.argsort(ids == queries[:, None], axis=1, kind="stable")
        found[name] = np.take_along_axis(ids, others_first, axis=1)[:, :k]
    return found


# -- what pairs of embedders share --------------------------------------------------------------


def shared(ids: Ids, order: np.ndarray | None = None) -> np.ndarray:
    """How many of their d nearest sentences two embedders share.

    Parameters
    ----------
    ids : mapping of str to int[q, k]
    order : int[q], optional
        A permutation of the queries for the second embedder of each pair: what unrelated queries share, a baseline.

    Returns
    -------
    int16[q, pairs, k]
        For each query, each pair of embedders (in the order of `itertools.combinations`) and d = 1 ... k.
    """
    counts = []
    for a, b in combinations(ids, 2):
        other = ids[b] if order is None else ids[b][order]
        same = ids[a][:, :, None] == other[:, None, :]
        table = same.cumsum(axis=1, dtype=np.int16).cumsum(axis=2, dtype=np.int16)
        counts.append(table.diagonal(axis1=1, axis2=2))
    return np.stack(counts, axis=1)


def overlap(ids: Ids) -> np.ndarray:
    """`lib.n2o.overlap` of each pair of embedders, in the order of `shared`: float64[q, pairs]."""
    return n2o.per_query(ids).to_numpy()


# -- rankings -----------------------------------------------------------------------------------


def agreement(x: np.ndarray, y: np.ndarray, sampling: Sampling) -> Interval:
    """Spearman's correlation of two rankings of pairs, and Fisher's interval over queries.

    `x` and `y`, float[q, pairs], hold what two embedders have in common for each query, under two conditions. Row by
    row they are of the same queries, or of queries that were drawn independently.
    """

    def correlation(x: np.ndarray, y: np.ndarray) -> float:
        return stats.spearman(x.mean(axis=0), y.mean(axis=0))

    return stats.bootstrap(correlation, x, y, sampling=sampling, method="fisher")


def between_samples(overlaps: np.ndarray, n: int, sampling: Sampling) -> Interval:
    """Mean of Spearman's correlations between the rankings from every two disjoint samples of n queries.

    `overlaps`, float[q, pairs], are those of queries in random order, at least 2 n of them.
    """
    return stats.bootstrap(_mean_correlation, _samples(overlaps, n), sampling=sampling, method="fisher")


def less_than_samples(exactly: np.ndarray, otherwise: np.ndarray, n: int, sampling: Sampling) -> Interval:
    """The correlation between two ways to search, less that between two samples of n queries.

    Positive where the search changes the ranking less than other queries do. `exactly` and `otherwise`,
    float[q, pairs], are the overlaps of the same queries in random order; both correlations are means over disjoint
    samples of n.
    """

    def difference(one: np.ndarray, other: np.ndarray) -> float:
        samples = zip(one.mean(axis=0), other.mean(axis=0), strict=True)
        return np.mean([stats.spearman(*sample) for sample in samples]) - _mean_correlation(one)

    columns = _samples(exactly, n), _samples(otherwise, n)
    return stats.bootstrap(difference, *columns, sampling=sampling, method="normal")


def noise(overlaps: np.ndarray, n: int, sampling: Sampling) -> Interval:
    """The variance of the N2O of a pair over samples of n queries, as a share of its variance over pairs.

    Of `overlaps`, float[q, pairs]. The variance over pairs is that of the means over all q queries, less their noise.
    """

    def ratio(rows: np.ndarray) -> float:
        variance = rows.var(axis=0, ddof=1).mean()
        return variance / n / (rows.mean(axis=0).var(ddof=1) - variance / len(rows))

    return stats.bootstrap(ratio, overlaps, sampling=sampling, method="normal")


def _samples(overlaps: np.ndarray, n: int) -> np.ndarray:
    """float[n, samples, pairs]: a row has one query of each disjoint sample, so that rows are independent."""
    samples = len(overlaps) // n
    return overlaps[: samples * n].reshape(n, samples, -1)


def _mean_correlation(rows: np.ndarray) -> float:
    rho = np.corrcoef(rankdata(rows.mean(axis=0), axis=1))
    return rho[np.triu_indices(len(rho), 1)].mean()


def inner_products(vectors: Embeddings) -> np.ndarray:
    """The inner products of every two of some vectors, dense or CSR: float[n, n]."""
    products = vectors @ vectors.T
    return products.toarray() if sparse.issparse(products) else products


# -- approximate search -------------------------------------------------------------------------


def trials(
    vectors: Vectors, method: str, queries: np.ndarray, held_out: np.ndarray, truth: Ids, recall: float
) -> tuple[list[Ids], np.ndarray]:
    """Search an index with little effort, with more, and with what reaches a recall on held-out queries.

    Parameters
    ----------
    vectors : mapping of str to float[n, d]
    method : {"hnsw", "ivf", "ngt"}
        Built leaner than usual, so that there is something to tune at some ten thousand vectors.
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
        The share of the true neighbors of each query that each effort finds, averaged over embedders.
    """
    lean = {"hnsw": {"M": 8, "ef_construction": 40}}
    found: list[Ids] = [{} for _ in (*EFFORTS, recall)]
    for name in progress.track(list(vectors), f"approximate search {method}", unit="embedders"):
        k, each = truth[name].shape[1], vectors[name]
        index = approximate.build(each, method, **lean.get(method, {}))
        steps = index.efforts(k)
        tuned = approximate.tune(index, each[held_out], k, recall, exclude=held_out).effort
        efforts = [*(steps[min(step, len(steps)) - 1] for step in EFFORTS), tuned]
        for ids, effort in zip(found, efforts, strict=True):
            ids[name] = index.search(each[queries], k, queries, effort).ids
    recalls = [[approximate.recall_by_ids(ids[name], truth[name]) for name in ids] for ids in found]
    return found, np.mean(recalls, axis=1)


# -- time, from the committed benchmark ---------------------------------------------------------


def growth(sampling: Sampling) -> pd.DataFrame:
    """How the time of a search grows with the corpus, by ``python -m benchmarks.growth``.

    Returns
    -------
    DataFrame
        A row for each kind of vectors, each search (exact, hnsw, ivf) and number of queries in a call. Columns: slope
        of log seconds over log size; at the largest size seconds, of 100 queries, scaled up to the paper's 8 million
        vectors of 300 dimensions, and times_as_fast as exact search. Each has its interval over runs in columns _low
        and _high.
    """
    times = pd.read_csv(BENCHMARK)
    by_search = {
        key: some.pivot(index="run", columns="sentences", values="seconds")
        for key, some in times.groupby(["vectors", "search", "queries"], sort=False)
    }
    dimensions = times.groupby("vectors")["dimensions"].first()
    rows = {}
    for (vectors, search, queries), seconds in by_search.items():
        largest = seconds.columns.max()
        found = {
            "slope": np.polyfit(np.log(seconds.columns), np.log(seconds.T), 1)[0],
            "seconds": 100 * seconds[largest] * PAPERS_CORPUS / (largest * dimensions[vectors]),
            "times_as_fast": by_search[vectors, "exact", queries][largest] / seconds[largest],
        }
        intervals = stats.bootstrap(stats.mean, pd.DataFrame(found), sampling=sampling)
        rows[vectors, search, queries] = np.transpose(intervals).ravel()
    columns = [name + end for name in found for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns).T.rename_axis(["vectors", "search", "queries"])
