"""Popular neighbors and outliers: sentences that many embedders or only one find.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 7 and appendix
B.4. A query is named by its row in the lists of neighbors, a sentence by its index in
the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

# The neighbors of the same queries under each embedder, int64[q, k], nearest first.
Ids = Mapping[str, np.ndarray]


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


# -- differences within a query --------------------------------------------------------


# -- one query -------------------------------------------------------------------------
