"""Rated pairs of texts, with cosines before and after normalization.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019),
section 3, table 2. The measures are in `lib.similarity`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib import similarity, tasks
from lib.base.errors import InputError
from lib.stats import Sampling, draws
from lib.tasks.verses import rated
from lib.vectors import Embeddings

TRAIN, DEV, TEST = range(3)
CONDITIONS = ("raw", "z")
SAME = 1e-9  # similarities that span less are all alike
SHARES = (0.4, 0.5)  # of the verses of Verse-pairs: where training ends, and dev

Encoders = Mapping[str, Callable[[Sequence[str]], Embeddings]]
Similarities = dict[str, np.ndarray]  # by embedder float64[tested pairs, conditions]


# -- pairs -----------------------------------------------------------------------------


def rated_pairs(name: str, verses: int = 600, seed: int = 0) -> pd.DataFrame:
    """A set of rated pairs of `lib.tasks`, or "Verse-pairs" (`tasks.verses.rated`).

    Returns
    -------
    DataFrame
        Columns left, right, gold; split (TRAIN, DEV or TEST; all TEST where there is
        nothing to train on); first and second, what a resample draws: the two documents
        of a pair, or one verse or pair, given twice.
    """
    is_of_verses = name == "Verse-pairs"
    splits: list[Any]
    if is_of_verses:
        splits = [rated(verses, seed)]
    else:
        splits = [tasks.load(name, split) for split in tasks.splits(name)]
    tables = []
    for number, task in enumerate(splits, start=3 - len(splits)):
        columns = {"left": task.left, "right": task.right, "gold": task.score}
        tables.append(pd.DataFrame(columns).assign(split=number))
    pairs = pd.concat(tables, ignore_index=True)
    if splits[0].ids is None:
        return pairs.assign(first=pairs.index, second=pairs.index)
    first, second = np.transpose(splits[0].ids)
    if is_of_verses:
        ends = np.array(SHARES) * (first.max() + 1)
        pairs["split"] = np.searchsorted(ends, first, side="right")
    return pairs.assign(first=first, second=second)


def sides(encode: Callable, pairs: pd.DataFrame) -> list[Embeddings]:
    """The embeddings of both sides; a text that several pairs share is encoded once."""
    unique = texts(pairs)
    vectors = encode(unique)
    place = pd.Index(unique)
    return [vectors[place.get_indexer(pairs[side])] for side in ("left", "right")]


def columns(encode: Callable, pairs: pd.DataFrame) -> list[np.ndarray]:
    """Both sides, float64[n, d]; of sparse ones, the columns that any text has."""
    vectors: Any = sides(encode, pairs)
    if sp.issparse(vectors[0]):
        used = np.unique(np.concatenate([side.indices for side in vectors]))
        vectors = [side[:, used].toarray() for side in vectors]
    return [side.astype(np.float64) for side in vectors]


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
    halves: bool = False,
) -> pd.DataFrame:
    """Pearson's correlations of the tested pairs' similarities with their gold scores.

    Draws (`lib.stats.draws`, also of `halves`) with the levels condition and embedder.
    Verses or documents are drawn, else pairs.
    """
    chosen = pairs[tested(pairs)]
    values = {
        (condition, name): of_name[:, column]
        for column, condition in enumerate(conditions)
        for name, of_name in similarities.items()
    }
    values = pd.DataFrame(values).rename_axis(columns=["condition", "embedder"])
    units = chosen[["first", "second"]].to_numpy()
    return draws(values, sampling, units, chosen["gold"].to_numpy(), halves=halves)
