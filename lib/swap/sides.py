"""A side of a swap: what has vectors for a text and its queries.

``name`` is an embedder, ``bm25``, or a file of vectors (``text.npy:queries.npy``);
``name#hnsw`` searches it with an approximate index, ``name@binary#full-query`` compares
full vectors of the queries with a smaller form of the text's.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.base import paths
from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.swap.texts import SearchTask
from lib.swap.vectors import (
    FILES,
    SIMILARITIES,
    Vectors,
    from_files,
    is_matrix,
    of_task,
)

if TYPE_CHECKING:
    from lib.embedders.base import Embedder

INDEXES = ("hnsw", "ivf", "ngt")
FULL = "full-query"
BM25 = "bm25"


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
            given = from_files(given, similarity or "cosine")
    if isinstance(given, Vectors) or is_matrix(given):
        vectors = given if isinstance(given, Vectors) else Vectors(given)
        return Side(
            label or "vectors", lambda task: of_task(label, vectors, task), index
        )
    embedder = _embedder(given, name, pooling, prompts)
    return Side(
        label if isinstance(given, str) else embedder.name,
        lambda task: _encoded(embedder, prompts, task, similarity, full_query),
        index,
    )


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
