"""Verdicts of study 5 that its lesson does not work out: lengths of vectors, the objective, costs.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features", sections 2 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.run import paths
from lib.sent2vec import Sent2Vec
from lib.sent2vec.contexts import input_rows
from lib.sent2vec.training import keep_probabilities
from lib.studies.sent2vec import Results

COSTS = "docs/benchmarks/sent2vec_costs.csv"  # from the benchmark: seconds would change with every run
TIMED = f"this project's trainer, by {COSTS}"


def judge_norms(ledger: stats.Ledger, results: Results, name: str, passes: Sequence[str], analogue: str) -> None:
    """Figure 1: whether frequent and rare words have shorter vectors than those of middle frequency.

    Parameters
    ----------
    ledger : Ledger
    results : Results
    name : str
        The model that is judged.
    passes : sequence of str
        Two models of one text, the second with four times as many passes.
    analogue : str
    """

    def bands(name, statistic):
        """Over other words and seeds; `statistic` takes log frequencies, bands, and lengths by seed."""
        frequency, band = (results.found[name][0][key] for key in ("frequency", "band"))
        columns = np.log10(frequency), band, np.transpose([own["norm"] for own in results.found[name]])
        return stats.bootstrap(statistic, *columns, sampling=results.sampling, seeds=True)

    def middle_less(other):
        return lambda _, band, norm: np.median(norm[band == 1], axis=0) - np.median(norm[band == other], axis=0)

    ledger.interval("sent2vec-norms-frequent-low", *bands(name, middle_less(2)), analogue=analogue)
    rare = [bands(name, middle_less(0)) for name in passes]
    ledger.interval("sent2vec-norms-rare-low-luhn", *np.transpose(rare), part="rare", analogue=analogue)
    curvature = bands(name, lambda logarithm, _, norm: np.polyfit(logarithm, norm, 2)[0])
    ledger.interval("sent2vec-norms-rare-low-luhn", *curvature, part="curvature", analogue=analogue)


def judge_identities(ledger: stats.Ledger, model: Sent2Vec, lines: Sequence[str]) -> None:
    """Windows of random width, the norm of a mean, and the operations of encoding with unigrams."""
    width, distance = 5, np.arange(1, 6)
    inside = (np.arange(1, width + 1)[:, None] >= distance).mean(axis=0)
    ledger.identity("sent2vec-cbow-tricks-hurt", inside - (width - distance + 1) / width, part="window")
    means = np.abs(model.encode(lines)).sum(axis=1)
    norms = {word: np.abs(vector).sum() for word, vector in model.word_vectors().items()}
    each = [np.mean([norms[word] for word in line.split() if word in norms] or [0]) for line in lines]
    ledger.identity("sent2vec-l1-proximal-step", max(0, (means - each).max()), part="mean")
    ids, starts = model.dictionary.ids([line.encode() for line in lines])
    plain = input_rows(ids, starts, 1, model.dictionary.n_words, 0)[0]
    ledger.identity("sent2vec-constant-cost-per-word", len(plain) / len(ids) - 1, part="exactly")


def judge_costs(ledger: stats.Ledger) -> pd.DataFrame:
    """Claims on time, by the table of the benchmark; returns the table: value, low, high."""
    cost = pd.read_csv(paths.ROOT / COSTS, index_col="quantity")
    counted = np.full(3, 1.5)  # vector operations of a literal loop: 3 for 2 of each vector that takes part
    ratios = np.transpose([cost.loc["L1 ratio"], counted])
    ledger.interval("sent2vec-l1-proximal-step", *ratios, part="cost", note=TIMED)
    linear = cost.loc[["training slope", "encoding slope"]].to_numpy().T
    ledger.interval("sent2vec-constant-cost-per-word", *linear, part="linear", note=TIMED)
    for part in ("hours", "parallel", "order"):
        ledger.interval("sent2vec-training-time", *cost.loc[part], part=part, analogue=TIMED)
    return cost


def objective_gaps(model: Sent2Vec, lines: Sequence[str]) -> np.ndarray:
    """How far equations (3) and (4) are from the loss that a pass can expect of each target.

    A target is kept with probability q_p, then come negatives by q_n, which are never the target.

    Returns
    -------
    float64[2, targets]
        Gaps relative to the expected loss: of equation (3) as printed, where q_p weighs the target's term only, and of
        (4) without its penalty, where q_p weighs both.
    """
    dictionary, negatives = model.dictionary, model.settings.negatives
    keep = np.minimum(1, keep_probabilities(dictionary, model.settings).astype(np.float64))
    root = np.sqrt(dictionary.counts[: dictionary.n_words])
    q = root / root.sum()
    inputs, outputs = (np.asarray(matrix, np.float64) for matrix in (model.input_matrix, model.output_matrix))
    ids, starts = dictionary.ids([line.encode() for line in lines])
    gaps = []
    for words in np.split(ids, starts[1:-1]):
        if len(words) > 1:
            scores = (inputs[words].sum(axis=0) - inputs[words]) @ outputs.T / (len(words) - 1)
            own, kept = scores[np.arange(len(words)), words], keep[words]
            target, drawn = np.log1p(np.exp(-own)), negatives * np.log1p(np.exp(scores)) @ q
            others = (drawn - negatives * q[words] * np.log1p(np.exp(own))) / (1 - q[words])
            forms = np.array([kept * target + drawn, kept * (target + drawn)])
            gaps.append(forms / (kept * (target + others)) - 1)
    return np.concatenate(gaps, axis=1)
