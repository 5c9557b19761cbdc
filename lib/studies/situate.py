"""Study 9 and ``make situate``: a new embedder among those whose neighbors are stored (N2O paper, end of section 4).

Nothing of the stored embedders (`lib.neighborhoods`) is computed again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lib import corpora, n2o, neighborhoods, stats
from lib.corpora import Corpus
from lib.embedders import own
from lib.embedders.checked import Checked
from lib.neighborhoods import Entry, Neighborhoods
from lib.neighbors import exact
from lib.run import parameters, paths
from lib.run.errors import InputError, command
from lib.store import EmbeddingStore

STORED = paths.FIGURES / "default" / "01_n2o" / "neighbors.parquet"
FAMILY = "your own"  # of an embedder that is none of the registry's
CLOSEST, SHOWN = 3, 3  # relatives that an example is compared with, and neighbors shown of each kind


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

    Raises
    ------
    InputError
        Another text, a name that is taken, or an embedder that does not return what it must.
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
    shares = {}
    for name, own_ids in ids.items():
        others = np.hstack([found for other, found in ids.items() if other != name])
        pairs = zip(own_ids, others, strict=True)
        shares[name] = np.array([np.isin(mine, theirs, invert=True).mean() for mine, theirs in pairs])
    return _with_intervals(shares, clusters, sampling)


def example(placed: Neighborhoods, name: str, relatives: list[str], query: int) -> dict[str, list[int]]:
    """Neighbors of one query, nearest first: those that all relatives find too, and those that nobody else finds.

    `query` is a position in ``placed.samples.queries``.
    """
    mine = placed.ids[name][query].tolist()
    theirs = {other: set(ids[query].tolist()) for other, ids in placed.ids.items() if other != name}
    everybody = set().union(*theirs.values())
    return {
        "shared": [i for i in mine if all(i in theirs[relative] for relative in relatives)],
        "alone": [i for i in mine if i not in everybody],
    }


def typical(placed: Neighborhoods, name: str, other: str) -> int:
    """The query (position) at which two embedders overlap most nearly as they do on average; the first of several."""
    overlaps = n2o.overlap(placed.ids[name], placed.ids[other])
    return int(np.argmin(np.abs(overlaps - overlaps.mean())))


def _with_intervals(columns, clusters, sampling):
    values = np.column_stack(list(columns.values()))
    found = stats.bootstrap(stats.mean, values, sampling=sampling, clusters=clusters)
    table = pd.DataFrame(found._asdict(), index=pd.Index(columns, name="embedder"))
    table = table.rename(columns={"estimate": "value"}).assign(constant=found.low == found.high)
    return table.sort_values("value", ascending=False, kind="stable")


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


def _stored(options: argparse.Namespace) -> Neighborhoods:
    file = paths.from_root(options.neighbors) if options.neighbors else STORED
    if not options.neighbors and not file.exists():
        raise InputError(f"{file}: is not there yet; `make figures NOTEBOOK=01` writes it, or name a published file")
    stored = neighborhoods.read(file)
    return stored.up_to(options.k) if options.k else stored


def _folder(options: argparse.Namespace, name: str) -> Path:
    folder = paths.from_root(options.output) if options.output else paths.FIGURES / "situated" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output: {folder} cannot be made ({error.strerror}); give another folder") from error
    return folder


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
    plt.close("all")


@command
def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status: 0, or 2 for input that cannot be used."""
    options = _parser().parse_args(arguments)
    parameters.in_range("--seed", options.seed, 0, 2**32)
    stored = _stored(options)
    mine = own.load(options.embedder, options.name, options.pooling, options.prompt)
    stored.check_new(mine.name)
    corpus = corpora.load(options.corpus or stored.corpus)
    stored.check(corpus)
    folder = _folder(options, mine.name)
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
