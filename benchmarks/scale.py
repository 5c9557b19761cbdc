"""Eight million sentences, as many as in the N2O paper, from text to neighbors.

``python -m benchmarks.scale`` writes docs/benchmarks/scale.md. Text is made: words of
the Wikipedia sample, recombined. It is embedded into a store and searched exactly, by
one process and by a local Dask cluster; then a run is killed on the way and run again.
What each way finds is compared. It needs 7 GB of disk and runs on Linux.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from benchmarks import measure
from lib import corpora, embedders
from lib.base import cluster, paths
from lib.neighbors import Neighbors, brute_force, distributed
from lib.store import EmbeddingStore, shards
from lib.vectors import unit

NAME = "glove-6b-50d"
SENTENCES = 8_000_000
TRIAL = 100_000
QUERIES = 1_000
K = 50
WORKERS = 2
MEMORY = 4 * 2**30  # bytes of its own that a worker may have
COMPARED = 20  # queries that are searched once more, by NumPy alone
MACHINES = (1, 4, 16)


class MadeText(Sequence):
    """Sentences made of the words of the Wikipedia sample.

    A sentence is as long as one of the sample's, and its words are drawn as often as
    they occur there. It is made when it is asked for, each time the same.
    """

    def __init__(self, size: int) -> None:
        tokens = [text.split() for text in corpora.load("wikipedia-sample").sentences]
        self.words = np.array(list(chain.from_iterable(tokens)))
        self.lengths = np.array([len(words) for words in tokens])
        self.size = size
        self.block = lru_cache(maxsize=1)(self._block)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[str]:
        for start in range(0, self.size, shards.SIZE):
            yield from self[start : start + shards.SIZE]

    def __getitem__(self, where: int | slice) -> Any:
        if not isinstance(where, slice):
            return self.block(where // shards.SIZE)[where % shards.SIZE]
        start, stop, _ = where.indices(self.size)
        numbers = range(start // shards.SIZE, -(-stop // shards.SIZE))
        sentences = list(chain.from_iterable(map(self.block, numbers)))
        first = start - start % shards.SIZE
        return sentences[start - first : stop - first]

    def _block(self, number: int) -> list[str]:
        rng = np.random.default_rng([0, number])
        lengths = rng.choice(self.lengths, shards.SIZE)
        words = rng.choice(self.words, lengths.sum()).tolist()
        ends = np.cumsum(lengths)
        return [
            " ".join(words[end - length : end])
            for end, length in zip(ends, lengths, strict=True)
        ]


# -- one way through, in a process of its own ------------------------------------------


def embed_and_search(folder: Path, size: int, workers: int) -> dict[str, Any]:
    """Embed the text, search it, and say what it took; 0 workers: this process alone.

    Raises AssertionError if NumPy alone finds something else.
    """
    text = MadeText(size)
    asked = np.random.default_rng(1).choice(size, QUERIES, replace=False)
    with (
        cluster.connect("local" if workers else "none", workers or None) as client,
        measure.sampled(memory, every=0.5) as sizes,
    ):
        if client is not None:
            client.run(limit_memory)
        start = time.perf_counter()
        store = EmbeddingStore(folder)
        vectors = store.embed(
            embedders.load(NAME), text, show_progress_bar=True, client=client
        )
        embedded = time.perf_counter()
        # float32, where numbers near 1 differ by 6e-8
        queries = vectors[asked]
        if client is None:
            found = brute_force.exact(queries, vectors, K, exclude=asked)
        else:
            found = distributed.exact(queries, vectors, K, exclude=asked, client=client)
        searched = time.perf_counter()
    compare(found, vectors, asked)
    own, largest = np.max(sizes, axis=0)
    return {
        "embed": embedded - start,
        "search": searched - embedded,
        "this process": own / 2**30,
        "worker": largest / 2**30,
        "found": hashlib.sha256(found.ids.tobytes()).hexdigest(),
        "bytes": vectors.nbytes,
    }


def compare(found: Neighbors, vectors: np.ndarray, asked: np.ndarray) -> None:
    """Check the lists of a few queries against cosines computed by NumPy."""
    some = asked[:COMPARED]
    best = np.full((COMPARED, K), -np.inf)
    queries = unit(np.asarray(vectors[some], float))
    for start in range(0, len(vectors), 2**18):
        cosines = unit(np.asarray(vectors[start : start + 2**18], float)) @ queries.T
        for column, query in enumerate(some):
            if start <= query < start + len(cosines):
                cosines[query - start, column] = -np.inf
        both = np.hstack([best, cosines.T])
        best = -np.sort(-both, axis=1)[:, :K]
    np.testing.assert_allclose(found.similarities[:COMPARED], best, rtol=0, atol=1e-6)


def limit_memory() -> None:
    """Refuse this process more memory of its own; mapped files do not count."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def memory() -> tuple[int, int]:
    """Bytes of its own that this process has, and that the largest worker has."""
    process = psutil.Process()
    workers = map(measure.own_memory, process.children(recursive=True))
    return measure.own_memory(process), max(workers, default=0)


# -- all ways, and the page ------------------------------------------------------------


def main(folder: Path, small: bool) -> None:
    """Embed and search in each way, compare what is found, and write the page."""
    size = TRIAL if small else SENTENCES
    place = paths.CACHE / "benchmarks" / "scale"
    shutil.rmtree(place, ignore_errors=True)
    alone = in_a_process(place / "alone", size, 0)
    shutil.rmtree(place / "alone")
    spread = in_a_process(place / "spread", size, WORKERS)
    shutil.rmtree(place / "spread")
    kept = kill_on_the_way(place / "killed", size, alone["embed"] / 2)
    again = in_a_process(place / "killed", size, 0)
    shutil.rmtree(place)
    assert alone["found"] == spread["found"] == again["found"]
    ways = {
        "one process": alone,
        f"{WORKERS} workers": spread,
        f"one process, after a kill at {kept:,} sentences": again,
    }
    rows = {
        way: {
            "embedding, s": f"{it['embed']:,.0f}",
            "search, s": f"{it['search']:,.1f}",
            "memory of this process, GiB": f"{it['this process']:.1f}",
            "of a worker, GiB": f"{it['worker']:.1f}" if it["worker"] else "",
        }
        for way, it in ways.items()
    }
    serial = alone_in_this_process(size)
    shared = max(spread["embed"] - serial, 0)
    machines = {
        n: {
            "embedding, s": f"{serial + shared / n:,.0f}",
            "search, s": f"{spread['search'] / n:,.1f}",
        }
        for n in MACHINES
    }
    measure.write_page(
        folder / "scale.md",
        "Eight million sentences",
        f"{size:,} sentences made of the words of the Wikipedia sample, `{NAME}` "
        f"({alone['bytes'] / 1e9:.1f} GB of vectors), {QUERIES:,} queries, k = {K}, "
        "exact. Memory is a process's own, excluding file pages that the system "
        f"can reclaim; a worker may have {MEMORY / 2**30:.0f} GiB. All runs find the "
        "same neighbors, and NumPy alone finds the same cosines for "
        f"{COMPARED} queries.",
        ["numpy", "numba", "dask", "distributed"],
        pd.DataFrame(rows).T.rename_axis("way"),
        "## What a cluster would take\n\nComputed by Amdahl's law from the run with "
        f"{WORKERS} workers, not measured. Making the text twice, once to hash it and "
        f"once to send it, took {serial:,.0f} s and stays with one process; machines "
        f"share the other {shared:,.0f} s of embedding. Search takes time in "
        "proportion to the corpus ([growth.csv](growth.csv)), so splitting the corpus "
        "over machines divides that time. The network and slow machines are left out.",
        pd.DataFrame(machines).T.rename_axis(f"machines of {WORKERS} cores"),
    )


def in_a_process(folder: Path, size: int, workers: int) -> dict[str, Any]:
    """What `embed_and_search` returns, from a process that then ends."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, folder, size, workers))
    process.start()
    theirs.close()
    answer = ours.recv()
    process.join()
    return answer


def _send(pipe: Any, *arguments: Any) -> None:
    pipe.send(embed_and_search(*arguments))


def kill_on_the_way(folder: Path, size: int, seconds: float) -> int:
    """Kill a run after some time; how many sentences it has left in the store."""
    process = get_context("spawn").Process(
        target=embed_and_search, args=(folder, size, 0)
    )
    process.start()
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    files = [file for file in folder.rglob("*.npy") if file.stem.isdigit()]
    return sum(len(np.load(file, mmap_mode="r")) for file in files)


def alone_in_this_process(size: int) -> float:
    """Seconds for making the text twice: to name it by its hash, and to send it."""
    text = MadeText(size)
    return 2 * measure.seconds(lambda: sum(map(len, text)))


if __name__ == "__main__":
    measure.command(__doc__, main)
