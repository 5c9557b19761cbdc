"""Exact search side by side with its peers, on the same vectors; what they find is compared before any is timed.

``python -m benchmarks.search --scale 100000`` is a small trial; ``--large --folder FOLDER`` adds a corpus in a file
of 9.6 GB, made in FOLDER and removed afterwards (Linux only).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks import measure
from lib import corpora, embedders, plotting
from lib.neighbors import exact
from lib.run import paths

K, QUERIES, DIMENSIONS = 50, 100, 300
PEERS_ROUNDING = 1e-5  # float32 sums of 300 products
LARGE, PIECE = 8_000_000, 100_000
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
OUTPUT = paths.ROOT / "docs" / "benchmarks" / "search.md"

Found = tuple[np.ndarray, np.ndarray]  # similarities float[q, k], ids int[q, k]


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line asks for; print Markdown and write it beside a CSV and a figure."""
    options = _options(arguments)
    rng = np.random.default_rng(0)
    corpus = rng.standard_normal((options.scale, DIMENSIONS), dtype=np.float32)
    queries = rng.standard_normal((500, DIMENSIONS), dtype=np.float32)
    sections = [f"# Exact search\n\n{measure.machine()}; {CORES} threads."]
    with threadpool_limits(CORES):
        sections += [dense(queries[:QUERIES], corpus, options.runs), dense(queries, corpus, options.runs)]
        sections += [sparse(count, options.runs) for count in (100, 2000)]
        sections.append(sweep(rng, options.scale, options.runs, options.output))
    if options.large:
        del corpus
        sections.append(large(options.folder, options.vectors, queries[:QUERIES]))
    report = "\n\n".join(sections) + "\n"
    options.output.write_text(report, encoding="utf-8")
    print(report)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.search", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=1_000_000, help="vectors in the corpus (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=measure.RUNS, help="turns (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="a .md; .csv and .png lie beside it")
    parser.add_argument("--large", action="store_true", help="also search a memory-map")
    parser.add_argument("--vectors", type=int, default=LARGE, help="in the memory-map (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="for the memory-map's file")
    options = parser.parse_args(arguments)
    if options.large and not options.folder:
        parser.error("--large: give --folder, where the file can lie")
    return options


# -- dense --------------------------------------------------------------------------------------


def dense(queries: np.ndarray, corpus: np.ndarray, runs: int) -> str:
    """Peers on dense vectors. Faiss gets vectors of length 1, which takes it no time here."""
    candidates = {
        "lib.neighbors.exact": partial(exact, queries, corpus, K),
        "faiss IndexFlatIP (normalized beforehand)": _faiss(queries, corpus),
        "usearch exact": _usearch(queries, corpus),
        "scikit-learn brute": _sklearn(queries, corpus),
    }
    reference = exact(queries, corpus, K + 1)
    for peer in list(candidates.values())[1:]:
        check_same(reference.similarities, reference.ids, *peer())
    table = measure.compare(candidates, runs)
    title = f"{len(queries)} queries, {len(corpus):,} x {corpus.shape[1]} float32, k = {K}"
    return _section(title, table, "numpy", "torch", "numba", "faiss-cpu", "usearch", "scikit-learn")


def check_same(similarities: np.ndarray, ids: np.ndarray, peers: np.ndarray, peers_ids: np.ndarray) -> None:
    """Assert that a peer finds the same: equal similarities, and equal ids wherever these lie further apart.

    `similarities` and `ids` have one column more than what the peer found.
    """
    k = peers_ids.shape[1]
    np.testing.assert_allclose(peers, similarities[:, :k], rtol=0, atol=PEERS_ROUNDING)
    gaps = -np.diff(similarities, axis=1, prepend=np.inf)
    apart = np.minimum(gaps[:, :k], gaps[:, 1 : k + 1]) > 2 * PEERS_ROUNDING
    np.testing.assert_array_equal(peers_ids[apart], ids[:, :k][apart])


def _faiss(queries: np.ndarray, corpus: np.ndarray) -> Callable[[], Found]:
    import faiss

    faiss.omp_set_num_threads(CORES)
    unit_queries, unit_corpus = queries.copy(), corpus.copy()
    faiss.normalize_L2(unit_queries)
    faiss.normalize_L2(unit_corpus)
    index = faiss.IndexFlatIP(corpus.shape[1])
    index.add(unit_corpus)
    return partial(index.search, unit_queries, K)


def _usearch(queries: np.ndarray, corpus: np.ndarray) -> Callable[[], Found]:
    from usearch.index import MetricKind, search

    def call() -> Found:
        found = search(corpus, queries, K, MetricKind.Cos, exact=True, threads=CORES)
        return 1 - found.distances, found.keys.astype(np.int64)

    return call


def _sklearn(queries: np.ndarray, corpus: np.ndarray) -> Callable[[], Found]:
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=K, algorithm="brute", metric="cosine", n_jobs=CORES).fit(corpus)

    def call() -> Found:
        distances, ids = index.kneighbors(queries)
        return 1 - distances, ids

    return call


# -- sparse -------------------------------------------------------------------------------------


def sparse(count: int, runs: int) -> str:
    """sparse_dot_topn, and SciPy's product with NumPy's selection, on tf-idf vectors of the default corpus."""
    sentences = corpora.load("bible-gospels").sentences
    corpus = sp.csr_array(embedders.load("tfidf").fit_encode(sentences))
    queries = corpus[np.sort(np.random.default_rng(0).choice(corpus.shape[0], count, replace=False))]
    candidates = {
        "lib.neighbors.exact": partial(exact, queries, corpus, K),
        "sparse_dot_topn": _sparse_dot_topn(queries, corpus),
        "scipy product, argpartition": partial(_product, queries, corpus),
    }
    expected = exact(queries, corpus, K).similarities
    for peer in list(candidates.values())[1:]:
        np.testing.assert_allclose(peer()[0], expected, rtol=0, atol=1e-6)
    title = f"{count} queries, tf-idf of {corpus.shape[0]:,} sentences, {corpus.shape[1]:,} words, k = {K}"
    return _section(title, measure.compare(candidates, runs), "scipy", "sparse-dot-topn", "numba")


def _sparse_dot_topn(queries: sp.csr_array, corpus: sp.csr_array) -> Callable[[], Found]:
    """It leaves out what has nothing in common with a query, and ties in any order; it gets unit vectors."""
    from sparse_dot_topn import sp_matmul_topn

    units = [sp.csr_matrix(_unit(vectors)) for vectors in (queries, corpus)]
    transposed = units[1].T.tocsr()

    def call() -> Found:
        found = sp_matmul_topn(units[0], transposed, top_n=K, n_threads=CORES, sort=True)
        places = np.arange(len(found.indices)) - np.repeat(found.indptr[:-1], np.diff(found.indptr))
        rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        similarities, ids = np.zeros((found.shape[0], K)), np.full((found.shape[0], K), -1)
        similarities[rows, places], ids[rows, places] = found.data, found.indices
        return similarities, ids

    return call


def _product(queries: sp.csr_array, corpus: sp.csr_array, step: int = 256) -> Found:
    """Similarities in float64, so that they can be compared; of tied neighbors any may be found."""
    units = [_unit(vectors) for vectors in (queries, corpus)]
    transposed, found = units[1].T.tocsr(), []
    for start in range(0, queries.shape[0], step):
        similarities = (units[0][start : start + step] @ transposed).toarray()
        ids = np.argpartition(-similarities, K, axis=1)[:, :K]
        values = np.take_along_axis(similarities, ids, axis=1)
        order = np.argsort(-values, axis=1)
        found.append((np.take_along_axis(values, order, axis=1), np.take_along_axis(ids, order, axis=1)))
    similarities, ids = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return similarities, ids


def _unit(vectors: sp.csr_array) -> sp.csr_array:
    lengths = np.sqrt(vectors.astype(np.float64).power(2).sum(axis=1))
    return sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ vectors)


# -- what it costs ------------------------------------------------------------------------------


class Cost(NamedTuple):
    """One search: what was varied, its sizes, median seconds, and those that reading the corpus once takes."""

    varied: str
    vectors: int
    dimensions: int
    k: int
    queries: int
    seconds: float
    reading_seconds: float


def sweep(rng: np.random.Generator, scale: int, runs: int, output: Path) -> str:
    """Vary corpus size, dimensions, k and queries one at a time; writes a CSV and a figure."""
    base = {"vectors": scale, "dimensions": DIMENSIONS, "k": K, "queries": QUERIES}
    varied = {
        "vectors": [scale // 8, scale // 4, scale // 2, scale],
        "dimensions": [50, 100, 200, 300, 768],
        "k": [1, 10, 50, 200, 1000],
        "queries": [1, 10, 100, 300, 1000],
    }
    costs = [
        cost(rng, runs, name, **{**base, "vectors": scale if name == "vectors" else scale // 2, name: value})
        for name, values in varied.items()
        for value in values
    ]
    table = pd.DataFrame(costs)
    table.to_csv(output.with_suffix(".csv"), index=False, float_format="%.4g")
    draw(pd.read_csv(output.with_suffix(".csv")), output.with_suffix(".png"))
    return f"![Time of a search over corpus size, dimensions, k and queries]({output.stem}.png)"


def cost(rng: np.random.Generator, runs: int, varied: str, vectors: int, dimensions: int, k: int, queries: int) -> Cost:
    """Time one search, and reading its corpus, in turns."""
    corpus = rng.standard_normal((vectors, dimensions), dtype=np.float32)
    few = rng.standard_normal((queries, dimensions), dtype=np.float32)
    candidates = {"search": partial(exact, few, corpus, k, device="cpu"), "reading": partial(read_once, corpus)}
    seconds = measure.compare(candidates, runs)["median"]
    return Cost(varied, vectors, dimensions, k, queries, seconds["search"], seconds["reading"])


def read_once(corpus: np.ndarray) -> None:
    """Pass over every byte, with all cores, as fast as memory delivers."""
    words = corpus.reshape(-1).view(np.uint32)
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(np.max, np.array_split(words, CORES * 16)))


def draw(table: pd.DataFrame, file: Path) -> None:
    """Time over each varied quantity, with the time that memory takes to deliver the corpus once."""
    plotting.use_style()
    figure, panels = plt.subplots(2, 2, figsize=(plotting.PAGE_WIDTH, 5), sharey=True, layout="constrained")
    for axes, (varied, rows) in zip(panels.flat, table.groupby("varied", sort=False), strict=True):
        fixed = {name: rows[name].iloc[0] for name in ("vectors", "dimensions", "k", "queries") if name != varied}
        axes.loglog(rows[varied], rows["seconds"], marker="o", color=plotting.COLORS[0], label="search")
        axes.loglog(rows[varied], rows["reading_seconds"], "--", color=plotting.COLORS[1], label="reading once")
        axes.set_xticks(rows[varied], [f"{value:,}" for value in rows[varied]], minor=False)
        axes.set_xticks([], minor=True)
        axes.set(xlabel=varied, title=", ".join(f"{name} {value:,}" for name, value in fixed.items()))
    for axes in panels[:, 0]:
        axes.set_ylabel("seconds")
    panels[0, 0].legend(frameon=False)
    figure.savefig(file, metadata={"Software": None})
    plt.close(figure)


# -- larger than memory -------------------------------------------------------------------------


def large(folder: Path, vectors: int, queries: np.ndarray) -> str:
    """Search a memory-map: from disk, then from the page cache."""
    file = folder / f"corpus-{vectors}.npy"
    try:
        corpus = _create(file, vectors)
        gigabytes = corpus.nbytes / 1e9
        dd = ["dd", f"if={file}", "of=/dev/null", "bs=8M"]
        _forget(file)
        plain = _seconds(partial(subprocess.run, dd, check=True, stderr=subprocess.DEVNULL))
        _forget(file)
        search = partial(exact, queries, corpus, K)
        with _anonymous_memory() as memory:
            cold = _seconds(search)
            warm = sorted(_seconds(search) for _ in range(3))
        device = _on_an_accelerator(queries, corpus)
    finally:
        file.unlink(missing_ok=True)
    size = f"{vectors:,} x {DIMENSIONS} float32 ({gigabytes:.1f} GB)"
    return (
        f"## {len(queries)} queries, a memory-map of {size}, k = {K}\n\n"
        f"In the page cache: {warm[1]:.2f} s ({warm[0]:.2f} to {warm[2]:.2f}), {gigabytes / warm[1]:.2f} GB/s. "
        f"From disk: {cold:.1f} s, {gigabytes / cold:.2f} GB/s; dd reads the file at {gigabytes / plain:.2f} GB/s. "
        f"The process's anonymous memory rose from {memory[0] / 2**20:.0f} to at most {max(memory) / 2**20:.0f} MiB. "
        f"On an accelerator: {device}."
    )


def _on_an_accelerator(queries: np.ndarray, corpus: np.ndarray) -> str:
    """The same search, its screening on a CUDA device; the corpus comes from the page cache each time."""
    import torch

    if not torch.cuda.is_available():
        return "not measured, none was there"
    seconds = sorted(_seconds(partial(exact, queries, corpus, K, device="cuda")) for _ in range(3))[1]
    return f"{seconds:.2f} s, {corpus.nbytes / 1e9 / seconds:.1f} GB/s ({torch.cuda.get_device_name()})"


def _create(file: Path, vectors: int) -> np.ndarray:
    if not file.exists():
        rng = np.random.default_rng(1)
        corpus = np.lib.format.open_memmap(file, "w+", np.float32, (vectors, DIMENSIONS))
        for start in range(0, vectors, PIECE):
            piece = corpus[start : start + PIECE]
            rng.standard_normal(piece.shape, dtype=np.float32, out=piece)
        corpus.flush()
    return np.load(file, mmap_mode="r", allow_pickle=False)


def _forget(file: Path) -> None:
    """Drop a file from the page cache."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@contextmanager
def _anonymous_memory() -> Iterator[list[int]]:
    """Bytes of memory of the process's own (a file that it maps is not), before and again and again meanwhile."""
    sizes, done = [_anonymous_bytes()], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            sizes.append(_anonymous_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield sizes
    finally:
        done.set()
        watcher.join()


def _anonymous_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])


# -- the report ---------------------------------------------------------------------------------


def _section(title: str, table: pd.DataFrame, *packages: str) -> str:
    spread = zip(table["least"], table["most"], strict=True)
    shown = pd.DataFrame(index=table.index)
    shown["seconds (median)"] = table["median"].map("{:.3f}".format)
    shown["least to most"] = [f"{least:.3f} to {most:.3f}" for least, most in spread]
    shown["times ours"] = table["ratio"].map("{:.1f}".format)
    return f"## {title}\n\n{measure.markdown(shown)}\n\n{measure.versions(*packages)}"


if __name__ == "__main__":
    sys.exit(main())
