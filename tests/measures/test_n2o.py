"""N2O: values by hand, a second way of computing them, and invariances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.spatial.distance import pdist, squareform

from lib import n2o, neighbors
from lib.corpora import text
from tests.refusals import refused


def test_overlap_by_hand() -> None:
    ours = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 3, 4]])
    theirs = np.array([[4, 3, 2, 1], [1, 2, 3, 4], [9, 1, 8, 2]])
    assert n2o.overlap(ours, theirs).tolist() == [1.0, 0.0, 0.5]


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**32))
def test_overlap_is_the_size_of_the_set_intersection(k, q, seed) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.permuted(np.tile(np.arange(12), (2, q, 1)), axis=2)[:, :, :k]
    shares = [len({*x} & {*y}) / k for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(n2o.overlap(a, b), shares)
    np.testing.assert_array_equal(n2o.overlap(b, a), shares)


def test_a_repeated_neighbor_or_another_shape_is_refused() -> None:
    with refused("row 1 names a neighbor twice"):
        n2o.overlap([[1, 2], [3, 3]], [[1, 2], [3, 4]])
    with refused("shapes (1, 2) and (1, 3)"):
        n2o.overlap([[1, 2]], [[1, 2, 3]])


def test_a_matrix_of_one_embedder_is_refused() -> None:
    with refused("ids: 1 embedders; give two or more"):
        n2o.matrix({"a": np.array([[1, 2]])})


def test_matrix_by_hand_is_symmetric_with_unit_diagonal() -> None:
    ids = {
        "a": np.array([[0, 1], [2, 3]]),
        "b": np.array([[1, 0], [3, 4]]),
        "c": np.array([[5, 6], [7, 8]]),
    }
    table = n2o.matrix(ids)
    assert list(table.index) == list(table.columns) == ["a", "b", "c"]
    assert table.to_numpy().tolist() == [[1, 0.75, 0], [0.75, 1, 0], [0, 0, 1]]


def test_random_neighbors_overlap_as_chance_says(rng) -> None:
    a, b = rng.permuted(np.tile(np.arange(200), (2, 2000, 1)), axis=2)[:, :, :20]
    assert n2o.chance(20, 200) == 0.1
    assert abs(n2o.overlap(a, b).mean() - 0.1) < 0.005


def test_token_overlap_by_hand() -> None:
    sentences = ["the cat sat", "The cat ran.", "a dog", "!"]
    ids = np.array([[1, 2], [0, 2]])
    types = n2o.word_types(sentences, text.content_types)
    shares = n2o.token_overlap(types, np.array([0, 3]), ids)
    np.testing.assert_allclose(shares, [(2 / 3 + 0) / 2, 0])
    by_jaccard = n2o.token_overlap(types, np.array([0, 3]), ids, symmetric=True)
    np.testing.assert_allclose(by_jaccard, [(2 / 4 + 0) / 2, 0])


def test_the_tree_joins_the_most_alike_first_at_one_minus_n2o() -> None:
    names = ["A", "B", "C"]
    table = pd.DataFrame([[1, 0.8, 0.2], [0.8, 1, 0.4], [0.2, 0.4, 1]], names, names)
    tree = n2o.linkage(table)
    assert set(tree[0, :2]) == {0, 1}
    np.testing.assert_allclose(tree[:, 2], [0.2, (0.8 + 0.6) / 2])


def test_map_reproduces_distances_that_fit_a_plane() -> None:
    places = np.array([[0, 0], [0.6, 0], [0, 0.4], [0.5, 0.5]])
    distances = squareform(pdist(places))
    points, stress = n2o.plane(pd.DataFrame(1 - distances))
    drawn = squareform(pdist(points))
    np.testing.assert_allclose(drawn, distances, atol=1e-3)
    assert stress < 1e-3


# docs/own.md: "how alike several embedders are"
def test_pairs_are_compared_as_each_measure_does_by_itself(rng) -> None:
    base = rng.normal(size=(60, 6))
    rotation = scipy_stats.ortho_group.rvs(6, random_state=0)
    sparse = sp.csr_array(rng.poisson(0.4, size=(60, 9)).astype(float))
    vectors = {"a": base, "turned": 3 * base @ rotation, "counts": sparse}
    queries = np.arange(5, 45)
    found = n2o.compare(vectors, queries, k=4)
    ids = {
        name: neighbors.exact(each[queries], each, 4, exclude=queries).ids
        for name, each in vectors.items()
    }
    np.testing.assert_allclose(found["n2o"], n2o.per_query(ids).mean())
    np.testing.assert_allclose(found["chance"], 4 / 59)
    one, other = (each[queries] - each[queries].mean(axis=0) for each in (base, sparse))
    by_definition = (
        np.linalg.norm(one.T @ other) ** 2
        / np.linalg.norm(one.T @ one)
        / np.linalg.norm(other.T @ other)
    )
    assert found["cka"].tolist() == pytest.approx([1, by_definition, by_definition])
    assert found.loc[("a", "turned"), "cka_p"] == 1 / 100


def test_vectors_of_other_sentences_and_other_rows_are_not_compared() -> None:
    vectors = {"a": np.ones((4, 2)), "b": np.ones((5, 2))}
    with refused("queries: not rows of the vectors; give some of 0 to 3"):
        n2o.compare({"a": vectors["a"]}, [4], k=1)
    with refused(
        "vectors: have {'a': 4, 'b': 5} rows; give each name one row per sentence"
    ):
        n2o.compare(vectors, np.arange(2), k=1)
