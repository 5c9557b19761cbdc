"""uSIF's derivation: identities worked out by hand, other ways of computing them, and what must change nothing."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from lib import corpora, exams
from lib.corpora import text
from lib.embedders.composition import SIF, USIF, Average
from lib.run import paths, widgets
from lib.run.errors import InputError
from lib.usif_derivation import (
    beside,
    confound,
    estimates,
    likelihood,
    odds,
    partition,
    results,
    speed,
    variants,
)

# -- the confound -------------------------------------------------------------------------------


def test_the_worst_case_is_equation_4() -> None:
    x, y, z = confound.family([3, 3], sigma=1, beta=2)
    assert (x.tolist(), y.tolist(), z.tolist()) == ([6, 0], [0, 6], [3, 3])


def test_the_worst_case_has_nine_sixteenths_under_the_angular_model_and_equality_under_the_log_linear_one() -> None:
    x, y, z = confound.family([1, 1], sigma=1, beta=2)
    assert np.exp(confound.angular(np.stack([x, y]))) == pytest.approx(9 / 16, abs=1e-15)
    assert confound.advantage(x, y, z, "log-linear") == 0
    assert confound.advantage(x, y, z, "angular") == pytest.approx(np.log(9 / 16))


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=2).filter(lambda k: np.linalg.norm(k) > 0.1),
    st.floats(0, 1),
    st.floats(0.5, 5),
)
def test_the_log_linear_model_depends_on_beta_alone_and_the_angular_one_not_on_it(k, sigma, beta) -> None:
    by_equation_6 = (beta**2 / 2 - 2) * np.dot(k, k)
    vectors = confound.family(k, sigma, beta)
    assert confound.advantage(*vectors, "log-linear") == pytest.approx(by_equation_6, abs=1e-9)
    at_one = confound.advantage(*confound.family(k, sigma, 1), "angular")
    assert confound.advantage(*vectors, "angular") == pytest.approx(at_one, abs=1e-6)


def test_a_surface_holds_the_advantage_of_each_member() -> None:
    table = confound.surface([1, 2, 3], [0, 0.5], "log-linear", [1, 2])
    np.testing.assert_allclose(table.to_numpy(), [[-7.5, -7.5], [0, 0], [12.5, 12.5]], atol=1e-12)


def test_sentences_are_described_as_by_hand() -> None:
    described = confound.of_sentences([np.array([[2.0, 0], [0, 2]]), np.array([[1.0, 0], [3, 0]])])
    assert described["length"].tolist() == [2, 2]
    assert described["coherence"].tolist() == pytest.approx([0, 1])
    assert described["log-linear"].tolist() == pytest.approx([2, 4])  # |mean|**2
    assert described["angular"].tolist() == pytest.approx([np.log(3 / 4), 0])


def test_a_likelihood_made_of_coherence_alone_has_no_correlation_of_its_own_with_length(rng) -> None:
    coherence = rng.normal(size=400)
    table = pd.DataFrame({"coherence": coherence, "length": coherence + rng.normal(size=400)})
    table = table.assign(**{"log-linear": np.exp(coherence + 0.3 * rng.normal(size=400)), "angular": table["length"]})
    found = confound.effects(table, rng, 300, 0.95).set_index("model")
    theirs = scipy_stats.spearmanr(table["log-linear"], table["length"]).statistic
    assert found.loc["log-linear", "length"] == pytest.approx(theirs)
    assert found.loc["log-linear", "own_length_low"] < 0 < found.loc["log-linear", "own_length_high"]
    assert found.loc["angular", "own_length"] == pytest.approx(1)


# -- the angular model --------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.floats(-12, 1))
def test_small_angles_keep_their_digits(seed, exponent) -> None:
    u, w = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 2))).Q.T
    angle = 10**exponent if exponent < 0 else exponent
    v = 7 * (np.cos(angle) * u + np.sin(angle) * w)
    assert likelihood.angles(u, v)[0, 0] == pytest.approx(angle, rel=1e-3)
    assert likelihood.angles(u, -v)[0, 0] == pytest.approx(np.pi - angle, rel=1e-9)


def test_similarity_by_hand() -> None:
    found = likelihood.similarities(np.array([[1, 0], [0, 0]]), np.array([[5, 0], [3, 3], [0, 2], [-1, 0]]))
    np.testing.assert_allclose(found, [[1, 3 / 4, 1 / 2, 0], [1 / 2] * 4], atol=1e-15)


def test_the_gradient_is_that_of_finite_differences_and_orthogonal_to_the_discourse(rng) -> None:
    c, v = rng.normal(size=(2, 7))
    settings = {"word": v, "p": 1e-3, "alpha": 0.01, "partition": 500.0}
    found = likelihood.gradient(c, **settings)
    steps = 1e-6 * np.eye(7)
    by_differences = [
        (likelihood.log_probability(c + step, **settings) - likelihood.log_probability(c - step, **settings)) / 2e-6
        for step in steps
    ]
    np.testing.assert_allclose(found, by_differences, rtol=1e-5, atol=1e-9)
    assert found @ c == pytest.approx(0, abs=1e-12)


def test_the_gradient_is_that_of_automatic_differentiation(rng) -> None:
    import torch

    c, v = rng.normal(size=(2, 50))
    p, alpha, z = 2e-4, 0.02, 900.0
    discourse, word = torch.tensor(c, requires_grad=True), torch.tensor(v)
    cosine = discourse @ word / (discourse.norm() * word.norm())
    torch.log(alpha * p + (1 - alpha) * (1 - torch.arccos(cosine) / torch.pi) / z).backward()
    np.testing.assert_allclose(likelihood.gradient(c, v, p, alpha, z), discourse.grad.numpy(), atol=1e-10)


def test_at_an_orthogonal_vector_the_gradient_is_the_weight_over_pi_times_the_word(rng) -> None:
    v, alpha, z, p = 3 * rng.normal(size=6), 0.03, 200.0, 4e-3
    around = likelihood.orthogonal(v, rng)
    assert around @ v == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(around) == pytest.approx(1 / np.linalg.norm(v))
    a = (1 - alpha) / (alpha * z)
    expected = likelihood.weight(p, a) / np.pi * v
    np.testing.assert_allclose(likelihood.gradient(around, v, p, alpha, z), expected, rtol=1e-12)


def test_the_expansion_is_exact_to_second_order_at_a_right_angle() -> None:
    steps = np.array([0.1, 0.01])
    errors = likelihood.expansion(np.pi / 2 + steps, 1e-4, 1e-3)["error"].abs().to_numpy()
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.2)
    assert likelihood.expansion(np.array([np.pi / 2]), 0, 1e-3)["exact"].item() == pytest.approx(0, abs=1e-12)


def test_the_weight_is_twice_sifs_at_half_of_a() -> None:
    p = np.array([0, 1e-5, 1e-2, 1])
    np.testing.assert_allclose(likelihood.weight(p, 2e-3), 2 * 1e-3 / (1e-3 + p))


def sentence(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, 4)) * rng.uniform(0.5, 3, (5, 1)), rng.uniform(0, 0.01, 5)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_no_direction_is_likelier_than_the_maximum_which_knows_no_lengths(seed) -> None:
    words, p = sentence(seed)
    best = likelihood.maximum_likelihood(words, p, 1e-3)
    top = likelihood.sentence_log_probability(best, words, p, 1e-3)
    near = best + 0.2 * np.random.default_rng(seed).normal(size=(50, 4))
    others = [*near, likelihood.estimate(words, p, 1e-3), *words]
    assert max(likelihood.sentence_log_probability(other, words, p, 1e-3) for other in others) <= top + 1e-7
    longer = likelihood.maximum_likelihood(words * [[10], [1], [1], [1], [1]], p, 1e-3)
    assert likelihood.sentence_log_probability(longer, words, p, 1e-3) == pytest.approx(top, abs=1e-6)


def test_of_one_word_the_maximum_is_the_word() -> None:
    best = likelihood.maximum_likelihood(np.array([[3.0, 4.0]]), np.array([1e-3]), 1e-3)
    np.testing.assert_allclose(best, [0.6, 0.8])


def test_estimates_are_compared_to_the_maximum(rng) -> None:
    table = estimates.compare([sentence(i) for i in range(12)], 1e-3, rng, 100, 0.95).set_index("estimate")
    assert (table["lost_low"] >= -1e-9).all()
    assert (table["degrees_low"] <= table["degrees"]).all()
    assert (table["degrees"] <= table["degrees_high"]).all()
    turned = estimates.stretched([sentence(i) for i in range(5)], 1e-3, 1.0)
    assert turned["equation (9)"] == 0
    turned = estimates.stretched([sentence(i) for i in range(5)], 1e-3, 10.0)
    assert turned["the exact maximum"] < 0.1 < turned["equation (9)"]


# -- Z ------------------------------------------------------------------------------------------


def test_on_the_sphere_the_mean_similarity_is_one_half(rng) -> None:
    table = partition.on_the_sphere([2, 30], words=500, discourses=200, rng=rng)
    assert (np.abs(table["mean"] - 0.5) < 5 * table["error"]).all()
    assert table["spread"][0] == pytest.approx(1 / 12**0.5, rel=0.02)  # in the plane angles are spread evenly


def test_ratios_are_means_over_the_vocabulary(rng, monkeypatch) -> None:
    c, v = rng.normal(size=(3, 4)), rng.normal(size=(10, 4))
    monkeypatch.setattr(partition, "BLOCK", 12)  # four words at a time
    cosines = (c @ v.T) / np.outer(np.linalg.norm(c, axis=1), np.linalg.norm(v, axis=1))
    expected = {
        "angular": 1 - np.arccos(cosines) / np.pi,
        "exponentiated cosine": np.exp(cosines),
        "log-linear": np.exp(c @ v.T / np.linalg.norm(c, axis=1, keepdims=True)),
    }
    for model, terms in expected.items():
        np.testing.assert_allclose(partition.ratios(c, v, model), terms.mean(axis=1))


def test_the_exponentiated_cosine_has_a_closed_form(rng) -> None:
    # In three dimensions the cosine is spread evenly over [-1, 1]: (e - 1/e) / 2.
    assert partition.exponentiated_cosine(3) == pytest.approx(np.sinh(1))
    drawn = partition.ratios(rng.normal(size=(50, 20)), rng.normal(size=(2000, 20)), "exponentiated cosine").mean()
    assert drawn == pytest.approx(partition.exponentiated_cosine(20), rel=0.01)


def test_a_word_is_produced_at_least_once_as_by_loop(rng) -> None:
    c, v = rng.normal(size=(2, 3)), rng.normal(size=(6, 3))
    d = likelihood.similarities(c, v)
    by_loop = np.mean([[1 - (1 - d[i, j] / d[i].sum()) ** 4 for j in range(6)] for i in range(2)])
    real, paper = partition.produced(c, v, 4)
    assert real == pytest.approx(by_loop)
    assert paper == pytest.approx(1 - (5 / 6) ** 4)
    assert partition.produced(c, v, 1)[0] == pytest.approx(1 / 6)  # exactly, whatever the vectors are


def test_densities_of_angles_sum_to_one_and_meet_on_the_sphere(rng) -> None:
    edges = np.linspace(0, np.pi, 31)
    centers = (edges[1:] + edges[:-1]) / 2
    drawn = partition.angle_density(rng.normal(size=(200, 6)), rng.normal(size=(300, 6)), edges)
    assert (drawn * np.diff(edges)).sum() == pytest.approx(1)
    np.testing.assert_allclose(drawn, partition.sphere_density(centers, 6), atol=0.05)


# -- alpha and a --------------------------------------------------------------------------------

FOUR = {"a": 0.6, "b": 0.25, "c": 0.1, "d": 0.05}


def test_odds_over_n_by_hand() -> None:
    table = odds.over_n(FOUR, [1, 2])
    # n = 1: threshold 1/4, one word above it; n = 2: 7/16, the same one. Z = 2, a = 0.75 / (0.25 * 2).
    assert table["threshold"].tolist() == pytest.approx([1 / 4, 7 / 16])
    assert table["a"].tolist() == [1.5, 1.5]


def test_a_cut_list_is_that_of_its_most_frequent_words() -> None:
    table = odds.over_cut(FOUR, [2, 4, 9], 1)
    assert table.index.tolist() == [2, 4]
    assert table.loc[2, "a"] == 1  # of (12/17, 5/17) one is above 1/2; Z = 1, a = 0.5 / 0.5
    assert table.loc[4, "a"] == odds.over_n(FOUR, [1])["a"].item()


@pytest.mark.parametrize("n", [1, 5, 40])
def test_like_for_like_does_not_depend_on_n(n) -> None:
    assert odds.like_for_like(FOUR, n).alpha == np.mean([p > 1 / 4 for p in FOUR.values()])


def test_over_tokens_counts_running_text() -> None:
    walk = odds.over_tokens(FOUR, 1)
    assert walk.alpha == pytest.approx(0.6)
    assert walk.a == pytest.approx(0.4 / (0.6 * 2))


def test_frequencies_of_a_corpus_are_those_of_its_words(tmp_path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("The cat.\nthe dog!\n")
    corpus = corpora.load(f"lines:{file}")
    assert odds.frequencies(corpus.name, corpus) == {"the": 0.5, "cat": 0.25, "dog": 0.25}


def test_lists_that_are_not_here_are_named_and_unknown_ones_refused(tmp_path) -> None:
    here, absent = odds.available(["wordfreq", f"lines:{tmp_path / 'none.txt'}"])
    assert list(here) == ["wordfreq"]
    assert "none.txt" in next(iter(absent.values()))
    with pytest.raises(InputError, match="frequency_lists: 'wordfreg' is not known; did you mean wordfreq"):
        odds.available(["wordfreg"])
    with pytest.raises(InputError, match="frequency_lists: none of nothing is here"):
        odds.available([])


def test_curves_hold_what_is_finite() -> None:
    table = odds.curves({"four": FOUR, "flat": {"x": 0.5, "y": 0.5}}, [1, 2], [2], 1)
    assert set(table["list"]) == {"four"}  # of equally frequent words none is above the threshold
    assert table[table["over"] == "words"]["at"].tolist() == [2]


# -- exams and their results --------------------------------------------------------------------

VECTORS = {word: np.array(v, np.float32) for word, v in {"a": (1, 0), "b": (0, 1), "c": (2, 1), "d": (1, 3)}.items()}


@pytest.fixture
def pairs() -> exams.RatedPairs:
    left, right = ["a b", "c", "d a", "b", "a", "c d"], ["a c", "d", "b", "b d", "c", "c"]
    return exams.RatedPairs("toy", "toy", left, right, np.array([3.0, 1, 2, 5, 2, 4]))


@pytest.fixture
def embedders() -> dict[str, Average | SIF]:
    mean = Average("mean", VECTORS, str.split)
    return {"mean": mean, "sif": SIF(VECTORS, FOUR, a=0.1, m=1, tokenize=str.split)}


def test_the_score_of_rated_pairs_is_scipys_correlation_of_cosines(pairs, embedders) -> None:
    vectors = embedders["mean"].encode(pairs.left + pairs.right)
    left, right = np.split(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), 2)
    theirs = scipy_stats.pearsonr((left * right).sum(axis=1), pairs.gold).statistic
    assert results.sit(embedders, [pairs]).table().loc["mean", "toy"] == pytest.approx(theirs)


def test_what_components_are_fitted_on_is_a_choice(pairs, embedders) -> None:
    sif = {"sif": embedders["sif"]}
    by = {str(on): results.sit(sif, [pairs], on).answers[0] for on in ("set", "sides", tuple(pairs.left))}
    assert len({tuple(answers.ravel().round(9)) for answers in by.values()}) == 3
    sides = [embedders["sif"].fit_encode(side) for side in (pairs.left, pairs.right)]
    expected = [u @ v / np.linalg.norm(u) / np.linalg.norm(v) for u, v in zip(*sides, strict=True)]
    np.testing.assert_allclose(by["sides"][:, 0], expected, atol=1e-6)


def test_weighted_correlations_are_those_of_repeated_rows(rng) -> None:
    columns, gold = rng.normal(size=(8, 3)), rng.normal(size=8)
    draws = rng.multinomial(8, np.full(8, 1 / 8), 5).astype(float)
    found = exams.pearson(columns, gold, draws)
    for i, draw in enumerate(draws):
        rows = np.repeat(np.arange(8), draw.astype(int))
        expected = [scipy_stats.pearsonr(columns[rows, j], gold[rows]).statistic for j in range(3)]
        np.testing.assert_allclose(found[i], expected)


def test_resamples_without_a_correlation_do_not_count(rng) -> None:
    two = exams.RatedPairs("t", "t", ["a", "a"], ["b", "c"], np.array([1.0, 2.0]))
    drawn = results.sit({"mean": Average("mean", VECTORS, str.split)}, [two]).resampled(rng, 100)
    assert 20 < len(drawn) < 80  # in half of them one pair is there twice
    np.testing.assert_allclose(drawn, 1)


def test_pairs_of_shared_items_are_drawn_with_their_items(rng) -> None:
    ids = np.array([(0, 1), (0, 2), (1, 2)])
    pairs = exams.RatedPairs("t", "t", ["a"] * 3, ["b"] * 3, np.arange(3.0), ids)
    draws = pairs.draws(rng, 200)
    items = draws.sum(axis=1)
    assert draws.shape == (200, 3)
    assert set(np.unique(items)) <= {0, 2, 3}  # items drawn (3,0,0), (2,1,0) and (1,1,1) make 0, 2 and 3 pairs


def test_the_three_averages_by_hand(embedders) -> None:
    files = [
        exams.RatedPairs("STS12 x", "STS12", ["a", "b", "c d"], ["c", "c", "a"], np.array([1.0, 2, 5])),
        exams.RatedPairs("STS12 y", "STS12", ["a b", "d", "c", "b"], ["d", "a", "b", "a d"], np.array([0.0, 3, 4, 1])),
    ]
    sat = results.sit(embedders, files)
    row = sat.averages().set_index("embedder").loc["mean"]
    x, y = sat.table().loc["mean"]
    cosines, gold = np.concatenate(sat.answers)[:, 0], np.concatenate([file.gold for file in files])
    assert (row["files"], row["pairs"]) == (2, 7)
    assert row["mean_of_files"] == pytest.approx((x + y) / 2)
    assert row["weighted"] == pytest.approx((3 * x + 4 * y) / 7)
    assert row["pooled"] == pytest.approx(scipy_stats.pearsonr(cosines, gold).statistic)
    assert list(sat.groups()) == [results.STS]


def test_an_embedder_does_not_differ_from_itself_and_intervals_hold_the_scores(pairs, embedders, rng) -> None:
    both = results.together([results.sit(embedders, [pairs]), results.sit({"again": embedders["mean"]}, [pairs])])
    table = results.group_differences(both, "mean", rng, 200, 0.9).set_index("embedder")
    assert table.loc["again", ["mean", "low", "high"]].tolist() == [0, 0, 0]
    point = both.table()["toy"]
    assert table.loc["sif", "mean"] == pytest.approx(point["sif"] - point["mean"])
    relative = results.group_differences(both, "mean", rng, 200, 0.9, relative=True).set_index("embedder")
    assert relative.loc["sif", "mean"] == pytest.approx(point["sif"] / point["mean"] - 1)
    means = results.group_means(both, rng, 200, 0.9)
    assert ((means["low"] <= means["mean"]) & (means["mean"] <= means["high"])).all()


@pytest.fixture(scope="module")
def gospels() -> corpora.Corpus:
    return corpora.load("bible-gospels")


def test_verses_are_found_by_rank_and_those_to_tune_on_are_others(gospels) -> None:
    scored, tuned = exams.verses(gospels, 30, np.random.default_rng(0))
    assert not set(scored.pairs.groups) & set(tuned.pairs.groups)
    bag = Average("toy", {"jesus": np.array([1, 0]), "the": np.array([0, 1])}, text.lower_words)
    answers = scored.answers(bag)
    vectors = bag.encode(gospels.sentences)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(norms > 0, norms, 1)
    query, needle = (gospels.sentences.index(side[0]) for side in (scored.pairs.queries, scored.pairs.needles))
    hay = np.delete(units, scored.hidden[0], axis=0)
    nearer = (hay @ units[query] > units[needle] @ units[query] + 1e-6).sum()
    assert answers[0] == pytest.approx(1 / (1 + nearer))
    draws = np.array([[2.0] + [1.0] * 29])
    assert scored.scores(answers[:, None], draws).item() == pytest.approx((answers.sum() + answers[0]) / 31)


def test_a_corpus_without_groups_has_no_verses(tmp_path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("one\ntwo\n")
    assert exams.verses(corpora.load(f"lines:{file}"), 2, np.random.default_rng(0)) is None


# -- variants -----------------------------------------------------------------------------------


@pytest.fixture
def words() -> variants.Words:
    return variants.Words(VECTORS, FOUR, text.lower_words, n=2, m=1)


def test_usif_with_its_own_a_is_half_of_usif(words) -> None:
    sentences = ["a b", "c c d", "a", "b d a", "d"]
    own, ours = words.usif(m=2), words.usif_with(words.a, m=2)
    np.testing.assert_allclose(2 * ours.fit_encode(sentences), own.fit_encode(sentences), atol=1e-6)


def test_the_ablation_runs_from_sif_to_usif(words) -> None:
    made = variants.ablation(words)
    sentences = ["a b", "c c d", "a", "b d a", "d"]
    np.testing.assert_allclose(2 * made["uSIF"].fit_encode(sentences), words.usif().fit_encode(sentences), atol=1e-6)
    np.testing.assert_array_equal(made["SIF"].fit_encode(sentences), SIF(VECTORS, FOUR).fit_encode(sentences))
    unweighted = made["uSIF, unweighted"]._weights(["a", "d"])
    np.testing.assert_allclose(unweighted, 1, rtol=1e-5)


def test_every_decision_makes_an_embedder_that_gives_finite_vectors() -> None:
    words = variants.Words(VECTORS, {word: FOUR[word] for word in "abc"}, text.lower_words, n=2, m=2)
    sentences = ["a b.", "c c d zzz", "a", "b d a", "d", "", "zzz"]
    for name, embedder in variants.decisions(words).items():
        assert np.isfinite(embedder.fit_encode(sentences)).all(), name


def test_the_census_counts_by_hand() -> None:
    words = variants.Words(VECTORS, {word: FOUR[word] for word in "abc"}, text.lower_words)
    found = variants.census(words, ["a", "a b", "zzz", "c d zzz"])
    assert found == {
        "sentences": 4, "words": 7 / 4, "one_known": 1, "none_known": 1,
        "unknown": pytest.approx(2 / 7), "unlisted": pytest.approx(1 / 7), "zero_columns": 1,
    }  # fmt: skip


def test_known_words_have_a_vector_and_a_probability() -> None:
    words = variants.Words(VECTORS, {"a": 0.5, "zzz": 0.5}, text.lower_words)
    vectors, p = words.known("A b zzz a")
    assert (vectors.tolist(), p.tolist()) == ([[1, 0], [1, 0]], [0.5, 0.5])
    vectors, p = words.known("zzz")
    assert (vectors.tolist(), p.tolist()) == ([], [])
    vectors, p = words.vocabulary(10, np.random.default_rng(0))
    assert (vectors.tolist(), p.tolist()) == ([[1, 0]], [0.5])


def test_sweeps_name_what_they_vary(words) -> None:
    assert list(variants.sweeps(words, [0.001], [0, 5])) == ["uSIF: a=0.001", "SIF: a=0.001", "uSIF: m=0", "uSIF: m=5"]


def test_unit_vectors_have_length_one_and_zero_stays() -> None:
    unit = variants.UnitVectors(VECTORS | {"o": np.zeros(2, np.float32)})
    assert np.linalg.norm(unit["c"]) == pytest.approx(1)
    assert unit["o"].tolist() == [0, 0]
    assert ("c" in unit, "zzz" in unit, len(unit)) == (True, False, 5)


# -- beside the paper, speed, sliders ---------------------------------------------------------


def test_our_scores_stand_beside_those_of_the_same_vectors() -> None:
    averages = pd.DataFrame(
        [("glove-6b-50d uSIF", "STS12", 5, 9, 0.6, 0.5, 0.4), ("paragram-sl999 SIF", "STS13", 1, 9, 0.7, 0.7, 0.7),
         ("glove-6b-50d uSIF", "Lee", 1, 9, 0.5, 0.5, 0.5), ("paragram-sl999 mean", "STS12", 5, 9, 0.6, 0.6, 0.6)],
        columns=["embedder", "task", "files", "pairs", "mean_of_files", "weighted", "pooled"],
    )  # fmt: skip
    found = beside.scores(averages)
    assert found[["task", "paper", "published"]].to_numpy().tolist() == [
        ["STS12", "GloVe+UP", 64.9],
        ["STS13", "PSL+WR", 61.8],
    ]
    assert found["difference"].tolist() == pytest.approx([60 - 64.9, 70 - 61.8])


def test_improvements_are_relative_to_sif() -> None:
    files = pd.DataFrame({"x": [0.5, 0.6], "y": [0.4, 0.6]}, index=["v SIF", "v uSIF"])
    averages = pd.DataFrame({"embedder": ["v SIF", "v uSIF"], "task": ["STS12", "STS12"], "mean_of_files": [0.45, 0.6]})
    found = beside.improvements(files, averages, "v")
    assert found["ours"].tolist() == pytest.approx([50, 100 / 3, 100 / 3])
    assert found["paper"].tolist() == [44.4, 15.5, 7.6]


def test_rates_are_of_fitted_embedders() -> None:
    usif = USIF(VECTORS, FOUR, n=2, m=1, tokenize=text.lower_words).fit(["a b", "c"])
    table = speed.rates({"uSIF": usif}, ["a b", "c d a"] * 20, turns=2)
    assert table[["dim", "words"]].to_numpy().tolist() == [[2, 2.5]]
    assert (table[["from_ids", "from_strings"]] > 0).all(axis=None)


def test_executed_headlessly_sliders_show_the_first_numbers(monkeypatch) -> None:
    monkeypatch.setitem(os.environ, paths.FIGURES_VARIABLE, "somewhere")
    shown = []
    widgets.slide(lambda beta, sigma: shown.append((beta, sigma)), beta=(2, 1, 4, 0.1), sigma=(1, 0, 1, 0.1))
    assert shown == [(2, 1)]


# -- bad input ----------------------------------------------------------------------------------

TWO = exams.RatedPairs("two", "two", ["a", "b"], ["c", "d"], np.array([1.0, 2]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: confound.family([1, 2, 3], 0.5, 2), r"k: shape \(3,\) is not accepted"),
        (lambda: confound.family([1, 2], 1.5, 2), "sigma: 1.5 is not accepted"),
        (lambda: confound.surface([1], [1], "linear"), "model: 'linear' is not known"),
        (lambda: likelihood.gradient(np.ones(3), 2 * np.ones(3), 0.1, 0.1, 9), "parallel to the word's vector"),
        (lambda: partition.ratios(np.ones((1, 2)), np.ones((1, 2)), "cosine"), "model: 'cosine' is not known"),
        (lambda: odds.over_n({}, [1]), "probabilities is empty"),
        (lambda: exams.rated(["Verses"]), "task_names: 'Verses' has no rated pairs; give Lee, WS353"),
        (lambda: exams.pearson(np.ones((3, 1)), np.arange(3.0), np.ones((1, 3))), "are all the same"),
        (lambda: results.sit({}, [], "both"), "fitted_on: 'both' is not known"),
        (lambda: variants.Words.of("w2v-corpus", FOUR), "vector_names: 'w2v-corpus' is no set of published"),
        (
            lambda: variants.Words(VECTORS, FOUR, text.lower_words).sentences(["", "z"], 5, np.random.default_rng(0)),
            "checked_sentences: 0 of 5 have known words; give more, or another corpus",
        ),
        (
            # The one resample with this seed has the second pair twice.
            lambda: results.Results([TWO], [np.eye(2)[:, :1]], ["one"]).resampled(np.random.default_rng(3), 1),
            "repetitions: no resample has two different scores; give sets with more pairs",
        ),
    ],
)
def test_bad_arguments_get_a_sentence(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_more_verses_than_there_are_get_a_sentence(gospels) -> None:
    with pytest.raises(InputError, match="queries: 9999999 is not accepted; 'bible-gospels' has pairs for 2 to"):
        exams.verses(gospels, 9_999_999, np.random.default_rng(0))
