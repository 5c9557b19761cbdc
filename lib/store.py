"""Embeddings, and what embedders have learned from a text, kept in the cache.

An entry of embeddings grows by shards of 2,048 sentences, each a file of its own, so
that a kill loses at most one. When all are there they are joined: ``vectors.npy``,
float32[n, dim], or the three arrays of CSR.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count

from lib import embedders
from lib.corpora import Corpus, text
from lib.embedders import own
from lib.embedders.base import Embedder
from lib.embedders.own import Checked
from lib.embedders.registry import CORPUS
from lib.embedders.shrunk import Shrunk
from lib.run import cluster, paths, progress
from lib.run.cache import CacheEntry
from lib.run.environment import single_threaded
from lib.run.errors import InputError
from lib.vectors import Embeddings

if TYPE_CHECKING:
    from distributed import Client

# Sentences; part of the key, since a batch's arithmetic may depend on its size.
SHARD = 2048
# How embedders write what they have learned; raised when that changes, so that it is
# learned again.
STATE = 3
VECTORS = "vectors.npy"
# In the order in which they are written.
CSR = ("data.npy", "indices.npy", "indptr.npy", "shape.npy")


class EmbeddingStore:
    """A folder of embeddings.

    Parameters
    ----------
    path : Path, optional
        Made when it is first needed; by default it is in the cache.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path or paths.CACHE / "embeddings")

    def embed_all(
        self,
        names: Sequence[str],
        corpus: Corpus | Sequence[str],
        client: Client | None = None,
    ) -> progress.Timed:
        """The embeddings of a corpus under several embedders of the registry.

        Embedders that are trained on the corpus come first, each on a core of its own.

        Parameters
        ----------
        names : sequence of str
        corpus : Corpus or sequence of str
        client : distributed.Client, optional
            Of a cluster that encodes; then embedders are taken one after another.

        Returns
        -------
        dict of str to float32[n, dim] or CSR array
            In the order of `names`, each as from `embed`. Its ``seconds`` says how long
            each embedder took; where vectors are stored, only opening them counts.
        """

        def embed(name: str) -> Embeddings:
            embedder = embedders.load(name)
            return self.embed(embedder, corpus, show_progress_bar=True, client=client)

        embeddings = progress.Timed(names)
        trained = [name for name in embeddings if embedders.family(name) == CORPUS]
        rest = [name for name in embeddings if name not in trained]
        threads = cpu_count() if client is None else 1
        with (
            progress.bar(len(embeddings), "embedders", unit="embedders") as bar,
            ThreadPoolExecutor(threads) as pool,
        ):
            # Around all of them: limits that overlap would undo each other.
            with single_threaded("blas"):
                put = pool.map(lambda name: embeddings.put(name, embed, name), trained)
                for _ in put:
                    bar.update()
            for name in rest:
                embeddings.put(name, embed, name)
                bar.update()
        return embeddings

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
        embedder : Embedder, any object with ``encode``, or what `own.load` takes
            One that needs `fit` and has not been fitted is fitted on this corpus
            (transductive, as in the papers), if anything is missing. `own.load` takes a
            function, ``path/to/file.py:function``, a model's folder, or its hub id.
        corpus : Corpus or sequence of str
        name : str, optional
            For an `embedder` that is not one of ours: the name that it is cached under.
            It stands for all of its settings, so change it when they change. Without a
            name nothing is cached.
        show_progress_bar : bool
        client : distributed.Client, optional
            Of a cluster whose workers encode what is to be cached.

        Returns
        -------
        float32[n, dim], memory-mapped and read-only, or a CSR array over memory-maps. A
        smaller form (``minilm-avg@int8``) is an array in memory, computed from the full
        vectors, which alone are stored.

        Raises
        ------
        InputError
            No sentences, a single string, vectors that are not finite, or a folder that
            is full.
        """
        sentences = getattr(corpus, "sentences", corpus)
        if isinstance(sentences, str) or not hasattr(sentences, "__len__"):
            raise InputError(
                f"corpus: is of type {type(sentences).__name__}; "
                "give a Corpus or a list of sentences"
            )
        if not len(sentences):
            raise InputError("corpus: holds no sentences; give at least one")
        if isinstance(embedder, str | Path) or not hasattr(embedder, "encode"):
            embedder = own.load(embedder, name or "")
            name = embedder.cached_as
        if not isinstance(embedder, Embedder) and not name:
            return _encode_uncached(embedder, list(sentences), show_progress_bar)
        if isinstance(embedder, Shrunk):
            full = self.embed(embedder.base, corpus, None, show_progress_bar, client)
            return _fit_form(embedder, corpus, full).shrink(full)
        fingerprint = _fingerprint(corpus)
        members = [embedder, *getattr(embedder, "companions", [])]
        entries = [_entry(self.path, member, name, fingerprint) for member in members]
        if any(entry.facts() is None for entry in entries):
            _complete(entries, embedder, sentences, client, show_progress_bar)
        return _open(entries[0])

    def seconds(
        self,
        embedder: Embedder | Any,
        corpus: Corpus | Sequence[str],
        name: str | None = None,
    ) -> float | None:
        """How long it took to encode one sentence of a corpus that is stored.

        This includes reading the model but not fitting. None if nothing is stored, or
        if the time was not measured.
        """
        while isinstance(embedder, Shrunk):
            embedder = embedder.base
        if not (name or isinstance(embedder, Embedder)):
            return None
        entry = _entry(self.path, embedder, name, _fingerprint(corpus))
        return (entry.facts() or {}).get("seconds")


def fit(
    embedder: Embedder, corpus: Corpus | Sequence[str], show_progress_bar: bool = False
) -> Embedder:
    """The embedder, fitted on a text.

    It comes from the cache, or from its own `fit`, whose result the cache then keeps.
    One that has been fitted already, or that learns nothing from text, is returned as
    it is.
    """
    if not embedder.needs_fit or embedder.fitted_on is not None:
        return embedder
    if isinstance(embedder, Shrunk):
        full = EmbeddingStore().embed(embedder.base, corpus, None, show_progress_bar)
        return _fit_form(embedder, corpus, full)
    sentences = getattr(corpus, "sentences", corpus)
    fingerprint = _fingerprint(corpus)
    key = {
        "state": STATE,
        "version": embedder.version,
        "settings": embedder.settings,
        "text": fingerprint,
    }
    entry = CacheEntry(paths.CACHE / "fitted", embedder.name, key)

    def learn() -> dict[str, Any]:
        embedder.fit(sentences, show_progress_bar)
        with entry.writing("state.npz") as stream:
            np.savez(stream, **embedder.state())
        return {}

    entry.made(learn, f"fitting {embedder.name}")
    if embedder.fitted_on is None:
        with np.load(entry.folder / "state.npz", allow_pickle=False) as stored:
            state = dict(stored)
        try:
            embedder.restore(state, fingerprint)
        except KeyError:  # word vectors that it was made of have gone from the cache
            embedder.fit(sentences, show_progress_bar)
    return embedder


def _fit_form(
    embedder: Shrunk, corpus: Corpus | Sequence[str], full: Embeddings
) -> Shrunk:
    """A form, fitted on the full vectors of a text, unless it was fitted before."""
    if embedder.needs_fit and embedder.fitted_on is None:
        fit(embedder.base, corpus)
        embedder.learn(full, _fingerprint(corpus))
    return embedder


def _fingerprint(corpus: Corpus | Sequence[str]) -> str:
    return getattr(corpus, "fingerprint", None) or text.fingerprint(corpus)


def _entry(
    folder: Path, embedder: Any, name: str | None, fingerprint: str
) -> CacheEntry:
    key: dict[str, Any] = {"shard": SHARD, "text": fingerprint}
    fitted_on = None
    if isinstance(embedder, Embedder | Checked) and embedder.needs_fit:
        fitted_on = embedder.fitted_on or fingerprint
    if isinstance(embedder, Embedder):
        key |= {
            "version": embedder.version,
            "settings": embedder.settings,
            "fitted_on": fitted_on,
        }
    elif fitted_on:
        key["fitted_on"] = fitted_on
    return CacheEntry(folder, name or embedder.name, key)


def _encode_uncached(embedder: Any, sentences: list[str], show: bool) -> Embeddings:
    """Vectors that are not kept, from an embedder that is not one of ours."""
    if isinstance(embedder, Checked):
        _fit_checked(embedder, sentences)
        return embedder.encode(sentences, show_progress_bar=show)
    name = getattr(embedder, "name", type(embedder).__name__)
    return own.checked(embedder.encode(sentences), name, sentences)


def _fit_checked(embedder: Checked, sentences: Sequence[str]) -> None:
    """Fit it on the text, unless it needs no fit or was fitted before."""
    if embedder.needs_fit and embedder.fitted_on is None:
        embedder.fit(list(sentences))


# -- shards ----------------------------------------------------------------------------


def _complete(
    entries: Sequence[CacheEntry],
    embedder: Any,
    sentences: Sequence[str],
    client: Client | None,
    show: bool,
) -> None:
    """Make all entries complete, those of an embedder and of its companions."""
    with ExitStack() as locks:
        # Sorted, so that two runs that lock the same entries cannot block each other.
        for entry in sorted(entries, key=lambda entry: entry.folder):
            locks.enter_context(entry.locked(f"encoding {entry.name}"))
        unjoined = {
            place: entry
            for place, entry in enumerate(entries)
            if not (entry.has(VECTORS) or entry.has(CSR[-1]))
        }
        facts = _encode(embedder, sentences, unjoined, client, show)
        for entry in unjoined.values():
            _join(entry, len(sentences))
        for entry in entries:
            if entry.facts() is not None:  # by a run that was killed after it
                continue
            entry.complete(facts, keep=[VECTORS] if entry.has(VECTORS) else CSR)


def _encode(
    embedder: Any,
    sentences: Sequence[str],
    unjoined: dict[int, CacheEntry],
    client: Client | None,
    show: bool,
) -> dict[str, float]:
    """Write the missing shards; keys are places among embedder and companions.

    Returns how many seconds a sentence took, if any was encoded.
    """
    starts = range(0, len(sentences), SHARD)
    missing = [
        start
        for start in starts
        if any(_shard(entry, start) is None for entry in unjoined.values())
    ]
    if not missing:
        return {}
    if isinstance(embedder, Embedder):
        fit(embedder, sentences, show)
    if isinstance(embedder, Checked):
        _fit_checked(embedder, sentences)
    batches = (sentences[start : start + SHARD] for start in missing)
    encoded = cluster.in_order(_vectors, embedder, batches, client)
    stored = (len(starts) - len(missing)) * SHARD
    started = time.perf_counter()
    name = next(iter(unjoined.values())).name
    if isinstance(embedder, Checked):
        name = embedder.name
    bar = progress.bar(len(sentences), f"encode {name}", initial=stored, show=show)
    # A slow embedder takes minutes over a shard, and seconds over one of its batches.
    batches_move = isinstance(embedder, Checked) and client is None
    with closing(encoded), bar, embedder.moving(bar) if batches_move else nullcontext():
        for start, shards in zip(missing, encoded, strict=True):
            batch = sentences[start : start + SHARD]
            for place, entry in unjoined.items():
                if _shard(entry, start) is None:
                    _write(entry, start, shards[place], embedder, batch)
            stored += len(batch)
            bar.update(stored - bar.n)
    number = sum(len(sentences[start : start + SHARD]) for start in missing)
    return {"seconds": (time.perf_counter() - started) / number}


def _vectors(embedder: Any, batch: Sequence[str]) -> list[Embeddings]:
    """The vectors of an embedder and its companions, here or on a cluster's worker."""
    if isinstance(embedder, Embedder):
        return embedder.encode_with_companions(batch)
    return [embedder.encode(list(batch))]


def _shard(entry: CacheEntry, start: int) -> str | None:
    """The file of the shard that begins with this sentence; None if it is not there."""
    for file in (f"{start}.npy", f"{start}.npz"):
        if entry.has(file):
            return file
    return None


def _write(
    entry: CacheEntry, start: int, vectors: Any, embedder: Any, batch: Sequence[str]
) -> None:
    """Check and write one shard.

    A `Checked` embedder has checked it, except against the form of stored shards.
    """
    if not isinstance(embedder, Checked):
        vectors = own.checked(vectors, entry.name, batch)
    first = _shard(entry, 0)
    if first:
        own.check_form(vectors, entry.name, own.form(_read(entry, first)))
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
    shards = [_shard(entry, start) for start in range(0, total, SHARD)]
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


def _open(entry: CacheEntry) -> Embeddings:
    if entry.has(VECTORS):
        return entry.array(VECTORS)
    data, indices, starts, shape = (entry.array(file) for file in CSR)
    return sp.csr_array((data, indices, starts), shape=tuple(shape.tolist()))
