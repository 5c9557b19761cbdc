"""An entry of embeddings in the cache.

It grows by shards of 2,048 sentences, each a file of its own, so that a kill loses at
most one. When all are there they are joined: ``vectors.npy``, float32[n, dim], or the
arrays of CSR.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lib.base import cluster, progress
from lib.base.cache import CacheEntry
from lib.embedders import foreign
from lib.embedders.base import Embedder, in_batches
from lib.vectors import Embeddings

if TYPE_CHECKING:
    from distributed import Client
    from tqdm.std import tqdm

# Sentences; part of an entry's key, since a batch's arithmetic may depend on its size.
SIZE = 2048
VECTORS = "vectors.npy"
# In the order in which they are written.
CSR = ("data.npy", "indices.npy", "indptr.npy", "shape.npy")


def complete(
    entries: Sequence[CacheEntry],
    embedder: Embedder,
    sentences: Sequence[str],
    prepare: Callable[[], object],
    client: Client | None,
    show: bool,
) -> None:
    """Make all entries complete, those of an embedder and of its companions.

    `prepare` is called before anything is encoded.
    """
    with ExitStack() as locks:
        # Sorted, so that two runs that lock the same entries cannot block each other.
        for entry in sorted(entries, key=lambda entry: entry.folder):
            locks.enter_context(entry.locked(f"encoding {entry.name}"))
        unjoined = {
            place: entry
            for place, entry in enumerate(entries)
            if not (entry.has(VECTORS) or entry.has(CSR[-1]))
        }
        facts = _encode(embedder, sentences, unjoined, prepare, client, show)
        for entry in unjoined.values():
            _join(entry, len(sentences))
        for entry in entries:
            if entry.facts() is not None:  # by a run that was killed after it
                continue
            entry.complete(facts, keep=[VECTORS] if entry.has(VECTORS) else CSR)


def _encode(
    embedder: Embedder,
    sentences: Sequence[str],
    unjoined: dict[int, CacheEntry],
    prepare: Callable[[], object],
    client: Client | None,
    show: bool,
) -> dict[str, float]:
    """Write the missing shards; keys are places among embedder and companions.

    Returns how many seconds a sentence took, if any was encoded.
    """
    starts = range(0, len(sentences), SIZE)
    missing = [
        start
        for start in starts
        if any(_shard(entry, start) is None for entry in unjoined.values())
    ]
    if not missing:
        return {}
    prepare()
    batches = (sentences[start : start + SIZE] for start in missing)
    stored = (len(starts) - len(missing)) * SIZE
    doing = f"encode {next(iter(unjoined.values())).name}"
    bar = progress.bar(len(sentences), doing, initial=stored, show=show)
    vectors = _vectors if client else partial(_vectors, bar=bar)
    encoded: Any = cluster.in_order(vectors, embedder, batches, client)
    started = time.perf_counter()
    with closing(encoded), bar:
        for start, shards in zip(missing, encoded, strict=True):
            batch = sentences[start : start + SIZE]
            for place, entry in unjoined.items():
                if _shard(entry, start) is None:
                    _write(entry, start, shards[place], batch)
            stored += len(batch)
            bar.update(stored - bar.n)
    number = sum(len(sentences[start : start + SIZE]) for start in missing)
    return {"seconds": (time.perf_counter() - started) / number}


def _vectors(
    embedder: Embedder, batch: Sequence[str], bar: tqdm | None = None
) -> list[Embeddings]:
    """The vectors of an embedder and its companions, here or on a cluster's worker.

    A slow embedder takes minutes over a shard: a bar advances with each of its batches.
    """
    if bar is None or embedder.companions:
        return embedder.encode_with_companions(batch)
    return [in_batches(embedder.encode, batch, embedder.batch_size, bar)]


def _shard(entry: CacheEntry, start: int) -> str | None:
    """The file of the shard that begins with this sentence; None if it is not there."""
    for file in (f"{start}.npy", f"{start}.npz"):
        if entry.has(file):
            return file
    return None


def _write(
    entry: CacheEntry, start: int, vectors: Embeddings, batch: Sequence[str]
) -> None:
    """Check and write one shard."""
    vectors = foreign.checked(vectors, entry.name, batch)
    first = _shard(entry, 0)
    if first:
        before = foreign.layout(_read(entry, first))
        foreign.check_layout(vectors, entry.name, before)
    if sp.issparse(vectors):
        with entry.writing(f"{start}.npz") as stream:
            sp.save_npz(stream, vectors, compressed=False)
    else:
        entry.save(f"{start}.npy", vectors)


def _read(entry: CacheEntry, file: str) -> Embeddings:
    if file.endswith(".npz"):
        return sp.load_npz(entry.folder / file)
    return entry.array(file)


def _join(entry: CacheEntry, total: int) -> None:
    """Make one array of the shards, or one CSR array, with one shard in memory."""
    shards: list[Any] = [_shard(entry, start) for start in range(0, total, SIZE)]
    first = _read(entry, shards[0])
    shape = total, first.shape[1]
    if sp.issparse(first):
        _join_sparse(entry, shards, shape)
    else:
        parts = (_read(entry, file) for file in shards)
        entry.join(VECTORS, parts, shape, first.dtype)


def _join_sparse(
    entry: CacheEntry, shards: Sequence[str], shape: tuple[int, int]
) -> None:
    row_lengths = [np.diff(starts) for starts in _members(entry, shards, "indptr")]
    starts = np.concatenate([[0], *row_lengths]).cumsum()
    stored = int(starts[-1])
    index = np.dtype(sp.get_index_dtype(maxval=max(stored, shape[1])))
    data, indices, indptr, last = CSR
    entry.join(data, _members(entry, shards, "data"), (stored,), np.dtype(np.float32))
    entry.join(indices, _members(entry, shards, "indices"), (stored,), index)
    entry.save(indptr, starts.astype(index))
    entry.save(last, np.array(shape))


def _members(
    entry: CacheEntry, shards: Sequence[str], name: str
) -> Iterator[np.ndarray]:
    """One of the arrays of each sparse shard, read when it is needed."""
    for file in shards:
        with np.load(entry.folder / file, allow_pickle=False) as shard:
            yield shard[name]


def read(entry: CacheEntry) -> Embeddings:
    """The embeddings of an entry that is complete, memory-mapped."""
    if entry.has(VECTORS):
        return entry.array(VECTORS)
    data, indices, starts, shape = (entry.array(file) for file in CSR)
    return sp.csr_array((data, indices, starts), shape=tuple(shape.tolist()))
