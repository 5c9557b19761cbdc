"""A side of a swap: what has vectors for a text and its queries, and is searched.

``name`` is an embedder, ``bm25``, or a file of vectors (``text.npy:queries.npy``);
``name#hnsw`` searches it with an approximate index, ``name@binary#full-query`` compares
full vectors of the queries with a smaller form of the text's.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib.base import paths
from lib.base.errors import InputError
from lib.base.parameters import in_range, one_of
from lib.neighbors import exact
from lib.swap.texts import SearchTask
from lib.vectors import Embeddings, as_matrix, check_finite_rows, dense

if TYPE_CHECKING:
    from lib.embedders.base import Embedder

SIMILARITIES = ("cosine", "dot", "euclidean")
INDEXES = ("hnsw", "ivf", "ngt")
FULL = "full-query"
BM25 = "bm25"
FILES = (".npy", ".parquet")
BITS = 32  # of a number, where nobody says
ROUNDING = 1e-5  # scores that differ by no more are all the same
EVEN = 1e-6  # lengths that differ by no more, relative to the greatest, are equal
DEEPEST = 10_000


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
class Vectors:
    """Vectors of a text and of its queries.

    Attributes
    ----------
    text : real[n, d]
        A row for each sentence: an array, a list, a data frame or a tensor.
    queries : real[q, d], optional
        A row for each query, unless queries are sentences of the text.
    similarity : {"cosine", "dot", "euclidean"}
    seconds : float or None
        To encode a sentence.
    bits : int
        Of a number where they are stored.
    notes : tuple of str
        What a reader must know of them.
    """

    text: Any
    queries: Any = None
    similarity: str = "cosine"
    seconds: float | None = None
    bits: int = BITS
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> float:
        """What a stored vector takes; of sparse vectors, on average."""
        if isinstance(self.text, np.ndarray):
            return float(np.ceil(self.bits * self.text.shape[1] / 8))
        # Each number with its place.
        return 2 * self.text.nnz * self.bits / 8 / self.text.shape[0]


class Prompts(NamedTuple):
    """What a model takes before a query and before a sentence of the text.

    Empty for what its own configuration says.
    """

    query: str = ""
    text: str = ""


OWN_PROMPTS = Prompts()


@dataclass(frozen=True, eq=False)
class Side:
    """What can be searched: `place` gives its vectors for a task."""

    name: str
    place: Callable[[SearchTask], Vectors]
    index: str = ""


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


# -- what a user names -----------------------------------------------------------------


def opened(
    given: Any,
    name: str = "",
    pooling: str = "",
    prompts: Prompts = OWN_PROMPTS,
    similarity: str = "",
) -> Side:
    """A side by what a user gives; nothing is encoded yet.

    Parameters
    ----------
    given : str, Side, Vectors, Embedder, object with ``encode``, function, or matrix
        A string as the module's docstring says. A matrix holds the vectors of the
        text's sentences. An object with ``encode_query`` and ``encode_document`` is
        called by these.
    name : str
        What to call one that has no name of its own.
    pooling, prompts
        For a model in a folder or on the hub.
    similarity : str
        In place of what a model's configuration says.

    Raises
    ------
    InputError
        Nothing is there, and where it was looked for.
    """
    if similarity:
        one_of("similarity", similarity, SIMILARITIES)
    if isinstance(given, Side):
        return given
    index = ""
    full_query = False
    label = name
    if isinstance(given, str):
        label = given
        if "#" in given and not os.path.exists(paths.from_root(given)):
            given, *options = given.split("#")
            for option in options:
                one_of(f"{label}, after #", option, (*INDEXES, FULL))
            full_query = FULL in options
            index = next((each for each in options if each in INDEXES), "")
        if given == BM25:
            return Side(label, _bm25, index)
        if given.endswith(FILES):
            given = _from_files(given, similarity or "cosine")
    if isinstance(given, Vectors) or _is_matrix(given):
        vectors = given if isinstance(given, Vectors) else Vectors(given)
        return Side(label or "vectors", lambda task: _rows(label, vectors, task), index)
    embedder = _embedder(given, name, pooling, prompts)
    return Side(
        label if isinstance(given, str) else embedder.name,
        lambda task: _encoded(embedder, prompts, task, similarity, full_query),
        index,
    )


def _is_matrix(given: Any) -> bool:
    is_named = isinstance(given, str | Path) or hasattr(given, "encode")
    return hasattr(given, "__len__") and not callable(given) and not is_named


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


# -- search ----------------------------------------------------------------------------


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


# -- embedders -------------------------------------------------------------------------


def load_embedder(embedder: str, pooling: str = "", prompt: str = "") -> Embedder:
    """An embedder by name, hub id, folder or ``path/to/file.py:function``.

    Pooling and prompt are for a model in a folder or on the hub; InputError for others.
    """
    from lib import embedders

    folder = embedder.partition("@")[0]
    if "/" not in embedder and os.path.isdir(paths.from_root(folder)):
        embedder = f"./{embedder}"
    given = {"pooling": pooling, "prompt": prompt}
    options = {key: value for key, value in given.items() if value}
    try:
        return embedders.load(embedder, **options)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{embedder}: needs the package {error.name}, which is not installed; "
            "pip install sentence-embedding-studies[models,hub]"
        ) from error


def _embedder(given: Any, name: str, pooling: str, prompts: Prompts) -> Embedder:
    from lib.embedders import own

    if isinstance(given, str):
        if any(prompts):  # which are refused where there can be none
            load_embedder(given, pooling, prompts.text or prompts.query)
        return load_embedder(given, pooling)
    return own.as_embedder(given, label=name)


def _encoded(
    embedder: Embedder,
    prompts: Prompts,
    task: SearchTask,
    similarity: str,
    full_query: bool,
) -> Vectors:
    """Both kinds of vectors from the store, each kind with its prompt."""
    from lib.store import EmbeddingStore, fit

    store = EmbeddingStore()
    said = getattr(_base(embedder), "prompts", {})
    reading = _in_role(embedder, "document", prompts.text or said.get("document", ""))
    found = store.encoded(reading, task.corpus, show_progress_bar=True)
    compared = similarity or str(embedder.similarity_fn_name)
    if compared not in SIMILARITIES:
        compared = "cosine"
    notes = found.embedder.notes(found.sentences, compared) + found.doubts
    asking = fit(reading, task.corpus)
    asking = _in_role(asking, "query", prompts.query or said.get("query", ""))
    if full_query:
        asking = _full(asking)
    if task.are_drawn and asking is reading:
        queries = found.vectors[task.rows]
    else:
        asked = store.encoded(asking, list(task.queries))
        queries = asked.vectors
        of_queries = asked.embedder.notes(asked.sentences, compared)
        notes += [f"on queries {each}" for each in of_queries if each not in notes]
    known = tuple(dict.fromkeys(notes))
    seconds = found.seconds
    return Vectors(found.vectors, queries, compared, seconds, embedder.bits, known)


def _base(embedder: Any) -> Any:
    """The embedder whose vectors a form makes smaller."""
    while hasattr(embedder, "shrink"):
        embedder = embedder.base
    return embedder


def _full(embedder: Any) -> Any:
    if embedder.name.endswith("-codes"):
        raise InputError(
            f"{embedder.name}: its codes are no vectors that a full query can be "
            "compared with; give @int8"
        )
    return _base(embedder)


def _in_role(embedder: Any, role: str, prompt: str) -> Any:
    """The embedder as it reads one role, "query" or "document"; or itself.

    What a form has learned from the text stays.
    """
    if hasattr(embedder, "shrink"):
        base = _in_role(embedder.base, role, prompt)
        return embedder if base is embedder.base else _copied(embedder, base=base)
    function = getattr(getattr(embedder, "inner", None), f"encode_{role}", None)
    if function is not None:
        return embedder.calling(function, role)
    if getattr(embedder, "prompt", prompt) == prompt or not prompt:
        return embedder
    return _copied(embedder, prompt=prompt)


def _copied(embedder: Any, **changes: Any) -> Any:
    other = copy.copy(embedder)
    for name, value in changes.items():
        setattr(other, name, value)
    return other


# -- words -----------------------------------------------------------------------------


def _bm25(task: SearchTask) -> Vectors:
    """The weights of words, of which BM25 is the dot product (package bm25s)."""
    bm25s = needed("bm25s")
    started = time.perf_counter()
    options = {"stopwords": None, "show_progress": False}
    tokens = bm25s.tokenize(list(task.sentences), **options)
    model = bm25s.BM25()
    model.index(tokens, show_progress=False)
    seconds = (time.perf_counter() - started) / len(task.sentences)
    shape = (len(task.sentences), len(model.scores["indptr"]) - 1)
    parts = [model.scores[part] for part in ("data", "indices", "indptr")]
    text = sp.csc_array(tuple(parts), shape=shape).tocsr()
    asked = bm25s.tokenize(list(task.queries), return_ids=False, **options)
    words = [
        (row, model.vocab_dict[word])
        for row, query in enumerate(asked)
        for word in query
        if word in model.vocab_dict
    ]
    rows, columns = np.array(words, int).reshape(-1, 2).T
    counts = np.ones(len(rows), np.float32)
    queries = sp.csr_array((counts, (rows, columns)), (len(asked), shape[1]))
    return Vectors(text, queries, "dot", seconds)


def needed(package: str) -> Any:
    """A package of the extra ``swap``; InputError where it is not installed."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"the package {package} is not installed; "
            "pip install sentence-embedding-studies[swap]"
        ) from error


# -- vectors from elsewhere ------------------------------------------------------------


def _from_files(given: str, similarity: str) -> Vectors:
    """The vectors of the text and, after a colon, of the queries."""
    text, colon, queries = given.partition(":")
    asked = _read(queries) if colon else None
    return Vectors(_read(text), asked, similarity)


def _read(given: str) -> np.ndarray:
    """An array, or a table with a column of lists or columns of real numbers."""
    path = paths.from_root(given)
    if not path.is_file():
        raise InputError(f"{path}: no such file; give vectors in .npy or .parquet")
    try:
        if path.suffix == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        table = pd.read_parquet(path)
        lists = table.select_dtypes("object")
        if lists.shape[1]:
            return np.stack(lists.iloc[:, -1].to_numpy())
        return table.select_dtypes("floating").to_numpy()
    except (OSError, ValueError) as error:  # pyarrow's own are ValueErrors
        raise InputError(
            f"{path}: cannot be read as vectors; give an array (.npy) or a table "
            "(.parquet) with a column of lists or columns of numbers"
        ) from error


def _rows(name: str, given: Vectors, task: SearchTask) -> Vectors:
    """The vectors of the sentences and queries that are left of the files' lines."""
    one_of("similarity", given.similarity, SIMILARITIES)
    name = name or "vectors"
    text, bits = _matched(name, given.text, task.text, len(task.sentences), "sentences")
    if task.are_drawn:
        return Vectors(text, text[task.rows], given.similarity, None, bits)
    if given.queries is None:
        raise InputError(
            f"{name}: vectors cannot encode queries; give theirs, too "
            "(text.npy:queries.npy), an embedder, or no queries"
        )
    q = len(task.queries)
    queries, _ = _matched(f"{name}, queries", given.queries, task.asked, q, "queries")
    if task.asked is not None:
        queries = queries[task.chosen]
    if queries.shape[1] != text.shape[1]:
        raise InputError(
            f"{name}: queries have {queries.shape[1]} dimensions and the text "
            f"{text.shape[1]}; give both the same number"
        )
    return Vectors(text, queries, given.similarity, None, bits)


def _matched(
    name: str, given: Any, source: Any, number: int, what: str
) -> tuple[Any, int]:
    """The rows that are used, checked, and the bits of their numbers."""
    if hasattr(given, "detach"):  # of PyTorch
        given = given.detach().float().cpu().numpy()
    bits = 8 * getattr(getattr(given, "dtype", None), "itemsize", BITS // 8)
    vectors = as_matrix(name, given)
    rows = source.read if source is not None else number
    if vectors.shape[0] != rows:
        unit = f"lines ({what})" if source is not None else what
        raise InputError(
            f"{name}: has {vectors.shape[0]} vectors for {rows} {unit}; give one for "
            "each, in the order of the text"
        )
    if source is not None and len(source.lines) < rows:
        vectors = vectors[source.lines]
    check_finite_rows(name, vectors.sum(axis=1))
    if vectors.dtype == np.float16:
        vectors = vectors.astype(np.float32)
    return vectors, bits
