"""Probing tasks that need a parse: tense, number of subject and object, inverted clauses, depth of the tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lib.probing.drawing import Candidates, Options, Sizes, only
from lib.probing.parsing import Parse
from lib.probing.source import Source, intact_or_inverted

MOST_DEPTHS = 8  # as in Conneau et al., whose trees are 5 to 12 deep

NUMBERS = ("NN", "NNS")
# The part of a Parse that has class and target word, and the classes.
MARKED = {"Tense": ("tense", ("PAST", "PRES")), "SubjNum": ("subject", NUMBERS), "ObjNum": ("object", NUMBERS)}


def marked(source: Source, name: str, parsed: Sequence[Parse]) -> Options:
    """Tense, SubjNum, ObjNum: the class that one word of the sentence is marked for."""
    field, classes = MARKED[name]
    parts = {i: part for i, parse in enumerate(parsed) if (part := getattr(parse, field))}
    kept, labels = list(parts), np.array([classes.index(part.label) for part in parts.values()], np.int64)
    return only(
        Candidates(
            [source.sentences[i] for i in kept],
            labels,
            classes,
            source.clusters[kept],
            targets=[part.target for part in parts.values()],
        )
    )


def coordination_inversion(source: Source, parsed: Sequence[Parse], rng: np.random.Generator) -> Options:
    """CoordInv: whether two clauses have changed places; in both classes the first is as often the longer one."""
    longer = np.array([parse.inversion.longer if parse.inversion else 0 for parse in parsed], np.int64)
    changed = [parse.inversion.sentence if parse.inversion else None for parse in parsed]
    return only(intact_or_inverted(source, changed, rng, longer))


def tree_depth(source: Source, parsed: Sequence[Parse], number: int | None) -> Options:
    """TreeDepth: the depth of the tree; of each number of words there are equally many sentences of each depth.

    The classes are `number` successive depths; if it is None, as many as can be, and no more than `MOST_DEPTHS`. Of
    equally many, those come first that have the most sentences of equal length.
    """
    known = np.array([i for i, parse in enumerate(parsed) if parse.depth is not None], np.int64)
    depths = np.array([parsed[i].depth for i in known.tolist()], np.int64)
    lengths = source.lengths[known]
    table = np.zeros((depths.max(initial=0) + 1, lengths.max(initial=0) + 1), np.int64)
    np.add.at(table, (depths, lengths), 1)

    def of_depths(start: int, classes: int) -> Candidates:
        inside = np.flatnonzero((depths >= start) & (depths < start + classes))
        return Candidates(
            [source.sentences[i] for i in known[inside].tolist()],
            depths[inside] - start,
            tuple(str(start + step) for step in range(classes)),
            source.clusters[known[inside]],
            lengths[inside],
        )

    def options(sizes: Sizes) -> Iterator[Candidates]:
        for classes in (number,) if number else range(min(MOST_DEPTHS, len(table)), 1, -1):
            starts = range(len(table) - classes + 1)
            room = np.array([table[start : start + classes].min(axis=0).sum() for start in starts], np.int64)
            for start in np.argsort(-room, kind="stable").tolist():
                if room[start] >= sum(sizes.rows(classes)):
                    yield of_depths(start, classes)

    return options
