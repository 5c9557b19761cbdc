"""Similarities that are learned from rated pairs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.stats import ConstantInputWarning, pearsonr
from sklearn.exceptions import ConvergenceWarning

from lib.base.cluster import in_processes
from lib.base.environment import single_threaded
from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.similarity import Features, check_varies, checked
from lib.studies.ratings import DEV, TEST, TRAIN, Encoders, Similarities, sides
from lib.vectors import Embeddings, as_column

# Strengths of the L2 penalty, strong to weak, as if the variances of all features
# together were 1.
PENALTIES = {
    "softmax": (10.0, 3.0, 1.0, 0.3, 0.1, 0.03),
    "ridge": (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.1),
}
ITERATIONS = 1000  # of L-BFGS, at most
Pairs = tuple[Embeddings, Embeddings, np.ndarray]  # the two sides and the gold scores


def regress(
    train: Pairs,
    dev: Pairs,
    test: Pairs,
    method: str = "softmax",
    normalize: bool = False,
) -> np.ndarray:
    """Predict the gold scores of the test pairs, float64[n], from ``[|u - v|, u * v]``.

    Parameters
    ----------
    train, dev, test : (left, right, gold)
        Embeddings of the two sides, float[n, d] each, and the gold scores, float[n].
    method : {"softmax", "ridge"}
        "softmax", the paper's (through SentEval): a distribution over the whole scores,
        whose mean is predicted, is trained toward the two scores next to the gold score
        (Tai et al., 2015, section 4.2). SentEval's lowest score is 1, which is wrong
        for sets that begin at 0, and it stops a stochastic descent where dev is best;
        here the scores are those of the training pairs and the penalized optimum is
        found. "ridge": least squares, in a fraction of the time. The penalty is the one
        of `PENALTIES` with the highest Pearson correlation on dev, the first in a tie.
    normalize : bool
        Whether columns are z-normalized, by the training pairs.

    Raises
    ------
    InputError
        Another method, sides and scores that do not match, NaN, embeddings that are all
        alike, scores of train or dev or predictions that are constant.
    """
    methods = {"softmax": _softmax, "ridge": _ridge}
    regression = methods[one_of("method", method, methods)]
    sides = [
        checked("train, dev and test", left, right)
        for left, right, _ in (train, dev, test)
    ]
    gold = as_column("gold", train[2])
    dev_gold = as_column("gold", dev[2])
    for (left, _), scores in zip(sides[:2], (gold, dev_gold), strict=True):
        if left.shape[0] != len(scores):
            raise InputError(
                f"gold: {len(scores)} scores for {left.shape[0]} pairs; "
                "give one for each pair"
            )
    check_varies("gold of train", gold)
    # One thread, as in `lib.transfer`.
    with (
        warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
        single_threaded(),
    ):
        features = Features(normalize, np.float64).fit(sides[0])
        rows, *others = [features.transform(split) for split in sides]
        predictions = list(regression(rows, gold, others))
    with warnings.catch_warnings(action="ignore", category=ConstantInputWarning):
        agreement = [pearsonr(of_dev, dev_gold).statistic for of_dev, _ in predictions]
    if np.isnan(agreement).all():
        raise InputError(
            "dev: all scores or all predictions are the same; give pairs that differ"
        )
    _, of_test = predictions[np.nanargmax(agreement)]
    return of_test


def _ridge(
    features: Embeddings, gold: np.ndarray, others: Sequence[Embeddings]
) -> Iterator[list[np.ndarray]]:
    """For each penalty the predicted scores of other matrices of features."""
    from sklearn.linear_model import Ridge

    for penalty in PENALTIES["ridge"]:
        model = Ridge(alpha=penalty * features.shape[1], tol=1e-6).fit(features, gold)
        yield [model.predict(rows) for rows in others]


def _softmax(
    features: Embeddings, gold: np.ndarray, others: Sequence[Embeddings]
) -> Iterator[list[np.ndarray]]:
    """The targets of Tai et al.: scores divided between whole ones.

    Each pair counts for the whole score below and the one above, by how near they are.
    """
    from sklearn.linear_model import LogisticRegression

    scores = np.arange(np.floor(gold.min()), np.ceil(gold.max()) + 1)
    below = np.minimum(np.floor(gold - scores[0]).astype(int), len(scores) - 2)
    share = gold - scores[below]
    weights = np.concatenate([1 - share, share])
    label = np.concatenate([below, below + 1])
    counts = np.flatnonzero(weights > 0)
    twice = features.astype(np.float32)[counts % len(gold)]
    model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
    for penalty in PENALTIES["softmax"]:
        model.C = 1 / (penalty * features.shape[1])
        model.fit(twice, label[counts], sample_weight=weights[counts])
        predictions = []
        for rows in others:
            probabilities = model.predict_proba(rows.astype(np.float32))
            predictions.append(
                probabilities.astype(np.float64) @ scores[model.classes_]
            )
        yield predictions


def learned_similarities(
    pairs: pd.DataFrame, encoders: Encoders, method: str
) -> Similarities:
    """Learned similarities of the tested pairs (`regress`).

    The features are raw, and z-normalized by the training pairs.
    """
    gold = pairs["gold"].to_numpy()
    split = pairs["split"].to_numpy()
    jobs = (
        (gold, split, *sides(encode, pairs), method) for encode in encoders.values()
    )
    return dict(zip(encoders, in_processes(_regressed, jobs), strict=True))


def _regressed(
    gold: np.ndarray,
    split: np.ndarray,
    left: Embeddings,
    right: Embeddings,
    method: str,
) -> np.ndarray:
    parts = []
    for part in (TRAIN, DEV, TEST):
        rows = split == part
        parts.append((left[rows], right[rows], gold[rows]))
    raw = regress(*parts, method, normalize=False)
    normalized = regress(*parts, method, normalize=True)
    return np.stack([raw, normalized], axis=1)
