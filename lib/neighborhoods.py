"""The neighbors that embedders found for the same queries, in one file that can be published and reused.

With it a new embedder is compared with all of them without computing their embeddings again (N2O paper, end of
section 4). ``docs/neighbors.md`` describes the file for those who write or read it with other programs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from lib import n2o
from lib.corpora import Corpus
from lib.neighbors import Neighbors
from lib.run import files
from lib.run.errors import InputError

if TYPE_CHECKING:
    import pyarrow
    from distributed import Client

FORMAT = "sentence-neighbors"  # also the key of the description in the file's metadata
VERSION = 1  # raised when older programs could not read the file any more
KEY = ["embedder", "query", "rank"]  # the columns that name a row; the others are neighbor and similarity
MOST_NEIGHBORS = np.iinfo(np.int16).max  # ranks are int16 in the file
ROUNDING = 1e-5  # by so much may a similarity rise from one rank to the next
WORDS = re.compile(r"[\w .,+:()/-]{1,120}")  # names of embedders and families


class Entry(NamedTuple):
    """What is kept of one embedder.

    Attributes
    ----------
    neighbors : Neighbors, ids int64[q, k] and similarities float32[q, k], nearest first
    family : str, such as "contextual"
    dim : int, of its vectors
    """

    neighbors: Neighbors
    family: str
    dim: int


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The k nearest neighbors, in one corpus, of the same queries under several embedders.

    Attributes
    ----------
    corpus : str, the corpus's name
    fingerprint : str, of its sentences (`lib.corpora.text.fingerprint`)
    size : int, how many sentences it has
    samples : n2o.Samples, the queries (corpus indices) and which sample holds which
    entries : mapping from an embedder's name to its Entry, in the order in which they are shown

    Raises
    ------
    InputError
        Lists of different shapes, indices that the corpus does not have, a query that is its own neighbor, a
        neighbor that is listed twice, similarities that are not finite or rise with the rank.
    """

    corpus: str
    fingerprint: str
    size: int
    samples: n2o.Samples
    entries: Mapping[str, Entry]

    def __post_init__(self) -> None:
        if not self.entries:
            raise InputError("neighbors: of no embedder; give those of at least one")
        _check_indices("queries", self.samples.queries, self.size)
        shape = (len(self.samples.queries), self.k)
        for name, entry in self.entries.items():
            _check_lists(f"neighbors of {name}", entry.neighbors, self.samples.queries, shape, self.size)

    @cached_property
    def k(self) -> int:
        """How many neighbors of each query are stored."""
        return next(iter(self.entries.values())).neighbors.ids.shape[1]

    @property
    def ids(self) -> dict[str, np.ndarray]:
        """The neighbors int64[q, k] of every embedder, as `lib.n2o` takes them."""
        return {name: entry.neighbors.ids for name, entry in self.entries.items()}

    @property
    def families(self) -> dict[str, str]:
        """The family of every embedder."""
        return {name: entry.family for name, entry in self.entries.items()}

    def check(self, corpus: Corpus) -> None:
        """Raise InputError unless `corpus` is the text that the neighbors were found in, sentence for sentence."""
        if corpus.fingerprint != self.fingerprint:
            raise InputError(
                f"corpus: {corpus.name!r} ({len(corpus)} sentences, fingerprint {corpus.fingerprint}) is not the text "
                f"of the stored neighbors, {self.corpus!r} ({self.size} sentences, fingerprint {self.fingerprint}); "
                "load that one, or search anew"
            )

    def check_new(self, name: str) -> None:
        """Raise InputError if there is an embedder of this name."""
        if name in self.entries:
            raise InputError(f"name: {name!r} is one of the stored embedders; give the new one another name")

    def up_to(self, k: int) -> Neighborhoods:
        """The k nearest of the stored neighbors; InputError if fewer are stored."""
        if not 1 <= k <= self.k:
            raise InputError(
                f"k: {k} is not accepted; {self.k} neighbors of each query are stored: give 1 to {self.k}, or search "
                "anew"
            )
        return replace(self, entries={name: _cut(entry, k) for name, entry in self.entries.items()})

    def adding(self, name: str, entry: Entry) -> Neighborhoods:
        """The same with one more embedder, which comes last; InputError if there is one of this name."""
        self.check_new(name)
        return replace(self, entries={**self.entries, name: entry})

    def table(self) -> pyarrow.Table:
        """Everything as one table: what `write` puts into the file."""
        import pyarrow

        queries, (q, k) = self.samples.queries, (len(self.samples.queries), self.k)
        lists = [entry.neighbors for entry in self.entries.values()]
        embedder = np.repeat(np.arange(len(lists), dtype=np.int32), q * k)
        columns = {
            "embedder": pyarrow.DictionaryArray.from_arrays(embedder, list(self.entries)),
            "query": np.tile(np.repeat(queries, k), len(lists)).astype(np.int32),
            "rank": np.tile(np.arange(1, k + 1, dtype=np.int16), len(lists) * q),
            "neighbor": np.concatenate([found.ids.ravel() for found in lists]).astype(np.int32),
            "similarity": np.concatenate([found.similarities.ravel() for found in lists]).astype(np.float32),
        }
        description = {
            "format": FORMAT,
            "version": VERSION,
            "corpus": {"name": self.corpus, "fingerprint": self.fingerprint, "sentences": self.size},
            "k": self.k,
            "samples": [queries[members].tolist() for members in self.samples.members],
            "embedders": [{"name": n, "family": entry.family, "dim": entry.dim} for n, entry in self.entries.items()],
        }
        return pyarrow.table(columns).replace_schema_metadata({FORMAT: json.dumps(description)})

    def write(self, path: str | Path) -> None:
        """Write the file, whole or not at all: the same neighbors give the same bytes.

        Raises InputError if it cannot be written.
        """
        from pyarrow import parquet

        path = Path(path)
        try:
            with files.replacing(path) as stream:
                parquet.write_table(self.table(), stream, compression="zstd", write_page_checksum=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); give a place that can") from error


# -- making them --------------------------------------------------------------------------------


def of(corpus: Corpus, samples: n2o.Samples, found: Mapping[str, Neighbors], costs: pd.DataFrame) -> Neighborhoods:
    """What `lib.n2o.neighbors` has found, with the families and dimensions in its `costs`."""
    about = costs.set_index("embedder")
    entries = {
        name: Entry(lists, str(about.loc[name, "family"]), int(about.loc[name, "dim"])) for name, lists in found.items()
    }
    return Neighborhoods(corpus.name, corpus.fingerprint, len(corpus), samples, entries)


def search(
    names: Sequence[str], corpus: Corpus, samples: n2o.Samples, k: int, client: Client | None = None
) -> Neighborhoods:
    """Search now: the k nearest neighbors of the samples' queries under embedders of the registry.

    `client` is that of a cluster (`lib.run.cluster.connect`). Raises InputError as `lib.n2o.neighbors` does.
    """
    found, costs = n2o.neighbors(names, corpus, samples.queries, k, client)
    return of(corpus, samples, found, costs)


def _cut(entry: Entry, k: int) -> Entry:
    return entry._replace(neighbors=Neighbors(*(array[:, :k] for array in entry.neighbors)))


# -- reading ------------------------------------------------------------------------------------


def read(path: str | Path) -> Neighborhoods:
    """The neighbors in a file, checked.

    Raises InputError, with the file, for one that is missing, cut short, damaged, of a newer version of the format,
    or something else altogether.
    """
    path = Path(path)
    table = _read_parquet(path)
    try:
        about = json.loads((table.schema.metadata or {})[FORMAT.encode()])
        newer = about["format"] == FORMAT and about["version"] > VERSION
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: holds no stored neighbors; give a file as docs/neighbors.md describes it") from error
    if newer:
        raise InputError(f"{path}: is of version {about['version']} of the format; this program reads {VERSION}")
    try:
        return _assembled(about, table.to_pandas())
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except Exception as error:  # what others have described can be wrong in any way
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: is not as docs/neighbors.md describes it ({reason}); get the file again") from error


def _read_parquet(path: Path) -> pyarrow.Table:
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; give a Parquet file of stored neighbors") from error
    except Exception as error:  # a damaged file can make its reader raise anything
        raise InputError(f"{path}: is no Parquet file, or a damaged one; get the file again") from error


def _assembled(about: Mapping[str, Any], rows: pd.DataFrame) -> Neighborhoods:
    """From the description and the rows of a file; the rows may come in any order."""
    names, k = [str(member["name"]) for member in about["embedders"]], int(about["k"])
    _check_words([*names, *(str(member["family"]) for member in about["embedders"])])
    samples = n2o.Samples.of(about["samples"])
    shape = (len(names), len(samples.queries), k)
    rows = rows.assign(embedder=pd.Index(names).get_indexer(rows["embedder"])).sort_values(KEY)
    complete = len(rows) == math.prod(shape)
    if not (complete and np.array_equal(rows[KEY], _places(len(names), samples.queries, k))):
        raise InputError(f"has not ranks 1 to {k} of each query for each embedder once; get the file again")
    ids = rows["neighbor"].to_numpy(np.int64).reshape(shape)
    similarities = rows["similarity"].to_numpy(np.float32).reshape(shape)
    entries = {
        name: Entry(Neighbors(ids[i], similarities[i]), str(member["family"]), int(member["dim"]))
        for i, (name, member) in enumerate(zip(names, about["embedders"], strict=True))
    }
    corpus = about["corpus"]
    return Neighborhoods(str(corpus["name"]), str(corpus["fingerprint"]), int(corpus["sentences"]), samples, entries)


def _places(embedders: int, queries: np.ndarray, k: int) -> np.ndarray:
    """Embedder, query and rank of every row of a complete file."""
    axes = np.meshgrid(np.arange(embedders), queries, np.arange(1, k + 1), indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, len(axes))


# -- checking -----------------------------------------------------------------------------------


def _check_words(words: Sequence[str]) -> None:
    """What others have written and a notebook will show, in Markdown and in figures."""
    wrong = next((word for word in words if not WORDS.fullmatch(word)), None)
    if wrong is not None:
        raise InputError(f"the name {wrong[:80]!r} is not accepted; give letters, digits, spaces or . , _ + - ( ) / :")


def _check_indices(what: str, indices: np.ndarray, size: int) -> None:
    if indices.size and not 0 <= indices.min() <= indices.max() < size:
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise InputError(f"{what}: {wrong} is not an index of a corpus of {size} sentences; give 0 to {size - 1}")


def _check_lists(what: str, found: Neighbors, queries: np.ndarray, shape: tuple[int, int], size: int) -> None:
    ids, similarities = found
    if ids.shape != shape or similarities.shape != shape:
        raise InputError(f"{what}: shapes {ids.shape} and {similarities.shape}; give ids and similarities of {shape}")
    if not 1 <= shape[1] <= MOST_NEIGHBORS:
        raise InputError(f"{what}: {shape[1]} of each query; give 1 to {MOST_NEIGHBORS}")
    _check_indices(what, ids, size)
    if (ids == queries[:, None]).any():
        raise InputError(f"{what}: a query is its own neighbor; leave each query out of its list")
    if (np.diff(np.sort(ids, axis=1), axis=1) == 0).any():
        raise InputError(f"{what}: a list names a sentence twice; give {shape[1]} different ones for each query")
    if not np.isfinite(similarities).all() or (np.diff(similarities, axis=1) > ROUNDING).any():
        raise InputError(f"{what}: similarities are not finite, or rise with the rank; give the nearest first")
