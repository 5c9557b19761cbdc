"""Verses of one translation beside those of another.

A group of a corpus is a verse. Few of them have two sentences in a translation: those
of two verses that say the same.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from lib import corpora
from lib.corpora import UNKNOWN_GROUP, Corpus
from lib.tasks.readers import PairTask

YOUNG = "bible-gospels:ylt"
WEYMOUTH = "bible-gospels:wmth"


def rows_by_verse(corpus: Corpus) -> dict[int, list[int]]:
    """The sentences of each verse, in the order of their first ones."""
    rows: dict[int, list[int]] = {}
    for row, verse in enumerate(corpus.groups.tolist()):
        if verse != UNKNOWN_GROUP:
            rows.setdefault(verse, []).append(row)
    return rows


def by_verse(corpus: Corpus) -> dict[int, str]:
    """A sentence of each verse, the last if there are two."""
    rows = rows_by_verse(corpus)
    return {verse: corpus.sentences[found[-1]] for verse, found in rows.items()}


def alike(left: Corpus, right: Corpus) -> PairTask:
    """The verses that each of two translations has once, in ascending order."""
    here = rows_by_verse(left)
    there = rows_by_verse(right)
    both = sorted(here.keys() & there.keys())
    once = [verse for verse in both if len(here[verse]) == len(there[verse]) == 1]
    return PairTask(
        [left.sentences[here[verse][0]] for verse in once],
        [right.sentences[there[verse][0]] for verse in once],
    )


def rated(count: int, seed: int) -> PairTask:
    """`count` of Young's verses, each beside three of Weymouth's.

    The same verse has the score 2, the next one 1, and one from elsewhere 0. Both ids
    are the place of Young's verse.
    """
    young = by_verse(corpora.load(YOUNG))
    weymouth = by_verse(corpora.load(WEYMOUTH))
    following = dict(pairwise([verse for verse in weymouth if verse in young]))
    in_both = np.array([verse for verse in young if verse in following])
    rng = np.random.default_rng(seed)
    count = min(count, len(in_both) // 2)
    chosen, elsewhere = rng.permutation(in_both)[: 2 * count].reshape(2, count)
    others = [*chosen, *(following[verse] for verse in chosen), *elsewhere]
    places = [*range(count)] * 3
    return PairTask(
        [young[verse] for verse in chosen] * 3,
        [weymouth[verse] for verse in others],
        score=np.repeat([2.0, 1.0, 0.0], count),
        ids=list(zip(places, places, strict=True)),
    )
