"""Pairs of sentences that say the same in other words: the queries and needles of the needle-in-a-haystack experiment.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8. Where the pairs come from (`load`):

=================  =====================================================================================
source             pairs
=================  =====================================================================================
``verses``         two members of a group of equal meaning of the corpus, drawn: a verse in two translations
``stsbenchmark``   of the STS Benchmark's dev and test sets, as in the paper
``lines:PATH``     your own: UTF-8, on each line a query, a tab and its paraphrase
=================  =====================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib import n2o, tasks
from lib.corpora import UNKNOWN_GROUP, Corpus, closure, reading, text
from lib.run import parameters, paths
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

LINES = "lines:"
ACCEPTED = (
    "'verses' with a corpus of Bible translations, 'stsbenchmark' with the STS Benchmark at hand, or 'lines:PATH', "
    "a file with a query, a tab and its paraphrase on each line"
)


@dataclass(frozen=True)
class Pairs:
    """Queries, each with its needle.

    Attributes
    ----------
    queries, needles : list of str, length n; no two pairs are alike, and no sentence is its own needle
    groups : int32[n], the corpus's group (`Corpus.groups`) that both belong to, -1 where they are not of the corpus
    """

    queries: list[str]
    needles: list[str]
    groups: np.ndarray

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def sentences(self) -> list[str]:
        """The queries, then the needles."""
        return self.queries + self.needles

    def take(self, chosen: np.ndarray) -> Pairs:
        """Some of the pairs, by their positions."""
        return Pairs([self.queries[i] for i in chosen], [self.needles[i] for i in chosen], self.groups[chosen])


# -- sources ------------------------------------------------------------------------------------


def load(source: str, corpus: Corpus, rng: np.random.Generator, genre: str, lowest_score: float) -> Pairs:
    """All pairs that a source offers.

    Parameters
    ----------
    source : "verses", "stsbenchmark" or "lines:PATH"
    corpus : whose groups "verses" draws from, two different members of each
    rng : of that drawing
    genre, lowest_score : of the STS Benchmark: the pairs of this genre, rated as high as this or higher (0 to 5)

    Raises
    ------
    InputError
        An unknown source; a corpus without groups of equal meaning; a file that is missing, or a line of it that is
        no pair of two different sentences; a genre or score that leaves no pair.
    """
    if source.startswith(LINES):
        return _of_lines(source)
    if source == "verses":
        return _of_groups(corpus, rng)
    if source == "stsbenchmark":
        return _of_sts_benchmark(genre, lowest_score)
    raise InputError(f"pairs_source: {parameters.shown(source)} is not known; accepted: {ACCEPTED}")


def _of_groups(corpus: Corpus, rng: np.random.Generator) -> Pairs:
    """From each group of two or more its first two members in an order that is drawn."""
    shuffled = rng.permutation(np.flatnonzero(corpus.groups != UNKNOWN_GROUP))
    order = shuffled[np.argsort(corpus.groups[shuffled], kind="stable")]
    labels, starts, sizes = np.unique(corpus.groups[order], return_index=True, return_counts=True)
    if not (sizes >= 2).any():
        raise InputError(
            f"pairs_source: 'verses' is not accepted; of corpus {corpus.name!r} nobody knows which sentences mean the "
            f"same: give {ACCEPTED}"
        )
    first = starts[sizes >= 2]
    queries, needles = ([corpus.sentences[i] for i in order[some]] for some in (first, first + 1))
    return Pairs(queries, needles, labels[sizes >= 2])


def _of_sts_benchmark(genre: str, lowest_score: float) -> Pairs:
    found = []
    for split in ("dev", "test"):
        task = tasks.load("STSBenchmark", split)
        one_of("genre", genre, set(task.genre))
        kept = zip(task.left, task.right, task.genre, task.score, strict=True)
        found += [(left, right) for left, right, kind, score in kept if kind == genre and score >= lowest_score]
    return _without_group((left, right) for left, right in found if left != right)


def _of_lines(source: str) -> Pairs:
    path = paths.from_root(source.removeprefix(LINES))
    if not os.path.isfile(path):  # unlike Path.is_file, also of a name too long to be one
        raise InputError(f"pairs_source: no file {path}; give {ACCEPTED}")
    return _without_group(_pair(*line) for line in reading.lines(path) if line.text.strip())


def _pair(place: str, line: str) -> tuple[str, str]:
    cells = [text.squeeze(cell) for cell in line.split("\t")]
    if len(cells) != 2 or not all(cells):
        raise InputError(f"pairs_source: {place}: not a pair; give a query, a tab and its paraphrase on each line")
    query, needle = cells
    if query == needle:
        raise InputError(f"pairs_source: {place}: the two sentences are the same; give a paraphrase in other words")
    return query, needle


def _without_group(pairs: Iterable[tuple[str, str]]) -> Pairs:
    different = list(dict.fromkeys(pairs))
    if not different:
        raise InputError("pairs_source: holds no pair; give another, or for 'stsbenchmark' a lower lowest_score")
    queries, needles = map(list, zip(*different, strict=True))
    return Pairs(queries, needles, np.full(len(different), UNKNOWN_GROUP, np.int32))


# -- word overlap -------------------------------------------------------------------------------


def shorter(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared types over the types of the sentence that has fewer, in [0, 1]; 0 when one has none."""
    return len(left & right) / max(1, min(len(left), len(right)))


def dice(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared types over the mean number of types of two sentences, in [0, 1]; 0 when neither has any."""
    return 2 * len(left & right) / max(1, len(left) + len(right))


# The paper's word-level overlap ratio is not defined; these are what it may mean.
RATIOS = {"jaccard": text.jaccard, "dice": dice, "first": n2o.covered, "shorter": shorter}


def ratios(pairs: Pairs) -> pd.DataFrame:
    """The word overlap of each pair (rows) by each definition (columns, `RATIOS`), in [0, 1].

    Words are lower-cased word types, punctuation left out (`lib.corpora.text.content_types`).
    """
    types = [(text.content_types(q), text.content_types(n)) for q, n in zip(pairs.queries, pairs.needles, strict=True)]
    return pd.DataFrame({name: [ratio(*both) for both in types] for name, ratio in RATIOS.items()})


def draw(overlaps: np.ndarray, limit: float, count: int, order: np.ndarray) -> np.ndarray:
    """Positions, ascending, of the first `count` pairs in an `order` whose word overlap lies below `limit`.

    With one order (a permutation that was drawn) the draws for several definitions have in common what they can.
    There are fewer than `count` where fewer are below the limit.
    """
    below = order[np.asarray(overlaps)[order] < limit]
    return np.sort(below[:count])


def check_drawn(chosen: np.ndarray, count: int, overlap_ratio: str, limit: float) -> None:
    """Raise InputError, which says how many there are, unless `count` pairs have been drawn."""
    if len(chosen) < count:
        raise InputError(
            f"pairs: {count} is not accepted; {len(chosen)} have a word overlap ({overlap_ratio}) below {limit:g}: "
            "give so many, or raise overlap_limit"
        )


# -- the haystack -------------------------------------------------------------------------------


def haystack(corpus: Corpus, size: int, rng: np.random.Generator) -> Corpus:
    """The corpus, or so many of its sentences, drawn without replacement and in their order; 0 is all of them."""
    in_range("haystack", size, 0, len(corpus), "0 is the whole corpus")
    if size in (0, len(corpus)):
        return corpus
    kept = np.sort(rng.choice(len(corpus), size=size, replace=False))
    return Corpus(
        name=f"{corpus.name}, {size} sentences of it",
        sentences=[corpus.sentences[i] for i in kept],
        documents=corpus.documents[kept],
        ledes=np.flatnonzero(np.isin(kept, corpus.ledes)).astype(np.int32),
        groups=corpus.groups[kept],
    )


def locate(corpus: Corpus, sentences: Sequence[str]) -> np.ndarray:
    """int64[n]: the corpus index of each sentence, -1 for one that the corpus does not have."""
    wanted = set(sentences)
    known = {sentence: i for i, sentence in enumerate(corpus.sentences) if sentence in wanted}
    return np.array([known.get(sentence, -1) for sentence in sentences], dtype=np.int64)


def hidden(pairs: Pairs, corpus: Corpus) -> list[np.ndarray]:
    """For each pair the corpus indices, ascending, that are no hay: query, needle, what is known to mean the same."""
    places = locate(corpus, pairs.sentences).reshape(2, -1).T
    return [_hidden(np.unique(own[own >= 0]), group, corpus) for own, group in zip(places, pairs.groups, strict=True)]


def _hidden(places: np.ndarray, group: int, corpus: Corpus) -> np.ndarray:
    groups = {int(group), *corpus.groups[places].tolist()} - {UNKNOWN_GROUP}
    alike = np.flatnonzero(np.isin(corpus.groups, list(groups))) if groups else places
    return np.union1d(places, alike)


def clusters(pairs: Pairs) -> np.ndarray:
    """int64[n], equal for pairs that share a sentence, directly or through others: they are not independent."""
    members = closure.groups_from_pairs(zip(pairs.queries, pairs.needles, strict=True))
    number = {sentence: i for i, group in enumerate(members) for sentence in group}
    return np.array([number[query] for query in pairs.queries], dtype=np.int64)
