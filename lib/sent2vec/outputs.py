"""Which words are targets, which are their negatives, and how both learn, in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.run.compiled import njit
from lib.sent2vec import vectors
from lib.sent2vec.draws import below, uniform
from lib.sent2vec.prefetch import prefetch_row

BINS, REACH = 512, 8.0  # of the table of the sigmoid
PER_UNIT = np.float32(BINS / (2 * REACH))
GRID = np.arange(BINS + 1) / float(PER_UNIT) - REACH
SIGMOID = (1 / (1 + np.exp(-GRID))).astype(np.float32)
LOSS = np.log1p(np.exp(-GRID)).astype(np.float32)


class Targets(NamedTuple):
    """What decides which words are targets, and which are negatives.

    Attributes
    ----------
    keep : float32[n_words], the paper's q_p
    eligible : bool[n_words], whether the word is frequent enough for a target
    negatives : int32[table], words by the square root of their count, shuffled
    in_turn : whether negatives are taken from the table one behind the other, or each from anywhere
    thin : Settings.subsample_context
    window : Settings.window
    """

    keep: np.ndarray
    eligible: np.ndarray
    negatives: np.ndarray
    in_turn: bool
    thin: bool
    window: int


# -- choosing -----------------------------------------------------------------------------------


@njit(nogil=True, forceinline=True)
def thin_out(words, targets, state):
    """Move the words that subsampling keeps to the front; returns how many they are."""
    count = 0
    for i in range(len(words)):
        if uniform(state) <= targets.keep[words[i]]:
            words[count] = words[i]
            count += 1
    return count


@njit(nogil=True, forceinline=True)
def choose_targets(words, targets, state, positions):
    """Write the positions of the targets of a line to `positions`; returns how many there are.

    A single word has no context, and is no target.
    """
    count = 0
    if len(words) < 2:
        return count
    for i in range(len(words)):
        kept = targets.thin or uniform(state) <= targets.keep[words[i]]
        if kept and targets.eligible[words[i]]:
            positions[count] = i
            count += 1
    return count


@njit(nogil=True, forceinline=True)
def draw_outputs(target, targets, state, cursor, drawn):
    """Write to `drawn` the target and its negatives, which are never the target."""
    table = targets.negatives
    drawn[0] = target
    k = 1
    while k < len(drawn):
        if targets.in_turn:
            cursor[0] = cursor[0] + 1 if cursor[0] + 1 < len(table) else 0
            word = table[cursor[0]]
        else:
            word = table[below(state, len(table))]
        if word != target:
            drawn[k] = word
            k += 1


# -- learning -----------------------------------------------------------------------------------


@njit(nogil=True, forceinline=True)
def sigmoid(score):
    """As in the authors' program, from a table of 513 values, without interpolation."""
    if score < -REACH:
        return np.float32(0)
    if score > REACH:
        return np.float32(1)
    return SIGMOID[np.int64((score + np.float32(REACH)) * PER_UNIT)]


@njit(nogil=True, forceinline=True)
def loss(score):
    """-log sigmoid(score), in the same steps."""
    if score < -REACH:
        return -score
    if score > REACH:
        return np.float32(0)
    return LOSS[np.int64((score + np.float32(REACH)) * PER_UNIT)]


@njit(nogil=True, forceinline=True)
def learn_outputs(drawn, following, lr, threshold, outputs, room):
    """Update the rows of a target and its negatives, one after the other, and sum their gradients in `room.gradient`.

    The rows of `following` are fetched meanwhile. Returns False if a score is not a number.
    """
    hidden, gradient, report = room.hidden, room.gradient, room.report
    vectors.fill(gradient, 0)
    k = 0
    while k < len(drawn):
        row, both = drawn[k], k + 1 < len(drawn) and drawn[k + 1] != drawn[k]
        prefetch_row(outputs, following[k])
        if both:  # two different rows at once: the same as one behind the other
            other = drawn[k + 1]
            prefetch_row(outputs, following[k + 1])
            score, other_score = vectors.dots(outputs, row, other, hidden)
        else:
            score, other_score = vectors.dot(outputs, row, hidden), np.float32(0)
        if np.isnan(score + other_score):
            return False
        step = _step(score, k == 0, lr, report)
        if both:
            vectors.exchange_two(outputs, row, other, step, _step(other_score, False, lr, report), hidden, gradient)
        else:
            vectors.exchange(outputs, row, step, hidden, gradient)
        k += 2 if both else 1
    if threshold > 0:
        _shrink(drawn, threshold, outputs)
    report[1] += 1
    return True


@njit(nogil=True, forceinline=True)
def _step(score, positive, lr, report):
    """What a row moves by, in multiples of the hidden vector; the loss goes to the report."""
    report[0] += loss(score if positive else -score)
    return lr * (np.float32(positive) - sigmoid(score))


@njit(nogil=True, forceinline=True)
def _shrink(rows, threshold, outputs):
    for row in rows:
        vectors.shrink(outputs, row, threshold)
