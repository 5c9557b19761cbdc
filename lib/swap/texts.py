"""What is searched and what is asked: files, with ids or without, and named corpora."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib import corpora
from lib.base import characters, paths
from lib.base.errors import InputError, one_line
from lib.base.parameters import in_range
from lib.corpora import Corpus
from lib.corpora.corpus import Record, assemble
from lib.corpora.reading import lines
from lib.corpora.text import fingerprint, squeeze

QUERIES = 1000  # drawn from a text that has more sentences
SEED = 2020
NAMES = {"_id": "id", "query": "text"}  # of columns, or keys of JSON objects
WANTED = (
    "give a file with one sentence a line, JSON lines or a table with a column text, "
    "or a BEIR folder"
)


@dataclass(frozen=True, eq=False)
class Text:
    """The unique sentences of a file or a named corpus.

    Attributes
    ----------
    corpus : Corpus
    ids : list of str
        Those of the sentences; in a file without ids, the numbers of its lines from 1.
    places : dict of str to int
        Which sentence each id stands for, those of repeated lines included; -1 for an
        empty line.
    lines : int64[n]
        The line, from 0, where each sentence first occurs.
    weights : float64[n] or None
        Those of repeated sentences are added.
    """

    corpus: Corpus
    ids: list[str]
    places: dict[str, int]
    lines: np.ndarray
    weights: np.ndarray | None = None

    @property
    def read(self) -> int:
        """How many lines the file has."""
        return len(self.corpus) + self.corpus.repeated + self.corpus.empty

    def reading(self, what: str) -> list[str]:
        """How many lines are used, and why not all; nothing if all are."""
        left_out = {
            "repeat an earlier one": self.corpus.repeated,
            "are empty": self.corpus.empty,
        }
        why = [f"{number:,} {reason}" for reason, number in left_out.items() if number]
        used = f"{what}: {len(self.corpus):,} of {self.read:,} lines are used: "
        return [f"{used}{', '.join(why)}."] if why else []


def load(parameter: str, given: str, part: str = "corpus") -> Text:
    """Read a file, a BEIR folder's `part` (corpus or queries), or a named corpus.

    Raises InputError, which says where it looked, if there is no such file, and for
    one that cannot be read.
    """
    kind, colon, rest = given.partition(":")
    is_file = bool(colon) and kind in ("lines", "text")
    path = paths.from_root(rest if is_file else given)
    if path.is_dir():
        packed = path / f"{part}.jsonl.gz"
        path = packed if packed.is_file() else path / f"{part}.jsonl"
    if path.is_file() and kind != "text":
        return _assembled(given, _table(path, part))
    if not path.is_file() and (is_file or (re.search(r"[./]", given) and not colon)):
        raise InputError(f"{parameter}: {path}: no such file; {WANTED}")
    corpus = corpora.load(given)
    ids = _numbers(len(corpus))
    places = dict(zip(ids, range(len(ids)), strict=True))
    return Text(corpus, ids, places, np.arange(len(ids)))


def _table(path: Path, part: str) -> pd.DataFrame:
    """A row for each line: text, document, and id and weight where there are any."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind not in ("jsonl", "csv", "tsv"):
        return _plain(path, part)
    try:
        if kind == "jsonl":
            table = pd.read_json(path, lines=True, dtype=False)
        else:
            sep = "\t" if kind == "tsv" else ","
            table = pd.read_csv(path, sep=sep, dtype=str, keep_default_na=False)
        table = table.rename(columns=NAMES)
        words = table["text"].fillna("").astype(str)
    except (ValueError, KeyError, OSError) as error:
        raise InputError(
            f"{path}: cannot be read ({one_line(error)}); {WANTED}"
        ) from error
    if "title" in table:
        words = table["title"].fillna("").astype(str) + " " + words
    table["text"] = [characters.mend(squeeze(each)) for each in words]
    table["document"] = np.arange(len(table))
    return table


def _plain(path: Path, part: str) -> pd.DataFrame:
    """A sentence a line; an empty line starts a new document.

    Queries may have weights, after a tab; then all of them must.
    """
    table = pd.DataFrame({"text": [line for _, line in lines(path)]})
    if part == "queries":
        split = table["text"].str.rpartition("\t")
        weights = pd.to_numeric(split[2], errors="coerce")
        if (weights.notna() | (table["text"].str.strip() == "")).all():
            table = pd.DataFrame({"text": split[0], "weight": weights.fillna(1)})
    table["text"] = table["text"].map(squeeze)
    filled = table["text"] != ""
    opens = filled & ~filled.shift(fill_value=False)
    table["document"] = opens.cumsum() - 1
    return table


def _assembled(name: str, table: pd.DataFrame) -> Text:
    columns = zip(table["text"], table["document"], strict=True)
    corpus = assemble(name, [Record(words, document) for words, document in columns])
    index = {sentence: i for i, sentence in enumerate(corpus.sentences)}
    place = np.array([index.get(words, -1) for words in table["text"]])
    ids = (
        _numbers(len(table)) if "id" not in table else table["id"].astype(str).tolist()
    )
    places = dict(zip(ids, place.tolist(), strict=True))
    if len(places) < len(ids):
        raise InputError(f"{name}: has ids that occur twice; give each line its own")
    kept = np.flatnonzero(place >= 0)
    first = kept[np.unique(place[kept], return_index=True)[1]]
    weights = None
    if "weight" in table:
        given = pd.to_numeric(table["weight"], errors="coerce").to_numpy(float)
        if not (given > 0).all():
            raise InputError(f"{name}: has weights that are no numbers above 0")
        weights = np.bincount(place[kept], given[kept])
    return Text(corpus, [ids[int(i)] for i in first], places, first, weights)


@dataclass(frozen=True, eq=False)
class SearchTask:
    """A text and what is asked of it.

    Attributes
    ----------
    corpus : Corpus or sequence of str
    queries : sequence of str
    rows : int64[q]
        The sentences of the text that are the queries, which then are not their own
        neighbors; -1 for queries of another source.
    weights : float64[q], optional
        How much each query counts, such as how often it is asked.
    text, asked : Text, optional
        The files that both were read from.
    chosen : int64[q]
        Which of the file's queries are asked.
    """

    corpus: Corpus | Sequence[str]
    queries: Sequence[str]
    rows: np.ndarray
    weights: np.ndarray | None = None
    text: Text | None = None
    asked: Text | None = None
    chosen: np.ndarray = field(default_factory=lambda: np.empty(0, int))

    @property
    def sentences(self) -> Sequence[str]:
        """The sentences of the text."""
        found: Any = getattr(self.corpus, "sentences", self.corpus)
        return found

    @property
    def are_drawn(self) -> bool:
        """Whether the queries are sentences of the text."""
        return bool(self.rows[0] >= 0)

    @property
    def candidates(self) -> int:
        """How many sentences a query may find."""
        return len(self.sentences) - self.are_drawn

    @property
    def clusters(self) -> np.ndarray | None:
        """Equal for queries that are not independent; None if they are."""
        if self.are_drawn and isinstance(self.corpus, Corpus):
            return self.corpus.clusters[self.rows]
        return None

    @property
    def units(self) -> int:
        """How many queries are independent: those of one document count as one.

        Of queries with weights, as many as would have the same spread without them
        (Kish 1965).
        """
        q = len(self.queries)
        clusters = np.arange(q) if self.clusters is None else self.clusters
        _, member = np.unique(clusters, return_inverse=True)
        if self.weights is None:
            return int(member.max()) + 1
        shares = np.bincount(member, self.weights)
        return int(shares.sum() ** 2 / (shares**2).sum() + 1e-9)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits for the text, and as many for the queries."""
        return fingerprint(self.sentences) + fingerprint(self.queries)

    @cached_property
    def ids(self) -> Sequence[str]:
        """The ids of the sentences."""
        return self.text.ids if self.text else _numbers(len(self.sentences))

    @cached_property
    def query_ids(self) -> Sequence[str]:
        """The ids of the queries."""
        if self.are_drawn:
            return [self.ids[int(row)] for row in self.rows]
        if self.asked is None:
            return _numbers(len(self.queries))
        return [self.asked.ids[int(i)] for i in self.chosen]


def _numbers(n: int) -> list[str]:
    return [str(number) for number in range(1, n + 1)]


def make_queries(
    corpus: Corpus | Sequence[str],
    queries: int | Sequence[str] = QUERIES,
    seed: int = SEED,
    weights: Sequence[float] | None = None,
) -> SearchTask:
    """A text with its queries; InputError if there are no sentences or no queries.

    `queries` are the queries themselves, or how many sentences of the text are drawn:
    all, if it has fewer. `weights` are those of given queries.
    """
    sentences: Any = getattr(corpus, "sentences", corpus)
    if isinstance(sentences, str) or not len(sentences):
        raise InputError("sentences: empty, or one string; give a list of sentences")
    if sentences is corpus:
        sentences = _strings("sentences", sentences)
        corpus = sentences
    if isinstance(queries, int):
        in_range("queries", queries, 1, 10**7)
        number = min(queries, len(sentences))
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(sentences), number, replace=False))
        asked = [sentences[int(row)] for row in rows]
    elif isinstance(queries, str) or not len(queries):
        raise InputError("queries: empty, or one string; give a list of queries")
    else:
        asked = _strings("queries", queries)
        rows = np.full(len(asked), -1)
    if weights is not None:
        weights = np.asarray(weights, np.float64)
        if weights.shape != rows.shape or not (weights > 0).all():
            raise InputError("weights: give a number above 0 for each query")
    return SearchTask(corpus, asked, rows, weights)


def _strings(name: str, given: Any) -> list[str]:
    """The strings of a list or a column of a frame."""
    strings = list(given)
    wrong = [each for each in strings if not isinstance(each, str)]
    if wrong:
        kind = type(wrong[0]).__name__
        raise InputError(f"{name}: holds a {kind}; give a list of strings")
    return [characters.mend(each) for each in strings]


def from_files(text: Text, asked: Text | None, judged: Container[str]) -> SearchTask:
    """A task for texts that were read from files; without `asked`, drawn queries.

    Only queries whose ids are `judged` are asked, if any are.
    """
    if asked is None:
        drawn = make_queries(text.corpus)
        return replace(drawn, text=text)
    chosen = np.flatnonzero([id in judged for id in asked.ids])
    if not len(chosen):
        chosen = np.arange(len(asked.ids))
    queries = [asked.corpus.sentences[int(i)] for i in chosen]
    weights = None if asked.weights is None else asked.weights[chosen]
    rows = np.full(len(chosen), -1)
    return SearchTask(text.corpus, queries, rows, weights, text, asked, chosen)
