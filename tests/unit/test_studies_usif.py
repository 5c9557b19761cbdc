"""uSIF's likelihoods, their maxima, and scores of compositions.

By hand, by SciPy, and what must not change anything.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from lib import corpora, stats, tasks
from lib.corpora import text
from lib.embedders.composition import SIF
from lib.run.errors import InputError
from lib.studies import compositions, scores, usif
from lib.studies.compositions import Composer
from lib.studies.scores import Fitted, ItemSet
from tests.refusals import refused

A = 1e-3
SAMPLING = stats.Sampling(0, 200)


def sentence(seed: int) -> usif.Sentence:
    rng = np.random.default_rng(seed)
    return usif.Sentence(
        rng.normal(size=(5, 4)) * rng.uniform(0.5, 3, (5, 1)), rng.uniform(0, 0.01, 5)
    )


def words(seed: int, count: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.5, 1, (count, 4))


# -- likelihoods and maxima ------------------------------------------------------------


def test_the_angular_likelihood_by_hand() -> None:
    two = usif.Sentence(np.array([[2.0, 0], [0, 3]]), np.array([0.0, 0.25]))
    listed = np.array(
        [[1.0, 0], [-5, 0], [1, 1], [1, -1]]
    )  # d to (1, 0): 1, 0, 3/4, 3/4, the mean 5/8
    c = np.array([1.0, 0])
    assert usif.angular(two, 0.5)(c)[0] == pytest.approx(
        np.log(0.5) + np.log(0.25 + 0.25)
    )
    scaled = 0.5 / (2 * 5 / 8)
    assert usif.angular(two, 0.5, listed)(c)[0] == pytest.approx(
        np.log(scaled) + np.log(0.25 + scaled / 2)
    )


@pytest.mark.parametrize("objective", [
    usif.angular(sentence(0), A), usif.angular(sentence(0), A, words(1)),
    usif.log_linear(sentence(0), words(1)),
])  # fmt: skip
def test_gradients_are_those_of_finite_differences_along_the_sphere(objective) -> None:
    rng = np.random.default_rng(2)
    c = usif.unit(rng.normal(size=4))
    along = rng.normal(size=4)
    along -= (along @ c) * c
    step = 1e-6 * along
    by_differences = (
        objective(usif.unit(c + step))[0] - objective(usif.unit(c - step))[0]
    ) / 2e-6
    assert objective(c)[1] @ along == pytest.approx(by_differences, rel=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_no_direction_is_likelier_than_the_maximum_which_ignores_lengths(seed) -> None:
    some, listed = sentence(seed), words(seed)
    tops = usif.maxima(some, A, listed)
    drawn = usif.unit(np.random.default_rng(seed).normal(size=(200, 4)))
    for top, objective in zip(
        tops.values(),
        (usif.angular(some, A), usif.angular(some, A, listed)),
        strict=True,
    ):
        near = usif.unit(top + 0.1 * drawn)
        others = [*near, *drawn, *usif.unit(some.vectors)]
        assert objective(top)[0] >= max(objective(c)[0] for c in others) - 1e-6
    longer = usif.maxima(
        usif.Sentence(some.vectors * [[10], [1], [1], [1], [1]], some.p), A, listed
    )
    assert (
        usif.angular(some, A, listed)(longer["Z(c)"])[0]
        >= usif.angular(some, A, listed)(tops["Z(c)"])[0] - 1e-6
    )


def test_with_z_of_c_the_first_order_is_the_centered_estimate() -> None:
    """At a right angle to all words, the gradient is that of equation (9).

    The equation is applied to centered unit vectors.
    """
    rng = np.random.default_rng(5)
    some = usif.Sentence(
        np.pad(rng.normal(size=(3, 5)), ((0, 0), (0, 1))), rng.uniform(0, 0.01, 3)
    )
    listed = np.pad(rng.normal(0.5, 1, (30, 5)), ((0, 0), (0, 1)))
    gradient = usif.angular(some, A, listed)(np.eye(6)[5])[1]
    centered = usif.estimates(some, A, usif.unit(listed).mean(axis=0))[
        "(9), centered unit vectors"
    ]
    np.testing.assert_allclose(usif.unit(gradient), centered, atol=1e-12)
    flat = usif.angular(some, A)(np.eye(6)[5])[1]
    np.testing.assert_allclose(
        usif.unit(flat),
        usif.estimates(some, A, np.zeros(6))["(9), unit vectors"],
        atol=1e-12,
    )


def test_log_partition_is_scipys_logsumexp() -> None:
    from scipy.special import logsumexp

    listed, c = words(0), np.array([30.0, 1, 2, 3])
    assert usif.log_partition(c, listed)[0] == pytest.approx(
        logsumexp(listed @ c) - np.log(len(listed))
    )


def test_without_words_around_it_the_mean_is_the_maximum_under_sif() -> None:
    some = sentence(1)
    objective = usif.log_linear(some, np.zeros((3, 4)))
    mean = some.vectors.mean(axis=0)
    top = usif.maximum(objective, words(2)[:1], usif.unit(some.vectors))
    assert usif.degrees(top, mean) == pytest.approx(0, abs=0.1)


def test_sentences_and_vocabulary_have_vectors_and_probabilities() -> None:
    vectors, p = {"a": np.ones(2), "b": np.zeros(2)}, {"a": 0.5, "zzz": 0.5}
    (first, *_) = usif.sentences(
        ["a b a zzz a", "a"] * 10, vectors, p, str.split, 10, 0
    )
    assert (first.vectors.tolist(), first.p.tolist()) == ([[1, 1]] * 3, [0.5] * 3)
    assert usif.vocabulary(vectors, p, 5, 0).tolist() == [[1, 1]]
    with refused("checked_sentences: 0 have three known words"):
        usif.sentences(["zzz"], vectors, p, str.split, 10, 0)


def test_frequencies_of_a_corpus_are_those_of_its_words(tmp_path) -> None:
    (tmp_path / "text.txt").write_text("The cat.\nthe dog!\n")
    assert usif.frequencies(f"lines:{tmp_path / 'text.txt'}") == {
        "the": 0.5,
        "cat": 0.25,
        "dog": 0.25,
    }


# -- scores ----------------------------------------------------------------------------

FOUR = {"a": 0.6, "b": 0.25, "c": 0.1, "d": 0.05}
VECTORS = {
    word: np.array(v, np.float32)
    for word, v in {"a": (1, 0), "b": (0, 1), "c": (2, 1), "d": (1, 3)}.items()
}
TOY = Composer("toy", VECTORS, FOUR, text.lower_words, n=2)
TEXTS = ["a b", "c c d", "a", "b d a", "d", "c a"]


def test_usif_with_its_own_a_is_half_of_usif() -> None:
    own, ours = TOY.usif(m=2), TOY.usif_at(TOY.usif().a, m=2)
    np.testing.assert_allclose(
        2 * ours.fit_encode(TEXTS), own.fit_encode(TEXTS), atol=1e-6
    )
    np.testing.assert_array_equal(
        TOY.sif().fit_encode(TEXTS), SIF(VECTORS, FOUR).fit_encode(TEXTS)
    )


AXES = {"what": ["one", "two"], "vectors": ["v"]}


def rated_set(rng: np.random.Generator, name: str = "MSRpar") -> ItemSet:
    return ItemSet(name, "STS12", None, np.arange(9), rng.normal(size=9))


def test_documents_are_drawn_with_their_pairs(monkeypatch) -> None:
    task = tasks.PairTask(
        ["x", "x", "y"],
        ["y", "z", "z"],
        np.array([1.0, 2, 4]),
        ids=[(0, 1), (0, 2), (1, 2)],
    )
    monkeypatch.setattr(tasks, "load", lambda *_: task)
    (lee,) = scores.rated("Lee")
    vectors = {"x": (1.0, 0.0), "y": (0.6, 0.8), "z": (0.0, 1.0)}
    cosines = lee.values(
        Fitted(lambda texts: np.array([vectors[text] for text in texts]))
    )
    np.testing.assert_allclose(cosines, [0.6, 0, 0.8])
    measured = lee.measured(cosines[:, None], {"what": ["one"]}, SAMPLING)
    # Document 0 twice: its pairs count twice, and the two copies are no pair.
    twice = scipy_stats.pearsonr([0.6, 0.6, 0, 0, 0.8], [1, 1, 2, 2, 4]).statistic
    drawn = measured._counts(np.array([0, 0, 1, 2]))
    assert measured.score(drawn).item() == pytest.approx(twice)


def test_a_group_that_is_left_out_enters_no_mean(rng) -> None:
    pairs = rated_set(rng)
    values = rng.normal(size=(9, 2, 1))
    in_set = pairs.measured(values, AXES, SAMPLING)
    others = scores.without(
        {("STS12", "MSRpar"): in_set, ("WS353", "WS353"): in_set}, "WS353"
    )
    grouped = scores.by_group(others)
    assert grouped.axes["group"] == ["STS12"]
    np.testing.assert_allclose(grouped.estimate()[:, 0], in_set.estimate())
    with refused("task_names: STS12 alone"):
        scores.without(others, "STS12")


def test_compositions_are_scored_and_the_best_is_chosen() -> None:
    gold = np.array([1.0, 2, 3])
    toy = ItemSet(
        "t",
        "t",
        lambda embedder: gold if embedder.m == 2 else -gold,
        np.arange(3),
        gold,
    )
    composed = {"toy": {"one": TOY.usif(m=1), "two": TOY.usif(m=2)}}
    by_set = compositions.evaluate(composed, [toy], SAMPLING)
    assert by_set["t", "t"].axes == {"what": ["one", "two"], "vectors": ["toy"]}
    np.testing.assert_allclose(by_set["t", "t"].estimate(), [[-1], [1]])
    assert compositions.tuned({m: TOY.usif(m=m) for m in (1, 2, 3)}, [toy]) == 2


def test_verses_of_one_meaning_are_found_first_and_those_to_tune_on_are_others() -> (
    None
):
    hay, asking = corpora.load(scores.HAYSTACK), corpora.load("bible-gospels:ylt")
    meaning = dict(
        zip(
            [*hay.sentences, *asking.sentences],
            [*hay.groups, *asking.groups],
            strict=True,
        )
    )

    def oracle(sentences) -> np.ndarray:
        return np.array(
            [
                np.random.default_rng(int(meaning[each]) + 1).normal(size=20)
                for each in sentences
            ]
        )

    verses = scores.VerseQueries(0, 50, 3)
    np.testing.assert_array_equal(
        verses.retrieval().values(Fitted(oracle)), np.ones(50)
    )
    np.testing.assert_allclose(
        verses.similarity().values(Fitted(oracle)), np.ones(50), rtol=1e-6
    )
    bag = Composer(
        "bag",
        {"jesus": np.array([1.0, 0]), "the": np.array([0.0, 1])},
        FOUR,
        text.lower_words,
    ).mean()
    first, second = (
        own.retrieval().values(bag) for own in (verses, scores.VerseQueries(50, 100, 3))
    )
    assert all(((ranks > 0) & (ranks <= 1)).all() for ranks in (first, second))
    assert 0 < first.mean() < 1
    assert first.tolist() != second.tolist()
    with refused("queries: 9999999 is not accepted"):
        scores.VerseQueries(0, 9_999_999, 0)


def test_our_scores_stand_beside_those_of_the_same_vectors() -> None:
    pairs = ItemSet("t", "t", None, np.arange(3), np.arange(3.0))
    in_set = pairs.measured(
        np.arange(3.0).reshape(3, 1, 1),
        {"what": ["uSIF"], "vectors": ["glove-6b-50d"]},
        SAMPLING,
    )
    grouped = scores.by_group({(name, name): in_set for name in ("STS12", "Lee")})
    table = compositions.with_published(grouped, ["usif_table1"], {"uSIF": "+UP"})
    assert table.to_numpy().tolist() == [
        ["STS12", "glove-6b-50d", "uSIF", pytest.approx(100), "GloVe+UP", 64.9]
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: scores.rated("Verses"),
            "task_names: 'Verses' has no rated pairs; give Lee, WS353",
        ),
        (
            lambda: Composer.from_registry("w2v-corpus", FOUR, 11),
            "vector_names: 'w2v-corpus' has no published word vectors",
        ),
    ],
)
def test_bad_arguments_get_a_sentence(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
