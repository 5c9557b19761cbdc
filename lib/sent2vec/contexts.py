"""The words and n-grams of a line, and what a target's context differs from them by, in compiled code.

A line's *elements* are its words, its n-grams and in variant "reference" the placeholder, each a row of the input
matrix. The context of a target is all elements but those *lost* (the target, n-grams that hold it, n-grams dropped),
and those *gained* (variant "reference": n-grams that hold the placeholder): two short lists, however long the line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.run.compiled import njit
from lib.sent2vec.draws import below, uniform
from lib.sent2vec.ngrams import extended, list_rows, row_of

PLACEHOLDER = 0  # its row
ABSENT = -1
SPREAD = np.uint64(0x9E3779B97F4A7C15)
HIGH = np.uint64(32)


class Recipe(NamedTuple):
    """How contexts are made: see the attributes of the same names of `Settings`."""

    word_ngrams: int
    n_words: int
    bucket: int
    placeholder: bool  # variant "reference"
    dropout_k: int
    dropout_probability: float


class Line(NamedTuple):
    """Room for what is known of one line and of one target in it.

    Attributes
    ----------
    rows : int64, each element's row; ABSENT for a dropped n-gram
    firsts : int64, at i the number of elements before the n-grams that begin at word i
    slots : int64, each element's place in `keys` and `counts`
    keys, counts : int64, a hash table: how often a row is among the elements
    dropped : bool, the words whose n-grams are dropped for this target
    chosen : int64, those words
    lost, lost_rows : int64, numbers of elements, their rows
    gained : int64, rows
    """

    rows: np.ndarray
    firsts: np.ndarray
    slots: np.ndarray
    keys: np.ndarray
    counts: np.ndarray
    dropped: np.ndarray
    chosen: np.ndarray
    lost: np.ndarray
    lost_rows: np.ndarray
    gained: np.ndarray


def room(longest: int, recipe: Recipe) -> Line:
    """A `Line` for lines of up to `longest` words."""
    elements = longest * recipe.word_ngrams + 1
    size = 4
    while size < 2 * elements:
        size *= 2
    return Line(
        np.empty(elements, np.int64),
        np.empty(longest + 1, np.int64),
        np.empty(elements, np.int64),
        np.full(size, ABSENT),
        np.zeros(size, np.int64),
        np.zeros(longest, np.bool_),
        np.empty(longest, np.int64),
        np.empty(elements, np.int64),
        np.empty(elements, np.int64),
        np.empty(recipe.word_ngrams * recipe.word_ngrams, np.int64),
    )


# -- a line -------------------------------------------------------------------------------------


@njit(nogil=True, forceinline=True)
def lay_out(words, recipe, line, state):
    """Fill `line` with the elements of these words; returns the number of elements, dropped n-grams included."""
    longest, size = recipe.word_ngrams, len(words)
    for i in range(len(words)):
        line.firsts[i] = size
        size += min(longest, len(words) - i) - 1
    list_rows(words, longest, recipe.n_words, recipe.bucket, line.rows[:size])
    if recipe.placeholder:
        line.rows[size] = PLACEHOLDER
        return size + 1
    if longest > 1:
        _drop_ngrams(len(words), size, recipe, line, state)
    return size


@njit(nogil=True, forceinline=True)
def _drop_ngrams(first, size, recipe, line, state):
    """Variant "paper": n-grams are dropped, once for all targets of a line."""
    if recipe.dropout_probability > 0:
        for e in range(first, size):
            if uniform(state) < recipe.dropout_probability:
                line.rows[e] = ABSENT
        return
    left = min(recipe.dropout_k, size - first)
    while left > 0:
        e = first + below(state, size - first)
        if line.rows[e] != ABSENT:
            line.rows[e] = ABSENT
            left -= 1


@njit(nogil=True, forceinline=True)
def count_rows(size, line):
    """Count how often each row is among the elements; returns how many are present, and the sum of their counts."""
    present = total = 0
    for e in range(size):
        if line.rows[e] != ABSENT:
            slot = _slot(line.rows[e], line)
            # Each of the c times that a row is there adds its place among them twice, less one: c * c in the end.
            total += 2 * line.counts[slot] + 1
            line.keys[slot] = line.rows[e]
            line.counts[slot] += 1
            line.slots[e] = slot
            present += 1
    return present, total


@njit(nogil=True, forceinline=True)
def forget_rows(size, line):
    """Empty the table that `count_rows` has filled."""
    for e in range(size):
        if line.rows[e] != ABSENT:
            line.keys[line.slots[e]] = ABSENT
            line.counts[line.slots[e]] = 0


@njit(nogil=True, forceinline=True)
def count_of(row, line):
    """How often a row is among the elements."""
    return line.counts[_slot(row, line)]


@njit(nogil=True, forceinline=True)
def _slot(row, line):
    """Where a row is in the table, or where it would be put (linear probing)."""
    mask = len(line.keys) - 1
    slot = np.int64((np.uint64(row) * SPREAD) >> HIGH) & mask
    while line.keys[slot] != ABSENT and line.keys[slot] != row:
        slot = (slot + 1) & mask
    return slot


# -- a target -----------------------------------------------------------------------------------


@njit(nogil=True, forceinline=True)
def depart(words, target, recipe, line, state):
    """Write what a target's context lost and gained to `line`; returns how many of each."""
    n_lost, n_gained, n_chosen = np.int64(1), np.int64(0), np.int64(0)
    line.lost[0], line.lost_rows[0] = target, line.rows[target]
    if recipe.word_ngrams == 1:
        return n_lost, n_gained
    if recipe.placeholder:
        n_chosen = choose_dropped(len(words), recipe, line, state)
        if not line.dropped[target]:
            n_gained = _gain_ngrams(words, target, recipe, line)
    if not line.dropped[target]:
        line.dropped[target] = True
        line.chosen[n_chosen] = target
        n_chosen += 1
    for c in range(n_chosen):
        n_lost = _lose_ngrams(line.chosen[c], len(words), recipe, line, n_lost)
    for c in range(n_chosen):
        line.dropped[line.chosen[c]] = False
    return n_lost, n_gained


@njit(nogil=True, forceinline=True)
def choose_dropped(n, recipe, line, state):
    """Variant "reference": choose the words whose n-grams are dropped, so that two are left; returns how many."""
    n_chosen = 0
    if recipe.dropout_probability > 0:
        for i in range(n):
            if uniform(state) < recipe.dropout_probability:
                line.dropped[i] = True
                line.chosen[n_chosen] = i
                n_chosen += 1
        return n_chosen
    while n_chosen < min(recipe.dropout_k, n - 2):
        i = below(state, n)
        if not line.dropped[i]:
            line.dropped[i] = True
            line.chosen[n_chosen] = i
            n_chosen += 1
    return n_chosen


@njit(nogil=True, forceinline=True)
def _gain_ngrams(words, target, recipe, line):
    """The n-grams that hold the placeholder in place of the target, and no dropped word."""
    start, longest, n_gained = target, recipe.word_ngrams, 0
    while start >= 0 and start > target - longest and not line.dropped[start]:
        hashed = np.uint64(PLACEHOLDER if start == target else words[start])
        for end in range(start + 1, min(start + longest, len(words))):
            if line.dropped[end]:
                break
            hashed = extended(hashed, PLACEHOLDER if end == target else words[end])
            if end >= target:
                line.gained[n_gained] = row_of(hashed, recipe.n_words, recipe.bucket)
                n_gained += 1
        start -= 1
    return n_gained


@njit(nogil=True, forceinline=True)
def _lose_ngrams(position, n, recipe, line, n_lost):
    """The n-grams of which this is the first dropped word."""
    start, longest = position, recipe.word_ngrams
    while start >= 0 and start > position - longest and (start == position or not line.dropped[start]):
        for end in range(max(position, start + 1), min(start + longest, n)):
            element = line.firsts[start] + end - start - 1
            if line.rows[element] != ABSENT:
                line.lost[n_lost], line.lost_rows[n_lost] = element, line.rows[element]
                n_lost += 1
        start -= 1
    return n_lost
