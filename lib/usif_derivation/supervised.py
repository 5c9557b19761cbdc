"""Table 3: SST and SICK-E by a classifier, SICK-R by a regression, on frozen sentence embeddings (section 4.4).

The paper follows "the setup in Wieting et al. (2016b)" without describing it. Here a logistic regression sees a
sentence's embedding, or [|u - v|, u * v] of a pair, and a ridge regression does for relatedness; what they choose they
choose on the dev split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import similarity, tasks
from lib.embedders.base import Embedder
from lib.run import progress

LEARNED = {"SST2": "accuracy", "SICK-R": "Pearson", "SICK-E": "accuracy"}
SPLITS = ("train", "dev", "test")


def learned(
    names: Sequence[str],
    embedders: Mapping[str, Embedder],
    rng: np.random.Generator,
    repetitions: int,
    confidence: float,
    show_progress_bar: bool = True,
) -> pd.DataFrame:
    """Scores of embedders, which are fitted on the sentences of all splits, on some of `LEARNED`.

    Returns
    -------
    DataFrame with columns task, embedder, measure, score, low, high; intervals over test sentences or pairs
    """
    rows = []
    for name in progress.track(list(names), "trained", unit="tasks", show=show_progress_bar):
        for label, embedder in embedders.items():
            score = (_relatedness if name == "SICK-R" else _classes)(name, embedder, rng, repetitions, confidence)
            rows.append((name, label, LEARNED[name], *score))
    return pd.DataFrame(rows, columns=["task", "embedder", "measure", "score", "low", "high"])


def _classes(
    name: str, embedder: Embedder, rng: np.random.Generator, repetitions: int, confidence: float
) -> tuple[float, float, float]:
    from lib import transfer

    found = transfer.on_task(name, embedder.fit_encode, repetitions=repetitions, confidence=confidence)
    return found.accuracy, found.low, found.high


def _relatedness(
    name: str, embedder: Embedder, rng: np.random.Generator, repetitions: int, confidence: float
) -> tuple[float, float, float]:
    parts = [tasks.load(name, split) for split in SPLITS]
    embedder.fit([sentence for part in parts for sentence in part.left + part.right])
    pairs = [(embedder.encode(part.left), embedder.encode(part.right), part.score) for part in parts]
    predicted, gold = similarity.regress(*pairs).predicted, parts[-1].score
    bounds = similarity.interval(predicted, gold, rng, repetitions=repetitions, confidence=confidence)
    return similarity.correlations(predicted, gold)["pearson"], *bounds
