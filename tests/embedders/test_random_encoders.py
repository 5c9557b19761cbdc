"""Random projections and the random LSTM: plain NumPy and reproducibility."""

from __future__ import annotations

import numpy as np

from lib.embedders.random_encoders import BOREP, RandomLSTM
from tests.embedders import test_infersent
from tests.official.infersent import random_weights
from tests.refusals import refused

WORDS = {
    word: np.random.default_rng(i).standard_normal(5).astype(np.float32)
    for i, word in enumerate("abcdef")
}
SENTENCES = ["a b c", "d", "f e d c b a a a", "zzz", "", "b zzz a"]


split = str.split


def test_borep_is_one_random_matrix_and_a_maximum() -> None:
    ours = BOREP(WORDS, dim=8, tokenize=split, seed=3)
    vectors = ours.encode(SENTENCES)
    matrix = np.random.default_rng(3).uniform(-(5**-0.5), 5**-0.5, (5, 8))
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        known = [WORDS[word] @ matrix for word in sentence.split() if word in WORDS]
        expected = np.max(known, axis=0) if known else 0
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_the_random_lstm_is_that_of_the_definition() -> None:
    ours = RandomLSTM(WORDS, dim=6, tokenize=split, seed=2)
    vectors = ours.encode(SENTENCES)
    rng = np.random.default_rng(2)
    weights = {}
    for name, array in random_weights(dim=5, hidden=3).items():
        drawn = rng.uniform(-(3**-0.5), 3**-0.5, array.shape)
        weights[name] = drawn.astype(np.float32)
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        words = [word for word in sentence.split() if word in WORDS]
        expected = test_infersent.by_hand(words, weights, WORDS) if words else 0
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_an_odd_number_of_dimensions_gets_a_sentence() -> None:
    with refused("dim: 7 is not accepted; give an even number"):
        BOREP(WORDS, dim=7)
