"""Our N2O beside the cells of the paper's heatmap (appendix B.1), as `lib.catalog.published` holds them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib import stats
from lib.catalog import published

FEWEST = 3  # cells that a rank correlation needs to say anything


def opposite(pairs: pd.DataFrame, of_kind: Mapping[str, str]) -> pd.DataFrame:
    """The legible cells of the published heatmap, each with the pair of ours that stands opposite.

    An embedder of the paper stands opposite itself where we have it, and otherwise opposite the one that `of_kind`
    names for it, if we have that.

    Parameters
    ----------
    pairs : with columns a, b, n2o, low and high, as from `lib.n2o.summary`

    Returns
    -------
    DataFrame with columns a, b, published, our_a, our_b, n2o, low, high, same (whether both are the very embedders of
    the paper), and as its index the rows of `pairs`
    """
    ours = set(pairs["a"]) | set(pairs["b"])
    names = {paper: kin for paper, kin in of_kind.items() if kin in ours} | {name: name for name in ours}
    rows = {frozenset(pair): i for i, pair in enumerate(zip(pairs["a"], pairs["b"], strict=True))}
    cells = published.cells("n2o_heatmap", by=["a", "b"], value="n2o").dropna()
    found = [
        (rows[frozenset((names[a], names[b]))], a, b, value)
        for (a, b), value in cells.items()
        if a in names and b in names and names[a] != names[b]
    ]
    table = pd.DataFrame(found, columns=["row", "a", "b", "published"]).set_index("row")
    beside = table.join(pairs[["a", "b", "n2o", "low", "high"]].rename(columns={"a": "our_a", "b": "our_b"}))
    same = [{row.a, row.b} == {row.our_a, row.our_b} for row in beside.itertuples()]
    return beside.assign(same=same)


def rank_correlation(cells: pd.DataFrame, resampled: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """Spearman's correlation of ours with the published cells, and its interval over resampled queries.

    `cells` is from `opposite`; `resampled` is float[repetitions, pairs], from `lib.stats.resampled_means`. Which
    embedders are compared is no part of the interval. Raises InputError if all cells of either side are equal.
    """
    ours = np.vstack([cells["n2o"], resampled[:, cells.index]])
    both = np.stack(np.broadcast_arrays(cells["published"].to_numpy(), ours), axis=1)
    rho = stats.spearman_matrix(both)[:, 0, 1]
    low, high = stats.percentiles(rho[1:], confidence)
    return float(rho[0]), float(low), float(high)
