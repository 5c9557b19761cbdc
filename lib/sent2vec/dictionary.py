"""The words of a text as Sent2Vec numbers them.

Text is bytes: nothing is lower-cased, and white space is that of ASCII and the zero byte. Every end of a line counts as
one token ``</s>``; it takes a place in the dictionary like a word does, but no sentence holds it. The authors' program
stops at a byte 0xFF; here it is a byte like any other (UTF-8 has none).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, repeat

import numpy as np

from lib.run.errors import InputError
from lib.sent2vec.counting import WordCounts

PLACEHOLDER, END_OF_LINE = b"<PLACEHOLDER>", b"</s>"
WORD, LABEL = 0, 1
BATCH = 1 << 12  # lines that are split into tokens together


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Words and labels, each with the number of times that it occurs.

    Attributes
    ----------
    words : list of bytes; words first, in the order of their rows in the matrices, then labels. The first one is
        ``<PLACEHOLDER>``, which takes the place of a target
    counts : int64, one an entry; 0 for ``<PLACEHOLDER>``
    types : int8, one an entry: 0 word, 1 label
    tokens : int, all tokens of the text: ends of lines, labels and what the dictionary leaves out among them
    """

    words: list[bytes]
    counts: np.ndarray
    types: np.ndarray
    tokens: int

    @property
    def n_words(self) -> int:
        """The number of words, labels left out: the rows of the output matrix."""
        return int(np.count_nonzero(self.types == WORD))

    @classmethod
    def build(
        cls,
        lines: Iterable[bytes],
        min_count: int,
        min_target_count: int = 0,
        max_vocabulary: int = -1,
        label: bytes = b"__label__",
    ) -> Dictionary:
        """The dictionary of a text.

        Parameters
        ----------
        lines : the text; a line that ends in a newline counts a token ``</s>``
        min_count : words that occur less often are left out
        min_target_count : labels that occur less often are left out
        max_vocabulary : entries at most, ``<PLACEHOLDER>``, ``</s>`` and labels among them; -1 for no limit
        label : what begins with it is a label, and no word

        Words go by falling count, and where counts are equal by their first occurrence.

        Raises
        ------
        InputError
            For a text without words, with one word only, or with fewer than two that occur `min_count` times or
            that are left by `max_vocabulary`.
        """
        counts = WordCounts()
        for tokens in _batches_of_tokens(lines):
            counts.add(tokens)
        words, labels = _ranked(counts, label, min_count, min_target_count)
        entries = [(PLACEHOLDER, 0), *words, *labels]
        if max_vocabulary > 0:
            entries, words = entries[:max_vocabulary], words[: max_vocabulary - 1]
        if sum(word != END_OF_LINE for word, _ in words) < 2:
            raise InputError(f"max_vocabulary: {max_vocabulary} entries leave fewer than two words; raise it")
        types = np.full(len(entries), LABEL, np.int8)
        types[: len(words) + 1] = WORD
        listed = np.array([count for _, count in entries], np.int64)
        return cls([word for word, _ in entries], listed, types, counts.total)

    @cached_property
    def index(self) -> dict[bytes, int]:
        """The row of each word that a sentence may hold: all but labels and ``</s>``."""
        rows = {word: row for row, word in enumerate(self.words[: self.n_words])}
        rows.pop(END_OF_LINE, None)
        return rows

    def ids(self, line: bytes) -> np.ndarray:
        """int32: the words of one line that are in the dictionary, without labels and ``</s>``."""
        return self.ids_of_lines([line])[0]

    def ids_of_lines(self, lines: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """The same for many lines: int32[t], one line after the other, and int64[n + 1], where each of them starts."""
        tokens = [split(line) for line in lines]
        rows = np.fromiter(map(self.index.get, chain.from_iterable(tokens), repeat(-1)), np.int32)
        known = rows >= 0
        known_before = np.concatenate([[0], np.cumsum(known, dtype=np.int64)])
        starts = np.concatenate([[0], np.cumsum([len(line) for line in tokens], dtype=np.int64)])
        return rows[known], known_before[starts]


def split(text: bytes) -> list[bytes]:
    """The tokens of a text; a newline is white space like any other."""
    return text.replace(b"\0", b" ").split()


def _batches_of_tokens(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """All tokens of a text, with ``</s>`` for each newline."""
    remaining = iter(lines)
    for first in remaining:
        batch = chain([first], islice(remaining, BATCH - 1))
        yield split(b" ".join(batch).replace(b"\n", b" </s> "))


def _ranked(
    counts: WordCounts, label: bytes, min_count: int, min_target_count: int
) -> tuple[list[tuple[bytes, int]], list[tuple[bytes, int]]]:
    """Words and labels that are frequent enough, each with its count, the most frequent first."""
    words, labels, some, different, most = [], [], b"", 0, 0
    for word, rank, count in counts.entries():
        is_label = word.startswith(label)
        if count >= (min_target_count if is_label else min_count):
            (labels if is_label else words).append((-count, rank, word))
        if not is_label and word != END_OF_LINE:
            some, different, most = word, different + 1, max(most, count)
    _check(some, different, sum(word != END_OF_LINE for _, _, word in words), most, min_count)
    return _listed(words), _listed(labels)


def _listed(entries: list[tuple[int, int, bytes]]) -> list[tuple[bytes, int]]:
    return [(word, -negative) for negative, _, word in sorted(entries)]


def _check(some: bytes, different: int, frequent: int, most: int, min_count: int) -> None:
    if not different:
        raise InputError("sentences: the text is empty; give sentences of at least two words")
    if different == 1:
        word = some[:40].decode("utf-8", "replace")
        raise InputError(f"sentences: the text has one word only, {word!r}; give at least two different ones")
    if frequent < 2:
        raise InputError(
            f"min_count: fewer than two words occur {min_count} times (the commonest {most}); lower it or give more "
            "text (the authors' program would never end)"
        )
