"""Sets of items that embedders are scored on (Sent2Vec and uSIF).

A set gives an embedder's values item by item; `draws` makes scores of them that a
bootstrap resamples. All embedders meet the same items, so every difference of two
scores is a paired one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import corpora, similarity, stats, tasks, transfer
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.retrieval import ranks
from lib.stats import Sampling
from lib.tasks.verses import rows_by_verse
from lib.vectors import Embeddings, unit

HAYSTACK = "bible-gospels:web"
LOGISTIC = transfer.Logistic()


class Fitted(NamedTuple):
    """A fitted embedder, which no set refits: from sentences to embeddings."""

    encode: Callable[[Sequence[str]], Embeddings]

    def fit(self, sentences: Sequence[str]) -> Fitted:
        """The embedder as it is."""
        return self

    def fit_encode(self, sentences: Sequence[str]) -> Embeddings:
        """The embeddings of some sentences."""
        return self.encode(sentences)


class ItemSet(NamedTuple):
    """Items that embedders are scored on.

    Attributes
    ----------
    name : str
    group : str
        Scores are means over the sets of a group, such as the files of a year of STS.
    values : callable
        From an embedder to float64[items]: cosines, reciprocal ranks, whether a label
        is right. Embedders are fitted on the set's own sentences, unless they are
        `Fitted`.
    clusters : int64[items] or int64[items, 2]
        Equal for items that are not independent; of pairs of documents, both documents.
    gold : float64[items], optional
        With it the score is Pearson's correlation, without it the mean value.
    key : str
        Identifies in a cache all that an embedder's values depend on.
    """

    name: str
    group: str
    values: Callable[[Embedder | Fitted], np.ndarray]
    clusters: np.ndarray
    gold: np.ndarray | None = None
    key: str = ""


def draws(
    sets: Sequence[ItemSet], values: Sequence[pd.DataFrame], sampling: Sampling
) -> pd.DataFrame:
    """The scores in each set, as `lib.stats.draws` has them.

    The levels group and set stand before the columns of the values, which have a row
    for each item of their set.
    """
    names = [(item_set.group, item_set.name) for item_set in sets]
    items = pd.concat(values, keys=names, names=["group", "set"])
    clusters = []
    gold = []
    for item_set, own in zip(sets, values, strict=True):
        both = item_set.clusters.reshape(len(own), -1)
        clusters.append(np.broadcast_to(both, (len(own), 2)))
        no_gold = np.full(len(own), np.nan)
        gold.append(no_gold if item_set.gold is None else item_set.gold)
    return stats.draws(
        items,
        sampling,
        np.concatenate(clusters),
        np.concatenate(gold),
        sets=items.index.droplevel(-1),
    )


def by_group(draws: pd.DataFrame) -> pd.DataFrame:
    """The mean score over the sets of each group, a second level "group"."""
    means = stats.mean_over(draws, "set")
    means = means.swaplevel(0, 1, axis=1)
    return means[list(means.columns.unique(0))]


# -- rated pairs -----------------------------------------------------------------------


def pair_keys(task: Any) -> list[frozenset[str]]:
    """What identifies each pair: the letters and digits of its two sentences.

    The sets of STS share pairs, with other spaces, marks and order of sides.
    """
    pairs = zip(task.left, task.right, strict=True)
    return [frozenset(map(_letters_and_digits, pair)) for pair in pairs]


def _letters_and_digits(sentence: str) -> str:
    return "".join(filter(str.isalnum, sentence.lower()))


def rated(
    name: str,
    group: str = "",
    split: str = "test",
    besides: Sequence[tuple[str, str]] = (),
) -> list[ItemSet]:
    """Pairs with people's ratings, a year of STS as a set for each file.

    Parameters
    ----------
    name, split : str
        As for `lib.tasks.load`.
    group : str
        The set's name if none is given.
    besides : sequence of (str, str)
        Sets and their splits, whose pairs are left out (`pair_keys`).

    Raises
    ------
    InputError
        A set without ratings.
    """
    task: Any = tasks.load(name, split)
    if getattr(task, "score", None) is None:
        known = "Lee, WS353, STS12 ... STS15, STSBenchmark or SICK-R"
        raise InputError(f"task_names: {name!r} has no rated pairs; give {known}")
    group = group or name
    if task.ids is not None:
        return [_document_pairs(name, group, task)]
    by_file = name.startswith("STS1")
    files = pd.Series(task.genre if by_file else [name] * len(task))
    others = [pair_keys(tasks.load(*each)) for each in besides]
    is_free = ~pd.Series(pair_keys(task)).isin({*chain.from_iterable(others)})
    return [
        _pairs(file, group, task, np.flatnonzero(is_free & (files == file)))
        for file in files[is_free].unique()
    ]


def _pairs(name: str, group: str, task: Any, rows: np.ndarray) -> ItemSet:
    left = [task.left[row] for row in rows]
    right = [task.right[row] for row in rows]

    def cosines(embedder: Embedder | Fitted) -> np.ndarray:
        vectors = embedder.fit_encode(left + right)
        return similarity.similarities(vectors[: len(rows)], vectors[len(rows) :])

    items = np.arange(len(rows))
    key = text.fingerprint(left + right)
    return ItemSet(name, group, cosines, items, task.score[rows], key)


def _document_pairs(name: str, group: str, task: tasks.PairTask) -> ItemSet:
    """Pairs of some documents: a bootstrap draws documents, with their pairs."""
    pairs = np.array(task.ids)
    left, right = pairs.T
    texts = dict(zip([*left, *right], task.left + task.right, strict=True))
    documents = [texts[number] for number in range(len(texts))]

    def cosines(embedder: Embedder | Fitted) -> np.ndarray:
        vectors: Any = unit(embedder.fit_encode(documents))
        return (vectors @ vectors.T)[left, right]

    key = text.fingerprint([*documents, str(task.ids)])
    return ItemSet(name, group, cosines, pairs, task.score, key)


# -- sentences with classes ------------------------------------------------------------


def classified(
    name: str,
    group: str,
    folds: int = 10,
    normalize: Sequence[bool] = (False, True),
    classifier: transfer.Classifier = LOGISTIC,
    **options: Any,
) -> ItemSet:
    """Sentences with classes: whether a classifier labels each of them right.

    The options are those of `transfer.evaluate`.
    """
    splits = [tasks.load(name, split) for split in tasks.splits(name)]
    groups = getattr(splits[-1], "groups", None)
    if groups is None:
        groups = np.arange(len(splits[-1]))
    options |= {"folds": folds, "normalize": normalize, "classifier": classifier}

    def correct(embedder: Embedder | Fitted) -> np.ndarray:
        result = transfer.on_splits(splits, embedder.fit_encode, **options)
        return result.correct.astype(np.float64)

    columns = [column for split in splits for column in vars(split).values()]
    items = (str(item) for column in columns if column is not None for item in column)
    made_by = f"{options} scikit-learn {version('scikit-learn')}"
    key = text.fingerprint([made_by, *items])
    return ItemSet(name, group, correct, stats.clusters(groups), key=key)


# -- verses ----------------------------------------------------------------------------


class VerseQueries:
    """Verses of a translation that are to be found in the World English Bible.

    Parameters
    ----------
    first, last : int
        The range, without `last`, in a random order of the verses that both have.
    seed : int
        Of the order.
    translation : str
    besides : sequence of int
        Verses, by their groups in the corpus, that are not to be asked. Nor are those
        before the range: a translation has a few verses twice.

    Raises
    ------
    InputError
        More verses than both translations have.
    """

    def __init__(
        self,
        first: int,
        last: int,
        seed: int,
        translation: str = "ylt",
        besides: Sequence[int] = (),
    ) -> None:
        haystack = corpora.load(HAYSTACK)
        asking = corpora.load(f"bible-gospels:{translation}")
        found = rows_by_verse(haystack)
        in_both = np.isin(asking.groups, list(found))
        order = np.random.default_rng(seed).permutation(np.flatnonzero(in_both))
        verses = asking.groups[order]
        is_free = ~np.isin(verses, [*verses[:first], *besides])
        free = order[first:][is_free[first:]]
        what = "verses that both translations have, and that are not asked elsewhere"
        in_range("queries", last - first, 2, len(free), what)
        chosen = free[: last - first]
        self.groups = asking.groups[chosen]
        self.queries = [asking.sentences[row] for row in chosen]
        self.haystack = list(haystack.sentences)
        self.same = [np.array(found[verse]) for verse in self.groups]

    @cached_property
    def targets(self) -> np.ndarray:
        """The sentence of the haystack that each query is to find, int64[queries]."""
        return np.array([rows[0] for rows in self.same])

    def retrieval(self, group: str = "verses") -> ItemSet:
        """Reciprocal ranks of what is to be found."""
        return self._set(group, self._reciprocal_ranks)

    def similarity(self, group: str = "cosine") -> ItemSet:
        """Cosines with what is to be found."""
        return self._set(group, self._cosines)

    def _set(
        self, group: str, values: Callable[[Embedder | Fitted], np.ndarray]
    ) -> ItemSet:
        items = np.arange(len(self.queries))
        found = map(str, self.same)
        key = text.fingerprint([*self.queries, *self.haystack, *found])
        return ItemSet("Verses", group, values, items, key=f"{values.__name__} {key}")

    def _reciprocal_ranks(self, embedder: Embedder | Fitted) -> np.ndarray:
        haystack = embedder.fit(self.haystack).encode(self.haystack)
        queries = embedder.encode(self.queries)
        targets = haystack[self.targets]
        ranked = ranks(queries, targets, haystack, self.same)
        return 1 / ranked.ranks

    def _cosines(self, embedder: Embedder | Fitted) -> np.ndarray:
        haystack = embedder.fit(self.haystack).encode(self.haystack)
        queries = embedder.encode(self.queries)
        return similarity.similarities(queries, haystack[self.targets])
