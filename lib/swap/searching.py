"""Search with the vectors of a side: exact for three similarities, or approximate."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.neighbors import exact
from lib.swap.sides import opened
from lib.swap.texts import SearchTask
from lib.swap.vectors import Vectors
from lib.vectors import Embeddings, dense

ROUNDING = 1e-5  # scores that differ by no more are all the same
EVEN = 1e-6  # lengths that differ by no more, relative to the greatest, are equal


class Cost(NamedTuple):
    """What a sentence and a query cost.

    Attributes
    ----------
    seconds : float or None
        To encode a sentence, reading the model included; None if not measured.
    bytes : float
        Of its vector.
    query : float or None
        Seconds to search with the vector of a query.
    """

    seconds: float | None = None
    bytes: float = 0
    query: float | None = None

    def __str__(self) -> str:
        took = "encoding not measured"
        if self.seconds:
            took = f"{1 / self.seconds:,.0f} sentences a second"
        search = f", {1000 * self.query:.2g} ms a search" if self.query else ""
        return f"{took}, {self.bytes:,.0f} bytes a vector{search}"


NOT_MEASURED = Cost()


@dataclass(frozen=True, eq=False)
class Searched:
    """What one side finds for the queries.

    Attributes
    ----------
    name : str
    fingerprint : str
        Of the text and the queries.
    ids : int64[q, k]
        The neighbors of each query: indices of sentences.
    cost : Cost
    notes : tuple of str
        What a reader must know of it: predicates whose subject is the side.
    scores : float64[q, k]
        Cosines, dot products or negative distances.
    placed : Vectors, optional
        The vectors that were searched.
    index : str
        The approximate index; empty for an exact search.
    parts : dict of tuple to int64[q, k]
        What it finds in parts of the text (`comparison.Swap.growth`).
    """

    name: str
    fingerprint: str
    ids: np.ndarray
    cost: Cost = NOT_MEASURED
    notes: tuple[str, ...] = ()
    scores: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    placed: Vectors | None = None
    index: str = ""
    parts: dict[tuple, np.ndarray] = field(default_factory=dict)


def search(given: Any, task: SearchTask, k: int, name: str = "") -> Searched:
    """The k nearest sentences of each query under one side.

    `given` and `name` are as for `opened`.

    Raises
    ------
    InputError
        Too few sentences for `k` neighbors, vectors that are not one row of finite
        numbers per sentence, or vectors that all have the same direction.
    """
    n = len(task.sentences)
    why = f"the text has {n} sentence{'s' if n > 1 else ''}"
    in_range("k", k, 1, task.candidates, why)
    side = opened(given, name)
    placed = side.place(task)
    started = time.perf_counter()
    ids = nearest(placed, k, task.rows, side.index)
    seconds = (time.perf_counter() - started) / len(task.queries)
    found = scores(placed, ids)
    if len(ids) > 1 and n > 2 and _alike(found):
        # The nearest of all queries may be equally near: themselves.
        deeper = nearest(placed, min(k + 1, task.candidates), task.rows)
        if _alike(scores(placed, deeper)):
            raise InputError(
                f"{side.name}: every neighbor is as near as every other one; give "
                "vectors that differ between sentences"
            )
    cost = Cost(placed.seconds, placed.bytes, seconds)
    notes = placed.notes
    short = int((found[:, -1] == 0).sum())
    if short and sp.issparse(placed.text):
        notes += (
            f"has fewer than {k} sentences that share a word with the query, for "
            f"{short:,} queries; the rest of their results are in the text's order.",
        )
    return Searched(
        side.name, task.fingerprint, ids, cost, notes, found, placed, side.index
    )


def _alike(found: np.ndarray) -> bool:
    return bool(np.ptp(found) <= ROUNDING * np.abs(found).max())


def nearest(placed: Vectors, k: int, exclude: Any, index: str = "") -> np.ndarray:
    """The k nearest of each query by the similarity of the vectors, int64[q, k].

    Similarities that agree to 12 decimals, relative to the greatest that is possible,
    are tied; ties go to the lower index.
    """
    queries, text = by_cosine(placed)
    if index:
        from lib.neighbors.approximate import build

        return build(text, index).search(queries, k, exclude).ids
    return exact(queries, text, k, exclude=exclude).ids


def by_cosine(placed: Vectors) -> tuple[Embeddings, Embeddings]:
    """Vectors whose cosines rank as the similarity of the given ones does.

    One more dimension gives every vector of the text the length M of the longest, so
    that a cosine is the dot product by M and the query's length (Bachrach et al. 2014);
    the square of a distance is a dot product, but for what all of the text share.
    """
    queries, text, similarity = placed.queries, placed.text, placed.similarity
    if similarity == "cosine":
        return queries, text
    squares = _squares(text)
    if np.ptp(squares) <= EVEN * squares.max(initial=0):  # all three rank alike
        return queries, text
    if similarity == "euclidean":
        middle = np.asarray(text.mean(axis=0), np.float64).reshape(1, -1)
        text = _dense(text) - middle
        queries = _dense(queries) - middle
        squares = _squares(text)
        text = np.hstack([text, squares[:, None]])
        queries = np.hstack([queries, np.full((len(queries), 1), -0.5)])
        squares = _squares(text)
    rest = np.sqrt(np.maximum(squares.max() - squares, 0))[:, None]
    nothing = np.zeros((queries.shape[0], 1))
    if sp.issparse(text):
        queries = sp.csr_array(sp.hstack([queries, nothing]))
        return queries, sp.csr_array(sp.hstack([text, rest]))
    return np.hstack([queries, nothing]), np.hstack([text, rest])


def scores(placed: Vectors, ids: np.ndarray) -> np.ndarray:
    """Cosines, dot products or negative distances of queries and sentences."""
    found = np.empty(ids.shape)
    for row, some in enumerate(ids):
        query = _dense(placed.queries[[row]])[0]
        vectors = _dense(placed.text[some])
        if placed.similarity == "euclidean":
            found[row] = -np.linalg.norm(vectors - query, axis=1)
            continue
        found[row] = vectors @ query
        if placed.similarity == "cosine":
            lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
            found[row] /= np.where(lengths > 0, lengths, 1)
    return found


def _dense(vectors: Embeddings) -> np.ndarray:
    return np.asarray(dense(vectors), np.float64)


def _squares(vectors: Embeddings) -> np.ndarray:
    """The squared length of each row, float64[n]."""
    if isinstance(vectors, sp.csr_array):
        return np.asarray(vectors.multiply(vectors).sum(axis=1), np.float64).ravel()
    return np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
