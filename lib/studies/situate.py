"""Lesson 9: a new embedder among stored ones (N2O paper, end of section 4).

What the embedders found for the same queries stands in one file that can be published
and reused, so that none of their embeddings is computed again. ``docs/own.md``
describes the file for those who write or read it with other programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import poisson

from lib import corpora, embedders, n2o
from lib.base import files
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.corpora import Corpus
from lib.embedders.base import Embedder
from lib.embedders.own import DIFFERENT, FAMILY
from lib.neighbors import Neighbors, exact
from lib.store import EmbeddingStore
from lib.vectors import Embeddings

if TYPE_CHECKING:
    import pyarrow

FORMAT = "sentence-neighbors"  # also the key of the description in the file's metadata
VERSION = 1  # raised when older programs could not read the file any more
# The columns that name a row; the others are neighbor and similarity.
KEY = ["embedder", "query", "rank"]
ROUNDING = 1e-5  # tolerance for a rise between ranks
SAME = 1e-5  # similarities that differ by no more are all the same
WORDS = r"[\w .,+:()/-]{1,120}"  # names of embedders and families


# -- stored neighbors ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The k nearest neighbors of the same queries under several embedders.

    All are found in one corpus.

    Attributes
    ----------
    corpus, fingerprint, size : str, str, int
        The corpus's name, the fingerprint of its sentences
        (`lib.corpora.text.fingerprint`), and their number.
    queries : int64[q]
        Ascending corpus indices.
    found : mapping of str to Neighbors
        The neighbors of the queries under each embedder, in the order in which they are
        shown.
    about : DataFrame
        Of each embedder, by its name, the family and the dimension of its vectors:
        columns family and dim.
    """

    corpus: str
    fingerprint: str
    size: int
    queries: np.ndarray
    found: Mapping[str, Neighbors]
    about: pd.DataFrame

    @property
    def ids(self) -> dict[str, np.ndarray]:
        """The neighbors int64[q, k] of every embedder, as `lib.n2o` takes them."""
        return {name: lists.ids for name, lists in self.found.items()}

    @property
    def k(self) -> int:
        """How many neighbors of each query are stored."""
        return next(iter(self.ids.values())).shape[1]

    def check(self, corpus: Corpus) -> None:
        """Raise InputError unless `corpus` is the text of the neighbors.

        It must be the same, sentence for sentence.
        """
        if corpus.fingerprint != self.fingerprint:
            raise InputError(
                f"corpus_name: {corpus.name!r} ({len(corpus)} sentences, fingerprint "
                f"{corpus.fingerprint}) is not the text of the stored neighbors, "
                f"{self.corpus!r} ({self.size} sentences, fingerprint "
                f"{self.fingerprint}); load that one, or search again"
            )

    def up_to(self, k: int) -> Neighborhoods:
        """The k nearest of the stored neighbors; InputError if fewer are stored."""
        in_range("k", k, 1, self.k, "the number of stored neighbors per query")
        found = {}
        for name, lists in self.found.items():
            found[name] = Neighbors(lists.ids[:, :k], lists.similarities[:, :k])
        return replace(self, found=found)

    def table(self) -> pyarrow.Table:
        """Everything as one table: what `write` puts into the file."""
        import pyarrow

        ids = np.stack([lists.ids for lists in self.found.values()])
        similarities = np.stack([lists.similarities for lists in self.found.values()])
        embedder, query, rank = np.indices(ids.shape).reshape(len(KEY), -1)
        names = pyarrow.DictionaryArray.from_arrays(
            embedder.astype(np.int32), list(self.found)
        )
        columns = {
            "embedder": names,
            "query": self.queries[query].astype(np.int32),
            "rank": (rank + 1).astype(np.int16),
            "neighbor": ids.ravel().astype(np.int32),
            "similarity": similarities.ravel(),
        }
        corpus = {
            "name": self.corpus,
            "fingerprint": self.fingerprint,
            "sentences": self.size,
        }
        description = {
            "format": FORMAT,
            "version": VERSION,
            "corpus": corpus,
            "k": self.k,
            "samples": [self.queries.tolist()],
            "embedders": self.about.reset_index(names="name").to_dict("records"),
        }
        table = pyarrow.table(columns)
        return table.replace_schema_metadata({FORMAT: json.dumps(description)})

    def write(self, path: str | Path) -> None:
        """Write the file, whole or not at all; equal neighbors give equal bytes."""
        from pyarrow import parquet

        with files.replacing(Path(path)) as stream:
            parquet.write_table(
                self.table(), stream, compression="zstd", write_page_checksum=True
            )


def from_search(
    corpus: Corpus,
    queries: np.ndarray,
    found: Mapping[str, Neighbors],
    vectors: Mapping[str, Embeddings],
) -> Neighborhoods:
    """What `lib.neighbors.of_each` found for ascending queries among these vectors."""
    about = pd.DataFrame(index=pd.Index(list(found), name="embedder"))
    about["family"] = [embedders.family(name) for name in found]
    about["dim"] = [vectors[name].shape[1] for name in found]
    return Neighborhoods(
        corpus.name, corpus.fingerprint, len(corpus), queries, found, about
    )


def read(path: str | Path) -> Neighborhoods:
    """The neighbors in a file.

    InputError for one that is missing, damaged, of a newer version, or something else.
    """
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        description = json.loads(table.schema.metadata[FORMAT.encode()])
        return _assembled(description, table.to_pandas())
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file; `make figures NOTEBOOK=01` writes one"
        ) from error
    except InputError as error:
        raise InputError(f"{path}: {error}; get the file again") from error
    except Exception as error:  # what others have written can be wrong in any way
        reason = type(error).__name__
        raise InputError(
            f"{path}: does not have the format of docs/own.md ({reason}); "
            "get the file again"
        ) from error


def _assembled(description: Mapping[str, Any], rows: pd.DataFrame) -> Neighborhoods:
    """From the description and the rows of a file; the rows may come in any order."""
    if description["version"] > VERSION:
        raise InputError(
            f"has version {description['version']} of the format, "
            f"and this program reads {VERSION}"
        )
    corpus = description["corpus"]
    about = pd.DataFrame(description["embedders"]).set_index("name")[["family", "dim"]]
    queries = np.unique(np.concatenate(description["samples"]))
    ids, similarities = _lists(rows, about.index, queries, description["k"])
    indices = np.union1d(queries, ids)
    rises = np.diff(similarities) > ROUNDING
    names = [*about.index, *about["family"]]
    if not all(re.fullmatch(WORDS, name) for name in names):
        raise InputError(
            "has a name with characters other than letters, digits, space or .,_+-()/:"
        )
    if indices[0] < 0 or indices[-1] >= corpus["sentences"]:
        raise InputError(f"has an index outside 0 to {corpus['sentences'] - 1}")
    if (ids == queries[:, None]).any():
        raise InputError("has a query that is its own neighbor")
    if not np.diff(np.sort(ids)).all():
        raise InputError("has a list that names a sentence twice")
    if rises.any() or not np.isfinite(similarities).all():
        raise InputError("has similarities that are not finite or rise with the rank")
    lists = map(Neighbors, ids.astype(np.int64), similarities.astype(np.float32))
    return Neighborhoods(
        corpus=str(corpus["name"]),
        fingerprint=str(corpus["fingerprint"]),
        size=int(corpus["sentences"]),
        queries=queries,
        found=dict(zip(about.index, lists, strict=True)),
        about=about,
    )


def _lists(
    rows: pd.DataFrame, names: pd.Index, queries: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors and similarities [embedders, queries, k]; InputError if any lacks."""
    rows = rows.astype({"embedder": str}).set_index(KEY)
    places = pd.MultiIndex.from_product([names, queries, range(1, k + 1)], names=KEY)
    if len(rows) != len(places) or not places.isin(rows.index).all():
        raise InputError(
            f"does not have each rank from 1 to {k} once for each query and embedder"
        )
    rows = rows.loc[places]
    shape = (len(names), len(queries), k)
    neighbors = rows["neighbor"].to_numpy().reshape(shape)
    return neighbors, rows["similarity"].to_numpy().reshape(shape)


# -- a new embedder --------------------------------------------------------------------


def text(corpus_name: str, stored: Neighborhoods | None) -> Corpus:
    """The corpus of this name; for an empty name that of the stored neighbors.

    InputError if there are none.
    """
    if not corpus_name and stored is not None:
        corpus_name = stored.corpus
    if not corpus_name:
        raise InputError(
            "corpus_name: is empty; "
            "give a corpus, or a file of stored neighbors as neighbors_file"
        )
    return corpora.load(corpus_name)


def place(embedder: Embedder, corpus: Corpus, stored: Neighborhoods) -> Neighborhoods:
    """Search the stored corpus with a new embedder, and add its neighbors.

    The corpus is encoded, and searched for the neighbors of the stored queries.

    Parameters
    ----------
    embedder : Embedder
        From `lib.embedders.own.load`.
    corpus : Corpus
        The text of the stored neighbors.

    Returns
    -------
    Neighborhoods
        The stored ones and, last, those of `embedder`.

    Raises
    ------
    InputError
        Another text, a name that is taken, or vectors that `foreign.checked` refuses.
    """
    stored.check(corpus)
    if embedder.name in stored.found:
        raise InputError(
            f"name: {embedder.name!r} is one of the stored embedders; "
            "give the new one another name"
        )
    vectors = EmbeddingStore().embed(embedder, corpus, show_progress_bar=True)
    queries = stored.queries
    lists = ranked(embedder.name, vectors[queries], vectors, stored.k, queries)
    found = {**stored.found, embedder.name: lists}
    about = stored.about.copy()
    about.loc[embedder.name] = [FAMILY, vectors.shape[1]]
    return replace(stored, found=found, about=about)


def ranked(
    name: str, queries: Embeddings, vectors: Embeddings, k: int, exclude: np.ndarray
) -> Neighbors:
    """The k nearest vectors of each query; `exclude` is as for `neighbors.exact`.

    InputError if all are equally near, so that there is nothing to rank.
    """
    # One more, since the nearest of all queries may be equally near: themselves.
    depth = max(k, min(k + 1, vectors.shape[0] - 1))
    found = exact(queries, vectors, depth, exclude=exclude)
    could_differ = queries.shape[0] > 1 and vectors.shape[0] > 2
    if could_differ and np.ptp(found.similarities) < SAME:
        raise InputError(f"{name}: all neighbors are equally near, {DIFFERENT}")
    return Neighbors(found.ids[:, :k], found.similarities[:, :k])


def by_chance(placed: Neighborhoods) -> tuple[float, float]:
    """N2O with an embedder that draws at random: expected, and rarely exceeded.

    The largest N2O with any other embedder exceeds the second value in at most 5 % of
    such draws. Shared neighbors are so rare that their number is Poisson distributed.
    """
    shared = n2o.chance(placed.k, placed.size - 1)
    places = len(placed.queries) * placed.k
    rarely = poisson.isf(0.05 / (len(placed.found) - 1), shared * places) / places
    return shared, float(rarely)
