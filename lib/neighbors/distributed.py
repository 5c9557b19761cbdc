"""Exact nearest neighbors on a cluster: pieces are searched and their lists merged.

Workers search the pieces of the corpus. A piece of a memory-mapped corpus, dense or the
store's CSR, is named by file and offset and mapped by the worker; other arrays travel.
Lists carry float64 similarities, so that ties between pieces are broken as within one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from lib.base import cluster, progress
from lib.base.errors import InputError
from lib.neighbors import brute_force
from lib.neighbors.contract import (
    Best,
    Exclude,
    Exclusions,
    Neighbors,
    Vectors,
    check,
    nearest_first,
)
from lib.vectors import slice_rows

if TYPE_CHECKING:
    from distributed import Client

SHARD_BYTES = 256 * 2**20  # so much of a corpus does a worker read at a time, at most
SHARD_ROWS = 4096  # no piece is smaller without need
# The last ones to finish leave little idle; what a dead worker loses is little.
SHARDS_PER_THREAD = 8
MERGED = 8  # lists at a time


def of_each(
    vectors: Mapping[str, Vectors],
    queries: np.ndarray,
    k: int,
    client: Client | None = None,
) -> progress.Timed:
    """The nearest neighbors of the same queries under several embedders.

    Parameters
    ----------
    vectors : mapping of str to real[n, d]
        The embeddings of one corpus by the name of the embedder, as from
        `lib.store.EmbeddingStore.embed_all`.
    queries : int[q]
        Corpus indices. No query is its own neighbor.
    k : int
    client : distributed.Client, optional
        Of a cluster that searches; by default the search runs here.

    Returns
    -------
    dict of str to Neighbors
        Its ``seconds`` says how long the search took under each embedder.
    """
    found = progress.Timed(vectors)
    for name in progress.track(vectors, "neighbors", unit="embedders"):
        corpus = vectors[name]
        found.put(name, exact, corpus[queries], corpus, k, queries, client)
    return found


def exact(
    queries: Vectors,
    corpus: Vectors,
    k: int,
    exclude: Exclude = None,
    client: Client | None = None,
    shards: int | None = None,
    show_progress_bar: bool = False,
) -> Neighbors:
    """What `lib.neighbors.exact` returns, found by the workers of a cluster.

    It takes the same arguments except for `device`.

    Parameters
    ----------
    client : distributed.Client, optional
        Of a cluster (`lib.base.cluster.connect`); None to search here.
    shards : int, optional
        How many pieces the corpus is cut into; None for as many as suit its size and
        the cluster.

    Raises
    ------
    InputError
        As `lib.neighbors.exact` does, and when a worker cannot read the corpus's file
        or the cluster fails.
    """
    if client is None:
        return brute_force.exact(queries, corpus, k, exclude, show_progress_bar)
    from distributed import as_completed

    queries, corpus, excluded = check(queries, corpus, k, exclude)
    shards = shards or _suitable(corpus, client)
    bounds = corpus.shape[0] * np.arange(shards + 1) // shards
    shared = cluster.share(client, (queries, k, excluded))
    lists = []
    for start, stop in pairwise(bounds.tolist()):
        shard = piece(corpus, start, stop), start
        lists.append(cluster.submit(client, _search, shared, shard))
    with progress.bar(shards, "search", unit="shards", show=show_progress_bar) as bar:
        for searched in as_completed(lists, loop=client.loop):
            if searched.status != "finished":
                cluster.result(searched)
            bar.update()
    while len(lists) > 1:
        groups = [lists[i : i + MERGED] for i in range(0, len(lists), MERGED)]
        lists = [client.submit(_merge, k, *group, pure=False) for group in groups]
    similarities, ids = cluster.result(lists[0])
    return Neighbors(ids, similarities.astype(np.float32))


def _suitable(corpus: Vectors, client: Client) -> int:
    """A number of shards of bounded size, some for each thread of the cluster."""
    for_threads = SHARDS_PER_THREAD * cluster.threads(client)
    for_rows = corpus.shape[0] // SHARD_ROWS
    for_memory = corpus.data.nbytes // SHARD_BYTES
    return max(1, min(for_threads, for_rows), for_memory)


def piece(corpus: Vectors, start: int, stop: int) -> Vectors:
    """Some rows; those in a file are marked, so that only their place is sent."""
    if not sp.issparse(corpus):
        return corpus[start:stop].view(np.memmap)
    rows = slice_rows(corpus, start, stop)
    rows.data = rows.data.view(np.memmap)
    rows.indices = rows.indices.view(np.memmap)
    return rows


# -- on the workers --------------------------------------------------------------------


def _search(
    shared: tuple[Vectors, int, Exclusions], shard: tuple[Vectors, int]
) -> Best:
    queries, k, excluded = shared
    corpus, start = shard
    n = corpus.shape[0]
    hidden = excluded.within(start, start + n)
    try:
        screen = brute_force.choose(queries, corpus)
        # One thread: Dask gives a worker as many pieces of work at a time as it has
        # threads.
        similarities, ids = brute_force.nearest(screen, min(k, n), hidden, threads=1)
    except InputError as error:
        raise InputError(
            f"in the part of the corpus that begins at row {start}: {error}"
        ) from error
    return Best(similarities, ids + start)


def _merge(k: int, *lists: Best) -> Best:
    similarities = np.hstack([best.similarities for best in lists])
    ids = np.hstack([best.ids for best in lists])
    return nearest_first(similarities, ids, k)
