"""Vectors of a text and of its queries: from files, arrays, frames and tensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib.base import paths
from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.swap.texts import SearchTask
from lib.vectors import as_matrix, check_finite_rows

SIMILARITIES = ("cosine", "dot", "euclidean")
FILES = (".npy", ".parquet")
BITS = 32  # of a number, where nobody says


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


def is_matrix(given: Any) -> bool:
    """Whether it is a matrix of vectors, rather than a name, a model or a function."""
    is_named = isinstance(given, str | Path) or hasattr(given, "encode")
    return hasattr(given, "__len__") and not callable(given) and not is_named


def from_files(given: str, similarity: str) -> Vectors:
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


def of_task(name: str, given: Vectors, task: SearchTask) -> Vectors:
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
