"""The unfolding recursive autoencoder in PyTorch, batched over trees.

Trees, encoding, unfolding and training.

A tree over n words is an int64[n - 1, 2] of merges, like SciPy's linkages: the words
are nodes 0 to n - 1, and merge t joins two earlier nodes, a left and a right one, to
node n + t. The last node is the root. What has the same height in any tree of a batch
is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from lib.base.compiled import njit
from lib.base.environment import single_threaded

LONGEST = 128  # words of a sentence that has a greedy tree, or is trained on
# Two pairs whose errors differ by less than this share count as equal, and the left one
# is merged: rounding, which depends on the batch, must not decide.
TIE = 1.0e-5
RATE = 3.0e-3  # of Adam
DECAY = 1.0e-4  # the weight of the L2 regularization
BATCH = 16  # sentences in a step
AT_ONCE = 256  # sentences whose trees are chosen with the same weights


@lru_cache(maxsize=256)
def balanced(n: int) -> np.ndarray:
    """The tree that halves n words, and each half again.

    Of an odd number, the left half has one more.
    """
    merges: list[tuple[int, int]] = []

    def root(first: int, last: int) -> int:
        if last - first == 1:
            return first
        middle = (first + last + 1) // 2
        merges.append((root(first, middle), root(middle, last)))
        return n + len(merges) - 1

    root(0, n)
    return np.array(merges, np.int64).reshape(-1, 2)


# -- many trees ------------------------------------------------------------------------


class Forest(NamedTuple):
    """The trees of a batch of sentences; inner nodes of one height stand side by side.

    Attributes
    ----------
    words : int
        Number of words, which are the first nodes: one sentence after the other.
    children : int64[m, 2]
        The children of the inner nodes; row j is node ``words + j``.
    levels : int64[h + 1]
        Rows ``levels[k]`` to ``levels[k + 1]`` of `children` have height k + 1.
    roots : int64[n]
        The root of each sentence.
    """

    words: int
    children: np.ndarray
    levels: np.ndarray
    roots: np.ndarray


def forest(trees: Sequence[np.ndarray]) -> Forest:
    """The trees of sentences of one word or more."""
    words = sum(len(merges) + 1 for merges in trees)
    heights = [0] * words
    children = []
    roots = []
    first = 0
    for merges in trees:
        nodes = list(range(first, first + len(merges) + 1))
        first += len(nodes)
        for left, right in merges.tolist():
            left = nodes[left]
            right = nodes[right]
            nodes.append(len(heights))
            children.append((left, right))
            heights.append(1 + max(heights[left], heights[right]))
        roots.append(nodes[-1])
    order = np.argsort(heights, kind="stable")  # the words stay where they are
    place = np.argsort(order)
    children = np.array(children, np.int64).reshape(-1, 2)
    children = children[order[words:] - words]
    above = np.arange(1, max(heights) + 2)
    levels = np.searchsorted(np.sort(heights), above) - words
    return Forest(words, place[children], levels, place[roots])


# -- the network -----------------------------------------------------------------------


class Weights(NamedTuple):
    """The weights of the layers that fold two parts into one and unfold it.

    p = tanh(encode [c1; c2] + encode_bias);
    [c1'; c2'] = tanh(decode p + decode_bias).

    Attributes
    ----------
    encode, encode_bias : float[d, 2 d] and float[d]
    decode, decode_bias : float[2 d, d] and float[2 d]
    """

    encode: Tensor
    encode_bias: Tensor
    decode: Tensor
    decode_bias: Tensor


def initial(dim: int, seed: int, noise: float = 0.01) -> Weights:
    """A network that starts by averaging.

    encode is [I/2, I/2] and decode is [I; I], both with some normal noise.
    """
    generator = torch.Generator().manual_seed(seed)
    identity = torch.eye(dim)
    encode = torch.cat([identity, identity], 1) / 2
    encode = encode + noise * torch.randn(encode.shape, generator=generator)
    decode = torch.cat([identity, identity])
    decode = decode + noise * torch.randn(decode.shape, generator=generator)
    return Weights(encode, torch.zeros(dim), decode, torch.zeros(2 * dim))


def nodes(weights: Weights, words: Tensor, trees: Forest) -> Tensor:
    """float[words + m, d]: the vectors of all nodes, the words' own first."""
    size = len(words) + len(trees.children)
    vectors = torch.cat([words, words.new_zeros(size - len(words), words.shape[1])])
    children = torch.from_numpy(trees.children)
    for start, stop in pairwise(trees.levels.tolist()):
        pairs = vectors[children[start:stop]].flatten(1)
        parents = torch.tanh(linear(pairs, weights.encode, weights.encode_bias))
        vectors[len(words) + start : len(words) + stop] = parents
    return vectors


def unfolding_error(weights: Weights, vectors: Tensor, trees: Forest) -> Tensor:
    """The unfolding error, summed over all inner nodes.

    A node's error is |x_i..x_j - x_i'..x_j'|^2, between the words below it and what it
    unfolds to.

    All inner nodes are unfolded at once, step by step along their trees. `vectors` are
    those of `nodes`.
    """
    children = torch.from_numpy(trees.children)
    inner = torch.arange(len(children))
    unfolded = vectors[trees.words :]
    total = vectors.new_zeros(())
    while len(inner):
        below = children[inner].flatten()
        unfolded = torch.tanh(
            linear(unfolded, weights.decode, weights.decode_bias)
        ).view(len(below), -1)
        word = below < trees.words
        total = total + (unfolded[word] - vectors[below[word]]).square().sum()
        inner = below[~word] - trees.words
        unfolded = unfolded[~word]
    return total


def objective(weights: Weights, words: Tensor, trees: Forest) -> Tensor:
    """The unfolding error per sentence, plus a penalty on the weights.

    The penalty is `DECAY` / 2 times the squared weights, without biases.
    """
    error = unfolding_error(weights, nodes(weights, words, trees), trees)
    squares = weights.encode.square().sum() + weights.decode.square().sum()
    return error / len(trees.roots) + DECAY / 2 * squares


# -- greedy trees ----------------------------------------------------------------------


def greedy(weights: Weights, sentences: Sequence[Tensor]) -> list[np.ndarray]:
    """Trees that always merge the adjacent pair with the least error.

    The reconstruction error is |[c1; c2] - [c1'; c2']|^2.

    For that choice alone, a merged part is scaled to unit length, as in the paper that
    greedy trees come from (Socher et al. 2011, EMNLP): parts of many words have short
    vectors, whose errors are small whatever they say. A sentence of more than `LONGEST`
    words has a balanced tree.
    """
    arrays = [tensor.detach().numpy() for tensor in weights]
    trees = []
    for words in sentences:
        if len(words) <= LONGEST:
            trees.append(_merged(*arrays, words.numpy()))
        else:
            trees.append(balanced(len(words)))
    return trees


@njit
def _merged(
    encode: np.ndarray,
    encode_bias: np.ndarray,
    decode: np.ndarray,
    decode_bias: np.ndarray,
    words: np.ndarray,
) -> np.ndarray:
    """The merges of one sentence, int64[words - 1, 2]."""
    layers = encode, encode_bias, decode, decode_bias
    count = len(words)
    nodes = np.arange(count)
    vectors = words.copy()
    parents = np.empty_like(words)  # of each node and the next
    errors = np.empty(count, words.dtype)
    for place in range(count - 1):
        parents[place], errors[place] = _fold(*layers, vectors[place : place + 2])
    merges = np.empty((count - 1, 2), np.int64)
    for step in range(count - 1):
        left = count - 1 - step  # pairs
        least = errors[:left].min() * (1 + TIE)
        chosen: Any = np.argmax(errors[:left] <= least)
        merges[step] = nodes[chosen : chosen + 2]
        nodes[chosen] = count + step
        vectors[chosen] = parents[chosen]
        for place in range(chosen + 1, left):
            nodes[place] = nodes[place + 1]
            vectors[place] = vectors[place + 1]
        for place in range(chosen, left - 1):
            parents[place] = parents[place + 1]
            errors[place] = errors[place + 1]
        for place in range(max(chosen - 1, 0), min(chosen + 1, left - 1)):
            parents[place], errors[place] = _fold(*layers, vectors[place : place + 2])
    return merges


@njit
def _fold(
    encode: np.ndarray,
    encode_bias: np.ndarray,
    decode: np.ndarray,
    decode_bias: np.ndarray,
    pair: np.ndarray,
) -> tuple[np.ndarray, float]:
    """The parent of two parts, at unit length, and its reconstruction error."""
    parts = pair.copy().reshape(-1)
    parent = np.tanh(encode @ parts + encode_bias)
    again = np.tanh(decode @ parent + decode_bias)
    return parent / np.linalg.norm(parent), np.square(again - parts).sum()


# -- training --------------------------------------------------------------------------


def train(
    weights: Weights,
    sentences: Sequence[Tensor],
    grown: Callable[[Weights, Sequence[Tensor]], list[np.ndarray]],
    epochs: int,
    seed: int,
) -> Iterator[int]:
    """Train `weights` in place with Adam.

    Yields the number of sentences of each batch when the batch is done. `grown` gives
    the trees of some sentences, by the weights of that moment; it is asked for those of
    `AT_ONCE` sentences at a time.
    """
    rng = np.random.default_rng(seed)
    for tensor in weights:
        tensor.requires_grad_()
    optimizer = torch.optim.Adam(list(weights), lr=RATE)
    for _ in range(epochs):
        order = rng.permutation(len(sentences))
        for start in range(0, len(order), AT_ONCE):
            chosen = [sentences[i] for i in order[start : start + AT_ONCE]]
            trees = grown(weights, chosen)
            for first in range(0, len(chosen), BATCH):
                part = slice(first, first + BATCH)
                words = torch.cat(chosen[part])
                optimizer.zero_grad()
                objective(weights, words, forest(trees[part])).backward()
                optimizer.step()
                yield len(trees[part])
    for tensor in weights:
        tensor.requires_grad_(False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run PyTorch and NumPy in one thread.

    Sums do not depend on the number of cores then, and no thread waits for another
    between matrices that are this small.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with single_threaded("blas"):
            yield
    finally:
        torch.set_num_threads(before)
