"""Other ways to search: by Euclidean distance, and approximately, with its time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lib import stats
from lib.base import paths, progress
from lib.neighbors import approximate, tuning
from lib.stats import Interval, Sampling
from lib.studies.robustness import Ids, Vectors

# How hard an index looks: steps above the least that it can be searched with.
EFFORTS = (1, 4, 16, 64)
BENCHMARK = paths.BENCHMARKS / "growth.csv"
PAPERS_CORPUS = 8_000_000 * 300  # numbers: sentences times dimensions


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


def growth(sampling: Sampling) -> pd.DataFrame:
    """How search time grows with the corpus, by ``python -m benchmarks.growth``.

    Returns
    -------
    DataFrame
        A row for each kind of vectors, each search (exact, hnsw, ivf) and number of
        queries in a call. Columns: slope of log seconds over log size; at the largest
        size seconds, of 100 queries, scaled up to the paper's 8 million vectors of 300
        dimensions, and times_as_fast as exact search; and beyond_exact, the slope
        minus that of exact search. Exact search itself has neither. Each has its
        interval over runs in columns _low and _high.
    """
    times = pd.read_csv(BENCHMARK)
    dimensions = times.groupby("vectors")["dimensions"].first()
    searches = times.groupby(["vectors", "search", "queries"], sort=False)
    by_search = {
        search: runs.pivot(index="run", columns="sentences", values="seconds")
        for search, runs in searches
    }
    slopes = {
        search: np.polyfit(np.log(seconds.columns), np.log(seconds.T), 1)[0]
        for search, seconds in by_search.items()
    }
    rows = {}
    for (vectors, search, queries), seconds in by_search.items():
        size = seconds.columns.max()
        last = seconds[size]
        own, exact = (slopes[vectors, each, queries] for each in (search, "exact"))
        found = pd.DataFrame({"slope": own}, last.index)
        scale = PAPERS_CORPUS / (size * dimensions[vectors])
        found["seconds"] = 100 * last * scale
        found["times_as_fast"] = by_search[vectors, "exact", queries][size] / last
        found["beyond_exact"] = own - exact
        means = stats.means(found, sampling)[["value", "low", "high"]]
        if search == "exact":
            means.loc[["times_as_fast", "beyond_exact"]] = np.nan
        rows[vectors, search, queries] = means.to_numpy().ravel()
    columns = [name + end for name in found for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns).T.rename_axis(["vectors", "search", "queries"])


def quoted(rows: pd.DataFrame, column: str) -> Interval:
    """A column of `growth` with its intervals."""
    columns = [column, f"{column}_low", f"{column}_high"]
    return Interval(*rows[columns].to_numpy().T)
