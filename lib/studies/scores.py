"""Sets of items that embedders are scored on, and by how much their scores differ (studies 5 and 6).

All embedders meet the same items, and a bootstrap draws items once for all of them: differences are paired ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import corpora, similarity, stats, tasks, transfer
from lib.corpora import text
from lib.embedders.base import Embedder, Embeddings
from lib.neighbors.contract import unit
from lib.retrieval import ranks
from lib.run.errors import InputError
from lib.run.parameters import in_range

HAYSTACK = "bible-gospels:web"


class Fitted(NamedTuple):
    """An embedder that no set is to fit anew: a function from sentences to embeddings."""

    encode: Callable[[Sequence[str]], Embeddings]

    def fit(self, sentences: Sequence[str]) -> Fitted:
        """The embedder as it is."""
        return self

    def fit_encode(self, sentences: Sequence[str]) -> Embeddings:
        """The embeddings of some sentences."""
        return self.encode(sentences)


class ScoredSet(NamedTuple):
    """What embedders are scored on.

    Attributes
    ----------
    name : str
    group : str
        Scores are means over the sets of a group, such as the files of a year of STS.
    answers : callable
        From an embedder to float64[items]: cosines, reciprocal ranks, whether a label is right; or [items, items] for
        all pairs of some documents. Embedders are fitted on the set's own sentences, unless they are `Fitted`.
    clusters : int64[items]
        Equal for items that are not independent.
    gold : float64[items] or [items, items], optional
        With it the score is Pearson's correlation (NaN: no pair), without it the mean answer.
    key : str
        What a cache knows the items by.
    """

    name: str
    group: str
    answers: Callable[[Embedder | Fitted], np.ndarray]
    clusters: np.ndarray
    gold: np.ndarray | None = None
    key: str = ""

    def score(self, answers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The scores of some items, float64[...], for answers whose first axes are items, the others embedders."""
        if self.gold is None:
            return answers[rows].mean(axis=0)
        if self.gold.ndim == 1:
            return pearsons(answers[rows], self.gold[rows])
        block = np.ix_(rows, rows)
        known = ~np.isnan(self.gold[block])
        return pearsons(answers[block][known], self.gold[block][known])


def pearsons(columns: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Pearson's correlation of each column, float[n, ...], with the gold scores: float[...]; NaN for a constant one."""
    columns, gold = columns - columns.mean(axis=0), gold - gold.mean()
    lengths = np.sqrt((columns**2).sum(axis=0) * (gold**2).sum())
    return np.tensordot(gold, columns, 1) / np.where(lengths > 0, lengths, np.nan)


def rated(name: str, group: str = "", split: str = "test") -> list[ScoredSet]:
    """Pairs with people's ratings, a year of STS as a set for each file; InputError for a set without ratings.

    The group is the set's name if none is given.
    """
    task, group = tasks.load(name, split), group or name
    if getattr(task, "score", None) is None:
        known = "Lee, WS353, STS12 ... STS15, STSBenchmark or SICK-R"
        raise InputError(f"task_names: {name!r} has no rated pairs; give {known}")
    if task.ids is not None:
        return [_documents(name, group, task)]
    files = pd.Series(task.genre if name.startswith("STS1") else [name] * len(task))
    return [_pairs(file, group, task, np.flatnonzero(files == file)) for file in files.unique()]


def _pairs(name: str, group: str, task: tasks.PairTask, rows: np.ndarray) -> ScoredSet:
    left, right = ([side[i] for i in rows] for side in (task.left, task.right))

    def answers(embedder: Embedder) -> np.ndarray:
        vectors = embedder.fit_encode(left + right)
        return similarity.similarities(vectors[: len(rows)], vectors[len(rows) :])

    return ScoredSet(name, group, answers, np.arange(len(rows)), task.score[rows], text.fingerprint(left))


def _documents(name: str, group: str, task: tasks.PairTask) -> ScoredSet:
    """All pairs of some documents: documents are drawn, and with them their pairs."""
    left, right = np.transpose(task.ids)
    texts = dict(zip([*left, *right], task.left + task.right, strict=True))
    documents = [texts[i] for i in range(len(texts))]
    gold = np.full((len(documents), len(documents)), np.nan)
    gold[left, right] = gold[right, left] = task.score

    def answers(embedder: Embedder) -> np.ndarray:
        vectors = unit(embedder.fit_encode(documents))
        return vectors @ vectors.T

    return ScoredSet(name, group, answers, np.arange(len(documents)), gold, text.fingerprint(documents))


def labelled(name: str, group: str, **options: Any) -> ScoredSet:
    """Sentences with classes: whether a classifier labels each of them right (options of `transfer.on_task`)."""
    task = tasks.load(name)
    groups = getattr(task, "groups", None)

    def answers(embedder: Embedder) -> np.ndarray:
        return transfer.on_task(name, embedder.fit_encode, **options).correct.astype(np.float64)

    return ScoredSet(name, group, answers, np.arange(len(task)) if groups is None else groups)


def verses(first: int, last: int, seed: int, group: str = "verses", translation: str = "ylt") -> list[ScoredSet]:
    """Verses of a translation to be found in the World English Bible, and their cosines with what is to be found.

    Of all verses that both have, in random order, those numbered `first` to `last`. The score is the mean reciprocal
    rank. Raises InputError for more verses than both translations have.
    """
    hay, asking = corpora.load(HAYSTACK), corpora.load(f"bible-gospels:{translation}")
    known = np.flatnonzero(np.isin(asking.groups, hay.groups) & (asking.groups >= 0))
    in_range("queries", last, 2, len(known), "verses that both translations have")
    chosen = np.random.default_rng(seed).permutation(known)[first:last]
    same = [np.flatnonzero(hay.groups == meaning) for meaning in asking.groups[chosen]]
    wanted = [places[0] for places in same]
    sentences, queries = list(hay.sentences), [asking.sentences[i] for i in chosen]

    def found(embedder: Embedder | Fitted) -> np.ndarray:
        vectors = embedder.fit(sentences).encode(sentences)
        return 1 / ranks(embedder.encode(queries), vectors[wanted], vectors, same).ranks

    def cosines(embedder: Embedder | Fitted) -> np.ndarray:
        return similarity.similarities(embedder.encode(queries), embedder.fit(sentences).encode(sentences)[wanted])

    key, items = text.fingerprint(queries), np.arange(len(queries))
    answers = {group: found, "cosine": cosines}
    return [ScoredSet("Verses", name, answer, items, key=key) for name, answer in answers.items()]


@dataclass(frozen=True)
class Scores:
    """What embedders answer.

    Attributes
    ----------
    sets : list of ScoredSet
    variants : list of str
        Of each embedder: the word vectors that it is made of, or the seeds of its training.
    answers : dict of list of arrays
        Of each embedder for each set float64[items, (items,) variants].
    """

    sets: Sequence[ScoredSet]
    variants: Sequence[str]
    answers: Mapping[str, Sequence[np.ndarray]]

    @property
    def groups(self) -> list[str]:
        """The groups of the sets, in their order."""
        return list(dict.fromkeys(each.group for each in self.sets))

    def only(self, name: str) -> Scores:
        """The scores in one set."""
        (i,) = (i for i, each in enumerate(self.sets) if each.name == name)
        return Scores([self.sets[i]], self.variants, {key: [found[i]] for key, found in self.answers.items()})

    def score(self, name: str, rows: Sequence[np.ndarray] | None = None) -> np.ndarray:
        """float64[groups, variants]: an embedder's mean score over the sets of each group.

        `rows` are the items of each set that count; all of them if not given.
        """
        rows = rows or [np.arange(len(each.clusters)) for each in self.sets]
        member = np.array([each.group for each in self.sets])
        by_set = np.array(
            [each.score(*of_set) for each, *of_set in zip(self.sets, self.answers[name], rows, strict=True)]
        )
        return np.array([by_set[member == group].mean(axis=0) for group in self.groups])

    def of(self) -> dict[str, np.ndarray]:
        """The scores of all embedders."""
        return {name: self.score(name) for name in self.answers}

    def interval(
        self, derive: Callable[[Callable], np.ndarray], sampling: stats.Sampling, **options: Any
    ) -> stats.Interval:
        """The bootstrap interval of what `derive` makes of `score`: items of all sets are drawn together.

        `derive` gets a function from an embedder's name to its score. Options are those of `stats.bootstrap`.
        """
        sizes = [len(each.clusters) for each in self.sets]
        number, item = np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(size) for size in sizes])
        clusters = np.concatenate([each.clusters for each in self.sets]) + number * 10**9

        def statistic(number: np.ndarray, item: np.ndarray) -> np.ndarray:
            rows = [item[number == i] for i in range(len(self.sets))]
            return derive(cache(lambda name: self.score(name, rows)))

        found = stats.bootstrap(statistic, number, item, sampling=sampling, clusters=clusters, **options)
        return stats.Interval(*map(np.ravel, found))

    def frame(self, derive: Callable[[Callable], dict], sampling: stats.Sampling) -> pd.DataFrame:
        """What `derive` makes of `score`, by name: columns what, group, vectors, value, low, high, constant."""
        found = self.interval(lambda score: np.stack(list(derive(score).values())), sampling)
        index = product(derive(self.score), self.groups, self.variants)
        return found.table(index, ("what", "group", "vectors")).reset_index()

    def differences(self, pairs: Sequence[tuple[str, str]], sampling: stats.Sampling) -> pd.DataFrame:
        """By how much the first embedder of each pair scores higher than the second; as `frame`."""
        return self.frame(lambda s: {f"{one} - {other}": s(one) - s(other) for one, other in pairs}, sampling)
