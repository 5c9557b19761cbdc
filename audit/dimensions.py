"""Accuracy over the number of dimensions, when nothing else changes.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019),
section 3, "Size matters", figure 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from audit.accuracies import Jobs, Options, accuracy
from lib.base.environment import thread_pool
from lib.base.errors import InputError
from lib.corpora import Corpus
from lib.stats import Interval, Sampling, intervals, mean_over
from lib.studies.encoding import encoder

TRAINED = "word2vec, trained at each size"
PROJECTED = "GloVe, random projections"
CONCATENATED = "GloVe, poolings and sets side by side"
SIDE_BY_SIDE = {
    50: "glove-6b-50d",
    150: "glove-6b-50d+power-means",
    450: "glove-6b-50d+w2v-corpus+power-means",
}


@dataclass(frozen=True, eq=False)
class Line:
    """Embedders of one kind at several sizes.

    Attributes
    ----------
    kind : str
        Which way to larger vectors this is, such as `TRAINED`.
    sizes : list of int
    encoders : list of list
        What encodes, for each size and seed.
    """

    kind: str
    sizes: Sequence[int]
    encoders: Sequence[Sequence[Callable]]

    @property
    def seeds(self) -> int:
        """How many embedders there are of each size."""
        return len(self.encoders[0])

    @property
    def names(self) -> np.ndarray:
        """str[sizes, seeds]: what the results of each are called."""
        seeds = range(self.seeds)
        return np.array(
            [[f"{self.kind} {size} {seed}" for seed in seeds] for size in self.sizes]
        )

    @property
    def ends(self) -> Line:
        """The smallest and the largest size."""
        sizes = [self.sizes[0], self.sizes[-1]]
        return Line(self.kind, sizes, [self.encoders[0], self.encoders[-1]])

    def jobs(self, conditions: Mapping[str, Options]) -> Jobs:
        """Jobs of `transfer.correct_labels`, all under the same conditions."""
        encoders = chain.from_iterable(self.encoders)
        return {
            name: (encode, conditions)
            for name, encode in zip(self.names.flat, encoders, strict=True)
        }

    def accuracy(
        self, correct: pd.DataFrame, conditions: Sequence[str], sampling: Sampling
    ) -> pd.DataFrame:
        """Draws of accuracies, means over tasks: condition, size, seed (if several)."""
        axes = {"size": [str(size) for size in self.sizes]}
        names = self.names
        if self.seeds > 1:
            axes["seed"] = [str(seed) for seed in range(self.seeds)]
        else:
            names = names[:, 0]
        by_task = accuracy(correct, conditions, names, sampling, axes)
        return mean_over(by_task, "task")


def sample(corpus: Corpus, sentences: int) -> list[str]:
    """Some sentences of a corpus, at random but in order; 0 for all."""
    order = np.random.default_rng(0).permutation(len(corpus))
    chosen = np.sort(order[: sentences or None])
    return [corpus.sentences[i] for i in chosen.tolist()]


def lines(
    sizes: Sequence[int],
    text: Sequence[str],
    corpus: Corpus,
    training: Mapping[str, float],
    seeds: int,
) -> dict[str, Line]:
    """Three ways to larger vectors, by kind.

    Word2vec learns from the text; `training` has gensim's options. Random projections
    of GloVe take the maximum over words (Wieting and Kiela 2019). Averages of GloVe are
    put beside their maxima and minima, and then beside those of word2vec, which learns
    from the corpus (Rücklé et al. 2018).

    Raises
    ------
    InputError
        Fewer than four sizes, or an odd one after the first, which projections do not
        have.
    """
    if len(sizes) < 4 or any(size % 2 for size in sizes[1:]):
        raise InputError(
            f"sizes: {sizes} is not accepted; give four or more, all even but the first"
        )
    numbers = range(1, seeds + 1)
    larger = sizes[1:]

    def trained(size: int, seed: int) -> Callable:
        return encoder(f"w2v-corpus-{size}d", text, seed=seed, **training)

    def projected(size: int, seed: int) -> Callable:
        return encoder(f"glove-6b-50d+borep-{size}d", corpus, seed=seed)

    with thread_pool() as pool:
        made = pool.map(trained, *zip(*product(sizes, numbers), strict=True))
        by_size = np.reshape(list(made), (len(sizes), seeds)).tolist()
    projections = [[projected(size, seed) for seed in numbers] for size in larger]
    side_by_side = [[encoder(name, corpus)] for name in SIDE_BY_SIDE.values()]
    ways = [
        Line(TRAINED, sizes, by_size),
        Line(PROJECTED, larger, projections),
        Line(CONCATENATED, list(SIDE_BY_SIDE), side_by_side),
    ]
    return {line.kind: line for line in ways}


# -- the curve -------------------------------------------------------------------------


class Growth(NamedTuple):
    """How accuracy grows with size.

    Attributes
    ----------
    rise : Interval
        The largest size minus the smallest.
    concavity : Interval
        Slope by dimension of the smaller half of sizes minus that of the larger half.
    bends : Interval
        Minus each second difference.
    """

    rise: Interval
    concavity: Interval
    bends: Interval


def growth(correct: pd.DataFrame, line: Line, sampling: Sampling) -> Growth:
    """The rise and the shape of the curve."""
    scores = line.accuracy(correct, ["logistic"], sampling)["logistic"]
    by_size = [scores[size] for size in scores.columns.unique(0)]
    slopes = [
        (larger - smaller) / step
        for (smaller, larger), step in zip(
            pairwise(by_size), np.diff(line.sizes), strict=True
        )
    ]
    half = (len(slopes) + 1) // 2
    lower = sum(slopes[:half]) / half
    upper = sum(slopes[half:]) / (len(slopes) - half)
    bends = [before - after for before, after in pairwise(slopes)]
    bends = pd.concat(dict(enumerate(bends)), axis=1, names=["bend"])
    return Growth(
        intervals(by_size[-1] - by_size[0], sampling, "normal"),
        intervals(lower - upper, sampling, "normal"),
        intervals(bends, sampling, "normal", holm=True),
    )
