"""A similarity that is learned: a regression on ``[|u - v|, u * v]``, trained on one split, chosen on another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lib.embedders.base import Embeddings
from lib.run import arrays
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.similarity.convergence import counted
from lib.similarity.correlation import correlations, mean_squared_error
from lib.similarity.features import Features

# Strengths of the L2 penalty, strong to weak, as if the variances of all features together were 1.
PENALTIES = {
    "softmax": (10.0, 3.0, 1.0, 0.3, 0.1, 0.03),
    "ridge": (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.1),
}
ITERATIONS = 1000  # of L-BFGS, at most
MOST_SCORES = 1000  # that a distribution is predicted over

Predictor = Callable[[Embeddings], np.ndarray]


class Pairs(NamedTuple):
    """Embeddings of the two sides, float[n, d] each, and the gold scores, float[n]; any such triple will do."""

    left: Embeddings
    right: Embeddings
    gold: np.ndarray


@dataclass(frozen=True, eq=False)
class Regression:
    """What a learned similarity predicts, and how it was chosen.

    Attributes
    ----------
    predicted : float64[n], of the test pairs, on the gold scale
    method : "softmax" or "ridge"
    penalty : float, the one chosen, larger is stronger
    normalized : bool, whether the embeddings' columns were z-normalized (by the training pairs' mean and deviation)
    dev_pearson : float, what the two were chosen by
    convergence_warnings : int, over all fits
    """

    predicted: np.ndarray
    method: str
    penalty: float
    normalized: bool
    dev_pearson: float
    convergence_warnings: int


def learned(train: Pairs, dev: Pairs, test: Pairs, **options: object) -> dict[str, float]:
    """`pearson`, `spearman` and `mse` (on the gold scale) of a learned similarity on the test pairs.

    Parameters and errors are those of `regress`, whose predictions these are the scores of.
    """
    predicted = regress(train, dev, test, **options).predicted
    return correlations(predicted, test[2]) | {"mse": mean_squared_error(predicted, test[2])}


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
    train, dev, test : Pairs, arrays or CSR arrays of as many columns
    method : "softmax", the paper's (through SentEval): a distribution over the whole scores, whose mean is predicted,
        is trained toward the two scores next to the gold score (Tai et al., 2015, section 4.2). SentEval's lowest
        score is 1, which is wrong for sets that begin at 0, and it stops a stochastic descent where dev is best; here
        the scores are those of the training pairs and the penalized optimum is found. "ridge": least squares, in a
        fraction of the time.
    normalize : which to choose from: embeddings as they are (False), z-normalized (True)
    penalties : which to choose from, strong to weak; None for `PENALTIES`. Of equally good ones the first is taken.

    Raises
    ------
    InputError
        A split with fewer than three pairs or with constant gold scores, sides that do not match, NaN, embeddings
        that are all alike.
    """
    fitted_path = {"softmax": _softmax, "ridge": _ridge}[one_of("method", method, PENALTIES)]
    penalties = PENALTIES[method] if penalties is None else penalties
    _check_choices(normalize, penalties)
    train, dev, test = (_checked(*each) for each in (("train", train), ("dev", dev), ("test", test)))
    if len({split.left.shape[1] for split in (train, dev, test)}) > 1:
        raise InputError("train, dev and test: their embeddings differ in dimensions; give those of one embedder")
    best = (-np.inf, None)
    with counted() as warnings, threadpool_limits(1):  # as in `lib.transfer.selection`
        for normalized in normalize:
            features = Features(normalized, np.float64).fit(tuple(train[:2]))
            rows, on_dev, on_test = (features.transform(tuple(split[:2])) for split in (train, dev, test))
            path = fitted_path(rows, np.asarray(train[2], np.float64), penalties)
            for penalty, predict in zip(penalties, path, strict=True):
                agreement = _agreement(predict(on_dev), dev[2])
                if agreement > best[0]:
                    best = (agreement, (predict(on_test), method, penalty, normalized))
    if best[1] is None:
        raise InputError("dev: every regression predicts one score for all its pairs; give embeddings that differ")
    return Regression(*best[1], dev_pearson=best[0], convergence_warnings=warnings.count)


def _agreement(predicted: np.ndarray, gold: np.ndarray) -> float:
    """Pearson's correlation, or -infinity: whoever predicts the mean for every pair cannot be chosen."""
    return correlations(predicted, gold)["pearson"] if np.ptp(predicted) > 1e-9 * np.ptp(gold) else -np.inf


# -- methods: one predictor after another, each good until the next is asked for ----------------


def _ridge(features: Embeddings, gold: np.ndarray, penalties: Sequence[float]) -> Iterator[Predictor]:
    if sp.issparse(features):
        return _sparse_ridge(features, gold, penalties)
    return _dense_ridge(features, gold, penalties)


def _sparse_ridge(features: sp.csr_array, gold: np.ndarray, penalties: Sequence[float]) -> Iterator[Predictor]:
    from sklearn.linear_model import Ridge

    for penalty in penalties:
        model = Ridge(alpha=penalty * features.shape[1], solver="sparse_cg", tol=1e-6)
        yield model.fit(features, gold).predict


def _dense_ridge(features: np.ndarray, gold: np.ndarray, penalties: Sequence[float]) -> Iterator[Predictor]:
    """By the normal equations, or where there are more features than pairs by the kernel matrix of the pairs.

    Either is computed once for all penalties, which is what scikit-learn's Ridge cannot be told. Features are centered
    (`Features`), so that the intercept is the mean of the gold scores.
    """
    from scipy.linalg import solve

    n, d = features.shape
    mean, targets = gold.mean(), gold - gold.mean()
    system = features @ features.T if d > n else features.T @ features
    for penalty in penalties:
        shifted = system.copy()
        shifted[np.diag_indices_from(shifted)] += penalty * d
        known = targets if d > n else features.T @ targets
        weights = solve(shifted, known, assume_a="pos", overwrite_a=True)
        weights = features.T @ weights if d > n else weights
        yield lambda rows, weights=weights: mean + rows @ weights


def _softmax(features: Embeddings, gold: np.ndarray, penalties: Sequence[float]) -> Iterator[Predictor]:
    """Each pair counts for the whole score below and the one above, by how near they are: the targets of Tai et al."""
    from sklearn.linear_model import LogisticRegression

    if np.ptp(gold) > MOST_SCORES:
        raise InputError(
            f"gold: from {gold.min():g} to {gold.max():g}; give {MOST_SCORES} whole scores or fewer, or method='ridge'"
        )
    features = features.astype(np.float32)
    scores = np.arange(np.floor(gold.min()), np.ceil(gold.max()) + 1)
    below = np.minimum(np.floor(gold - scores[0]).astype(int), len(scores) - 2)
    share = gold - scores[below]
    weights, label = np.concatenate([1 - share, share]), np.concatenate([below, below + 1])
    counts = np.flatnonzero(weights > 0)
    twice = features[counts % len(gold)]
    model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
    for penalty in penalties:
        model.C = 1 / (penalty * features.shape[1])
        model.fit(twice, label[counts], sample_weight=weights[counts])
        yield lambda rows: model.predict_proba(rows.astype(np.float32)).astype(np.float64) @ scores[model.classes_]


# -- checks -------------------------------------------------------------------------------------


def _check_choices(normalize: Sequence[bool], penalties: Sequence[float]) -> None:
    if not len(normalize) or not len(penalties) or min(penalties) <= 0:
        raise InputError("normalize, penalties: give at least one of each, and penalties above 0")


def _checked(name: str, split: Pairs) -> Pairs:
    left, right = (arrays.matrix(name, side) for side in split[:2])
    gold = arrays.column(f"{name}: gold", split[2])
    if left.shape != right.shape or left.shape[0] != len(gold):
        raise InputError(
            f"{name}: sides of shape {left.shape} and {right.shape} and {len(gold)} gold scores; "
            "give two arrays of one shape and a score for each row"
        )
    try:
        correlations(gold, gold)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return Pairs(left, right, gold)
