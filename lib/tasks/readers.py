"""Labeled sets as objects, and the readers of their file layouts.

`lib.tasks` says which set has which layout.

Any fault in a file becomes one sentence that names the file and the line. It quotes no
more than the first characters, since most of these texts may not be reproduced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.corpora import reading
from lib.corpora.closure import groups_from_pairs
from lib.corpora.reading import UTF8

# What passes for Latin-1 in these sets is Windows-1252: bytes 0x80 to 0x9f are dashes
# and quotation marks. Read as Latin-1 they would be control characters, one of which
# (0x85) Python takes for white space and for a line's end. Lines that somebody has
# converted to UTF-8 are read as that (`lib.corpora.reading`).
WESTERN = "cp1252"
LARGEST_ID = 10**12
SHOWN = 20  # characters


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs of texts with people's judgments; None for what a set does not have.

    Attributes
    ----------
    left, right : list of str, length n
    score : float64[n]
        Higher is more alike; the docstring of `lib.tasks` gives each set's range.
    label : int32[n]
        Coded as that docstring says.
    genre : list of str, length n
    ids : list of (int, int), length n
        Each side's number in its source: the same number, the same text.
    """

    left: list[str]
    right: list[str]
    score: np.ndarray | None = None
    label: np.ndarray | None = None
    genre: list[str] | None = None
    ids: list[tuple[int, int]] | None = None

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, eq=False)
class ClassificationTask:
    """Sentences with classes.

    Attributes
    ----------
    sentences : list of str, length n
    labels : int32[n]
        The codes of their classes.
    groups : int32[n], optional
        Equal for sentences that mean the same, so that they belong in one fold.
    """

    sentences: list[str]
    labels: np.ndarray
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True, eq=False)
class ParaphraseGroups:
    """Sentences, group after group, and the numbers of their groups.

    The sentences are a list of str of length n, the groups int32[n], from 0 on.
    """

    sentences: list[str]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.sentences)


Task = PairTask | ClassificationTask | ParaphraseGroups


# -- rows and cells --------------------------------------------------------------------


def _table(
    path: Path,
    columns: Sequence[Any],
    header: str = "",
    extra: int = 0,
    encoding: str = UTF8,
) -> pd.DataFrame:
    """A tab-separated file, white space around its cells removed.

    Quotation marks are text like any other.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Their names; if empty they are numbered.
    header : str
        Lines at the head of the file that begin so are left out.
    extra : int
        How many columns may follow, which are left out.

    Returns
    -------
    DataFrame of str, indexed by file and line
    """
    rows: dict[str, list[str]] = {}
    width = len(columns)
    for place, text in reading.lines(path, encoding):
        if header and not rows and text.startswith(header):
            continue
        cells = [cell.strip() for cell in text.split("\t")]
        width = width or len(cells)
        if not width <= len(cells) <= width + extra:
            raise InputError(
                f"{place}: {len(cells)} tab-separated columns; this "
                f"file has {width} on each line"
            )
        rows[place] = cells[:width]
    if not rows:
        raise InputError(f"{path}: nothing below its header; get the file again")
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns or None)


def _numbers(cells: pd.Series, low: float, high: float) -> np.ndarray:
    values = pd.to_numeric(cells, errors="coerce")
    for place, cell in cells[~values.between(low, high)].items():
        raise InputError(
            f"{place}: {cell[:SHOWN]!r} is not in range; give {low:g} to {high:g}"
        )
    return values.to_numpy(np.float64)


def _codes(labels: pd.Series, codes: Any) -> np.ndarray:
    for place, label in labels[~labels.isin(codes)].items():
        one_of(f"{place}: label", label[:SHOWN], codes)
    return labels.map(codes).to_numpy(np.int32)


# -- pairs -----------------------------------------------------------------------------


def pairs(
    *paths: Path,
    columns: str,
    header: str = "",
    extra: int = 0,
    low: float = 0,
    high: float = 5,
    codes: Mapping[str, int] | None = None,
) -> PairTask:
    """Tab-separated files of pairs, one after the other.

    Parameters
    ----------
    paths : Path
    columns : str
        The names of their columns. Those that are read are left, right, left_id,
        right_id, genre, score and label.
    header, extra
        As for `_table`.
    low, high : float
        Bounds of the scores.
    codes : mapping, optional
        The code of each label, where the files have labels.
    """
    tables = [_table(path, columns.split(), header, extra) for path in paths]
    return _pairs(pd.concat(tables), low, high, codes)


def sts(*files: Path) -> PairTask:
    """The subsets of a year of STS: for each a file of pairs and one of gold scores."""
    subsets = [
        _sts_subset(*subset) for subset in zip(files[::2], files[1::2], strict=True)
    ]
    return _pairs(pd.concat(subsets))


def _sts_subset(sentences: Path, gold: Path) -> pd.DataFrame:
    table = _table(sentences, ["left", "right"])
    scores = _table(gold, ["score"])
    if len(table) != len(scores):
        raise InputError(
            f"{gold}: {len(scores)} lines for {len(table)} pairs in "
            f"{sentences.name}; give one per pair"
        )
    genre = sentences.stem.removeprefix("STS.input.")
    table = table.set_index(scores.index).assign(score=scores, genre=genre)
    return table[table["score"] != ""]


def _pairs(
    table: pd.DataFrame,
    low: float = 0,
    high: float = 5,
    codes: Mapping[str, int] | None = None,
) -> PairTask:
    """A task made of a table of texts.

    `low` and `high` bound its scores, `codes` are those of its labels.
    """
    score = label = genre = ids = None
    if "score" in table:
        score = _numbers(table["score"], low, high)
    if "label" in table:
        label = _codes(table["label"], codes)
    if "genre" in table:
        genre = table["genre"].tolist()
    if "left_id" in table:
        left = _numbers(table["left_id"], 0, LARGEST_ID).astype(int)
        right = _numbers(table["right_id"], 0, LARGEST_ID).astype(int)
        ids = list(zip(left.tolist(), right.tolist(), strict=True))
    return PairTask(
        table["left"].tolist(), table["right"].tolist(), score, label, genre, ids
    )


def rated_items(items: Path, similarities: Path) -> PairTask:
    """Every pair of n items, one item a line.

    The n by n matrix of their scores (0 to 1) counts above its diagonal. Raises
    InputError for a matrix of another size.
    """
    texts = _sentences(items)
    table = _table(similarities, range(len(texts)))
    if len(table) != len(texts):
        raise InputError(
            f"{similarities}: {len(table)} lines for {len(texts)} items in "
            f"{items.name}; give one per item"
        )
    scores = np.transpose([_numbers(table[column], 0, 1) for column in table])
    above = np.triu_indices(len(texts), k=1)
    ids = list(zip(above[0].tolist(), above[1].tolist(), strict=True))
    left = [texts[i] for i, _ in ids]
    right = [texts[j] for _, j in ids]
    return PairTask(left, right, scores[above], ids=ids)


# -- classes ---------------------------------------------------------------------------


def _sentences(path: Path) -> list[str]:
    return [text.strip() for _, text in reading.lines(path, WESTERN)]


def file_a_class(first: Path, second: Path) -> ClassificationTask:
    """Sentences one a line: class 1 in the first file, class 0 in the second."""
    ones = _sentences(first)
    zeros = _sentences(second)
    labels = np.repeat(np.array([1, 0], np.int32), [len(ones), len(zeros)])
    return ClassificationTask(ones + zeros, labels)


def labelled(
    *paths: Path,
    codes: Mapping[str, int],
    separator: str = " ",
    label: int = 0,
    encoding: str = UTF8,
) -> ClassificationTask:
    """A sentence and its label on each line.

    The part of a label after a colon, a finer label, is left out.

    Parameters
    ----------
    paths : Path
    codes : mapping of str to int
        Of the labels.
    separator : str
        What stands between label and sentence.
    label : int
        Which of the two the label is, 0 or 1.

    Raises
    ------
    InputError
        A line without a label, or with an unknown one.
    """
    sentences = []
    labels = {}
    for place, text in chain(*(reading.lines(path, encoding) for path in paths)):
        cells = text.split(separator, maxsplit=1)
        if len(cells) < 2:
            raise InputError(
                f"{place}: no {separator!r} in it; a line of this "
                "file is a label and a sentence"
            )
        labels[place] = cells[label].strip().partition(":")[0]
        sentences.append(cells[1 - label].strip())
    return ClassificationTask(sentences, _codes(pd.Series(labels), codes))


# -- groups ----------------------------------------------------------------------------


def numbered(groups: Iterable[Sequence[Any]], at_least: int) -> ParaphraseGroups:
    """The groups that are large enough, numbered as they come."""
    kept = [group for group in groups if len(group) >= at_least]
    sizes = [len(group) for group in kept]
    labels = np.repeat(np.arange(len(kept), dtype=np.int32), sizes)
    return ParaphraseGroups(list(chain(*kept)), labels)


def _cleaned(sentence: str) -> str:
    # "How Well Sentence Embeddings Capture Meaning", section 4.2.
    return sentence.replace("&amp;", "&")


def _unquoted(cell: str) -> str:
    """A cell without the quotation marks that its spreadsheet has put around it."""
    return re.sub(r'^"([^"]*)"$', r"\1", cell).strip()


def closure_of_paraphrases(
    read: Callable[..., PairTask], *files: Path
) -> ParaphraseGroups:
    """Groups, by sentence id, that pairs with label 1 connect (section 4.1).

    The pairs of all files count; groups have three or more sentences.
    """
    task: Any = read(*files)
    sentences = chain(*zip(task.left, task.right, strict=True))
    texts = dict(zip(chain(*task.ids), map(_cleaned, sentences), strict=True))
    paraphrases = compress(task.ids, task.label)
    groups = []
    for ids in groups_from_pairs(paraphrases):
        groups.append([texts[id] for id in ids])
    return numbered(groups, at_least=3)


def columns_of_paraphrases(folder: Path) -> ParaphraseGroups:
    """A group for each column of every .data file (section 4.2).

    The first column (ungrouped) is left out, and so are groups of fewer than three. The
    quotation marks that a spreadsheet has put around a cell are removed. Groups that
    share a sentence become one, and a sentence that occurs again is left out. Raises
    InputError for a folder without such a file.
    """
    files = sorted(folder.glob("*.data"))
    if not files:
        raise InputError(
            f"{folder}: has no .data file; get the paraphrase groups again"
        )
    same = []
    for file in files:
        table = _table(file, [], encoding=WESTERN)
        for column in table.columns[1:]:
            group = [_cleaned(_unquoted(cell)) for cell in table[column] if cell]
            same += [(group[0], member) for member in group]
    return numbered(groups_from_pairs(same), at_least=3)
