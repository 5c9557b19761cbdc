"""SentEval's classifiers, trained and stopped as SentEval does it.

SentEval (Conneau and Kiela, 2018) trains a linear layer, or a perceptron with one
hidden layer, by Adam, and stops when the accuracy on held-out sentences has failed to
rise six times. Folds of the training sentences choose the penalty.

SentEval itself never normalizes. Where columns are z-normalized here, mean and standard
deviation are those of the sentences that a classifier is trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from audit.side_by_side import HELD_OUT, LONGEST, PASSES, SEED, Data, Models, trained
from lib import transfer
from lib.base import paths
from lib.base.cache import CacheEntry
from lib.tasks import ClassificationTask

VERSION = 1  # raised when results change, so that all is trained again
FILE = "labeled.npy"
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)  # weight decay

Splits = Sequence[ClassificationTask]


class Labeled(NamedTuple):
    """What became of the tested sentences, float64[n] each.

    Attributes
    ----------
    correct : ndarray
        1 where the label is right.
    dev : ndarray
        The accuracy, in percent, with which the penalty was chosen.
    passes : ndarray
        Over the training sentences, until the weights that are kept.
    """

    correct: np.ndarray
    dev: np.ndarray
    passes: np.ndarray


@dataclass(frozen=True)
class SentEval:
    """A classifier of SentEval's.

    Attributes
    ----------
    hidden : int
        Sigmoid units in a hidden layer; 0 for logistic regression.
    """

    hidden: int = 0

    def chosen(
        self,
        name: str,
        splits: Splits,
        vectors: np.ndarray,
        folds: int,
        normalize: Sequence[bool],
    ) -> Labeled:
        """`labeled`, with the kind of columns that did better in the inner folds.

        The first of equally good ones.
        """
        found = [self.stored(name, splits, vectors, folds, each) for each in normalize]
        best = np.argmax([each.dev for each in found], axis=0)
        return Labeled(*(np.choose(best, parts) for parts in zip(*found, strict=True)))

    def stored(
        self,
        name: str,
        splits: Splits,
        vectors: np.ndarray,
        folds: int,
        normalize: bool,
    ) -> Labeled:
        """`labeled`, kept in the cache under the name of an embedder and a set."""
        settings = [self.hidden, folds, normalize]

        def make() -> np.ndarray:
            return np.stack(self.labeled(splits, vectors, folds, normalize))

        return Labeled(*kept(name, settings, splits, vectors, make))

    def labeled(
        self, splits: Splits, vectors: np.ndarray, folds: int, normalize: bool
    ) -> Labeled:
        """Choose, train and test as SentEval does for a set with such splits.

        Parameters
        ----------
        splits : sequence of ClassificationTask
            One, of which each fold is tested (MR); train and test (TREC), where folds
            choose the penalty; or train, dev and test (SST). Groups stay in one fold.
        vectors : float[n, d]
            Of the sentences of all splits, in order.
        folds : int
        normalize : bool
            Whether columns are z-normalized.
        """
        train, *others = _rows(splits)
        labels = np.concatenate([split.labels for split in splits])
        groups = splits[0].groups
        data = Data(vectors, labels, self.hidden, normalize)
        outer = [(train, others[-1])] if others else dealt(train, labels, folds, groups)
        if len(others) == 2:
            inner = [(train, others[0])]
        else:
            inner = [
                fold
                for known, _ in outer
                for fold in dealt(known, labels, folds, groups)
            ]
        validated = trained(data, inner, np.tile(PENALTIES, (len(inner), 1)))
        accuracy = np.array([models.accuracy for models in validated])
        by_fold = accuracy.reshape(len(outer), -1, len(PENALTIES)).mean(axis=1)
        dev = np.round(100 * by_fold, 2)
        chosen = dev.argmax(axis=1)
        if len(others) == 2:  # trained once more, it would be the same
            finals = [
                model.of(best) for model, best in zip(validated, chosen, strict=True)
            ]
        else:
            last = [(known, None) for known, _ in outer]
            finals = trained(data, last, np.array(PENALTIES)[chosen, None])
        found = np.full((3, len(labels)), np.nan)
        for (_, tested), best, model in zip(
            outer, dev.max(axis=1), finals, strict=True
        ):
            found[0, tested] = model.correct(data, tested)
            found[1, tested] = best
            found[2, tested] = model.passes
        return Labeled(*found[:, -len(splits[-1].labels) :])


class Course(NamedTuple):
    """How a classifier of the first fold learns.

    Attributes
    ----------
    accuracy : float[checks]
        On the tested sentences, after each `PASSES` passes.
    stopped : float
        The passes until the weights that SentEval keeps.
    optimum : float
        The accuracy of the weights to which training converges (L-BFGS).
    """

    accuracy: np.ndarray
    stopped: float
    optimum: float


def course(
    name: str, splits: Splits, vectors: np.ndarray, folds: int, normalize: bool
) -> Course:
    """The course of logistic regression with the weakest penalty, kept in the cache."""

    def make() -> np.ndarray:
        return np.array(_course(splits, vectors, folds, normalize))

    settings = ["course", folds, normalize]
    *accuracy, stopped, optimum = kept(name, settings, splits, vectors, make)
    return Course(np.array(accuracy), stopped, optimum)


def _course(
    splits: Splits, vectors: np.ndarray, folds: int, normalize: bool
) -> list[float]:
    from sklearn.linear_model import LogisticRegression

    train, *others = _rows(splits)
    labels = np.concatenate([split.labels for split in splits])
    known, tested = train, others[-1] if others else train
    if not others:
        known, tested = dealt(train, labels, folds, splits[0].groups)[0]
    data = Data(vectors, labels, 0, normalize)
    penalty = np.array([PENALTIES[:1]])
    (stopped,) = trained(data, [(known, None)], penalty)
    rng = np.random.RandomState(SEED)
    known = known[rng.permutation(len(known))[int(HELD_OUT * len(known)) :]]
    models = Models(data, known[None], penalty, rng)
    found = []
    for _ in range(0, LONGEST + 1, PASSES):
        models.read()
        found.append(models.correct(tested[None]).mean())
    sides = [models.inputs(rows[None])[0].cpu() for rows in (known, tested)]
    regression = LogisticRegression(C=1 / (PENALTIES[0] * len(known)), max_iter=10_000)
    regression.fit(sides[0], labels[known])
    optimum = regression.score(sides[1], labels[tested])
    return [*found, stopped.passes.item(), optimum]


def kept(
    name: str,
    settings: list,
    splits: Splits,
    vectors: np.ndarray,
    make: Callable[[], np.ndarray],
) -> np.ndarray:
    """What `make` returns, kept in the cache under the name of embedder and set.

    The settings are those of a classifier, as JSON takes them.
    """
    given = [vectors, *(split.labels for split in splits), *_rows(splits)]
    if splits[0].groups is not None:
        given.append(splits[0].groups)
    key = {
        "version": VERSION,
        "torch": version("torch"),
        "settings": settings,
        "given": [_digest(array) for array in given],
    }
    entry = CacheEntry(paths.CACHE / "senteval", name, key)

    def save() -> dict[str, Any]:
        entry.save(FILE, make())
        return {}

    entry.made(save, f"training classifiers for {name}")
    return np.array(entry.array(FILE))


def _digest(array: np.ndarray) -> str:
    return blake2b(np.ascontiguousarray(array), digest_size=8).hexdigest()


def _rows(splits: Splits) -> list[np.ndarray]:
    """The rows of each split in SentEval's order: by number of tokens, then label."""
    rows = []
    start = 0
    for split in splits:
        lengths = [len(sentence.split()) for sentence in split.sentences]
        rows.append(start + np.lexsort([split.labels, lengths]))
        start += len(lengths)
    return rows


def dealt(
    rows: np.ndarray, labels: np.ndarray, folds: int, groups: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """SentEval's folds of some rows, the training rows and the others of each.

    It knows no groups; where there are any, folds keep them together.
    """
    from sklearn.model_selection import StratifiedKFold

    if groups is None:
        dealer = StratifiedKFold(folds, shuffle=True, random_state=SEED)
        sides = dealer.split(rows, labels[rows])
        return [(rows[train], rows[test]) for train, test in sides]
    rng = np.random.default_rng(SEED)
    fold = transfer.deal(labels[rows], folds, rng, groups[rows])
    return [(rows[fold != number], rows[fold == number]) for number in range(folds)]
