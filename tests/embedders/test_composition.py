"""Average, power means, SIF and uSIF, by hand and against a plain loop.

Also against the numbers of the uSIF paper.
"""

from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st

from lib.embedders.composition import SIF, USIF, PowerMeans, Sum
from lib.embedders.words import Concatenation
from tests.refusals import refused

VECTORS = {
    "a": np.array([1, 0, 0], np.float32),
    "b": np.array([0, 2, 0], np.float32),
    "c": np.array([1, 1, 1], np.float32),
    "d": np.array([-1, 3, 0.5], np.float32),
}
PROBABILITIES = {"a": 0.6, "b": 0.25, "c": 0.1, "d": 0.05}
SENTENCES = ["a b", "c c d", "a", "b d a", "d"]


def by_loop(sentence: str, weight, normalize: str | None = None) -> np.ndarray:
    """The definition, word by word."""
    words = sentence.split()
    vectors = np.array([VECTORS[word] for word in words], dtype=np.float64)
    norms = np.linalg.norm(vectors, axis=0)
    if normalize == "divide":
        vectors = vectors / np.where(norms > 0, norms, 1)
    if normalize == "multiply":
        vectors = vectors * norms
    weights = [weight(PROBABILITIES[word]) for word in words]
    return np.array(weights) @ vectors / len(words)


def without_components(
    vectors: np.ndarray, shares: np.ndarray, directions: np.ndarray
) -> np.ndarray:
    for share, direction in zip(shares, directions, strict=True):
        vectors = vectors - share * np.outer(vectors @ direction, direction)
    return vectors


TEXTS = st.lists(
    st.lists(st.sampled_from("abcdz"), max_size=6).map(" ".join), max_size=8
)


@given(TEXTS)
def test_sums_and_power_means_of_one_set_or_two(sentences) -> None:
    sums = Sum("x", VECTORS, str.split).encode(sentences)
    doubled = {word: 2 * vector for word, vector in VECTORS.items()}
    sets = [PowerMeans("x", vectors, str.split) for vectors in (VECTORS, doubled)]
    both = Concatenation("both", sets).encode(sentences)
    for sentence, total, powers in zip(sentences, sums, both, strict=True):
        known = [VECTORS[word] for word in sentence.split() if word in VECTORS]
        known = np.array(known or [np.zeros(3)], dtype=float)
        expected = np.hstack([known.mean(axis=0), known.max(axis=0), known.min(axis=0)])
        np.testing.assert_allclose(total, known.sum(axis=0), atol=1e-5)
        np.testing.assert_allclose(powers, [*expected, *(2 * expected)], atol=1e-5)


def test_word_vectors_of_gensim_are_taken_like_a_dict() -> None:
    theirs = KeyedVectors(3)
    theirs.add_vectors(list(VECTORS), list(VECTORS.values()))
    options = {"probabilities": PROBABILITIES, "tokenize": str.split}
    by_theirs, by_dict = (SIF(each, **options) for each in (theirs, VECTORS))
    assert by_theirs.settings == by_dict.settings
    encoded = by_theirs.fit_encode(SENTENCES)
    np.testing.assert_array_equal(encoded, by_dict.fit_encode(SENTENCES))


@pytest.mark.parametrize("m", [0, 1, 2])
def test_sif_is_the_weighted_mean_less_its_first_singular_vectors(m) -> None:
    a = 0.01
    weighted = np.array(
        [by_loop(sentence, lambda p: a / (a + p)) for sentence in SENTENCES]
    )
    directions = np.linalg.svd(weighted)[2][:m]
    expected = without_components(weighted, np.ones(m), directions)
    ours = SIF(VECTORS, PROBABILITIES, a=a, m=m, tokenize=str.split).fit_encode(
        SENTENCES
    )
    np.testing.assert_allclose(ours, expected, atol=1e-6)


@pytest.mark.parametrize("normalize", ["divide", "multiply", None])
def test_usif_is_algorithm_1(normalize) -> None:
    usif = USIF(
        VECTORS, PROBABILITIES, n=2, m=2, tokenize=str.split, normalize=normalize
    )
    weighted = np.array(
        [by_loop(s, lambda p: usif.a / (p + usif.a / 2), normalize) for s in SENTENCES]
    )
    _, values, directions = np.linalg.svd(weighted)
    shares = values[:2] ** 2 / (values[:2] ** 2).sum()
    expected = without_components(weighted, shares, directions[:2])
    np.testing.assert_allclose(usif.fit_encode(SENTENCES), expected, atol=1e-6)


def test_usif_removes_five_directions_by_shares_that_no_unit_changes(rng) -> None:
    words = {word: rng.normal(size=8) for word in "abcdefghij"}
    sentences = [" ".join(rng.choice([*words], 3)) for _ in range(40)]
    probabilities = dict.fromkeys(words, 0.05) | {"a": 0.55}
    as_given, in_thousandths = (
        USIF(
            {word: scale * vector for word, vector in words.items()},
            probabilities,
            n=3,
            normalize=None,
            tokenize=str.split,
            **options,
        ).fit_encode(sentences)
        for scale, options in ((1, {}), (1e-3, {"m": 5}))
    )
    np.testing.assert_allclose(in_thousandths, as_given / 1000, atol=1e-7)


def test_usif_alpha_and_a_by_hand_and_n_from_the_text() -> None:
    # 1 - (1 - 1/4)**2 = 0.4375: one of four words is more frequent, Z = 2, a = 0.75 /
    # (0.25 * 2) = 1.5
    usif = USIF(VECTORS, PROBABILITIES, n=2)
    assert (usif.alpha, usif.a) == (0.25, 1.5)
    # Ten words in five sentences.
    fitted = USIF(VECTORS, PROBABILITIES, tokenize=str.split).fit(SENTENCES)
    assert fitted.a == 1.5


def test_usif_a_on_enwiki_is_that_of_the_paper(data_file) -> None:
    data_file("frequencies/enwiki_vocab_min200.txt")
    usif = USIF(VECTORS, "enwiki", n=11)
    assert round(usif.a, 4) == 0.0012  # section 4.2
    assert usif.a == pytest.approx(1.2066e-3, rel=1e-3)


# -- what the papers leave open --------------------------------------------------------


def test_a_one_word_sentence_becomes_signs_or_is_kept() -> None:
    found = {}
    for how in ("normalize", "keep"):
        options = {"n": 2, "m": 0, "tokenize": str.split, "one_word": how}
        usif = USIF(VECTORS, PROBABILITIES, **options).fit(SENTENCES)
        found[how] = usif.encode(["d zzz", "b d a", "zzz"])
    weight = 1.5 / (PROBABILITIES["d"] + 1.5 / 2)
    signs = weight * np.sign(VECTORS["d"])
    np.testing.assert_allclose(found["normalize"][0], signs, rtol=1e-6)
    np.testing.assert_allclose(found["keep"][0], weight * VECTORS["d"], rtol=1e-6)
    np.testing.assert_array_equal(found["normalize"][1:], found["keep"][1:])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("rarest", (VECTORS["a"] / 7 + VECTORS["d"] / 2) / 2),  # as rare as c, 0.1
        ("skip", VECTORS["a"] / 7),
    ],
)
def test_a_word_without_probability_is_rare_or_is_skipped(how, expected) -> None:
    known = {word: p for word, p in PROBABILITIES.items() if word != "d"}
    sif = SIF(VECTORS, known, a=0.1, m=0, tokenize=str.split, unlisted=how)
    np.testing.assert_allclose(sif.fit_encode(["a d"])[0], expected, rtol=1e-6)


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_components_are_those_of_all_batches_of_the_fitted_text(batch_size) -> None:
    at_once, by_batch = (
        SIF(VECTORS, PROBABILITIES, m=2, tokenize=str.split) for _ in range(2)
    )
    by_batch.batch_size = batch_size
    expected = at_once.fit_encode(SENTENCES)
    np.testing.assert_allclose(by_batch.fit_encode(SENTENCES), expected, atol=1e-6)


def test_a_second_fit_forgets_the_first() -> None:
    first, second = ["a", "a b", "a"], ["a a", "a b", "a c", "a d", "a"]
    for probabilities in (PROBABILITIES, None):
        once, twice = (
            USIF(VECTORS, probabilities, m=1, tokenize=str.split) for _ in range(2)
        )
        once.fit(second)
        twice.fit(first).fit(second)
        np.testing.assert_array_equal(twice.encode(SENTENCES), once.encode(SENTENCES))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SIF(VECTORS, PROBABILITIES, a=0), "a: 0 is not accepted"),
        (lambda: SIF({}, PROBABILITIES), "vectors is empty; give a mapping"),
        (lambda: SIF(np.eye(3), PROBABILITIES), "vectors is ndarray; give a mapping"),
        (
            lambda: SIF(VECTORS, PROBABILITIES, removal=None),
            "removal: None is not known; accepted: share, whole",
        ),
        (
            lambda: SIF(VECTORS, PROBABILITIES, unlisted=None),
            "unlisted: None is not known; accepted: rarest, skip",
        ),
        (
            lambda: USIF(VECTORS, PROBABILITIES, n=3, one_word=None),
            "one_word: None is not known; accepted: keep, normalize",
        ),
        (
            lambda: SIF(VECTORS, {"a": 7, "b": 3, "c": 1}),
            "'a' has 7; give numbers above 0 and at most 1",
        ),
        (
            lambda: SIF(VECTORS, {"a": 0.5, "b": 0}),
            "'b' has 0; give numbers above 0 and at most 1",
        ),
        (
            lambda: SIF(VECTORS, PROBABILITIES).fit([]),
            "fitted on 0 sentences; give 1 or more",
        ),
        (
            lambda: SIF({"a": np.full(3, np.nan)}, PROBABILITIES).fit(["a"]),
            "contain NaN or infinity",
        ),
        (
            lambda: USIF(VECTORS, PROBABILITIES, n=float("nan")),
            "n: nan is not accepted; give 1 to 1000000",
        ),
        (lambda: USIF(VECTORS, {"a": 0.1, "b": 0.1}, n=3), "gives alpha = 0"),
        (
            lambda: USIF(VECTORS, PROBABILITIES, tokenize=str.split).fit([""] * 5),
            "give the probabilities of a larger",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_and_never_becomes_nan(make, message) -> None:
    with refused(message):
        make()
