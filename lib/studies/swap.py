"""Study 10: an embedder in another's place, and what users would notice (N2O).

The same text is searched with the same queries under both embedders. What each query
loses and gains tells more than two benchmark scores.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import embedders, n2o, stats
from lib.corpora import Corpus, text
from lib.embedders import own
from lib.embedders.base import Embedder
from lib.neighbors import exact
from lib.run import files, paths
from lib.run.errors import InputError
from lib.run.parameters import in_range
from lib.store import EmbeddingStore, fit
from lib.vectors import Embeddings, as_matrix, check_finite_rows

QUERIES = 1000  # drawn from a text that has more sentences
SEED = 2020
BITS = 32  # of a number, where an embedder does not say
ROUNDING = 1e-5  # similarities that differ by no more are all the same


# -- one side --------------------------------------------------------------------------


class Cost(NamedTuple):
    """What a sentence costs.

    Attributes
    ----------
    seconds : float or None
        To encode it, reading the model included; None where that was not measured: the
        vectors were given, or stored by a program that did not measure it.
    bytes : float
        Of its vector.
    """

    seconds: float | None
    bytes: float

    def __str__(self) -> str:
        took = "encoding not measured"
        if self.seconds is not None:
            took = f"{self.seconds * 1000:.3g} ms to encode"
        return f"{took}, {self.bytes:,.0f} bytes"


NOT_MEASURED = Cost(None, 0)


@dataclass(frozen=True, eq=False)
class Searched:
    """What one embedder finds for the queries.

    Attributes
    ----------
    name : str
    fingerprint : str
        Of the text and the queries.
    ids : int64[q, k]
        The neighbors of each query: indices of sentences.
    cost : Cost
    cut : (int, int)
        The embedder's limit in tokens, and how many sentences are longer.
    """

    name: str
    fingerprint: str
    ids: np.ndarray
    cost: Cost = NOT_MEASURED
    cut: tuple[int, int] = (0, 0)


def load(embedder: str, pooling: str = "", prompt: str = "") -> Embedder:
    """An embedder by name, hub id, folder or ``path/to/file.py:function``.

    Pooling and prompt are for a model in a folder or on the hub; InputError for others.
    """
    folder = embedder.partition("@")[0]
    if "/" not in embedder and os.path.isdir(paths.from_root(folder)):
        embedder = f"./{embedder}"
    given = {"pooling": pooling, "prompt": prompt}
    options = {key: value for key, value in given.items() if value}
    return embedders.load(embedder, **options)


class Asked(NamedTuple):
    """A text and what is asked of it.

    Attributes
    ----------
    corpus : Corpus or sequence of str
    queries : sequence of str
    rows : int64[q]
        The sentences of the text that are the queries, which then are not their own
        neighbors; -1 for queries of another source.
    """

    corpus: Corpus | Sequence[str]
    queries: Sequence[str]
    rows: np.ndarray

    @property
    def sentences(self) -> Sequence[str]:
        """The sentences of the text."""
        return getattr(self.corpus, "sentences", self.corpus)

    @property
    def are_drawn(self) -> bool:
        """Whether the queries are sentences of the text."""
        return bool(self.rows[0] >= 0)

    @property
    def clusters(self) -> np.ndarray | None:
        """Equal for queries that are not independent; None if they are."""
        if self.are_drawn and isinstance(self.corpus, Corpus):
            return self.corpus.clusters[self.rows]
        return None

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits for the text, and as many for the queries."""
        return text.fingerprint(self.sentences) + text.fingerprint(self.queries)


def ask(
    corpus: Corpus | Sequence[str],
    queries: int | Sequence[str] = QUERIES,
    seed: int = SEED,
) -> Asked:
    """A text with its queries.

    Parameters
    ----------
    corpus : Corpus or sequence of str
    queries : int or sequence of str
        How many sentences of the text are drawn; all, if it has fewer. Or the queries
        themselves.

    Raises InputError for a text without sentences, and for no queries.
    """
    sentences = getattr(corpus, "sentences", corpus)
    if isinstance(sentences, str) or not len(sentences):
        raise InputError("sentences: are empty; give a list of sentences")
    if not isinstance(queries, int):
        if isinstance(queries, str) or not len(queries):
            raise InputError("queries: are empty; give a list of queries")
        return Asked(corpus, queries, np.full(len(queries), -1))
    in_range("queries", queries, 1, 10**7)
    number = min(queries, len(sentences))
    drawn = np.random.default_rng(seed).choice(len(sentences), number, replace=False)
    rows = np.sort(drawn)
    return Asked(corpus, [sentences[int(row)] for row in rows], rows)


def search(embedder: Any, asked: Asked, k: int, name: str = "") -> Searched:
    """The k nearest sentences of each query under one embedder.

    Parameters
    ----------
    embedder : str, Embedder, object with ``encode``, or float[n, d]
        A name as for `load`. What has no name of its own is not cached. An array holds
        the vectors of the text's sentences; its queries must be drawn from the text.
    name : str
        What to call it; by default its own.

    Raises
    ------
    InputError
        No text for so many neighbors, vectors that are not a row of finite numbers for
        each sentence, or vectors of one direction.
    """
    n = len(asked.sentences)
    most = n - 1 if asked.are_drawn else n
    in_range("k", k, 1, most, f"the text has {n} sentences")
    embedder = load(embedder) if isinstance(embedder, str) else embedder
    name = name or getattr(embedder, "name", type(embedder).__name__)
    seconds = None
    if isinstance(embedder, np.ndarray):
        vectors = _given(embedder, asked, name)
        of_queries = vectors[asked.rows]
    else:
        vectors = EmbeddingStore().embed(embedder, asked.corpus, show_progress_bar=True)
        of_queries = _of_queries(embedder, vectors, asked)
    if isinstance(embedder, Embedder):
        seconds = EmbeddingStore().seconds(embedder, asked.corpus)
    found = exact(of_queries, vectors, k, exclude=asked.rows)
    if most > 1 and len(asked.queries) > 1 and np.ptp(found.similarities) < ROUNDING:
        raise InputError(
            f"{name}: every neighbor is as near as every other one, {own.DIFFERENT}"
        )
    cut = getattr(embedder, "cut", lambda sentences: (0, 0))(asked.sentences)
    cost = Cost(seconds, bytes_of(embedder, vectors))
    return Searched(name, asked.fingerprint, found.ids, cost, cut)


def _given(vectors: np.ndarray, asked: Asked, name: str) -> np.ndarray:
    """Vectors that the user has made."""
    vectors = as_matrix(name, vectors)
    n = len(asked.sentences)
    if len(vectors) != n:
        raise InputError(
            f"{name}: has {len(vectors)} vectors for {n} sentences; "
            "give one for each, in the order of the text"
        )
    if not asked.are_drawn:
        raise InputError(
            f"{name}: vectors cannot encode queries; give an embedder, or no queries"
        )
    check_finite_rows(name, vectors.sum(axis=1))
    return vectors


def _of_queries(embedder: Any, vectors: Embeddings, asked: Asked) -> Embeddings:
    if asked.are_drawn:
        return vectors[asked.rows]
    if isinstance(embedder, Embedder):
        embedder = fit(embedder, asked.corpus)
    return EmbeddingStore().embed(embedder, list(asked.queries))


def bytes_of(embedder: Any, vectors: Embeddings) -> float:
    """What a stored vector takes; of sparse vectors, on average."""
    bits = getattr(embedder, "bits", BITS)
    if isinstance(vectors, np.ndarray):
        return float(np.ceil(bits * vectors.shape[1] / 8))
    return 2 * vectors.nnz * bits / 8 / vectors.shape[0]  # each with its place


# -- both sides ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Swap:
    """What changes when one embedder takes another's place.

    Attributes
    ----------
    asked : Asked
    old, new : Searched
    sampling : stats.Sampling
        Of the intervals.
    """

    asked: Asked
    old: Searched
    new: Searched
    sampling: stats.Sampling

    @property
    def k(self) -> int:
        """How many neighbors each query has."""
        return self.old.ids.shape[1]

    @cached_property
    def overlaps(self) -> np.ndarray:
        """The share of neighbors that a query keeps, float64[q]."""
        return n2o.overlap(self.old.ids, self.new.ids)

    @property
    def first_changed(self) -> np.ndarray:
        """Whether a query's first result is another one, bool[q]."""
        return self.old.ids[:, 0] != self.new.ids[:, 0]

    @property
    def first_lost(self) -> np.ndarray:
        """Whether a query's first result is not among the new k, bool[q]."""
        return ~(self.old.ids[:, :1] == self.new.ids).any(axis=1)

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """N2O and both shares of queries, with intervals.

        Columns value, low, high, constant; rows n2o, first_changed, first_lost.
        """
        columns = {
            "n2o": self.overlaps,
            "first_changed": self.first_changed,
            "first_lost": self.first_lost,
        }
        table = pd.DataFrame(columns, dtype=float)
        found = stats.bootstrap(
            stats.mean,
            table.to_numpy(),
            sampling=self.sampling,
            clusters=self.asked.clusters,
        )
        return found.table(table, "measure")

    @property
    def chance(self) -> float:
        """The N2O of two embedders that draw their neighbors blindly."""
        n = len(self.asked.sentences)
        return n2o.chance(self.k, n - 1 if self.asked.are_drawn else n)

    def lines(self) -> list[str]:
        """Four lines for a terminal, and one for each side that cuts sentences."""
        shown = {
            row.Index: f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})"
            for row in self.numbers.itertuples()
        }
        queries = f"{len(self.asked.queries):,} queries, k = {self.k}"
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
            tokens, longer = side.cut
            if longer:
                lines.append(
                    f"{side.name} reads {tokens:,} tokens of a sentence; "
                    f"longer sentences, which it cuts: {longer:,}"
                )
        return lines

    def changes(self) -> pd.DataFrame:
        """A row for each query: what it loses and gains, as lists of sentences.

        Columns query, overlap, first_changed, first_lost, lost, gained; the least
        overlap comes first. Sentences are ordered from the nearest.
        """
        rows = []
        for place in np.argsort(self.overlaps, kind="stable"):
            old = self.old.ids[place]
            new = self.new.ids[place]
            rows.append(
                {
                    "query": self.asked.queries[int(place)],
                    "overlap": self.overlaps[place],
                    "first_changed": bool(self.first_changed[place]),
                    "first_lost": bool(self.first_lost[place]),
                    "lost": self._texts(old[~np.isin(old, new)]),
                    "gained": self._texts(new[~np.isin(new, old)]),
                }
            )
        return pd.DataFrame(rows)

    def _texts(self, ids: np.ndarray) -> list[str]:
        return [self.asked.sentences[int(i)] for i in ids]

    def found_by(self) -> pd.DataFrame:
        """For how many queries each sentence is found: columns sentence, old, new.

        The greatest change comes first. Sentences that nobody finds are left out.
        """
        n = len(self.asked.sentences)
        table = pd.DataFrame(
            {
                "old": np.bincount(self.old.ids.ravel(), minlength=n),
                "new": np.bincount(self.new.ids.ravel(), minlength=n),
            }
        )
        table = table[(table > 0).any(axis=1)]
        change = (table["new"] - table["old"]).abs()
        table = table.loc[change.sort_values(ascending=False, kind="stable").index]
        table.insert(0, "sentence", self._texts(table.index.to_numpy()))
        return table.reset_index(drop=True)

    def write(self, folder: Path) -> None:
        """Write ``swap.json``, which `lib.run.swap` reads, and ``lost.csv``."""
        numbers = self.numbers[["value", "low", "high"]].to_dict("index")
        summary = {"lines": self.lines(), "numbers": numbers}
        with files.replacing(folder / "swap.json") as stream:
            stream.write(json.dumps(summary, indent=1, ensure_ascii=False).encode())
        changes = self.changes()
        for column in ("lost", "gained"):
            changes[column] = [
                json.dumps(sentences, ensure_ascii=False)
                for sentences in changes[column]
            ]
        content = changes.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        with files.replacing(folder / "lost.csv") as stream:
            stream.write(content.encode())


def between(
    asked: Asked, old: Searched, new: Searched, sampling: stats.Sampling | None = None
) -> Swap:
    """What changes between two searches.

    Raises InputError unless both were of the same text, with the same queries and k.
    """
    for side in (old, new):
        if side.fingerprint != asked.fingerprint:
            raise InputError(
                f"{side.name}: has searched another text, or with other queries; "
                "search the same text with the same queries"
            )
    if old.ids.shape != new.ids.shape:
        raise InputError(
            f"k: {old.name} has {old.ids.shape[1]} neighbors of a query and {new.name} "
            f"{new.ids.shape[1]}; give both the same k"
        )
    if old.name == new.name:
        old = replace(old, name=f"{old.name} (old)")
        new = replace(new, name=f"{new.name} (new)")
    return Swap(asked, old, new, sampling or stats.Sampling(SEED))


def compare(
    old: Any,
    new: Any,
    sentences: Corpus | Sequence[str],
    k: int = 10,
    queries: int | Sequence[str] = QUERIES,
    seed: int = SEED,
) -> Swap:
    """Whether a new embedder finds what the old one finds, on a text of one's own.

    Parameters
    ----------
    old, new : str, Embedder, object with ``encode``, or float[n, d]
        As for `search`; each encodes the text once.
    sentences : Corpus or sequence of str
        What is searched.
    k : int
        How many neighbors users see.
    queries : int or sequence of str
        How many sentences are drawn as queries, or the queries themselves.
    seed : int
        Of the queries and of the intervals.

    Raises InputError as `ask` and `search` do.
    """
    asked = ask(sentences, queries, seed)
    names = [
        side if isinstance(side, str) else getattr(side, "name", label)
        for side, label in ((old, "old"), (new, "new"))
    ]
    first = search(old, asked, k, names[0])
    second = search(new, asked, k, names[1])
    return between(asked, first, second, stats.Sampling(seed))


# -- fine-tuning -----------------------------------------------------------------------


class Drift:
    """How much of what an embedder found it still finds while it is trained on.

    Called as sentence-transformers' trainer calls an evaluator. Use `evaluator`, which
    makes one that the trainer accepts.

    Parameters
    ----------
    old : Any
        As for `search`: the embedder before training. It is searched at once, so the
        model that is then trained will do.
    sentences : Corpus or sequence of str
    k : int
    queries : int or sequence of str
    name : str
        Precedes the names of the metrics.
    """

    greater_is_better = True

    def __init__(
        self,
        old: Any,
        sentences: Corpus | Sequence[str],
        k: int = 10,
        queries: int | Sequence[str] = QUERIES,
        name: str = "",
    ) -> None:
        self.prefix = f"{name}_" if name else ""
        self.primary_metric = f"{self.prefix}n2o"
        self.k = k
        self.asked = ask(sentences, queries)
        if hasattr(old, "encode") and not isinstance(old, Embedder):
            old = _Silent(old)
        self.old = search(old, self.asked, k, "old")

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
        new = search(_Silent(model), self.asked, self.k, "new")
        swap = between(self.asked, self.old, new)
        values = {
            "n2o": float(swap.overlaps.mean()),
            "first_changed": float(swap.first_changed.mean()),
            "first_lost": float(swap.first_lost.mean()),
        }
        if output_path is not None:
            self._add_line(Path(output_path), {"epoch": epoch, "steps": steps} | values)
        return {f"{self.prefix}{metric}": value for metric, value in values.items()}

    def _add_line(self, folder: Path, row: dict[str, float]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.prefix}n2o_evaluation_results.csv"
        is_new = not file.exists()
        with file.open("a", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(row))
            if is_new:
                writer.writeheader()
            writer.writerow(row)


class _Silent:
    """A model that shows no progress bar: the trainer has one of its own."""

    def __init__(self, model: Any) -> None:
        self._encode = model.encode

    def encode(self, sentences: list[str]) -> Any:
        try:
            return self._encode(sentences, show_progress_bar=False)
        except TypeError:
            return self._encode(sentences)


def evaluator(
    old: Any,
    sentences: Corpus | Sequence[str],
    k: int = 10,
    queries: int | Sequence[str] = QUERIES,
    name: str = "",
) -> Callable[..., dict[str, float]]:
    """A `Drift` that is an evaluator of sentence-transformers, if that is installed."""
    try:
        from sentence_transformers.base.evaluation import SentenceEvaluator
    except ImportError:
        return Drift(old, sentences, k, queries, name)

    class N2OEvaluator(Drift, SentenceEvaluator):
        """Nearest neighbor overlap with the embedder before training."""

    return N2OEvaluator(old, sentences, k, queries, name)
