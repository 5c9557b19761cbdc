"""Which rows of the input matrix a line consists of: its words, and its n-grams hashed as the program hashes them."""

from __future__ import annotations

import numpy as np

from lib.run.compiled import njit

MULTIPLIER = np.uint64(116049371)


@njit(nogil=True, forceinline=True)
def extended(hashed, word):
    """The hash (uint64) of an n-gram with one more word; that of a single word is its id."""
    return np.uint64(hashed) * MULTIPLIER + np.uint64(word)


@njit(nogil=True, forceinline=True)
def row_of(hashed, n_words, bucket):
    """The row of the n-gram with this hash: the rows of n-grams come behind those of the words."""
    return np.int64(n_words) + np.int64(np.uint64(hashed) % np.uint64(bucket))


def input_rows(
    ids: np.ndarray, starts: np.ndarray, word_ngrams: int, n_words: int, bucket: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose mean is a line's vector: its words, then all its n-grams of 2 to `word_ngrams` words.

    Parameters
    ----------
    ids : int32[t], the words of all lines, one line behind the other
    starts : int64[n + 1], line i is ``ids[starts[i]:starts[i + 1]]``
    word_ngrams, n_words, bucket : longest n-gram in words, rows of words, rows of n-grams

    Returns
    -------
    rows : int64[r], repeated where words or n-grams are
    row_starts : int64[n + 1], those of line i are ``rows[row_starts[i]:row_starts[i + 1]]``
    """
    lengths = np.diff(starts)
    longest = word_ngrams if bucket else 1
    per_line = sum(np.maximum(lengths - order + 1, 0) for order in range(1, longest + 1))
    row_starts = np.concatenate([[0], np.cumsum(per_line, dtype=np.int64)])
    rows = np.empty(row_starts[-1], np.int64)
    _fill(np.ascontiguousarray(ids, np.int32), np.asarray(starts, np.int64), longest, n_words, bucket, row_starts, rows)
    return rows, row_starts


@njit(nogil=True)
def _fill(ids, starts, longest, n_words, bucket, row_starts, rows):
    for line in range(len(starts) - 1):
        some = rows[row_starts[line] : row_starts[line + 1]]
        list_rows(ids[starts[line] : starts[line + 1]], longest, n_words, bucket, some)


@njit(nogil=True, forceinline=True)
def list_rows(words, longest, n_words, bucket, rows):
    """Write the rows of a line: its words, then its n-grams by their first word, shorter ones first."""
    at = len(words)
    for start in range(len(words)):
        rows[start] = words[start]
        hashed = np.uint64(words[start])
        for end in range(start + 1, min(start + longest, len(words))):
            hashed = extended(hashed, words[end])
            rows[at] = row_of(hashed, n_words, bucket)
            at += 1
