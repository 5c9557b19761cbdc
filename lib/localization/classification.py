"""The paper's classification task: folds, the choice of C, and where principal components are estimated."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lib.embedders.base import Embeddings
from lib.localization.checks import check, zero_rows
from lib.localization.classifiers import CLASSIFIERS, Weights, weights_of_2015
from lib.localization.projection import projected, scaled
from lib.localization.results import Result, scored
from lib.run import arrays
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of
from lib.similarity import counted
from lib.transfer.folds import checked_labels, deal, smallest_class

GRID = (0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0)  # of the published table
PROTOCOLS = ("honest", "published")
PCA_ON = ("train", "all")
CLASS_WEIGHTS = (None, "balanced", "auto")


def classify(
    vectors: Embeddings,
    labels: Sequence[Any],
    *,
    folds: int = 3,
    seed: int = 0,
    C: float | Sequence[float] = 1.0,
    protocol: str = "honest",
    classifier: str = "svm",
    class_weight: Mapping[Any, float] | str | None = None,
    pca: int | None = None,
    pca_on: str = "train",
    common_scale: bool = False,
    swap_folds: bool = False,
    sentences: Sequence[str] | None = None,
    repetitions: int = 1000,
    confidence: float = 0.95,
) -> Result:
    """How well a linear classifier tells from its vector which group of equal meaning a sentence is from (section 3.3).

    Parameters
    ----------
    vectors : float[n, d], dense or CSR, as they are: one of zeros is allowed, and counted in the result
    labels : [n] of int or str, the group of each sentence
    folds : of cross-validation; every group is dealt out to them evenly, and needs as many members
    seed : of the folds, which depend on it and on the labels alone
    C : LIBLINEAR's penalty, larger is weaker; several to choose from, such as `GRID`
    protocol : where C is chosen: "honest", by folds inside each fold's training sentences; "published", as for the
        paper's Table 1, the one with the best accuracy on the test sentences, which flatters
    classifier : "svm" (LIBLINEAR, squared hinge, one group against the rest); "centroid" or "nearest", by cosine
    class_weight : of each group in the SVM; None for 1, "balanced" as in scikit-learn, "auto" as there in 2015
        (`weights_of_2015`), or a number for each label
    pca : principal components to classify by, fewer where the rows they are estimated from span fewer; None for none
    pca_on : what they are estimated on: "train", the training sentences; "all", the test sentences too, which cheats
    common_scale : move the vectors (after PCA) and shrink or stretch them so that the training sentences' have the mean
        0 and the mean distance 1 from it: one C is then as strict with short vectors as with long ones
    swap_folds : train on one fold and test on the others, as the author's code does for PCA BOW
    sentences : [n], to name what is wrong with one, and to see that none stands twice
    repetitions, confidence : of the interval (`lib.stats.bootstrap_mean`), which draws groups

    Raises
    ------
    InputError
        Rows, labels and sentences that do not match, NaN, one group only, a group with fewer members than folds, a
        sentence that stands twice, an unknown option.
    """
    vectors, labels = arrays.matrix("vectors", vectors), checked_labels(labels)
    vectors = arrays.canonical(vectors) if sp.issparse(vectors) else vectors
    in_range("folds", folds, 2, 10**6)
    check(vectors, labels, folds, sentences)
    groups, names = pd.factorize(labels)  # by first sight, so that what groups are called makes no difference
    run = _Run(_grid(C), protocol, classifier, _weights(class_weight, names), pca, pca_on, common_scale, seed)
    fold = deal(groups, folds, np.random.default_rng(seed))
    parts = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(folds)]
    if swap_folds:
        parts = [(asked, known) for known, asked in parts]
    # One thread: small factorizations gain nothing from more, and the sums stay the same.
    with counted() as unfinished, threadpool_limits(1):
        warnings.filterwarnings("ignore", "The number of unique classes is greater")  # groups are small here
        scores, chosen = run.over(vectors, groups, parts)
    facts = {"C": tuple(chosen), "zero_vectors": zero_rows(vectors), "convergence_warnings": unfinished.count}
    asked = [asked for _, asked in parts]
    return scored(scores, asked, groups, names, fold, seed, repetitions, confidence, **facts)


@dataclass(frozen=True)
class _Run:
    """What is learned and how C is chosen; the fields are options of `classify`, checked."""

    grid: tuple[float, ...]
    protocol: str
    classifier: str
    weights: Weights
    pca: int | None
    pca_on: str
    common_scale: bool
    seed: int

    def __post_init__(self) -> None:
        one_of("protocol", self.protocol, PROTOCOLS)
        one_of("classifier", self.classifier, CLASSIFIERS)
        one_of("pca_on", self.pca_on, PCA_ON)
        if self.pca is not None:
            in_range("pca", self.pca, 1, 10**9)

    def over(
        self, vectors: Embeddings, groups: np.ndarray, parts: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[list[np.ndarray], list[float]]:
        """The scores of the test sentences of each part, float64[asked, groups], and the C that they come with."""
        if self.protocol == "published" and len(self.grid) > 1:
            tried = [self._scores(vectors, groups, *part, self.grid) for part in parts]
            right = sum(
                _right(scores, groups[asked]).mean(axis=1) for scores, (_, asked) in zip(tried, parts, strict=True)
            )
            best = int(np.argmax(right))
            return [scores[best] for scores in tried], [self.grid[best]] * len(parts)
        chosen = [self._chosen(vectors, groups, known, number) for number, (known, _) in enumerate(parts)]
        scores = [self._scores(vectors, groups, *part, [C])[0] for part, C in zip(parts, chosen, strict=True)]
        return scores, chosen

    def _chosen(self, vectors: Embeddings, groups: np.ndarray, known: np.ndarray, number: int) -> float:
        """The C with the most sentences right in folds inside the training sentences; of equals the first."""
        if len(self.grid) == 1:
            return self.grid[0]
        folds = max(2, min(3, smallest_class(groups[known])))
        inner = deal(groups[known], folds, np.random.default_rng([self.seed, number]))
        right = np.zeros(len(self.grid))
        for held_out in range(folds):
            asked = known[inner == held_out]
            scores = self._scores(vectors, groups, known[inner != held_out], asked, self.grid)
            right += _right(scores, groups[asked]).sum(axis=1)
        return self.grid[int(np.argmax(right))]

    def _scores(
        self, vectors: Embeddings, groups: np.ndarray, known: np.ndarray, asked: np.ndarray, grid: Sequence[float]
    ) -> np.ndarray:
        """The scores of the rows `asked` by what is learned from the rows `known`, float64[C, asked, groups]."""
        everything = vectors if self.pca_on == "all" else None
        train, test = projected(vectors[known], vectors[asked], self.pca, everything)
        if self.common_scale:
            train, test = scaled(train, test)
        weights = weights_of_2015(groups[known]) if self.weights == "auto" else self.weights
        make = CLASSIFIERS[self.classifier]
        return np.stack([make(C, weights).fit(train, groups[known]).scores(test) for C in grid])


def _right(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return scores.argmax(axis=-1) == groups


def _grid(C: float | Sequence[float]) -> tuple[float, ...]:
    grid = tuple(map(float, np.atleast_1d(C)))
    if not grid or not min(grid) > 0 or not np.isfinite(grid).all():
        raise InputError(f"C: {C!r} is not accepted; give a number above 0, or several")
    return grid


def _weights(given: Mapping[Any, float] | str | None, names: np.ndarray) -> Weights:
    """The weights by the numbers of the groups."""
    if not isinstance(given, Mapping):
        if given not in CLASS_WEIGHTS:
            raise InputError(f"class_weight: {given!r} is not known; give None, balanced, auto, or a number a label")
        return given
    strange = [label for label in given if label not in names]
    if strange:
        raise InputError(f"class_weight: {strange[0]!r} is no label; give a number for each label")
    return {number: float(given.get(name, 1.0)) for number, name in enumerate(names)}
