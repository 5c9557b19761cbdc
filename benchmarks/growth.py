"""How the time of exact and of approximate search grows with the corpus: study 2 quotes the table.

``python -m benchmarks.growth`` writes ``docs/benchmarks/growth.csv``. Everything runs on one thread and is timed by the
processor's clock, which other programs do not stop.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.approximate import one_by_one, search_exactly, search_index
from lib import corpora, embedders
from lib.neighbors import approximate
from lib.store import EmbeddingStore
from lib.studies.robustness import BENCHMARK

K, QUERIES, HELD_OUT, RECALL = 50, 100, 100, 0.96
PARTS = (16, 8, 4, 2, 1)  # one of so many is searched
COLUMNS = ["vectors", "search", "queries", "sentences", "dimensions", "run", "seconds"]
RANDOM = 4_000_000, 100  # vectors without meaning, to which exact search is indifferent


def main() -> None:
    """Time every search at every size in turns, and write a row for each turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="bible")
    parser.add_argument("--embedder", default="glove-6b-50d")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    corpus = corpora.load(options.corpus)
    vectors = EmbeddingStore().embed(embedders.load(options.embedder), corpus, show_progress_bar=True)
    rng = np.random.default_rng(0)
    vectors, random = rng.permutation(vectors), rng.standard_normal(RANDOM, dtype=np.float32)
    searches = {}
    with threadpool_limits(1):
        for part in PARTS:
            searches |= prepared(options.embedder, vectors[: len(vectors) // part])
        for part in PARTS[1:]:  # where the fixed cost of a call is less than a tenth
            some = random[: len(random) // part]
            searches["random", "exact", QUERIES, *some.shape] = partial(search_exactly, some, K, np.arange(QUERIES))
        table = timed(searches, options.runs)
    table.to_csv(BENCHMARK, index=False, float_format="%.4g")
    print(table.groupby(COLUMNS[:4])["seconds"].median())


def prepared(name: str, vectors: np.ndarray) -> dict[tuple, Callable[[], object]]:
    """The searches of a corpus: all queries in a call, and one by one; the indexes tuned on other queries."""
    queries, held_out = np.arange(QUERIES), np.arange(QUERIES, QUERIES + HELD_OUT)
    found = {"exact": partial(search_exactly, vectors, K)}
    truth = found["exact"](held_out)
    for method in ("hnsw", "ivf"):
        index = approximate.build(vectors, method)
        effort = approximate.tune(index, vectors[held_out], K, RECALL, truth=truth, exclude=held_out).effort
        found[method] = partial(search_index, index, K, effort)
    together = {(name, method, QUERIES, *vectors.shape): partial(find, queries) for method, find in found.items()}
    alone = {(name, method, 1, *vectors.shape): partial(one_by_one, find, queries) for method, find in found.items()}
    return together | alone


def timed(searches: dict[tuple, Callable[[], object]], runs: int) -> pd.DataFrame:
    """Seconds a query in each turn, after one call that is not timed."""
    for search in searches.values():
        search()
    rows = []
    for run in range(runs):
        for key, search in searches.items():
            started = time.process_time()
            search()
            rows.append((*key, run, (time.process_time() - started) / QUERIES))
    return pd.DataFrame(rows, columns=COLUMNS)


if __name__ == "__main__":
    main()
