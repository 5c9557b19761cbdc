"""Nearest neighbor overlap (N2O): how alike two embedders are, by their neighbors.

"Situating Sentence Embedders with Nearest Neighbor Overlap", sections 2 and 5, appendix
B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import sparse

from lib.base.errors import InputError
from lib.vectors import Embeddings, as_integers


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
    """
    ids_a = as_integers("ids", ids_a)
    ids_b = as_integers("ids", ids_b)
    has_neighbors = ids_a.ndim == 2 and ids_a.shape[1] > 0
    if not has_neighbors or ids_a.shape != ids_b.shape:
        shapes = f"{ids_a.shape} and {ids_b.shape}"
        raise InputError(
            f"ids: shapes {shapes}; give two arrays of one shape (queries, k)"
        )
    repeats = _repetitions(ids_a) + _repetitions(ids_b)
    if repeats.any():
        row = int(np.argmax(repeats > 0))
        raise InputError(
            f"ids: row {row} names a neighbor twice; give k different ones a query"
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
    products = vectors @ vectors.T
    return products.toarray() if sparse.issparse(products) else products


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
