"""Drawing three balanced splits from labelled sentences, so that none has seen what another asks.

A *row* is one sentence of each class, all of one stratum. A split is so many rows, so that its classes are equally
large, and no stratum (a sentence's length, say) says anything about the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

TRAIN, DEV, TEST = range(3)
SHARE = 0.1  # of a class in a split, which one target word may have at most
ANY = -1


@dataclass(frozen=True, eq=False)
class Candidates:
    """Labelled sentences to draw from.

    Attributes
    ----------
    sentences : list of str, length n
    labels : int64[n], codes of the classes
    classes : tuple of str
    clusters : int64[n], from 0 on; a cluster stands in one split only, and in dev and test once only
    strata : int64[n], classes are equally frequent within each; None for one stratum
    targets : length n, the word that decides the label; it stands in one split only. None if there is none
    """

    sentences: Sequence[str]
    labels: np.ndarray
    classes: tuple[str, ...]
    clusters: np.ndarray
    strata: np.ndarray | None = None
    targets: Sequence[str] | None = None


class Sizes(NamedTuple):
    """How many sentences, or how many rows, each split has."""

    train: int
    dev: int
    test: int

    def rows(self, classes: int) -> Sizes:
        """Rows for so many sentences, rounded up; of training two at least, for a class of one cannot be learned."""
        train, dev, test = (-(-size // classes) for size in self)
        return Sizes(max(2, train), dev, test)


Splits = tuple[np.ndarray, np.ndarray, np.ndarray]
Options = Callable[[Sizes], Iterable[Candidates]]  # what splits of these sizes may be drawn from, the best first


def only(candidates: Candidates) -> Options:
    """The same for all sizes."""
    return lambda sizes: (candidates,)


def draw(candidates: Candidates, rows: Sizes, rng: np.random.Generator) -> Splits | None:
    """The candidates of train, dev and test, in random order; None if there are not enough.

    A cluster gives one sentence to dev or to test, whose sentences are independent then, or several to train.
    """
    taken = np.zeros(len(candidates.labels), bool)
    split_of = _deal_targets(candidates, rows, rng)
    shuffled = rng.permutation(len(taken))
    drawn = {}
    for split in (TEST, DEV, TRAIN):
        allowed = ~taken[shuffled] & np.isin(split_of[shuffled], (split, ANY))
        pool = _capped(candidates, shuffled[allowed], rows[split]) if candidates.targets else shuffled[allowed]
        units = np.arange(len(taken)) if split == TRAIN else candidates.clusters
        table = _rows(candidates, pool, units, rows[split], rng)
        if len(table) < rows[split]:
            return None
        drawn[split] = rng.permutation(table.ravel())
        taken |= np.isin(candidates.clusters, candidates.clusters[drawn[split]])
    return drawn[TRAIN], drawn[DEV], drawn[TEST]


# -- rows ---------------------------------------------------------------------------------------


def _rows(
    candidates: Candidates, pool: np.ndarray, units: np.ndarray, wanted: int, rng: np.random.Generator
) -> np.ndarray:
    """int64[m, classes], m <= wanted: candidates of the pool, none of whose units is there twice."""
    classes = len(candidates.classes)
    strata = np.zeros(len(pool), np.int64) if candidates.strata is None else candidates.strata[pool]
    pools = [pool[strata == stratum] for stratum in np.unique(strata)]
    used = np.zeros(int(units.max(initial=-1)) + 1, bool)
    found = np.empty((0, classes), np.int64)
    while len(found) < wanted:
        free = [each[~used[units[each]]] for each in pools]
        room = np.array([_room(candidates.labels[each], units[each], classes) for each in free], np.int64)
        if not room.sum():
            break
        # A stratum's share is what it has room for, which keeps the mixture of the text where it can be kept.
        quota = rng.multivariate_hypergeometric(room, min(wanted - len(found), room.sum()), method="marginals")
        tables = [
            _matched(each, candidates.labels, units, classes, int(count), used)
            for each, count in zip(free, quota, strict=True)
            if count
        ]
        if not sum(map(len, tables)):
            break
        found = np.concatenate([found, *tables])
    return found


def _room(labels: np.ndarray, units: np.ndarray, classes: int) -> int:
    """In how many units the rarest class has a candidate."""
    pairs = np.unique(labels * (units.max(initial=0) + 1) + units, return_index=True)[1]
    return int(np.bincount(labels[pairs], minlength=classes).min())


def _matched(
    pool: np.ndarray, labels: np.ndarray, units: np.ndarray, classes: int, most: int, used: np.ndarray
) -> np.ndarray:
    """int64[m, classes], m <= most: the first of the pool; rare classes choose before frequent ones. Marks `used`."""
    columns = {}
    for label in np.argsort(np.bincount(labels[pool], minlength=classes), kind="stable").tolist():
        free = pool[(labels[pool] == label) & ~used[units[pool]]]
        once = np.sort(np.unique(units[free], return_index=True)[1])
        columns[label] = free[once[:most]]
        used[units[columns[label]]] = True
        most = len(columns[label])
    for column in columns.values():
        used[units[column[most:]]] = False
    return np.stack([columns[label][:most] for label in range(classes)], axis=1)


# -- target words -------------------------------------------------------------------------------


def _deal_targets(candidates: Candidates, rows: Sizes, rng: np.random.Generator) -> np.ndarray:
    """The split, int64[n], to which a candidate's target word belongs; ANY where there are none.

    The words come in random order, and each goes where its class has least of what it needs.
    """
    if not candidates.targets:
        return np.full(len(candidates.labels), ANY)
    _, target = np.unique(np.asarray(candidates.targets, dtype=object), return_inverse=True)
    supply = np.zeros((target.max(initial=-1) + 1, len(candidates.classes)), np.int64)
    different = np.unique(np.stack([target, candidates.labels, candidates.clusters]), axis=1)
    np.add.at(supply, tuple(different[:2]), 1)
    needed, most = np.array(rows), np.array([_most(count) for count in rows])
    had = np.zeros((len(rows), supply.shape[1]))
    split = np.empty(len(supply), np.int64)
    for word in rng.permutation(len(supply)).tolist():
        least = had[:, supply[word].argmax()] / needed
        split[word] = least.argmin()
        had[split[word]] += np.minimum(supply[word], most[split[word]])
    return split[target]


def _most(rows: int) -> int:
    """How many sentences of a class in a split of so many rows may have one target word."""
    return max(1, int(SHARE * rows))


def _capped(candidates: Candidates, pool: np.ndarray, rows: int) -> np.ndarray:
    """The first of the pool with each target word and class, no more than `_most`, each of another cluster."""
    frame = pd.DataFrame(
        {
            "target": [candidates.targets[i] for i in pool.tolist()],
            "label": candidates.labels[pool],
            "cluster": candidates.clusters[pool],
        }
    ).drop_duplicates()
    return pool[frame.index[frame.groupby(["target", "label"]).cumcount() < _most(rows)]]
