"""What approximate search costs, what it finds, and what becomes of N2O.

"Situating Sentence Embedders with Nearest Neighbor Overlap", appendix C.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib import n2o, robustness
from lib.corpora import Corpus
from lib.neighbors import Neighbors, approximate, tuning
from lib.neighbors.brute_force import choose, nearest
from lib.neighbors.contract import Vectors, exclusions
from lib.run import progress
from lib.run.errors import InputError

STEPS = 4  # efforts to look at: the least there is, and from there 3, 15 and 63 steps up
ALONE = 10  # queries that are timed one by one


def held_out(corpus: Corpus, query_source: str, drawn: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Queries that are in no sample, to tune a search on.

    Parameters
    ----------
    query_source : "ledes" or "any"; where it has too few left, other sentences fill up
    drawn : corpus indices of the samples' queries

    Returns
    -------
    int64[n], distinct, none of them in `drawn`

    Raises InputError if fewer than `n` sentences are left.
    """
    left = np.setdiff1d(np.arange(len(corpus)), drawn)
    if not 1 <= n <= len(left):
        raise InputError(f"held_out: {n} is not accepted; {len(left)} sentences are no query: give 1 to {len(left)}")
    preferred = np.isin(left, n2o.candidates(corpus, query_source))
    return np.concatenate([rng.permutation(left[preferred]), rng.permutation(left[~preferred])])[:n]


def settings(method: str, n: int) -> dict[str, int]:
    """What an index of some ten thousand vectors is built with: lean, so that there is something to tune.

    With the usual settings the least effort there is would find nearly all of the neighbors in a graph (hnsw), and
    k-means would take most of the time (ivf).
    """
    if method == "hnsw":
        return {"M": 16, "ef_construction": 40}
    if method == "ivf":
        return {"nlist": max(1, min(round(n**0.5), n // approximate.LEAST_PER_CELL))}
    return {}


def suited(vectors: Mapping[str, Vectors], dimensions: int) -> dict[str, np.ndarray]:
    """The dense embeddings of at most so many dimensions: indexes take no sparse ones, and long ones take long."""
    return {name: v for name, v in vectors.items() if not sp.issparse(v) and v.shape[1] <= dimensions}


class Trial(NamedTuple):
    """One index, tuned and searched.

    Attributes
    ----------
    tuned : Tuning, on the held-out queries
    neighbors : Neighbors of the queries, found with the tuned effort
    steps : int64[STEPS, q, k], ids found with rising efforts
    build_seconds : float
    together, alone : float, milliseconds a query: all in one call, or one by one
    """

    tuned: tuning.Tuning
    neighbors: Neighbors
    steps: np.ndarray
    build_seconds: float
    together: float
    alone: float


def trials(
    vectors: Mapping[str, np.ndarray],
    method: str,
    queries: np.ndarray,
    held_out: np.ndarray,
    truth: Mapping[str, Neighbors],
    recall: float,
) -> dict[str, Trial]:
    """Index the corpus under each embedder, tune on held-out queries, search for the others. One thread throughout.

    Parameters
    ----------
    vectors : for each embedder the embeddings of the corpus, dense
    method : "hnsw", "ivf" or "ngt" (`lib.neighbors.approximate`)
    queries, held_out : int[q] and int[h], corpus indices
    truth : for each embedder the exact Neighbors of the held-out queries; as many are searched for
    recall : to be reached, by ids, on average over the held-out queries
    """
    tracked = progress.track(list(vectors), f"approximate search {method}", unit="embedders")
    return {name: _trial(vectors[name], method, queries, held_out, truth[name], recall) for name in tracked}


def _trial(
    vectors: np.ndarray, method: str, queries: np.ndarray, held_out: np.ndarray, truth: Neighbors, recall: float
) -> Trial:
    k = truth.ids.shape[1]
    index = approximate.build(vectors, method, **settings(method, len(vectors)))
    tuned = tuning.tune(index, vectors[held_out], k, recall, truth=truth, exclude=held_out)

    def find(some: np.ndarray, effort: float = tuned.effort) -> Neighbors:
        return index.search(vectors[some], k, some, effort)

    efforts = index.efforts(k)
    steps = [find(queries, efforts[min(4**step - 1, len(efforts) - 1)]).ids for step in range(STEPS)]
    found, together, alone = _timed(find, queries)
    return Trial(tuned, found, np.stack(steps), index.build_seconds, together, alone)


def exact_times(vectors: Mapping[str, np.ndarray], queries: np.ndarray, k: int) -> dict[str, tuple[float, float]]:
    """Milliseconds a query that exact search with one thread takes: all in one call, and one by one."""
    found = {}
    for name in progress.track(list(vectors), "exact search", unit="embedders"):

        def find(some: np.ndarray, v: np.ndarray = vectors[name]) -> object:
            return nearest(choose(v[some], v), k, exclusions(some, len(some), len(v)), threads=1)

        found[name] = _timed(find, queries)[1:]
    return found


def _timed(find: Callable[[np.ndarray], Neighbors], queries: np.ndarray) -> tuple[Neighbors, float, float]:
    """What is found for all queries together; milliseconds a query, together and one by one."""
    started = time.perf_counter()
    found = find(queries)
    together = time.perf_counter() - started
    started = time.perf_counter()
    few = queries[:ALONE]
    for query in few:
        find(np.array([query]))
    return found, 1000 * together / len(queries), 1000 * (time.perf_counter() - started) / len(few)


def quality(tried: Mapping[str, Mapping[str, Trial]], truth: Mapping[str, Neighbors]) -> pd.DataFrame:
    """What tuned indexes find: a row for each method and embedder.

    Parameters
    ----------
    tried : for each method its trials
    truth : for each embedder the exact Neighbors of the queries

    Returns
    -------
    DataFrame with columns method, embedder, effort_name, effort, recall_held_out (by ids, what it was tuned on),
    recall_by_ids, recall_by_distance (means over the queries, see `lib.neighbors.tuning`)
    """
    rows = []
    for method, name, trial in ((method, *each) for method, trials in tried.items() for each in trials.items()):
        by_ids = tuning.recall_by_ids(trial.neighbors.ids, truth[name].ids).mean()
        by_distance = tuning.recall_by_distance(trial.neighbors.similarities, truth[name].similarities).mean()
        tuned = trial.tuned
        rows.append((method, name, tuned.effort_name, tuned.effort, tuned.recall_by_ids, by_ids, by_distance))
    columns = ["method", "embedder", "effort_name", "effort", "recall_held_out", "recall_by_ids", "recall_by_distance"]
    return pd.DataFrame(rows, columns=columns)


def effect(
    tried: Mapping[str, Mapping[str, Trial]],
    truth: Mapping[str, Neighbors],
    bootstrap: robustness.Bootstrap,
) -> pd.DataFrame:
    """What becomes of N2O if the neighbors are those that a tuned index finds: a row for each method.

    Parameters
    ----------
    tried, truth : as for `quality`
    bootstrap : with the groups and weights of the queries

    Returns
    -------
    DataFrame with columns method, recall_by_ids, recall_by_distance (averages over embedders), mean_change,
    largest_change (of the N2O of a pair; the largest of their magnitudes), rho, low, high (Spearman's correlation
    between the rankings of pairs by exact and by approximate search, with its interval)
    """
    found, rows = quality(tried, truth).groupby("method")[["recall_by_ids", "recall_by_distance"]].mean(), []
    for method, trials in tried.items():
        exact = n2o.per_query({name: truth[name].ids for name in trials})
        overlaps = {"exact": exact, method: n2o.per_query({name: t.neighbors.ids for name, t in trials.items()})}
        rho = robustness.correlation_intervals(overlaps, bootstrap).iloc[0]
        change = robustness.means(overlaps, bootstrap.weights).diff(axis=1)[method]
        rows.append(
            (method, *found.loc[method], change.mean(), change.abs().max(), rho["rho"], rho["low"], rho["high"])
        )
    columns = ["method", "recall_by_ids", "recall_by_distance", "mean_change", "largest_change", "rho", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def by_steps(
    tried: Mapping[str, Trial],
    truth: Mapping[str, Neighbors],
    bootstrap: robustness.Bootstrap,
) -> pd.DataFrame:
    """How well pairs of embedders are ranked with rising effort.

    Parameters
    ----------
    truth : the exact Neighbors of the queries
    bootstrap : with the groups and weights of the queries

    Returns
    -------
    DataFrame with a row for each of the STEPS, indexed by recall (by ids, averaged over queries and embedders): value
    is Spearman's correlation with the ranking by exact search, low and high its interval
    """
    overlaps: dict[object, pd.DataFrame] = {"exact": n2o.per_query({name: truth[name].ids for name in tried})}
    overlaps |= {step: n2o.per_query({name: t.steps[step] for name, t in tried.items()}) for step in range(STEPS)}
    rho = robustness.correlation_intervals(overlaps, bootstrap)
    recall = [[tuning.recall_by_ids(ids, truth[name].ids).mean() for ids in t.steps] for name, t in tried.items()]
    return robustness.against(rho, "exact").set_index(pd.Index(np.mean(recall, axis=0), name="recall"))
