"""Classifiers of several folds and penalties, trained side by side.

They are those of SentEval (`audit.senteval`). All start with the same weights and read
their sentences in the same order, so they are one batch of matrices; each is stopped on
its own. Where a machine has an NVIDIA GPU, they are trained there: a pass over the
sentences is one graph of kernels, since starting kernels takes longer than they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.adam import adam

SEED = 1111
BATCH = 64  # sentences a step
PASSES = 4  # over the training sentences, from one check to the next
TENACITY = 5  # checks without a rise that are allowed
LONGEST = 200  # passes
HELD_OUT = 0.05  # of the training sentences, where there are none to stop by
# PyTorch's defaults
ADAM = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}
ADAM |= {"amsgrad": False, "maximize": False, "fused": True}
TOGETHER = 25  # folds that are trained side by side
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# Folds that are stopped leave when at most this share goes on: on a GPU, where they
# cost little, a new graph costs more.
BUSY = 0.5 if DEVICE == "cuda" else 0.999

# Rows to train on, and rows to stop by. Without the latter, some are held out.
Fold = tuple[np.ndarray, np.ndarray | None]


class Data:
    """Sentences, and what is made of them."""

    def __init__(
        self, vectors: np.ndarray, labels: np.ndarray, hidden: int, normalize: bool
    ) -> None:
        classes, places = np.unique(labels, return_inverse=True)
        self.vectors = _tensor(np.array(vectors, np.float32))
        self.labels = _tensor(places)
        self.sizes = [vectors.shape[1], hidden, len(classes)]
        if not hidden:
            del self.sizes[1]
        self.normalize = normalize


class Model(NamedTuple):
    """The classifiers of one fold, one for each of p penalties.

    Attributes
    ----------
    weights : list of Tensor
        [1, p, outputs, inputs] each.
    columns : list of Tensor
        Mean and standard deviation of each column, [1, 1, d].
    accuracy : float[p]
        The highest on the rows to stop by.
    passes : int[p]
        Over the training sentences, until then.
    """

    weights: list[Tensor]
    columns: list[Tensor]
    accuracy: np.ndarray
    passes: np.ndarray

    def of(self, penalty: int) -> Model:
        """The classifier with one of the penalties, by its number."""
        weights = [weight[:, [penalty]] for weight in self.weights]
        which = [penalty]
        return Model(weights, self.columns, self.accuracy[which], self.passes[which])

    def correct(self, data: Data, rows: np.ndarray) -> np.ndarray:
        """Which rows the first of them labels right, bool[n]."""
        return _correct(data, self.weights, self.columns, rows[None])[0, 0]


class Models:
    """Classifiers of f folds and p penalties that are trained side by side.

    Parameters
    ----------
    data : Data
    train : int64[f, n]
        Rows to train on.
    penalties : float[f, p]
    rng : RandomState
        Of the order of the rows.
    """

    def __init__(
        self,
        data: Data,
        train: np.ndarray,
        penalties: np.ndarray,
        rng: np.random.RandomState,
    ) -> None:
        self.data = data
        self.train = _tensor(train)
        self.penalties = _tensor(np.array(penalties, np.float32))[..., None, None]
        self.rng = rng
        self.rows = self.train.clone()  # in the order of a pass
        self.graph: torch.cuda.CUDAGraph | None = None
        self.minus_one = torch.tensor(-1.0, device=DEVICE)
        self.columns = _columns(data, self.train)
        self.weights = _first_weights(data.sizes, *penalties.shape)
        self.means = [torch.zeros_like(weight) for weight in self.weights]
        self.squares = [torch.zeros_like(weight) for weight in self.weights]
        self.steps = [torch.zeros((), device=DEVICE) for _ in self.weights]

    def read(self) -> None:
        """Train for some passes over the sentences."""
        for _ in range(PASSES):
            order = _tensor(self.rng.permutation(self.train.shape[1]))
            self.rows.copy_(self.train[:, order])
            if self.graph is not None:
                self.graph.replay()
                continue
            self._pass()
            if DEVICE == "cuda":
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self._pass()

    def _pass(self) -> None:
        """One pass over the sentences."""
        for rows in self.rows.split(BATCH, dim=1):
            self._step(rows)

    def _step(self, rows: Tensor) -> None:
        """One step of Adam: the gradient is written out, which takes half the time."""
        inputs = _inputs(self.data, self.columns, rows)
        hidden, scores = _layers(self.weights, inputs)
        labels = self.data.labels[rows][:, None, None]
        labels = labels.expand(-1, scores.shape[1], -1, -1)
        slope = scores.softmax(dim=2)
        slope.scatter_add_(2, labels, self.minus_one.expand(labels.shape))
        slope /= rows.shape[1]
        slopes = []
        if hidden is not None:
            slopes = [slope @ hidden.mT, slope.sum(dim=3, keepdim=True)]
            slope = (self.weights[2].mT @ slope) * hidden * (1 - hidden)
        of_first = slope.flatten(1, 2).bmm(inputs).view_as(self.weights[0])
        slopes = [of_first, slope.sum(dim=3, keepdim=True), *slopes]
        for weight, gradient in zip(self.weights, slopes, strict=True):
            gradient.addcmul_(weight, self.penalties)
        adam(self.weights, slopes, self.means, self.squares, [], self.steps, **ADAM)

    def inputs(self, rows: np.ndarray) -> Tensor:
        """What the classifiers read of rows, int64[f, n]: float32[f, n, d]."""
        return _inputs(self.data, self.columns, _tensor(rows))

    def correct(self, rows: np.ndarray) -> np.ndarray:
        """Which rows, int64[f, n], each classifier labels right: bool[f, p, n]."""
        return _correct(self.data, self.weights, self.columns, rows)

    def keep(self, which: np.ndarray) -> None:
        """Train only some of the folds from here on."""
        folds = _tensor(which)
        self.train = self.train[folds]
        self.rows = self.rows[folds]
        self.graph = None
        self.penalties = self.penalties[folds]
        self.columns = [column[folds] for column in self.columns]
        self.weights = [weight[folds] for weight in self.weights]
        self.means = [mean[folds] for mean in self.means]
        self.squares = [square[folds] for square in self.squares]


def trained(data: Data, folds: Sequence[Fold], penalties: np.ndarray) -> list[Model]:
    """For each fold, the classifiers with penalties float[f, p], stopped early."""
    alike = defaultdict(list)
    for number, (train, dev) in enumerate(folds):
        alike[len(train), dev is None or len(dev)].append(number)
    found = {}
    for numbers in alike.values():
        for start in range(0, len(numbers), TOGETHER):
            some = numbers[start : start + TOGETHER]
            models = _stopped(data, [folds[i] for i in some], penalties[some])
            found |= dict(zip(some, models, strict=True))
    return [found[number] for number in range(len(folds))]


def _stopped(data: Data, folds: Sequence[Fold], penalties: np.ndarray) -> list[Model]:
    """The classifiers of folds of equal length, each with its best weights."""
    rng = np.random.RandomState(SEED)
    train = np.stack([known for known, _ in folds])
    if folds[0][1] is None:
        held_out = int(HELD_OUT * train.shape[1])
        shuffled = train[:, rng.permutation(train.shape[1])]
        dev, train = np.split(shuffled, [held_out], axis=1)
    else:
        dev = np.stack([stop_by for _, stop_by in folds])
    models = Models(data, train, penalties, rng)
    columns = models.columns
    best = [weight.clone() for weight in models.weights]
    accuracy = np.full(penalties.shape, -1.0)
    passes = np.zeros(penalties.shape, np.int64)
    misses = np.zeros(penalties.shape, np.int64)
    going = np.arange(len(folds))
    for done in range(0, LONGEST + 1, PASSES):
        models.read()
        now = models.correct(dev[going]).mean(axis=2)
        rises = (misses[going] <= TENACITY) & (now > accuracy[going])
        misses[going] += ~rises
        fold, penalty = np.nonzero(rises)
        accuracy[going[fold], penalty] = now[fold, penalty]
        passes[going[fold], penalty] = done + PASSES
        for kept, weight in zip(best, models.weights, strict=True):
            kept[going[fold], penalty] = weight[fold, penalty]
        goes_on = (misses[going] <= TENACITY).any(axis=1)
        if not goes_on.any():
            break
        if goes_on.mean() <= BUSY:
            models.keep(np.flatnonzero(goes_on))
            going = going[goes_on]
    return [
        Model(
            [weight[[i]] for weight in best],
            [column[[i]] for column in columns],
            accuracy[i],
            passes[i],
        )
        for i in range(len(folds))
    ]


def _correct(
    data: Data, weights: list[Tensor], columns: list[Tensor], rows: np.ndarray
) -> np.ndarray:
    """Which rows, int64[f, n], are labeled right: bool[f, p, n]."""
    found = []
    for some in _tensor(rows).split(16 * BATCH, dim=1):
        _, scores = _layers(weights, _inputs(data, columns, some))
        found.append(scores.argmax(dim=2) == data.labels[some][:, None])
    return torch.cat(found, dim=2).cpu().numpy()


def _inputs(data: Data, columns: list[Tensor], rows: Tensor) -> Tensor:
    """The vectors of rows, float32[f, n, d]."""
    # Ten times as fast as `data.vectors[rows]`.
    inputs = nn.functional.embedding(rows, data.vectors)
    if columns:
        mean, deviation = columns
        inputs.sub_(mean).div_(deviation)
    return inputs


def _layers(weights: list[Tensor], inputs: Tensor) -> tuple[Tensor | None, Tensor]:
    """The hidden units, if there are any, and the scores: [f, p, outputs, n] each.

    The order of the axes is the one for which products of matrices are fast.
    """
    first, bias, *second = weights
    found = first.flatten(1, 2).bmm(inputs.mT)
    found = found.unflatten(1, first.shape[1:3]) + bias
    if not second:
        return None, found
    hidden = found.sigmoid_()
    weight, bias = second
    return hidden, weight @ hidden + bias


def _columns(data: Data, train: Tensor) -> list[Tensor]:
    """Mean and standard deviation of each column, [f, 1, d], if they are needed."""
    if not data.normalize:
        return []
    both = [torch.std_mean(data.vectors[rows], 0, correction=0) for rows in train]
    deviation, mean = (torch.stack(each)[:, None] for each in zip(*both, strict=True))
    return [mean, torch.where(deviation > 0, deviation, 1)]


def _first_weights(sizes: Sequence[int], folds: int, penalties: int) -> list[Tensor]:
    """The weights that PyTorch draws at SentEval's seed: [f, p, outputs, inputs]."""
    weights = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        for inputs, outputs in pairwise(sizes):
            layer = nn.Linear(inputs, outputs)
            weights += [layer.weight.detach(), layer.bias.detach()[:, None]]
    return [weight.repeat(folds, penalties, 1, 1).to(DEVICE) for weight in weights]


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values).to(DEVICE)
