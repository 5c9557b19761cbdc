"""What changes when one side takes another's place (N2O).

The same text is searched with the same queries on both sides. What each query loses and
gains tells more than two benchmark scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from lib import n2o, stats
from lib.base.errors import InputError
from lib.swap.searching import Searched, nearest
from lib.swap.texts import SEED, SearchTask

FEWEST = 30  # independent queries of a verdict
OK, BELOW, UNDECIDED = 0, 3, 4  # exit statuses
WORST_FIRST = (BELOW, UNDECIDED, OK)
PARTS = (0.25, 0.5, 1.0)  # of the text
TIMES = 10  # as much text, which the trend speaks of


@dataclass(frozen=True, eq=False)
class Swap:
    """What changes when one embedder takes another's place.

    `sampling` is that of the intervals. `same` says that the two are one embedder.
    `k` is how many results users see; the sides may have more.
    """

    task: SearchTask
    old: Searched
    new: Searched
    sampling: stats.Sampling
    k: int
    same: bool = False

    @cached_property
    def overlaps(self) -> np.ndarray:
        """The share of neighbors that a query keeps, float64[q]."""
        return n2o.overlap(*self._lists)

    @property
    def _lists(self) -> tuple[np.ndarray, np.ndarray]:
        return self.old.ids[:, : self.k], self.new.ids[:, : self.k]

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """A row for each query: n2o, first_changed, first_lost.

        The first result has changed if it is another one, and is lost if it is not
        among the new k.
        """
        old, new = self._lists
        first = old[:, :1]
        columns = {
            "n2o": self.overlaps,
            "first_changed": first[:, 0] != new[:, 0],
            "first_lost": (first != new).all(axis=1),
        }
        return pd.DataFrame(columns)

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """N2O and both shares of queries, with intervals.

        Columns value, low, high, constant; rows n2o, first_changed, first_lost. Where
        all queries agree, an interval has a width, unless an embedder was compared with
        itself.
        """
        within = None if self.same else (0, 1)
        return self.means(self.per_query.astype(float), within)

    def means(
        self,
        columns: pd.DataFrame,
        within: tuple[float, float] | None = None,
        some: np.ndarray | slice = slice(None),
    ) -> pd.DataFrame:
        """The mean of each column over the queries, by their weights, with intervals.

        As `stats.means`; the rows of the columns are `some` of the queries.
        """
        clusters, weights = self.task.clusters, self.task.weights
        if clusters is not None:
            clusters = clusters[some]
        if weights is None:
            return stats.means(columns, self.sampling, clusters, within)
        found = stats.bootstrap(
            _weighted,
            columns,
            weights[some],
            sampling=self.sampling,
            clusters=clusters,
            within=within,
        )
        return found.table(columns.columns)

    @property
    def units(self) -> int:
        """How many queries are independent (`SearchTask.units`)."""
        return self.task.units

    @property
    def chance(self) -> float:
        """The N2O of two embedders that draw their neighbors at random."""
        return n2o.chance(self.k, self.task.candidates)

    def lines(self) -> list[str]:
        """Four lines for a terminal, and one for each note on either side."""
        shown = self.numbers.apply(interval, axis=1)
        queries = f"{len(self.task.queries):,} queries, k = {self.k}"
        lines = [
            f"N2O of {self.old.name} with {self.new.name}: {shown['n2o']}; "
            f"{queries}, chance {self.chance:.3f}",
            f"share of queries whose first result changed: {shown['first_changed']}",
            f"share of queries whose first result left the first {self.k}: "
            f"{shown['first_lost']}",
            f"cost: {self.old.name}: {self.old.cost}; {self.new.name}: {self.new.cost}",
        ]
        for side in (self.old, self.new):
            lines += [f"{side.name} {note}" for note in side.notes]
        return lines

    def changes(self) -> pd.DataFrame:
        """A row for each query: what it loses and gains, as lists of sentences.

        Columns query, overlap, first_changed, first_lost, lost, gained; the least
        overlap comes first. Sentences are ordered from the nearest.
        """
        table = self.per_query.rename(columns={"n2o": "overlap"})
        table.insert(0, "query", list(self.task.queries))
        old, new = self._lists
        table["lost"] = [self._texts(ids) for ids in _missing(old, new)]
        table["gained"] = [self._texts(ids) for ids in _missing(new, old)]
        return table.sort_values("overlap", kind="stable", ignore_index=True)

    def _texts(self, ids: np.ndarray) -> list[str]:
        return [self.task.sentences[int(i)] for i in ids]

    def exchanged(self) -> pd.DataFrame:
        """A row for each result that a query loses or gains, the worst queries first.

        Columns query_id, query, overlap, change, id, rank, score, sentence; rank and
        score are those on the side that has the result.
        """
        lists = {"lost": (self.old, self.new), "gained": (self.new, self.old)}
        rows = []
        for query in np.argsort(self.overlaps, kind="stable").tolist():
            said = [self.task.query_ids[query], self.task.queries[query]]
            said.append(self.overlaps[query])
            for change, (side, other) in lists.items():
                ids = side.ids[query, : self.k]
                gone = ~np.isin(ids, other.ids[query, : self.k])
                for rank in np.flatnonzero(gone).tolist():
                    found = int(ids[rank])
                    place = [self.task.ids[found], rank + 1, side.scores[query, rank]]
                    rows.append([*said, change, *place, self.task.sentences[found]])
        columns = "query_id query overlap change id rank score sentence"
        return pd.DataFrame(rows, columns=columns.split())

    def found_by(self) -> pd.DataFrame:
        """For how many queries each sentence is found: columns sentence, old, new.

        The greatest change comes first. Sentences that nobody finds are left out.
        """
        n = len(self.task.sentences)
        old, new = (np.bincount(ids.ravel(), minlength=n) for ids in self._lists)
        table = pd.DataFrame({"old": old, "new": new})
        table = table[(table > 0).any(axis=1)]
        change = (table["new"] - table["old"]).abs()
        table = table.loc[change.sort_values(ascending=False, kind="stable").index]
        table.insert(0, "sentence", self._texts(table.index.to_numpy()))
        return table.reset_index(drop=True)

    def growth(self) -> pd.DataFrame:
        """N2O at a quarter, a half and all of the text, and what the trend says.

        Columns sentences, value, low, high. The last row, ten times the text, goes on
        along the straight line over the logarithm of the text's size. Empty where a
        side has no vectors, or an approximate index, or a quarter is too small.
        """
        n = len(self.task.sentences)
        sides = (self.old, self.new)
        columns = ["sentences", "value", "low", "high"]
        usable = all(side.placed and not side.index for side in sides)
        if not usable or PARTS[0] * n < 2 * self.k + 2:
            return pd.DataFrame(columns=columns)
        order = np.random.default_rng(self.sampling.seed).permutation(n)
        overlaps = {}
        for part in PARTS[:-1]:
            rows = np.sort(order[: int(part * n)])
            lists = [self._part(side, rows) for side in sides]
            overlaps[len(rows)] = n2o.overlap(*lists)
        overlaps[n] = self.overlaps
        table = pd.DataFrame(overlaps)
        doublings = np.log2(np.array(table.columns) / n)
        slope, mean = np.polyfit(doublings, table.to_numpy().T, 1)
        table[TIMES * n] = mean + slope * math.log2(TIMES)
        found = self.means(table)[["value", "low", "high"]].clip(0, 1)
        found.insert(0, "sentences", table.columns)
        return found.reset_index(drop=True)

    def _part(self, side: Searched, rows: np.ndarray) -> np.ndarray:
        """What a side finds in some sentences of the text."""
        key = len(rows), self.k, self.sampling.seed
        if key not in side.parts:
            here = np.full(len(self.task.sentences) + 1, -1)
            here[rows] = np.arange(len(rows))
            placed: Any = side.placed
            part = replace(placed, text=placed.text[rows])
            side.parts[key] = nearest(part, self.k, here[self.task.rows])
        return side.parts[key]


def _weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return weights @ values / weights.sum()


def _missing(ids: np.ndarray, others: np.ndarray) -> list[np.ndarray]:
    """For each query what the first list has and the second lacks."""
    pairs = zip(ids, others, strict=True)
    return [row[~np.isin(row, other)] for row, other in pairs]


def interval(row: Any, sign: str = "") -> str:
    """An estimate with its bounds, for people."""
    given = (math.nan if row[name] is None else row[name] for name in BOUNDS)
    value, low, high = (format(number, f"{sign}.3f") for number in given)
    return f"{value} ({low} to {high})"


BOUNDS = ("value", "low", "high")


def between(
    task: SearchTask,
    old: Searched,
    new: Searched,
    sampling: stats.Sampling | None = None,
    k: int = 0,
) -> Swap:
    """What changes between two searches, among the first `k` results or all.

    Raises InputError unless both were of the same text, with the same queries and k.
    """
    for side in (old, new):
        if side.fingerprint != task.fingerprint:
            raise InputError(
                f"{side.name}: has searched another text, or with other queries; "
                "search the same text with the same queries"
            )
    if old.ids.shape != new.ids.shape:
        raise InputError(
            f"k: {old.name} has {old.ids.shape[1]} neighbors of a query and {new.name} "
            f"{new.ids.shape[1]}; give both the same k"
        )
    same = old.name == new.name and np.array_equal(old.ids, new.ids)
    if old.name == new.name:
        old = replace(old, name=f"{old.name} (old)")
        new = replace(new, name=f"{new.name} (new)")
    k = k or old.ids.shape[1]
    return Swap(task, old, new, sampling or stats.Sampling(SEED), k, same)


# -- verdicts --------------------------------------------------------------------------


def judged(
    what: str, least: float, units: int, value: float, low: float, high: float
) -> tuple[int, str]:
    """The exit status for a number with its interval, and a sentence that says why.

    `what` is the number's name. `units` are the independent queries. A bound may be
    NaN: then the interval does not tell.
    """
    shown = f"{what} is {value:.3f} ({low:.3f} to {high:.3f})"
    if units < FEWEST:
        return UNDECIDED, (
            f"UNDECIDED: {shown}, but a verdict needs {FEWEST} independent queries "
            f"and there are {units}; use more (those of one document count as one)"
        )
    if low >= least:
        return OK, f"OK: {shown}, at least {least:g}"
    if high < least:
        return BELOW, f"BELOW: {shown}, less than {least:g}"
    half = value - low if value > least else high - value
    needed = units * (half / (abs(value - least) or math.nan)) ** 2
    enough = ""
    if needed > 0:
        enough = f", about {float(f'{needed:.2g}'):,.0f} if it stays the same"
    return UNDECIDED, (
        f"UNDECIDED: {shown}, which leaves open whether it is at least {least:g}; "
        f"use more queries{enough}"
    )
