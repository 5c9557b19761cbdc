"""What training and encoding with Sent2Vec cost: the numbers that the lesson's claims about time are judged by.

``python -m benchmarks.sent2vec_costs`` writes docs/benchmarks/sent2vec_costs.csv, with a row for each quantity: the
mean over the turns and its 95% interval. Hours are extrapolated from the rates in docs/benchmarks/sent2vec.md, with
the worst and the best turn for an interval.
"""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.sent2vec import PAGE, tokenized
from lib import corpora
from lib.sent2vec import Sent2Vec
from lib.sent2vec.settings import Settings
from lib.stats import Sampling, bootstrap, mean

CSV = PAGE.with_name("sent2vec_costs.csv")
LENGTHS = (5, 10, 20, 40, 80, 160)  # words of a sentence
TURNS = 20
THREADS = 30  # the authors'
TWITTER = 19.7e9 * 3  # words times passes (tables 3 and 5): the slowest model
SETTINGS = Settings(dim=100, epochs=1, min_count=1, min_target_count=1, subsample=1.0)
BIGRAMS = {"word_ngrams": 2, "bucket": 50_000, "dropout_k": 4, "subsample": 1e-3}


def seconds(lines: list[str], **changes: object) -> tuple[float, float]:
    """Of one pass of training, and of encoding the same lines."""
    model = Sent2Vec.train(lines, replace(SETTINGS, **changes))
    start = time.perf_counter()
    model.encode(lines)
    return model.history[-1].seconds, time.perf_counter() - start


def slopes(words: list[str]) -> np.ndarray:
    """float64[2]: how seconds a sentence grow with its length, as a power, in training and in encoding."""
    texts = [[" ".join(words[i : i + length]) for i in range(0, len(words), length)] for length in LENGTHS]
    per_sentence = [np.array(seconds(lines)) / len(lines) for lines in texts]
    return np.polyfit(np.log(LENGTHS), np.log(per_sentence), 1)[0]


def penalty(lines: list[str]) -> float:
    """Seconds of training with L1 over those without."""
    return seconds(lines, **BIGRAMS, l1=0.0005)[0] / seconds(lines, **BIGRAMS)[0]


def rates(candidate: str, threads: int) -> np.ndarray:
    """Words a second and thread with 700 dimensions and t = 1e-5: median, worst, best."""
    pattern = rf"^\| {re.escape(candidate)} \| 700 \| 1e-05 \| {threads} \| ([\d,]+) \| ([\d,]+) to ([\d,]+)"
    found = re.search(pattern, PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return np.array([float(number.replace(",", "")) for number in found.groups()])


def quotients(words: float, rate: np.ndarray) -> np.ndarray:
    """`words` over a rate: median, least, most."""
    return words / rate[[0, 2, 1]]


def main() -> int:
    """Measure, and write the table."""
    lines = [tokenized(sentence) for sentence in corpora.load("bible-gospels:web").sentences]
    words = " ".join(lines).split()
    seconds(lines, **BIGRAMS)  # compiles
    measured = np.array([[*slopes(words), penalty(lines)] for _ in range(TURNS)])
    intervals = np.transpose(bootstrap(mean, measured, sampling=Sampling()))
    unigrams, bigrams = "Sent2Vec, words", "Sent2Vec, words and bigrams, K = 4"
    one, two, plain = rates(bigrams, 1), rates(bigrams, 2), rates(unigrams, 2)
    table = dict(zip(["training slope", "encoding slope", "L1 ratio"], intervals, strict=True))
    table["hours"] = quotients(TWITTER / THREADS / 3600, two)
    table["parallel"] = two / one[[0, 2, 1]]
    table["order"] = two / plain[[0, 2, 1]]
    frame = pd.DataFrame.from_dict(table, orient="index", columns=["value", "low", "high"]).rename_axis("quantity")
    frame.to_csv(CSV, float_format="%.4g", lineterminator="\n")
    print(frame.to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
