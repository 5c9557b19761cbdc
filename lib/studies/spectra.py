"""How embeddings lie around their mean, and whether that goes with what normalization gains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib import stats
from lib.embedders.base import Embeddings
from lib.stats import Sampling

KIN = ("glove", "minilm", "w2v", "fasttext", "sent2vec")  # share word vectors or weights, and are drawn together


def spectrum(vectors: Embeddings) -> dict[str, float]:
    """How embeddings of n texts, float[n, d] or CSR, lie: the mean's share, and the components around it.

    Returns
    -------
    dict
        `mean`: squared length of the mean vector over the mean squared length; `first`: the first principal
        component's share of the variance; `dimensions`: the effective number, 1 over the sum of squared shares.
    """
    rows = vectors[:, np.unique(vectors.indices)].toarray() if sp.issparse(vectors) else np.asarray(vectors)
    rows = rows.astype(np.float64)
    mean = rows.mean(axis=0)
    centered = rows - mean
    # The smaller of the two products has all eigenvalues that are not 0.
    product = centered.T @ centered if rows.shape[1] <= len(rows) else centered @ centered.T
    shares = np.linalg.eigvalsh(product)[::-1].clip(0)
    shares /= shares.sum()
    share_of_mean = mean @ mean / (rows**2).sum(axis=1).mean()
    return {"mean": float(share_of_mean), "first": float(shares[0]), "dimensions": float(1 / (shares**2).sum())}


def kin(names: Sequence[str]) -> np.ndarray:
    """int[e], equal for embedders that share word vectors or weights (`KIN`)."""
    family = [next((stem for stem in KIN if name.startswith(stem)), name) for name in names]
    return np.unique(family, return_inverse=True)[1]


def why(shape: pd.DataFrame, gain: pd.Series, sampling: Sampling) -> pd.DataFrame:
    """Spearman's correlation over embedders of the gain with each column of `shape`: property, value, low, high."""
    options = {"sampling": sampling, "clusters": kin(list(shape.index)), "method": "fisher"}
    rows = [(name, *stats.bootstrap(stats.spearman, shape[name], gain, **options)) for name in shape]
    return pd.DataFrame(rows, columns=["property", "value", "low", "high"])
