"""What the paper took up from Lu et al. (2015): scores on WordSim-353 rise when word vectors are normalized."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import embedders, exams, stats
from lib.corpora import Corpus
from lib.exams import RatedPairs
from lib.neighbors.contract import unit
from lib.run.errors import InputError
from lib.similarity import correlations, cosine, difference, z_normalized
from lib.similarity.correlation import LEAST_PAIRS
from lib.similarity.features import Columns, column_statistics, standardized
from lib.store import fit

AS_THEY_ARE = "as they are"
LEAST = max(20, LEAST_PAIRS)  # pairs of known words that a set of vectors must have


class Known(NamedTuple):
    """The pairs of which some word vectors know both words.

    Attributes
    ----------
    left, right : float32[n, d]
    gold : float64[n]
    vocabulary : Columns, mean and standard deviation of each dimension over all words that there are vectors of
    """

    left: np.ndarray
    right: np.ndarray
    gold: np.ndarray
    vocabulary: Columns


def known(name: str, pairs: RatedPairs, corpus: Corpus) -> Known:
    """Word vectors by the embedder that averages them; those of the corpus are trained on it.

    Raises InputError for an embedder that has no word vectors of its own, or that knows too few of the words.
    """
    if not embedders.composes_words(name) or "+" in name:
        raise InputError(f"{name}: has no word vectors of its own; give a set of them, such as glove-6b-50d")
    words = fit(embedders.load(name), corpus)
    left, right = (words.encode(side) for side in (pairs.left, pairs.right))
    both = left.any(axis=1) & right.any(axis=1)
    if both.sum() < LEAST:
        raise InputError(f"{name}: knows both words of {both.sum()} of {len(pairs)} pairs; {LEAST} are needed")
    return Known(left[both], right[both], pairs.gold[both], column_statistics(words.vectors.matrix))


def sets_of(names: Sequence[str], pairs: RatedPairs, corpus: Corpus) -> tuple[dict[str, Known], dict[str, str]]:
    """What each of some embedders that average word vectors knows; and those that know too little, with why."""
    found, too_few = {}, {}
    for name in (name for name in names if embedders.composes_words(name) and "+" not in name):
        try:
            found[name] = known(name, pairs, corpus)
        except InputError as error:
            too_few[name] = str(error).removeprefix(f"{name}: ")
    return found, too_few


def _centered(words: Known) -> tuple[np.ndarray, np.ndarray]:
    mean = column_statistics(words.left, words.right).mean
    return words.left - mean, words.right - mean


def _by_vocabulary(words: Known) -> tuple[np.ndarray, np.ndarray]:
    return tuple(standardized(side.astype(np.float64), words.vocabulary) for side in (words.left, words.right))


# What "normalized" may mean, each a map to new left and right vectors.
WAYS: Mapping[str, Callable[[Known], tuple[np.ndarray, np.ndarray]]] = {
    AS_THEY_ARE: lambda words: (words.left, words.right),
    "unit length": lambda words: (unit(words.left), unit(words.right)),
    "mean of the pairs' words removed": _centered,
    "z-normalized over the pairs' words": lambda words: z_normalized(words.left, words.right),
    "z-normalized over the vocabulary": _by_vocabulary,
}


def compare(
    sets: Mapping[str, Known], rng: np.random.Generator, repetitions: int = 1000, confidence: float = 0.95
) -> pd.DataFrame:
    """Pearson's and Spearman's correlation of the cosines with the gold scores, each way of normalizing.

    Returns
    -------
    DataFrame with columns vectors, pairs, way, pearson, spearman, gain (of Pearson's over as they are, in points), low,
    high (its interval, by the bootstrap over pairs), p (Steiger's test that it is 0)
    """
    rows = []
    for name, words in sets.items():
        cosines = {way: cosine(*apply(words)) for way, apply in WAYS.items()}
        columns, count = np.column_stack(list(cosines.values())), len(words.gold)
        draws = rng.multinomial(count, np.full(count, 1 / count), repetitions).astype(np.float64)
        scores = exams.pearson(columns, words.gold, draws)
        low, high = stats.percentiles(100 * (scores - scores[:, :1]), confidence)
        for i, (way, of_pairs) in enumerate(cosines.items()):
            rows.append((name, count, way, *_row(of_pairs, cosines[AS_THEY_ARE], words.gold), low[i], high[i]))
    columns = ["vectors", "pairs", "way", "pearson", "spearman", "gain", "p", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _row(cosines: np.ndarray, raw: np.ndarray, gold: np.ndarray) -> tuple[float, float, float, float]:
    found, before = correlations(cosines, gold), correlations(raw, gold)
    change = 100 * (found["pearson"] - before["pearson"])
    return found["pearson"], found["spearman"], change, difference(cosines, raw, gold).p
