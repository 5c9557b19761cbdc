"""From vectors to what a classifier is given: principal components and a common scale, estimated on training sentences
(components also on all, to show what that gains)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lib.embedders.base import Embeddings, narrow


def projected(
    train: Embeddings, test: Embeddings, dim: int | None, fitted_on: Embeddings | None = None
) -> tuple[Embeddings, Embeddings]:
    """Both matrices in float64, on the first `dim` principal components of `train`, or of `fitted_on` where given.

    There are no more components than rows to estimate them from, nor than columns. Without `dim` the vectors stay as
    they are, but for a rotation where dense ones have more columns than `train` has rows: a linear SVM sees nothing of
    what is at right angles to all of its training sentences.
    """
    if dim is None:
        return _as_they_are(train, test)
    from sklearn.decomposition import PCA

    source = _dense(train if fitted_on is None else fitted_on)
    pca = PCA(min(dim, *source.shape), svd_solver="full").fit(source)
    return pca.transform(_dense(train)), pca.transform(_dense(test))


def scaled(train: Embeddings, test: Embeddings) -> tuple[Embeddings, Embeddings]:
    """Both matrices less the mean of the rows of `train`, divided by those rows' mean distance from it; in float64.

    What is left is how vectors lie to each other; moving or stretching all of them makes no difference. (Dividing
    by s does to a linear SVM what multiplying its C by 1 / s squared does.) Rows that are all alike become zeros.
    """
    train, test = _as_they_are(_dense(train), _dense(test))
    mean = train.mean(axis=0)
    distance = np.linalg.norm(train - mean, axis=1).mean() or 1.0
    return (train - mean) / distance, (test - mean) / distance


def _as_they_are(train: Embeddings, test: Embeddings) -> tuple[Embeddings, Embeddings]:
    if sp.issparse(train):
        return tuple(narrow(sp.csr_array(side, dtype=np.float64)) for side in (train, test))
    train, test = _dense(train), _dense(test)
    if train.shape[1] <= train.shape[0]:
        return train, test
    directions = np.linalg.qr(train.T).Q  # of all that `train` spans
    return train @ directions, test @ directions


def _dense(vectors: Embeddings) -> np.ndarray:
    return np.asarray(vectors.toarray() if sp.issparse(vectors) else vectors, dtype=np.float64)
