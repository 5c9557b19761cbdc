"""Embeddings on disk: encoded once, in shards, resumed after a kill, checked when opened.

An entry is a folder named after its embedder and the digest of everything that its vectors depend on::

    glove-6b-50d-1f8d.../
        entry.json      what made it, for people to read
        shards.jsonl    one line a finished shard: its rows, and length and checksum of each file up to there
        vectors         dense: float32[n, dim], row after row
        data, indices, indptr      sparse: the three arrays of CSR

Files only ever grow by whole shards, and a shard's line is written after its bytes have reached the disk. What
a kill leaves behind a line is cut off by the next run, which goes on from there: same bytes as without the kill.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from filelock import AcquireReturnProxy, FileLock

from lib import cluster, fitted, paths, progress, text
from lib.corpora import Corpus
from lib.embedders.base import Embedder, Embeddings
from lib.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

FORMAT = 1
SHARD = 2048  # sentences; part of the key, since a batch's arithmetic may depend on its size

_log = logging.getLogger(__name__)


class EmbeddingStore:
    """A folder of embeddings.

    Parameters
    ----------
    path : Path, made when it is first needed
    """

    def __init__(self, path: str | Path = paths.EMBEDDINGS) -> None:
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
        embedder : an Embedder, or anything with ``encode(sentences) -> float[n, dim]``. One that needs `fit` and
            has not been fitted is fitted on this corpus (transductive, as in the papers), if anything is missing.
        corpus : a Corpus, or a sequence of sentences
        name : for an `embedder` that is not one of ours: the name that it is cached under. It stands for all of
            its settings, so change it when they change. Without a name nothing is cached.
        client : of a cluster (`lib.cluster.connect`) whose workers encode what is to be cached; None to encode here

        Returns
        -------
        float32[n, dim], memory-mapped and read-only, or a CSR array over memory-maps
        """
        sentences = getattr(corpus, "sentences", corpus)
        if not isinstance(embedder, Embedder) and name is None:
            return _checked(embedder.encode(list(sentences)), len(sentences), None, _name_of(embedder))
        print_of_text = corpus.fingerprint if isinstance(corpus, Corpus) else text.fingerprint(sentences)
        work = _Work(self.path, embedder, name, sentences, print_of_text)
        return work.run(client, show_progress_bar)

    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def prune(self) -> int:
        """Delete every entry; returns the bytes that were freed."""
        freed = self.size()
        if self.path.exists():
            shutil.rmtree(self.path)
        return freed


class _Work:
    """What `embed` does for one embedder, its companions and one text."""

    def __init__(self, path: Path, embedder: Any, name: str | None, sentences: Sequence[str], fingerprint: str) -> None:
        self.embedder, self.sentences = embedder, sentences
        together = [embedder, *embedder.companions] if isinstance(embedder, Embedder) else [embedder]
        keys = [_key(member, name, fingerprint) for member in together]
        self.entries = [_Entry(path, key, len(sentences)) for key in keys]

    def run(self, client: Client | None, show: bool) -> Embeddings:
        # What is complete needs no lock, nor a folder that can be written.
        if not all(entry.is_complete() for entry in self.entries):
            with min(self.entries, key=lambda entry: entry.folder).lock():
                done = min(entry.resume() for entry in self.entries)
                if done < len(self.sentences):
                    self._encode_rest(done, client, show)
        return self.entries[0].open()

    def _encode_rest(self, done: int, client: Client | None, show: bool) -> None:
        if isinstance(self.embedder, Embedder):
            fitted.fit(self.embedder, self.sentences, show)
        name, total = self.entries[0].name, len(self.sentences)
        starts = range(done, total, SHARD)
        batches = (self.sentences[start : start + SHARD] for start in starts)
        encoded = cluster.in_order(_encode, self.embedder, batches, client)
        with closing(encoded), progress.bar(total, f"encode {name}", initial=done, show=show) as bar:
            for start, together in zip(starts, encoded, strict=True):
                rows = min(SHARD, total - start)
                for entry, vectors in zip(self.entries, together, strict=True):
                    if entry.rows == start:
                        entry.append(_checked(vectors, rows, entry.dim, entry.name))
                bar.update(rows)


def _encode(embedder: Any, batch: Sequence[str]) -> list[Embeddings]:
    """The vectors of an embedder and of its companions; here or on a cluster's worker."""
    if isinstance(embedder, Embedder):
        return embedder.encode_with_companions(batch)
    return [embedder.encode(list(batch))]


def _key(embedder: Any, name: str | None, fingerprint: str) -> dict[str, Any]:
    common = {"format": FORMAT, "shard": SHARD, "text": fingerprint}
    if not isinstance(embedder, Embedder):
        return {"name": name, **common}
    fitted_on = (embedder.fitted_on or fingerprint) if embedder.needs_fit else None
    own = {"name": name or embedder.name, "version": embedder.version, "settings": embedder.settings}
    return {**own, "fitted_on": fitted_on, **common}


def _name_of(embedder: Any) -> str:
    return getattr(embedder, "name", type(embedder).__name__)


def _checked(vectors: Any, rows: int, dim: int | None, name: str) -> Embeddings:
    """`vectors` as float32 in two dimensions; InputError if they are not what an embedder must return."""
    vectors = sp.csr_array(vectors, dtype=np.float32) if sp.issparse(vectors) else np.asarray(vectors, np.float32)
    if vectors.ndim != 2 or vectors.shape[0] != rows:
        raise InputError(f"{name}: encode returned shape {vectors.shape} for {rows} sentences; give ({rows}, dim)")
    if dim is not None and vectors.shape[1] != dim:
        raise InputError(
            f"{name}: encode returned {vectors.shape[1]} dimensions, and {dim} before; give always as many"
        )
    values = vectors.data if sp.issparse(vectors) else vectors
    if not np.isfinite(values).all():
        raise InputError(f"{name}: encode returned NaN or infinity; give finite numbers (zeros for an empty sentence)")
    return vectors


class _Entry:
    """One folder of the store."""

    def __init__(self, path: Path, key: dict[str, Any], total: int) -> None:
        description = json.dumps(key, sort_keys=True)
        digest = hashlib.blake2b(description.encode(), digest_size=8).hexdigest()
        self.name, self.total = key["name"], total
        self.folder = path / f"{re.sub(r'[^A-Za-z0-9.+-]', '_', self.name)}-{digest}"
        self.journal = self.folder / "shards.jsonl"
        self.description = description
        self.shards: list[dict[str, Any]] | None = None

    @property
    def rows(self) -> int:
        """How many rows are safely on disk."""
        return self.shards[-1]["rows"] if self.shards else 0

    @property
    def dim(self) -> int | None:
        return self.shards[-1]["dim"] if self.shards else None

    def is_complete(self) -> bool:
        """Whether every row is there with the recorded checksum, and nothing behind the last one."""
        written = self._written()
        whole = bool(written) and written[-1]["rows"] == self.total and not self._surplus(written)
        if whole and len(self._verified(written)) == len(written):
            self.shards = written
        return self.shards is not None

    def lock(self) -> AcquireReturnProxy:
        """Held while shards are added; the operating system releases it when its holder dies."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return FileLock(self.folder / "lock").acquire()
        except OSError as error:
            raise InputError(
                f"{self.folder}: is not complete, and cannot be written ({error.strerror}); make it writable, or give "
                "another folder"
            ) from error

    def resume(self) -> int:
        """Verify what is on disk, cut off what is not whole, and return the number of good rows."""
        if self.shards is None:
            self.folder.mkdir(exist_ok=True)
            if not (self.folder / "entry.json").exists():
                _write_whole(self.folder / "entry.json", self.description + "\n")
            written = self._written()
            self.shards = self._verified(written)
            if len(self.shards) < len(written):
                _log.warning("%s: a shard is damaged; encoding again from sentence %d", self.folder, self.rows)
            self._cut_off_rest()
        return self.rows

    def _written(self) -> list[dict[str, Any]]:
        """The journal's lines up to the first that is not whole."""
        shards = []
        lines = self.journal.read_text(encoding="utf-8").splitlines() if self.journal.exists() else []
        for line in lines:
            try:
                shards.append(json.loads(line))
            except ValueError:
                break
        return shards

    def _verified(self, shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The leading shards whose bytes have the recorded checksums."""
        good = []
        ends: dict[str, int] = {}
        for shard in shards:
            for file, (end, checksum) in shard["files"].items():
                if _checksum(self.folder / file, ends.get(file, 0), end) != checksum:
                    return good
                ends[file] = end
            good.append(shard)
        return good

    def _surplus(self, shards: list[dict[str, Any]]) -> list[tuple[Path, int]]:
        """Files that go on behind the last of these shards, each with the length that it should have."""
        ends = shards[-1]["files"] if shards else {}
        lengths = {self.folder / file: ends.get(file, (0, 0))[0] for file in ("vectors", "data", "indices", "indptr")}
        return [(path, end) for path, end in lengths.items() if path.exists() and path.stat().st_size > end]

    def _cut_off_rest(self) -> None:
        for path, length in self._surplus(self.shards):
            os.truncate(path, length)
        if len(self._written()) != len(self.shards) or _ends_open(self.journal):
            _write_whole(self.journal, "".join(json.dumps(shard) + "\n" for shard in self.shards))

    def append(self, vectors: Embeddings) -> None:
        """Add one shard: first its bytes, then its line in the journal."""
        before = self.shards[-1]["files"] if self.shards else {}
        files = {}
        for file, array in _parts(vectors, before).items():
            data = np.ascontiguousarray(array).tobytes()
            _append(self.folder / file, data)
            files[file] = (before.get(file, (0, 0))[0] + len(data), zlib.crc32(data))
        shard = {"rows": self.rows + vectors.shape[0], "dim": vectors.shape[1], "files": files}
        _append(self.journal, (json.dumps(shard) + "\n").encode())
        self.shards.append(shard)

    def open(self) -> Embeddings:
        """All rows, memory-mapped read-only."""
        if (self.folder / "vectors").exists():
            return _map(self.folder / "vectors", np.float32, (self.total, self.dim))
        data, indices = (_map(self.folder / file, kind) for file, kind in (("data", np.float32), ("indices", np.int32)))
        row_ends = _map(self.folder / "indptr", np.int64)
        # SciPy copies the column indices unless both index arrays have one type.
        starts = np.concatenate([[0], row_ends]).astype(np.int32 if len(data) < 2**31 else np.int64)
        return sp.csr_array((data, indices, starts), shape=(self.total, self.dim))


def _parts(vectors: Embeddings, before: dict[str, Any]) -> dict[str, np.ndarray]:
    """The arrays that a shard adds to each file of its entry."""
    if not sp.issparse(vectors):
        return {"vectors": vectors}
    stored = before.get("data", (0, 0))[0] // np.dtype(np.float32).itemsize
    row_ends = vectors.indptr[1:].astype(np.int64) + stored
    return {"data": vectors.data, "indices": vectors.indices.astype(np.int32), "indptr": row_ends}


def _map(path: Path, dtype: type, shape: tuple[int, ...] | None = None) -> np.ndarray:
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.empty(shape or (0,), dtype)
    return np.memmap(path, dtype=dtype, mode="r", shape=shape)


def _checksum(path: Path, start: int, end: int) -> int | None:
    """CRC-32 of a part of a file; None if the file ends before it does."""
    if not path.exists() or path.stat().st_size < end:
        return None
    with path.open("rb") as stream:
        stream.seek(start)
        return zlib.crc32(stream.read(end - start))


def _ends_open(path: Path) -> bool:
    """Whether a file's last line was cut off."""
    return path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")


def _append(path: Path, data: bytes) -> None:
    try:
        with path.open("ab") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); what is there is kept, run again") from error


def _write_whole(path: Path, content: str) -> None:
    """Write under a temporary name, then rename: the file is never half there."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(content, encoding="utf-8")
    os.replace(temporary, path)
