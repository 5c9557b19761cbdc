"""Dealing sentences out to folds: every class alike, what says the same together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lib import stats
from lib.run.errors import InputError
from lib.run.parameters import in_range


def deal(labels: np.ndarray, folds: int, rng: np.random.Generator, groups: np.ndarray | None = None) -> np.ndarray:
    """The fold of each sentence, int64[n], from 0 on.

    Groups are shuffled, ordered by the label of their first member, and dealt out in turn like cards, so that sizes of
    folds differ by one group at most, and so do a class's shares of them. (StratifiedGroupKFold of scikit-learn
    balances mixed groups better, in seconds where this takes none.)

    Parameters
    ----------
    labels : real or str[n]
    groups : int[n], equal for sentences that must be in one fold; a negative number stands for a group of its own

    Raises
    ------
    InputError
        Fewer than two classes, or a class with fewer members (in different groups) than there are folds.
    """
    in_range("folds", folds, 2, 10**6)
    alone = np.arange(len(labels))
    _, first, member = np.unique(
        alone if groups is None else stats.clusters(groups), return_index=True, return_inverse=True
    )
    check_classes(labels, folds, member)
    shuffled = rng.permutation(len(first))
    in_turn = shuffled[np.argsort(labels[first][shuffled], kind="stable")]
    fold = np.empty(len(first), np.int64)
    fold[in_turn] = np.arange(len(first)) % folds
    return fold[member]


def checked_labels(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array [n] that can be put in order; InputError for NaN, missing ones and such as cannot."""
    try:
        found = np.asarray(labels)
        if found.dtype.kind == "O" and found.ndim == 1:
            np.sort(found)
    except (TypeError, ValueError) as error:
        raise InputError("labels: are not of one kind; give numbers, or text, one for each sentence") from error
    if found.ndim != 1:
        raise InputError(f"labels: have shape {found.shape}; give one for each sentence")
    if (found != found).any():
        raise InputError(f"labels: number {int(np.argmax(found != found))} is NaN; give one for each sentence")
    return found


def check_classes(labels: np.ndarray, least: int, member: np.ndarray) -> None:
    """Raise InputError unless there are two classes or more, each with members in `least` groups, int[n]."""
    if not len(labels):
        raise InputError("labels: there are none; give one for each sentence")
    pairs = np.unique(np.stack([np.unique(labels, return_inverse=True)[1], member]), axis=1)
    classes, counts = np.unique(labels), np.bincount(pairs[0])
    if len(classes) < 2:
        raise InputError(f"labels: all sentences are of class {classes[0]}; give two classes or more")
    if counts.min() < least:
        few = int(np.argmin(counts))
        what = "members" if len(np.unique(member)) == len(member) else "groups"
        raise InputError(
            f"labels: class {classes[few]} has too few {what} ({counts[few]}) to train and test on; "
            f"give {least} or more of each class, or fewer folds"
        )


def smallest_class(labels: np.ndarray, groups: np.ndarray | None = None) -> int:
    """In how many groups the rarest class has members."""
    member = np.arange(len(labels)) if groups is None else stats.clusters(groups)
    return min(len(np.unique(member[labels == label])) for label in np.unique(labels))
