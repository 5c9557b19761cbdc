"""Spearman's correlation of many embedders at once under the weights of a bootstrap."""

from __future__ import annotations

import numpy as np

BLOCK = 4_000_000  # numbers that a step of the work holds


def spearman(columns: np.ndarray, gold: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """float64[r, c]: Spearman's correlation of each column with `gold` under each row of weights.

    Each resample ranks anew; equal values share the mean of their ranks. `exams.pearson` is the same for Pearson's.

    Parameters
    ----------
    columns : float[n, c]
    gold : float[n]
    draws : float[r, n], how often each row counts; rows that share an item are weighted together, so that the
        bootstrap of `lib.stats`, which draws disjoint groups, cannot draw them

    NaN under weights that leave a column, or `gold`, constant.
    """
    sides = [np.unique(side, return_inverse=True)[1] for side in (gold, *columns.T)]
    step = max(1, BLOCK // len(gold))
    blocks = [_block(sides, draws[start : start + step]) for start in range(0, len(draws), step)]
    return np.concatenate(blocks)


def _block(sides: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    gold, *others = (_centered_ranks(levels, weights) for levels in sides)
    own = _lengths(gold, weights)
    found = np.empty((len(weights), len(others)))
    for i, ranks in enumerate(others):
        with np.errstate(invalid="ignore", divide="ignore"):
            found[:, i] = np.einsum("rn,rn,rn->r", weights, gold, ranks) / (own * _lengths(ranks, weights))
    return found


def _centered_ranks(levels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """float64[r, n]: under each row of weights the rank of each of n rows, less the mean rank."""
    order = np.argsort(levels, kind="stable")
    starts = np.flatnonzero(np.diff(levels[order], prepend=-1))
    occurrences = np.add.reduceat(weights[:, order], starts, axis=1)
    middles = np.cumsum(occurrences, axis=1) - occurrences / 2
    return middles[:, levels] - weights.sum(axis=1, keepdims=True) / 2


def _lengths(ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    squared = np.einsum("rn,rn,rn->r", weights, ranks, ranks)
    return np.sqrt(np.where(squared > 0, squared, np.nan))
