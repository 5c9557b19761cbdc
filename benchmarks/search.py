"""Exact search side by side with its peers, on the same vectors.

What they find is compared before any is timed.

``python -m benchmarks.search`` writes docs/benchmarks/search.md, a CSV and a figure;
with ``--large FOLDER`` it also searches a file of 9.6 GB, made in FOLDER and removed
afterwards (Linux only).
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import psutil
import scipy.sparse as sp
from joblib import cpu_count
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks import measure
from lib import corpora, embedders, plotting
from lib.neighbors import exact

K = 50
QUERIES = 100
MORE_QUERIES = 500
DIMENSIONS = 300
CORPUS = 1_000_000  # vectors
LARGE = 8_000_000
TRIAL = 20_000
ROUNDING = 1e-5  # of float32 sums of 300 products
PIECE = 256  # sparse queries that are multiplied at once
ABOUT = """\
{threads} threads. Where *times ours* is below 1, the peer is faster. It is the median
of the ratios within each turn, not the ratio of the medians.

Preparing the peers' inputs is not timed: faiss, sparse_dot_topn and SciPy get vectors
of length 1, the last two also the corpus transposed. `lib.neighbors.exact` takes the
vectors as they are; its time includes measuring their lengths and indexing sparse ones,
which counts most where queries are few."""
PACKAGES = [
    "numpy",
    "scipy",
    "torch",
    "numba",
    "faiss-cpu",
    "usearch",
    "scikit-learn",
    "sparse-dot-topn",
]


def main(folder: Path, small: bool, large: Path | None) -> None:
    """Measure, and write the page beside a CSV and a figure."""
    n = TRIAL if small else CORPUS
    rng = np.random.default_rng(0)
    corpus = rng.standard_normal((n, DIMENSIONS), dtype=np.float32)
    queries = rng.standard_normal((MORE_QUERIES, DIMENSIONS), dtype=np.float32)
    parts = []
    with threadpool_limits(cpu_count()):
        for some in (queries[:1], queries[:QUERIES], queries):
            noun = "query" if len(some) == 1 else "queries"
            parts += section(
                f"{len(some)} {noun}, {n:,} x {DIMENSIONS} float32",
                dense(some, corpus),
                ROUNDING,
            )
        vectors = embedders.load("tfidf").fit_encode(
            corpora.load("bible-gospels").sentences
        )
        size = f"tf-idf of {vectors.shape[0]:,} sentences, {vectors.shape[1]:,} words"
        for count in (100, 2000):
            some = vectors[np.sort(rng.choice(vectors.shape[0], count, replace=False))]
            parts += section(
                f"{count} queries, {size}", sparse(some, vectors), K * ROUNDING
            )
        costs = sweep(rng, n)
    costs.to_csv(folder / "search.csv", index=False, float_format="%.4g")
    draw(costs, folder / "search.png")
    parts.append(
        "![Time of a search over corpus size, dimensions, k and queries](search.png)"
    )
    if large:
        with tempfile.TemporaryDirectory(dir=large) as scratch:
            parts += in_a_file(
                Path(scratch) / "vectors.npy",
                TRIAL if small else LARGE,
                queries[:QUERIES],
            )
    about = ABOUT.format(threads=cpu_count())
    measure.write_page(folder / "search.md", "Exact search", about, PACKAGES, *parts)


def section(
    title: str, candidates: dict[str, Callable[[], Any]], tolerance: float
) -> tuple[str, pd.DataFrame]:
    """A heading and a table with a row for each candidate, ours first.

    All candidates must find the same similarities.
    """
    turns = measure.in_turns(candidates, tolerance=tolerance)
    table = measure.summary(
        turns, "seconds (median)", "least to most", "times ours", form="{:.3f}"
    )
    return f"## {title}, k = {K}", table.rename_axis("")


def dense(
    queries: np.ndarray, corpus: np.ndarray
) -> dict[str, Callable[[], np.ndarray]]:
    """Searches that return similarities, nearest first.

    Faiss gets vectors of length 1, which are made outside the timing.
    """
    import faiss
    from sklearn.neighbors import NearestNeighbors
    from usearch.index import MetricKind, search

    faiss.omp_set_num_threads(cpu_count())
    units = normalize(queries)
    index = faiss.IndexFlatIP(DIMENSIONS)
    index.add(normalize(corpus))
    brute = NearestNeighbors(
        n_neighbors=K, algorithm="brute", metric="cosine", n_jobs=cpu_count()
    ).fit(corpus)
    by_usearch = partial(
        search, corpus, queries, K, MetricKind.Cos, exact=True, threads=cpu_count()
    )
    return {
        "lib.neighbors.exact": lambda: exact(queries, corpus, K).similarities,
        "faiss IndexFlatIP (normalized beforehand)": lambda: index.search(units, K)[0],
        "usearch exact": lambda: np.atleast_2d(1 - by_usearch().distances),
        "scikit-learn brute": lambda: 1 - brute.kneighbors(queries)[0],
    }


def sparse(
    queries: sp.csr_array, corpus: sp.csr_array
) -> dict[str, Callable[[], np.ndarray]]:
    """Searches that return for each query the sum of the similarities found.

    Of tied neighbors, any may be found.

    The peers get vectors of length 1. sparse_dot_topn leaves out what has nothing in
    common with a query.
    """
    from sparse_dot_topn import sp_matmul_topn

    units = sp.csr_matrix(normalize(queries))
    transposed = sp.csr_matrix(normalize(corpus).T)

    def product() -> np.ndarray:
        sums = []
        for start in range(0, units.shape[0], PIECE):
            similarities = (units[start : start + PIECE] @ transposed).toarray()
            ids = np.argpartition(-similarities, K, axis=1)[:, :K]
            sums.append(np.take_along_axis(similarities, ids, axis=1).sum(axis=1))
        return np.concatenate(sums)

    by_topn = partial(
        sp_matmul_topn, units, transposed, top_n=K, n_threads=cpu_count(), sort=True
    )
    return {
        "lib.neighbors.exact": lambda: exact(queries, corpus, K).similarities.sum(
            axis=1
        ),
        "sparse_dot_topn": lambda: np.ravel(by_topn().sum(axis=1)),
        "scipy product, argpartition": product,
    }


# -- what it costs ---------------------------------------------------------------------


def sweep(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Seconds of a search, and of reading its corpus once, for various sizes.

    One size after the other is varied.
    """
    fixed = {"vectors": n // 2, "dimensions": DIMENSIONS, "k": K, "queries": QUERIES}
    varied = {
        "vectors": [n // 8, n // 4, n // 2, n],
        "dimensions": [50, 100, 200, 300, 768],
        "k": [1, 10, 50, 200, 1000],
        "queries": [1, 10, 100, 300, 1000],
    }
    rows = []
    for name, values in varied.items():
        for value in values:
            sizes = fixed | {name: value}
            corpus = rng.standard_normal(
                (sizes["vectors"], sizes["dimensions"]), dtype=np.float32
            )
            queries = rng.standard_normal(
                (sizes["queries"], sizes["dimensions"]), dtype=np.float32
            )
            search = partial(exact, queries, corpus, sizes["k"], device="cpu")
            seconds = measure.in_turns(
                {"seconds": search, "reading_seconds": partial(read_once, corpus)}
            )
            rows.append({"varied": name, **sizes, **seconds.median()})
    return pd.DataFrame(rows)


def read_once(corpus: np.ndarray) -> None:
    """Pass over every byte, with all cores, as fast as memory delivers."""
    words = corpus.reshape(-1).view(np.uint32)
    with ThreadPoolExecutor(cpu_count()) as pool:
        list(pool.map(np.max, np.array_split(words, cpu_count() * 16)))


def draw(table: pd.DataFrame, file: Path) -> None:
    """Time over each varied quantity, with the time to read the corpus once."""
    plotting.use_style()
    figure, panels = plt.subplots(
        2, 2, figsize=(plotting.PAGE_WIDTH, 5), sharey=True, layout="constrained"
    )
    for axes, (varied, rows) in zip(
        panels.flat, table.groupby("varied", sort=False), strict=True
    ):
        fixed = rows.iloc[0][["vectors", "dimensions", "k", "queries"]].drop(varied)
        axes.loglog(
            rows[varied],
            rows["seconds"],
            marker="o",
            color=plotting.COLORS[0],
            label="search",
        )
        axes.loglog(
            rows[varied],
            rows["reading_seconds"],
            "--",
            color=plotting.COLORS[1],
            label="reading once",
        )
        axes.set_xticks(rows[varied], rows[varied].map("{:,}".format))
        axes.set_xticks([], minor=True)
        title = ", ".join(f"{name} {value:,}" for name, value in fixed.items())
        axes.set(xlabel=varied, title=title)
    for axes in panels[:, 0]:
        axes.set_ylabel("seconds")
    panels[0, 0].legend(frameon=False)
    figure.savefig(file, metadata={"Software": None})
    plt.close(figure)


# -- larger than memory ----------------------------------------------------------------


def in_a_file(file: Path, vectors: int, queries: np.ndarray) -> tuple[str, str]:
    """Search a memory-map from disk, then from the page cache.

    Returns a heading and a paragraph.
    """
    create(file, vectors)
    corpus = np.load(file, mmap_mode="r", allow_pickle=False)
    search = partial(exact, queries, corpus, K)
    gigabytes = corpus.nbytes / 1e9
    forget(file)
    dd = ["dd", f"if={file}", "of=/dev/null", "bs=8M"]
    plain = measure.seconds(
        partial(subprocess.run, dd, check=True, stderr=subprocess.DEVNULL)
    )
    forget(file)
    process = psutil.Process()
    own = partial(measure.own_memory, process)
    with measure.sampled(own, every=0.005) as memory:
        cold = measure.seconds(search)
        least, warm, most = sorted(measure.seconds(search) for _ in range(3))
    size = f"{vectors:,} x {DIMENSIONS} float32 ({gigabytes:.1f} GB)"
    return (
        f"## {len(queries)} queries, a memory-map of {size}, k = {K}",
        f"In the page cache: {warm:.2f} s ({least:.2f} to {most:.2f}), "
        f"{gigabytes / warm:.2f} GB/s. From disk: {cold:.1f} s, "
        f"{gigabytes / cold:.2f} GB/s; dd reads the file at {gigabytes / plain:.2f} "
        "GB/s. The process's anonymous memory rose from "
        f"{memory[0] / 2**20:.0f} to at most {max(memory) / 2**20:.0f} MiB. "
        "On a GPU: [another page](accelerator.md).",
    )


def create(file: Path, vectors: int) -> None:
    """Write random vectors, a hundredth at a time."""
    corpus = np.lib.format.open_memmap(file, "w+", np.float32, (vectors, DIMENSIONS))
    rng = np.random.default_rng(1)
    for piece in np.array_split(corpus, 100):
        rng.standard_normal(dtype=np.float32, out=piece)
    corpus.flush()


def forget(file: Path) -> None:
    """Drop a file from the page cache."""
    with file.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    measure.command(
        __doc__, main, large="also search a file of 9.6 GB, made here and removed"
    )
