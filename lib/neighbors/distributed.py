"""Exact nearest neighbors on a cluster: every worker searches pieces of the corpus, and their lists are merged.

A piece of a memory-mapped corpus, dense or the store's CSR, is named by file and offset and mapped by the worker;
other arrays travel. Lists carry float64 similarities, so that ties between pieces are broken as within one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lib import neighbors
from lib.neighbors.brute_force import alike, nearest
from lib.neighbors.contract import Neighbors, Vectors, best, check_k, check_shapes, exclusions
from lib.run import cluster, progress
from lib.run.errors import InputError
from lib.run.parameters import in_range

if TYPE_CHECKING:
    from distributed import Client

QUERIES = 8192  # that go out at a time
SHARD_BYTES = 256 * 2**20  # so much of a corpus does a worker read at a time, at most
SHARD_ROWS = 4096  # no piece is smaller without need
SHARDS_PER_THREAD = 8  # the last ones to finish leave little idle; what a dead worker loses is little


class Found(NamedTuple):
    """The nearest neighbors of each query in a part of the corpus, nearest first.

    Attributes
    ----------
    similarities : float64[q, m], rounded to the 12 decimals that decide ties; -infinity where fewer than m are left
    ids : int64[q, m], indices into the whole corpus
    """

    similarities: np.ndarray
    ids: np.ndarray


class Hidden(NamedTuple):
    """What may not be returned: by query ``rows[i]`` not the vector ``columns[i]``; columns ascend."""

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, excluded: Sequence[np.ndarray]) -> Hidden:
        """From the excluded indices of each query."""
        rows = np.repeat(np.arange(len(excluded)), [len(entry) for entry in excluded])
        columns = np.concatenate([np.empty(0, np.int64), *excluded])
        order = np.argsort(columns, kind="stable")
        return cls(rows[order], columns[order])

    def of_each(self, q: int) -> list[np.ndarray]:
        """The excluded indices of each of `q` queries, ascending."""
        order = np.argsort(self.rows, kind="stable")
        return np.split(self.columns[order], np.searchsorted(self.rows[order], np.arange(1, q)))

    def between(self, start: int, stop: int) -> Hidden:
        """Those of a part of the corpus, whose indices count from its start."""
        first, last = np.searchsorted(self.columns, (start, stop))
        return Hidden(self.rows[first:last], self.columns[first:last] - start)


def exact(
    queries: Vectors,
    corpus: Vectors,
    k: int,
    exclude: Sequence[int] | Sequence[Sequence[int]] | None = None,
    client: Client | None = None,
    shards: int | None = None,
    show_progress_bar: bool = False,
) -> Neighbors:
    """What `lib.neighbors.exact` returns, with its arguments, found by the workers of a cluster.

    Parameters
    ----------
    client : of a cluster (`lib.run.cluster.connect`); None to search here
    shards : int or None, how many pieces the corpus is cut into; None for as many as suit its size and the cluster

    Raises
    ------
    InputError
        As `lib.neighbors.exact` does, and when a worker cannot read the corpus's file or the cluster fails.
    """
    if client is None:
        return neighbors.exact(queries, corpus, k, exclude, show_progress_bar=show_progress_bar)
    queries, corpus = alike(queries, corpus)
    check_shapes(queries, corpus)
    n = corpus.shape[0]
    excluded = exclusions(exclude, queries.shape[0], n)
    check_k(k, excluded, n)
    shards = int(in_range("shards", shards, 1, n)) if shards is not None else _suitable(corpus, client)
    bounds = n * np.arange(shards + 1) // shards
    starts = range(0, queries.shape[0], QUERIES)
    found = [Found(np.empty((0, k)), np.empty((0, k), np.int64))]
    with progress.bar(shards * len(starts), "search", unit="shards", show=show_progress_bar) as bar:
        for start in starts:
            few = slice(start, start + QUERIES)
            found.append(_search(client, queries[few], corpus, bounds, k, Hidden.of(excluded[few]), bar.update))
    similarities, ids = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Neighbors(ids, similarities.astype(np.float32))


def _suitable(corpus: Vectors, client: Client) -> int:
    """A number of shards of bounded size, some for each thread of the cluster."""
    size = corpus.data.nbytes + corpus.indices.nbytes if sp.issparse(corpus) else corpus.nbytes
    spread = min(SHARDS_PER_THREAD * cluster.threads(client), corpus.shape[0] // SHARD_ROWS)
    return max(1, spread, -(-size // SHARD_BYTES))


def _search(
    client: Client,
    queries: Vectors,
    corpus: Vectors,
    bounds: np.ndarray,
    k: int,
    hidden: Hidden,
    done: Callable[[], Any],
) -> Found:
    """Search every shard between two `bounds` and merge what is found; `done` is called after each."""
    held = cluster.share(client, (queries, k))
    shards = (
        (_rows(corpus, start, stop), start, hidden.between(start, stop)) for start, stop in pairwise(bounds.tolist())
    )
    searches = (cluster.submit(client, _search_shard, held, shard) for shard in shards)
    return cluster.combine(client, partial(_merge, k=k), searches, done)


def _rows(corpus: Vectors, start: int, stop: int) -> Vectors:
    """Some rows, without copying those of a memory-map, as SciPy does."""
    if not sp.issparse(corpus):
        return corpus[start:stop]
    first, last = corpus.indptr[start], corpus.indptr[stop]
    row_ends = (corpus.indptr[start : stop + 1] - first).astype(corpus.indices.dtype)
    parts = corpus.data[first:last], corpus.indices[first:last], row_ends
    return sp.csr_array(parts, shape=(stop - start, corpus.shape[1]))


# -- on the workers -----------------------------------------------------------------------------


def _search_shard(shared: tuple[Vectors, int], shard: tuple[Vectors, int, Hidden]) -> Found:
    (queries, k), (corpus, start, hidden) = shared, shard
    q, n = queries.shape[0], corpus.shape[0]
    try:
        # One thread: Dask gives a worker as many pieces of work at a time as it has threads.
        similarities, ids = nearest(queries, corpus, min(k, n), hidden.of_each(q), threads=1)
    except InputError as error:
        raise InputError(f"in the part of the corpus that begins at row {start}: {error}") from error
    return Found(similarities, ids + start)


def _merge(left: Found, right: Found, k: int) -> Found:
    """The nearest of two lists; `left` comes from lower indices."""
    pairs = zip(left, right, strict=True)
    return Found(*best(*(np.hstack(pair) for pair in pairs), k))
