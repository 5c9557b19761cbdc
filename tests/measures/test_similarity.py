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

from audit import learned
from lib import similarity
from tests.refusals import refused


def drawn(
    rng: np.random.Generator, n: int = 60, d: int = 7
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs whose gold scores say how much of the left side went into the right one."""
    share = rng.uniform(size=(n, 1))
    left = rng.normal(size=(n, d)) + 1
    right = share * left + (1 - share) * rng.normal(size=(n, d))
    return left, right, 5 * share[:, 0]


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
        pearson = scipy_stats.pearsonr(cosines, gold).statistic
        spearman = scipy_stats.spearmanr(cosines, gold).statistic
        assert found == pytest.approx({"pearson": pearson, "spearman": spearman})


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
    shift = rng.normal(size=7) * 10
    scale = rng.uniform(0.01, 100, size=7)
    moved = similarity.similarities(left * scale + shift, right * scale + shift, "z")
    expected = similarity.similarities(left, right, "z")
    np.testing.assert_allclose(moved, expected, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_column_has_numpys_deviation_however_small_and_a_constant_one_has_0(
    rng, kind
) -> None:
    rows = rng.uniform(size=(20, 4)) * [1, 1e-3, 1e-6, 0] + [0, 0, 0, 0.1]
    means, deviations = similarity.column_statistics(kind(rows[:8]), kind(rows[8:]))
    np.testing.assert_allclose(means, rows.mean(axis=0))
    np.testing.assert_allclose(deviations[:3], rows[:, :3].std(axis=0))
    assert deviations[3] == 0


@given(st.integers(0, 2**32))
def test_sparse_embeddings_give_what_dense_ones_do(seed) -> None:
    rng = np.random.default_rng(seed)
    drawn_ones = rng.random((2, 20, 9)) < 0.3
    sides = np.where(drawn_ones, rng.normal(size=(2, 20, 9)), 0).round(1)
    sides[0, 0] = 0
    sides[:, :, 3] = 2
    for normalize in (None, "z"):
        dense = similarity.similarities(*sides, normalize)
        sparse = similarity.similarities(*map(sp.csr_array, sides), normalize)
        np.testing.assert_allclose(sparse, dense, atol=1e-9)


FIVE = np.arange(5)
TWO = {"left": np.eye(2), "right": np.eye(2), "gold": [1, 2]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (TWO, "gold: 2 pairs; give 3 or more"),
        ({"gold": np.ones(5)}, "gold: the same for all 5 pairs"),
        ({"gold": [1, 2, np.nan, 4, 5]}, "gold: contains NaN or infinity (first at 2)"),
        ({"gold": list("abcde")}, "; give a list of finite numbers"),
        ({"right": np.zeros((5, 3))}, "similarity: the same for all 5 pairs"),
        ({"right": sp.csr_array(np.eye(5, 3))}, "the same shape (n, d) and kind"),
        ({"normalize": "Z"}, "normalize: 'Z' is not known"),
    ],
)
def test_pairs_that_have_no_correlation_get_a_sentence(rng, changed, message) -> None:
    left, right = rng.normal(size=(2, 5, 3))
    pairs = {"left": left, "right": right, "gold": np.arange(5)}
    with refused(message):
        similarity.ucp(**pairs | changed)


@pytest.mark.parametrize(
    ("train_gold", "dev_gold", "method", "message"),
    [
        (FIVE, FIVE, "lasso", "method: 'lasso' is not known"),
        (FIVE, FIVE[1:], "ridge", "gold: 4 scores for 5 pairs; give one for each pair"),
        (FIVE, np.ones(5), "ridge", "dev: all scores or all predictions are the same"),
        (np.ones(5), FIVE, "ridge", "gold of train: the same for all 5 pairs"),
        (np.zeros(5), FIVE, "softmax", "gold of train: the same for all 5 pairs"),
        (np.full(5, 2.5), FIVE, "softmax", "gold of train: the same for all 5 pairs"),
    ],
)
def test_a_similarity_that_cannot_be_learned_gets_a_sentence(
    rng, train_gold, dev_gold, method, message
) -> None:
    left, right = rng.normal(size=(2, 5, 3))
    train = left, right, train_gold
    dev = left, right, dev_gold
    with refused(message):
        learned.regress(train, dev, train, method)


# -- learned similarity ----------------------------------------------------------------


def splits(rng: np.random.Generator, d: int = 7) -> list[tuple]:
    return [drawn(rng, n, d) for n in (80, 40, 40)]


@pytest.fixture
def one_penalty(monkeypatch):
    """A function that leaves one penalty to choose from."""
    return lambda method, penalty: monkeypatch.setitem(
        learned.PENALTIES, method, (penalty,)
    )


@pytest.mark.parametrize("d", [7, 60])  # fewer features than pairs, and more
@pytest.mark.parametrize("normalized", [False, True])
def test_ridge_agrees_with_scikit_learn(rng, d, normalized, one_penalty) -> None:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    train, dev, test = splits(rng, d)
    scaler = StandardScaler(with_mean=normalized, with_std=normalized)
    scaler.fit(np.concatenate(train[:2]))
    sides = [[scaler.transform(side) for side in split[:2]] for split in (train, test)]
    known, asked = (np.hstack([np.abs(u - v), u * v]) for u, v in sides)
    factor = np.sqrt(known.var(axis=0).mean())
    model = Ridge(alpha=3 * 2 * d).fit(known / factor, train[2])
    theirs = model.predict(asked / factor)
    one_penalty("ridge", 3)
    ours = learned.regress(train, dev, test, "ridge", normalized)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


@pytest.mark.parametrize("method", ["ridge", "softmax"])
def test_sparse_pairs_are_regressed_as_dense_ones(rng, method, one_penalty) -> None:
    dense = splits(rng)
    one_penalty(method, 1)
    sparse = [(sp.csr_array(u), sp.csr_array(v), gold) for u, v, gold in dense]
    ours = learned.regress(*sparse, method)
    theirs = learned.regress(*dense, method)
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_softmax_learns_the_two_whole_scores_next_to_the_gold_score(
    one_penalty,
) -> None:
    kinds = np.array([0, 1] * 20)
    left, right = np.ones((40, 1)), np.where(kinds, 1.0, 3.0)[:, None]
    pairs = left, right, np.where(kinds, 3.6, 0.2)
    one_penalty("softmax", 1e-4)
    found = learned.regress(pairs, pairs, pairs, "softmax")
    np.testing.assert_allclose(found, pairs[2], atol=0.01)


def test_the_penalty_is_chosen_on_dev_and_a_test_pair_changes_no_other_prediction(
    rng, one_penalty
) -> None:
    train, dev, test = splits(rng)
    expected = learned.regress(train, dev, test, "ridge")
    wild = test[0], test[1] * 1e6, rng.permutation(test[2])
    wild[1][:20] = test[1][:20]
    found = learned.regress(train, dev, wild, "ridge")
    np.testing.assert_allclose(found[:20], expected[:20])
    single = {}
    for penalty in learned.PENALTIES["ridge"]:
        one_penalty("ridge", penalty)
        of_dev = learned.regress(train, dev, dev, "ridge")
        agreement = scipy_stats.pearsonr(of_dev, dev[2]).statistic
        single[agreement] = learned.regress(train, dev, test, "ridge")
    np.testing.assert_allclose(expected, single[max(single)])
