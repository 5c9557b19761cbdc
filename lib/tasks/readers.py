"""Labelled sets as objects, and the readers of the layouts that they come in; `lib.tasks` says which set has which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lib import corpora
from lib.corpora.closure import groups_from_pairs
from lib.run.errors import InputError
from lib.tasks import files as task_files
from lib.tasks.files import UTF8, WESTERN


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs of texts and what people said of them; None for what a set does not have.

    Attributes
    ----------
    left, right : list of str, length n
    score : float64[n], higher is more alike; the docstring of `lib.tasks` gives each set's range
    label : int32[n], coded as that docstring says
    genre : list of str, length n
    ids : list of (int, int), length n, each side's number in its source: the same number, the same text
    source : list of str, length n, the file that STSBenchmark took a pair from
    """

    left: list[str]
    right: list[str]
    score: np.ndarray | None = None
    label: np.ndarray | None = None
    genre: list[str] | None = None
    ids: list[tuple[int, int]] | None = None
    source: list[str] | None = None

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, eq=False)
class ClassificationTask:
    """Sentences (list of str, length n) and the codes of their classes (int32[n])."""

    sentences: list[str]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True, eq=False)
class ParaphraseGroups:
    """Sentences (list of str, length n), group after group, and the numbers of their groups (int32[n], from 0 on)."""

    sentences: list[str]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.sentences)


Task = PairTask | ClassificationTask | ParaphraseGroups


def joined(parts: Sequence[Task]) -> Task:
    """One task of several of a kind, one after the other."""
    kind = type(parts[0])
    return kind(*(_chained([getattr(part, field.name) for part in parts]) for field in fields(kind)))


def _chained(values: Sequence[list | np.ndarray | None]) -> list | np.ndarray | None:
    if values[0] is None:
        return None
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    return [value for part in values for value in part]


# -- pairs --------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Which column of a tab-separated file of pairs is what, counted from 0; None for what it does not have.

    `low` and `high` bound the score; `codes` maps the labels; `header` and `extra` are those of `lib.tasks.files.rows`.
    """

    columns: int
    left: int
    right: int
    score: int | None = None
    low: float = 0
    high: float = 5
    label: int | None = None
    codes: dict[str, int] | None = None
    genre: int | None = None
    source: int | None = None
    ids: tuple[int, int] | None = None
    header: str = ""
    extra: int = 0


def pairs(layout: Layout, path: Path) -> PairTask:
    """A file of pairs in a layout of columns."""
    rows = task_files.rows(path, layout.columns, UTF8, layout.header, layout.extra)

    def column(index: int | None, convert: Callable[[str, str], object] = _as_it_is) -> list | None:
        return None if index is None else [convert(row.place, row.cells[index]) for row in rows]

    ids = [column(side, task_files.identifier) for side in layout.ids or ()]
    return PairTask(
        left=column(layout.left),
        right=column(layout.right),
        score=_array(column(layout.score, partial(task_files.number, low=layout.low, high=layout.high)), np.float64),
        label=_array(column(layout.label, partial(task_files.code, codes=layout.codes)), np.int32),
        genre=column(layout.genre),
        ids=list(zip(*ids, strict=True)) or None,
        source=column(layout.source),
    )


def _as_it_is(place: str, cell: str) -> str:
    return cell


def _array(values: list | None, dtype: type) -> np.ndarray | None:
    return None if values is None else np.asarray(values, dtype=dtype)


def sts(*files: Path) -> PairTask:
    """The subsets of a year of STS: a file of pairs and one of gold scores each, in turn."""
    return joined([_sts_subset(sentences, gold) for sentences, gold in zip(files[::2], files[1::2], strict=True)])


def _sts_subset(sentences: Path, gold: Path) -> PairTask:
    rows, scores = task_files.rows(sentences, 2), list(task_files.lines(gold))
    if len(rows) != len(scores):
        place = f"{gold}, line {min(len(rows), len(scores)) + 1}"
        raise InputError(f"{place}: {len(scores)} lines for {len(rows)} pairs in {sentences.name}; give one a pair")
    scored = [(row.cells, line) for row, line in zip(rows, scores, strict=True) if line.text.strip()]
    return PairTask(
        left=[cells[0] for cells, _ in scored],
        right=[cells[1] for cells, _ in scored],
        score=_array([task_files.number(line.place, line.text.strip(), 0, 5) for _, line in scored], np.float64),
        genre=[sentences.stem.removeprefix("STS.input.")] * len(scored),
    )


def rated_items(items: Path, similarities: Path) -> PairTask:
    """Every pair of n items, one a line; the n by n matrix of their scores (0 to 1) counts above its diagonal.

    Raises InputError, with the line, for a matrix of another size or what is no score.
    """
    texts = _sentences(items)
    rows = task_files.rows(similarities, len(texts))
    if len(rows) != len(texts):
        raise InputError(f"{similarities}: {len(rows)} lines for {len(texts)} items in {items.name}; give one an item")
    ids = [(i, j) for i in range(len(texts)) for j in range(i + 1, len(texts))]
    score = [task_files.number(rows[i].place, rows[i].cells[j], 0, 1) for i, j in ids]
    return PairTask([texts[i] for i, _ in ids], [texts[j] for _, j in ids], _array(score, np.float64), ids=ids)


# -- classes ------------------------------------------------------------------------------------


def _sentences(path: Path) -> list[str]:
    return [text.strip() for _, text in task_files.lines(path, WESTERN)]


def file_a_class(first: Path, second: Path) -> ClassificationTask:
    """Sentences one a line, all of the first file in class 1, all of the second in class 0."""
    ones, zeros = _sentences(first), _sentences(second)
    return ClassificationTask(ones + zeros, _array([1] * len(ones) + [0] * len(zeros), np.int32))


def label_last(codes: dict[str, int], path: Path) -> ClassificationTask:
    """Sentence, tab, label."""
    rows = task_files.rows(path, 2)
    labels = [task_files.code(row.place, row.cells[1], codes) for row in rows]
    return ClassificationTask([row.cells[0] for row in rows], _array(labels, np.int32))


def label_first(codes: dict[str, int], encoding: str, path: Path) -> ClassificationTask:
    """Label, blank, sentence; what follows a colon in the label is a finer label, and left out.

    Raises InputError for a line that is not so, and for an unknown label.
    """
    sentences, labels = [], []
    for place, text in task_files.lines(path, encoding):
        label, blank, sentence = text.partition(" ")
        if not blank:
            raise InputError(f"{place}: no blank in it; a line of this file is a label, a blank and a sentence")
        labels.append(task_files.code(place, label.partition(":")[0], codes))
        sentences.append(sentence.strip())
    return ClassificationTask(sentences, _array(labels, np.int32))


# -- groups -------------------------------------------------------------------------------------


def _numbered(groups: Iterable[Sequence[str]], at_least: int) -> ParaphraseGroups:
    """The groups that are large enough, numbered as they come."""
    kept = [group for group in groups if len(group) >= at_least]
    labels = [number for number, group in enumerate(kept) for _ in group]
    return ParaphraseGroups([sentence for group in kept for sentence in group], _array(labels, np.int32))


def _cleaned(sentence: str) -> str:
    return sentence.replace("&amp;", "&")  # "How Well Sentence Embeddings Capture Meaning", section 4.2


def closure_of_paraphrases(layout: Layout, *files: Path) -> ParaphraseGroups:
    """What the pairs with label 1 of all files connect, by sentence id, in groups of three or more (section 4.1)."""
    task = joined([pairs(layout, file) for file in files])
    texts: dict[int, str] = {}
    for ids, sentences in zip(task.ids, zip(task.left, task.right, strict=True), strict=True):
        texts.update(zip(ids, map(_cleaned, sentences), strict=True))
    groups = groups_from_pairs(ids for ids, label in zip(task.ids, task.label, strict=True) if label == 1)
    return _numbered([[texts[id] for id in group] for group in groups], at_least=3)


def columns_of_paraphrases(folder: Path) -> ParaphraseGroups:
    """A group a column of every .data file, the first (ungrouped) left out; of three or more (section 4.2).

    Groups that share a sentence become one, and a sentence that occurs again is left out. Raises InputError for a
    folder without such a file.
    """
    files = sorted(folder.glob("*.data"))
    if not files:
        raise InputError(f"{folder}: holds no .data file; get the paraphrase groups again")
    tables = [[row.cells for row in task_files.rows(file, None, WESTERN)] for file in files]
    columns = [column for table in tables for column in list(zip(*table, strict=True))[1:]]
    groups = [[_cleaned(cell) for cell in column if cell] for column in columns]
    return _numbered(groups_from_pairs((group[0], member) for group in groups for member in group), at_least=3)


def verses() -> ParaphraseGroups:
    """Verses of the default corpus with two or more different translations; World English first in each group."""
    corpus = corpora.load("bible-gospels")
    groups: dict[int, list[str]] = {}
    for sentence, group in zip(corpus.sentences, corpus.groups.tolist(), strict=True):
        if group != corpora.UNKNOWN_GROUP:
            groups.setdefault(group, []).append(sentence)
    return _numbered(groups.values(), at_least=2)
