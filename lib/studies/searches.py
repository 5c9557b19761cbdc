"""A text that is searched with the same queries under one embedder after another."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lib import embedders
from lib.base import paths
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.corpora import Corpus, text
from lib.embedders import own
from lib.embedders.base import Embedder, as_sentences
from lib.neighbors import Neighbors, exact
from lib.store import EmbeddingStore, fit
from lib.vectors import Embeddings, as_matrix, check_finite_rows

QUERIES = 1000  # drawn from a text that has more sentences
SEED = 2020
BITS = 32  # of a number, where an embedder does not say
ROUNDING = 1e-5  # similarities that differ by no more are all the same


class Cost(NamedTuple):
    """What a sentence costs.

    Attributes
    ----------
    seconds : float or None
        To encode it, reading the model included; None if that was not measured.
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
    notes : tuple of str
        What a reader must know of it (`lib.store.Encoded`).
    """

    name: str
    fingerprint: str
    ids: np.ndarray
    cost: Cost = NOT_MEASURED
    notes: tuple[str, ...] = ()


def load_embedder(embedder: str, pooling: str = "", prompt: str = "") -> Embedder:
    """An embedder by name, hub id, folder or ``path/to/file.py:function``.

    Pooling and prompt are for a model in a folder or on the hub; InputError for others.
    """
    folder = embedder.partition("@")[0]
    if "/" not in embedder and os.path.isdir(paths.from_root(folder)):
        embedder = f"./{embedder}"
    given = {"pooling": pooling, "prompt": prompt}
    options = {key: value for key, value in given.items() if value}
    return embedders.load(embedder, **options)


class SearchTask(NamedTuple):
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
    def fingerprint(self) -> str:
        """32 hexadecimal digits for the text, and as many for the queries."""
        return text.fingerprint(self.sentences) + text.fingerprint(self.queries)


def make_queries(
    corpus: Corpus | Sequence[str],
    queries: int | Sequence[str] = QUERIES,
    seed: int = SEED,
) -> SearchTask:
    """A text with its queries; InputError if there are no sentences or no queries.

    `queries` are the queries themselves, or how many sentences of the text are drawn:
    all, if it has fewer.
    """
    sentences: Any = getattr(corpus, "sentences", corpus)
    if isinstance(sentences, str) or not len(sentences):
        raise InputError("sentences: empty, or one string; give a list of sentences")
    if sentences is corpus:
        sentences = as_sentences(sentences)  # type: ignore[arg-type]
        corpus = sentences
    if not isinstance(queries, int):
        if isinstance(queries, str) or not len(queries):
            raise InputError("queries: empty, or one string; give a list of queries")
        return SearchTask(corpus, as_sentences(queries), np.full(len(queries), -1))
    in_range("queries", queries, 1, 10**7)
    number = min(queries, len(sentences))
    drawn = np.random.default_rng(seed).choice(len(sentences), number, replace=False)
    rows = np.sort(drawn)
    return SearchTask(corpus, [sentences[int(row)] for row in rows], rows)


def search(embedder: Any, task: SearchTask, k: int, name: str = "") -> Searched:
    """The k nearest sentences of each query under one embedder.

    Parameters
    ----------
    embedder : str, Embedder, object with ``encode``, or float[n, d]
        A name as for `load_embedder`. What has no name of its own is not cached. An
        array holds the vectors of the text's sentences; its queries must be drawn from
        the text.
    name : str
        What to call one that has no name of its own.

    Raises
    ------
    InputError
        Too few sentences for `k` neighbors, vectors that are not one row of finite
        numbers per sentence, or vectors that all have the same direction.
    """
    n = len(task.sentences)
    why = f"the text has {n} sentence{'s' if n > 1 else ''}"
    in_range("k", k, 1, task.candidates, why)
    notes: list[str] = []
    if isinstance(embedder, np.ndarray):
        name = name or "vectors"
        vectors = _checked(embedder, task, name)
        cost = Cost(None, bytes_of(vectors, BITS))
    else:
        embedder = load_embedder(embedder) if isinstance(embedder, str) else embedder
        embedder = own.as_embedder(embedder, label=name)
        name = embedder.name
        found = EmbeddingStore().encoded(embedder, task.corpus, show_progress_bar=True)
        vectors = found.vectors
        cost = Cost(found.seconds, bytes_of(vectors, embedder.bits))
        notes += found.notes
    if task.are_drawn:
        queries = vectors[task.rows]
    else:
        fitted = fit(embedder, task.corpus)  # type: ignore[arg-type]
        found = EmbeddingStore().encoded(fitted, list(task.queries))
        queries = found.vectors
        notes += found.notes
    nearest = ranked(name, queries, vectors, k, task.rows)
    known = tuple(dict.fromkeys(notes))
    return Searched(name, task.fingerprint, nearest.ids, cost, known)


def _checked(given: np.ndarray, task: SearchTask, name: str) -> Embeddings:
    """The vectors of the text's sentences that a user gives."""
    vectors: Any = as_matrix(name, given)
    n = len(task.sentences)
    if len(vectors) != n:
        raise InputError(
            f"{name}: has {len(vectors)} vectors for {n} sentences; "
            "give one for each, in the order of the text"
        )
    if not task.are_drawn:
        raise InputError(
            f"{name}: vectors cannot encode queries; give an embedder, or no queries"
        )
    check_finite_rows(name, vectors.sum(axis=1))
    return vectors


def bytes_of(vectors: Embeddings, bits: int) -> float:
    """What a stored vector takes; of sparse vectors, on average."""
    if isinstance(vectors, np.ndarray):
        return float(np.ceil(bits * vectors.shape[1] / 8))
    return 2 * vectors.nnz * bits / 8 / vectors.shape[0]  # each with its place


def ranked(
    name: str, queries: Embeddings, vectors: Embeddings, k: int, exclude: np.ndarray
) -> Neighbors:
    """The k nearest vectors of each query; `exclude` is as for `neighbors.exact`.

    InputError if all are equally near, so that there is nothing to rank.
    """
    # One more, since the nearest of all queries may be equally near: themselves.
    depth = max(k, min(k + 1, vectors.shape[0] - 1))
    found = exact(queries, vectors, depth, exclude=exclude)
    could_differ = queries.shape[0] > 1 and vectors.shape[0] > 2
    if could_differ and np.ptp(found.similarities) < ROUNDING:
        raise InputError(
            f"{name}: every neighbor is as near as every other one, {own.DIFFERENT}"
        )
    return Neighbors(found.ids[:, :k], found.similarities[:, :k])
