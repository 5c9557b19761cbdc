"""Exact nearest neighbors on a cluster: every worker searches pieces of the corpus, and their lists are merged.

A piece of a memory-mapped corpus, dense or the store's CSR, is named by file and offset and mapped by the worker;
other arrays travel. Lists carry float64 similarities, so that ties between pieces are broken as within one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from lib import neighbors
from lib.neighbors.brute_force import choose, nearest
from lib.neighbors.contract import Best, Exclude, Exclusions, Neighbors, Vectors, check, nearest_first
from lib.neighbors.sparse import slice_rows
from lib.run import cluster, progress
from lib.run.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

SHARD_BYTES = 256 * 2**20  # so much of a corpus does a worker read at a time, at most
SHARD_ROWS = 4096  # no piece is smaller without need
SHARDS_PER_THREAD = 8  # the last ones to finish leave little idle; what a dead worker loses is little
MERGED = 8  # lists at a time


def exact(
    queries: Vectors,
    corpus: Vectors,
    k: int,
    exclude: Exclude = None,
    client: Client | None = None,
    shards: int | None = None,
    show_progress_bar: bool = False,
) -> Neighbors:
    """What `lib.neighbors.exact` returns, with its arguments but `device`, found by the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client, optional
        Of a cluster (`lib.run.cluster.connect`); None to search here.
    shards : int, optional
        How many pieces the corpus is cut into; None for as many as suit its size and the cluster.

    Raises
    ------
    InputError
        As `lib.neighbors.exact` does, and when a worker cannot read the corpus's file or the cluster fails.
    """
    if client is None:
        return neighbors.exact(queries, corpus, k, exclude, show_progress_bar)
    from distributed import as_completed

    queries, corpus, excluded = check(queries, corpus, k, exclude)
    n = corpus.shape[0]
    shards = shards or _suitable(corpus, client)
    bounds = n * np.arange(shards + 1) // shards
    shared = cluster.share(client, (queries, k, excluded))
    lists = [
        cluster.submit(client, _search, shared, (piece(corpus, start, stop), start))
        for start, stop in pairwise(bounds.tolist())
    ]
    with progress.bar(shards, "search", unit="shards", show=show_progress_bar) as bar:
        for done in as_completed(lists, loop=client.loop):
            if done.status != "finished":
                cluster.result(done)
            bar.update()
    while len(lists) > 1:
        parts = [lists[i : i + MERGED] for i in range(0, len(lists), MERGED)]
        lists = [client.submit(_merge, k, *part, pure=False) for part in parts]
    similarities, ids = cluster.result(lists[0])
    return Neighbors(ids, similarities.astype(np.float32))


def _suitable(corpus: Vectors, client: Client) -> int:
    """A number of shards of bounded size, some for each thread of the cluster."""
    spread = min(SHARDS_PER_THREAD * cluster.threads(client), corpus.shape[0] // SHARD_ROWS)
    return max(1, spread, corpus.data.nbytes // SHARD_BYTES)


def piece(corpus: Vectors, start: int, stop: int) -> Vectors:
    """Some rows; what lies in a file is marked as such, so that only its place is sent."""
    if not sp.issparse(corpus):
        return corpus[start:stop].view(np.memmap)
    rows = slice_rows(corpus, start, stop)
    rows.data, rows.indices = rows.data.view(np.memmap), rows.indices.view(np.memmap)
    return rows


# -- on the workers -----------------------------------------------------------------------------


def _search(shared: tuple[Vectors, int, Exclusions], shard: tuple[Vectors, int]) -> Best:
    (queries, k, excluded), (corpus, start) = shared, shard
    n = corpus.shape[0]
    try:
        # One thread: Dask gives a worker as many pieces of work at a time as it has threads.
        screen = choose(queries, corpus)
        similarities, ids = nearest(screen, min(k, n), excluded.within(start, start + n), threads=1)
    except InputError as error:
        raise InputError(f"in the part of the corpus that begins at row {start}: {error}") from error
    return Best(similarities, ids + start)


def _merge(k: int, *lists: Best) -> Best:
    similarities, ids = (np.hstack(parts) for parts in zip(*lists, strict=True))
    return nearest_first(similarities, ids, k)
