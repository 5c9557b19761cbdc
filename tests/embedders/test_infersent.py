"""InferSent: against a bidirectional LSTM in plain NumPy, and with wrong files.

The wrong files are what users save in place of the official one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from lib.embedders.infersent import InferSent
from tests.official.infersent import DIRECTIONS, random_weights, write_infersent
from tests.refusals import refused

DIM, HIDDEN = 5, 4
WEIGHTS = random_weights(DIM, HIDDEN)
WORDS = ["<s>", "</s>", "A", "a", "dog", "cat", "barks", "."]
VECTORS = dict(
    zip(
        WORDS,
        np.random.default_rng(1).standard_normal((len(WORDS), DIM)).astype(np.float32),
        strict=True,
    )
)
SENTENCES = [
    "A dog barks .",
    "a cat",
    ". . . a dog a dog a cat . . .",
    "dog",
    "a zebra barks",
    "A cat barks . A dog .",
]


@pytest.fixture(scope="module")
def official(tmp_path_factory) -> Path:
    return write_infersent(
        tmp_path_factory.mktemp("infersent") / "infersent1.pkl", WEIGHTS
    )


@pytest.fixture(scope="module")
def embedder(official) -> InferSent:
    return InferSent(official, VECTORS, tokenize=str.split)


def states(
    inputs: np.ndarray, weights: dict[str, np.ndarray], direction: str
) -> np.ndarray:
    """The hidden states of one direction in the order of the words, step by step."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    from_input, from_state, input_bias, state_bias = (
        weights[f"enc_lstm.{name}{direction}"] for name in names
    )
    h = c = np.zeros(from_state.shape[1])
    found = []
    for x in inputs[::-1] if direction else inputs:
        i, f, g, o = np.split(
            from_input @ x + input_bias + from_state @ h + state_bias, 4
        )
        c = expit(f) * c + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        found.append(h)
    return np.array(found[::-1] if direction else found)


def by_hand(
    words: list[str], weights: dict[str, np.ndarray] = WEIGHTS, vectors=VECTORS
) -> np.ndarray:
    inputs = np.array([vectors[word] for word in words], dtype=np.float64)
    return np.concatenate(
        [states(inputs, weights, direction).max(axis=0) for direction in DIRECTIONS]
    )


@pytest.mark.parametrize("missing", [{"<s>"}, {"<s>", "</s>"}])
def test_a_mark_without_a_vector_is_left_out(official, missing) -> None:
    vectors = {word: vector for word, vector in VECTORS.items() if word not in missing}
    ours = InferSent(official, vectors, tokenize=str.split).encode(
        ["a dog", "", "zebra"]
    )
    words = [word for word in ("<s>", "a", "dog", "</s>") if word not in missing]
    np.testing.assert_allclose(ours[0], by_hand(words), atol=1e-6)
    assert not ours[1:].any()


@pytest.mark.parametrize(
    "how", [{"old": True}, {"old": True, "gpu": True}, {"old": False}]
)
def test_weights_are_read_however_pytorch_saved_them(tmp_path, embedder, how) -> None:
    ours = InferSent(
        write_infersent(tmp_path / "w.pkl", WEIGHTS, **how), VECTORS, tokenize=str.split
    )
    np.testing.assert_array_equal(ours.encode(SENTENCES), embedder.encode(SENTENCES))


def test_vectors_of_another_dimension_get_a_sentence(official) -> None:
    with refused(
        r"infersent1.pkl: needs word vectors of 5 dimensions, but vectors has 50"
    ):
        InferSent(official, {"dog": np.ones(50)})
