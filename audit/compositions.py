"""What uSIF's paper scores beside sets of pairs, and how its rivals are tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from audit.learned import regress
from lib import tasks
from lib.embedders.base import Embedder
from lib.stats import Sampling, mean_over
from lib.studies.compositions import evaluate
from lib.studies.scores import ItemSet, by_group, classified

# Our sets in the paper's tables.
PAPER = {f"STS{year}": [f"STS'{year}"] for year in range(12, 16)}
PAPER |= {
    "STSBenchmark": ["STS Benchmark"],
    "SICK-R": ["SICK'14", "SICK-R"],
    "SICK-E": ["SICK-E"],
    "SST2": ["SST"],
}


def learned(name: str) -> ItemSet:
    """A supervised task on frozen embeddings (section 4.4).

    SST2 and SICK-E by logistic regression (accuracy), SICK-R by regression.

    The paper follows "the setup in Wieting et al. (2016b)" without describing it.
    Penalties are chosen on dev.
    """
    if name != "SICK-R":
        return classified(name, name)
    parts = [tasks.load(name, split) for split in tasks.splits(name)]
    gold = parts[-1].score

    def predictions(embedder: Embedder) -> np.ndarray:
        embedder.fit(
            [sentence for part in parts for sentence in part.left + part.right]
        )
        pairs = []
        for part in parts:
            left = embedder.encode(part.left)
            right = embedder.encode(part.right)
            pairs.append((left, right, part.score))
        return regress(*pairs)

    return ItemSet(name, name, predictions, np.arange(len(gold)), gold)


def tuned(candidates: Mapping[float, Embedder], sets: Sequence[ItemSet]) -> float:
    """The value whose composition scores best on sets that are kept for tuning."""
    scores = by_group(evaluate({"": candidates}, sets, Sampling(repetitions=0)))
    means = mean_over(scores, "group", "vectors").loc[0]
    return list(candidates)[int(np.argmax(means))]
