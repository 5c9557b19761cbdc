"""Average, SIF and uSIF: by hand, against a plain loop, and against the numbers of the uSIF paper."""

from __future__ import annotations

import numpy as np
import pytest

from lib import embedders, text
from lib.embedders.composition import SIF, USIF, Average
from lib.errors import InputError

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
    return np.mean([weight(PROBABILITIES[word]) * vector for word, vector in zip(words, vectors, strict=True)], axis=0)


def without_components(vectors: np.ndarray, shares: np.ndarray, directions: np.ndarray) -> np.ndarray:
    for share, direction in zip(shares, directions, strict=True):
        vectors = vectors - share * np.outer(vectors @ direction, direction)
    return vectors


def test_average_by_hand() -> None:
    vectors = Average("toy", VECTORS, str.split).encode(["a b", "c c d", "a zzz", "zzz", ""])
    expected = [[0.5, 1, 0], [1 / 3, 5 / 3, 2.5 / 3], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("m", [0, 1, 2])
def test_sif_is_the_weighted_mean_less_its_first_singular_vectors(m) -> None:
    a = 0.01
    weighted = np.array([by_loop(sentence, lambda p: a / (a + p)) for sentence in SENTENCES])
    directions = np.linalg.svd(weighted)[2][:m]
    expected = without_components(weighted, np.ones(m), directions)
    ours = SIF(VECTORS, PROBABILITIES, a=a, m=m, tokenize=str.split).fit_encode(SENTENCES)
    np.testing.assert_allclose(ours, expected, atol=1e-6)


@pytest.mark.parametrize("normalize", ["divide", "multiply", None])
def test_usif_is_algorithm_1(normalize) -> None:
    usif = USIF(VECTORS, PROBABILITIES, n=2, m=2, tokenize=str.split, normalize=normalize)
    weighted = np.array([by_loop(s, lambda p: usif.a / (p + usif.a / 2), normalize) for s in SENTENCES])
    _, values, directions = np.linalg.svd(weighted)
    shares = values[:2] ** 2 / (values[:2] ** 2).sum()
    expected = without_components(weighted, shares, directions[:2])
    np.testing.assert_allclose(usif.fit_encode(SENTENCES), expected, atol=1e-6)


def test_usif_alpha_and_a_by_hand() -> None:
    # 1 - (1 - 1/4)**2 = 0.4375: one of four words is more frequent, Z = 2, a = 0.75 / (0.25 * 2) = 1.5
    usif = USIF(VECTORS, PROBABILITIES, n=2)
    assert (usif.alpha, usif.a) == (0.25, 1.5)


def test_usif_takes_n_from_the_text_when_it_is_not_given() -> None:
    fitted = USIF(VECTORS, PROBABILITIES, tokenize=str.split).fit(SENTENCES)
    assert fitted.a == USIF(VECTORS, PROBABILITIES, n=2).a  # ten words in five sentences


def test_usif_a_on_enwiki_is_that_of_the_paper(data_file) -> None:
    lines = data_file("frequencies/enwiki_vocab_min200.txt").read_text(encoding="utf-8").splitlines()
    counts = {word: float(count) for word, count in map(str.split, lines)}
    total = sum(counts.values())
    usif = USIF(VECTORS, {word: count / total for word, count in counts.items()}, n=11)
    assert round(usif.a, 4) == 0.0012  # section 4.2
    assert usif.a == pytest.approx(1.2066e-3, rel=1e-3)


def test_usif_a_on_a_general_frequency_list_is_of_the_same_order() -> None:
    assert 5e-4 < USIF(VECTORS, text.word_probabilities(), n=11).a < 2e-3


def test_a_word_without_probability_counts_as_the_rarest() -> None:
    known = {word: p for word, p in PROBABILITIES.items() if word != "d"}
    ours = SIF(VECTORS, known, a=0.1, m=0, tokenize=str.split).fit_encode(["a d"])
    expected = (0.1 / 0.7 * VECTORS["a"] + 0.1 / 0.2 * VECTORS["d"]) / 2
    np.testing.assert_allclose(ours[0], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [SIF, USIF])
def test_a_vector_does_not_depend_on_its_batch(kind) -> None:
    fitted = kind(VECTORS, PROBABILITIES, tokenize=str.split, m=1).fit(SENTENCES)
    together = fitted.encode(SENTENCES)
    alone = np.vstack([fitted.encode([sentence]) for sentence in SENTENCES])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, fitted.encode(SENTENCES, batch_size=2))


@pytest.mark.parametrize("kind", [SIF, USIF])
def test_unknown_words_only_give_zero_and_never_nan(kind) -> None:
    vectors = kind(VECTORS, PROBABILITIES, tokenize=str.split).fit_encode([*SENTENCES, "", "zzz"])
    assert np.isfinite(vectors).all()
    np.testing.assert_array_equal(vectors[-2:], 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SIF({}, PROBABILITIES), "vectors is empty"),
        (lambda: SIF(VECTORS, {}), "probabilities is empty"),
        (lambda: SIF(VECTORS, PROBABILITIES, a=0), "a: 0 is not accepted"),
        (lambda: SIF(VECTORS, PROBABILITIES, m=-1), "m: -1 is not accepted"),
        (lambda: USIF(VECTORS, PROBABILITIES, n=0), "n: 0 is not accepted"),
        (lambda: USIF(VECTORS, PROBABILITIES, normalize="by"), "normalize: 'by' is not known"),
        (lambda: USIF(VECTORS, {"a": 0.1, "b": 0.1}, n=3), "gives alpha = 0"),
        (lambda: SIF(VECTORS, PROBABILITIES).encode(["a"]), "not fitted"),
    ],
)
def test_bad_arguments_get_a_sentence(make, message) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)


def words_only(sentence: str) -> list[str]:
    """Tokens without punctuation, with which the scores below were measured."""
    return [token for token in text.lower_word_tokens(sentence) if any(map(str.isalnum, token))]


def sts_benchmark_pearson(file, name: str, **options) -> float:
    fields = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    gold = np.array([float(row[4]) for row in fields])
    sentences = [row[5] for row in fields] + [row[6] for row in fields]
    vectors = embedders.load(name, tokenize=words_only, **options).fit_encode(sentences)
    left, right = vectors[: len(gold)], vectors[len(gold) :]
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return float(np.corrcoef((left * right).sum(axis=1) / np.where(norms > 0, norms, 1), gold)[0, 1])


@pytest.mark.parametrize(("name", "pearson"), [("glove-6b-50d", 0.384), ("glove-6b-50d+usif", 0.634)])
def test_sts_benchmark_scores(data_file, name, pearson) -> None:
    file = data_file("senteval/STS/STSBenchmark/sts-test.csv")
    assert sts_benchmark_pearson(file, name) == pytest.approx(pearson, abs=0.005)


def test_dividing_by_the_norms_helps_and_multiplying_hurts(data_file) -> None:
    file = data_file("senteval/STS/STSBenchmark/sts-test.csv")
    divided, plain, multiplied = (
        sts_benchmark_pearson(file, "glove-6b-50d+usif", normalize=how) for how in ("divide", None, "multiply")
    )
    assert divided > plain > multiplied
