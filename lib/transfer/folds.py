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
    labels : float[n] or str[n]
    groups : int[n], optional
        Equal for sentences that must be in one fold; a negative number stands for a group of its own.

    Raises
    ------
    InputError
        Fewer than two classes, or a class with fewer members (in different groups) than there are folds.
    """
    in_range("folds", folds, 2, 10**6)
    _, first, member = np.unique(_members(labels, groups), return_index=True, return_inverse=True)
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
    if found.ndim != 1 or (found != found).any():
        raise InputError("labels: hold NaN, or more than one for a sentence; give one for each sentence")
    return found


def check_classes(labels: np.ndarray, least: int, member: np.ndarray) -> None:
    """Raise InputError unless there are two classes or more, each with members in `least` groups, int[n]."""
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InputError(f"labels: are of {len(classes)} classes; give two classes or more")
    few = min(classes, key=lambda label: len(np.unique(member[labels == label])))
    count = len(np.unique(member[labels == few]))
    if count < least:
        what = "members" if len(np.unique(member)) == len(member) else "groups"
        raise InputError(
            f"labels: class {few} has too few {what} ({count}) to train and test on; "
            f"give {least} or more of each class, or fewer folds"
        )


def smallest_class(labels: np.ndarray, groups: np.ndarray | None = None) -> int:
    """In how many groups the rarest class has members."""
    member = _members(labels, groups)
    return min(len(np.unique(member[labels == label])) for label in np.unique(labels))


def _members(labels: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    if groups is None:
        return np.arange(len(labels))
    if len(groups) != len(labels):
        raise InputError(f"groups: {len(groups)} for {len(labels)} labels; give one for each")
    return stats.clusters(groups)
