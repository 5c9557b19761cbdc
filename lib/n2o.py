"""Nearest neighbor overlap (N2O): how alike two embedders are, by their neighbors.

"Situating Sentence Embedders with Nearest Neighbor Overlap", sections 2 and 5, appendix
B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import sparse

from lib import stats
from lib.base.errors import InputError
from lib.vectors import Embeddings, as_integers, dense


def compare(
    vectors: Mapping[str, Embeddings],
    queries: Sequence[int],
    k: int = 10,
    clusters: np.ndarray | None = None,
    sampling: stats.Sampling | None = None,
    permutations: int = 99,
) -> pd.DataFrame:
    """How alike embedders are: each pair's N2O, and CKA beside it.

    Parameters
    ----------
    vectors : mapping of str to float[n, d]
        Of the same sentences under each embedder, dense or CSR, two or more.
    queries : sequence of int
        The rows that ask, each for its k nearest of the others by cosine. CKA is that
        of these rows.
    k : int
    clusters : int[q], optional
        Equal for queries that are not independent, such as those of one document.
    sampling : lib.stats.Sampling, optional
        Of the intervals; by default 1,000 draws at 95 %.
    permutations : int
        Of one side's rows: what CKA is where nothing is shared but the vectors' spread.

    Returns
    -------
    DataFrame
        A row for each pair (a, b): n2o, low and high (its interval over queries),
        chance, cka, cka_null (its mean over permutations) and cka_p, the share of
        permutations, the true order among them, that reach it.

    Raises
    ------
    InputError
        Fewer than two embedders, different numbers of rows, a query that is no row, k
        beyond what there is.

    Examples
    --------
    >>> from lib.n2o import compare
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=(100, 8))
    >>> turned = a @ np.linalg.qr(rng.normal(size=(8, 8))).Q
    >>> other = rng.normal(size=(100, 8))
    >>> found = compare({"a": a, "turned": turned, "other": other}, np.arange(50), k=5)
    >>> found[["n2o", "chance", "cka"]].round(2)
                    n2o  chance   cka
    a      b
    a      turned  1.00    0.05  1.00
           other   0.04    0.05  0.12
    turned other   0.04    0.05  0.12
    """
    from lib.neighbors import exact  # it compiles, for which a browser has no compiler

    queries = as_integers("queries", queries)
    rows = {name: each.shape[0] for name, each in vectors.items()}
    if len(set(rows.values())) > 1:
        raise InputError(
            f"vectors: have {rows} rows; give each name one row per sentence"
        )
    total = min(rows.values(), default=0)
    if queries.ndim != 1 or not np.isin(queries, np.arange(total)).all():
        raise InputError(
            f"queries: not rows of the vectors; give some of 0 to {total - 1}"
        )
    ids = {
        name: exact(each[queries], each, k, exclude=queries).ids
        for name, each in vectors.items()
    }
    overlaps = per_query(ids)
    table = stats.means(overlaps, sampling or stats.Sampling(), clusters, (0, 1))
    table = table[["value", "low", "high"]].rename(columns={"value": "n2o"})
    table["chance"] = chance(k, total - 1)
    products = [inner_products(each[queries]) for each in vectors.values()]
    order = np.arange(len(queries))
    table["cka"] = cka(products, order, order)
    rng = np.random.default_rng(0)
    null = [cka(products, order, rng.permutation(order)) for _ in range(permutations)]
    table["cka_null"] = np.mean(null, axis=0)
    reached = np.sum(np.array(null) >= table["cka"].to_numpy(), axis=0)
    table["cka_p"] = (1 + reached) / (1 + permutations)
    return table


def overlap(ids_a: np.ndarray, ids_b: np.ndarray) -> np.ndarray:
    """The share of neighbors that two embedders have in common, for each query.

    Figure 2: o[j] / k.

    Parameters
    ----------
    ids_a, ids_b : int[q, k], the k neighbors that each embedder finds for each query

    Returns
    -------
    float64[q] in [0, 1]; 1 where both find the same set. The order within a row does
    not matter.

    Raises
    ------
    InputError
        Different shapes, or a row that names a neighbor twice.

    Examples
    --------
    >>> from lib.n2o import overlap
    >>> overlap(np.array([[1, 2, 3, 4]]), np.array([[4, 1, 8, 9]]))
    array([0.5])
    """
    ids_a = as_integers("ids", ids_a)
    ids_b = as_integers("ids", ids_b)
    has_neighbors = ids_a.ndim == 2 and ids_a.shape[1] > 0
    if not has_neighbors or ids_a.shape != ids_b.shape:
        shapes = f"{ids_a.shape} and {ids_b.shape}"
        raise InputError(
            f"ids: shapes {shapes}; give two arrays of the same shape (queries, k)"
        )
    repeats = _repetitions(ids_a) + _repetitions(ids_b)
    if repeats.any():
        row = int(np.argmax(repeats > 0))
        raise InputError(
            f"ids: row {row} names a neighbor twice; give k different ones per query"
        )
    side_by_side = np.concatenate([ids_a, ids_b], axis=1)
    k = ids_a.shape[1]
    return _repetitions(side_by_side) / k


def _repetitions(ids: np.ndarray) -> np.ndarray:
    """How often each row repeats an id.

    Two lists without repetitions, side by side, repeat what they share.
    """
    ordered = np.sort(ids, axis=1)
    repeats = ordered[:, 1:] == ordered[:, :-1]
    return repeats.sum(axis=1)


def matrix(ids: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """N2O of every pair of embedders, averaged over queries (figure 3).

    `ids` maps an embedder's name to its neighbors, int[q, k]. The result is symmetric
    with a unit diagonal, rows and columns in the order of `ids`. Raises InputError for
    fewer than two embedders, and as `overlap` does.

    Examples
    --------
    >>> from lib.n2o import matrix
    >>> matrix({"a": np.array([[1, 2], [3, 4]]), "b": np.array([[2, 1], [3, 5]])})
          a     b
    a  1.00  0.75
    b  0.75  1.00
    """
    means = per_query(ids).mean()
    return square(means, list(ids))


def per_query(ids: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Overlap of every pair of embedders for every query, in [0, 1].

    Rows are queries; columns are pairs, in a two-level index. Raises InputError for
    fewer than two embedders, and as `overlap` does.
    """
    if len(ids) < 2:
        raise InputError(f"ids: {len(ids)} embedders; give two or more")
    overlaps = {}
    for a, b in combinations(ids, 2):
        overlaps[a, b] = overlap(ids[a], ids[b])
    table = pd.DataFrame(overlaps)
    return table.rename_axis(columns=["a", "b"])


def square(pairs: pd.Series, names: Sequence[str]) -> pd.DataFrame:
    """A series over pairs (a, b) as a symmetric table with ones on its diagonal."""
    names = list(names)
    diagonal = np.eye(len(names))
    table = pd.DataFrame(diagonal, index=names, columns=names)
    for (a, b), value in pairs.items():
        table.loc[a, b] = value
        table.loc[b, a] = value
    return table


def chance(k: int, candidates: int) -> float:
    """Expected N2O of two embedders that draw their neighbors at random.

    Each draws k of `candidates` sentences: k / candidates.
    """
    return k / candidates


def linkage(table: pd.DataFrame) -> np.ndarray:
    """Average-linkage clustering of a square table by 1 - N2O.

    In SciPy's format, with leaves in optimal order.
    """
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    distances = squareform(1 - table.to_numpy(), checks=False)
    return hierarchy.linkage(distances, method="average", optimal_ordering=True)


def plane(table: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Points in the plane whose distances come close to 1 - N2O, and their stress.

    Metric multidimensional scaling, started from classical scaling, so that no random
    number is needed.

    Returns
    -------
    points : DataFrame with columns x, y, indexed by name
    stress : float, Kruskal's stress-1; 0 is perfect, 0.2 and more is poor
    """
    from sklearn.manifold import MDS

    scaling = MDS(
        2,
        metric="precomputed",
        init="classical_mds",
        n_init=1,
        normalized_stress=True,
        max_iter=1000,
        random_state=0,
    )
    places = scaling.fit_transform(1 - table.to_numpy())
    points = pd.DataFrame(places, index=table.index, columns=["x", "y"])
    return points, float(scaling.stress_)


def word_types(
    sentences: Iterable[str], types: Callable[[str], frozenset[str]]
) -> sparse.csr_array:
    """The word types of each sentence: 0 or 1, int64[n, types].

    `types` is a function from a sentence to its types.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer=types)
    presence = counter.fit_transform(sentences)
    return sparse.csr_array(presence)


def token_overlap(
    types: sparse.csr_array,
    queries: np.ndarray,
    ids: np.ndarray,
    symmetric: bool = False,
) -> np.ndarray:
    """How much of a query's words its neighbors repeat (figure 5).

    It is averaged over the k neighbors. The paper does not define its token overlap.
    Here it is ``|T(q) & T(s)| / |T(q)|``, with T(s) the set of word types of a sentence
    s; or, symmetric, ``|T(q) & T(s)| / |T(q) | T(s)|`` (Jaccard).

    Parameters
    ----------
    types : those of each sentence of the corpus, from `word_types`
    queries : int[q], corpus indices
    ids : int[q, k], their neighbors

    Returns
    -------
    float64[q] in [0, 1], higher when neighbors repeat the query's words; 0 for a query
    without a word
    """
    k = ids.shape[1]
    types_of_queries = types[np.repeat(queries, k)]
    types_of_neighbors = types[ids.ravel()]
    common_types = types_of_queries.multiply(types_of_neighbors)
    common = common_types.sum(axis=1).reshape(ids.shape)
    sizes = types.sum(axis=1)
    total = sizes[queries][:, None]
    if symmetric:
        both = total + sizes[ids]
        total = both - common
    shares = common / np.maximum(1, total)
    return shares.mean(axis=1)


# -- other measures of how alike two embedders are -------------------------------------


def cka(
    products: Sequence[np.ndarray], one: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """Linear CKA of each pair of embedders, float64[pairs] in the order of `shared`.

    Parameters
    ----------
    products : sequence of float[n, n]
        Of each embedder the `inner_products` of the same sentences.
    one, other : int[m]
        Which sentences, in which order, for the first and the second embedder of a
        pair. Two different orders give the permutation baseline.
    """
    of_one = _of_some(products, one)
    # A copy, as the product of an array with itself is rounded differently.
    of_other = of_one.copy() if other is one else _of_some(products, other)
    every_pair = of_one @ of_other.T
    return every_pair[np.triu_indices(len(products), 1)]


def inner_products(vectors: Embeddings) -> np.ndarray:
    """The inner products of every two of some vectors, dense or CSR: float[n, n]."""
    return dense(vectors @ vectors.T)


def _of_some(products: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """The centered inner products of some sentences: float[embedders, m * m]."""
    chosen = np.ix_(rows, rows)
    return np.array([_centered(each[chosen]) for each in products])


def _centered(products: np.ndarray) -> np.ndarray:
    """Inner products of centered vectors, with sum of squares 1: float[n * n]."""
    of_columns = products.mean(axis=0)
    of_rows = products.mean(axis=1, keepdims=True)
    inner = products - of_columns - of_rows + products.mean()
    unit = inner / np.linalg.norm(inner)
    return unit.ravel()
