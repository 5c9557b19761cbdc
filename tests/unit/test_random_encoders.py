"""Random projections and the random LSTM: plain NumPy and reproducibility."""

from __future__ import annotations

import numpy as np
import pytest

from lib.embedders import random_encoders
from lib.embedders.random_encoders import BOREP, RandomLSTM
from tests.refusals import refused

WORDS = {
    word: np.random.default_rng(i).standard_normal(5).astype(np.float32)
    for i, word in enumerate("abcdef")
}
SENTENCES = ["a b c", "d", "f e d c b a a a", "zzz", "", "b zzz a"]


def split(sentence: str) -> list[str]:
    return sentence.split()


def known(sentence: str) -> np.ndarray:
    return np.array(
        [WORDS[word] for word in sentence.split() if word in WORDS], dtype=np.float64
    ).reshape(-1, 5)


def test_borep_is_one_random_matrix_and_a_maximum() -> None:
    ours = BOREP(WORDS, dim=8, tokenize=split, seed=3)
    vectors = ours.encode(SENTENCES)
    matrix = np.random.default_rng(3).uniform(-(5**-0.5), 5**-0.5, (5, 8))
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        projected = known(sentence) @ matrix
        expected = projected.max(axis=0) if len(projected) else np.zeros(8)
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def lstm_states(inputs: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """The states of one direction, step by step from the definition.

    The weights are the input ones, the recurrent ones, and two biases.
    """
    into, back, bias, bias_back = weights
    size = back.shape[1]
    state, cell, states = np.zeros(size), np.zeros(size), []
    for x in inputs:
        gates = into @ x + bias + back @ state + bias_back
        i, f, g, o = (
            gates[:size],
            gates[size : 2 * size],
            gates[2 * size : 3 * size],
            gates[3 * size :],
        )
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        cell = f * cell + i * np.tanh(g)
        state = o * np.tanh(cell)
        states.append(state)
    return np.array(states)


def test_the_random_lstm_is_that_of_the_definition() -> None:
    ours = RandomLSTM(WORDS, dim=6, tokenize=split, seed=2)
    vectors = ours.encode(SENTENCES)
    shapes = [(12, 5), (12, 3), (12,), (12,)] * 2
    rng = np.random.default_rng(2)
    weights = [
        rng.uniform(-(3**-0.5), 3**-0.5, shape).astype(np.float32) for shape in shapes
    ]
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        inputs = known(sentence)
        if not len(inputs):
            assert not vector.any()
            continue
        states = np.hstack(
            [
                lstm_states(inputs, weights[:4]),
                lstm_states(inputs[::-1], weights[4:])[::-1],
            ]
        )
        np.testing.assert_allclose(vector, states.max(axis=0), atol=1e-5)


@pytest.mark.parametrize("kind", [BOREP, RandomLSTM])
def test_a_vector_depends_on_the_seed_and_not_on_its_batch(kind, monkeypatch) -> None:
    together = kind(WORDS, dim=8, tokenize=split).encode(SENTENCES)
    monkeypatch.setattr(random_encoders, "TOKENS_PER_BATCH", 2)
    alone = np.vstack(
        [
            kind(WORDS, dim=8, tokenize=split).encode([sentence])
            for sentence in SENTENCES
        ]
    )
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(
        kind(WORDS, dim=8, tokenize=split).encode(SENTENCES), together, atol=1e-6
    )
    assert not np.allclose(
        together, kind(WORDS, dim=8, tokenize=split, seed=2).encode(SENTENCES)
    )


def test_an_odd_number_of_dimensions_gets_a_sentence() -> None:
    with refused("dim: 7 is not accepted; give an even number"):
        BOREP(WORDS, dim=7)
