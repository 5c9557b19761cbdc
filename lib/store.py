"""Embeddings, and what embedders have learned from a text, kept in the cache.

An entry of embeddings grows by shards of 2,048 sentences, each a file of its own, so that a kill loses at most one.
When all are there they are joined: ``vectors.npy``, float32[n, dim], or the three arrays of CSR.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lib.corpora import Corpus, text
from lib.embedders.base import Embedder, Embeddings
from lib.embedders.own import checked, kind
from lib.run import cluster, paths, progress
from lib.run.cache import Entry
from lib.run.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

SHARD = 2048  # sentences; part of the key, since a batch's arithmetic may depend on its size
STATE = 3  # how embedders write what they have learned; raised when that changes, so that it is learned again
VECTORS = "vectors.npy"
CSR = ("data.npy", "indices.npy", "indptr.npy", "shape.npy")  # in the order in which they are written


class EmbeddingStore:
    """A folder of embeddings.

    Parameters
    ----------
    path : Path
        Made when it is first needed.
    """

    def __init__(self, path: str | Path = paths.CACHE / "embeddings") -> None:
        self.path = Path(path)

    def embed(
        self,
        embedder: Embedder | Any,
        corpus: Corpus | Sequence[str],
        name: str | None = None,
        show_progress_bar: bool = False,
        client: Client | None = None,
    ) -> Embeddings:
        """The embeddings of a corpus, encoding only what is not there yet.

        Parameters
        ----------
        embedder : Embedder, or any object with ``encode(sentences) -> float[n, dim]``
            One that needs `fit` and has not been fitted is fitted on this corpus (transductive, as in the papers), if
            anything is missing.
        corpus : Corpus or sequence of str
        name : str, optional
            For an `embedder` that is not one of ours: the name that it is cached under. It stands for all of its
            settings, so change it when they change. Without a name nothing is cached.
        show_progress_bar : bool
        client : distributed.Client, optional
            Of a cluster whose workers encode what is to be cached; by default it is encoded here.

        Returns
        -------
        float32[n, dim], memory-mapped and read-only, or a CSR array over memory-maps

        Raises
        ------
        InputError
            No sentences; an embedder that returns something else than finite vectors; a folder that cannot be written.
        """
        sentences = getattr(corpus, "sentences", corpus)
        if not len(sentences):
            raise InputError("corpus: holds no sentences; give at least one")
        if not isinstance(embedder, Embedder) and name is None:
            return checked(embedder.encode(list(sentences)), _name(embedder), sentences)
        fingerprint = _fingerprint(corpus)
        together = [embedder, *embedder.companions] if isinstance(embedder, Embedder) else [embedder]
        entries = [_entry(self.path, member, name, fingerprint) for member in together]
        if any(entry.facts() is None for entry in entries):
            with ExitStack() as stack:
                # In one order: two runs that lock the same entries do not wait for each other.
                for entry in sorted(entries, key=lambda entry: entry.folder):
                    stack.enter_context(entry.locked(f"encoding {entry.name}"))
                missing = {i: entry for i, entry in enumerate(entries) if not _is_joined(entry)}
                _encode(embedder, sentences, missing, client, show_progress_bar)
                for entry in missing.values():
                    _join(entry, len(sentences))
                for entry in entries:
                    entry.complete({}, keep=[VECTORS] if entry.has(VECTORS) else CSR)
        return _open(entries[0])


def fit(embedder: Embedder, corpus: Corpus | Sequence[str], show_progress_bar: bool = False) -> Embedder:
    """The embedder, fitted on a text: from the cache, or by its own `fit`, whose result the cache then keeps.

    One that has been fitted already, or that learns nothing from text, is returned as it is.
    """
    if not embedder.needs_fit or embedder.fitted_on is not None:
        return embedder
    fingerprint = _fingerprint(corpus)
    key = {"state": STATE, "version": embedder.version, "settings": embedder.settings, "text": fingerprint}
    entry = Entry(paths.CACHE / "fitted", embedder.name, key)

    def learn() -> dict[str, Any]:
        embedder.fit(getattr(corpus, "sentences", corpus), show_progress_bar)
        with entry.writing("state.npz") as stream:
            np.savez(stream, **embedder.state())
        return {}

    entry.made(learn, f"fitting {embedder.name}")
    if embedder.fitted_on is None:
        with np.load(entry.folder / "state.npz", allow_pickle=False) as state:
            learned = dict(state)
        try:
            embedder.restore(learned, fingerprint)
        except KeyError:  # word vectors that it was made of have gone from the cache
            embedder.fit(getattr(corpus, "sentences", corpus), show_progress_bar)
    return embedder


def _fingerprint(corpus: Corpus | Sequence[str]) -> str:
    return corpus.fingerprint if isinstance(corpus, Corpus) else text.fingerprint(corpus)


def _entry(folder: Path, embedder: Any, name: str | None, fingerprint: str) -> Entry:
    key: dict[str, Any] = {"shard": SHARD, "text": fingerprint}
    if isinstance(embedder, Embedder):
        fitted_on = (embedder.fitted_on or fingerprint) if embedder.needs_fit else None
        key |= {"version": embedder.version, "settings": embedder.settings, "fitted_on": fitted_on}
    return Entry(folder, name or _name(embedder), key)


def _name(embedder: Any) -> str:
    return getattr(embedder, "name", type(embedder).__name__)


# -- shards -------------------------------------------------------------------------------------


def _encode(
    embedder: Any, sentences: Sequence[str], missing: dict[int, Entry], client: Client | None, show: bool
) -> None:
    """Write the shards that are not there yet; `missing` has the place of each entry among embedder and companions."""
    starts = range(0, len(sentences), SHARD)
    todo = [start for start in starts if any(_shard(entry, start) is None for entry in missing.values())]
    if not todo:
        return
    if isinstance(embedder, Embedder):
        fit(embedder, sentences, show)
    batches = (sentences[start : start + SHARD] for start in todo)
    encoded = cluster.in_order(_vectors, embedder, batches, client)
    done = (len(starts) - len(todo)) * SHARD
    bar = progress.bar(len(sentences), f"encode {next(iter(missing.values())).name}", initial=done, show=show)
    with closing(encoded), bar:
        for start, together in zip(todo, encoded, strict=True):
            batch = sentences[start : start + SHARD]
            for place, entry in missing.items():
                if _shard(entry, start) is None:
                    _write(entry, start, checked(together[place], entry.name, batch, _kind(entry)))
            bar.update(len(batch))


def _vectors(embedder: Any, batch: Sequence[str]) -> list[Embeddings]:
    """The vectors of an embedder and of its companions; here or on a cluster's worker."""
    if isinstance(embedder, Embedder):
        return embedder.encode_with_companions(batch)
    return [embedder.encode(list(batch))]


def _shard(entry: Entry, start: int) -> str | None:
    """The file of the shard that begins with this sentence; None if it is not there."""
    return next((file for file in (f"{start}.npy", f"{start}.npz") if entry.has(file)), None)


def _write(entry: Entry, start: int, vectors: Embeddings) -> None:
    if sp.issparse(vectors):
        with entry.writing(f"{start}.npz") as stream:
            sp.save_npz(stream, vectors, compressed=False)
    else:
        entry.save(f"{start}.npy", vectors)


def _read(entry: Entry, file: str) -> Embeddings:
    return sp.load_npz(entry.folder / file) if file.endswith(".npz") else entry.array(file)


def _kind(entry: Entry) -> str:
    """Of the vectors in the first shard; empty if there is none."""
    file = _shard(entry, 0)
    return kind(_read(entry, file).shape[1], file.endswith(".npz")) if file else ""


def _is_joined(entry: Entry) -> bool:
    return entry.has(VECTORS) or entry.has(CSR[-1])


def _join(entry: Entry, total: int) -> None:
    """Make one array of the shards, or those of CSR of sparse ones."""
    shards = [_shard(entry, start) for start in range(0, total, SHARD)]
    first = _read(entry, shards[0])
    if sp.issparse(first):
        whole = sp.vstack([_read(entry, file) for file in shards], format="csr")
        for file, array in zip(CSR, (whole.data, whole.indices, whole.indptr, np.array(whole.shape)), strict=True):
            entry.save(file, array)
        return
    entry.save(VECTORS, *(_read(entry, file) for file in shards))


def _open(entry: Entry) -> Embeddings:
    if entry.has(VECTORS):
        return entry.array(VECTORS)
    data, indices, starts, shape = (entry.array(file) for file in CSR)
    return sp.csr_array((data, indices, starts), shape=tuple(shape.tolist()))
