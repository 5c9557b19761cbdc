"""Choosing a classifier's settings inside training data, and labelling what was held out from it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from lib.run.errors import InputError
from lib.similarity.convergence import counted
from lib.similarity.features import Features, Vectors
from lib.transfer.classifiers import Classifier, chosen
from lib.transfer.folds import deal, smallest_class
from lib.transfer.results import Choice, Result, scores

VALIDATION_FOLDS = 10  # of which one is held out where `inner_folds` is 1


class Labelled(NamedTuple):
    """Embeddings, float[n, d] or CSR or a tuple of two such for pairs, and labels; any such pair will do."""

    vectors: Vectors
    labels: np.ndarray


class Options(NamedTuple):
    """What both kinds of evaluation take.

    Attributes
    ----------
    classifier : "logistic", "svm", "mlp", or a Classifier with settings of your own
    normalize : which to choose from: embeddings as they are (False), z-normalized (True)
    inner_folds : settings are chosen by so many folds inside the training data, but no more than the rarest class has
        members; 1: by one tenth of it, held out (a fifth of the time of 5, and noisier choices)
    seed : of folds, of validation sets, of a perceptron's weights, of the bootstrap
    repetitions, confidence : as for `lib.stats.bootstrap_mean`
    """

    classifier: str | Classifier = "logistic"
    normalize: Sequence[bool] = (False, True)
    inner_folds: int = 5
    seed: int = 0
    repetitions: int = 1000
    confidence: float = 0.95


class Run:
    """One evaluation: what it was asked for, what it has chosen, and how its fits went."""

    def __init__(self, options: Options) -> None:
        self.options, self.seed, self.classifier = options, options.seed, chosen(options.classifier)
        if not len(options.normalize):
            raise InputError("normalize: is empty; give (False, True), (False,) or (True,)")
        self.choices: list[Choice] = []
        self.warnings = 0
        self.started = time.perf_counter()

    def validation(
        self, train: Labelled, groups: np.ndarray | None, number: int
    ) -> Iterator[tuple[Labelled, Labelled]]:
        """What to train on and what to validate by, one after the other, inside the training data."""
        rng = np.random.default_rng([self.seed, number])
        held_out = self.options.inner_folds == 1
        wanted = VALIDATION_FOLDS if held_out else self.options.inner_folds
        least = smallest_class(train.labels, groups)
        fold = deal(train.labels, max(2, min(wanted, least)), rng, groups)
        for inner in range(1 if held_out else fold.max() + 1):
            yield rows_of(train, np.flatnonzero(fold != inner)), rows_of(train, np.flatnonzero(fold == inner))

    def predict(
        self, train: Labelled, validation: Iterable[tuple[Labelled, Labelled]], vectors: Vectors, number: int
    ) -> np.ndarray:
        """Choose by `validation`, train on all of `train`, and label `vectors`."""
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        # One thread: products of a matrix and a vector wait for memory, not for cores, and the sums stay the same.
        with counted() as warnings, threadpool_limits(1):
            choice = self._choose(validation, seed)
            features = Features(choice.normalized).fit(train.vectors)
            model = self.classifier.fit(features.transform(train.vectors), train.labels, choice.setting, seed)
            predicted = model.predict(features.transform(vectors))
        self.choices.append(choice)
        self.warnings += warnings.count
        return predicted

    def _choose(self, validation: Iterable[tuple[Labelled, Labelled]], seed: int) -> Choice:
        """The choice with the most validation sentences labelled right; the first of equally good ones."""
        right: Counter[Choice] = Counter()
        candidates = [Choice(z, setting) for z in self.options.normalize for setting in self.classifier.settings]
        if len(candidates) == 1:
            return candidates[0]
        for train, held_out in validation:
            for normalized in self.options.normalize:
                features = Features(normalized).fit(train.vectors)
                known, asked = features.transform(train.vectors), features.transform(held_out.vectors)
                for setting, model in self.classifier.path(known, train.labels, seed):
                    right[Choice(normalized, setting)] += int((model.predict(asked) == held_out.labels).sum())
        return max(candidates, key=right.__getitem__)

    def result(self, gold: np.ndarray, predicted: np.ndarray, fold: np.ndarray, groups: np.ndarray | None) -> Result:
        """What has come out: gold and predicted labels [n], the fold int[n] and the group int[n] of each sentence."""
        options = self.options
        found = scores(gold, predicted, fold, groups, self.seed, options.repetitions, options.confidence)
        return Result(
            classifier=self.classifier.name,
            **found._asdict(),
            folds=int(fold.max()) + 1,
            choices=tuple(self.choices),
            convergence_warnings=self.warnings,
            seed=self.seed,
            predicted=predicted,
            correct=gold == predicted,
            seconds=time.perf_counter() - self.started,
        )


def take(vectors: Vectors, rows: np.ndarray) -> Vectors:
    """Some rows of embeddings, of both sides for pairs."""
    return tuple(side[rows] for side in vectors) if isinstance(vectors, tuple) else vectors[rows]


def rows_of(data: Labelled, rows: np.ndarray) -> Labelled:
    """Some rows of labelled embeddings."""
    return Labelled(take(data.vectors, rows), data.labels[rows])
