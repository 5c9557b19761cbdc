"""How lines update the matrices, compiled: what training spends its time with. It runs without Python's lock.

All elements of a line get the same gradient from every target, but for the few that the context lost or gained. So the
sum of the elements' rows is kept up to date, the gradients are summed, and the rows get this sum when the line is done;
rows that were lost or gained are made up for at once. But for rounding that is the same as updating all rows of the
context after each target, at the cost of a few. Only soft thresholding must go through all of them (`_settle`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.run.compiled import njit
from lib.sent2vec import contexts, outputs, vectors
from lib.sent2vec.borrowing import borrowed
from lib.sent2vec.contexts import ABSENT, Recipe
from lib.sent2vec.draws import below, start_of
from lib.sent2vec.prefetch import prefetch_row

AHEAD = 3  # rows that are on their way while one is added


class Model(NamedTuple):
    """Both matrices, float32, C order, rows padded with zeros to whole lines of the cache."""

    inputs: np.ndarray
    outputs: np.ndarray


class Room(NamedTuple):
    """What a thread works with.

    Attributes
    ----------
    line : contexts.Line
    targets : int64[longest], positions of the targets of a line
    drawn : int64[2, 1 + negatives], rows of the output matrix, the target first: for this target and for the next
    state, cursor : uint64[1], int64[1], of the random numbers and in the table of negatives
    total, moved, hidden, gradient : float32[width]
    report : float64[2], sum of the loss, number of targets
    """

    line: contexts.Line
    targets: np.ndarray
    drawn: np.ndarray
    state: np.ndarray
    cursor: np.ndarray
    total: np.ndarray
    moved: np.ndarray
    hidden: np.ndarray
    gradient: np.ndarray
    report: np.ndarray


def furnish(longest: int, negatives: int, width: int, recipe: Recipe) -> Room:
    """A `Room` for lines of up to `longest` words."""
    return Room(
        contexts.room(longest, recipe),
        np.empty(longest, np.int64),
        np.empty((2, 1 + negatives), np.int64),
        np.zeros(1, np.uint64),
        np.zeros(1, np.int64),
        *(np.zeros(width, np.float32) for _ in range(4)),
        np.zeros(2),
    )


# -- one line -----------------------------------------------------------------------------------


@njit(nogil=True, forceinline=True)
def learn_targets(words, first, until, shift, lr, l1, model, recipe, targets, room):
    """Update both matrices for the targets at positions ``room.targets[first:until] - shift`` of a line.

    Returns False if a score is not a number.
    """
    line, drawn, fine = room.line, room.drawn, True
    _draw(words, first, until, shift, targets, room)
    size = contexts.lay_out(words, recipe, line, room.state)
    present, squares = contexts.count_rows(size, line)
    _sum_rows(model.inputs, line.rows[:size], room.total)
    vectors.fill(room.moved, 0)
    for t in range(first, until):
        _draw(words, t + 1, until, shift, targets, room)
        lost, gained = contexts.depart(words, room.targets[t] - shift, recipe, line, room.state)
        part, excess = np.float32(1 / (present - lost + gained)), _excess(lost, gained, line)
        _average(lost, gained, excess, part, model.inputs, room)
        fine = outputs.learn_outputs(drawn[t % 2], drawn[(t + 1) % 2], lr, l1 * lr, model.outputs, room)
        if not fine:
            break
        vectors.scale(room.gradient, part)
        _move(lost, gained, squares - excess, model.inputs, room)
        if l1 > 0:
            _settle(size, lost, gained, l1 * lr * part, model.inputs, room)
    _give(model.inputs, line.rows[:size], room.moved)
    contexts.forget_rows(size, line)
    return fine


@njit(nogil=True, forceinline=True)
def _draw(words, t, until, shift, targets, room):
    """Draw the negatives of target number t, if there is one: one target ahead, so that their rows can be fetched."""
    if t < until:
        outputs.draw_outputs(words[room.targets[t] - shift], targets, room.state, room.cursor, room.drawn[t % 2])


@njit(nogil=True, forceinline=True)
def _sum_rows(inputs, rows, total):
    vectors.fill(total, 0)
    for e in range(len(rows)):
        if e + AHEAD < len(rows) and rows[e + AHEAD] != ABSENT:
            prefetch_row(inputs, rows[e + AHEAD])
        if rows[e] != ABSENT:
            vectors.add_to(total, np.float32(1), inputs[rows[e]])


@njit(nogil=True, forceinline=True)
def _excess(lost, gained, line):
    """How often the rows of the lost elements are among all elements, less how often those gained are."""
    excess = 0
    for x in range(lost):
        excess += line.counts[line.slots[line.lost[x]]]
    for x in range(gained):
        excess -= contexts.count_of(line.gained[x], line)
    return excess


@njit(nogil=True, forceinline=True)
def _average(lost, gained, excess, part, inputs, room):
    """The context's mean. A row that is among the elements c times has c times `room.moved` still to come."""
    line, hidden = room.line, room.hidden
    vectors.sum_of(room.total, np.float32(-excess), room.moved, hidden)
    for x in range(lost + gained):
        row = line.lost_rows[x] if x < lost else line.gained[x - lost]
        vectors.add_to(hidden, np.float32(-1 if x < lost else 1), inputs[row])
    vectors.scale(hidden, part)


@njit(nogil=True, forceinline=True)
def _move(lost, gained, times, inputs, room):
    """Give `room.gradient` to all elements, later; take it from those lost and give it to those gained, now."""
    line = room.line
    vectors.add_to(room.moved, np.float32(1), room.gradient)
    vectors.add_to(room.total, np.float32(times), room.gradient)
    for x in range(lost + gained):
        row = line.lost_rows[x] if x < lost else line.gained[x - lost]
        vectors.add_to(inputs[row], np.float32(-1 if x < lost else 1), room.gradient)


@njit(nogil=True, forceinline=True)
def _give(inputs, rows, vector):
    for row in rows:
        if row != ABSENT:
            vectors.add_to(inputs[row], np.float32(1), vector)


@njit(nogil=True, forceinline=True)
def _settle(size, lost, gained, threshold, inputs, room):
    """Give the elements what is still to come, threshold the rows of the context, and sum the elements again.

    A row is thresholded as many times as it is in the context, which is once by as many times the threshold.
    """
    line = room.line
    rows = line.rows[:size]
    _give(inputs, rows, room.moved)
    vectors.fill(room.moved, 0)
    for x in range(lost):
        rows[line.lost[x]] = ABSENT
    for x in range(size + gained):
        row = rows[x] if x < size else line.gained[x - size]
        if row != ABSENT:
            vectors.shrink(inputs, row, threshold)
    for x in range(lost):
        rows[line.lost[x]] = line.lost_rows[x]
    _sum_rows(inputs, rows, room.total)


# -- one block ----------------------------------------------------------------------------------


@njit(nogil=True)
def learn_block(lines, rate, l1, model, recipe, targets, seed, stream, room):
    """Train on some lines, in their order or (variant "paper") at random.

    Parameters
    ----------
    lines : int32, of each line the number of its words, then the words
    rate : (float, float), learning rate at the first word, and what it falls by with each word
    l1 : Settings.l1
    model, recipe, targets : Model, contexts.Recipe, Targets
    seed, stream : of the random numbers
    room : Room for the longest of the lines; the sum of the loss and the number of targets are added to its report

    Returns -1, or how many words were read when a score was not a number.
    """
    lines, model, targets, room, l1 = borrowed((lines, model, targets, room, np.float32(l1)))
    room.state[0] = start_of(seed, stream)
    room.cursor[0] = below(room.state, len(targets.negatives))
    starts = _line_starts(lines)
    if not recipe.placeholder:
        _shuffle(starts, room.state)
    done = 0
    for start in starts:
        words = lines[start + 1 : start + 1 + lines[start]]
        lr = np.float32(rate[0] - rate[1] * done)
        done += len(words)
        if targets.thin:
            words = words[: outputs.thin_out(words, targets, room.state)]
        count = outputs.choose_targets(words, targets, room.state, room.targets)
        first = np.int64(0)
        while first < count:
            left, right, until = _context(len(words), first, count, targets, room)
            fine = learn_targets(words[left:right], first, until, left, lr, l1, model, recipe, targets, room)
            if not fine:
                return done
            first = until
    return -1


@njit(nogil=True, forceinline=True)
def _context(size, first, count, targets, room):
    """Where the context of target number `first` begins and ends, and the first target that has another one."""
    if targets.window == 0:
        return 0, size, count
    reach, middle = 1 + below(room.state, targets.window), room.targets[first]
    return max(0, middle - reach), min(middle + reach + 1, size), first + 1


@njit(nogil=True, forceinline=True)
def _line_starts(lines):
    """int64, where each line begins."""
    count = at = 0
    starts = np.empty(len(lines), np.int64)
    while at < len(lines):
        starts[count] = at
        at += 1 + lines[at]
        count += 1
    return starts[:count]


@njit(nogil=True, forceinline=True)
def _shuffle(values, state):
    for i in range(len(values) - 1, 0, -1):
        j = below(state, i + 1)
        values[i], values[j] = values[j], values[i]
