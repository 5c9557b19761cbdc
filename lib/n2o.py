"""Nearest neighbor overlap (N2O): how alike two embedders are, judged by the neighbors they find.

"Situating Sentence Embedders with Nearest Neighbor Overlap", sections 2 and 5, appendix B.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import sparse

from lib import embedders
from lib.corpora import Corpus
from lib.neighbors import Neighbors, distributed
from lib.run import arrays, progress
from lib.run.environment import cores
from lib.run.errors import InputError
from lib.store import EmbeddingStore

if TYPE_CHECKING:
    from distributed import Client


def overlap(ids_a: np.ndarray, ids_b: np.ndarray) -> np.ndarray:
    """The share of neighbors that two embedders have in common, query by query (figure 2: o[j] / k).

    Parameters
    ----------
    ids_a, ids_b : int[q, k], the k neighbors that each embedder finds for each query

    Returns
    -------
    float64[q] in [0, 1]; 1 where both find the same set. The order within a row does not matter.

    Raises
    ------
    InputError
        Different shapes, or a row that names a neighbor twice.
    """
    ids_a, ids_b = arrays.whole("ids", ids_a), arrays.whole("ids", ids_b)
    if ids_a.shape != ids_b.shape or ids_a.ndim != 2 or not ids_a.shape[1]:
        raise InputError(f"ids: shapes {ids_a.shape} and {ids_b.shape}; give two arrays of one shape (queries, k)")
    repeated = (_repetitions(ids_a) + _repetitions(ids_b)).astype(bool)
    if repeated.any():
        raise InputError(f"ids: row {int(np.argmax(repeated))} names a neighbor twice; give k different ones a query")
    return _repetitions(np.concatenate([ids_a, ids_b], axis=1)) / ids_a.shape[1]


def _repetitions(ids: np.ndarray) -> np.ndarray:
    """How often each row repeats an id: two lists without repetitions, side by side, repeat what they share."""
    ordered = np.sort(ids, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).sum(axis=1)


def matrix(ids: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """N2O of every pair of embedders, averaged over queries (figure 3).

    `ids` maps an embedder's name to its neighbors, int[q, k]. The result is symmetric with a unit diagonal,
    rows and columns in the order of `ids`.
    """
    return square(per_query(ids).mean(), list(ids))


def per_query(ids: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Overlap of every pair of embedders (columns: a two-level index) for every query (rows), in [0, 1].

    Of two embedders or more. Raises InputError as `overlap` does.
    """
    columns = {(a, b): overlap(ids[a], ids[b]) for a, b in combinations(ids, 2)}
    return pd.DataFrame(columns).rename_axis(columns=["a", "b"])


def square(pairs: pd.Series, names: Sequence[str]) -> pd.DataFrame:
    """A series over pairs (a, b) as a symmetric table with ones on its diagonal."""
    table = pd.DataFrame(np.eye(len(names)), index=list(names), columns=list(names))
    for (a, b), value in pairs.items():
        table.loc[a, b] = table.loc[b, a] = value
    return table


def neighbors(
    names: Sequence[str],
    corpus: Corpus,
    queries: np.ndarray,
    k: int,
    client: Client | None = None,
) -> tuple[dict[str, Neighbors], pd.DataFrame]:
    """The k nearest neighbors of each query under each embedder, the query itself left out.

    Embeddings come from the store (`lib.store`), which encodes what it does not have.

    Parameters
    ----------
    names : embedders of the registry
    queries : int[q], corpus indices
    client : of a cluster that encodes and searches (`lib.run.cluster.connect`); None to do it here

    Returns
    -------
    found : for each name its Neighbors, ids int64[q, k]
    costs : DataFrame with columns embedder, family, dim, embed_seconds and search_seconds
    """
    store, found, costs = EmbeddingStore(), {}, []
    if client is None:
        train(names, corpus)
    for name in progress.track(names, "embedders", unit="embedders"):
        started = time.perf_counter()
        vectors = store.embed(embedders.load(name), corpus, show_progress_bar=True, client=client)
        embedded = time.perf_counter()
        found[name] = distributed.exact(vectors[queries], vectors, k, exclude=queries, client=client)
        seconds = embedded - started, time.perf_counter() - embedded
        costs.append((name, embedders.family(name), vectors.shape[1], *seconds))
    columns = ["embedder", "family", "dim", "embed_seconds", "search_seconds"]
    return found, pd.DataFrame(costs, columns=columns)


def train(names: Sequence[str], corpus: Corpus) -> None:
    """Have the store embed a corpus under those embedders that are trained on it, one on each core at a time."""

    def embed(name: str) -> None:
        EmbeddingStore().embed(embedders.load(name), corpus, show_progress_bar=True)

    trained = [name for name in names if embedders.family(name) == "trained on the corpus"]
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(embed, trained))


def chance(k: int, candidates: int) -> float:
    """Expected N2O of two embedders that draw their k neighbors blindly from `candidates` sentences: k / candidates."""
    return k / candidates


def clusters(corpus: Corpus, queries: np.ndarray) -> np.ndarray:
    """int[q], equal for queries that are not independent: translations of one verse, else sentences of one document."""
    groups, documents = corpus.groups[queries], corpus.documents[queries]
    return np.where(groups >= 0, groups, groups.max(initial=-1) + 1 + documents)


def word_types(sentences: Iterable[str], types: Callable[[str], frozenset[str]]) -> sparse.csr_array:
    """Which word types each sentence has, by a function from a sentence to its types: 0 or 1, int64[n, types]."""
    from sklearn.feature_extraction.text import CountVectorizer

    return sparse.csr_array(CountVectorizer(analyzer=types).fit_transform(sentences))


def token_overlap(types: sparse.csr_array, queries: np.ndarray, ids: np.ndarray, symmetric: bool = False) -> np.ndarray:
    """How much of a query's words its neighbors repeat (figure 5), averaged over the k neighbors.

    The paper does not define its token overlap. Here it is ``|T(q) & T(s)| / |T(q)|``, with T(s) the set of word
    types of a sentence s; or, symmetric, ``|T(q) & T(s)| / |T(q) | T(s)|`` (Jaccard).

    Parameters
    ----------
    types : those of each sentence of the corpus, from `word_types`
    queries : int[q], corpus indices
    ids : int[q, k], their neighbors

    Returns
    -------
    float64[q] in [0, 1], higher when neighbors repeat the query's words; 0 for a query without a word
    """
    of_queries = types[np.repeat(queries, ids.shape[1])]
    shared = of_queries.multiply(types[ids.ravel()]).sum(axis=1).reshape(ids.shape)
    sizes = types.sum(axis=1)
    all_types = sizes[queries][:, None]
    if symmetric:
        all_types = all_types + sizes[ids] - shared
    return (shared / np.maximum(1, all_types)).mean(axis=1)


def linkage(table: pd.DataFrame) -> np.ndarray:
    """Average-linkage clustering of a square table by 1 - N2O, leaves in optimal order (SciPy's format)."""
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    distances = squareform(1 - table.to_numpy(), checks=False)
    return hierarchy.linkage(distances, method="average", optimal_ordering=True)


def plane(table: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Places in the plane whose distances come close to 1 - N2O, and how far they are from it.

    Metric multidimensional scaling, started from classical scaling, so that no random number is needed.

    Returns
    -------
    points : DataFrame with columns x, y, indexed by name
    stress : float, Kruskal's stress-1; 0 is perfect, 0.2 and more is poor
    """
    from sklearn.manifold import MDS

    scaling = MDS(
        2, metric="precomputed", init="classical_mds", n_init=1, normalized_stress=True, max_iter=1000, random_state=0
    )
    points = pd.DataFrame(scaling.fit_transform(1 - table.to_numpy()), index=table.index, columns=["x", "y"])
    return points, float(scaling.stress_)
