"""Evaluation on the labelled sets of `lib.tasks`: who encodes what, and which splits a set comes with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lib import tasks
from lib.embedders.base import Embeddings
from lib.run.errors import InputError
from lib.tasks import ClassificationTask, PairTask
from lib.transfer.evaluation import cross_validate, train_test
from lib.transfer.results import Result
from lib.transfer.selection import Labelled

# Sets that come with splits; all others are cross-validated.
OFFICIAL = {
    "TREC": ("train", "test"),
    "MRPC": ("train", "test"),
    "SST2": ("train", "dev", "test"),
    "SST5": ("train", "dev", "test"),
    "SICK-E": ("train", "dev", "test"),
}


def on_task(
    task: str | ClassificationTask | PairTask,
    encode: Callable[[Sequence[str]], Embeddings],
    *,
    folds: int = 10,
    **options: Any,
) -> Result:
    """Evaluate on a labelled set: by its official splits (`OFFICIAL`) if it has any, else by cross-validation.

    Parameters
    ----------
    task : a name of `lib.tasks`; or a task, which is cross-validated
    encode : a function from sentences to embeddings, such as ``partial(store.embed, embedder)``. It is called once,
        with the sentences of all splits; an embedder that it fits on them is transductive.
    folds : of cross-validation, which keeps the groups of a task together if it has any
    options : `lib.transfer.selection.Options`
    """
    splits = OFFICIAL.get(task) if isinstance(task, str) else None
    parts = [tasks.load(task, split) for split in splits or ("all",)] if isinstance(task, str) else [task]
    encoded = _encoded(parts, encode)
    if splits:
        by_split = dict(zip(splits, encoded, strict=True))
        return train_test(by_split["train"], by_split["test"], by_split.get("dev"), **options)
    return cross_validate(*encoded[0], folds=folds, groups=getattr(parts[0], "groups", None), **options)


def _encoded(parts: Sequence[ClassificationTask | PairTask], encode: Callable) -> list[Labelled]:
    """The embeddings of each part, or of the two sides of its pairs, out of one call of `encode`."""
    sides = [(part.left, part.right) if isinstance(part, PairTask) else (part.sentences,) for part in parts]
    labels = [part.label if isinstance(part, PairTask) else part.labels for part in parts]
    if any(each is None for each in labels):
        raise InputError("task: its pairs have scores and no labels; lib.similarity is for those")
    vectors = encode([sentence for part in sides for side in part for sentence in side])
    pieces = _cut(vectors, [len(side) for part in sides for side in part])
    both = [tuple(next(pieces) for _ in part) for part in sides]
    return [Labelled(own if len(own) == 2 else own[0], each) for own, each in zip(both, labels, strict=True)]


def _cut(vectors: Embeddings, lengths: Sequence[int]) -> Iterator[Embeddings]:
    start = 0
    for length in lengths:
        yield vectors[start : start + length]
        start += length
