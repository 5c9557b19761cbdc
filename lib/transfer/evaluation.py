"""Accuracy of a classifier on frozen embeddings, by cross-validation or on official splits.

Nothing of a fold's test sentences is seen before they are labelled: normalization, penalty and size are chosen, and
means and deviations estimated, inside the training sentences. What an embedder was fitted on is another matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.run import arrays, progress
from lib.run.errors import InputError
from lib.similarity.features import Vectors
from lib.transfer.folds import check_classes, checked_labels, deal
from lib.transfer.results import Result
from lib.transfer.selection import Labelled, Options, Run, rows_of, take


def cross_validate(
    vectors: Vectors,
    labels: np.ndarray,
    *,
    folds: int = 10,
    groups: np.ndarray | None = None,
    show_progress_bar: bool = False,
    **options: Any,
) -> Result:
    """Nested cross-validation: each fold is labelled by a classifier that was chosen and trained on the others.

    Parameters
    ----------
    vectors : float[n, d], dense or CSR; a tuple of two for pairs, of which the classifier sees ``[|u - v|, u * v]``
    labels : int or str[n]
    groups : int[n], sentences that must stay in one fold, in the inner folds too; a negative number stands alone
    options : `Options`

    Raises
    ------
    InputError
        Rows and labels that do not match, NaN, a class with fewer members (groups) than folds, vectors all alike.
    """
    run = Run(Options(**options))
    data = _checked("vectors", vectors, labels, groups)
    fold = deal(data.labels, folds, np.random.default_rng(run.seed), groups)
    predicted = np.empty_like(data.labels)
    for number in progress.track(range(folds), f"{run.classifier.name}, folds", unit="folds", show=show_progress_bar):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        train = rows_of(data, inside)
        inner = None if groups is None else np.asarray(groups)[inside]
        predicted[outside] = run.predict(
            train, run.validation(train, inner, number), take(data.vectors, outside), number
        )
    return run.result(data.labels, predicted, fold, groups)


def train_test(
    train: tuple[Vectors, np.ndarray],
    test: tuple[Vectors, np.ndarray],
    dev: tuple[Vectors, np.ndarray] | None = None,
    **options: Any,
) -> Result:
    """Official splits: chosen on dev, or without one by folds inside the training data; trained on train; one test.

    Parameters
    ----------
    train, test, dev : embeddings (a tuple of two for pairs) and labels of each split
    options : `Options`

    Raises
    ------
    InputError
        Rows and labels that do not match, a class with one member, a label that the training split does not have.
    """
    run = Run(Options(**options))
    known = _checked("train", *train)
    others = [_checked(name, *split) for name, split in (("test", test), ("dev", dev)) if split is not None]
    if len({_dim(split.vectors) for split in (known, *others)}) > 1:
        raise InputError("train and test: their embeddings differ in dimensions; give those of one embedder")
    check_classes(known.labels, 2, np.arange(len(known.labels)))
    for name, split in zip(("test", "dev"), others, strict=False):
        strange = np.setdiff1d(split.labels, known.labels)
        if len(strange):
            raise InputError(f"{name}: has the label {strange[0]}, which train does not have; give splits of one task")
    validation = [(known, others[1])] if dev is not None else run.validation(known, None, 0)
    predicted = run.predict(known, validation, others[0].vectors, 0)
    return run.result(others[0].labels, predicted, np.zeros(len(predicted), np.int64), None)


def _dim(vectors: Vectors) -> tuple[int, ...]:
    """The dimensions of the sides."""
    return tuple(side.shape[1] for side in (vectors if isinstance(vectors, tuple) else (vectors,)))


def _checked(name: str, vectors: Vectors, labels: np.ndarray, groups: np.ndarray | None = None) -> Labelled:
    labels = checked_labels(labels)
    sides = [arrays.matrix(name, side) for side in (vectors if isinstance(vectors, tuple) else (vectors,))]
    shapes = {side.shape for side in sides}
    if len(shapes) > 1 or any(side.shape[0] != len(labels) for side in sides):
        raise InputError(
            f"{name}: vectors of shape {' and '.join(str(side.shape) for side in sides)} for {len(labels)} labels; "
            "give a row for each label, and two sides of one shape for pairs"
        )
    if groups is not None and len(groups) != len(labels):
        raise InputError(f"groups: {len(groups)} for {len(labels)} labels; give one for each")
    for side in sides:
        values = side.data if sp.issparse(side) else side
        if not np.isfinite(values).all():
            raise InputError(f"{name}: the vectors hold NaN or infinity; give finite numbers")
    return Labelled(tuple(sides) if isinstance(vectors, tuple) else sides[0], labels)
