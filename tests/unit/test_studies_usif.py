"""uSIF's likelihoods, their maxima, and scores of compositions: by hand, by SciPy, and what must change nothing."""

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
from lib.studies import scores, usif
from lib.studies.scores import Fitted, ScoredSet, Scores
from lib.studies.usif import Words

A = 1e-3
SAMPLING = stats.Sampling(0, 200)


def sentence(seed: int) -> usif.Sentence:
    rng = np.random.default_rng(seed)
    return usif.Sentence(rng.normal(size=(5, 4)) * rng.uniform(0.5, 3, (5, 1)), rng.uniform(0, 0.01, 5))


def words(seed: int, count: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.5, 1, (count, 4))


# -- likelihoods and maxima -----------------------------------------------------------------------


def test_the_angular_likelihood_by_hand() -> None:
    two = usif.Sentence(np.array([[2.0, 0], [0, 3]]), np.array([0.0, 0.25]))
    listed = np.array([[1.0, 0], [-5, 0], [1, 1], [1, -1]])  # d to (1, 0): 1, 0, 3/4, 3/4, the mean 5/8
    c = np.array([1.0, 0])
    assert usif.angular(two, 0.5)(c)[0] == pytest.approx(np.log(0.5) + np.log(0.25 + 0.25))
    scaled = 0.5 / (2 * 5 / 8)
    assert usif.angular(two, 0.5, listed)(c)[0] == pytest.approx(np.log(scaled) + np.log(0.25 + scaled / 2))


@pytest.mark.parametrize("objective", [
    usif.angular(sentence(0), A), usif.angular(sentence(0), A, words(1)), usif.log_linear(sentence(0), words(1)),
])  # fmt: skip
def test_gradients_are_those_of_finite_differences_along_the_sphere(objective) -> None:
    rng = np.random.default_rng(2)
    c = usif.unit(rng.normal(size=4))
    along = rng.normal(size=4)
    along -= (along @ c) * c
    step = 1e-6 * along
    by_differences = (objective(usif.unit(c + step))[0] - objective(usif.unit(c - step))[0]) / 2e-6
    assert objective(c)[1] @ along == pytest.approx(by_differences, rel=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_no_direction_is_likelier_than_the_maximum_which_ignores_lengths(seed) -> None:
    some, listed = sentence(seed), words(seed)
    tops = usif.maxima(some, A, listed)
    drawn = usif.unit(np.random.default_rng(seed).normal(size=(200, 4)))
    for top, objective in zip(tops.values(), (usif.angular(some, A), usif.angular(some, A, listed)), strict=True):
        near = usif.unit(top + 0.1 * drawn)
        others = [*near, *drawn, *usif.unit(some.vectors)]
        assert objective(top)[0] >= max(objective(c)[0] for c in others) - 1e-6
    longer = usif.maxima(usif.Sentence(some.vectors * [[10], [1], [1], [1], [1]], some.p), A, listed)
    assert usif.angular(some, A, listed)(longer["Z(c)"])[0] >= usif.angular(some, A, listed)(tops["Z(c)"])[0] - 1e-6


def test_with_z_of_c_the_first_order_is_the_centered_estimate() -> None:
    """At a point at a right angle to all words the gradient is that of equation (9) on centered unit vectors."""
    rng = np.random.default_rng(5)
    some = usif.Sentence(np.pad(rng.normal(size=(3, 5)), ((0, 0), (0, 1))), rng.uniform(0, 0.01, 3))
    listed = np.pad(rng.normal(0.5, 1, (30, 5)), ((0, 0), (0, 1)))
    gradient = usif.angular(some, A, listed)(np.eye(6)[5])[1]
    centered = usif.estimates(some, A, usif.unit(listed).mean(axis=0))["(9), centered unit vectors"]
    np.testing.assert_allclose(usif.unit(gradient), centered, atol=1e-12)
    flat = usif.angular(some, A)(np.eye(6)[5])[1]
    np.testing.assert_allclose(usif.unit(flat), usif.estimates(some, A, np.zeros(6))["(9), unit vectors"], atol=1e-12)


def test_log_partition_is_scipys_logsumexp() -> None:
    from scipy.special import logsumexp

    listed, c = words(0), np.array([30.0, 1, 2, 3])
    assert usif.log_partition(c, listed)[0] == pytest.approx(logsumexp(listed @ c) - np.log(len(listed)))


def test_without_words_around_it_the_mean_is_the_maximum_under_sif() -> None:
    assert usif.sif_gap(sentence(1), np.zeros((3, 4))) == pytest.approx(0, abs=0.1)


def test_angles_by_hand() -> None:
    assert usif.degrees(np.array([2.0, 0]), np.array([3.0, 3])) == pytest.approx(45)


def test_sentences_are_described_as_by_hand() -> None:
    row = usif.natural([usif.Sentence(np.array([[2.0, 0], [0, 2]]), np.ones(2))], np.zeros((3, 2))).iloc[0]
    assert row["length"] == 2
    assert row["coherence"] == pytest.approx(0)
    assert row["c the mean, no Z"] == row["c the mean, Z(c)"] == pytest.approx(2)
    assert row["c of length 1, Z(c)"] == pytest.approx(2**0.5)
    assert row["angular model, Z(c)"] == pytest.approx(np.log(3 / 4) - np.log(1 / 2))


def test_a_partial_correlation_is_that_of_the_residuals_of_ranks(rng) -> None:
    fixed = rng.normal(size=200)
    x, y = fixed + rng.normal(size=200), fixed + rng.normal(size=200)
    ranks = [scipy_stats.rankdata(column) for column in (x, y, fixed)]
    left = [column - np.polyval(np.polyfit(ranks[2], column, 1), ranks[2]) for column in ranks[:2]]
    assert usif.partial_spearman(x, y, fixed) == pytest.approx(scipy_stats.pearsonr(*left).statistic)


def test_unevenness_by_hand() -> None:
    raw = np.array([[1.0, 2], [-1, -2]])  # variances 1 and 4: the coefficient of variation is 0.6
    assert usif.unevenness(raw * [1, 2], raw) == pytest.approx(np.log((15 / 17) / 0.6))
    assert usif.unevenness(raw, raw) == 0


def test_sentences_and_vocabulary_have_vectors_and_probabilities() -> None:
    vectors, p = {"a": np.ones(2), "b": np.zeros(2)}, {"a": 0.5, "zzz": 0.5}
    (first, *_) = usif.sentences(["a b a zzz a", "a"] * 10, vectors, p, str.split, 10, 0)
    assert (first.vectors.tolist(), first.p.tolist()) == ([[1, 1]] * 3, [0.5] * 3)
    assert usif.vocabulary(vectors, p, 5, 0).tolist() == [[1, 1]]
    with pytest.raises(InputError, match="checked_sentences: 0 have three known words"):
        usif.sentences(["zzz"], vectors, p, str.split, 10, 0)


def test_frequencies_of_a_corpus_are_those_of_its_words(tmp_path) -> None:
    (tmp_path / "text.txt").write_text("The cat.\nthe dog!\n")
    assert usif.frequencies(f"lines:{tmp_path / 'text.txt'}") == {"the": 0.5, "cat": 0.25, "dog": 0.25}


# -- scores ---------------------------------------------------------------------------------------

FOUR = {"a": 0.6, "b": 0.25, "c": 0.1, "d": 0.05}
VECTORS = {word: np.array(v, np.float32) for word, v in {"a": (1, 0), "b": (0, 1), "c": (2, 1), "d": (1, 3)}.items()}
TOY = Words("toy", VECTORS, FOUR, text.lower_words, n=2)
TEXTS = ["a b", "c c d", "a", "b d a", "d", "c a"]


def test_usif_with_its_own_a_is_half_of_usif() -> None:
    own, ours = TOY.usif(m=2), TOY.usif_at(TOY.usif().a, m=2)
    np.testing.assert_allclose(2 * ours.fit_encode(TEXTS), own.fit_encode(TEXTS), atol=1e-6)
    np.testing.assert_array_equal(TOY.sif().fit_encode(TEXTS), SIF(VECTORS, FOUR).fit_encode(TEXTS))


def scored_set(rng: np.random.Generator, name: str = "MSRpar") -> tuple[ScoredSet, np.ndarray]:
    return ScoredSet(name, "STS12", None, np.arange(9), rng.normal(size=9)), rng.normal(size=(9, 1))


def test_the_score_of_rated_pairs_is_scipys_correlation(rng) -> None:
    some, answers = scored_set(rng)
    rows = rng.integers(9, size=12)
    assert some.score(answers, rows) == pytest.approx(scipy_stats.pearsonr(answers[rows, 0], some.gold[rows]).statistic)


def test_documents_are_drawn_with_their_pairs(monkeypatch) -> None:
    task = tasks.PairTask(["x", "x", "y"], ["y", "z", "z"], np.array([1.0, 2, 4]), ids=[(0, 1), (0, 2), (1, 2)])
    monkeypatch.setattr(tasks, "load", lambda *_: task)
    (lee,) = scores.rated("Lee")
    answers = np.array([[1.0, 0.1, 0.3], [0.1, 1, 0.2], [0.3, 0.2, 1]])
    # Document 0 twice: its pairs count twice, and the two copies are no pair.
    twice = scipy_stats.pearsonr([0.1, 0.1, 0.3, 0.3, 0.2], [1, 1, 2, 2, 4]).statistic
    assert lee.score(answers[..., None], np.array([0, 0, 1, 2])) == pytest.approx(twice)


def test_scores_are_means_over_the_files_of_a_group_and_intervals_hold_them(rng) -> None:
    (first, a), (second, b) = scored_set(rng), scored_set(rng, "MSRvid")
    found = Scores([first, second], ["v"], {"one": [a, b], "two": [b, a]})
    by_file = [found.only(name).of()["one"].item() for name in ("MSRpar", "MSRvid")]
    assert found.of()["one"].item() == pytest.approx(np.mean(by_file))
    table = found.differences([("one", "two"), ("one", "one")], SAMPLING)
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()
    assert table["constant"].tolist() == [False, True]
    assert table["value"][0] == pytest.approx((found.of()["one"] - found.of()["two"]).item())


def test_compositions_answer_and_the_best_is_chosen() -> None:
    gold = np.array([1.0, 2, 3])
    answers = lambda embedder: gold if embedder.m == 2 else -gold  # noqa: E731
    toy = ScoredSet("t", "t", answers, np.arange(3), gold)
    found = usif.evaluate({"toy": TOY}, lambda words: {"one": words.usif(m=1), "two": words.usif(m=2)}, [toy])
    assert {name: each.item() for name, each in found.of().items()} == pytest.approx({"one": -1, "two": 1})
    assert usif.tuned(TOY, lambda words, m: words.usif(m=m), [1, 2, 3], [toy]) == 2


def test_verses_of_one_meaning_are_found_first_and_those_to_tune_on_are_others() -> None:
    hay, asking = corpora.load(scores.HAYSTACK), corpora.load("bible-gospels:ylt")
    meaning = dict(zip([*hay.sentences, *asking.sentences], [*hay.groups, *asking.groups], strict=True))

    def oracle(sentences) -> np.ndarray:
        return np.array([np.random.default_rng(int(meaning[each]) + 1).normal(size=20) for each in sentences])

    scored, alike = scores.verses(0, 50, 3)
    np.testing.assert_array_equal(scored.answers(Fitted(oracle)), np.ones(50))
    np.testing.assert_allclose(alike.answers(Fitted(oracle)), np.ones(50), rtol=1e-6)
    bag = Words("bag", {"jesus": np.array([1.0, 0]), "the": np.array([0.0, 1])}, FOUR, text.lower_words).mean()
    found = [each.answers(bag) for each in (scored, scores.verses(50, 100, 3)[0])]
    assert all(((some > 0) & (some <= 1)).all() for some in found)
    assert 0 < scored.score(found[0], np.arange(50)) < 1
    assert found[0].tolist() != found[1].tolist()
    with pytest.raises(InputError, match="queries: 9999999 is not accepted"):
        scores.verses(0, 9_999_999, 0)


def test_our_scores_stand_beside_those_of_the_same_vectors() -> None:
    sets = [ScoredSet(name, name, None, np.arange(3), np.arange(3.0)) for name in ("STS12", "Lee")]
    answers = {"uSIF": [np.arange(3.0)[:, None]] * 2}
    found = usif.with_published(Scores(sets, ["glove-6b-50d"], answers), ["usif_table1"], {"uSIF": "+UP"})
    assert found.to_numpy().tolist() == [["STS12", "glove-6b-50d", "uSIF", pytest.approx(100), "GloVe+UP", 64.9]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scores.rated("Verses"), "task_names: 'Verses' has no rated pairs; give Lee, WS353"),
        (lambda: Words.of("w2v-corpus", FOUR, 11), "vector_names: 'w2v-corpus' has no published word vectors"),
    ],
)
def test_bad_arguments_get_a_sentence(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
