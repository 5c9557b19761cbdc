"""Sums of the vectors of a word's character n-grams, as fastText hashes them (Bojanowski et al. 2017, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.run.compiled import njit

END_OF_SENTENCE = b"</s>"  # fastText's mark at the end of a line, which has no n-grams

FNV_START, FNV_PRIME, MASK = 2166136261, 16777619, 0xFFFFFFFF


def add_ngrams(words: Sequence[bytes], lengths: tuple[int, int], buckets: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Add to each row of `sums` the vectors of the n-grams of a word.

    Parameters
    ----------
    words : UTF-8 of n words; n-grams are those of the word in angle brackets, brackets alone left out
    lengths : shortest and longest n-gram, in code points
    buckets : float32[b, d]; an n-gram's row is its FNV-1a hash of 32 bits, modulo b
    sums : float32[n, d], changed in place; summed in the order of fastText: by start, then by length

    Returns
    -------
    int64[n], how many n-grams each word has
    """
    marked = [b"" if word == END_OF_SENTENCE else b"<" + word + b">" for word in words]
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in marked])]).astype(np.int64)
    letters = np.frombuffer(b"".join(marked), np.uint8)
    return _add(letters, offsets, *lengths, np.asarray(buckets), sums)


@njit(nogil=True)
def _add(letters, offsets, shortest, longest, buckets, sums):
    counts = np.zeros(len(sums), np.int64)
    for row in range(len(sums)):
        first, stop = offsets[row], offsets[row + 1]
        for start in range(first, stop):
            if not _continues(letters[start]):
                counts[row] += _add_from(letters, first, start, stop, shortest, longest, buckets, sums[row])
    return counts


@njit(nogil=True)
def _add_from(letters, first, start, stop, shortest, longest, buckets, total):
    """Add the n-grams that start at one place; returns how many."""
    count, end, hashed = 0, start, np.int64(FNV_START)
    for length in range(1, longest + 1):
        if end == stop:
            break
        hashed = _hash_on(hashed, letters[end])
        end += 1
        while end < stop and _continues(letters[end]):
            hashed = _hash_on(hashed, letters[end])
            end += 1
        bracket = length == 1 and (start == first or end == stop)
        if length >= shortest and not bracket:
            total += buckets[hashed % len(buckets)]
            count += 1
    return count


@njit(nogil=True)
def _hash_on(hashed, letter):
    """FNV-1a takes one byte more. fastText's bytes are signed: from 128 on, their sign fills the upper 24 bits."""
    byte = np.int64(letter)
    if byte >= 128:
        byte |= 0xFFFFFF00
    return ((hashed ^ byte) * FNV_PRIME) & MASK


@njit(nogil=True)
def _continues(letter):
    """Whether a byte of UTF-8 belongs to the code point before it."""
    return (letter & 0xC0) == 0x80
