"""The unfolding recursive autoencoder matches its definition, written a second time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lib.embedders import urae_network
from lib.embedders.urae import URAE
from tests.refusals import refused

WORDS = ["the", "cat", "dog", "sleeps", "eats", "a", "fish", "of", "bank", "money"]
TEXT = [
    "the cat sleeps",
    "a dog eats the fish",
    "money of the bank",
    "the bank eats money",
    "fish",
    "the dog sleeps",
] * 4
SMALL = {"epochs": 2, "tokenize": str.split}


def word_vectors(dim: int = 6, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {word: rng.standard_normal(dim).astype(np.float32) for word in WORDS}


def double(dim: int, seed: int = 0) -> urae_network.Weights:
    weights = urae_network.initial(dim, seed, noise=0.3)
    return urae_network.Weights(*(tensor.double() for tensor in weights))


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


# -- the definition, written a second time, one node after the other -------------------


def folded(weights, merges, words) -> list[np.ndarray]:
    """The vectors of all nodes."""
    vectors = list(words)
    for left, right in merges:
        pair = np.concatenate([vectors[left], vectors[right]])
        parent = np.tanh(weights.encode.numpy() @ pair + weights.encode_bias.numpy())
        vectors.append(parent)
    return vectors


def error_below(weights, vector, node, merges, words) -> float:
    if node < len(words):
        return float(((words[node] - vector) ** 2).sum())
    unfolded = weights.decode.numpy() @ vector + weights.decode_bias.numpy()
    left, right = merges[node - len(words)]
    first, second = np.split(np.tanh(unfolded), 2)
    error = error_below(weights, first, left, merges, words)
    return error + error_below(weights, second, right, merges, words)


TREES = [
    [[0, 1], [3, 2]],
    [[1, 2], [3, 4], [5, 6], [0, 7]],
    [],
    [[0, 1]],
    [[0, 1], [6, 2], [7, 3], [4, 5], [8, 9]],
]


def test_the_unfolding_error_is_that_of_the_recursive_definition() -> None:
    rng = np.random.default_rng(1)
    weights = double(3)
    trees = [np.array(merges, np.int64).reshape(-1, 2) for merges in TREES]
    texts = [rng.uniform(-0.9, 0.9, (len(merges) + 1, 3)) for merges in trees]
    expected = 0.0
    for merges, words in zip(trees, texts, strict=True):
        vectors = folded(weights, merges, words)
        for node in range(len(words), len(vectors)):
            expected += error_below(weights, vectors[node], node, merges, words)
    forest = urae_network.forest(trees)
    nodes = urae_network.nodes(weights, torch.from_numpy(np.vstack(texts)), forest)
    found = urae_network.unfolding_error(weights, nodes, forest)
    np.testing.assert_allclose(float(found), expected, rtol=1e-12)


# -- trees -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "merges"),
    [
        (1, []),
        (2, [[0, 1]]),
        (3, [[0, 1], [3, 2]]),
        (5, [[0, 1], [5, 2], [3, 4], [6, 7]]),
    ],
)
def test_balanced_trees_halve_the_words(n, merges) -> None:
    assert urae_network.balanced(n).tolist() == merges


def greedy_by_hand(weights, words) -> list[list[int]]:
    """Merges; every step looks at all adjacent pairs again."""
    nodes = list(range(len(words)))
    vectors = list(words)
    merges = []
    encode, encode_bias, decode, decode_bias = (tensor.numpy() for tensor in weights)
    while len(nodes) > 1:
        pairs = np.hstack([vectors[:-1], vectors[1:]])
        parents = np.tanh(pairs @ encode.T + encode_bias)
        again = np.tanh(parents @ decode.T + decode_bias)
        i = int(np.argmin(((again - pairs) ** 2).sum(axis=1)))
        merges.append(nodes[i : i + 2])
        nodes[i : i + 2] = [len(words) + len(merges) - 1]
        vectors[i : i + 2] = [unit(parents[i])]
    return merges


def test_greedy_trees_of_a_batch_are_those_of_each_sentence_alone() -> None:
    weights = double(4)
    rng = np.random.default_rng(2)
    texts = []
    for n in (7, 1, 2, 12, 9):
        texts.append(np.array([unit(row) for row in rng.standard_normal((n, 4))]))
    trees = urae_network.greedy(weights, [torch.from_numpy(words) for words in texts])
    for merges, words in zip(trees, texts, strict=True):
        assert merges.tolist() == greedy_by_hand(weights, words)


def test_equal_errors_merge_from_the_left_and_very_long_sentences_are_balanced() -> (
    None
):
    same = torch.ones(1, 3).double() / 3**0.5
    short, long = urae_network.greedy(
        double(3), [same.expand(100, 3), same.expand(300, 3)]
    )
    assert short[0].tolist() == [0, 1]
    np.testing.assert_array_equal(long, urae_network.balanced(300))


# -- the embedder ----------------------------------------------------------------------


@pytest.mark.parametrize("trees", ["greedy", "balanced"])
def test_it_encodes_as_the_definition_says(trees) -> None:
    vectors = word_vectors()
    embedder = URAE(vectors, trees=trees, **SMALL).fit(TEXT)
    weights = urae_network.Weights(*map(torch.tensor, embedder._arrays))
    words = [unit(vectors[word]) for word in ("a", "dog", "eats", "fish")]
    merges = [[0, 1], [2, 3], [4, 5]]
    if trees == "greedy":
        merges = greedy_by_hand(weights, words)
    found = embedder.encode(["a dog unknown eats fish", "dog", "", "nothing known"])
    root = folded(weights, merges, words)[-1]
    np.testing.assert_allclose(found[0], root, rtol=1e-5)
    np.testing.assert_allclose(found[1], unit(vectors["dog"]), rtol=1e-6)
    assert not found[2:].any()


# -- bad input -------------------------------------------------------------------------


def test_bad_input_gets_a_sentence() -> None:
    with refused("trees: 'tall' is not known"):
        URAE(word_vectors(), trees="tall")
    with refused("no sentence has two words"):
        URAE(word_vectors(), **SMALL).fit(["cat", "", "unknown only"])
