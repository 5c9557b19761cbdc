"""Which words are targets, which are their negatives, and how both learn."""

from __future__ import annotations

import numpy as np

from lib.run.errors import InputError
from lib.sent2vec import primitives
from lib.sent2vec.contexts import Method
from lib.sent2vec.primitives import below, njit_inline, prefetch_row, uniform
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import END_OF_LINE, Dictionary

TABLE = 10_000_000  # numbers at most, as in the program; a small vocabulary does with
PER_WORD = 1000  # for each word
BINS, REACH = 512, 8.0  # of the table of the sigmoid
PER_UNIT = np.float32(BINS / (2 * REACH))
GRID = np.arange(BINS + 1) / float(PER_UNIT) - REACH
SIGMOID = (1 / (1 + np.exp(-GRID))).astype(np.float32)
LOSS = np.log1p(np.exp(-GRID)).astype(np.float32)


# -- by their counts ----------------------------------------------------------------------------


def method_of(dictionary: Dictionary, settings: Settings) -> Method:
    """What a training is done by. Raises InputError if no word may be a target."""
    counts = dictionary.counts[: dictionary.n_words]
    is_word = _is_word(dictionary)
    eligible = is_word & (counts >= settings.min_target_count)
    if not eligible.any():
        raise InputError(
            f"min_target_count: no word occurs {settings.min_target_count} times (the most frequent one "
            f"{counts[is_word].max()}); lower it"
        )
    return Method(
        word_ngrams=settings.word_ngrams,
        bucket=settings.ngram_rows,
        dropout_k=settings.dropout_k,
        dropout_probability=float(settings.dropout_probability),
        subsample_context=settings.subsample_context,
        window=settings.window,
        l1=np.float32(settings.l1),
        n_words=dictionary.n_words,
        reference=settings.variant == "reference",
        keep=keep_probabilities(dictionary, settings),
        eligible=eligible,
        negatives=negatives_table(dictionary, settings),
    )


def keep_probabilities(dictionary: Dictionary, settings: Settings) -> np.ndarray:
    """float32[n_words]: q_p of section 2.1, sqrt(t / f) + t / f; what is above 1 means always.

    In a word's frequency f its count is divided by all tokens of the text, which are also ends of lines, labels and
    words left out ("reference"), or by the words of the dictionary that the text has ("paper").
    """
    counts = dictionary.counts[: dictionary.n_words]
    whole = dictionary.tokens if settings.variant == "reference" else counts[_is_word(dictionary)].sum()
    frequencies = counts.astype(np.float32) / np.float32(whole)
    with np.errstate(divide="ignore"):
        ratio = settings.subsample / frequencies.astype(np.float64)
    return np.where(counts > 0, np.sqrt(ratio) + ratio, 0.0).astype(np.float32)


def negatives_table(dictionary: Dictionary, settings: Settings) -> np.ndarray:
    """int32, shuffled: each word as often as the square root of its count says, rounded up.

    ``</s>`` is among the words in variant "reference", the placeholder in none.
    """
    roots = np.sqrt(dictionary.counts[: dictionary.n_words].astype(np.float32))
    if settings.variant == "paper":
        roots[~_is_word(dictionary)] = 0
    size = min(TABLE, PER_WORD * len(roots))
    copies = np.ceil(roots * np.float32(size) / roots.sum()).astype(np.int64)
    table = np.repeat(np.arange(len(roots), dtype=np.int32), copies)
    np.random.default_rng([settings.seed, 1]).shuffle(table)
    return table


def _is_word(dictionary: Dictionary) -> np.ndarray:
    """bool[n_words]: neither ``</s>`` nor the placeholder, which has the count 0."""
    words = np.array([word != END_OF_LINE for word in dictionary.words[: dictionary.n_words]])
    return words & (dictionary.counts[: dictionary.n_words] > 0)


# -- choosing, compiled -------------------------------------------------------------------------


@njit_inline
def thin_out(words, method, state):
    """Move the words that subsampling keeps to the front; returns how many they are."""
    count = 0
    for i in range(len(words)):
        if uniform(state) <= method.keep[words[i]]:
            words[count] = words[i]
            count += 1
    return count


@njit_inline
def choose_targets(words, method, room):
    """The positions of the targets of a line. A single word has no context, and is no target."""
    count = 0
    if len(words) > 1:
        for i in range(len(words)):
            kept = method.subsample_context or uniform(room.state) <= method.keep[words[i]]
            if kept and method.eligible[words[i]]:
                room.targets[count] = i
                count += 1
    return room.targets[:count]


@njit_inline
def draw_negatives(target, method, room, drawn):
    """Write to `drawn` the target and its negatives, which are never the target."""
    table, cursor = method.negatives, room.cursor
    drawn[0] = target
    k = 1
    while k < len(drawn):
        if method.reference:  # one behind the other
            cursor[0] = cursor[0] + 1 if cursor[0] + 1 < len(table) else 0
        else:
            cursor[0] = below(room.state, len(table))
        word = table[cursor[0]]
        if word != target:
            drawn[k] = word
            k += 1


# -- learning, compiled -------------------------------------------------------------------------


@njit_inline
def look_up(table, score):
    """The value of a table of 513, without interpolation, as in the authors' program; for -8 <= score <= 8."""
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
def learn_outputs(drawn, following, lr, l1, outputs, room):
    """Update the rows of a target and its negatives, one after the other, and sum their gradients in `room.gradient`.

    The rows of `following` are fetched meanwhile. Returns False if a score is not a number.
    """
    hidden, gradient, report = room.hidden, room.gradient, room.report
    gradient[:] = 0
    k = 0
    while k < len(drawn):
        row, both = outputs[drawn[k]], k + 1 < len(drawn) and drawn[k + 1] != drawn[k]
        prefetch_row(outputs, following[k])
        if both:  # two different rows at once: the same as one behind the other
            other = outputs[drawn[k + 1]]
            prefetch_row(outputs, following[k + 1])
            score, other_score = primitives.dots(row, other, hidden)
        else:
            score, other_score = primitives.dot(row, hidden), np.float32(0)
        if np.isnan(score + other_score):
            return False
        step = _step(score, k == 0, lr, report)
        if both:
            other_step = _step(other_score, False, lr, report)
            primitives.exchange_two(row, other, step, other_step, hidden, gradient)
        else:
            primitives.add_to(gradient, step, row)
            primitives.add_to(row, step, hidden)
        k += 2 if both else 1
    if l1 > 0:
        for word in drawn:
            primitives.shrink(outputs[word], l1 * lr)
    report[1] += 1
    return True


@njit_inline
def _step(score, positive, lr, report):
    """What a row moves by, in multiples of the hidden vector; the loss goes to the report."""
    report[0] += loss(score if positive else -score)
    return lr * (np.float32(positive) - sigmoid(score))
