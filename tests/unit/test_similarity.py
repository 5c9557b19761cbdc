"""Similarity: by hand, against SciPy, scikit-learn and published examples.

Also what must not change it.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from lib import embedders, similarity, tasks
from lib.run.errors import InputError


def drawn(
    rng: np.random.Generator, n: int = 60, d: int = 7
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs whose gold scores say how much of the left side went into the right one."""
    share = rng.uniform(size=n)
    left = rng.normal(size=(n, d)) + 1
    return (
        left,
        share[:, None] * left + (1 - share)[:, None] * rng.normal(size=(n, d)),
        5 * share,
    )


# -- cosine, z-normalization, UCP ------------------------------------------------------


def test_cosine_by_hand_and_a_zero_vector_is_similar_to_nothing() -> None:
    left = np.array([[1, 0], [1, 1], [3, 4], [0, 0], [0, 0]])
    right = np.array([[2, 0], [-1, 1], [4, 3], [1, 1], [0, 0]])
    np.testing.assert_allclose(
        similarity.similarities(left, right), [1, 0, 24 / 25, 0, 0], atol=1e-12
    )


def test_ucp_agrees_with_scipy_and_scikit_learn(rng) -> None:
    from sklearn.metrics.pairwise import paired_cosine_distances
    from sklearn.preprocessing import Normalizer, StandardScaler

    left, right, gold = drawn(rng)
    for normalize in (None, "z"):
        both = np.concatenate([left, right])
        if normalize == "z":
            both = Normalizer().fit_transform(StandardScaler().fit_transform(both))
        cosines = 1 - paired_cosine_distances(*np.split(both, 2))
        found = similarity.ucp(left, right, gold, normalize)
        assert found["pearson"] == pytest.approx(
            scipy_stats.pearsonr(cosines, gold).statistic
        )
        assert found["spearman"] == pytest.approx(
            scipy_stats.spearmanr(cosines, gold).statistic
        )


@given(st.integers(0, 2**32), st.floats(1e-3, 1e3))
def test_lengths_rotations_and_the_order_of_pairs_do_not_matter(seed, factor) -> None:
    rng = np.random.default_rng(seed)
    left, right, gold = drawn(rng)
    expected = similarity.ucp(left, right, gold)
    turn = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    order = rng.permutation(len(gold))
    stretched = left * rng.uniform(0.1, 10, size=(len(gold), 1)) * factor
    for changed in (
        (stretched, right, gold),
        (left @ turn, right @ turn, gold),
        (left[order], right[order], gold[order]),
    ):
        assert similarity.ucp(*changed) == pytest.approx(expected)


@given(st.integers(0, 2**32))
def test_z_normalization_undoes_a_shift_and_a_scale_of_every_column(seed) -> None:
    rng = np.random.default_rng(seed)
    left, right, _ = drawn(rng)
    shift, scale = rng.normal(size=7) * 10, rng.uniform(0.01, 100, size=7)
    moved = similarity.similarities(left * scale + shift, right * scale + shift, "z")
    np.testing.assert_allclose(
        moved, similarity.similarities(left, right, "z"), atol=1e-9
    )


@given(st.integers(0, 2**32))
def test_sparse_embeddings_give_what_dense_ones_do(seed) -> None:
    rng = np.random.default_rng(seed)
    left, right = (
        np.where(rng.random((20, 9)) < 0.3, rng.normal(size=(20, 9)), 0).round(1)
        for _ in range(2)
    )
    left[0], left[:, 3], right[:, 3] = 0, 2, 2
    for normalize in (None, "z"):
        dense = similarity.similarities(left, right, normalize)
        sparse = similarity.similarities(
            sp.csr_array(left), sp.csr_array(right), normalize
        )
        np.testing.assert_allclose(sparse, dense, atol=1e-9)


def test_ucp_of_glove_on_sts_benchmark(data_file) -> None:
    data_file("senteval/STS/STSBenchmark/sts-test.csv")
    task = tasks.load("STSBenchmark", "test")
    embedder = embedders.load("glove-6b-50d")
    left, right = embedder.encode(task.left), embedder.encode(task.right)
    assert similarity.ucp(left, right, task.score)["pearson"] == pytest.approx(
        0.34, abs=0.005
    )
    assert similarity.ucp(left, right, task.score, "z")["pearson"] == pytest.approx(
        0.55, abs=0.005
    )


BAD = [
    (dict(rows=2), "gold: 2 pairs; give 3 or more"),
    (dict(gold=np.ones(5)), "gold: the same for all 5 pairs"),
    (
        dict(gold=np.array([1, 2, np.nan, 4, 5])),
        "gold: holds NaN or infinity \\(first at 2\\)",
    ),
    (dict(gold=list("abcde")), "gold: .*; give a list of finite numbers"),
    (dict(right=np.zeros((5, 3))), "similarity: the same for all 5 pairs"),
    (dict(right=sp.csr_array(np.eye(5, 3))), "one shape \\(n, d\\) and kind"),
    (dict(normalize="Z"), "normalize: 'Z' is not known"),
]


@pytest.mark.parametrize(("changed", "message"), BAD)
def test_pairs_that_have_no_correlation_get_a_sentence(rng, changed, message) -> None:
    changed = dict(changed)
    rows = changed.pop("rows", 5)
    given = {
        "left": rng.normal(size=(rows, 3)),
        "right": rng.normal(size=(rows, 3)),
        "gold": np.arange(rows),
    } | changed
    with pytest.raises(InputError, match=message):
        similarity.ucp(**given)


# -- learned similarity ----------------------------------------------------------------


def splits(rng: np.random.Generator, d: int = 7) -> list[tuple]:
    return [drawn(rng, n, d) for n in (80, 40, 40)]


@pytest.fixture
def one_penalty(monkeypatch):
    """A function that leaves one penalty to choose from."""
    return lambda method, penalty: monkeypatch.setitem(
        similarity.PENALTIES, method, (penalty,)
    )


@pytest.mark.parametrize(
    "d", [7, 60], ids=["fewer features than pairs", "more features than pairs"]
)
@pytest.mark.parametrize("normalized", [False, True])
def test_ridge_agrees_with_scikit_learn(rng, d, normalized, one_penalty) -> None:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    train, dev, test = splits(rng, d)
    scaler = StandardScaler(with_mean=normalized, with_std=normalized).fit(
        np.concatenate(train[:2])
    )
    sides = [[scaler.transform(side) for side in split[:2]] for split in (train, test)]
    known, asked = (np.hstack([np.abs(u - v), u * v]) for u, v in sides)
    factor = np.sqrt(known.var(axis=0).mean())
    theirs = (
        Ridge(alpha=3 * 2 * d).fit(known / factor, train[2]).predict(asked / factor)
    )
    one_penalty("ridge", 3)
    ours = similarity.regress(train, dev, test, "ridge", normalized)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


@pytest.mark.parametrize("method", ["ridge", "softmax"])
def test_sparse_pairs_are_regressed_as_dense_ones(rng, method, one_penalty) -> None:
    dense = splits(rng)
    one_penalty(method, 1)
    sparse = [(sp.csr_array(u), sp.csr_array(v), gold) for u, v, gold in dense]
    ours, theirs = (similarity.regress(*given, method) for given in (sparse, dense))
    np.testing.assert_allclose(ours, theirs, atol=0.02 if method == "softmax" else 1e-3)


def test_softmax_learns_the_two_whole_scores_next_to_the_gold_score(
    one_penalty,
) -> None:
    kinds = np.array([0, 1] * 20)
    left, right = np.ones((40, 1)), np.where(kinds, 1.0, 3.0)[:, None]
    pairs = left, right, np.where(kinds, 3.6, 0.2)
    one_penalty("softmax", 1e-4)
    found = similarity.regress(pairs, pairs, pairs, "softmax")
    np.testing.assert_allclose(found, pairs[2], atol=0.01)


def test_the_penalty_is_chosen_on_dev_and_the_test_pairs_change_nothing_but_their_own_predictions(  # noqa: E501
    rng, one_penalty
) -> None:
    train, dev, test = splits(rng)
    expected = similarity.regress(train, dev, test, "ridge")
    wild = test[0], test[1] * 1e6, rng.permutation(test[2])
    wild[1][:20] = test[1][:20]
    np.testing.assert_allclose(
        similarity.regress(train, dev, wild, "ridge")[:20], expected[:20]
    )
    single = []
    for penalty in similarity.PENALTIES["ridge"]:
        one_penalty("ridge", penalty)
        single.append(
            [similarity.regress(train, dev, pairs, "ridge") for pairs in (dev, test)]
        )
    _, best = max(
        single, key=lambda found: scipy_stats.pearsonr(found[0], dev[2]).statistic
    )
    np.testing.assert_allclose(expected, best)
