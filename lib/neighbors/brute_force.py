"""Exact nearest neighbors by cosine similarity, by brute force, block by block.

Every query is compared with every vector.

A *screen* (one of the classes in `lib.neighbors.dense` and `lib.neighbors.sparse`)
computes scores that lie within a margin of the similarities. What a score lets through
is compared again in float64, so that neither the screen nor the blocks nor the number
of threads have a part in the result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.base import progress
from lib.base.compiled import njit
from lib.base.environment import computes_in_bfloat16, thread_pool
from lib.base.parameters import one_of
from lib.neighbors.contract import (
    Best,
    Exclude,
    Exclusions,
    Neighbors,
    Vectors,
    check,
    nearest_first,
    put,
    rounded,
)
from lib.neighbors.dense import Bfloat16, Float32, Gpu, available
from lib.neighbors.sparse import Sparse
from lib.vectors import unit

# Below so many products of two numbers, loading torch takes longer than it saves.
WORTH_TORCH = 10**10
# Of a block's rows: to score them again costs as much as a finer screen.
TOO_MANY = 1 / 16


def exact(
    queries: Vectors,
    corpus: Vectors,
    k: int,
    exclude: Exclude = None,
    show_progress_bar: bool = False,
    device: str = "auto",
) -> Neighbors:
    """Find the `k` corpus vectors with the highest cosine similarity to each query.

    The result is that of float64 brute force, whatever the processor and the number of
    threads.

    Parameters
    ----------
    queries : real[q, d]
        An array or a SciPy sparse array.
    corpus : real[n, d]
        Of the same kind; a memory-map that is larger than memory will do.
    k : int
        At least 1.
    exclude : sequence of int or of sequences of int, optional
        For query i the corpus index that it may not return (itself, say), or several;
        -1 or an empty sequence for none.
    show_progress_bar : bool
    device : {"auto", "cpu", "cuda", "mps"}
        Where dense vectors are screened; "auto" takes a CUDA device where there is one
        and the search is worth it.

    Returns
    -------
    Neighbors
        Similarities that agree to 12 decimals are tied; ties go to the lower index. A
        zero vector has similarity 0 to everything.

    Raises
    ------
    InputError
        Unequal dimensions, NaN or infinity, an index in `exclude` that the corpus does
        not have, fewer than `k` vectors left for some query, or a device that is not
        there.

    Examples
    --------
    >>> from lib.neighbors import exact
    >>> vectors = np.array([[1, 0], [2, 1], [0, 1], [-1, 0]])
    >>> found = exact(vectors[:2], vectors, k=2, exclude=[0, 1])
    >>> found.ids
    array([[1, 2],
           [0, 2]])
    >>> found.similarities.round(2)
    array([[0.89, 0.  ],
           [0.89, 0.45]], dtype=float32)
    """
    queries, corpus, excluded = check(queries, corpus, k, exclude)
    similarities, ids = nearest(
        choose(queries, corpus, device), k, excluded, show_progress_bar
    )
    return Neighbors(ids, similarities.astype(np.float32))


def nearest(
    screen: Any,
    k: int,
    excluded: Exclusions,
    show_progress_bar: bool = False,
    threads: int | None = None,
) -> Best:
    """The k best of each query, nearest first, in float64.

    Where fewer are left, the places stay open.

    Parameters
    ----------
    screen : object
        From `choose`.
    excluded : Exclusions
        From `lib.neighbors.contract.check`.
    threads : int, optional
        As many as there are cores without it.
    """
    shape = screen.queries.shape[0], k
    best = Best(np.full(shape, -np.inf), np.full(shape, -1))
    lock = Lock()

    def search(block: range) -> None:
        nonlocal screen
        current = screen
        for some, scores, vectors in scored(current, block, excluded):
            floors = best.similarities[some, 0]
            i, j = current.candidates(scores, floors, k)
            similarities = rounded(current.similarities(some, i, j, vectors, scores))
            with lock:
                _offer(
                    best.similarities[some],
                    best.ids[some],
                    i,
                    j + block.start,
                    similarities,
                )
            bearable = max(TOO_MANY * len(block), 4 * k)  # candidates of a query
            if current.finer and len(i) > len(scores) * bearable:
                screen = current.finer(current.queries, current.corpus)

    each_block(search, screen, "search", show_progress_bar, threads)
    return nearest_first(*best, k)


def choose(queries: Vectors, corpus: Vectors, device: str = "auto") -> Any:
    """The screen for vectors of this kind, on a device of `exact`."""
    one_of("device", device, ("auto", "cpu", "cuda", "mps"))
    if sp.issparse(corpus):
        return Sparse(queries, corpus)
    queries = unit(queries, "queries")
    n, d = corpus.shape
    worth_torch = find_spec("torch") is not None and (
        "torch" in sys.modules or len(queries) * n * d >= WORTH_TORCH
    )
    wants_gpu = device in ("cuda", "mps") or (device == "auto" and worth_torch)
    if wants_gpu and available(device):
        return Gpu(queries, corpus, device)
    if worth_torch and computes_in_bfloat16():
        return Bfloat16(queries, corpus)
    return Float32(queries, corpus)


def scored(
    screen: Any, block: range, excluded: Exclusions
) -> Iterator[tuple[slice, Any, Any]]:
    """Yield a few queries at a time with their scores for a block.

    Excluded pairs are hidden.
    """
    vectors = screen.load(block)
    hidden = excluded.within(block.start, block.stop)
    for start in range(0, screen.queries.shape[0], screen.query_step):
        some = slice(start, start + screen.query_step)
        scores = screen.scores(some, vectors)
        here = (hidden.queries >= some.start) & (hidden.queries < some.stop)
        scores[hidden.queries[here] - start, hidden.ids[here]] = screen.hidden
        yield some, scores, vectors


def each_block(
    work: Callable[[range], None],
    screen: Any,
    name: str,
    show: bool,
    threads: int | None = None,
) -> None:
    """Call `work` for each block of the screen's corpus, in threads.

    A progress bar is shown.
    """
    n = screen.corpus.shape[0]
    starts = range(0, n, screen.rows)
    blocks = [range(start, min(start + screen.rows, n)) for start in starts]
    with (
        progress.bar(n, name, unit="vectors", show=show) as bar,
        thread_pool(threads, initializer=screen.enter_thread) as pool,
    ):
        for block, _ in zip(blocks, pool.map(work, blocks), strict=True):
            bar.update(len(block))


@njit(nogil=True)
def _offer(similarities, ids, queries, new_ids, new_similarities):
    for p in range(len(new_ids)):
        query = queries[p]
        put(similarities[query], ids[query], new_similarities[p], new_ids[p])
