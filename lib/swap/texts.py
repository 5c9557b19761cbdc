"""What is searched and what is asked: files, with ids or without, and named corpora."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lib import corpora
from lib.base import characters, paths
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.corpora import Corpus
from lib.corpora.corpus import Record, assemble
from lib.corpora.reading import lines
from lib.corpora.text import fingerprint, squeeze

QUERIES = 1000  # drawn from a text that has more sentences
SEED = 2020
# The names of columns, or of keys of a JSON object.
IDS, WORDS, WEIGHT = ("_id", "id"), ("text", "query"), "weight"
WEIGHTED = re.compile(r"(.*\S.*)\t\s*(\d+\.?\d*)\s*")
WANTED = (
    "give a file with one sentence a line, JSON lines or a table with a column text, "
    "or a BEIR folder"
)


class Line(NamedTuple):
    """What one line of a file says; `document` is as for `Record`."""

    id: str
    words: str
    document: int
    weight: float | None = None


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

    def reading(self, what: str) -> str:
        """How many lines are used, and why not all; empty if all are."""
        left_out = {
            "repeat an earlier one": self.corpus.repeated,
            "are empty": self.corpus.empty,
        }
        why = [f"{number:,} {reason}" for reason, number in left_out.items() if number]
        if not why:
            return ""
        used = f"{len(self.corpus):,} of {self.read:,} lines are used"
        return f"{what}: {used}: {', '.join(why)}."


def load(parameter: str, given: str, part: str = "corpus") -> Text:
    """Read a file, a BEIR folder's `part` (corpus or queries), or a named corpus.

    Raises InputError, which says where it looked, if there is no such file, and for
    one that cannot be read.
    """
    kind, colon, rest = given.partition(":")
    path = paths.from_root(rest if colon and kind == "lines" else given)
    if path.is_dir():
        path = _inside(parameter, path, part)
    if path.is_file():
        return _assembled(given, list(_lines(path, part)))
    is_path = re.search(r"[./]", given) and not colon
    if is_path or kind == "lines" or (kind == "text" and not paths.from_root(rest)):
        raise InputError(f"{parameter}: {path}: no such file; {WANTED}")
    if kind == "text" and not paths.from_root(rest).is_file():
        raise InputError(f"{parameter}: {paths.from_root(rest)}: no such file")
    corpus = corpora.load(given)
    ids = list(map(str, range(1, len(corpus) + 1)))
    places = dict(zip(ids, range(len(ids)), strict=True))
    return Text(corpus, ids, places, np.arange(len(ids)))


def _inside(parameter: str, folder: Path, part: str) -> Path:
    for name in (f"{part}.jsonl", f"{part}.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{parameter}: {folder}: has no {part}.jsonl; {WANTED}")


def _lines(path: Path, part: str) -> Iterator[Line]:
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "jsonl":
        for number, (place, line) in enumerate(lines(path)):
            if line.strip():
                yield _entry(place, _object(place, line), number)
    elif kind in ("csv", "tsv"):
        rows = (f"{line}\n" for _, line in lines(path))
        table = csv.DictReader(rows, delimiter="\t" if kind == "tsv" else ",")
        for number, row in enumerate(table):
            yield _entry(f"{path}, row {number + 1}", row, number)
    else:
        yield from _plain(path, part)


def _plain(path: Path, part: str) -> Iterator[Line]:
    """A sentence a line; an empty line starts a new document.

    Queries may have weights, after a tab; then all of them must.
    """
    read = [line for _, line in lines(path)]
    found = [WEIGHTED.fullmatch(line) for line in read]
    weighted = part == "queries" and all(
        match or not line.strip() for match, line in zip(found, read, strict=True)
    )
    document = -1
    ended = True
    for number, (line, match) in enumerate(zip(read, found, strict=True)):
        words = squeeze(match[1] if weighted and match else line)
        document += bool(words) and ended
        ended = not words
        weight = float(match[2]) if weighted and match else None
        yield Line(str(number + 1), words, document, weight)


def _object(place: str, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f'{place}: no JSON object; give {{"_id": ..., "text": ...}}')
    return found


def _entry(place: str, fields: dict[str, Any], number: int) -> Line:
    """A line with names: an id, a title if any, the text, a weight if any."""
    words = next((fields[name] for name in WORDS if fields.get(name) is not None), None)
    if not isinstance(words, str):
        raise InputError(f"{place}: has no {WORDS[0]!r}; give one to each line")
    id = next((fields[name] for name in IDS if fields.get(name) is not None), None)
    weight = fields.get(WEIGHT) or None
    try:
        weight = weight if weight is None else float(weight)
    except (TypeError, ValueError):
        weight = -1.0
    if weight is not None and not 0 < weight < np.inf:
        raise InputError(f"{place}: has a weight that is no number above 0; give one")
    whole = characters.mend(squeeze(f"{fields.get('title') or ''} {words}"))
    return Line(str(number + 1 if id is None else id), whole, number, weight)


def _assembled(name: str, read: list[Line]) -> Text:
    corpus = assemble(name, [Record(line.words, line.document) for line in read])
    index = {sentence: i for i, sentence in enumerate(corpus.sentences)}
    place = np.array([index.get(line.words, -1) for line in read])
    places = dict(zip([line.id for line in read], place.tolist(), strict=True))
    if len(places) < len(read):
        raise InputError(f"{name}: has ids that occur twice; give each line its own")
    kept = np.flatnonzero(place >= 0)
    first = kept[np.unique(place[kept], return_index=True)[1]]
    weights = None
    if any(line.weight is not None for line in read):
        given = np.array([line.weight or 1.0 for line in read])
        weights = np.bincount(place[kept], given[kept])
    return Text(corpus, [read[int(i)].id for i in first], places, first, weights)


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
    chosen : int64[q], optional
        Which of the file's queries are asked, if not all.
    """

    corpus: Corpus | Sequence[str]
    queries: Sequence[str]
    rows: np.ndarray
    weights: np.ndarray | None = None
    text: Text | None = None
    asked: Text | None = None
    chosen: np.ndarray | None = None

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
        chosen: Any = range(len(self.queries)) if self.chosen is None else self.chosen
        return [self.asked.ids[int(i)] for i in chosen]


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


def from_files(text: Text, asked: Text | None, queries: int, seed: int) -> SearchTask:
    """A task for texts that were read from files; without `asked`, drawn queries."""
    if asked is None:
        drawn = make_queries(text.corpus, queries, seed)
        return SearchTask(text.corpus, drawn.queries, drawn.rows, None, text)
    rows = np.full(len(asked.ids), -1)
    sentences = asked.corpus.sentences
    return SearchTask(text.corpus, sentences, rows, asked.weights, text, asked)
