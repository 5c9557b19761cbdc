"""Popular neighbors and outliers: which sentences many embedders find near a query, and which only one of them does.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 7 and appendix B.4. Everywhere here a query is
named by its row in the lists of neighbors, and a sentence by its index in the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib.corpora import Corpus, text
from lib.run import arrays, parameters
from lib.run.errors import InputError
from lib.run.parameters import in_range


def check_parameters(popular_k: int, outlier_rank: int, k: int) -> None:
    """Raise InputError, naming the parameter, unless both of the others are 1 to k, the neighbors that are stored."""
    in_range("popular_k", popular_k, 1, k, "no more than k neighbors of a query are stored")
    in_range("outlier_rank", outlier_rank, 1, k, "no more than k neighbors of a query are stored")


def find(corpus: Corpus, query: str) -> int:
    """The corpus index of a sentence, white space squeezed; InputError, with the most similar one, if it is not there.

    Most similar is the sentence that shares most of its words with the query (Jaccard).
    """
    wanted = text.squeeze(query)
    for i, sentence in enumerate(corpus.sentences):
        if sentence == wanted:
            return i
    words = _words(wanted)
    closest = max(corpus.sentences, key=lambda sentence: text.jaccard(words, _words(sentence)))
    raise InputError(
        f"query: {parameters.shown(wanted)} is not a sentence of corpus {corpus.name!r}; give one as it stands there, "
        f"the most similar is {closest!r}"
    )


def _words(sentence: str) -> frozenset[str]:
    return frozenset(sentence.lower().split())


# -- who finds what --------------------------------------------------------------------------------


def popular(ids: Mapping[str, np.ndarray], k: int) -> pd.DataFrame:
    """In how many embedders' k-neighborhood of a query each sentence is: its popularity.

    Parameters
    ----------
    ids : for each embedder the neighbors of each query, int[q, K], nearest first
    k : how many of them count, at most K; 5 in the paper

    Returns
    -------
    DataFrame with columns query, sentence and popularity (1 to the number of embedders): a row for each sentence that
    is in any k-neighborhood; by query, the most popular first, equally popular ones as in the corpus. The order of
    the embedders does not matter.

    Raises
    ------
    InputError
        k beyond the neighbors that are stored, lists of different shapes, or one that names a neighbor twice.
    """
    lists = _stacked(ids, "k", k)[:, :, :k]
    pairs, counts = np.unique(_pairs(lists), return_counts=True)
    query, sentence = np.divmod(pairs, _beyond(lists))
    table = pd.DataFrame({"query": query, "sentence": sentence, "popularity": counts})
    return table.sort_values(["query", "popularity", "sentence"], ascending=[True, False, True], ignore_index=True)


def outliers(ids: Mapping[str, np.ndarray], near: int, far: int) -> pd.DataFrame:
    """Sentences near to a query for one embedder, and outside the far neighborhood of every other one (Table 2).

    Parameters
    ----------
    ids : as for `popular`
    near : the highest rank of an outlier. The paper speaks of "highly ranked"; the ranks that it shows go to 12.
    far : outside of so many neighbors of all other embedders; 50 in the paper

    Returns
    -------
    DataFrame with columns query, embedder, rank (from 1) and sentence, sorted by query, rank and the order of `ids`
    """
    lists = _stacked(ids, "far", far)[:, :, :far]
    _, which, counts = np.unique(_pairs(lists), return_inverse=True, return_counts=True)
    alone = (counts[which] == 1).reshape(lists.shape)[:, :, :near]
    embedder, query, place = np.nonzero(alone)
    table = pd.DataFrame(
        {
            "query": query,
            "embedder": np.array(list(ids), dtype=object)[embedder],
            "rank": place + 1,
            "sentence": lists[embedder, query, place],
        }
    )
    return table.iloc[np.lexsort([embedder, place, query])].reset_index(drop=True)


def known(ids: Mapping[str, np.ndarray], query: int, rank: int, far: int) -> pd.DataFrame:
    """For one query: in how many embedders' far neighborhood is what each embedder finds at each rank.

    Returns a DataFrame of whole numbers from 1 on, a row an embedder, a column a rank from 1 to `rank`. 1 marks an
    outlier.
    """
    lists = _stacked({name: lists[query : query + 1] for name, lists in ids.items()}, "far", far)[:, 0, :far]
    _, which, counts = np.unique(lists, return_inverse=True, return_counts=True)
    found = counts[which].reshape(lists.shape)[:, :rank]
    return pd.DataFrame(found, index=list(ids), columns=np.arange(1, rank + 1))


def _stacked(ids: Mapping[str, np.ndarray], name: str, k: int) -> np.ndarray:
    """The lists of all embedders, int64[embedders, q, K], checked."""
    shapes = {embedder: np.shape(lists) for embedder, lists in ids.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 2:
        raise InputError(f"ids: shapes {shapes}; give each embedder's neighbors as an array of one shape (queries, k)")
    lists = np.stack([arrays.whole(f"ids of {embedder!r}", each) for embedder, each in ids.items()])
    if lists.min(initial=0) < 0 or (_beyond(lists) * lists.shape[1]) >= 2**63:
        raise InputError(f"ids: from {lists.min()} to {lists.max()}; give indices of sentences, from 0 on")
    in_range(name, k, 1, lists.shape[2], "as many neighbors are stored")
    ordered = np.sort(lists, axis=2)
    repeated = (ordered[:, :, 1:] == ordered[:, :, :-1]).any(axis=2)
    if repeated.any():
        embedder, query = np.argwhere(repeated)[0]
        raise InputError(f"ids: {list(ids)[embedder]} names a neighbor of query {query} twice; give different ones")
    return lists


def _pairs(lists: np.ndarray) -> np.ndarray:
    """A number for each query with each of its neighbors, like `lists`: the same for the same two."""
    return np.arange(lists.shape[1])[:, None] * _beyond(lists) + lists


def _beyond(lists: np.ndarray) -> int:
    return int(lists.max(initial=0)) + 1


# -- what is known of the pairs --------------------------------------------------------------------


def describe(
    pairs: pd.DataFrame,
    corpus: Corpus,
    queries: np.ndarray,
    compare: Callable[[frozenset[str], frozenset[str]], float] = text.jaccard,
) -> pd.DataFrame:
    """The table with what is known of each query and sentence: columns overlap and same.

    Parameters
    ----------
    pairs : with columns query and sentence
    queries : int[q], corpus indices
    compare : how word types are compared; Jaccard by default

    Returns
    -------
    DataFrame with columns more: overlap, the word overlap of both, float in [0, 1]; same, whether they mean the same,
    being of one group of the corpus (translations of one verse), NA where either's group is unknown
    """
    asked, found = queries[pairs["query"]], pairs["sentence"].to_numpy()
    types = {int(i): text.content_types(corpus.sentences[i]) for i in np.union1d(asked, found)}
    overlap = [compare(types[query], types[i]) for query, i in zip(asked.tolist(), found.tolist(), strict=True)]
    known = (corpus.groups[asked] >= 0) & (corpus.groups[found] >= 0)
    same = pd.Series(corpus.groups[asked] == corpus.groups[found], index=pairs.index, dtype="boolean").where(known)
    return pairs.assign(overlap=np.array(overlap, dtype=np.float64), same=same)


def kinds(pairs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Described pairs, apart: those that are known to mean the same, and the others; all, where nothing is known."""
    if pairs["same"].isna().all():
        return {"all sentences": pairs}
    same = pairs["same"].fillna(False).astype(bool)
    return {"same meaning as the query": pairs[same], "other sentences": pairs[~same]}


def translations(corpus: Corpus, queries: np.ndarray) -> pd.DataFrame:
    """Every sentence of the corpus that is known to mean the same as a query: columns query, sentence."""
    members = pd.DataFrame({"group": corpus.groups, "sentence": np.arange(len(corpus))})
    asked = pd.DataFrame({"query": np.arange(len(queries)), "group": corpus.groups[queries], "itself": queries})
    both = asked[asked["group"] >= 0].merge(members, on="group")
    return both.loc[both["sentence"] != both["itself"], ["query", "sentence"]].reset_index(drop=True)


# -- tables to read --------------------------------------------------------------------------------


def choose(near: pd.DataFrame, found: pd.DataFrame, near_copy: float) -> int:
    """The row of a query that shows much: a popular neighbor that is no near-copy of it, and many outliers.

    Of all queries those with the most popular neighbor whose word overlap is below `near_copy` (any neighbor, if
    there is none such); of these the one with most outliers; of these the first.

    Parameters
    ----------
    near : from `popular`, described
    found : from `outliers`
    """
    apart = near[near["overlap"] < near_copy]
    best = (apart if len(apart) else near).groupby("query")["popularity"].max()
    lonely = found.groupby("query").size().reindex(best.index, fill_value=0)
    order = pd.DataFrame({"popularity": best, "outliers": lonely})
    return int(order.sort_values(["popularity", "outliers"], ascending=False, kind="stable").index[0])


def all_queries(near: pd.DataFrame, found: pd.DataFrame, corpus: Corpus, queries: np.ndarray) -> pd.DataFrame:
    """A row for each query: its most popular neighbor, described; how many outliers it has, and the nearest of them.

    Parameters
    ----------
    near : from `popular`, described
    found : from `outliers`
    queries : int[q], corpus indices
    """
    columns = {"sentence": "popular_neighbor", "embedder": "outlier_of"}
    first = near.drop_duplicates("query").set_index("query").rename(columns=columns)
    nearest = found.drop_duplicates("query").set_index("query").rename(columns=columns | {"sentence": "outlier"})
    table = first.join(nearest).astype({"rank": "Int64", "outlier": "Int64"})
    table.insert(0, "query", queries[table.index])
    table.insert(5, "outliers", found.groupby("query").size().reindex(table.index, fill_value=0))
    for column in ("query", "popular_neighbor", "outlier"):
        table[column] = [None if pd.isna(i) else corpus.sentences[int(i)] for i in table[column]]
    return table.reset_index(drop=True)


def of_query(
    near: pd.DataFrame,
    found: pd.DataFrame,
    query: int,
    sentences: Sequence[str],
    embedders: int,
    k: int,
    rows: int | None = None,
) -> pd.DataFrame:
    """The most popular neighbors of a query and the outliers of highest rank, as in Tables 2 and 3.

    Parameters
    ----------
    near, found : from `popular` with this k, and from `outliers`
    rows : at most so many of either, and of each embedder only the outlier of highest rank; None for all

    Returns
    -------
    DataFrame with columns embedder, rank, sentence, all text
    """
    liked, lonely = near[near["query"] == query], found[found["query"] == query]
    if rows is not None:
        liked, lonely = liked.head(rows), lonely.drop_duplicates("embedder").head(rows)
    who = [f"all {embedders} embedders" if p == embedders else f"{p} of {embedders}" for p in liked["popularity"]]
    ranks = [f"≤ {k}"] * len(liked) + [str(rank) for rank in lonely["rank"]]
    chosen = [sentences[i] for i in [*liked["sentence"], *lonely["sentence"]]]
    return pd.DataFrame({"embedder": [*who, *lonely["embedder"]], "rank": ranks, "sentence": chosen})
