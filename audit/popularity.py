"""What is known of popular neighbors and outliers, beside who finds them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from lib import stats
from lib.corpora import Corpus, text
from lib.studies import popularity as finders

NEAR_COPY = 0.7  # word overlap from which a neighbor is hardly another sentence


def describe(pairs: pd.DataFrame, corpus: Corpus, queries: np.ndarray) -> pd.DataFrame:
    """Compare queries with sentences.

    Parameters
    ----------
    pairs : DataFrame
        Columns query and sentence.
    queries : int[q]
        Corpus indices.

    Returns
    -------
    DataFrame
        `pairs` with four more columns: overlap, the Jaccard index of both's words;
        names, that of their names (capitalized words that do not open the sentence),
        NaN for a query without one; same, whether they are known to mean the same;
        document, whether they are of one document.
    """
    asked = queries[pairs["query"]]
    found = pairs["sentence"].to_numpy()
    group = corpus.groups[asked]
    types = cache(text.content_types)
    named = cache(names)
    rows = zip(asked.tolist(), found.tolist(), strict=True)
    both = [(corpus.sentences[i], corpus.sentences[j]) for i, j in rows]
    table = pairs.copy()
    table["overlap"] = [text.jaccard(types(a), types(b)) for a, b in both]
    table["names"] = [
        text.jaccard(named(a), named(b)) if named(a) else np.nan for a, b in both
    ]
    table["same"] = (group == corpus.groups[found]) & (group >= 0)
    table["document"] = corpus.documents[asked] == corpus.documents[found]
    return table


def who_finds(
    ids: finders.Ids, corpus: Corpus, queries: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The five nearest sentences of each query, with their popularity; its outliers.

    Outliers are ranked 12 or higher by one embedder and found by no other.
    """
    k = next(iter(ids.values())).shape[1]
    near = finders.popular(ids, 5)
    outlying = finders.outliers(ids, near=12, far=k)
    return describe(near, corpus, queries), describe(outlying, corpus, queries)


def names(sentence: str) -> frozenset[str]:
    """The capitalized words of a sentence but for its first word: mostly names."""
    later = text.cased_words(sentence)[1:]
    return frozenset(word for word in later if word[0].isupper())


def paraphrases(corpus: Corpus, queries: np.ndarray) -> pd.DataFrame:
    """Every sentence known to mean the same as a query: columns query, sentence."""
    same = (corpus.groups[queries][:, None] == corpus.groups) & (corpus.groups >= 0)
    same[np.arange(len(queries)), queries] = False
    query, sentence = np.nonzero(same)
    return pd.DataFrame({"query": query, "sentence": sentence})


def average(
    values: pd.Series, sampling: stats.Sampling, clusters: np.ndarray | None = None
) -> stats.Interval:
    """The mean of a difference over queries, with its interval.

    Undefined where no query has the difference.
    """
    if not len(values):
        return stats.UNDEFINED
    return stats.bootstrap(stats.mean, values, sampling=sampling, clusters=clusters)


def choose(near: pd.DataFrame, outlying: pd.DataFrame) -> int:
    """A query that shows much: a popular neighbor, no near-copy, and many outliers.

    Of all queries those with the most popular neighbor whose word overlap is below
    `NEAR_COPY` (any neighbor, if there is none such); of these the one with most
    outliers; of these the first.
    """
    apart = near[near["overlap"] < NEAR_COPY]
    if apart.empty:
        apart = near
    best = apart.groupby("query")[["popularity"]].max()
    # Missing where there is none, which sorts last.
    best["outliers"] = outlying["query"].value_counts()
    by = ["popularity", "outliers"]
    best = best.sort_values(by, ascending=False, kind="stable")
    return int(best.index[0])


def of_query(
    near: pd.DataFrame, outlying: pd.DataFrame, query: int, corpus: Corpus, rows: int
) -> pd.DataFrame:
    """The most popular neighbors of a query and its outliers (Tables 2 and 3).

    At most `rows` of either.

    Returns
    -------
    DataFrame
        Columns found by (an embedder, or how many), rank (empty for popular neighbors)
        and sentence. Of each embedder only the outlier of highest rank.
    """
    popular = near[near["query"] == query].head(rows)
    count = popular["popularity"].astype(str)
    popular = popular.assign(embedder=count + " embedders", rank="")
    outlying = outlying[outlying["query"] == query]
    outlying = outlying.drop_duplicates("embedder").head(rows)
    both = pd.concat([popular, outlying.astype({"rank": str})], ignore_index=True)
    both["sentence"] = [corpus.sentences[row] for row in both["sentence"]]
    both = both.rename(columns={"embedder": "found by"})
    return both[["found by", "rank", "sentence"]]
