"""Rated pairs of texts, with cosines before and after normalization.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019),
section 3, table 2. The measures are in `lib.similarity`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd

from lib import corpora, embedders, similarity, tasks
from lib.base.errors import InputError
from lib.embedders.kinds import STATIC_AVERAGE
from lib.stats import Measured, Sampling
from lib.vectors import Embeddings

TRAIN, DEV, TEST = range(3)
CONDITIONS = ("raw", "z")
TABLE_2 = Path(__file__).with_name("pitfalls_table2.csv")
SAME = 1e-9  # similarities that span less are all alike
SHARES = (0.4, 0.5)  # of the verses of Verse-pairs: where training ends, and dev
# The plain averages of the paper's table 2
PUBLISHED_AVERAGES = ("Glove-300d", "Word2Vec-300d", "Word2Vec-800d")

Encoders = Mapping[str, Callable[[Sequence[str]], Embeddings]]
Similarities = dict[str, np.ndarray]  # by embedder float64[tested pairs, conditions]


def printed() -> pd.DataFrame:
    """The paper's table 2, a row for each cell: model, normalization, value ..."""
    return pd.read_csv(TABLE_2)


# -- pairs -----------------------------------------------------------------------------


def rated_pairs(name: str, verses: int = 600, seed: int = 0) -> pd.DataFrame:
    """A set of rated pairs of `lib.tasks`, or "Verse-pairs" (`verse_pairs`).

    Returns
    -------
    DataFrame
        Columns left, right, gold; split (TRAIN, DEV or TEST; all TEST where there is
        nothing to train on); first and second, what a resample draws: the two documents
        of a pair, or one verse or pair, given twice.
    """
    if name == "Verse-pairs":
        return verse_pairs(verses, seed)
    splits = [tasks.load(name, split) for split in tasks.splits(name)]
    tables = []
    for number, task in enumerate(splits, start=3 - len(splits)):
        columns = {"left": task.left, "right": task.right, "gold": task.score}
        tables.append(pd.DataFrame(columns).assign(split=number))
    pairs = pd.concat(tables, ignore_index=True)
    if splits[0].ids is None:
        return pairs.assign(first=pairs.index, second=pairs.index)
    first, second = np.transpose(splits[0].ids)
    return pairs.assign(first=first, second=second)


def verse_pairs(verses: int, seed: int) -> pd.DataFrame:
    """Young's verses, each beside three of Weymouth's.

    The same verse has the gold score 2, the next one 1, and one from elsewhere 0.
    """
    young = _verses("bible-gospels:ylt")
    weymouth = _verses("bible-gospels:wmth")
    following = dict(pairwise([group for group in weymouth if group in young]))
    in_both = np.array([group for group in young if group in following])
    rng = np.random.default_rng(seed)
    count = min(verses, len(in_both) // 2)
    chosen, elsewhere = rng.permutation(in_both)[: 2 * count].reshape(2, count)
    place = np.arange(count)
    split = np.searchsorted(np.array(SHARES) * count, place, side="right")
    left = [young[group] for group in chosen]
    others = {2.0: chosen, 1.0: [following[group] for group in chosen], 0.0: elsewhere}
    tables = []
    for gold, groups in others.items():
        right = [weymouth[group] for group in groups]
        table = pd.DataFrame({"left": left, "right": right, "gold": gold})
        tables.append(table.assign(split=split, first=place, second=place))
    return pd.concat(tables, ignore_index=True)


def _verses(name: str) -> dict[int, str]:
    corpus = corpora.load(name)
    verses = zip(corpus.groups.tolist(), corpus.sentences, strict=True)
    return {group: sentence for group, sentence in verses if group >= 0}


def sides(encode: Callable, pairs: pd.DataFrame) -> list[Embeddings]:
    """The embeddings of both sides; a text that several pairs share is encoded once."""
    unique = texts(pairs)
    vectors = encode(unique)
    place = pd.Index(unique)
    return [vectors[place.get_indexer(pairs[side])] for side in ("left", "right")]


def texts(pairs: pd.DataFrame) -> list[str]:
    """Every text once, in order."""
    return pd.concat([pairs["left"], pairs["right"]]).unique().tolist()


def tested(pairs: pd.DataFrame) -> np.ndarray:
    """Which pairs are tested, bool[n]."""
    return (pairs["split"] == TEST).to_numpy()


# -- cosines ---------------------------------------------------------------------------


def cosines(pairs: pd.DataFrame, encoders: Encoders) -> Similarities:
    """Cosines of the tested pairs: raw, and z-normalized over the tested pairs.

    An embedder to which all pairs are equally similar is left out; InputError where
    that leaves none.
    """
    is_tested = tested(pairs)
    similarities = {}
    for name, encode in encoders.items():
        left, right = (side[is_tested] for side in sides(encode, pairs))
        raw = similarity.similarities(left, right)
        normalized = similarity.similarities(left, right, "z")
        if min(np.ptp(raw), np.ptp(normalized)) > SAME:
            similarities[name] = np.stack([raw, normalized], axis=1)
    if not similarities:
        raise InputError(
            "rated_names: every embedder finds all pairs equally similar; give others, "
            "or another set"
        )
    return similarities


def correlations(
    pairs: pd.DataFrame,
    similarities: Similarities,
    sampling: Sampling,
    conditions: Sequence[str] = CONDITIONS,
) -> Measured:
    """Pearson's correlations of the tested pairs' similarities with their gold scores.

    The axes are condition and embedder. Verses or documents are drawn, else pairs.
    """
    chosen = pairs[tested(pairs)]
    values = np.stack(list(similarities.values()), axis=2)
    axes = {"condition": conditions, "embedder": list(similarities)}
    gold = chosen["gold"].to_numpy()
    units = chosen[["first", "second"]].to_numpy()
    return Measured.correlations(values, gold, axes, sampling, units)


def scores_and_gains(scores: Measured, set_name: str) -> pd.DataFrame:
    """Table 2: rows set, embedder, what (raw, z, gain), the lowest raw score first."""
    raw = scores.estimate()[0]
    rising = [scores.axes["embedder"][i] for i in raw.argsort(kind="stable")]

    def with_gain(r: np.ndarray) -> np.ndarray:
        return np.stack([r[0], r[1], r[1] - r[0]], axis=1)

    interval = scores.only("embedder", rising).interval(with_gain)
    rows = product([set_name], rising, [*CONDITIONS, "gain"])
    return interval.table(rows, ("set", "embedder", "what")).reset_index()


# -- the spread over embedders ---------------------------------------------------------


def narrowing(r: np.ndarray) -> float:
    """The log of the standard deviation over embedders, normalized to raw.

    Below 0 the scores of embedders are closer together after normalization.
    """
    return float(np.log(r[1].std() / r[0].std()))


def is_average(name: str) -> bool:
    """Whether an embedder is the plain average of static word vectors."""
    return embedders.kind(name).architecture == STATIC_AVERAGE


# -- a similarity that is learned ------------------------------------------------------
