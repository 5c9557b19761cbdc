"""The sentences of a corpus for probing tasks, and the recipe of each task.

A recipe yields candidates for `audit.probing.draw`, with the names of their classes,
the best first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.random import Generator

from lib import stats
from lib.base.errors import InputError
from lib.corpora import Corpus, text

# Words; Conneau et al. take sentences of 5 to 28, here the corpus sets the upper end.
SHORTEST = 5

Candidates = tuple[pd.DataFrame, Sequence[str]]


def rows(sizes: Sequence[int], classes: int) -> list[int]:
    """Sizes of train, dev and test, in rows of one sentence of each class.

    They are rounded up; train has two rows or more.
    """
    train, dev, test = (-(-size // classes) for size in sizes)
    return [max(2, train), dev, test]


def source(corpus: Corpus, seed: int) -> pd.DataFrame:
    """Distinct sentences of `SHORTEST` words or more.

    Of those that differ only in case and punctuation, the first is kept. Columns
    sentence, words (in lower case, without punctuation), length (number of words),
    cluster (equal for sentences that mean the same), and order, which is random: tasks
    draw the first ones, so that they share sentences. InputError if all sentences are
    too short.
    """
    words = [tuple(text.lower_words(sentence)) for sentence in corpus.sentences]
    table = pd.DataFrame({"sentence": list(corpus.sentences), "words": words})
    table["length"] = table["words"].str.len()
    table["cluster"] = stats.clusters(corpus.groups)
    table = table[table["length"] >= SHORTEST]
    table = table.drop_duplicates("words", ignore_index=True)
    if table.empty:
        raise InputError(
            f"corpus: {corpus.name!r} has no sentence of {SHORTEST} words or more; "
            "give another"
        )
    return table.assign(order=np.random.default_rng(seed).permutation(len(table)))


# -- words -----------------------------------------------------------------------------

BINS = 6  # of lengths
MOST_WORDS = 1000
SENTENCES_A_WORD = 20  # of training, at least
LONG_WORD = 4  # letters, at least
FEWER = 0.8  # times so many words are tried next


def sentence_length(
    source: pd.DataFrame, sizes: Sequence[int], rng: Generator
) -> Iterator[Candidates]:
    """SentLen: the number of words, in bins of about equally many sentences.

    Raises InputError if there are too few different lengths.
    """
    lengths = source["length"]
    inner = np.quantile(lengths, np.arange(1, BINS) / BINS, method="higher")
    starts = np.unique([lengths.min(), *inner])
    if len(starts) < BINS:
        raise InputError(
            f"corpus: too few different sentence lengths for SentLen's {BINS} bins; "
            "give a larger one"
        )
    ends = [*(starts[1:] - 1), lengths.max()]
    names = []
    for low, high in zip(starts, ends, strict=True):
        names.append(f"{low}-{high}" if low < high else f"{low}")
    label = np.searchsorted(starts, lengths, side="right") - 1
    yield source.assign(label=label), names


def word_content(
    source: pd.DataFrame, sizes: Sequence[int], rng: Generator
) -> Iterator[Candidates]:
    """WC: which of some words it contains, once, and none of the others.

    The words are neighbors in the list by frequency. They are as rare, and as many, as
    `SENTENCES_A_WORD` sentences of training for each word allow.
    """
    words = source["words"].explode()
    words = words[(words.str.len() >= LONG_WORD) & words.str.isalpha()]
    frequency = words.value_counts().sort_index()
    frequency = frequency.sort_values(ascending=False, kind="stable")
    ranks = pd.Series(range(len(frequency)), frequency.index)
    rank = words.map(ranks)
    number = max(2, min(MOST_WORDS, sizes[0] // SENTENCES_A_WORD))
    while number >= 2:
        needed = sum(rows(sizes, number))
        frequent = int((frequency >= needed).sum())
        for start in range(frequent - number, -1, -max(1, number // 4)):
            inside = rank[rank.between(start, start + number - 1)]
            alone = inside[~inside.index.duplicated(keep=False)] - start
            if np.bincount(alone, minlength=number).min() >= needed:
                names = frequency.index[start : start + number]
                yield source.loc[alone.index].assign(label=alone), list(names)
        number = int(FEWER * number)


# -- bigram shift ----------------------------------------------------------------------

_QUOTES = re.compile(r"""["\u201c\u201d\u201e\u00ab\u00bb]|``|''""")
_WHITE = re.compile(r"(\s+)")
# The end of a sentence inside of what the corpus calls one.
_END = re.compile(r"[.?!:][^\w]*$")


def bigram_shift(
    source: pd.DataFrame, sizes: Sequence[int], rng: Generator
) -> Iterator[Candidates]:
    """BShift: whether two adjacent words were swapped (I) or not (O).

    Both classes have only sentences that could be changed, so whether a change is
    possible gives nothing away. A change that equals another sentence is left out.
    """
    draws = rng.random(len(source))
    table = source.assign(changed=list(map(shift, source["sentence"], draws)))
    table = table.dropna(subset="changed")
    table["words"] = [
        tuple(text.lower_words(sentence)) for sentence in table["changed"]
    ]
    is_said_already = table["words"].isin(set(source["words"]))
    table = table[~is_said_already].drop_duplicates("words")
    inverted = rng.permutation(len(table)) % 2 == 0
    table["sentence"] = table["changed"].where(inverted, table["sentence"])
    yield table.assign(label=np.where(inverted, 0, 1)), ("I", "O")


def shift(sentence: str, draw: float) -> str | None:
    """The sentence with two adjacent words swapped.

    None if there are no two such words, or if the sentence has double quotes.

    The two are of letters alone, with nothing but white space between them, neither
    opens a sentence, and they differ: "he went to Rome." becomes "he to went Rome."

    Parameters
    ----------
    draw : which of the places, in [0, 1)
    """
    if _QUOTES.search(sentence):
        return None
    pieces = _WHITE.split(sentence.strip())
    words = pieces[::2]
    inside = [i for i in range(1, len(words) - 1) if not _END.search(words[i - 1])]
    places = [i for i in inside if words[i].isalpha() and words[i + 1].isalpha()]
    places = [i for i in places if words[i].lower() != words[i + 1].lower()]
    if not places:
        return None
    place = places[int(draw * len(places))]
    pieces[2 * place] = words[place + 1]
    pieces[2 * place + 2] = words[place]
    return "".join(pieces)


RECIPES = {"SentLen": sentence_length, "WC": word_content, "BShift": bigram_shift}
