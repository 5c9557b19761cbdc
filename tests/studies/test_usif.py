"""uSIF's likelihoods, their maxima, and scores of compositions.

By hand, by SciPy, and what must not change anything.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import corpora, stats, tasks
from lib.corpora import text
from lib.studies import compositions, scores, walk
from lib.studies.compositions import Composer
from lib.studies.scores import Fitted, ItemSet
from tests.refusals import refused

A = 1e-3
SAMPLING = stats.Sampling(0, 200)


def sentence(seed: int) -> walk.Sentence:
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.5, 3, (5, 1))
    return walk.Sentence(rng.normal(size=(5, 4)) * lengths, rng.uniform(0, 0.01, 5))


def words(seed: int, count: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.5, 1, (count, 4))


# -- likelihoods and maxima ------------------------------------------------------------


def test_the_angular_likelihood_by_hand() -> None:
    two = walk.Sentence(np.array([[2.0, 0], [0, 3]]), np.array([0.0, 0.25]))
    c = np.array([1.0, 0])
    constant, _ = walk.angular(two, 0.5)(c)
    assert constant == pytest.approx(np.log(0.5) + np.log(0.25 + 0.25))
    # d to (1, 0): 1, 0, 3/4, 3/4, the mean 5/8
    listed = np.array([[1.0, 0], [-5, 0], [1, 1], [1, -1]])
    with_z, _ = walk.angular(two, 0.5, listed)(c)
    assert with_z == pytest.approx(np.log(0.4) + np.log(0.25 + 0.2))


@pytest.mark.parametrize(
    "objective",
    [
        walk.angular(sentence(0), A),
        walk.angular(sentence(0), A, words(1)),
        lambda c: walk.log_partition(c, words(1)),
    ],
)
def test_gradients_are_those_of_finite_differences_along_the_sphere(objective) -> None:
    rng = np.random.default_rng(2)
    c = walk.unit(rng.normal(size=4))
    along = rng.normal(size=4)
    along -= (along @ c) * c
    after, _ = objective(walk.unit(c + 1e-6 * along))
    before, _ = objective(walk.unit(c - 1e-6 * along))
    _, gradient = objective(c)
    assert gradient @ along == pytest.approx((after - before) / 2e-6, rel=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_no_direction_is_likelier_than_the_maximum_which_ignores_lengths(seed) -> None:
    some, listed = sentence(seed), words(seed)
    objectives = {
        "Z constant": walk.angular(some, A),
        "Z(c)": walk.angular(some, A, listed),
    }
    tops = walk.maxima(some, A, listed)
    longer = some._replace(vectors=some.vectors * [[10], [1], [1], [1], [1]])
    of_longer = walk.maxima(longer, A, listed)
    drawn = walk.unit(np.random.default_rng(seed).normal(size=(200, 4)))
    for name, objective in objectives.items():
        highest, _ = objective(tops[name])
        others = [*walk.unit(tops[name] + 0.1 * drawn), *drawn]
        others += [*walk.unit(some.vectors), of_longer[name]]
        assert highest >= max(objective(c)[0] for c in others) - 1e-6


def test_with_z_of_c_the_first_order_is_the_centered_estimate() -> None:
    """At a right angle to all words, the gradient is that of equation (9).

    The equation is applied to centered unit vectors.
    """
    rng = np.random.default_rng(5)
    flat = ((0, 0), (0, 1))  # the sixth dimension is 0
    some = walk.Sentence(np.pad(rng.normal(size=(3, 5)), flat), np.full(3, 0.01))
    listed = np.pad(rng.normal(0.5, 1, (30, 5)), flat)
    _, gradient = walk.angular(some, A, listed)(np.eye(6)[5])
    by_name = walk.estimates(some, A, walk.unit(listed).mean(axis=0))
    centered = by_name["(9), centered unit vectors"]
    np.testing.assert_allclose(walk.unit(gradient), centered, atol=1e-12)
    _, gradient = walk.angular(some, A)(np.eye(6)[5])
    unit_vectors = by_name["(9), unit vectors"]
    np.testing.assert_allclose(walk.unit(gradient), unit_vectors, atol=1e-12)


def test_sentences_and_vocabulary_have_vectors_and_probabilities() -> None:
    vectors, p = {"a": np.ones(2), "b": np.zeros(2)}, {"a": 0.5, "zzz": 0.5}
    texts = ["a b a zzz a", "a"] * 10
    (first, *_) = walk.sentences(texts, vectors, p, str.split, 10, 0)
    assert first.vectors.tolist() == [[1, 1]] * 3
    assert first.p.tolist() == [0.5] * 3
    assert walk.vocabulary(vectors, p, 5, 0).tolist() == [[1, 1]]
    with refused("checked_sentences: 0 have three known words"):
        walk.sentences(["zzz"], vectors, p, str.split, 10, 0)


# -- scores ----------------------------------------------------------------------------

FOUR = {"a": 0.6, "b": 0.25, "c": 0.1, "d": 0.05}
VECTORS = {"a": (1, 0), "b": (0, 1), "c": (2, 1), "d": (1, 3)}
VECTORS = {word: np.array(v, np.float32) for word, v in VECTORS.items()}
TOY = Composer("toy", VECTORS, FOUR, text.lower_words, n=2)


def test_usif_with_its_own_a_is_half_of_usif() -> None:
    texts = ["a b", "c c d", "a", "b d a", "d", "c a"]
    half = TOY.usif_at(TOY.usif().a, m=2).fit_encode(texts)
    whole = TOY.usif(m=2).fit_encode(texts)
    np.testing.assert_allclose(2 * half, whole, atol=1e-6)


def test_pairs_of_documents_have_their_cosines_and_both_documents(monkeypatch) -> None:
    ids = [(0, 1), (0, 2), (1, 2)]
    rated = tasks.PairTask(["x", "x", "y"], ["y", "z", "z"], np.arange(3.0), ids=ids)
    monkeypatch.setattr(tasks, "load", lambda *_: rated)
    (lee,) = scores.rated("Lee")
    vectors = {"x": (1.0, 0.0), "y": (0.6, 0.8), "z": (0.0, 1.0)}
    encode = Fitted(lambda texts: np.array([vectors[text] for text in texts]))
    np.testing.assert_allclose(lee.values(encode), [0.6, 0, 0.8])
    assert lee.clusters.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_compositions_are_scored_by_group() -> None:
    gold = np.array([1.0, 2, 3])

    def values(embedder):
        return gold if embedder.m == 2 else -gold

    sets = [ItemSet(name, name, values, np.arange(3), gold) for name in ("t", "u")]
    composed = {"toy": {"one": TOY.usif(m=1), "two": TOY.usif(m=2)}}
    grouped = scores.by_group(compositions.evaluate(composed, sets, SAMPLING))
    assert grouped.columns.names == ["what", "group", "vectors"]
    np.testing.assert_allclose(grouped.loc[0, "one"], [-1, -1])
    np.testing.assert_allclose(grouped.loc[0, "two"], [1, 1])


def test_verses_of_one_meaning_are_found_first() -> None:
    hay, asking = corpora.load(scores.HAYSTACK), corpora.load("bible-gospels:ylt")
    texts, groups = [*hay.sentences, *asking.sentences], [*hay.groups, *asking.groups]
    meaning = dict(zip(texts, groups, strict=True))

    def oracle(sentences) -> np.ndarray:
        seeds = [int(meaning[each]) + 1 for each in sentences]
        return np.array([np.random.default_rng(own).normal(size=20) for own in seeds])

    verses = scores.VerseQueries(0, 50, 3)
    assert verses.retrieval().values(Fitted(oracle)).tolist() == [1] * 50
    cosines = verses.similarity().values(Fitted(oracle))
    np.testing.assert_allclose(cosines, np.ones(50), rtol=1e-6)
    others = scores.VerseQueries(50, 100, 3)
    assert set(verses.queries).isdisjoint(others.queries)
    with refused("queries: 9999999 is not accepted"):
        scores.VerseQueries(0, 9_999_999, 0)


def test_what_has_no_ratings_or_published_vectors_is_refused() -> None:
    with refused("task_names: 'Verses' has no rated pairs; give Lee, WS353"):
        scores.rated("Verses")
    with refused("vector_names: 'w2v-corpus' has no published word vectors"):
        Composer.from_registry("w2v-corpus", FOUR, 11)
