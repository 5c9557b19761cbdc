"""How well the similarity of two embeddings agrees with people's: by cosine, or by a similarity that is learned.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3. UCP (unsupervised
cosine and Pearson) is the usual evaluation; z-normalization and a learned similarity are the paper's alternatives.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lib.embedders.base import Embeddings, narrow
from lib.neighbors.contract import unit
from lib.run import arrays
from lib.run.errors import InputError
from lib.run.parameters import nearest, one_of

LEAST_PAIRS = 3
SAME = 1e-12  # relative; numbers that differ by less differ by rounding
BLOCK = 10_000_000  # numbers of either side that are worked on at a time in float64
# Strengths of the L2 penalty, strong to weak, as if the variances of all features together were 1.
PENALTIES = {
    "softmax": (10.0, 3.0, 1.0, 0.3, 0.1, 0.03),
    "ridge": (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.1),
}
ITERATIONS = 1000  # of L-BFGS, at most

# Sentences have one matrix, pairs of sentences two: a row of each is a pair.
Vectors = Embeddings | tuple[Embeddings, Embeddings]
Predictor = Callable[[Embeddings], np.ndarray]


def ucp(left: Embeddings, right: Embeddings, gold: np.ndarray, normalize: str | None = None) -> dict[str, float]:
    """Unsupervised cosine and Pearson: how well the cosine of two embeddings follows what people say of the pair.

    Parameters
    ----------
    left, right : float[n, d]
        Arrays or CSR arrays; row i of both is pair i.
    gold : float[n]
        Higher is more alike.
    normalize : {None, "z"}
        "z" for `z_normalized`.

    Returns
    -------
    dict
        `pearson` and `spearman`, each in [-1, 1].

    Raises
    ------
    InputError
        Fewer than three pairs, numbers of rows that differ, NaN, constant gold scores, constant similarity.
    """
    return correlations(similarities(left, right, normalize), gold)


def correlations(predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
    """`pearson` and `spearman` of predicted similarities with gold scores, float[n] each; both in [-1, 1].

    Raises InputError for fewer than three pairs, lengths that differ, NaN, and a side that is constant.
    """
    from scipy.stats import pearsonr, spearmanr

    predicted, gold = arrays.column("similarity", predicted), arrays.column("gold", gold)
    if predicted.shape != gold.shape:
        raise InputError(f"gold: shape {gold.shape} for similarities of {predicted.shape}; give one score a pair")
    if len(gold) < LEAST_PAIRS:
        raise InputError(f"gold: {len(gold)} pairs; give {LEAST_PAIRS} or more")
    for name, values in (("gold", gold), ("similarity", predicted)):
        if np.ptp(values) <= SAME * np.abs(values).max():
            raise InputError(f"{name}: the same for all {len(values)} pairs; a correlation needs two that differ")
    return {
        "pearson": float(pearsonr(predicted, gold).statistic),
        "spearman": float(spearmanr(predicted, gold).statistic),
    }


def cosine(left: Embeddings, right: Embeddings) -> np.ndarray:
    """The cosine of each row of `left` and the same row of `right`, float64[n]; 0 for a zero vector.

    Raises InputError for shapes that differ, and for NaN or infinity.
    """
    return similarities(left, right)


def similarities(left: Embeddings, right: Embeddings, normalize: str | None = None) -> np.ndarray:
    """The cosine of each pair, float64[n] in [-1, 1], of the embeddings as they are or (``"z"``) `z_normalized`.

    Raises InputError for another `normalize`, for shapes that differ, and for NaN or infinity.
    """
    if normalize not in (None, "z"):
        raise InputError(f"normalize: {normalize!r} is not known; {nearest(str(normalize), ['None', 'z'])}")
    left, right = _sides(left, right)
    columns = None if normalize is None else column_statistics(left, right)
    found = np.empty(left.shape[0])
    step = max(1, BLOCK // max(1, left.shape[1]))
    for start in range(0, len(found), step):
        units = (_units(side[start : start + step], columns) for side in (left, right))
        found[start : start + step] = np.einsum("ij,ij->i", *units)
    return np.clip(found, -1.0, 1.0)


def z_normalized(left: Embeddings, right: Embeddings) -> tuple[np.ndarray, np.ndarray]:
    """Both sides z-normalized, float64[n, d] each (the paper's footnote 1).

    From each column the mean over all 2n rows is subtracted, and it is divided by its standard deviation; then each row
    gets length 1. A constant column, and a row that is the mean, becomes 0. This looks at the pairs that are evaluated,
    both sides together, but not at their gold scores.

    Raises InputError for shapes that differ, and for NaN or infinity.
    """
    left, right = _sides(left, right)
    columns = column_statistics(left, right)
    return _units(left, columns), _units(right, columns)


def _units(rows: Embeddings, columns: Columns | None) -> np.ndarray:
    """Rows of length 1, float64[n, d]; with `columns` after z-normalization."""
    rows = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64, copy=False)
    return unit(rows if columns is None else standardized(rows, columns), "left and right", 0)


def _sides(left: Embeddings, right: Embeddings) -> tuple[Embeddings, Embeddings]:
    left, right = (arrays.matrix(name, side) for name, side in (("left", left), ("right", right)))
    if sp.issparse(left) != sp.issparse(right) or left.shape != right.shape:
        raise InputError(
            f"left and right: shapes {left.shape} and {right.shape}; give two arrays of one shape (n, d) and kind"
        )
    return left, right


# -- columns, and what a classifier or a regression is given to see -------------------------------


class Columns(NamedTuple):
    """Mean and standard deviation of each column, float64[d]; the deviation of a constant column is exactly 0."""

    mean: np.ndarray
    deviation: np.ndarray


def column_statistics(*matrices: Embeddings) -> Columns:
    """Mean and standard deviation (over all rows, no correction) of the columns of matrices laid below each other.

    Raises InputError for NaN or infinity, or if there is no row or no column.
    """
    if not sum(matrix.shape[0] for matrix in matrices) or not matrices[0].shape[1]:
        raise InputError("vectors: there are no rows or no dimensions; give at least one")
    if sp.issparse(matrices[0]):
        from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

        rows = sp.csr_array(sp.vstack(matrices, format="csr"), dtype=np.float64)
        mean, variance = mean_variance_axis(rows, axis=0)
        lowest, highest = min_max_axis(rows, axis=0)
    else:
        rows = np.concatenate(matrices)
        mean, variance = rows.mean(axis=0, dtype=np.float64), rows.var(axis=0, dtype=np.float64)
        lowest, highest = rows.min(axis=0), rows.max(axis=0)
    if not np.isfinite(mean).all():
        raise InputError(f"vectors: column {int(np.argmin(np.isfinite(mean)))} holds NaN or infinity")
    # By the extremes, for the mean of equal numbers may be rounded to another one.
    return Columns(mean, np.where(highest > lowest, np.sqrt(variance), 0.0))


def standardized(vectors: Embeddings, columns: Columns) -> Embeddings:
    """Each column less its mean, divided by its deviation; sparse vectors are divided only, and stay sparse.

    A column of deviation 0 becomes 0. The numbers keep their type.
    """
    varies = columns.deviation > 0
    factor = np.divide(1.0, columns.deviation, out=np.zeros(len(varies)), where=varies).astype(vectors.dtype)
    if sp.issparse(vectors):
        return sp.csr_array(vectors @ sp.diags_array(factor))
    return (vectors - columns.mean.astype(vectors.dtype)) * factor


def pair_features(left: Embeddings, right: Embeddings) -> Embeddings:
    """``[|u - v|, u * v]`` of each pair, float[n, 2 d] (Tai et al., 2015, section 4.2; SentEval)."""
    if sp.issparse(left):
        return sp.csr_array(sp.hstack([abs(left - right), left.multiply(right)], format="csr"))
    return np.hstack([np.abs(left - right), left * right])


class Features:
    """From embeddings to what a classifier or a regression sees; everything is estimated by `fit`, on training rows.

    1. With `normalize`, each column of the embeddings gets mean 0 and standard deviation 1 (the paper's footnote 2);
       one that is constant on the training rows becomes 0. The two sides of pairs are estimated together.
    2. Pairs become `pair_features`.
    3. The mean is subtracted, and all is divided by one number so that the mean variance of a column is 1. A shift and
       a common factor are nothing to a linear model, but with them a penalty means the same for every embedder.

    Sparse vectors are not centered in either step, which would fill them. Where the intercept is free and without a
    penalty, that makes no difference to a linear model of single sentences; it does to the products of pairs.

    Parameters
    ----------
    normalize : bool
        Whether columns are z-normalized.
    dtype : type
        Of what `transform` returns.
    """

    def __init__(self, normalize: bool, dtype: type = np.float32) -> None:
        self.normalize, self.dtype = normalize, dtype

    def fit(self, vectors: Vectors) -> Features:
        """Estimate everything on training rows; returns itself. InputError for NaN, or for rows that are all alike."""
        sides = vectors if isinstance(vectors, tuple) else (vectors,)
        self.columns = column_statistics(*sides) if self.normalize else None
        mean, deviation = column_statistics(self._features(vectors))
        scale = np.sqrt((deviation**2).mean())
        if not scale > 0:
            raise InputError("vectors: all training rows are alike; give vectors that differ")
        self.mean, self.factor = mean.astype(self.dtype), self.dtype(1 / scale)
        return self

    def transform(self, vectors: Vectors) -> Embeddings:
        """``dtype[n, d]``, or [n, 2 d] for pairs; CSR if the vectors are."""
        features = self._features(vectors)
        if sp.issparse(features):
            return narrow(sp.csr_array(features * self.factor))
        return (features - self.mean) * self.factor

    def _features(self, vectors: Vectors) -> Embeddings:
        if isinstance(vectors, tuple):
            return pair_features(*map(self._normalized, vectors))
        return self._normalized(vectors)

    def _normalized(self, vectors: Embeddings) -> Embeddings:
        vectors = vectors.astype(self.dtype, copy=False)
        return vectors if self.columns is None else standardized(vectors, self.columns)


# -- a similarity that is learned -----------------------------------------------------------------


class Pairs(NamedTuple):
    """Embeddings of the two sides, float[n, d] each, and the gold scores, float[n]; any such triple will do."""

    left: Embeddings
    right: Embeddings
    gold: np.ndarray


class Regression(NamedTuple):
    """What a learned similarity predicts of the test pairs, float64[n] on the gold scale, and what was chosen for it.

    `penalty` is larger where it is stronger; `normalized` is whether columns were z-normalized (by the training pairs).
    """

    predicted: np.ndarray
    penalty: float
    normalized: bool


def regress(
    train: Pairs,
    dev: Pairs,
    test: Pairs,
    method: str = "softmax",
    normalize: Sequence[bool] = (False, True),
    penalties: Sequence[float] | None = None,
) -> Regression:
    """Predict gold scores from ``[|u - v|, u * v]``; penalty and normalization are those with the best Pearson on dev.

    Parameters
    ----------
    train, dev, test : Pairs
    method : {"softmax", "ridge"}
        "softmax", the paper's (through SentEval): a distribution over the whole scores, whose mean is predicted, is
        trained toward the two scores next to the gold score (Tai et al., 2015, section 4.2). SentEval's lowest score
        is 1, which is wrong for sets that begin at 0, and it stops a stochastic descent where dev is best; here the
        scores are those of the training pairs and the penalized optimum is found. "ridge": least squares, in a
        fraction of the time.
    normalize : sequence of bool
        Which to choose from: embeddings as they are (False), z-normalized (True).
    penalties : sequence of float, optional
        Which to choose from, strong to weak; None for `PENALTIES`. Of equally good ones the first is taken.

    Raises
    ------
    InputError
        A split with fewer than three pairs or with constant gold scores, sides that do not match, NaN, embeddings
        that are all alike.
    """
    fitted_path = {"softmax": _softmax, "ridge": _ridge}[one_of("method", method, PENALTIES)]
    penalties = PENALTIES[method] if penalties is None else penalties
    train, dev, test = (_checked(*each) for each in (("train", train), ("dev", dev), ("test", test)))
    best = (-np.inf, None)
    with quiet(), threadpool_limits(1):  # as in `lib.transfer`
        for normalized in normalize:
            features = Features(normalized, np.float64).fit(train[:2])
            rows, on_dev, on_test = (features.transform(split[:2]) for split in (train, dev, test))
            for penalty, predict in zip(penalties, fitted_path(rows, train.gold, penalties), strict=True):
                predicted = predict(on_dev)
                varies = np.ptp(predicted) > 1e-9 * np.ptp(dev.gold)
                agreement = correlations(predicted, dev.gold)["pearson"] if varies else -np.inf
                if agreement > best[0]:
                    best = agreement, (predict(on_test), penalty, normalized)
    if best[1] is None:
        raise InputError("dev: every regression predicts one score for all its pairs; give embeddings that differ")
    return Regression(*best[1])


def _ridge(features: Embeddings, gold: np.ndarray, penalties: Sequence[float]) -> Iterator[Predictor]:
    """One predictor after another; features are centered, so that the intercept is the mean of the gold scores."""
    n, d = features.shape
    mean, targets = gold.mean(), gold - gold.mean()
    if sp.issparse(features):
        from sklearn.linear_model import Ridge

        for penalty in penalties:
            yield Ridge(alpha=penalty * d, solver="sparse_cg", tol=1e-6).fit(features, gold).predict
        return
    # One decomposition, of the features' products or of the pairs', serves all penalties.
    values, directions = np.linalg.eigh(features @ features.T if d > n else features.T @ features)
    known = directions.T @ (targets if d > n else features.T @ targets)
    for penalty in penalties:
        weights = directions @ (known / (values + penalty * d))
        weights = features.T @ weights if d > n else weights
        yield lambda rows, weights=weights: mean + rows @ weights


def _softmax(features: Embeddings, gold: np.ndarray, penalties: Sequence[float]) -> Iterator[Predictor]:
    """Each pair counts for the whole score below and the one above, by how near they are: the targets of Tai et al."""
    from sklearn.linear_model import LogisticRegression

    scores = np.arange(np.floor(gold.min()), np.ceil(gold.max()) + 1)
    below = np.minimum(np.floor(gold - scores[0]).astype(int), len(scores) - 2)
    share = gold - scores[below]
    weights, label = np.concatenate([1 - share, share]), np.concatenate([below, below + 1])
    counts = np.flatnonzero(weights > 0)
    twice = features.astype(np.float32)[counts % len(gold)]
    model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
    for penalty in penalties:
        model.C = 1 / (penalty * features.shape[1])
        model.fit(twice, label[counts], sample_weight=weights[counts])
        yield lambda rows: model.predict_proba(rows.astype(np.float32)).astype(np.float64) @ scores[model.classes_]


def _checked(name: str, split: Pairs) -> Pairs:
    left, right = _sides(*split[:2])
    gold = arrays.column(f"{name}: gold", split[2])
    if left.shape[0] != len(gold):
        raise InputError(f"{name}: {left.shape[0]} pairs and {len(gold)} gold scores; give a score for each pair")
    try:
        correlations(gold, gold)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return Pairs(left, right, gold)


@contextmanager
def quiet() -> Iterator[None]:
    """Without scikit-learn's warnings of a solver that stops at its last iteration."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
