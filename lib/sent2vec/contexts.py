"""The words and n-grams of a line, and the contexts of its targets, compiled.

A line's *elements* are its words, its n-grams and in variant "reference" the
placeholder, each a row of the input matrix. The context of a target is all elements but
those *lost* (the target, n-grams that hold it, n-grams dropped), and those *gained*
(variant "reference": n-grams that hold the placeholder): two short lists, however long
the line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.base.compiled import njit
from lib.sent2vec.primitives import STEP, below, njit_inline, uniform

Array = np.ndarray
PLACEHOLDER = 0  # its row
ABSENT = -1
MULTIPLIER = np.uint64(116049371)
HIGH = np.uint64(32)


class Method(NamedTuple):
    """How contexts, targets and negatives are chosen.

    Attributes
    ----------
    word_ngrams, bucket, dropout_k, window : int
    dropout_probability, l1 : float
    subsample_context : bool
        As in `Settings`; `bucket` is 0 for words only.
    n_words : int
    reference : bool
        Whether the variant is "reference".
    keep : float32[n_words]
        The paper's q_p.
    eligible : bool[n_words]
        Whether the word is frequent enough for a target.
    negatives : int32[table]
        Words by the square root of their count, shuffled.
    """

    word_ngrams: int
    bucket: int
    dropout_k: int
    dropout_probability: float
    subsample_context: bool
    window: int
    l1: np.float32
    n_words: int
    reference: bool
    keep: Array
    eligible: Array
    negatives: Array


class Workspace(NamedTuple):
    """What a thread works with: what is known of one line, and of one target in it.

    Attributes
    ----------
    total, moved, hidden, gradient : float32[width]
    rows : int64
        Each element's row; ABSENT for a dropped n-gram.
    slots : int64
        Each element's place in `keys` and `counts`.
    lost : int64
        Numbers of elements.
    chosen : int64
        The words whose n-grams are dropped for this target; in variant "paper" the
        n-grams that are dropped.
    firsts : int64
        At i the number of elements before the n-grams that begin at word i.
    targets : int64
        Positions of the targets of a line.
    keys, counts : int64
        A hash table: how often a row is among the elements.
    dropped : bool
        Whether a word or n-gram is among those `chosen`.
    changed : int64
        The rows of the lost elements, then those gained.
    drawn : int64[2, 1 + negatives]
        Rows of the output matrix, the target first: for this target and for the next.
    state, cursor : uint64[1], int64[1]
        Of the random numbers, and in the table of negatives.
    report : float64[2]
        Sum of the loss, number of targets.
    """

    total: Array
    moved: Array
    hidden: Array
    gradient: Array
    rows: Array
    slots: Array
    lost: Array
    chosen: Array
    firsts: Array
    targets: Array
    keys: Array
    counts: Array
    dropped: Array
    changed: Array
    drawn: Array
    state: Array
    cursor: Array
    report: Array


def workspace_for(
    longest: int, negatives: int, width: int, method: Method
) -> Workspace:
    """A workspace for lines of up to `longest` words and vectors of `width` numbers."""
    elements = longest * method.word_ngrams + 1
    size = 1 << (2 * elements).bit_length()
    return Workspace(  # type: ignore[misc]  # mypy does not count arrays
        *np.zeros((4, width), np.float32),
        *np.empty((4, elements), np.int64),
        *np.empty((2, longest), np.int64),
        keys=np.full(size, ABSENT),
        counts=np.zeros(size, np.int64),
        dropped=np.zeros(elements, np.bool_),
        changed=np.empty(elements + method.word_ngrams**2, np.int64),
        drawn=np.empty((2, 1 + negatives), np.int64),
        state=np.zeros(1, np.uint64),
        cursor=np.zeros(1, np.int64),
        report=np.zeros(2),
    )


# -- n-grams, hashed as the authors' program hashes them -------------------------------


@njit_inline
def extended(hashed, word):
    """The hash (uint64) of an n-gram with one more word; a single word's is its id."""
    return np.uint64(hashed) * MULTIPLIER + np.uint64(word)


@njit_inline
def row_of(hashed, n_words, bucket):
    """The row of the n-gram with this hash, which comes after all rows of words."""
    return np.int64(n_words) + np.int64(np.uint64(hashed) % np.uint64(bucket))


@njit_inline
def list_rows(words, longest, n_words, bucket, rows):
    """Write the rows of a line: its words, then its n-grams.

    N-grams are ordered by their first word, shorter ones first.
    """
    at = len(words)
    for start in range(len(words)):
        rows[start] = words[start]
        hashed = np.uint64(words[start])
        for end in range(start + 1, min(start + longest, len(words))):
            hashed = extended(hashed, words[end])
            rows[at] = row_of(hashed, n_words, bucket)
            at += 1


@njit(nogil=True)
def input_rows(ids, starts, longest, n_words, bucket):
    """The rows whose mean is a line's vector: its words, then all its n-grams.

    N-grams have 2 to `longest` words.

    Parameters
    ----------
    ids : int32[t]
        The words of all lines, one line behind the other.
    starts : int64[n + 1]
        Line i is ``ids[starts[i]:starts[i + 1]]``.
    longest, n_words, bucket : int
        The longest n-gram in words, rows of words, rows of n-grams.

    Returns
    -------
    rows : int64[r]
        Repeated where words or n-grams are.
    row_starts : int64[n + 1]
        Those of line i are ``rows[row_starts[i]:row_starts[i + 1]]``.
    """
    row_starts = np.zeros_like(starts)
    for line in range(len(starts) - 1):
        length = starts[line + 1] - starts[line]
        row_starts[line + 1] = row_starts[line]
        for order in range(min(longest, length)):
            row_starts[line + 1] += length - order
    rows = np.empty(row_starts[-1], np.int64)
    for line in range(len(starts) - 1):
        words = ids[starts[line] : starts[line + 1]]
        list_rows(
            words,
            longest,
            n_words,
            bucket,
            rows[row_starts[line] : row_starts[line + 1]],
        )
    return rows, row_starts


# -- a line ----------------------------------------------------------------------------


@njit_inline
def list_elements(words, method, workspace):
    """Write the elements of these words to `workspace`; returns their number.

    The number includes dropped n-grams.
    """
    longest = method.word_ngrams
    size = len(words)
    for i in range(len(words)):
        workspace.firsts[i] = size
        size += min(longest, len(words) - i) - 1
    list_rows(words, longest, method.n_words, method.bucket, workspace.rows[:size])
    if method.reference:
        workspace.rows[size] = PLACEHOLDER
        return size + 1
    if longest > 1:
        ngrams = size - len(words)
        for c in range(choose_dropped(ngrams, ngrams, method, workspace)):
            workspace.rows[len(words) + workspace.chosen[c]] = ABSENT
            workspace.dropped[workspace.chosen[c]] = False
    return size


@njit_inline
def choose_dropped(n, most, method, workspace):
    """Choose which of `n` words or n-grams are dropped; returns how many.

    If K is larger than `most`, `most` of them are. In variant "reference" these are
    words whose n-grams are dropped, chosen for each target; in "paper" they are
    n-grams, chosen for a whole line.
    """
    chosen = 0
    if method.dropout_probability > 0:
        for i in range(n):
            if uniform(workspace.state) < method.dropout_probability:
                workspace.dropped[i] = True
                workspace.chosen[chosen] = i
                chosen += 1
        return chosen
    while chosen < min(method.dropout_k, most):
        i = below(workspace.state, n)
        if not workspace.dropped[i]:
            workspace.dropped[i] = True
            workspace.chosen[chosen] = i
            chosen += 1
    return chosen


@njit_inline
def count_rows(size, workspace):
    """Count how often each row is among the elements.

    Returns how many rows are present, and the sum of their counts.
    """
    present = total = 0
    for e in range(size):
        if workspace.rows[e] != ABSENT:
            slot = _slot(workspace.rows[e], workspace)
            # The i-th occurrence of a row adds 2 i - 1, so c occurrences add c * c.
            total += 2 * workspace.counts[slot] + 1
            workspace.keys[slot] = workspace.rows[e]
            workspace.counts[slot] += 1
            workspace.slots[e] = slot
            present += 1
    return present, total


@njit_inline
def clear_counts(size, workspace):
    """Empty the table that `count_rows` has filled."""
    for e in range(size):
        if workspace.rows[e] != ABSENT:
            workspace.keys[workspace.slots[e]] = ABSENT
            workspace.counts[workspace.slots[e]] = 0


@njit_inline
def count_of(row, workspace):
    """How often a row is among the elements."""
    return workspace.counts[_slot(row, workspace)]


@njit_inline
def _slot(row, workspace):
    """Where a row is in the table, or where it would be put (linear probing)."""
    mask = len(workspace.keys) - 1
    slot = np.int64((np.uint64(row) * STEP) >> HIGH) & mask
    while workspace.keys[slot] != ABSENT and workspace.keys[slot] != row:
        slot = (slot + 1) & mask
    return slot


# -- a target --------------------------------------------------------------------------


@njit_inline
def change_context(words, target, method, workspace):
    """Write what a target's context lost and gained to `workspace`.

    Returns how many elements it lost and how many it gained.
    """
    lost = np.int64(1)
    gained = np.int64(0)
    workspace.lost[0] = target
    workspace.changed[0] = words[target]
    if method.word_ngrams == 1:
        return lost, gained
    chosen = 0
    if method.reference:
        chosen = choose_dropped(len(words), len(words) - 2, method, workspace)
    was_dropped = workspace.dropped[target]
    if not was_dropped:
        workspace.dropped[target] = True
        workspace.chosen[chosen] = target
        chosen += 1
    for c in range(chosen):
        lost = _lose_ngrams(workspace.chosen[c], len(words), method, workspace, lost)
    if method.reference and not was_dropped:
        workspace.dropped[target] = False
        gained = _gain_ngrams(words, target, method, workspace, lost)
    for c in range(chosen):
        workspace.dropped[workspace.chosen[c]] = False
    return lost, gained


@njit_inline
def _lose_ngrams(position, n, method, workspace, lost):
    """The n-grams of which this is the first dropped word."""
    start = position
    longest = method.word_ngrams
    while (
        start >= 0
        and start > position - longest
        and (start == position or not workspace.dropped[start])
    ):
        for end in range(max(position, start + 1), min(start + longest, n)):
            element = workspace.firsts[start] + end - start - 1
            if workspace.rows[element] != ABSENT:
                workspace.lost[lost] = element
                workspace.changed[lost] = workspace.rows[element]
                lost += 1
        start -= 1
    return lost


@njit_inline
def _gain_ngrams(words, target, method, workspace, lost):
    """The n-grams with the placeholder in the target's place; returns how many.

    None of them holds a dropped word.
    """
    start = target
    longest = method.word_ngrams
    gained = 0
    while start >= 0 and start > target - longest and not workspace.dropped[start]:
        hashed = np.uint64(PLACEHOLDER if start == target else words[start])
        for end in range(start + 1, min(start + longest, len(words))):
            if workspace.dropped[end]:
                break
            hashed = extended(hashed, PLACEHOLDER if end == target else words[end])
            if end >= target:
                workspace.changed[lost + gained] = row_of(
                    hashed, method.n_words, method.bucket
                )
                gained += 1
        start -= 1
    return gained
