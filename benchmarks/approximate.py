"""Approximate against exact search: recall, time, memory, and what becomes of N2O (appendix C of its paper).

``python -m benchmarks.approximate --help`` says what can be chosen. Indexes are tuned on held-out queries; every
number in the tables is of other queries, all of them searched with one thread.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks import measure
from lib import corpora, embedders, n2o
from lib.neighbors import Neighbors, approximate
from lib.neighbors.brute_force import choose, nearest
from lib.neighbors.contract import exclusions
from lib.run import paths
from lib.run.errors import InputError
from lib.store import EmbeddingStore

EMBEDDERS = ["glove-6b-50d", "glove-6b-50d+usif", "w2v-corpus", "wordllama", "minilm-avg"]
RECALLS = (0.96, 0.99)
RUNS = 3
ONE_BY_ONE = 20  # queries
OUTPUT = paths.ROOT / "docs" / "benchmarks" / "approximate.md"

Ids = dict[str, np.ndarray]


class Queries(NamedTuple):
    """Which sentences are searched for: to tune on, and to report on. No sentence is in both."""

    held_out: np.ndarray
    reported: np.ndarray


def draw(n: int, held_out: int, reported: int, seed: int) -> Queries:
    """Corpus indices, ascending, drawn without replacement."""
    if held_out + reported > n:
        raise InputError(f"queries: {held_out} + {reported} of {n} sentences; give fewer")
    drawn = np.random.default_rng(seed).choice(n, held_out + reported, replace=False)
    return Queries(np.sort(drawn[:held_out]), np.sort(drawn[held_out:]))


def n2o_change(exact_ids: Mapping[str, np.ndarray], found_ids: Mapping[str, np.ndarray]) -> tuple[float, float, float]:
    """What approximate search does to N2O.

    Parameters
    ----------
    exact_ids, found_ids : for the same two or more embedders their neighbors, int[q, k]

    Returns
    -------
    mean, largest : of the absolute differences between the N2O of a pair of embedders in the one and the other
    rho : Spearman's correlation of the pairs in the one and the other; NaN with fewer than three embedders
    """
    pairs = np.triu_indices(len(exact_ids), 1)
    one, other = (n2o.matrix(ids).to_numpy()[pairs] for ids in (exact_ids, found_ids))
    rho = stats.spearmanr(one, other).statistic if len(one) > 1 else np.nan
    return float(np.abs(one - other).mean()), float(np.abs(one - other).max()), float(rho)


# -- measuring ----------------------------------------------------------------------------------


Search = Callable[[np.ndarray], Neighbors]  # from corpus indices of queries


def search_exactly(vectors: np.ndarray, k: int, queries: np.ndarray) -> Neighbors:
    """What `exact` returns, on the processor with one thread."""
    excluded = exclusions(queries, len(queries), len(vectors))
    similarities, ids = nearest(choose(vectors[queries], vectors, "cpu"), k, excluded, threads=1)
    return Neighbors(ids, similarities.astype(np.float32))


def search_index(index: approximate.Index, k: int, effort: float, queries: np.ndarray) -> Neighbors:
    """The neighbors of sentences in the corpus of an index."""
    return index.search(index.corpus[queries], k, exclude=queries, effort=effort)


def one_by_one(search: Search, queries: np.ndarray) -> None:
    """Search for each query in a call of its own."""
    for i in range(len(queries)):
        search(queries[i : i + 1])


def compare(vectors: np.ndarray, queries: Queries, k: int, methods: list[str]) -> tuple[pd.DataFrame, Ids]:
    """One row a method and recall, the exact search first, and the ids that each found for the reported queries."""
    searches: dict[str, Search] = {"exact": partial(search_exactly, vectors, k)}
    rows: dict[str, dict] = {"exact": {}}
    held_truth = searches["exact"](queries.held_out)
    for method in methods:
        index = approximate.build(vectors, method)
        for recall in RECALLS:
            held_out = queries.held_out
            tuned = approximate.tune(index, vectors[held_out], k, recall, truth=held_truth, exclude=held_out)
            print(f"  {method}: {tuned}", file=sys.stderr, flush=True)
            searches[f"{method} {recall}"] = partial(search_index, index, k, tuned.effort)
            rows[f"{method} {recall}"] = {"tuning": tuned, "build": index.build_seconds}
    found = {label: search(queries.reported) for label, search in searches.items()}
    measured = [pd.DataFrame.from_dict(rows, orient="index"), recalls(found), times(searches, queries.reported)]
    return pd.concat(measured, axis=1), {label: neighbors.ids for label, neighbors in found.items()}


def recalls(found: Mapping[str, Neighbors]) -> pd.DataFrame:
    """Mean recall of each search against the exact one: columns ids, distance."""
    truth = found["exact"]
    shares = {
        label: (
            approximate.recall_by_ids(each.ids, truth.ids).mean(),
            approximate.recall_by_distance(each.similarities, truth.similarities).mean(),
        )
        for label, each in found.items()
    }
    return pd.DataFrame.from_dict(shares, orient="index", columns=["ids", "distance"])


def times(searches: Mapping[str, Search], queries: np.ndarray) -> pd.DataFrame:
    """Milliseconds a query and how many times as fast as the exact search, all queries together and one by one."""
    few = queries[:ONE_BY_ONE]
    together = measure.compare({label: partial(search, queries) for label, search in searches.items()}, RUNS)
    alone = measure.compare({label: partial(one_by_one, search, few) for label, search in searches.items()}, RUNS)
    columns = {
        "together": 1e3 * together["median"] / len(queries),
        "faster together": 1 / together["ratio"],
        "alone": 1e3 * alone["median"] / len(few),
        "faster alone": 1 / alone["ratio"],
    }
    return pd.DataFrame(columns)


def n2o_table(ids: Mapping[str, Ids]) -> pd.DataFrame:
    """One row a method and recall; `ids` holds for each embedder what each search found."""
    labels = [label for label in next(iter(ids.values())) if label != "exact"]
    by_search = {label: {name: found[label] for name, found in ids.items()} for label in ["exact", *labels]}
    changes = [n2o_change(by_search["exact"], by_search[label]) for label in labels]
    table = pd.DataFrame(changes, index=labels, columns=["mean", "largest", "rho"])
    return pd.DataFrame(
        {
            "mean absolute change of N2O": table["mean"].map("{:.4f}".format),
            "largest": table["largest"].map("{:.4f}".format),
            "Spearman's rho of the pairs": table["rho"].map("{:.4f}".format),
        }
    ).rename_axis("search")


def shown(name: str, dimensions: int, table: pd.DataFrame) -> pd.DataFrame:
    """`compare`'s table with its numbers as text."""
    tunings = [row if isinstance(row, approximate.Tuning) else None for row in table["tuning"]]
    columns = {
        "effort": [f"{tuned.effort_name} {tuned.effort:g}" if tuned else "" for tuned in tunings],
        "recall held out": [f"{tuned.recall_by_ids:.4f}" if tuned else "" for tuned in tunings],
        "recall by ids": table["ids"].map("{:.4f}".format),
        "recall by distance": table["distance"].map("{:.4f}".format),
        "ms, together": table["together"].map("{:.2f}".format),
        "faster, together": table["faster together"].map("{:.1f}".format),
        "ms, one by one": table["alone"].map("{:.1f}".format),
        "faster, one by one": table["faster alone"].map("{:.1f}".format),
        "build, s": ["" if np.isnan(seconds) else f"{seconds:.1f}" for seconds in table["build"]],
    }
    return pd.DataFrame(columns, index=table.index.rename(f"{name}, {dimensions}-d"))


# -- the page -----------------------------------------------------------------------------------

HEAD = """# Approximate against exact search

Written by `python -m benchmarks.approximate {command}`.
{machine}; {versions}.

Corpus `{corpus}`, {n:,} sentences, k = {k}; {reported} queries of it, each left out of its own neighbors, everything
with one thread. Each index is tuned on {held_out} other queries to the least effort that reaches a mean recall of 0.96
(what the N2O paper's appendix C reports) and of 0.99; an `ef_search` below k does not exist.

- *By ids*: the share of the k true neighbors that are found. *By distance*: the share of those found that are as near
  as the k-th true one, so that ties are not punished.
- *ms*: milliseconds a query, all queries together in one call (as a study does, where exact search reads the corpus
  once for all of them) and {alone} queries one by one (as a server does). Medians of {runs} runs in turns; *faster*:
  how many times as fast as exact search in the same turn. `lib.neighbors.exact` finds what float64 brute
  force finds; its time grows with the corpus, that of an index much more slowly.
- An index keeps its own float32 copy of the vectors, and for each one the links or the cell.
"""

N2O_HEAD = """
## What becomes of N2O

N2O from approximate ids against N2O from exact ones; pairs of the embedders above: {pairs}. A neighbor that an index
misses is a neighbor that two embedders can no longer share, so that N2O errs on the low side.
"""


def page(arguments: argparse.Namespace, n: int, tables: list[pd.DataFrame], ids: Mapping[str, Ids]) -> str:
    """The whole page in Markdown."""
    packages = ["numpy", "faiss-cpu", *(["ngt"] if "ngt" in arguments.methods else [])]
    head = HEAD.format(
        command=arguments.command,
        machine=measure.machine(),
        versions=measure.versions(*packages),
        corpus=arguments.corpus,
        n=n,
        k=arguments.k,
        reported=arguments.queries,
        held_out=arguments.held_out,
        runs=RUNS,
        alone=ONE_BY_ONE,
    )
    parts = [head, *(measure.markdown(table) + "\n" for table in tables)]
    if len(ids) > 1:
        parts += [N2O_HEAD.format(pairs=len(ids) * (len(ids) - 1) // 2), measure.markdown(n2o_table(ids)) + "\n"]
    return "\n".join(parts)


def load(name: str, arguments: argparse.Namespace, corpus: corpora.Corpus) -> np.ndarray:
    """float32[n, d]: from ``--vectors`` if that is given, else from the store, which encodes what it does not have."""
    if arguments.vectors:
        vectors = np.load(arguments.vectors / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    else:
        vectors = EmbeddingStore().embed(embedders.load(name), corpus, show_progress_bar=True)
    return np.array(vectors[: arguments.sentences])


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.approximate", description=__doc__.splitlines()[0])
    methods = ["hnsw", "ivf", *(["ngt"] if find_spec("ngtpy") else [])]
    parser.add_argument("--corpus", default="bible-gospels")
    parser.add_argument("--sentences", type=int, metavar="N", help="only the first N of them")
    parser.add_argument("--embedders", nargs="+", default=EMBEDDERS, metavar="NAME")
    parser.add_argument("--vectors", type=Path, metavar="FOLDER", help="read NAME.npy of the whole corpus from here")
    parser.add_argument("--methods", nargs="+", default=methods, choices=["hnsw", "ivf", "ngt"])
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--held-out", type=int, default=200)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the draw of queries")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    told = ("corpus", "sentences", "embedders", "methods", "queries", "held_out", "k", "seed")
    changed = {name: getattr(options, name) for name in told if getattr(options, name) != parser.get_default(name)}
    words = [
        ["--" + name.replace("_", "-"), *(value if isinstance(value, list) else [value])]
        for name, value in changed.items()
    ]
    options.command = " ".join(str(word) for group in words for word in group)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the page, print it."""
    options = parsed(sys.argv[1:] if arguments is None else arguments)
    corpus = corpora.load(options.corpus)
    n = min(options.sentences or len(corpus), len(corpus))
    queries = draw(n, options.held_out, options.queries, options.seed)
    tables, ids = [], {}
    for name in options.embedders:
        vectors = load(name, options, corpus)
        print(name, file=sys.stderr, flush=True)
        with threadpool_limits(1):
            table, ids[name] = compare(vectors, queries, options.k, options.methods)
        tables.append(shown(name, vectors.shape[1], table))
    text = page(options, n, tables, ids)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
