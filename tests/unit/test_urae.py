"""The unfolding recursive autoencoder matches its definition and learns.

It also reads the published format.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lib import embedders
from lib.embedders import urae_network
from lib.embedders.urae import URAE, PublishedURAE
from lib.run.errors import InputError
from tests.official.urae import write_urae

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


def folded(weights, tree, words) -> np.ndarray:
    if not isinstance(tree, tuple):
        return words[tree]
    pair = np.concatenate([folded(weights, part, words) for part in tree])
    return np.tanh(weights.encode.numpy() @ pair + weights.encode_bias.numpy())


def error_below(weights, vector, tree, words) -> float:
    if not isinstance(tree, tuple):
        return float(((words[tree] - vector) ** 2).sum())
    halves = np.split(
        np.tanh(weights.decode.numpy() @ vector + weights.decode_bias.numpy()), 2
    )
    return sum(
        error_below(weights, half, part, words)
        for half, part in zip(halves, tree, strict=True)
    )


def error_of_all(weights, tree, words) -> float:
    if not isinstance(tree, tuple):
        return 0.0
    own = error_below(weights, folded(weights, tree, words), tree, words)
    return own + sum(error_of_all(weights, part, words) for part in tree)


def merges_of(tree) -> np.ndarray:
    """Nested pairs of places as merges.

    Words are numbered first, then nodes from left to right, the root last.
    """
    merges: list[tuple[int, int]] = []

    def words(part) -> int:
        return sum(map(words, part)) if isinstance(part, tuple) else 1

    def number(part) -> int:
        if not isinstance(part, tuple):
            return part
        merges.append((number(part[0]), number(part[1])))
        return words(tree) + len(merges) - 1

    number(tree)
    return np.array(merges, np.int64).reshape(-1, 2)


NESTED = [((0, 1), 2), (0, ((1, 2), (3, 4))), 0, (0, 1), ((((0, 1), 2), 3), (4, 5))]


@pytest.fixture
def batch() -> tuple[urae_network.Weights, list[np.ndarray], urae_network.Forest]:
    rng = np.random.default_rng(1)
    trees = [merges_of(tree) for tree in NESTED]
    words = [rng.uniform(-0.9, 0.9, (len(merges) + 1, 3)) for merges in trees]
    return double(3), words, urae_network.forest(trees)


def test_the_unfolding_error_is_that_of_the_recursive_definition(batch) -> None:
    weights, words, forest = batch
    vectors = urae_network.nodes(
        weights, torch.from_numpy(np.concatenate(words)), forest
    )
    expected = sum(
        error_of_all(weights, tree, rows)
        for tree, rows in zip(NESTED, words, strict=True)
    )
    np.testing.assert_allclose(
        float(urae_network.unfolding_error(weights, vectors, forest)),
        expected,
        rtol=1e-12,
    )


# -- trees -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "tree"),
    [
        (1, 0),
        (2, (0, 1)),
        (3, ((0, 1), 2)),
        (5, (((0, 1), 2), (3, 4))),
        (6, (((0, 1), 2), ((3, 4), 5))),
    ],
)
def test_balanced_trees_halve_the_words(n, tree) -> None:
    np.testing.assert_array_equal(urae_network.balanced(n), merges_of(tree))


def nested(merges: np.ndarray, n: int):
    nodes = list(range(n))
    for left, right in merges.tolist():
        nodes.append((nodes[left], nodes[right]))
    return nodes[-1]


def greedy_by_hand(weights, words):
    """Nested places of the words; each step looks at all adjacent pairs again."""
    parts, vectors = list(range(len(words))), list(words)
    encode, encode_bias, decode, decode_bias = (tensor.numpy() for tensor in weights)
    while len(parts) > 1:
        pairs = [np.concatenate(vectors[i : i + 2]) for i in range(len(parts) - 1)]
        parents = [np.tanh(encode @ pair + encode_bias) for pair in pairs]
        errors = [
            ((np.tanh(decode @ p + decode_bias) - pair) ** 2).sum()
            for p, pair in zip(parents, pairs, strict=True)
        ]
        i = int(np.argmin(errors))
        parts[i : i + 2], vectors[i : i + 2] = (
            [(parts[i], parts[i + 1])],
            [unit(parents[i])],
        )
    return parts[0]


def test_greedy_trees_of_a_batch_are_those_of_each_sentence_alone() -> None:
    weights, rng = double(4), np.random.default_rng(2)
    words = [
        np.array([unit(row) for row in rng.standard_normal((n, 4))])
        for n in (7, 1, 2, 12, 9)
    ]
    trees = urae_network.greedy(weights, [torch.from_numpy(rows) for rows in words])
    assert [
        nested(merges, len(rows)) for merges, rows in zip(trees, words, strict=True)
    ] == [greedy_by_hand(weights, rows) for rows in words]


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
    tree = ((0, 1), (2, 3)) if trees == "balanced" else greedy_by_hand(weights, words)
    found = embedder.encode(["a dog unknown eats fish", "dog", "", "nothing known"])
    np.testing.assert_allclose(found[0], folded(weights, tree, words), rtol=1e-5)
    np.testing.assert_allclose(found[1], unit(vectors["dog"]), rtol=1e-6)
    assert not found[2:].any()


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    first, again, other = (
        URAE(word_vectors(), seed=seed, **SMALL).fit_encode(TEXT) for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


# -- the published files ---------------------------------------------------------------


def published(params) -> urae_network.Weights:
    encode, decode = (
        np.hstack([params["W1"], params["W2"]]),
        np.vstack([params["W3"], params["W4"]]),
    )
    biases = params["b1"].ravel(), np.vstack([params["b2"], params["b3"]]).ravel()
    return urae_network.Weights(
        *map(torch.tensor, (encode, biases[0], decode, biases[1]))
    )


def test_the_published_network_is_read(tmp_path) -> None:
    *files, vectors, params = write_urae(tmp_path)
    embedder = PublishedURAE(*files)
    found = embedder.encode(["The cat ( dreams", "cat", "dreams on", ""])
    words = [vectors[word] for word in ("the", "cat", "-lrb-", "*UNKNOWN*")]
    np.testing.assert_allclose(
        found[0], folded(published(params), ((0, 1), (2, 3)), words), rtol=1e-5
    )
    np.testing.assert_allclose(found[1], vectors["cat"], rtol=1e-6)
    assert not found[2:].any()


def test_what_training_added_to_the_word_vectors_counts(tmp_path) -> None:
    added = np.arange(20.0).reshape(4, 5)
    *files, vectors, _ = write_urae(tmp_path, We=added)
    np.testing.assert_allclose(
        PublishedURAE(*files).encode(["cat"])[0],
        vectors["cat"] + added[:, 2],
        rtol=1e-6,
    )


def test_the_registry_finds_the_published_files(tmp_path, monkeypatch) -> None:
    (tmp_path / "urae").mkdir()
    write_urae(tmp_path / "urae")
    monkeypatch.setenv("SENTENCE_DATA", str(tmp_path))
    embedder = embedders.load("urae")
    assert (embedder.name, embedder.needs_fit) == ("urae", False)
    assert embedder.encode(["the cat"]).shape == (1, 4)


# -- bad input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: URAE(word_vectors(), trees="tall"), "trees: 'tall' is not known"),
        (
            lambda: URAE(word_vectors(), **SMALL).fit(["cat", "", "unknown only"]),
            "no sentence has two words",
        ),
        (lambda: URAE(word_vectors(), **SMALL).encode(TEXT), "not fitted"),
    ],
)
def test_bad_input_gets_a_sentence(call, message) -> None:
    with pytest.raises(InputError, match=message):
        call()
