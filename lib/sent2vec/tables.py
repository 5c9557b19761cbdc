"""What words are targets and negatives by, from their counts."""

from __future__ import annotations

import numpy as np

from lib.run.errors import InputError
from lib.sent2vec.dictionary import END_OF_LINE, Dictionary
from lib.sent2vec.outputs import Targets
from lib.sent2vec.settings import Settings

TABLE = 10_000_000  # numbers at most, as in the program; a small vocabulary does with
PER_WORD = 1000  # for each word


def targets_of(dictionary: Dictionary, settings: Settings) -> Targets:
    """The tables of a training. Raises InputError if no word may be a target."""
    eligible = _is_word(dictionary) & (dictionary.counts[: dictionary.n_words] >= settings.min_target_count)
    if not eligible.any():
        most = dictionary.counts[: dictionary.n_words][_is_word(dictionary)].max()
        raise InputError(
            f"min_target_count: no word occurs {settings.min_target_count} times (the commonest {most}); lower it"
        )
    return Targets(
        keep=keep_probabilities(dictionary, settings),
        eligible=eligible,
        negatives=negatives_table(dictionary, settings),
        in_turn=settings.variant == "reference",
        thin=settings.subsample_context,
        window=settings.window,
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
