"""The labelled sets of the transfer study, as large as asked for, and how one embedder does on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lib import tasks, transfer
from lib.embedders.base import Embeddings
from lib.run.parameters import in_range, one_of
from lib.tasks import ClassificationTask, local
from lib.transfer import Result

PUBLISHED = ("MR", "SST2", "CR", "SUBJ", "MPQA", "TREC")  # the paper's six (its section 2)
SENTENCES = (*local.MAKERS, *PUBLISHED, "SST5")  # sets of single sentences that there are
CLASSES = {"Translations": 5, "Books": 5, "Questions": 2}
LEAST = 20  # sentences of a set


@dataclass(frozen=True, eq=False)
class TransferTask:
    """Sentences with classes; those of all splits, one after the other, where a set comes with splits.

    Attributes
    ----------
    name : str
    sentences : list of str, length n
    labels : int32[n]
    splits : how many sentences each split of `lib.transfer.OFFICIAL` has; None for what is cross-validated
    groups : int32[n], equal for sentences that say the same; None where that is not known
    """

    name: str
    sentences: list[str]
    labels: np.ndarray
    splits: tuple[int, ...] | None = None
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def tested(self) -> np.ndarray:
        """Which sentences are tested, int64: the last split's, or all."""
        return np.arange(len(self))[0 if self.splits is None else -self.splits[-1] :]

    def evaluate(self, vectors: Embeddings, folds: int, **options: Any) -> Result:
        """By the official splits if the set has any, else by cross-validation; `options` are `transfer.Options`."""
        if self.splits is None:
            return transfer.cross_validate(vectors, self.labels, folds=folds, groups=self.groups, **options)
        ends = np.cumsum(self.splits)
        cut = [slice(end - size, end) for end, size in zip(ends, self.splits, strict=True)]
        train, *dev, test = ((vectors[some], self.labels[some]) for some in cut)
        return transfer.train_test(train, test, *dev, **options)


def load(name: str, most: int = 0, seed: int = 0) -> TransferTask:
    """A set of single sentences with classes (`SENTENCES`), all of it or part.

    Parameters
    ----------
    most : sentences, at the most, that are drawn: of those made of the default corpus as many of each class, of
        others a sample with the set's shares of classes, of sets with splits from the training split only; 0 for all
    seed : of the drawing

    Raises
    ------
    InputError
        An unknown name, a number that is too small, a file that is missing, or more sentences than a corpus has.
    """
    one_of("task_names", name, SENTENCES)
    if most:
        in_range("sentences", most, LEAST, 10**7, "0 for all that there are")
    if name in local.MAKERS:
        size = (most // CLASSES[name],) if most else ()
        made = local.MAKERS[name](*size, seed=seed)
        return TransferTask(name, made.sentences, made.labels, groups=made.groups)
    official = transfer.OFFICIAL.get(name)
    train, *rest = (tasks.load(name, split) for split in official or ("all",))
    parts = [drawn(train, most, np.random.default_rng(seed)), *rest]
    sentences = [sentence for part in parts for sentence in part.sentences]
    labels = np.concatenate([part.labels for part in parts])
    return TransferTask(name, sentences, labels, tuple(map(len, parts)) if official else None)


def load_all(names: Sequence[str], most: int = 0, seed: int = 0) -> dict[str, TransferTask]:
    """Several sets by their names (`load`)."""
    return {name: load(name, most, seed) for name in names}


def drawn(task: ClassificationTask, most: int, rng: np.random.Generator) -> ClassificationTask:
    """At most so many sentences of a task, in their order, each class with its share; 0 for all."""
    if not 0 < most < len(task):
        return task
    shuffled = rng.permutation(len(task))
    by_class = shuffled[np.argsort(task.labels[shuffled], kind="stable")]
    kept = np.sort(by_class[np.linspace(0, len(task) - 1, most).round().astype(int)])
    return ClassificationTask([task.sentences[i] for i in kept], task.labels[kept])
