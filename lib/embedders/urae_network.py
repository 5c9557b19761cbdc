"""The unfolding recursive autoencoder in PyTorch: encoding, unfolding, greedy trees and training, batched over trees.

What has the same height in any tree of a batch is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear, normalize
from torch.nn.utils.rnn import pad_sequence

from lib.embedders import urae_trees
from lib.embedders.urae_trees import Forest

# Two pairs whose errors differ by less than this share count as equal, and the left one is merged: rounding, which
# depends on the batch, must not decide.
TIE = 1.0e-5
AT_ONCE = 256  # sentences whose trees grow together: the steps are as many as for one


class Weights(NamedTuple):
    """p = tanh(encode [c1; c2] + encode_bias); [c1'; c2'] = tanh(decode p + decode_bias).

    Attributes
    ----------
    encode, encode_bias : float[d, 2 d] and float[d]
    decode, decode_bias : float[2 d, d] and float[2 d]
    """

    encode: Tensor
    encode_bias: Tensor
    decode: Tensor
    decode_bias: Tensor


def initial(dim: int, generator: torch.Generator, noise: float = 0.01) -> Weights:
    """A network that starts by averaging: encode is [I/2, I/2], decode [I; I], both with some normal noise."""
    identity = torch.eye(dim)
    encode, decode = torch.cat([identity, identity], 1) / 2, torch.cat([identity, identity])
    encode, decode = (matrix + noise * torch.randn(matrix.shape, generator=generator) for matrix in (encode, decode))
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
    """The sum over all inner nodes of |x_i..x_j - x_i'..x_j'|^2: the words below a node, and what it unfolds to.

    All inner nodes are unfolded at once, step by step along their trees. `vectors` are those of `nodes`.
    """
    children = torch.from_numpy(trees.children)
    inner, unfolded = torch.arange(len(children)), vectors[trees.words :]
    total = vectors.new_zeros(())
    while len(inner):
        below = children[inner].flatten()
        unfolded = torch.tanh(linear(unfolded, weights.decode, weights.decode_bias)).view(len(below), -1)
        word = below < trees.words
        total = total + (unfolded[word] - vectors[below[word]]).square().sum()
        inner, unfolded = below[~word] - trees.words, unfolded[~word]
    return total


def objective(weights: Weights, words: Tensor, trees: Forest, decay: float) -> Tensor:
    """The unfolding error a sentence, plus decay / 2 times the squared weights (no biases)."""
    error = unfolding_error(weights, nodes(weights, words, trees), trees) / len(trees.roots)
    return error + penalty(weights, decay)


def penalty(weights: Weights, decay: float) -> Tensor:
    """The part of the objective that keeps weights small."""
    return decay / 2 * (weights.encode.square().sum() + weights.decode.square().sum())


# -- greedy trees -------------------------------------------------------------------------------


def greedy(weights: Weights, sentences: Sequence[Tensor]) -> list[np.ndarray]:
    """Trees that always merge the adjacent pair with the least reconstruction error |[c1; c2] - [c1'; c2']|^2.

    For that choice alone, a merged part is scaled to unit length, as in the paper that greedy trees come from (Socher
    et al. 2011, EMNLP): parts of many words have short vectors, whose errors are small whatever they say. A sentence of
    more than `urae_trees.LONGEST` words is merged in pieces, whose roots then stand under a balanced tree.
    """
    pieces = [sentence.split(urae_trees.LONGEST) for sentence in sentences]
    with torch.no_grad():
        trees = iter(_Merging(weights, [piece for parts in pieces for piece in parts]).trees())
    return [urae_trees.joined([next(trees) for _ in parts]) for parts in pieces]


class _Merging:
    """Sentences of which each merges one pair a step. A merged pair stays in the place of its left part."""

    def __init__(self, weights: Weights, sentences: Sequence[Tensor]) -> None:
        self.weights = weights
        self.lengths = np.array([len(sentence) for sentence in sentences])
        self.longest = int(self.lengths.max(initial=0))
        self.vectors = pad_sequence(list(sentences), batch_first=True)
        self.parents = torch.zeros_like(self.vectors)  # of each part and the one after it
        self.errors = np.full((len(sentences), self.longest), np.inf, np.float32)  # of the same pairs
        self.nodes, self.after, self.before = (
            np.tile(np.arange(self.longest) + shift, (len(sentences), 1)) for shift in (0, 1, -1)
        )

    def trees(self) -> list[np.ndarray]:
        merges = [np.empty((n - 1, 2), np.int64) for n in self.lengths]
        self._pair(*np.nonzero(np.arange(self.longest - 1) < (self.lengths - 1)[:, None]))
        for step in range(self.longest - 1):
            rows = np.flatnonzero(self.lengths - 1 > step)
            left = self._best(rows)
            for row, *pair in zip(rows, *self._merge(rows, left, step), strict=True):
                merges[row][step] = pair
        return merges

    def _pair(self, rows: np.ndarray, left: np.ndarray) -> None:
        """Join what stands at some places with what comes after it, and note the errors."""
        right = self.after[rows, left]
        pairs = torch.cat([self.vectors[rows, left], self.vectors[rows, right]], 1)
        parents = torch.tanh(linear(pairs, self.weights.encode, self.weights.encode_bias))
        again = torch.tanh(linear(parents, self.weights.decode, self.weights.decode_bias))
        self.parents[rows, left] = normalize(parents)
        self.errors[rows, left] = (again - pairs).square().sum(1).numpy()

    def _best(self, rows: np.ndarray) -> np.ndarray:
        errors = self.errors[rows]
        return (errors <= errors.min(1, keepdims=True) * (1 + TIE)).argmax(1)

    def _merge(self, rows: np.ndarray, left: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Merge the pairs that begin at some places; returns the nodes that were their parts."""
        right = self.after[rows, left]
        parts = self.nodes[rows, left], self.nodes[rows, right]
        self.nodes[rows, left] = self.lengths[rows] + step
        self.vectors[rows, left] = self.parents[rows, left]
        after, before = self.after[rows, right], self.before[rows, left]
        self.after[rows, left] = after
        self.errors[rows, left] = self.errors[rows, right] = np.inf
        more, earlier = after < self.lengths[rows], before >= 0
        self.before[rows[more], after[more]] = left[more]
        self._pair(np.concatenate([rows[more], rows[earlier]]), np.concatenate([left[more], before[earlier]]))
        return parts


# -- training -----------------------------------------------------------------------------------


def train(
    weights: Weights,
    sentences: Sequence[Tensor],
    trees_of: Callable[[Weights, Sequence[int]], list[np.ndarray]],
    epochs: int,
    batch: int,
    rate: float,
    decay: float,
    seed: int,
) -> Iterator[tuple[int, float]]:
    """Train `weights` in place with Adam; yields the number of sentences of each batch and their unfolding error.

    `trees_of` gives the trees of the sentences at some places, by the weights of that moment; it is asked for those of
    `AT_ONCE` sentences at a time.
    """
    rng = np.random.default_rng(seed)
    for tensor in weights:
        tensor.requires_grad_()
    optimizer = torch.optim.Adam(list(weights), lr=rate)
    for _ in range(epochs):
        for chosen, trees in _batches(weights, rng.permutation(len(sentences)), trees_of, batch):
            optimizer.zero_grad()
            words = torch.cat([sentences[i] for i in chosen])
            value = objective(weights, words, urae_trees.forest(trees), decay)
            value.backward()
            error = (value - penalty(weights, decay)).item() * len(chosen)
            optimizer.step()
            yield len(chosen), error
    for tensor in weights:
        tensor.requires_grad_(False)


def _batches(
    weights: Weights,
    order: np.ndarray,
    trees_of: Callable[[Weights, Sequence[int]], list[np.ndarray]],
    batch: int,
) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Places of sentences in their order, some at a time, with the trees."""
    together = batch * max(1, AT_ONCE // batch)
    for start in range(0, len(order), together):
        chosen = order[start : start + together]
        trees = trees_of(weights, chosen)
        for first in range(0, len(chosen), batch):
            yield chosen[first : first + batch], trees[first : first + batch]


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread of PyTorch: the same sums on every machine, whatever its number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
