"""Situate an embedder from the command line: ``python -m lib.situate``, which is what ``make situate`` calls."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lib import corpora, n2o, neighborhoods, situate
from lib.corpora import Corpus
from lib.embedders import own
from lib.embedders.checked import Checked
from lib.neighborhoods import Neighborhoods
from lib.run import parameters, paths
from lib.run.errors import InputError, command

STORED = paths.FIGURES / "default" / "01_n2o" / "neighbors.parquet"
REPETITIONS, CONFIDENCE = 1000, 0.95
CLOSEST = 3  # relatives whose neighbors are shown beside


@dataclass(frozen=True)
class Results:
    """What is printed and written of one embedder."""

    name: str
    placed: Neighborhoods
    costs: pd.DataFrame
    row: pd.DataFrame
    table: pd.DataFrame
    alone: pd.DataFrame
    token_overlap: pd.DataFrame


# -- computing ----------------------------------------------------------------------------------


def _stored(options: argparse.Namespace) -> Neighborhoods:
    file = paths.from_root(options.neighbors) if options.neighbors else STORED
    if not options.neighbors and not file.exists():
        raise InputError(f"{file}: is not there yet; `make figures NOTEBOOK=01` writes it, or name a published file")
    stored = neighborhoods.read(file)
    return stored.up_to(options.k) if options.k else stored


def _compute(mine: Checked, corpus: Corpus, stored: Neighborhoods, seed: int) -> Results:
    placed, costs = situate.place(mine, corpus, stored)
    samples, groups = placed.samples, corpus.groups[placed.samples.queries]
    resampling = (samples, groups, np.random.default_rng(seed), REPETITIONS, CONFIDENCE)
    pairs = n2o.summary(n2o.per_query(placed.ids), *resampling)
    return Results(
        mine.name,
        placed,
        costs,
        situate.row(pairs, mine.name),
        n2o.square(pairs.set_index(["a", "b"])["n2o"], list(placed.entries)),
        situate.with_intervals(situate.alone(placed), *resampling),
        situate.with_intervals(situate.repeated_words(placed, corpus), *resampling),
    )


# -- printing -----------------------------------------------------------------------------------


def _summary(results: Results, corpus: Corpus) -> str:
    placed, samples = results.placed, results.placed.samples
    head = (
        f"{results.name} among {len(results.row)} embedders: {corpus.name}, {len(corpus):,} sentences, "
        f"{len(samples.queries)} queries in {len(samples.members)} samples, k = {placed.k}"
    )
    chance = n2o.chance(placed.k, len(corpus) - 1)
    rows = [f"  {name:32} {row.n2o:.3f}  ({row.low:.3f} to {row.high:.3f})" for name, row in results.row.iterrows()]
    overlaps = f"N2O with each, and its {CONFIDENCE:.0%} interval (chance: {chance:.4f})"
    return "\n".join(["", head, "", overlaps, *rows, "", *_shares(results), _costs(results.costs.iloc[0])])


def _shares(results: Results) -> list[str]:
    said = {
        "of its neighbors no other embedder finds": results.alone["mean"],
        "of a query's words are in a neighbor": results.token_overlap["mean"],
    }
    return [
        f"{means[results.name]:.1%} {what}; of the others {means.drop(results.name).min():.1%} to "
        f"{means.drop(results.name).max():.1%}."
        for what, means in said.items()
    ]


def _costs(costs: pd.Series) -> str:
    encoded = "Its vectors were stored already"
    if costs["sentences"]:
        encoded = (
            f"Encoded {costs['sentences']:,} sentences in {costs['encode_seconds']:.1f} s "
            f"({costs['sentences_per_second']:,.0f} a second), {costs['encode_gigabytes']:.2f} GB of memory"
        )
    return f"{encoded}; searched in {costs['search_seconds']:.1f} s, {costs['search_gigabytes']:.2f} GB."


def _example(results: Results, corpus: Corpus) -> str:
    """One query: what it shares with its closest relatives, and what it alone finds."""
    closest = list(results.row.index[:CLOSEST])
    query = situate.typical(results.placed, results.name, closest[0])
    found = situate.beside(results.placed, results.name, closest, query)
    lists = {
        f"It shares with {', '.join(closest)}:": found[found[closest].all(axis=1)],
        "It alone finds:": found[found["found_by"] == 0],
    }
    lines = ["", f"For example: {corpus.sentences[results.placed.samples.queries[query]]}"]
    for title, rows in lists.items():
        lines += [title, *([f"  - {corpus.sentences[i]}" for i in rows["neighbor"][:3]] or ["  - nothing"])]
    return "\n".join(lines)


# -- writing ------------------------------------------------------------------------------------


def _write(results: Results, folder: Path) -> None:
    from lib import plotting

    plotting.use_style()
    points, _ = n2o.plane(results.table)
    tables = {
        "n2o_row": results.row,
        "n2o_matrix": results.table.rename_axis("embedder"),
        "n2o_map": points.rename_axis("embedder"),
        "found_alone": results.alone,
        "token_overlap": results.token_overlap,
    }
    for name, table in tables.items():
        plotting.save_table(table, folder, name, index=True)
    plotting.save_table(results.costs, folder, "timings")
    results.placed.write(folder / "neighbors.parquet")
    _draw(results, points, folder)


def _draw(results: Results, points: pd.DataFrame, folder: Path) -> None:
    import matplotlib.pyplot as plt

    from lib import plotting

    plt.switch_backend("agg")  # nothing is shown on a screen
    name, row = results.name, results.row.rename(columns={"n2o": "mean"})
    size = (plotting.PAGE_WIDTH * 0.75, 0.24 * len(row) + 0.6)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    plotting.bars_with_intervals(row, axes, f"N2O with {name} (k = {results.placed.k})")
    plotting.save(figure, folder, "n2o_row", f"Bars: N2O of {name} with each stored embedder.")
    figure, axes = plt.subplots(figsize=(plotting.PAGE_WIDTH * 0.85, 5.2), layout="constrained")
    plotting.scatter_map(points, results.placed.families, axes, highlighted=name)
    plotting.save(figure, folder, "n2o_map", f"Map of the embedders by N2O; {name} is larger and in bold.")
    plt.close("all")


# -- the command line ---------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lib.situate",
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
    folder = _made(paths.from_root(options.output) if options.output else paths.FIGURES / "situated" / mine.name)
    for doubt in mine.fit(corpus.sentences).spot_check(corpus.sentences):
        print(doubt, file=sys.stderr)
    results = _compute(mine, corpus, stored, options.seed)
    print(_summary(results, corpus), _example(results, corpus), sep="\n")
    _write(results, folder)
    print(f"\nFigures, tables and the neighbors with {results.name} among them: {folder}")
    return 0


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output: {folder} cannot be made ({error.strerror}); give another folder") from error
    return folder


if __name__ == "__main__":
    sys.exit(main())
