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


# -- the embedder ----------------------------------------------------------------------


# The halves of five words are the first three and the last two.
HALVES = {1: [], 2: [[0, 1]], 5: [[0, 1], [5, 2], [3, 4], [6, 7]]}


@pytest.mark.parametrize("trees", ["greedy", "balanced"])
def test_it_encodes_a_batch_as_the_definition_says(trees) -> None:
    vectors = word_vectors()
    embedder = URAE(vectors, trees=trees, **SMALL).fit(TEXT)
    weights = urae_network.Weights(*map(torch.tensor, embedder._arrays))
    texts = ["a dog unknown eats fish of", "dog", "cat the"]
    found = embedder.encode([*texts, "", "nothing known"])
    for text, vector in zip(texts, found[:3], strict=True):
        words = [unit(vectors[word]) for word in text.split() if word in vectors]
        merges = HALVES[len(words)]
        if trees == "greedy":
            merges = greedy_by_hand(weights, words)
        root = folded(weights, merges, words)[-1]
        np.testing.assert_allclose(vector, root, rtol=1e-5, atol=1e-6)
    assert not found[3:].any()


def test_a_very_long_sentence_has_a_balanced_tree() -> None:
    (tree,) = urae_network.greedy(double(3), [torch.ones(300, 3).double()])
    np.testing.assert_array_equal(tree, urae_network.balanced(300))


# -- bad input -------------------------------------------------------------------------


def test_bad_input_gets_a_sentence() -> None:
    with refused("trees: 'tall' is not known"):
        URAE(word_vectors(), trees="tall")
    with refused("no sentence has two words"):
        URAE(word_vectors(), **SMALL).fit(["cat", "", "unknown only"])
