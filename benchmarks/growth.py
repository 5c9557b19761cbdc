"""How the time of exact and of approximate search grows with the corpus.

The replication of the N2O paper quotes the table.

``python -m benchmarks.growth`` writes docs/benchmarks/growth.csv. Everything runs on
one thread and is timed by the processor's clock, which other programs do not stop.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import measure
from benchmarks.approximate import K, one_by_one, search_exactly, search_index
from lib import corpora, embedders
from lib.neighbors import approximate, tuning
from lib.store import EmbeddingStore

NAME = "glove-6b-50d"
QUERIES = 100
HELD_OUT = 100
RECALL = 0.96
RUNS = 10
PARTS = (16, 8, 4, 2, 1)  # one of so many is searched
RANDOM = 4_000_000, 100  # vectors without meaning, to which exact search is indifferent
COLUMNS = ["vectors", "search", "queries", "sentences", "dimensions"]


def main(folder: Path, small: bool) -> None:
    """Time every search at every size in turns, and write a row for each turn."""
    corpus, parts, runs = ("lee", PARTS[-2:], 2) if small else ("bible", PARTS, RUNS)
    vectors = EmbeddingStore().embed(
        embedders.load(NAME), corpora.load(corpus), show_progress_bar=True
    )
    rng = np.random.default_rng(0)
    vectors = rng.permutation(vectors)
    random = rng.standard_normal(RANDOM, dtype=np.float32)
    queries = np.arange(QUERIES)
    held_out = np.arange(QUERIES, QUERIES + HELD_OUT)
    calls = {}
    with threadpool_limits(1):
        for part in parts:
            some = vectors[: len(vectors) // part]
            searches = {"exact": partial(search_exactly, some)}
            for method in ("hnsw", "ivf"):
                index = approximate.build(some, method)
                effort = tuning.tune(
                    index, some[held_out], K, RECALL, exclude=held_out
                ).effort
                searches[method] = partial(search_index, index, effort)
            for method, search in searches.items():
                calls[NAME, method, QUERIES, *some.shape] = partial(search, queries)
                calls[NAME, method, 1, *some.shape] = partial(
                    one_by_one, search, queries
                )
        for part in parts[1:]:  # where the fixed cost of a call is less than a tenth
            some = random[: len(random) // part]
            calls["random", "exact", QUERIES, *some.shape] = partial(
                search_exactly, some, queries
            )
        seconds = measure.in_turns(calls, runs, measure.processor_seconds) / QUERIES
    seconds = seconds.rename_axis("run").rename_axis(COLUMNS, axis=1)
    print(seconds.median())
    rows = seconds.stack(COLUMNS, future_stack=True).rename("seconds").reset_index()
    rows[[*COLUMNS, "run", "seconds"]].to_csv(
        folder / "growth.csv", index=False, float_format="%.4g"
    )


if __name__ == "__main__":
    measure.command(__doc__, main)
