"""Probing tasks that need nothing but words: length, word content, bigram shift."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from lib.corpora import text
from lib.probing.drawing import Candidates, Options, Sizes, only
from lib.probing.source import Source, intact_or_inverted
from lib.run.errors import InputError

BINS = 6  # of lengths
MOST_WORDS = 1000
SENTENCES_A_WORD = 20  # of training, at least, where the number of words is ours to choose
LONG_WORD = 4  # letters, at least
FEWER = 0.8  # times so many words are tried next

_QUOTES = re.compile(r"""["\u201c\u201d\u201e\u00ab\u00bb]|``|''""")
_WHITE = re.compile(r"(\s+)")
_END = re.compile(r"[.?!:][^\w]*$")  # of a sentence, inside of what the corpus calls one


def sentence_length(source: Source, bins: int) -> Options:
    """SentLen: the number of words, in bins that about equally many sentences fall into.

    Raises InputError if there are fewer lengths than bins.
    """
    lengths = source.lengths
    inner = np.quantile(lengths, np.arange(1, bins) / bins, method="higher")
    starts = np.unique(np.append(lengths.min(), inner))
    if len(starts) < bins:
        raise InputError(f"classes: {bins} is not accepted; the sentences' lengths make {len(starts)} bins: give fewer")
    ends = np.append(starts[1:] - 1, lengths.max())
    classes = tuple(f"{low}-{high}" if low < high else f"{low}" for low, high in zip(starts, ends, strict=True))
    labels = np.searchsorted(starts, lengths, side="right") - 1
    return only(Candidates(source.sentences, labels, classes, source.clusters))


# -- word content -------------------------------------------------------------------------------


def word_content(source: Source, words: int | None) -> Options:
    """WC: which of some words it contains, once, and none of the others.

    The words are neighbors in the list by frequency, as rare as can be; if `words` is None, as many as can be with
    `SENTENCES_A_WORD` in training.
    """
    vocabulary, counts = _word_counts(source)

    def options(sizes: Sizes) -> Iterator[Candidates]:
        number = words or max(2, min(MOST_WORDS, sizes.train // SENTENCES_A_WORD))
        while number >= 2:
            rows = sum(sizes.rows(number))
            frequent = int((counts.sum(axis=0) >= rows).sum())
            for start in range(frequent - number, -1, -max(1, number // 4)):
                inside = counts[:, start : start + number]
                alone = np.flatnonzero(inside.sum(axis=1) == 1)
                labels = inside[alone].indices.astype(np.int64)
                if np.bincount(labels, minlength=number).min() >= rows:
                    chosen = [source.sentences[i] for i in alone.tolist()]
                    yield Candidates(chosen, labels, tuple(vocabulary[start : start + number]), source.clusters[alone])
            number = 0 if words else int(FEWER * number)

    return options


def _word_counts(source: Source) -> tuple[list[str], sp.csr_array]:
    """Words of letters, the most frequent first; and how often each sentence has each of them, int32[n, words]."""
    long = [[word for word in words if len(word) >= LONG_WORD and word.isalpha()] for words in source.words]
    total = Counter(word for words in long for word in words)
    vocabulary = sorted(total, key=lambda word: (-total[word], word))
    column = {word: i for i, word in enumerate(vocabulary)}
    rows = np.repeat(np.arange(len(long)), [len(words) for words in long])
    columns = np.array([column[word] for words in long for word in words], np.int64)
    ones = np.ones(len(rows), np.int32)
    return vocabulary, sp.csr_array((ones, (rows, columns)), shape=(len(long), len(vocabulary)))


# -- bigram shift -------------------------------------------------------------------------------


def bigram_shift(source: Source, rng: np.random.Generator) -> Options:
    """BShift: whether two adjacent words were swapped."""
    drawn = rng.random(len(source)).tolist()
    changed = [shift(sentence, draw) for sentence, draw in zip(source.sentences, drawn, strict=True)]
    return only(intact_or_inverted(source, changed, rng))


def shift(sentence: str, draw: float) -> str | None:
    """The sentence with two adjacent words swapped; None if there are no two, or if it has double quotes.

    The two stand beside each other with nothing but white space between them, neither opens a sentence, and they
    differ. Punctuation and white space stay where they are: "he went to Rome." becomes "he went Rome to."

    Parameters
    ----------
    draw : which of the places, in [0, 1)
    """
    sentence = text.mend(sentence)
    if _QUOTES.search(sentence):
        return None
    pieces = _WHITE.split(sentence.strip())
    words, cores = pieces[::2], [_core(piece) for piece in pieces[::2]]
    inside = (i for i in range(1, len(words) - 1) if not _END.search(words[i - 1]))
    places = [i for i in inside if _adjacent(cores[i], cores[i + 1])]
    if not places:
        return None
    place = places[int(draw * len(places))]
    (before, left, _), (_, right, after) = cores[place], cores[place + 1]
    pieces[2 * place], pieces[2 * place + 2] = before + right, left + after
    swapped = "".join(pieces)
    # A tokenizer may part a word from other punctuation than it had; then more than the order has changed.
    return swapped if sorted(text.word_tokens(swapped)) == sorted(text.word_tokens(sentence)) else None


def _core(piece: str) -> tuple[str, str, str] | None:
    """What stands before a piece's word, the word, and what follows it; None unless it has one word."""
    tokens = text.word_tokens(piece)
    words = [i for i, token in enumerate(tokens) if any(map(str.isalnum, token))]
    if len(words) != 1:
        return None
    at = words[0]
    return "".join(tokens[:at]), tokens[at], "".join(tokens[at + 1 :])


def _adjacent(first: tuple[str, str, str] | None, second: tuple[str, str, str] | None) -> bool:
    if first is None or second is None:
        return False
    return not first[2] and not second[0] and first[1].lower() != second[1].lower()
