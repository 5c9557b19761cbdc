"""How fast sums and means of word vectors encode beside paragraph vectors and the recursive autoencoder.

``python -m benchmarks.localization`` writes docs/benchmarks/localization.csv, sentences a second of processor time in
each of ten runs, by which lesson 8 judges that the former are cheap. Word vectors are loaded and models trained before.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd

from benchmarks.encode import sample
from lib import embedders
from lib.studies.localization_claims import SPEEDS

CORPUS, SENTENCES, RUNS = "lee", 200, 10
MODELS = {
    "MOWE": "glove-6b-50d",
    "SOWE": "glove-6b-50d+sowe",
    "PV-DM": "pv-dm-corpus-converged",
    "PV-DBOW": "pv-dbow-corpus-converged",
    "URAE": "urae-corpus",
}


def rates(name: str, sentences: list[str]) -> list[float]:
    """Sentences a second in each run."""
    embedder = embedders.load(name).fit(sentences)
    embedder.encode(sentences)  # loads what is loaded at the first call
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        embedder.encode(sentences)
        found.append(len(sentences) / (time.process_time() - start))
    return found


def main() -> int:
    """Measure and write the table."""
    sentences = sample(CORPUS, SENTENCES)
    columns = [f"run {run}" for run in range(1, RUNS + 1)]
    table = pd.DataFrame({model: rates(name, sentences) for model, name in MODELS.items()}, columns).T
    np.round(table).astype(int).rename_axis("model").to_csv(SPEEDS)
    print(table.median(axis=1).round())
    return 0


if __name__ == "__main__":
    sys.exit(main())
