"""Lesson 10: an embedder in another's place, and what users would notice (N2O).

The same text is searched with the same queries under both embedders. What each query
loses and gains tells more than two benchmark scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib import n2o, stats
from lib.base.errors import InputError
from lib.corpora import Corpus
from lib.studies.searches import (
    QUERIES,
    SEED,
    Searched,
    SearchTask,
    load_embedder,
    make_queries,
    search,
)

__all__ = [
    "QUERIES",
    "Drift",
    "Swap",
    "between",
    "compare",
    "evaluator",
    "load_embedder",
    "make_queries",
    "search",
]


@dataclass(frozen=True, eq=False)
class Swap:
    """What changes when one embedder takes another's place.

    `sampling` is that of the intervals. `same` says that the two are one embedder.
    """

    task: SearchTask
    old: Searched
    new: Searched
    sampling: stats.Sampling
    same: bool = False

    @property
    def k(self) -> int:
        """How many neighbors each query has."""
        return self.old.ids.shape[1]

    @cached_property
    def overlaps(self) -> np.ndarray:
        """The share of neighbors that a query keeps, float64[q]."""
        return n2o.overlap(self.old.ids, self.new.ids)

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """A row for each query: n2o, first_changed, first_lost.

        The first result has changed if it is another one, and is lost if it is not
        among the new k.
        """
        first = self.old.ids[:, :1]
        columns = {
            "n2o": self.overlaps,
            "first_changed": first[:, 0] != self.new.ids[:, 0],
            "first_lost": (first != self.new.ids).all(axis=1),
        }
        return pd.DataFrame(columns)

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """N2O and both shares of queries, with intervals.

        Columns value, low, high, constant; rows n2o, first_changed, first_lost. Where
        all queries agree, an interval has a width, unless an embedder was compared with
        itself.
        """
        shares = self.per_query.astype(float)
        within = None if self.same else (0, 1)
        return stats.means(shares, self.sampling, self.task.clusters, within)

    @property
    def units(self) -> int:
        """How many queries are independent: those of one document count as one."""
        clusters = self.task.clusters
        return len(self.task.queries if clusters is None else np.unique(clusters))

    @property
    def chance(self) -> float:
        """The N2O of two embedders that draw their neighbors at random."""
        return n2o.chance(self.k, self.task.candidates)

    def lines(self) -> list[str]:
        """Four lines for a terminal, and one for each note on either side."""
        shown = {}
        for row in self.numbers.itertuples():
            shown[row.Index] = f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})"
        queries = f"{len(self.task.queries):,} queries, k = {self.k}"
        lines = [
            f"N2O of {self.old.name} with {self.new.name}: {shown['n2o']}; "
            f"{queries}, chance {self.chance:.3f}",
            f"share of queries whose first result changed: {shown['first_changed']}",
            f"share of queries whose first result left the first {self.k}: "
            f"{shown['first_lost']}",
            f"cost of a sentence: {self.old.name}: {self.old.cost}; "
            f"{self.new.name}: {self.new.cost}",
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
        table["lost"] = self._missing(self.old.ids, self.new.ids)
        table["gained"] = self._missing(self.new.ids, self.old.ids)
        return table.sort_values("overlap", kind="stable", ignore_index=True)

    def _missing(self, ids: np.ndarray, others: np.ndarray) -> list[list[str]]:
        """For each query the sentences of the first list that the second lacks."""
        found = []
        for row, other in zip(ids, others, strict=True):
            found.append(self._texts(row[~np.isin(row, other)]))
        return found

    def _texts(self, ids: np.ndarray) -> list[str]:
        return [self.task.sentences[int(i)] for i in ids]

    def found_by(self) -> pd.DataFrame:
        """For how many queries each sentence is found: columns sentence, old, new.

        The greatest change comes first. Sentences that nobody finds are left out.
        """
        n = len(self.task.sentences)
        counts = {
            "old": np.bincount(self.old.ids.ravel(), minlength=n),
            "new": np.bincount(self.new.ids.ravel(), minlength=n),
        }
        table = pd.DataFrame(counts)
        table = table[(table > 0).any(axis=1)]
        change = (table["new"] - table["old"]).abs()
        table = table.loc[change.sort_values(ascending=False, kind="stable").index]
        table.insert(0, "sentence", self._texts(table.index.to_numpy()))
        return table.reset_index(drop=True)


def between(
    task: SearchTask,
    old: Searched,
    new: Searched,
    sampling: stats.Sampling | None = None,
) -> Swap:
    """What changes between two searches.

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
    return Swap(task, old, new, sampling or stats.Sampling(SEED), same)


def compare(
    old: Any,
    new: Any,
    sentences: Corpus | Sequence[str],
    k: int = 10,
    queries: int | Sequence[str] = QUERIES,
    seed: int = SEED,
) -> Swap:
    """Whether a new embedder finds what the old one finds, on a text of one's own.

    `old` and `new` are as for `search`; each encodes the text once. `queries` is as for
    `make_queries`, and `k` is how many results users see. Raises InputError as both do.

    Examples
    --------
    >>> from lib import swap
    >>> sentences = [f"{word} number {i}" for word in ("cat", "dog") for i in range(9)]
    >>> found = swap.compare("wordllama", "wordllama@int8", sentences, k=3)
    >>> bool(found.numbers.loc["n2o", "value"] > 0.9)
    True
    """
    task = make_queries(sentences, queries, seed)
    before = search(old, task, k, "old")
    after = search(new, task, k, "new")
    return between(task, before, after, stats.Sampling(seed))


# -- fine-tuning -----------------------------------------------------------------------


class Drift:
    """How many of its original neighbors an embedder still finds during training.

    Made by `evaluator`; sentence-transformers' trainer calls it as an evaluator.
    """

    greater_is_better = True

    def __init__(
        self, old: Any, sentences: Any, k: int, queries: int | Sequence[str], name: str
    ) -> None:
        self.prefix = f"{name}_" if name else ""
        self.primary_metric = f"{self.prefix}n2o"
        self.k = k
        self.task = make_queries(sentences, queries)
        self.old = search(old, self.task, k, "old")

    def __call__(
        self,
        model: Any,
        output_path: str | None = None,
        epoch: int = -1,
        steps: int = -1,
    ) -> dict[str, float]:
        """N2O with the old embedder, and the shares of queries that lose results.

        With an `output_path`, a line is added to the CSV file there.
        """
        new = search(model, self.task, self.k, "new")
        values = between(self.task, self.old, new).per_query.mean()
        if output_path is not None:
            folder = Path(output_path)
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{self.prefix}n2o_evaluation_results.csv"
            line = pd.DataFrame([{"epoch": epoch, "steps": steps, **values}])
            line.to_csv(file, mode="a", index=False, header=not file.exists())
        return values.add_prefix(self.prefix).to_dict()


def evaluator(
    old: Any,
    sentences: Corpus | Sequence[str],
    k: int = 10,
    queries: int | Sequence[str] = QUERIES,
    name: str = "",
) -> Callable[..., dict[str, float]]:
    """A `Drift`, which is an evaluator of sentence-transformers if that is installed.

    `old` is the embedder before training, as for `search`. It is searched immediately,
    so it may be the model that is then trained. `name` precedes the metrics' names.
    """
    bases = (Drift,)
    try:
        from sentence_transformers.base.evaluation import SentenceEvaluator

        bases = (Drift, SentenceEvaluator)
    except ImportError:
        pass
    return type("N2OEvaluator", bases, {})(old, sentences, k, queries, name)
