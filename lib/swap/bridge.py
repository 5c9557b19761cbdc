"""Must a text be embedded again? A linear map between the vectors of two sides.

Fitted on sentences that no query is. The index can be mapped into the new space, or the
new model's queries into the old index, which then stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib import n2o
from lib.base.errors import InputError
from lib.swap import labels
from lib.swap.comparison import BOUNDS, Swap
from lib.swap.searching import nearest
from lib.swap.vectors import Vectors
from lib.vectors import unit

SIZES = (500, 2000, 8000)  # sentences that a map is fitted on
FEWEST = 50
PENALTIES = np.logspace(-6, 2, 9)  # of ridge regression, chosen by leaving one out
BLOCK = 1 << 14

WAYS = {
    "nothing": "nothing",
    "index": "index mapped ({0.method}, {0.sentences:,} sentences)",
    "queries": "queries mapped ({0.method}, {0.sentences:,} sentences)",
}

Map = Callable[[np.ndarray], np.ndarray]


def bridges(found: Swap, judgments: labels.Judgments | None = None) -> pd.DataFrame:
    """What both ways of a bridge keep of the results of the embedded-again text.

    Parameters
    ----------
    found : Swap
        Of sides with dense vectors.
    judgments : mapping, optional
        As from `labels.read`.

    Returns
    -------
    DataFrame
        Columns way ("nothing", the old side as it is; "index", mapped into the new
        space; "queries", mapped into the old index), method (ridge, orthogonal),
        sentences, done (the three in words), and value, low, high: N2O with the new
        side. With judgments, kept,
        kept_low, kept_high: what it has of the new side's nDCG.

    Raises
    ------
    InputError
        Sparse vectors on a side, or fewer than fifty sentences that no query is.
    """
    old, new = (_vectors(side) for side in (found.old, found.new))
    sizes, rows = _sentences(found)
    lists = {("nothing", "", 0): found.old.ids}
    for size in sizes:
        some = rows[:size]
        pair = _comparable(old, some), _comparable(new, some)
        for method, forth in _maps(*pair):
            mapped = replace(new, text=_applied(forth, old))
            ids = nearest(mapped, found.new.ids.shape[1], found.task.rows)
            lists["index", method, size] = ids
        for method, back in _maps(*pair[::-1]):
            queries = _applied(back, replace(new, text=new.queries))
            mapped = replace(old, queries=queries)
            ids = nearest(mapped, found.new.ids.shape[1], found.task.rows)
            lists["queries", method, size] = ids
    overlaps = {
        key: n2o.overlap(ids[:, : found.k], found.new.ids[:, : found.k])
        for key, ids in lists.items()
    }
    table = found.means(pd.DataFrame(overlaps), (0, 1))[list(BOUNDS)]
    if judgments is not None:
        kept = [labels.retained(found, judgments, ids) for ids in lists.values()]
        table[["kept", "kept_low", "kept_high"]] = kept
    table.index = pd.MultiIndex.from_tuples(lists, names=["way", "method", "sentences"])
    table = table.reset_index()
    table["done"] = [WAYS[row.way].format(row) for row in table.itertuples()]
    return table


def _vectors(side: Any) -> Vectors:
    if side.placed is None or sp.issparse(side.placed.text):
        raise InputError(
            f"BRIDGE: {side.name} has no dense vectors; give sides that have"
        )
    return side.placed


def _sentences(found: Swap) -> tuple[list[int], np.ndarray]:
    """How many to fit on, and all sentences that no query is, in random order."""
    asked = set(found.task.queries)
    free = [i for i, each in enumerate(found.task.sentences) if each not in asked]
    if len(free) < FEWEST:
        raise InputError(
            f"BRIDGE: {len(free)} sentences of the text are no query; give a text "
            f"with {FEWEST} or more, or fewer queries"
        )
    sizes = [size for size in SIZES if size <= len(free)]
    order = np.random.default_rng(found.sampling.seed).permutation(free)
    return sizes or [len(free)], order


def _comparable(placed: Vectors, rows: np.ndarray | slice) -> np.ndarray:
    """Some vectors of the text, of length 1 where length has no part in the search."""
    vectors: Any = placed.text[rows]
    return (
        unit(vectors) if placed.similarity == "cosine" else np.asarray(vectors, float)
    )


def _maps(source: np.ndarray, target: np.ndarray) -> Iterator[tuple[str, Map]]:
    """Maps fitted on pairs of vectors, both centered."""
    from scipy.linalg import orthogonal_procrustes
    from sklearn.linear_model import RidgeCV

    yield "ridge", RidgeCV(PENALTIES).fit(source, target).predict
    if source.shape[1] == target.shape[1] < len(source):
        start, end = source.mean(axis=0), target.mean(axis=0)
        turned, size = orthogonal_procrustes(source - start, target - end)
        turned *= size / np.square(source - start).sum()
        yield "orthogonal", lambda vectors: (vectors - start) @ turned + end


def _applied(change: Map, placed: Vectors) -> np.ndarray:
    """A side's vectors of the text, mapped block by block, float32."""
    starts = range(0, placed.text.shape[0], BLOCK)
    blocks = (_comparable(placed, slice(start, start + BLOCK)) for start in starts)
    return np.concatenate([change(block).astype(np.float32) for block in blocks])
