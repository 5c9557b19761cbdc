"""Popular neighbors and outliers: sentences that many embedders or only one find.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 7 and appendix
B.4. A query is named by its row in the lists of neighbors, a sentence by its index in
the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib import stats
from lib.corpora import Corpus, text
from lib.run import parameters
from lib.run.errors import InputError

# The neighbors of the same queries under each embedder, int64[q, k], nearest first.
Ids = Mapping[str, np.ndarray]


def find(corpus: Corpus, query: str) -> int:
    """The corpus index of a sentence, with white space squeezed.

    InputError, with the most similar sentence, if it is not there. Most similar is the
    sentence that shares most of its words with the query (Jaccard).
    """
    wanted = text.squeeze(query)
    if wanted in corpus.sentences:
        return corpus.sentences.index(wanted)
    words = text.content_types(wanted)
    closest = max(
        corpus.sentences,
        key=lambda sentence: text.jaccard(words, text.content_types(sentence)),
    )
    raise InputError(
        f"query: {parameters.shown(wanted)} is not a sentence of corpus "
        f"{corpus.name!r}; give one as it stands there, the most similar is {closest!r}"
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
    names = pd.Categorical.from_codes(embedder, list(ids))
    table = pd.DataFrame(
        {
            "query": query,
            "embedder": names,
            "rank": place + 1,
            "sentence": lists.ravel(),
        }
    )
    return table.assign(
        popularity=table.groupby(["query", "sentence"])["rank"].transform("size")
    )


def popular(ids: Ids, k: int) -> pd.DataFrame:
    """The popularity of each sentence in any k-neighborhood (5 in the paper).

    Popularity is the number of neighborhoods that a sentence is in. Columns query,
    sentence and popularity, by query, the most popular first, equally popular ones as
    in the corpus.
    """
    table = found_by(ids, k)[["query", "sentence", "popularity"]].drop_duplicates()
    return table.sort_values(
        ["query", "popularity", "sentence"],
        ascending=[True, False, True],
        ignore_index=True,
    )


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
        Outside of so many neighbors of all other embedders; 50 in the paper.

    Returns
    -------
    DataFrame
        Columns query, embedder, rank (from 1) and sentence, sorted by query, rank and
        the order of `ids`.
    """
    table = (
        found_by(ids, far)
        .query("popularity == 1 and rank <= @near")
        .drop(columns="popularity")
    )
    return table.sort_values(["query", "rank", "embedder"], ignore_index=True).astype(
        {"embedder": str}
    )


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
    query_rows, found = queries[pairs["query"]], pairs["sentence"].to_numpy()
    words = {
        i: text.content_types(corpus.sentences[i])
        for i in np.union1d(query_rows, found).tolist()
    }
    named = {i: names(corpus.sentences[i]) for i in words}
    both = list(zip(query_rows.tolist(), found.tolist(), strict=True))
    group, document = corpus.groups, corpus.documents
    return pairs.assign(
        overlap=[text.jaccard(words[i], words[j]) for i, j in both],
        names=[
            text.jaccard(named[i], named[j]) if named[i] else np.nan for i, j in both
        ],
        same=(group[query_rows] == group[found]) & (group[query_rows] >= 0),
        document=document[query_rows] == document[found],
    )


def names(sentence: str) -> frozenset[str]:
    """The capitalized words of a sentence but for its first word: mostly names."""
    return frozenset(
        word for word in text.cased_words(sentence)[1:] if word[0].isupper()
    )


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


def choose(near: pd.DataFrame, outlying: pd.DataFrame, near_copy: float = 0.7) -> int:
    """A query that shows much: a popular neighbor, no near-copy, and many outliers.

    Of all queries those with the most popular neighbor whose word overlap is below
    `near_copy` (any neighbor, if there is none such); of these the one with most
    outliers; of these the first.
    """
    apart = near[near["overlap"] < near_copy]
    best = (apart if len(apart) else near).groupby("query")[["popularity"]].max()
    best["outliers"] = outlying[
        "query"
    ].value_counts()  # missing where there is none, which sorts last
    return int(
        best.sort_values(
            ["popularity", "outliers"], ascending=False, kind="stable"
        ).index[0]
    )


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
    popular = popular.assign(
        embedder=popular["popularity"].astype(str) + " embedders", rank=""
    )
    outlying = (
        outlying[outlying["query"] == query].drop_duplicates("embedder").head(rows)
    )
    both = pd.concat([popular, outlying.astype({"rank": str})], ignore_index=True)
    sentences = [corpus.sentences[i] for i in both["sentence"]]
    return pd.DataFrame(
        {"found by": both["embedder"], "rank": both["rank"], "sentence": sentences}
    )
