"""A new embedder among the stored ones: its neighbors of the same queries, compared with theirs.

N2O paper, end of section 4. Nothing of the stored embedders (`lib.neighborhoods`) is computed again;
``python -m lib.situate`` does the same from the command line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import n2o, popularity, stats
from lib.corpora import Corpus, text
from lib.embedders.base import Embeddings
from lib.embedders.checked import Checked
from lib.neighborhoods import Entry, Neighborhoods
from lib.neighbors import exact
from lib.situate.meter import Meter
from lib.store import EmbeddingStore

FAMILY = "your own"  # of an embedder that is none of the registry's


def place(
    mine: Checked, corpus: Corpus, stored: Neighborhoods, show_progress_bar: bool = True
) -> tuple[Neighborhoods, pd.DataFrame]:
    """Encode the stored corpus, search it for the neighbors of the stored queries, and put them with the others.

    Parameters
    ----------
    mine : from `lib.embedders.own.load`; its vectors come from the store where they are kept
    corpus : the text of the stored neighbors

    Returns
    -------
    placed : Neighborhoods, the stored ones and, last, those of `mine`
    costs : DataFrame of one row with columns embedder, dim, sentences, encode_seconds, sentences_per_second,
        encode_gigabytes, search_seconds, search_gigabytes. `sentences` is how many were encoded now; the rate is NaN
        for none. Gigabytes are what was resident beyond the memory in use before (`lib.situate.meter`).

    Raises
    ------
    InputError
        Another text, a name that is taken, or an embedder that does not return what it must.
    """
    stored.check(corpus)
    stored.check_new(mine.name)
    queries, before = stored.samples.queries, (mine.sentences, mine.seconds)
    with Meter() as encoding:
        vectors = _embed(mine, corpus, show_progress_bar)
    with Meter() as searching:
        found = exact(vectors[queries], vectors, stored.k, exclude=queries)
    placed = stored.adding(mine.name, Entry(found, FAMILY, vectors.shape[1]))
    encoded, seconds = mine.sentences - before[0], mine.seconds - before[1]
    costs = {
        "embedder": mine.name,
        "dim": vectors.shape[1],
        "sentences": encoded,
        "encode_seconds": encoding.seconds,
        "sentences_per_second": encoded / seconds if encoded else np.nan,
        "encode_gigabytes": encoding.gigabytes,
        "search_seconds": searching.seconds,
        "search_gigabytes": searching.gigabytes,
    }
    return placed, pd.DataFrame([costs])


def _embed(mine: Checked, corpus: Corpus, show: bool) -> Embeddings:
    if mine.cached_as is None:
        return mine.encode(corpus.sentences, show_progress_bar=show)
    return EmbeddingStore().embed(mine, corpus, name=mine.cached_as, show_progress_bar=show)


def row(pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    """The row of an embedder in the heatmap: its N2O with each other one, the closest first.

    `pairs` comes from `lib.n2o.summary`. Returns its columns n2o, low, high and std_over_samples, indexed by the
    other's name; equal ones stay in their order.
    """
    its = pairs[(pairs["a"] == name) | (pairs["b"] == name)]
    other = its["a"].where(its["b"] == name, its["b"]).rename("embedder")
    columns = ["n2o", "low", "high", "std_over_samples"]
    return its.set_index(other)[columns].sort_values("n2o", ascending=False, kind="stable")


def alone(placed: Neighborhoods) -> pd.DataFrame:
    """The share of each query's neighbors (rows) that no other embedder finds, for each embedder (columns)."""
    found = popularity.outliers(placed.ids, placed.k, placed.k)
    counts = found.groupby(["query", "embedder"]).size().unstack(fill_value=0)
    rows = range(len(placed.samples.queries))
    return counts.reindex(index=rows, columns=list(placed.ids), fill_value=0) / placed.k


def repeated_words(placed: Neighborhoods, corpus: Corpus) -> pd.DataFrame:
    """The share of each query's words (rows) in a neighbor, on average (`lib.n2o.token_overlap`), by embedder."""
    queries, sentences = placed.samples.queries, corpus.sentences
    return pd.DataFrame(
        {name: n2o.token_overlap(sentences, queries, ids, text.content_types) for name, ids in placed.ids.items()}
    )


def with_intervals(
    values: pd.DataFrame,
    samples: n2o.Samples,
    groups: np.ndarray,
    rng: np.random.Generator,
    repetitions: int = 1000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """The mean of each column over the samples with its bootstrap interval, the largest first.

    Parameters
    ----------
    values : a row for each of ``samples.queries``, a column for each embedder
    groups, rng, repetitions, confidence : as in `lib.n2o.summary`

    Returns
    -------
    DataFrame with columns mean, low, high, indexed by embedder
    """
    table = values.to_numpy()
    low, high = stats.bootstrap_mean(table, rng, groups, samples.weights, repetitions, confidence)
    means = {"mean": np.average(table, axis=0, weights=samples.weights), "low": low, "high": high}
    found = pd.DataFrame(means, index=values.columns.rename("embedder"))
    return found.sort_values("mean", ascending=False, kind="stable")


def beside(placed: Neighborhoods, name: str, others: Sequence[str], query: int) -> pd.DataFrame:
    """The neighbors of one query under an embedder, and who else finds them.

    Parameters
    ----------
    others : embedders to be looked at one by one, such as its closest relatives
    query : int, position in ``placed.samples.queries``

    Returns
    -------
    DataFrame with a row for each neighbor, nearest first, and columns neighbor (corpus index), similarity, found_by
    (how many of all other embedders), and a column of bool for each of `others`
    """
    found, k = placed.entries[name].neighbors, placed.k
    table = {
        "neighbor": found.ids[query],
        "similarity": found.similarities[query],
        "found_by": popularity.known(placed.ids, query, k, k).loc[name].to_numpy() - 1,
    }
    shared = {other: np.isin(found.ids[query], placed.ids[other][query]) for other in others}
    return pd.DataFrame(table | shared)


def typical(placed: Neighborhoods, name: str, other: str) -> int:
    """The query (position) at which two embedders overlap most nearly as they do on average; the first of several."""
    overlaps = n2o.overlap(placed.ids[name], placed.ids[other])
    return int(np.argmin(np.abs(overlaps - overlaps.mean())))
