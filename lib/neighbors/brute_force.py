"""Exact nearest neighbors by cosine similarity: the front door of the dense and the sparse search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.neighbors.contract import Neighbors, Vectors, check_k, check_shapes, exclusions
from lib.run import arrays, progress
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.run.processor import cores

MEMORY = 2**30
DEVICES = ("auto", "cpu", "cuda", "mps")


def exact(
    queries: Vectors,
    corpus: Vectors,
    k: int,
    exclude: Sequence[int] | Sequence[Sequence[int]] | None = None,
    show_progress_bar: bool = False,
    memory: int = MEMORY,
    device: str = "auto",
) -> Neighbors:
    """Find the `k` corpus vectors with the highest cosine similarity to each query.

    The result is that of float64 brute force, whatever the processor, the memory and the number of threads.

    Parameters
    ----------
    queries : real[q, d], an array or a SciPy sparse array
    corpus : real[n, d], of the same kind; a memory-map that is larger than memory will do
    k : int, at least 1
    exclude : for query i the corpus index that it may not return (itself, say), or a sequence of such
        indices; -1 or an empty sequence for none
    memory : int, bytes that the search may use beside its input and its result; many queries in little memory
        take several passes over the corpus
    device : where dense vectors are compared roughly before they are compared in float64: "cpu"; "cuda" or
        "mps", an accelerator; "auto", an accelerator that CUDA knows, for a search that is worth it, else "cpu"

    Returns
    -------
    Neighbors
        Similarities that agree to 12 decimals are tied; ties go to the lower index. A zero vector has
        similarity 0 to everything.

    Raises
    ------
    InputError
        Unequal dimensions, NaN or infinity, an index in `exclude` that the corpus does not have, fewer than `k`
        vectors left for some query, too little memory, or a device that is not there.
    """
    queries, corpus = alike(queries, corpus)
    check_shapes(queries, corpus)
    excluded = exclusions(exclude, queries.shape[0], corpus.shape[0])
    check_k(k, excluded, corpus.shape[0])
    similarities, ids = nearest(queries, corpus, k, excluded, memory, device, show_progress_bar=show_progress_bar)
    return Neighbors(ids, similarities.astype(np.float32))


def nearest(
    queries: Vectors,
    corpus: Vectors,
    k: int,
    excluded: Sequence[np.ndarray],
    memory: int = MEMORY,
    device: str = "auto",
    threads: int | None = None,
    show_progress_bar: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The search behind `exact`, for callers that have checked their arguments and merge lists.

    Parameters
    ----------
    excluded : for each query its excluded indices, int64, ascending (see `lib.neighbors.contract.exclusions`)
    threads : int or None, how many to use; None for as many as there are cores

    Returns
    -------
    similarities : float64[q, k], rounded to 12 decimals, nearest first; -infinity where fewer than k are left
    ids : int64[q, k]
    """
    one_of("device", device, DEVICES)
    engine = _sparse if sp.issparse(corpus) else partial(_dense, device=device)
    search = engine(queries, corpus, k, excluded, memory=memory, threads=threads or cores())
    (q, _), (n, _) = queries.shape, corpus.shape
    found = [(np.empty((0, k)), np.empty((0, k), np.int64))]
    with progress.bar(n * -(-q // search.group), "search", unit="vectors", show=show_progress_bar) as bar:
        for start in range(0, q, search.group):
            found.append(search.search(start, min(start + search.group, q), bar.update))
    similarities, ids = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return similarities, ids


def alike(queries: Vectors, corpus: Vectors, name: str = "queries") -> tuple[Vectors, Vectors]:
    """Both as CSR arrays or both as arrays, checked (`lib.run.arrays.matrix`); `name` is what errors call the first.

    Raises InputError for one of each kind, and for what is not real numbers.
    """
    if sp.issparse(corpus) != sp.issparse(queries):
        raise InputError(f"{name} and corpus: one is sparse and the other dense; give both of one kind")
    return arrays.matrix(name, queries), arrays.matrix("corpus", corpus)


def _sparse(*arguments: Any, **options: Any) -> Any:
    from lib.neighbors.sparse import Sparse

    return Sparse(*arguments, **options)


def _dense(queries: np.ndarray, corpus: np.ndarray, *arguments: Any, device: str, **options: Any) -> Any:
    from lib.neighbors.dense import Dense, choose_screen

    screen = choose_screen(device, queries.shape[0] * corpus.shape[0] * corpus.shape[1])
    return Dense(queries, corpus, *arguments, screen=screen, **options)
