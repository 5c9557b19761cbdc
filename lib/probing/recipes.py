"""The sentences of a corpus that probing tasks are made from, and the recipe of each task.

A recipe yields candidates for `lib.probing.draw`, with the names of their classes, the best first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import stats
from lib.corpora import Corpus, text
from lib.run.errors import InputError

SHORTEST = 5  # words; Conneau et al. take sentences of 5 to 28, here the corpus sets the upper end

Candidates = tuple[pd.DataFrame, Sequence[str]]


class Wanted(NamedTuple):
    """What a recipe is asked for.

    Attributes
    ----------
    sizes : three int
        Sentences of train, dev and test.
    classes : int, optional
        None: as many as the recipe sees fit.
    rng : numpy.random.Generator
    """

    sizes: Sequence[int]
    classes: int | None
    rng: np.random.Generator

    def rows(self, classes: int) -> list[int]:
        """The sizes in rows of one sentence of each class, rounded up; of training two or more."""
        train, dev, test = (-(-size // classes) for size in self.sizes)
        return [max(2, train), dev, test]


def source(corpus: Corpus) -> pd.DataFrame:
    """Sentences of `SHORTEST` words or more; of those that differ in case and punctuation alone the first.

    Columns sentence, words (in lower case, punctuation left out), length (number of words), cluster (equal for
    sentences that say the same), stratum (0). InputError if all sentences are too short.
    """
    words = [tuple(text.lower_words(sentence)) for sentence in corpus.sentences]
    table = pd.DataFrame({"sentence": list(corpus.sentences), "words": words, "length": [len(each) for each in words]})
    table = table.assign(cluster=stats.clusters(corpus.groups), stratum=0)
    table = table[table["length"] >= SHORTEST].drop_duplicates("words", ignore_index=True)
    if table.empty:
        raise InputError(f"corpus: {corpus.name!r} has no sentence of {SHORTEST} words or more; give another")
    return table


def intact_or_inverted(
    source: pd.DataFrame, changed: Sequence[str | None], rng: np.random.Generator, longer: Sequence[int] | int = 0
) -> Candidates:
    """Each sentence that could be changed, for one of two classes, which is drawn: changed (I) or as it was (O).

    Both classes have such sentences only, so that what cannot be changed gives nothing away. A change that says what
    some other sentence says is left out.

    Parameters
    ----------
    changed : the changed sentence, None where there is none
    longer : int[n], of two clauses, which is longer: 1 the first, -1 the second, 0 neither; the change swaps them
    """
    table = source.assign(changed=changed, stratum=longer).dropna(subset="changed")
    table["words"] = [tuple(text.lower_words(sentence)) for sentence in table["changed"]]
    table = table[~table["words"].isin(set(source["words"]))].drop_duplicates("words")
    inverted = rng.permutation(len(table)) % 2 == 0
    table["sentence"] = table["changed"].where(inverted, table["sentence"])
    table["stratum"] *= np.where(inverted, -1, 1)
    return table.assign(label=np.where(inverted, 0, 1)), ("I", "O")


# -- words ------------------------------------------------------------------------------------------

BINS = 6  # of lengths
MOST_WORDS = 1000
SENTENCES_A_WORD = 20  # of training, at least, where the number of words is ours to choose
LONG_WORD = 4  # letters, at least
FEWER = 0.8  # times so many words are tried next


def sentence_length(source: pd.DataFrame, wanted: Wanted) -> Iterator[Candidates]:
    """SentLen: the number of words, in bins that about equally many sentences fall into.

    Raises InputError if there are fewer lengths than bins.
    """
    bins, lengths = wanted.classes or BINS, source["length"]
    inner = np.quantile(lengths, np.arange(1, bins) / bins, method="higher")
    starts = np.unique([lengths.min(), *inner])
    if len(starts) < bins:
        raise InputError(f"classes: {bins} is not accepted; the sentences' lengths make {len(starts)} bins: give fewer")
    ends = [*(starts[1:] - 1), lengths.max()]
    names = [f"{low}-{high}" if low < high else f"{low}" for low, high in zip(starts, ends, strict=True)]
    yield source.assign(label=np.searchsorted(starts, lengths, side="right") - 1), names


def word_content(source: pd.DataFrame, wanted: Wanted) -> Iterator[Candidates]:
    """WC: which of some words it contains, once, and none of the others.

    The words are neighbors in the list by frequency, as rare as can be; if their number is not given, as many as can
    be with `SENTENCES_A_WORD` in training.
    """
    long = [[word for word in words if len(word) >= LONG_WORD and word.isalpha()] for words in source["words"]]
    words = pd.Series(long, source.index, dtype=object).explode().dropna()
    frequency = words.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    rank = words.map(pd.Series(range(len(frequency)), frequency.index))
    number = wanted.classes or max(2, min(MOST_WORDS, wanted.sizes[0] // SENTENCES_A_WORD))
    while number >= 2:
        needed = sum(wanted.rows(number))
        frequent = int((frequency >= needed).sum())
        for start in range(frequent - number, -1, -max(1, number // 4)):
            inside = rank[rank.between(start, start + number - 1)]
            alone = inside[~inside.index.duplicated(keep=False)] - start
            if np.bincount(alone, minlength=number).min() >= needed:
                yield source.loc[alone.index].assign(label=alone), list(frequency.index[start : start + number])
        number = 0 if wanted.classes else int(FEWER * number)


# -- bigram shift -------------------------------------------------------------------------------

_QUOTES = re.compile(r"""["\u201c\u201d\u201e\u00ab\u00bb]|``|''""")
_WHITE = re.compile(r"(\s+)")
_END = re.compile(r"[.?!:][^\w]*$")  # of a sentence, inside of what the corpus calls one


def bigram_shift(source: pd.DataFrame, wanted: Wanted) -> Iterator[Candidates]:
    """BShift: whether two adjacent words were swapped."""
    drawn = wanted.rng.random(len(source))
    yield intact_or_inverted(source, list(map(shift, source["sentence"], drawn)), wanted.rng)


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
    return bool(first and second) and not first[2] and not second[0] and first[1].lower() != second[1].lower()


# -- parses -----------------------------------------------------------------------------------------

MOST_DEPTHS = 8  # as in Conneau et al., whose trees are 5 to 12 deep


def marked(source: pd.DataFrame, wanted: Wanted, part: str, names: Sequence[str]) -> Iterator[Candidates]:
    """Tense, SubjNum, ObjNum: the class that one word of the sentence, a part of the Parse, is marked for."""
    marks = {i: mark for i, parse in source["parse"].items() if (mark := getattr(parse, part))}
    labels, targets = zip(*marks.values(), strict=True) if marks else ((), ())
    labels = [names.index(label) for label in labels]
    yield source.loc[list(marks)].assign(label=labels, target=targets), names


def coordination_inversion(source: pd.DataFrame, wanted: Wanted) -> Iterator[Candidates]:
    """CoordInv: whether two clauses have changed places; in both classes the first is as often the longer one."""
    changed, longer = zip(*(parse.inversion or (None, 0) for parse in source["parse"]), strict=True)
    yield intact_or_inverted(source, changed, wanted.rng, longer)


def tree_depth(source: pd.DataFrame, wanted: Wanted) -> Iterator[Candidates]:
    """TreeDepth: the depth of the tree; of each number of words there are equally many sentences of each depth.

    The classes are successive depths, as many as can be, and no more than `MOST_DEPTHS`. Of equally many, those come
    first that have the most sentences of equal length.
    """
    known = source.assign(stratum=source["length"], depth=[parse.depth for parse in source["parse"]])
    known = known.dropna(subset="depth").astype({"depth": int})
    table = pd.crosstab(known["depth"], known["length"])
    table = table.reindex(range(known["depth"].max() + 1), fill_value=0)
    for number in [wanted.classes] if wanted.classes else range(MOST_DEPTHS, 1, -1):
        room = table.rolling(number).min().sum(axis=1)  # by the last depth
        for last in room.sort_values(ascending=False, kind="stable").index:
            if room[last] >= sum(wanted.rows(number)):
                depths = range(last - number + 1, last + 1)
                inside = known[known["depth"].isin(depths)]
                yield inside.assign(label=inside["depth"] - depths[0]), [str(depth) for depth in depths]


RECIPES = {
    "SentLen": sentence_length,
    "WC": word_content,
    "BShift": bigram_shift,
    "Tense": partial(marked, part="tense", names=("PAST", "PRES")),
    "SubjNum": partial(marked, part="subject", names=("NN", "NNS")),
    "ObjNum": partial(marked, part="object", names=("NN", "NNS")),
    "CoordInv": coordination_inversion,
    "TreeDepth": tree_depth,
}
PARSED = ("Tense", "SubjNum", "ObjNum", "CoordInv", "TreeDepth")
SEVERAL = ("SentLen", "WC", "TreeDepth")  # those that have more than two classes
