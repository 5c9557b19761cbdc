"""How embedders compare by their scores under two conditions.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from lib import embedders
from lib.stats import Interval, Sampling, differences, intervals
from lib.studies.ratings import CONDITIONS

# The plain averages of the paper's table 2
PUBLISHED_AVERAGES = ("Glove-300d", "Word2Vec-300d", "Word2Vec-800d")


def over_halves(
    scores: pd.DataFrame, statistic: Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]
) -> np.ndarray:
    """The mean of ``statistic(a, b)`` of scores on two halves of the items.

    `scores` are draws of both halves of some deals (`lib.stats.draws`), and either half
    is a. What is chosen on one half is measured on the other: neither half's noise
    counts as a difference.
    """
    found = []
    for deal in scores.columns.unique("deal"):
        a = scores[deal][0]
        b = scores[deal][1]
        found += [statistic(a, b), statistic(b, a)]
    return np.mean(found, axis=0)


def mean_of_embedders(scores: pd.DataFrame, sampling: Sampling) -> np.ndarray:
    """The mean of draws over their columns, which are embedders.

    Each draw is one of other embedders, too, relatives together: its interval is that
    of a claim about embedders, not about those at hand.
    """
    families = embedders.families(list(scores.columns))
    count = families.max() + 1
    rng = np.random.default_rng(sampling.seed)
    times = rng.multinomial(count, np.full(count, 1 / count), size=len(scores) - 1)
    weights = np.vstack([np.ones(len(families)), times[:, families]])
    return (scores * weights).sum(axis=1).to_numpy() / weights.sum(axis=1)


def kendall(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of two rankings, float[...] from float[..., e] each.

    The share of pairs in the same order minus the share of pairs in the other order.
    NaN if all members of a ranking are alike. SciPy's takes fifteen times as long.
    """
    first, second = np.triu_indices(np.shape(a)[-1], 1)
    in_a, in_b = (
        np.sign(ranking[..., first] - ranking[..., second])
        for ranking in map(np.asarray, (a, b))
    )
    in_both = np.count_nonzero(in_a, axis=-1), np.count_nonzero(in_b, axis=-1)
    lengths = [np.sqrt(np.where(count, count, np.nan)) for count in in_both]
    return (in_a * in_b).sum(axis=-1) / lengths[0] / lengths[1]


def steadiness(half: pd.DataFrame, other: pd.DataFrame) -> np.ndarray:
    """Tau of two conditions minus tau of the first one with itself.

    It is 0 if only noise differs. Both arguments are draws of scores by condition and
    embedder, on two halves of the items.
    """
    before, after, *_ = half.columns.unique(0)
    between = kendall(half[before], other[after])
    return between - kendall(half[before], other[before])


def opposed(first: Interval, second: Interval) -> Interval:
    """The smaller of two differences of opposite sign.

    It is above 0 where one is clearly positive and the other one clearly negative.
    """
    fall = np.minimum(_negative(first), second)
    rise = np.minimum(first, _negative(second))
    return Interval(*np.maximum(rise, fall))


def _negative(interval: Interval) -> Interval:
    return Interval(-interval.estimate, -interval.high, -interval.low)


def reversals(scores: pd.DataFrame, sampling: Sampling) -> Interval:
    """`opposed` for every two embedders under the two conditions of some draws."""
    gaps = []
    for condition in scores.columns.unique(0):
        of_condition = scores[condition]
        pairs = list(combinations(of_condition, 2))
        gaps.append(differences(of_condition, pairs))
    bounds = intervals(pd.concat(gaps, axis=1), sampling, "normal", holm=True)
    before, after = np.split(np.array(bounds), 2, axis=1)
    return opposed(Interval(*before), Interval(*after))


def scores_and_gains(
    scores: pd.DataFrame, set_name: str, sampling: Sampling
) -> pd.DataFrame:
    """Table 2: rows set, embedder, what (raw, z, gain), the lowest raw score first."""
    raw = scores["raw"]
    z = scores["z"]
    by_what = pd.concat({"raw": raw, "z": z, "gain": z - raw}, axis=1, names=["what"])
    rising = raw.loc[0].sort_values(kind="stable").index
    by_embedder = by_what.swaplevel(axis=1)[list(rising)]
    found = intervals(by_embedder, sampling, "normal")
    table = found.table(by_embedder.columns).reset_index()
    return pd.concat({set_name: table}, names=["set"]).reset_index("set")


def narrowing(scores: pd.DataFrame) -> pd.Series:
    """The log of the standard deviation over embedders, normalized to raw, in each row.

    Below 0 the scores of embedders are closer together after normalization.
    """
    deviations = {
        condition: scores[condition].std(axis=1, ddof=0) for condition in CONDITIONS
    }
    return np.log(deviations["z"] / deviations["raw"])
