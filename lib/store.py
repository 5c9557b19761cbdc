"""Embeddings on disk: encoded once, in shards, resumed after a kill, checked when opened.

An entry is a folder named after its embedder and the digest of everything that its vectors depend on::

    glove-6b-50d-1f8d.../
        entry.json      what made it, for people to read
        shards.jsonl    one line a finished shard: how many rows there are with it, length of each file up to there
                        and checksum of what the shard has added, and a checksum of the line itself
        vectors         dense: float32[n, dim], row after row
        data, indices, indptr      sparse: the three arrays of CSR

Files only ever grow by whole shards, and a shard's line is written after its bytes have reached the disk. What
a kill leaves behind a line is cut off by the next run, which goes on from there: same bytes as without the kill.
Every byte is checked each time that an entry is opened. From the first shard on that is not as it was written, all is
encoded again; a full disk, or one that cannot be written, costs nothing that is complete.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lib import fitted
from lib.corpora import Corpus, text
from lib.embedders.base import Embedder, Embeddings
from lib.embedders.checked import checked, kind
from lib.run import cache, cluster, files, locks, paths, progress
from lib.run.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

FORMAT = 1
SHARD = 2048  # sentences; part of the key, since a batch's arithmetic may depend on its size
SPARSE = {"data": np.float32, "indices": np.int32, "indptr": np.int64}  # the files of sparse vectors

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
        client : of a cluster (`lib.run.cluster.connect`) whose workers encode what is to be cached; None to encode here

        Returns
        -------
        float32[n, dim], memory-mapped and read-only, or a CSR array over memory-maps

        Raises
        ------
        InputError
            No sentences; an embedder that returns something else than vectors, or not finite ones; a folder that
            must be written and cannot be: what is complete in it is kept.
        """
        sentences = getattr(corpus, "sentences", corpus)
        if not len(sentences):
            raise InputError("corpus: holds no sentences; give at least one")
        if not isinstance(embedder, Embedder) and name is None:
            return checked(embedder.encode(list(sentences)), _name_of(embedder), sentences)
        print_of_text = corpus.fingerprint if isinstance(corpus, Corpus) else text.fingerprint(sentences)
        work = _Work(self.path, embedder, name, sentences, print_of_text)
        return work.run(client, show_progress_bar)

    def size(self) -> int:
        """Bytes on disk."""
        return cache.size(self.path)

    def prune(self) -> int:
        """Delete every entry; returns the bytes that were freed."""
        return cache.delete(self.path)


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
            with ExitStack() as stack:
                # All of them, and in one order: another embedder may have but some of them as companions.
                for entry in sorted(self.entries, key=lambda entry: entry.folder):
                    stack.enter_context(entry.lock())
                done = min(entry.resume() for entry in self.entries)
                if done < len(self.sentences):
                    self._encode_rest(done, client, show)
                vectors = self.entries[0].open()
        else:
            vectors = self.entries[0].open()
        for entry in self.entries:
            entry.describe()
        return vectors

    def _encode_rest(self, done: int, client: Client | None, show: bool) -> None:
        if isinstance(self.embedder, Embedder):
            fitted.fit(self.embedder, self.sentences, show)
        name, total = self.entries[0].name, len(self.sentences)
        starts = range(done, total, SHARD)
        batches = (self.sentences[start : start + SHARD] for start in starts)
        encoded = cluster.in_order(_encode, self.embedder, batches, client)
        with closing(encoded), progress.bar(total, f"encode {name}", initial=done, show=show) as bar:
            for start, together in zip(starts, encoded, strict=True):
                batch = self.sentences[start : start + SHARD]
                for entry, vectors in zip(self.entries, together, strict=True):
                    if entry.rows == start:
                        entry.append(checked(vectors, entry.name, batch, entry.kind))
                bar.update(len(batch))


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
    def kind(self) -> str:
        """Of the vectors on disk, as `lib.embedders.checked` words it; empty if there are none yet."""
        return kind(self.shards[-1]["dim"], "vectors" not in self.shards[-1]["files"]) if self.shards else ""

    def is_complete(self) -> bool:
        """Whether every row is there with the recorded checksum, and nothing behind the last one."""
        try:
            written, is_whole = self._written()
            there = is_whole and bool(written) and written[-1]["rows"] == self.total and not self._surplus(written)
            if there and len(self._verified(written)) == len(written):
                self.shards = written
        except OSError as error:
            _log.warning("%s: cannot be read (%s)", self.folder, error)
        return self.shards is not None

    def lock(self) -> AbstractContextManager:
        """Held while shards are added; the operating system releases it when its holder dies."""
        remedy = "it is not complete: make room there, make it writable, or give another folder"
        with files.writing(self.folder, remedy):
            return locks.held(self.folder / "lock", f"encoding {self.name}")

    def resume(self) -> int:
        """Verify what is on disk, cut off what is not whole, and return the number of good rows."""
        if self.shards is None:
            with files.writing(self.folder):
                self.folder.mkdir(exist_ok=True)
                written, is_whole = self._written()
                self.shards = self._verified(written)
                if not is_whole or len(self.shards) < len(written):
                    _log.warning("%s: a shard is damaged; encoding again from sentence %d", self.folder, self.rows)
                self._cut_off_rest()
        return self.rows

    def describe(self) -> None:
        """See to it that entry.json says what made the entry. Nothing else depends on it."""
        file, content = self.folder / "entry.json", f"{self.description}\n".encode()
        try:
            if file.exists() and file.read_bytes() == content:
                return
            if file.exists():
                _log.warning("%s: is damaged; written again", file)
            with files.replacing(file) as stream:
                stream.write(content)
        except OSError as error:
            _log.warning("%s: cannot be written (%s); nothing depends on it", file, error)

    def _written(self) -> tuple[list[dict[str, Any]], bool]:
        """The journal's lines up to the first that is damaged or out of place, and whether that is not there.

        The end of a journal that breaks off in a line is what a kill leaves behind, and no damage.
        """
        lines = self.journal.read_bytes().splitlines(keepends=True) if self.journal.exists() else []
        shards: list[dict[str, Any]] = []
        for line in lines:
            shard = _shard(line)
            if shard is None or not self._follows(shard, shards):
                return shards, line is lines[-1] and not line.endswith(b"\n")
            shards.append(shard)
        return shards, True

    def _follows(self, shard: dict[str, Any], before: list[dict[str, Any]]) -> bool:
        """Whether a shard has the rows, and vectors of the kind, that belong behind those before it."""
        rows = min((len(before) + 1) * SHARD, self.total)
        alike = not before or (
            shard["dim"] == before[-1]["dim"] and shard["files"].keys() == before[-1]["files"].keys()
        )
        return alike and shard["rows"] == rows and (not before or rows > before[-1]["rows"])

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
        lengths = {self.folder / file: ends.get(file, (0, 0))[0] for file in ("vectors", *SPARSE)}
        return [(path, end) for path, end in lengths.items() if path.exists() and path.stat().st_size > end]

    def _cut_off_rest(self) -> None:
        for path, length in self._surplus(self.shards):
            _log.warning("%s: goes on behind its last whole shard; cut off there", path)
            os.truncate(path, length)
        content = "".join(files.sealed(shard) + "\n" for shard in self.shards).encode()
        if self.journal.exists() and self.journal.read_bytes() != content:
            with files.replacing(self.journal) as stream:
                stream.write(content)

    def append(self, vectors: Embeddings) -> None:
        """Add one shard: first its bytes, then its line in the journal."""
        before = self.shards[-1]["files"] if self.shards else {}
        added = {}
        for file, array in _parts(vectors, before).items():
            data = np.ascontiguousarray(array).tobytes()
            _append(self.folder / file, data, before.get(file, (0, 0))[0])
            added[file] = [before.get(file, (0, 0))[0] + len(data), zlib.crc32(data)]
        shard = {"rows": self.rows + vectors.shape[0], "dim": vectors.shape[1], "files": added}
        _append(self.journal, (files.sealed(shard) + "\n").encode())
        self.shards.append(shard)

    def open(self) -> Embeddings:
        """All rows, memory-mapped read-only; InputError if they have been deleted since they were checked."""
        try:
            return self._mapped()
        except (FileNotFoundError, ValueError) as error:
            raise InputError(f"{self.folder}: was deleted while it was being read; run again") from error

    def _mapped(self) -> Embeddings:
        shape = (self.total, self.shards[-1]["dim"])
        if "vectors" in self.shards[-1]["files"]:
            return _map(self.folder / "vectors", np.float32, shape)
        data, indices, row_ends = (_map(self.folder / file, kind) for file, kind in SPARSE.items())
        # SciPy copies the column indices unless both index arrays have one type.
        starts = np.concatenate([[0], row_ends]).astype(np.int32 if len(data) < 2**31 else np.int64)
        return sp.csr_array((data, indices, starts), shape=shape)


def _shard(line: bytes) -> dict[str, Any] | None:
    """A line of the journal; None if it is not as it was written."""
    try:
        shard = files.unsealed(line)
    except ValueError:
        shard = _unchecked(line)
    return shard if shard is not None and _adds_up(shard) else None


def _unchecked(line: bytes) -> dict[str, Any] | None:
    """A line from before lines had checksums of their own."""
    try:
        shard = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return shard if isinstance(shard, dict) and shard.keys() == {"rows", "dim", "files"} else None


def _adds_up(shard: dict[str, Any]) -> bool:
    """Whether rows, dimensions and the lengths of the files agree with each other."""
    try:
        rows, dim, ends = shard["rows"], shard["dim"], {file: end for file, (end, _) in shard["files"].items()}
        if "vectors" in ends:
            return ends == {"vectors": 4 * rows * dim}
        return ends.keys() == SPARSE.keys() and ends["indptr"] == 8 * rows and ends["data"] == ends["indices"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _parts(vectors: Embeddings, before: dict[str, Any]) -> dict[str, np.ndarray]:
    """The arrays that a shard adds to each file of its entry."""
    if not sp.issparse(vectors):
        return {"vectors": vectors}
    stored = before.get("data", (0, 0))[0] // np.dtype(SPARSE["data"]).itemsize
    row_ends = vectors.indptr[1:].astype(np.int64) + stored
    arrays = {"data": vectors.data, "indices": vectors.indices, "indptr": row_ends}
    return {file: array.astype(SPARSE[file], copy=False) for file, array in arrays.items()}


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


def _append(path: Path, data: bytes, length: int | None = None) -> None:
    """Add to a file, which must be so long if a length is given."""
    with files.writing(path, "what is there is kept: make room there, and run again"), path.open("ab") as stream:
        if length is not None and stream.tell() != length:
            raise InputError(f"{path}: was deleted while it was being written; run again")
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
