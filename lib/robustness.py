"""How far N2O, and the ranking of embedder pairs by it, depend on k, on the queries, and on how one searches.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 6. The searches that differ from the paper's are
in `lib.robustness_search`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import n2o, stats
from lib.run.errors import InputError
from lib.run.parameters import in_range

DECIMALS = 12  # of a mean overlap: what differs by less differs by the order of summation

# -- parameters ---------------------------------------------------------------------------------


def check_parameters(
    samples: int, queries: int, query_counts: Sequence[int], corpus_shares: Sequence[float], n: int, k: int
) -> None:
    """Raise InputError for parameters that do not go together.

    Two samples are compared; a sample has the first of `query_counts`; the last of `corpus_shares` is the whole corpus,
    and the one before leaves more than `k` of its `n` sentences.
    """
    in_range("samples", samples, 2, 1000, "one sample cannot be compared with another")
    in_range("the first of query_counts", query_counts[0], 2, queries, "a sample has so many queries")
    in_range("the last of corpus_shares", corpus_shares[-1], 1, 1.0, "the whole corpus")
    share = corpus_shares[-2]
    if round(share * n) <= k:
        raise InputError(
            f"corpus_shares: {share} of {n} sentences are too few for k = {k}; give at least {(k + 1) / n:.2g}"
        )


class Bootstrap(NamedTuple):
    """How queries are drawn anew: what `stats.bootstrap_mean` takes beside the values, under the same names."""

    rng: np.random.Generator
    groups: np.ndarray
    weights: np.ndarray | None = None
    repetitions: int = 1000
    confidence: float = 0.95

    def means(self, values: np.ndarray) -> np.ndarray:
        """The mean of each column in each resample of the rows, float64[repetitions, m]."""
        return stats.resampled_means(values, self.rng, self.groups, self.weights, self.repetitions)


# -- k ------------------------------------------------------------------------------------------


def at_depths(ids: Mapping[str, np.ndarray], ks: Sequence[int]) -> dict[int, pd.DataFrame]:
    """The overlap of every pair for every query (`n2o.per_query`) at several k, from one search at the largest.

    The k nearest neighbors are the first k of any longer list, so that nothing is searched for again.

    Parameters
    ----------
    ids : for each embedder int[q, K], nearest first
    ks : each at most K

    Raises InputError for a k beyond what is stored.
    """
    stored = min(lists.shape[1] for lists in ids.values())
    if max(ks) > stored:
        raise InputError(f"ks: {max(ks)} is beyond the {stored} neighbors that are stored; search for more")
    return {k: n2o.per_query({name: lists[:, :k] for name, lists in ids.items()}) for k in ks}


def most_relatives(groups: np.ndarray, queries: np.ndarray) -> int:
    """How many sentences of the corpus, at the most, are in one group with a query of `queries`, itself left out.

    `groups` is ``Corpus.groups``, int[n], with -1 where it is not known what means the same.
    """
    known = groups[groups >= 0]
    sizes = np.bincount(known, minlength=1)
    own = groups[queries]
    return int(sizes[own[own >= 0]].max(initial=1)) - 1


def without_relatives(ids: np.ndarray, queries: np.ndarray, groups: np.ndarray, k: int) -> np.ndarray:
    """The first k neighbors that do not mean the same as their query, as if the others were not in the corpus.

    Parameters
    ----------
    ids : int[q, K], nearest first, K at least k and `most_relatives`
    queries : int[q], corpus indices
    groups : ``Corpus.groups``

    Returns
    -------
    int[q, k]

    Raises InputError if fewer than k neighbors of some query are left.
    """
    own = groups[queries][:, None]
    related = (groups[ids] == own) & (own >= 0)
    if (left := int((~related).sum(axis=1).min())) < k:
        raise InputError(f"k: {k} is not accepted; without relatives {left} neighbors of a query are left")
    return np.take_along_axis(ids, np.argsort(related, axis=1, kind="stable")[:, :k], axis=1)


# -- rankings -----------------------------------------------------------------------------------


def means(overlaps: Mapping[object, pd.DataFrame], weights: np.ndarray | None = None) -> pd.DataFrame:
    """N2O of every pair (rows) under every condition (columns), averaged over the queries.

    Parameters
    ----------
    overlaps : for each condition the overlaps of the same queries, from `n2o.per_query`
    weights : float[q], how many samples hold each query (`n2o.Samples.weights`); 1 if not given
    """
    columns = {name: np.average(table, axis=0, weights=weights) for name, table in overlaps.items()}
    return pd.DataFrame(columns, index=next(iter(overlaps.values())).columns)


def average(overlaps: Mapping[object, pd.DataFrame], bootstrap: Bootstrap) -> pd.DataFrame:
    """N2O averaged over all pairs: a row for each condition, columns value, low, high.

    `overlaps` are as for `correlation_intervals`, `bootstrap` too.
    """
    over_pairs = np.column_stack([table.mean(axis=1) for table in overlaps.values()])
    low, high = stats.bootstrap_mean(over_pairs, *bootstrap)
    value = np.average(over_pairs, axis=0, weights=bootstrap.weights)
    return pd.DataFrame({"value": value, "low": low, "high": high}, index=list(overlaps))


def correlations(table: pd.DataFrame) -> pd.DataFrame:
    """Spearman's correlation between the rankings of pairs (rows) under every two conditions (columns)."""
    rho = _spearman(table.to_numpy().T)
    return pd.DataFrame(rho, index=table.columns, columns=table.columns)


def correlation_apart(sets: Sequence[tuple[pd.DataFrame, Bootstrap]]) -> tuple[float, float, float]:
    """Spearman's correlation between the rankings of pairs from two sets of queries, each drawn anew by itself.

    `sets` holds, for each of the two, the overlaps (from `n2o.per_query`) and its bootstrap; the first one's
    `confidence` holds. Returns rho, low, high. The interval leans to the low side: a resample has the noise of its
    sample, and its own on top.
    """
    rho = _spearman(np.stack([np.average(table, axis=0, weights=b.weights) for table, b in sets]))
    resampled = np.stack([b.means(table.to_numpy()) for table, b in sets], axis=1)
    rhos = _spearman(resampled[_ranks_something(resampled)])[:, 0, 1]
    low, high = stats.percentiles(rhos, sets[0][1].confidence)
    return float(rho[0, 1]), float(low), float(high)


def above_diagonal(table: pd.DataFrame) -> np.ndarray:
    """Each entry of a symmetric table once, without its diagonal."""
    return table.to_numpy()[np.triu_indices(len(table), 1)]


def correlation_intervals(overlaps: Mapping[object, pd.DataFrame], bootstrap: Bootstrap) -> pd.DataFrame:
    """Spearman's correlation between the rankings of pairs under every two conditions, with its interval.

    The pairs of embedders are not independent of each other; the queries are (in groups). So queries are drawn anew,
    the same for all conditions, and in each resample the pairs are ranked by their new N2O.

    Parameters
    ----------
    overlaps : for each condition the overlaps of the same queries, from `n2o.per_query`
    bootstrap : with the groups and weights of these queries

    Returns
    -------
    DataFrame with columns a, b (two conditions), rho, low, high. Resamples in which all pairs are equal under some
    condition have no ranking and do not count.
    """
    names = list(overlaps)
    resampled = bootstrap.means(np.hstack(list(overlaps.values()))).reshape(bootstrap.repetitions, len(names), -1)
    rho = _spearman(means(overlaps, bootstrap.weights).to_numpy().T)
    rhos = _spearman(resampled[_ranks_something(resampled)])
    low, high = stats.percentiles(rhos, bootstrap.confidence)
    rows = [(names[i], names[j], rho[i, j], low[i, j], high[i, j]) for i, j in combinations(range(len(names)), 2)]
    return pd.DataFrame(rows, columns=["a", "b", "rho", "low", "high"])


def against(intervals: pd.DataFrame, condition: object) -> pd.DataFrame:
    """Of `correlation_intervals` those with one condition: columns value, low, high, indexed by the other condition."""
    other = intervals["a"].where(intervals["b"] == condition, intervals["b"])
    concerned = (intervals["a"] == condition) | (intervals["b"] == condition)
    table = intervals.set_index(other).rename(columns={"rho": "value"})
    return table.loc[concerned.to_numpy(), ["value", "low", "high"]].rename_axis(None)


def _spearman(values: np.ndarray) -> np.ndarray:
    """Correlation of every two rows of N2O, float[..., c, m]: shares that differ by rounding only are tied."""
    return stats.spearman_matrix(np.round(values, DECIMALS))


def _ranks_something(resampled: np.ndarray) -> np.ndarray:
    """bool[r]: for N2O in resamples, float[r, c, m], whether none of the c rows is constant."""
    return (np.ptp(np.round(resampled, DECIMALS), axis=-1) > 0).all(axis=-1)


# -- queries ------------------------------------------------------------------------------------


def by_sample(overlaps: pd.DataFrame, samples: n2o.Samples) -> pd.DataFrame:
    """N2O of every pair (rows) in every sample (columns 1, 2 ...); `overlaps` has a row for each sampled query."""
    values = overlaps.to_numpy()
    columns = {i: values[members].mean(axis=0) for i, members in enumerate(samples.members, start=1)}
    return pd.DataFrame(columns, index=overlaps.columns)


def shared_queries(samples: n2o.Samples, groups: np.ndarray) -> tuple[float, float]:
    """How much two samples have in common, averaged over all twos of them.

    Parameters
    ----------
    groups : int[q], of ``samples.queries``; a negative number stands for a group of its own

    Returns
    -------
    the share of the queries of one that are in the other, and that are in it or have a relative of their group there
    """
    labels = stats.clusters(groups)
    twos = list(combinations(samples.members, 2))
    same = [np.isin(a, b).mean() for a, b in twos]
    related = [np.isin(labels[a], labels[b]).mean() for a, b in twos]
    return float(np.mean(same)), float(np.mean(related))


def interval_widths(overlaps: pd.DataFrame, bootstrap: Bootstrap, counts: Sequence[int]) -> pd.DataFrame:
    """How wide the bootstrap interval of a pair's N2O is with so many queries, each set part of the next.

    Parameters
    ----------
    overlaps : from `n2o.per_query`
    bootstrap : its weights are not used: each query counts once
    counts : numbers of queries; those beyond q are left out

    Returns
    -------
    DataFrame indexed by count: value, low and high are the median, 10th and 90th percentile over the pairs
    """
    values, order, rows = overlaps.to_numpy(), bootstrap.rng.permutation(len(overlaps)), {}
    for count in (count for count in counts if count <= len(order)):
        some = order[:count]
        low, high = stats.bootstrap_mean(values[some], *bootstrap._replace(groups=bootstrap.groups[some], weights=None))
        rows[count] = np.quantile(high - low, [0.5, 0.1, 0.9])
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])


def split_correlations(
    overlaps: pd.DataFrame, groups: np.ndarray, counts: Sequence[int], rng: np.random.Generator, splits: int = 20
) -> pd.DataFrame:
    """Spearman's correlation between the rankings from two sets of so many queries that share no group.

    Parameters
    ----------
    overlaps : from `n2o.per_query`
    groups : int[q]; a negative number stands for a group of its own
    counts : numbers of queries in each set; those for which the queries do not suffice are left out
    splits : how many times the queries are divided at random

    Returns
    -------
    DataFrame indexed by count: value, low and high are the mean, the least and the greatest over the splits
    """
    values, labels = overlaps.to_numpy(), stats.clusters(groups)
    _, member, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    # Between the two sets lies room for the group that would otherwise be in both.
    counts = [count for count in counts if 2 * count + sizes.max() - 1 <= len(values)]
    found = np.empty((splits, len(counts)))
    for split in found:
        order = np.argsort(rng.permutation(len(sizes))[member], kind="stable")  # groups in random order
        for i, count in enumerate(counts):
            halves = np.stack([values[order[:count]].mean(axis=0), values[order[-count:]].mean(axis=0)])
            split[i] = _spearman(halves)[0, 1]
    columns = {"value": found.mean(axis=0), "low": found.min(axis=0), "high": found.max(axis=0)}
    return pd.DataFrame(columns, index=counts)
