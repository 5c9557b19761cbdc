"""Popular neighbors and outliers: sentences that many embedders or only one find.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 7 and appendix
B.4. A query is named by its row in the lists of neighbors, a sentence by its index in
the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

from lib import stats
from lib.base import parameters
from lib.base.errors import InputError
from lib.corpora import Corpus, text

# The neighbors of the same queries under each embedder, int64[q, k], nearest first.
Ids = Mapping[str, np.ndarray]

NEAR_COPY = 0.7  # word overlap from which a neighbor is hardly another sentence


def find(corpus: Corpus, query: str) -> int:
    """The corpus index of a sentence, with white space squeezed.

    InputError, with the most similar sentence, if it is not there. Most similar is the
    sentence that shares most of its words with the query (Jaccard).
    """
    wanted = text.squeeze(query)
    if wanted in corpus.sentences:
        return corpus.sentences.index(wanted)
    words = text.content_types(wanted)

    def likeness(sentence: str) -> float:
        return text.jaccard(words, text.content_types(sentence))

    closest = max(corpus.sentences, key=likeness)
    raise InputError(
        f"query: {parameters.shown(wanted)} is not a sentence of corpus "
        f"{corpus.name!r}; give one exactly as it is there; most similar: {closest!r}"
    )


# -- who finds what --------------------------------------------------------------------


def found_by(ids: Ids, k: int) -> pd.DataFrame:
    """Who has which sentence among the k nearest of which query, and how many have it.

    Parameters
    ----------
    ids : mapping of str to int[q, K]
        For each embedder the neighbors of each query, nearest first.
    k : int
        How many of them count, at most K.

    Returns
    -------
    DataFrame
        Columns query, embedder, rank (from 1), sentence and popularity (1 to the number
        of embedders).
    """
    lists = np.stack([each[:, :k] for each in ids.values()])
    embedder, query, place = np.indices(lists.shape).reshape(3, -1)
    table = pd.DataFrame({"query": query})
    table["embedder"] = pd.Categorical.from_codes(embedder, list(ids))
    table["rank"] = place + 1
    table["sentence"] = lists.ravel()
    finders = table.groupby(["query", "sentence"])["rank"]
    table["popularity"] = finders.transform("size")
    return table


def popular(ids: Ids, k: int) -> pd.DataFrame:
    """The popularity of each sentence in any k-neighborhood (5 in the paper).

    Popularity is the number of neighborhoods that a sentence is in. Columns query,
    sentence and popularity, by query, the most popular first, equally popular ones as
    in the corpus.
    """
    table = found_by(ids, k)[["query", "sentence", "popularity"]]
    by = ["query", "popularity", "sentence"]
    table = table.sort_values(by, ascending=[True, False, True])
    return table.drop_duplicates(ignore_index=True)


def outliers(ids: Ids, near: int, far: int) -> pd.DataFrame:
    """Sentences near a query for one embedder, and far for all others (Table 2).

    They are outside the far neighborhood of every other one.

    Parameters
    ----------
    ids : mapping of str to int[q, K]
    near : int
        The highest rank of an outlier. The paper says "highly ranked"; the ranks in its
        tables go to 12.
    far : int
        How many neighbors of each other embedder must not hold it; 50 in the paper.

    Returns
    -------
    DataFrame
        Columns query, embedder, rank (from 1) and sentence, sorted by query, rank and
        the order of `ids`.
    """
    table = found_by(ids, far).query("popularity == 1 and rank <= @near")
    table = table.sort_values(["query", "rank", "embedder"], ignore_index=True)
    return table.drop(columns="popularity").astype({"embedder": str})


# -- what is known of a query and a sentence -------------------------------------------


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


# -- differences within a query --------------------------------------------------------


def average(
    values: pd.Series, sampling: stats.Sampling, clusters: np.ndarray | None = None
) -> stats.Interval:
    """The mean of a difference over queries, with its interval.

    Undefined where no query has the difference.
    """
    if not len(values):
        return stats.UNDEFINED
    return stats.bootstrap(stats.mean, values, sampling=sampling, clusters=clusters)


# -- one query -------------------------------------------------------------------------


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
