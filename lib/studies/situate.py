"""Study 9 and ``make situate``: a new embedder among those whose neighbors are stored (N2O paper, end of section 4).

What the embedders found for the same queries stands in one file that can be published and reused, so that none of their
embeddings is computed again. ``docs/neighbors.md`` describes the file for those who write or read it with other
programs.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from lib import corpora, n2o, stats
from lib.corpora import Corpus
from lib.embedders import own
from lib.embedders.own import Checked
from lib.neighbors import Neighbors, exact
from lib.run import files, parameters, paths
from lib.run.errors import InputError, command
from lib.store import EmbeddingStore
from lib.studies.popularity import found_by

if TYPE_CHECKING:
    import pyarrow

FORMAT = "sentence-neighbors"  # also the key of the description in the file's metadata
VERSION = 1  # raised when older programs could not read the file any more
KEY = ["embedder", "query", "rank"]  # the columns that name a row; the others are neighbor and similarity
ROUNDING = 1e-5  # by so much may a similarity rise from one rank to the next
WORDS = re.compile(r"[\w .,+:()/-]{1,120}")  # names of embedders and families

STORED = paths.FIGURES / "default" / "01_n2o" / "neighbors.parquet"
FAMILY = "your own"  # of an embedder that is none of the registry's
CLOSEST, SHOWN = 3, 3  # relatives that an example is compared with, and neighbors shown of each kind


# -- stored neighbors ---------------------------------------------------------------------------


class Entry(NamedTuple):
    """What is kept of one embedder: its neighbors of q queries, its family and the dimension of its vectors."""

    neighbors: Neighbors
    family: str
    dim: int


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The k nearest neighbors, in one corpus, of the same queries under several embedders.

    Attributes
    ----------
    corpus, fingerprint, size : str, str, int
        The corpus's name, the fingerprint of its sentences (`lib.corpora.text.fingerprint`), and their number.
    samples : n2o.Samples
        The queries (corpus indices), and which sample holds which.
    entries : mapping of str to Entry
        In the order in which they are shown.
    """

    corpus: str
    fingerprint: str
    size: int
    samples: n2o.Samples
    entries: Mapping[str, Entry]

    @property
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
        parameters.in_range("k", k, 1, self.k, "so many neighbors of each query are stored")
        shorter = {
            name: entry._replace(neighbors=Neighbors(*(array[:, :k] for array in entry.neighbors)))
            for name, entry in self.entries.items()
        }
        return replace(self, entries=shorter)

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
            "k": k,
            "samples": [queries[members].tolist() for members in self.samples.members],
            "embedders": [{"name": n, "family": entry.family, "dim": entry.dim} for n, entry in self.entries.items()],
        }
        return pyarrow.table(columns).replace_schema_metadata({FORMAT: json.dumps(description)})

    def write(self, path: str | Path) -> None:
        """Write the file, whole or not at all: the same neighbors give the same bytes."""
        from pyarrow import parquet

        with files.replacing(Path(path)) as stream:
            parquet.write_table(self.table(), stream, compression="zstd", write_page_checksum=True)


def of(corpus: Corpus, samples: n2o.Samples, found: Mapping[str, Neighbors], costs: pd.DataFrame) -> Neighborhoods:
    """What `lib.n2o.neighbors` has found, with the families and dimensions in its `costs`."""
    about = costs.set_index("embedder")
    entries = {
        name: Entry(lists, str(about.loc[name, "family"]), int(about.loc[name, "dim"])) for name, lists in found.items()
    }
    return Neighborhoods(corpus.name, corpus.fingerprint, len(corpus), samples, entries)


def search(names: Sequence[str], corpus: Corpus, samples: n2o.Samples, k: int) -> Neighborhoods:
    """Search now: the k nearest neighbors of the samples' queries under embedders of the registry."""
    return of(corpus, samples, *n2o.neighbors(names, corpus, samples.queries, k))


def read(path: str | Path) -> Neighborhoods:
    """The neighbors in a file; InputError for one that is missing, damaged, of a newer version, or something else."""
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        about = json.loads(table.schema.metadata[FORMAT.encode()])
        return _assembled(about, table.to_pandas())
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; give a Parquet file of stored neighbors") from error
    except InputError as error:
        raise InputError(f"{path}: {error}; get the file again") from error
    except Exception as error:  # what others have written can be wrong in any way
        reason = type(error).__name__
        raise InputError(f"{path}: is not as docs/neighbors.md describes it ({reason}); get the file again") from error


def _assembled(about: Mapping[str, Any], rows: pd.DataFrame) -> Neighborhoods:
    """From the description and the rows of a file; the rows may come in any order."""
    if about["version"] > VERSION:
        raise InputError(f"is of version {about['version']} of the format, and this program reads {VERSION}")
    names, k = [member["name"] for member in about["embedders"]], about["k"]
    shown = [*names, *(member["family"] for member in about["embedders"])]  # in Markdown and in figures
    samples = n2o.Samples.of(about["samples"])
    rows = rows.assign(embedder=pd.Index(names).get_indexer(rows["embedder"])).sort_values(KEY)
    places = range(len(names)), samples.queries, range(1, k + 1)
    complete = len(rows) == math.prod(map(len, places)) > 0
    if not (complete and pd.MultiIndex.from_product(places).equals(pd.MultiIndex.from_frame(rows[KEY]))):
        raise InputError(f"has not ranks 1 to {k} of each query for each embedder once")
    ids = rows["neighbor"].to_numpy(np.int64).reshape(len(names), -1, k)
    similarities = rows["similarity"].to_numpy(np.float32).reshape(ids.shape)
    corpus = about["corpus"]
    indices = np.union1d(samples.queries, ids)
    conditions = {
        "has a name beside letters, digits, spaces and . , _ + - ( ) / :": all(map(WORDS.fullmatch, shown)),
        f"has an index beside 0 to {corpus['sentences'] - 1}": 0 <= indices[0] <= indices[-1] < corpus["sentences"],
        "has a query that is its own neighbor": (ids != samples.queries[:, None]).all(),
        "has a list that names a sentence twice": np.diff(np.sort(ids)).all(),
        "has similarities that are not finite": np.isfinite(similarities).all(),
        "has similarities that rise with the rank": (np.diff(similarities) <= ROUNDING).all(),
    }
    for fault, met in conditions.items():
        if not met:
            raise InputError(fault)
    entries = {
        member["name"]: Entry(Neighbors(*lists), member["family"], int(member["dim"]))
        for member, *lists in zip(about["embedders"], ids, similarities, strict=True)
    }
    return Neighborhoods(str(corpus["name"]), str(corpus["fingerprint"]), int(corpus["sentences"]), samples, entries)


# -- a new embedder -----------------------------------------------------------------------------


def place(mine: Checked, corpus: Corpus, stored: Neighborhoods) -> tuple[Neighborhoods, pd.DataFrame]:
    """Encode the stored corpus, search it for the neighbors of the stored queries, and put them with the others.

    Parameters
    ----------
    mine : Checked
        From `lib.embedders.own.load`; its vectors come from the store if they are kept there.
    corpus : Corpus
        The text of the stored neighbors.

    Returns
    -------
    placed : Neighborhoods
        The stored ones and, last, those of `mine`.
    costs : DataFrame
        One row: embedder, dim, sentences (encoded now), encode_seconds, search_seconds.

    Raises InputError for another text, a name that is taken, or an embedder that does not return what it must.
    """
    stored.check(corpus)
    stored.check_new(mine.name)
    queries, sentences, seconds = stored.samples.queries, mine.sentences, mine.seconds
    vectors = EmbeddingStore().embed(mine, corpus, name=mine.cached_as, show_progress_bar=True)
    started = time.perf_counter()
    found = exact(vectors[queries], vectors, stored.k, exclude=queries)
    costs = {
        "embedder": mine.name,
        "dim": vectors.shape[1],
        "sentences": mine.sentences - sentences,
        "encode_seconds": mine.seconds - seconds,
        "search_seconds": time.perf_counter() - started,
    }
    return stored.adding(mine.name, Entry(found, FAMILY, vectors.shape[1])), pd.DataFrame([costs])


def row(ids: Mapping[str, np.ndarray], name: str, clusters: np.ndarray, sampling: stats.Sampling) -> pd.DataFrame:
    """An embedder's row of the heatmap: its N2O with each other one, the closest first.

    Parameters
    ----------
    ids : mapping of str to int[q, k]
        The neighbors that each embedder finds.
    clusters : int[q]
        Equal for queries that are not independent.

    Returns
    -------
    DataFrame
        Columns value, low, high, constant (whether all queries have one value); indexed by the other's name.
    """
    others = {other: n2o.overlap(ids[name], found) for other, found in ids.items() if other != name}
    return _with_intervals(others, clusters, sampling)


def alone(ids: Mapping[str, np.ndarray], clusters: np.ndarray, sampling: stats.Sampling) -> pd.DataFrame:
    """The share of each embedder's neighbors that no other embedder finds, the largest first; the rest as for `row`."""
    only = found_by(ids, next(iter(ids.values())).shape[1]) == 1
    return _with_intervals(dict(zip(ids, only.mean(axis=2), strict=True)), clusters, sampling)


def example(placed: Neighborhoods, name: str, relatives: list[str], query: int) -> dict[str, list[int]]:
    """Neighbors of one query, nearest first: those that all relatives find too, and those that nobody else finds.

    `query` is a position in ``placed.samples.queries``.
    """
    mine = placed.ids[name][query].tolist()
    theirs = {other: set(ids[query].tolist()) for other, ids in placed.ids.items() if other != name}
    shared = set.intersection(*(theirs[relative] for relative in relatives))
    found = set().union(*theirs.values())
    return {"shared": [i for i in mine if i in shared], "alone": [i for i in mine if i not in found]}


def typical(placed: Neighborhoods, name: str, other: str) -> int:
    """The query (position) at which two embedders overlap most nearly as they do on average; the first of several."""
    overlaps = n2o.overlap(placed.ids[name], placed.ids[other])
    return int(np.argmin(np.abs(overlaps - overlaps.mean())))


def _with_intervals(columns, clusters, sampling):
    values = np.column_stack(list(columns.values()))
    value, low, high = stats.bootstrap(stats.mean, values, sampling=sampling, clusters=clusters)
    table = pd.DataFrame({"value": value, "low": low, "high": high, "constant": low == high}, list(columns))
    return table.rename_axis("embedder").sort_values("value", ascending=False, kind="stable")


# -- the command line ---------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lib.studies.situate",
        description="Find where an embedder of yours stands among those whose neighbors are stored.",
    )
    parser.add_argument("--embedder", default="", metavar="SPEC", help=f"{own.WAYS}; code is run with all your rights")
    parser.add_argument("--name", default="", help="what to call it; then its vectors are kept in the cache")
    parser.add_argument("--pooling", default="", help="cls, last or avg, for a model that does not say how it pools")
    parser.add_argument("--prompt", default="", help="what a model takes before each sentence, such as 'query: '")
    parser.add_argument("--neighbors", default="", metavar="FILE", help="stored neighbors (default: those of study 1)")
    parser.add_argument("--corpus", default="", help="their text, if it has another name here")
    parser.add_argument("--k", type=int, default=0, help="neighbors to compare (default: all that are stored)")
    parser.add_argument("--seed", type=int, default=2020, help="of the bootstrap")
    parser.add_argument("--output", default="", metavar="FOLDER", help="default: figures/situated/<name>")
    return parser


def _report(name: str, placed: Neighborhoods, costs: pd.Series, tables: Mapping[str, pd.DataFrame], corpus: Corpus):
    """What the command prints."""
    yield f"\n{name} among {len(placed.ids) - 1} embedders: {corpus.name}, k = {placed.k}\n"
    yield f"N2O with each, and its 95% interval (chance: {n2o.chance(placed.k, len(corpus) - 1):.4f})"
    for other, found in tables["n2o_row"].iterrows():
        yield f"  {other:32} {found.value:.3f}  ({found.low:.3f} to {found.high:.3f})"
    share = tables["found_alone"].loc[name]
    yield f"\nFound by no other: {share.value:.1%} of its neighbors ({share.low:.1%} to {share.high:.1%})."
    yield f"Encoded {costs.sentences:,} sentences in {costs.encode_seconds:.1f} s; search {costs.search_seconds:.1f} s."
    relatives = list(tables["n2o_row"].index[:CLOSEST])
    query = typical(placed, name, relatives[0])
    yield f"\nFor example: {corpus.sentences[int(placed.samples.queries[query])]}"
    titles = {"shared": f"It shares with {', '.join(relatives)}:", "alone": "It alone finds:"}
    for kind, found in example(placed, name, relatives, query).items():
        yield titles[kind]
        yield from [f"  - {corpus.sentences[i]}" for i in found[:SHOWN]] or ["  - nothing"]


def _draw(name: str, placed: Neighborhoods, tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    import matplotlib.pyplot as plt

    from lib import plotting

    plotting.use_style()
    plt.switch_backend("agg")  # nothing is shown on a screen
    found = tables["n2o_row"]
    figure, axes = plt.subplots(figsize=(plotting.PAGE_WIDTH * 0.75, 0.24 * len(found) + 0.6), layout="constrained")
    plotting.dots_with_intervals(found, axes, f"N2O with {name} (k = {placed.k})")
    plotting.save(figure, folder, "n2o_row", f"Dots: N2O of {name} with each stored embedder.")
    figure, axes = plt.subplots(figsize=(plotting.PAGE_WIDTH * 0.85, 5.2), layout="constrained")
    plotting.scatter_map(tables["n2o_map"], placed.families, axes, highlighted=name)
    plotting.save(figure, folder, "n2o_map", f"Map of the embedders by N2O; {name} is larger and in bold.")
    for title, table in tables.items():
        plotting.save_table(table.rename_axis("embedder"), folder, title, index=True)


@command
def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status: 0, or 2 for input that cannot be used (InputError)."""
    options = _parser().parse_args(arguments)
    parameters.in_range("--seed", options.seed, 0, 2**32)
    if not options.neighbors and not STORED.exists():
        raise InputError(f"{STORED}: is not there yet; `make figures NOTEBOOK=01` writes it, or name a published file")
    stored = read(paths.from_root(options.neighbors) if options.neighbors else STORED)
    stored = stored.up_to(options.k or stored.k)
    mine = own.load(options.embedder, options.name, options.pooling, options.prompt)
    stored.check_new(mine.name)
    corpus = corpora.load(options.corpus or stored.corpus)
    stored.check(corpus)
    folder = paths.from_root(options.output) if options.output else paths.FIGURES / "situated" / mine.name
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for doubt in mine.fit(corpus.sentences).spot_check(corpus.sentences):
        print(doubt, file=sys.stderr)
    placed, costs = place(mine, corpus, stored)
    clusters, sampling = corpus.documents[placed.samples.queries], stats.Sampling(options.seed)
    matrix = n2o.matrix(placed.ids)
    tables = {
        "n2o_row": row(placed.ids, mine.name, clusters, sampling),
        "found_alone": alone(placed.ids, clusters, sampling),
        "n2o_matrix": matrix,
        "n2o_map": n2o.plane(matrix)[0],
    }
    print("\n".join(_report(mine.name, placed, costs.iloc[0], tables, corpus)))
    _draw(mine.name, placed, tables, folder)
    placed.write(folder / "neighbors.parquet")
    print(f"\nFigures, tables and the neighbors with {mine.name} among them: {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
