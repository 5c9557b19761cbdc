"""How lines update the matrices, in compiled code.

Training spends most of its time here, without Python's lock.

All elements of a line get the same gradient from every target, but for the few that the
context lost or gained. So the sum of the elements' rows is kept up to date, the
gradients are summed, and the rows get this sum when the line is done; rows that were
lost or gained are made up for at once. But for rounding that is the same as updating
all rows of the context after each target, at the cost of a few. Only soft thresholding
must go through all of them (`_penalize`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.base.compiled import njit
from lib.sent2vec import contexts
from lib.sent2vec.contexts import ABSENT
from lib.sent2vec.primitives import (
    add_to,
    below,
    borrowed,
    dot,
    dots,
    exchange_two,
    njit_inline,
    prefetch_row,
    scale,
    shrink,
    start_of,
    uniform,
)  # fmt: skip

AHEAD = 3  # rows that are on their way while one is added
ONE = np.float32(1)
# Of the table of the sigmoid.
BINS = 512
REACH = 8.0
PER_UNIT = np.float32(BINS / (2 * REACH))
GRID = np.arange(BINS + 1) / float(PER_UNIT) - REACH
SIGMOID = (1 / (1 + np.exp(-GRID))).astype(np.float32)
LOSS = np.log1p(np.exp(-GRID)).astype(np.float32)


class Model(NamedTuple):
    """Both matrices: float32, C order, rows zero-padded to whole cache lines."""

    inputs: np.ndarray
    outputs: np.ndarray


# -- targets and negatives -------------------------------------------------------------


@njit_inline
def subsample_words(words, method, state):
    """Move the words that subsampling keeps to the front; returns how many they are."""
    count = 0
    for i in range(len(words)):
        if uniform(state) <= method.keep[words[i]]:
            words[count] = words[i]
            count += 1
    return count


@njit_inline
def choose_targets(words, method, workspace):
    """The positions of the targets of a line.

    A single word has no context, so it is not a target.
    """
    count = 0
    if len(words) > 1:
        for i in range(len(words)):
            kept = (
                method.subsample_context
                or uniform(workspace.state) <= method.keep[words[i]]
            )
            if kept and method.eligible[words[i]]:
                workspace.targets[count] = i
                count += 1
    return workspace.targets[:count]


@njit_inline
def draw_negatives(target, method, workspace, drawn):
    """Write to `drawn` the target and its negatives, which are never the target."""
    table = method.negatives
    cursor = workspace.cursor
    drawn[0] = target
    k = 1
    while k < len(drawn):
        if method.reference:  # in the order of the table
            cursor[0] = cursor[0] + 1 if cursor[0] + 1 < len(table) else 0
        else:
            cursor[0] = below(workspace.state, len(table))
        word = table[cursor[0]]
        if word != target:
            drawn[k] = word
            k += 1


# -- the output matrix -----------------------------------------------------------------


@njit_inline
def look_up(table, score):
    """The value of a table of 513 for -8 <= score <= 8, without interpolation.

    The authors' program does the same.
    """
    return table[np.int64((score + np.float32(REACH)) * PER_UNIT)]


@njit_inline
def sigmoid(score):
    """The sigmoid, in steps."""
    if abs(score) > REACH:
        return np.float32(score > 0)
    return look_up(SIGMOID, score)


@njit_inline
def loss(score):
    """-log sigmoid(score), in the same steps."""
    if abs(score) > REACH:
        return max(-score, np.float32(0))
    return look_up(LOSS, score)


@njit_inline
def update_outputs(drawn, following, lr, l1, outputs, workspace):
    """Update the rows of a target and its negatives, one after the other.

    Their gradients are summed in the workspace. The rows of `following` are fetched
    meanwhile. Returns False if a score is not a number.
    """
    hidden = workspace.hidden
    gradient = workspace.gradient
    report = workspace.report
    gradient[:] = 0
    k = 0
    while k < len(drawn):
        row = outputs[drawn[k]]
        both = k + 1 < len(drawn) and drawn[k + 1] != drawn[k]
        prefetch_row(outputs, following[k])
        if both:  # two different rows at once: the same as one after the other
            other = outputs[drawn[k + 1]]
            prefetch_row(outputs, following[k + 1])
            score, other_score = dots(row, other, hidden)
        else:
            score = dot(row, hidden)
            other_score = np.float32(0)
        if np.isnan(score + other_score):
            return False
        step = _step(score, k == 0, lr, report)
        if both:
            other_step = _step(other_score, False, lr, report)
            exchange_two(row, other, step, other_step, hidden, gradient)
        else:
            add_to(gradient, step, row)
            add_to(row, step, hidden)
        k += 2 if both else 1
    if l1 > 0:
        for word in drawn:
            shrink(outputs[word], l1 * lr)
    report[1] += 1
    return True


@njit_inline
def _step(score, positive, lr, report):
    """A row's step, in multiples of the hidden vector; the report gets the loss."""
    report[0] += loss(score if positive else -score)
    return lr * (np.float32(positive) - sigmoid(score))


# -- one line --------------------------------------------------------------------------


@njit_inline
def learn_targets(words, positions, lr, model, method, workspace):
    """Update both matrices for the targets at some positions of a line.

    Returns False if a score is not a number.
    """
    inputs = model.inputs
    drawn = workspace.drawn
    fine = True
    _draw(words, positions, 0, method, workspace)
    size = contexts.list_elements(words, method, workspace)
    present, squares = contexts.count_rows(size, workspace)
    _sum_rows(inputs, workspace.rows[:size], workspace.total)
    workspace.moved[:] = 0
    for t in range(len(positions)):
        _draw(words, positions, t + 1, method, workspace)
        lost, gained = contexts.change_context(words, positions[t], method, workspace)
        part = np.float32(1 / (present - lost + gained))
        excess = _excess(lost, gained, workspace)
        _average(lost, gained, excess, part, inputs, workspace)
        fine = update_outputs(
            drawn[t % 2], drawn[(t + 1) % 2], lr, method.l1, model.outputs, workspace
        )
        if not fine:
            break
        scale(workspace.gradient, part)
        _spread_gradient(lost, gained, squares - excess, inputs, workspace)
        if method.l1 > 0:
            _penalize(size, lost, gained, method.l1 * lr * part, inputs, workspace)
    _add_to_rows(inputs, workspace.rows[:size], workspace.moved)
    contexts.clear_counts(size, workspace)
    return fine


@njit_inline
def _draw(words, positions, t, method, workspace):
    """Draw the negatives of target number t, if there is one.

    They are drawn one target ahead, so their rows can be fetched.
    """
    if t < len(positions):
        draw_negatives(words[positions[t]], method, workspace, workspace.drawn[t % 2])


@njit_inline
def _sum_rows(inputs, rows, total):
    total[:] = 0
    for e in range(len(rows)):
        if e + AHEAD < len(rows) and rows[e + AHEAD] != ABSENT:
            prefetch_row(inputs, rows[e + AHEAD])
        if rows[e] != ABSENT:
            add_to(total, ONE, inputs[rows[e]])


@njit_inline
def _excess(lost, gained, workspace):
    """How often lost rows are among all elements, minus how often gained ones are."""
    excess = 0
    for x in range(lost):
        excess += workspace.counts[workspace.slots[workspace.lost[x]]]
    for x in range(lost, lost + gained):
        excess -= contexts.count_of(workspace.changed[x], workspace)
    return excess


@njit_inline
def _average(lost, gained, excess, part, inputs, workspace):
    """The mean of the context.

    A row that is among the elements c times has c times `workspace.moved` still to
    come.
    """
    hidden = workspace.hidden
    hidden[:] = workspace.total
    add_to(hidden, np.float32(-excess), workspace.moved)
    for x in range(lost + gained):
        add_to(hidden, -ONE if x < lost else ONE, inputs[workspace.changed[x]])
    scale(hidden, part)


@njit_inline
def _spread_gradient(lost, gained, times, inputs, workspace):
    """Give `workspace.gradient` to all elements of the context.

    All elements get it later; it is taken from those lost and added to those gained
    now.
    """
    add_to(workspace.moved, ONE, workspace.gradient)
    add_to(workspace.total, np.float32(times), workspace.gradient)
    for x in range(lost + gained):
        add_to(
            inputs[workspace.changed[x]], -ONE if x < lost else ONE, workspace.gradient
        )


@njit_inline
def _add_to_rows(inputs, rows, vector):
    for row in rows:
        if row != ABSENT:
            add_to(inputs[row], ONE, vector)


@njit_inline
def _penalize(size, lost, gained, threshold, inputs, workspace):
    """Bring the elements up to date, threshold the context, and sum again.

    A row is thresholded as many times as it is in the context, which is once by as many
    times the threshold.
    """
    rows = workspace.rows[:size]
    _add_to_rows(inputs, rows, workspace.moved)
    workspace.moved[:] = 0
    for x in range(lost):
        rows[workspace.lost[x]] = ABSENT
    for x in range(size + gained):
        row = rows[x] if x < size else workspace.changed[lost + x - size]
        if row != ABSENT:
            shrink(inputs[row], threshold)
    for x in range(lost):
        rows[workspace.lost[x]] = workspace.changed[x]
    _sum_rows(inputs, rows, workspace.total)


# -- one block -------------------------------------------------------------------------


@njit(nogil=True)
def learn_block(lines, rate, model, method, seed, stream, workspace):
    """Train on some lines, in their order or (variant "paper") at random.

    Parameters
    ----------
    lines : int32
        Of each line the number of its words, then the words, which subsampling may
        overwrite.
    rate : (float, float)
        Learning rate at the first word, and what it falls by with each word.
    model : Model
    method : contexts.Method
    seed, stream : int
        Of the random numbers.
    workspace : contexts.Workspace
        For the longest of the lines; the sum of the loss and the number of targets are
        added to its report.

    Returns
    -------
    int
        -1, or how many words were read when a score was not a number.
    """
    lines, model, method, workspace = borrowed((lines, model, method, workspace))
    workspace.state[0] = start_of(seed, stream)
    workspace.cursor[0] = below(workspace.state, len(method.negatives))
    starts = _line_starts(lines)
    if not method.reference:
        _shuffle(starts, workspace.state)
    done = 0
    for start in starts:
        words = lines[start + 1 : start + 1 + lines[start]]
        lr = np.float32(rate[0] - rate[1] * done)
        done += len(words)
        if method.subsample_context:
            words = words[: subsample_words(words, method, workspace.state)]
        positions = choose_targets(words, method, workspace)
        first = 0
        while first < len(positions):
            left = 0
            right = len(words)
            until = len(positions)
            if method.window > 0:
                reach = 1 + below(workspace.state, method.window)
                left = max(0, positions[first] - reach)
                right = positions[first] + reach + 1
                until = first + 1
                positions[first] -= left
            if not learn_targets(
                words[left:right], positions[first:until], lr, model, method, workspace
            ):
                return done
            first = until
    return -1


@njit_inline
def _line_starts(lines):
    """int64, where each line begins."""
    count = at = 0
    starts = np.empty(len(lines), np.int64)
    while at < len(lines):
        starts[count] = at
        at += 1 + lines[at]
        count += 1
    return starts[:count]


@njit_inline
def _shuffle(values, state):
    for i in range(len(values) - 1, 0, -1):
        j = below(state, i + 1)
        values[i], values[j] = values[j], values[i]
