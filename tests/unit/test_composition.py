"""Average, power means, SIF and uSIF, by hand and against a plain loop.

Also against the numbers of the uSIF paper.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import embedders
from lib.embedders.base import Concatenation
from lib.embedders.composition import SIF, USIF, PowerMeans
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
    words = [word for word in sentence.split() if word in VECTORS]
    vectors = np.array([VECTORS[word] for word in words], dtype=np.float64)
    norms = np.linalg.norm(vectors, axis=0)
    if normalize == "divide":
        vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    if normalize == "multiply":
        vectors = vectors * norms
    return np.mean(
        [
            weight(PROBABILITIES[word]) * vector
            for word, vector in zip(words, vectors, strict=True)
        ],
        axis=0,
    )


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
def test_power_means_are_mean_maximum_and_minimum(sentences) -> None:
    ours = PowerMeans("x", VECTORS, str.split).encode(sentences)
    for sentence, vector in zip(sentences, ours, strict=True):
        known = np.array(
            [VECTORS[word] for word in sentence.split() if word in VECTORS], dtype=float
        )
        if len(known):
            expected = np.hstack(
                [known.mean(axis=0), known.max(axis=0), known.min(axis=0)]
            )
            np.testing.assert_allclose(vector, expected, atol=1e-5)
        else:
            assert not vector.any()


def test_two_vector_sets_stand_side_by_side() -> None:
    doubled = {word: 2 * vector for word, vector in VECTORS.items()}
    parts = [PowerMeans("x", vectors, str.split) for vectors in (VECTORS, doubled)]
    both = Concatenation("both", parts).encode(["a b"])
    np.testing.assert_allclose(
        both, np.hstack([parts[0].encode(["a b"]), 2 * parts[0].encode(["a b"])])
    )


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


def test_usif_alpha_and_a_by_hand() -> None:
    # 1 - (1 - 1/4)**2 = 0.4375: one of four words is more frequent, Z = 2, a = 0.75 /
    # (0.25 * 2) = 1.5
    usif = USIF(VECTORS, PROBABILITIES, n=2)
    assert (usif.alpha, usif.a) == (0.25, 1.5)


def test_usif_takes_n_from_the_text_when_it_is_not_given() -> None:
    fitted = USIF(VECTORS, PROBABILITIES, tokenize=str.split).fit(SENTENCES)
    assert (
        fitted.a == USIF(VECTORS, PROBABILITIES, n=2).a
    )  # ten words in five sentences


def test_usif_a_on_enwiki_is_that_of_the_paper(data_file) -> None:
    lines = (
        data_file("frequencies/enwiki_vocab_min200.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    counts = {word: float(count) for word, count in map(str.split, lines)}
    total = sum(counts.values())
    usif = USIF(VECTORS, {word: count / total for word, count in counts.items()}, n=11)
    assert round(usif.a, 4) == 0.0012  # section 4.2
    assert usif.a == pytest.approx(1.2066e-3, rel=1e-3)


@pytest.mark.parametrize("kind", [SIF, USIF])
def test_unknown_words_only_give_zero_and_never_nan(kind) -> None:
    vectors = kind(VECTORS, PROBABILITIES, tokenize=str.split).fit_encode(
        [*SENTENCES, "", "zzz"]
    )
    assert np.isfinite(vectors).all()
    np.testing.assert_array_equal(vectors[-2:], 0)


# -- what the papers leave open --------------------------------------------------------


def test_a_one_word_sentence_becomes_signs_or_is_kept() -> None:
    signs, kept = (
        USIF(VECTORS, PROBABILITIES, n=2, m=0, tokenize=str.split, one_word=how).fit(
            SENTENCES
        )
        for how in ("normalize", "keep")
    )
    weight = signs.a / (PROBABILITIES["d"] + signs.a / 2)
    np.testing.assert_allclose(
        signs.encode(["d zzz"]), [weight * np.sign(VECTORS["d"])], rtol=1e-6
    )
    np.testing.assert_allclose(
        kept.encode(["d zzz"]), [weight * VECTORS["d"]], rtol=1e-6
    )
    np.testing.assert_array_equal(
        signs.encode(["b d a", "zzz"]), kept.encode(["b d a", "zzz"])
    )


@pytest.mark.parametrize(("how", "p"), [("rarest", 0.1), ("skip", None)])
def test_a_word_without_probability_is_rare_or_is_skipped(how, p) -> None:
    known = {word: p for word, p in PROBABILITIES.items() if word != "d"}
    ours = SIF(VECTORS, known, a=0.1, m=0, tokenize=str.split, unlisted=how).fit_encode(
        ["a d"]
    )
    words = [(0.1 / 0.7, VECTORS["a"])] + (
        [] if p is None else [(0.1 / (0.1 + p), VECTORS["d"])]
    )
    expected = sum(weight * vector for weight, vector in words) / len(words)
    np.testing.assert_allclose(ours[0], expected, rtol=1e-6)


def test_a_second_fit_forgets_the_first() -> None:
    first, second = ["a", "a b", "a"], ["a a", "a b", "a c", "a d", "a"]
    for probabilities in (PROBABILITIES, None):
        twice = (
            USIF(VECTORS, probabilities, m=1, tokenize=str.split).fit(first).fit(second)
        )
        once = USIF(VECTORS, probabilities, m=1, tokenize=str.split).fit(second)
        np.testing.assert_array_equal(twice.encode(SENTENCES), once.encode(SENTENCES))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SIF(VECTORS, PROBABILITIES, a=0), "a: 0 is not accepted"),
        (lambda: SIF(VECTORS, PROBABILITIES).encode(["a"]), "not fitted"),
        (
            lambda: SIF(VECTORS, {"a": 7, "b": 3, "c": 1}),
            "'a' has 7; give numbers above 0 and at most 1",
        ),
        (
            lambda: SIF(VECTORS, PROBABILITIES).fit([]),
            "fitted on 0 sentences; give 1 or more",
        ),
        (
            lambda: SIF({"a": np.full(3, np.nan)}, PROBABILITIES).fit(["a"]),
            "hold NaN or infinity",
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
        (
            lambda: embedders.load("glove-6b-50d+usif", normalise="divide"),
            "does not take these options",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_and_never_becomes_nan(make, message) -> None:
    with refused(message):
        make()
