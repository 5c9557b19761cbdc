"""Approximate against exact search: recall and time.

This is appendix C of the N2O paper; the replication says what becomes of N2O.

``python -m benchmarks.approximate`` writes docs/benchmarks/approximate.md. Indexes are
tuned on held-out queries; every number in the tables is of other queries, all of them
searched with one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks import measure
from lib import corpora, embedders
from lib.base.errors import InputError
from lib.neighbors import Neighbors, approximate, tuning
from lib.neighbors.brute_force import choose, nearest
from lib.neighbors.contract import exclusions
from lib.store import EmbeddingStore

EMBEDDERS = [
    "glove-6b-50d",
    "glove-6b-50d+usif",
    "w2v-corpus",
    "wordllama",
    "minilm-avg",
]
METHODS = ["hnsw", "ivf", *(["ngt"] if find_spec("ngtpy") else [])]
RECALLS = (0.96, 0.99)
SENTENCES = 30_000
HELD_OUT = 200  # queries
QUERIES = 500
K = 50
RUNS = 3
ONE_BY_ONE = 20  # queries
TOLERANCE = 1e-6  # of a float32 similarity
ABOUT = """Corpus `{corpus}`, {n:,} sentences, k = {k}; {queries} of them are queries, \
and no query is its own
neighbor; one thread throughout. Each index is tuned on {held_out} other queries to \
the least effort that reaches a mean
recall of 0.96 (what the N2O paper's appendix C reports) and of 0.99; `ef_search` \
cannot be below k.

- *By ids*: the share of the k true neighbors that are found. *By distance*: the share \
of those found that are as near
  as the k-th true one, so ties are not penalized.
- *ms*: milliseconds a query, all queries together in one call (as a study does, where \
exact search reads the corpus
  once for all of them) and {alone} queries one by one (as a server does). Medians of \
{runs} runs in turns; *faster*:
  how many times as fast as exact search in the same turn. `lib.neighbors.exact` finds \
what float64 brute
  force finds; its time grows with the corpus, that of an index much more slowly.
- An index keeps its own float32 copy of the vectors, plus each vector's links or \
cell."""

Search = Callable[[np.ndarray], Neighbors]  # from corpus indices of queries


def search_exactly(vectors: np.ndarray, queries: np.ndarray) -> Neighbors:
    """What `exact` returns, on the processor with one thread."""
    excluded = exclusions(queries, len(queries), len(vectors))
    screen = choose(vectors[queries], vectors, "cpu")
    similarities, ids = nearest(screen, K, excluded, threads=1)
    return Neighbors(ids, similarities.astype(np.float32))


def search_index(
    index: approximate.Index, effort: float, queries: np.ndarray
) -> Neighbors:
    """The neighbors of sentences in the corpus of an index."""
    return index.search(index.corpus[queries], K, exclude=queries, effort=effort)


def recall_by_distance(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of the k found vectors that are as near as the k-th true neighbor.

    It is float64[q] in [0, 1].

    Both are similarities, float[q, k], nearest first; they are equal within
    `TOLERANCE`.
    """
    return (found >= truth[:, -1:] - TOLERANCE).mean(axis=1, dtype=np.float64)


def one_by_one(search: Search, queries: np.ndarray) -> None:
    """Search for each query in a call of its own."""
    for i in range(len(queries)):
        search(queries[i : i + 1])


def compare(
    vectors: np.ndarray, held_out: np.ndarray, queries: np.ndarray
) -> pd.DataFrame:
    """One row of text a method and recall, the exact search first."""
    searches: dict[str, Search] = {"exact": partial(search_exactly, vectors)}
    columns = {"effort": {}, "recall held out": {}}
    builds = {}
    for method in METHODS:
        index = approximate.build(vectors, method)
        for recall in RECALLS:
            label = f"{method} {recall}"
            tuned = tuning.tune(index, vectors[held_out], K, recall, exclude=held_out)
            columns["effort"][label] = f"{index.effort_name} {tuned.effort:g}"
            columns["recall held out"][label] = f"{tuned.recall_by_ids:.4f}"
            builds[label] = f"{index.build_seconds:.1f}"
            searches[label] = partial(search_index, index, tuned.effort)
    results = {label: search(queries) for label, search in searches.items()}
    truth = results["exact"]
    by_ids = {}
    by_distance = {}
    for label, result in results.items():
        recall = tuning.recall_by_ids(result.ids, truth.ids)
        by_ids[label] = f"{recall.mean():.4f}"
        recall = recall_by_distance(result.similarities, truth.similarities)
        by_distance[label] = f"{recall.mean():.4f}"
    few = queries[:ONE_BY_ONE]
    together = {label: partial(search, queries) for label, search in searches.items()}
    alone = {
        label: partial(one_by_one, search, few) for label, search in searches.items()
    }
    together = measure.in_turns(together, RUNS) / len(queries)
    alone = measure.in_turns(alone, RUNS) / len(few)
    columns |= {
        "recall by ids": by_ids,
        "recall by distance": by_distance,
        "ms, together": (1e3 * together.median()).map("{:.2f}".format),
        "faster, together": measure.ratios(1 / together).map("{:.1f}".format),
        "ms, one by one": (1e3 * alone.median()).map("{:.1f}".format),
        "faster, one by one": measure.ratios(1 / alone).map("{:.1f}".format),
        "build, s": builds,
    }
    return pd.DataFrame(columns, index=list(searches)).fillna("")


def main(folder: Path, small: bool) -> None:
    """Measure, and write the page."""
    corpus = corpora.load("bible-gospels")
    try:
        corpus = corpora.load("reuters")
    except InputError:
        print("reuters is not at hand")
    n = min(2000 if small else SENTENCES, len(corpus))
    drawn = np.random.default_rng(0).choice(n, HELD_OUT + QUERIES, replace=False)
    held_out = np.sort(drawn[:HELD_OUT])
    queries = np.sort(drawn[HELD_OUT:])
    tables = []
    for name in EMBEDDERS[:1] if small else EMBEDDERS:
        embedder = embedders.load(name)
        vectors = EmbeddingStore().embed(embedder, corpus, show_progress_bar=True)
        vectors = np.array(vectors[:n])
        with threadpool_limits(1):
            table = compare(vectors, held_out, queries)
        tables.append(table.rename_axis(f"{name}, {vectors.shape[1]}-d"))
    about = ABOUT.format(
        corpus=corpus.name,
        n=n,
        k=K,
        queries=QUERIES,
        held_out=HELD_OUT,
        alone=ONE_BY_ONE,
        runs=RUNS,
    )
    packages = ["numpy", "faiss-cpu", *METHODS[2:]]
    measure.write_page(
        folder / "approximate.md",
        "Approximate against exact search",
        about,
        packages,
        *tables,
    )


if __name__ == "__main__":
    measure.command(__doc__, main)
