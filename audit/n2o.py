"""What the N2O paper compares: kinds of embedders, stand-ins for the paper's, overlaps.

Used by the replication.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from lib import embedders, n2o, stats, store
from lib.base.environment import thread_pool
from lib.corpora import Corpus
from lib.embedders.kinds import (
    POOLED_WORDS,
    PRETRAINED,
    RANDOM,
    STATIC_AVERAGE,
    TRAINED_HERE,
    UNKNOWN,
)
from lib.neighbors import exact
from lib.stats import Interval, Sampling
from lib.studies.robustness import Ids
from lib.vectors import Embeddings

# Variants of one method that verdicts compare: sizes, texts, with and without subwords.
SIZES = ("glove-6b-100d", "glove-6b-300d", "glove-840b-300d")
TEXTS = ("fasttext-cc", "fasttext-wiki")
SUBWORDS = (*TEXTS, "fasttext-cc-sub", "fasttext-wiki-sub")

# What is measured in place of an embedder of the paper that is not here; each half of
# the corpus is a training text.
STAND_INS = {
    "glove-6b-100d": "w2v-corpus of half 1",
    "glove-6b-300d": "w2v-corpus-300d of half 1",
    "glove-840b-300d": "w2v-corpus-300d of half 2",
    "fasttext-cc": "fasttext-corpus of half 1",
    "fasttext-wiki": "fasttext-corpus of half 2",
    "fasttext-cc-sub": "fasttext-corpus-sub of half 1",
    "fasttext-wiki-sub": "fasttext-corpus-sub of half 2",
}
# One token of a network, and the average of all.
POOLINGS = {
    "bert-base-cls": "bert-base-avg",
    "bert-ft-cls": "bert-ft-avg",
    "gpt-last": "gpt-avg",
    "minilm-cls": "minilm-avg",
    "paraphrase-minilm-l3-cls": "paraphrase-minilm-l3-avg",
}
PAPERS = tuple(POOLINGS)[:3]  # tokens that the paper speaks of
ELMO = ("elmo-small", "elmo-orig", "elmo-orig-5.5b")


# -- kinds of embedders ----------------------------------------------------------------

APART = (PRETRAINED, TRAINED_HERE)  # origins that are never averaged together
COMPOSED = (POOLED_WORDS, RANDOM)  # neither averages nor sentence encoders


def is_average(name: str) -> bool:
    """Whether an embedder is the plain average of static word vectors."""
    return embedders.kind(name).architecture == STATIC_AVERAGE


def of_origin(names: Iterable[str], source: str) -> list[str]:
    """The embedders of one origin that are of a known architecture.

    Compositions of word vectors are left out, too.
    """
    chosen = []
    for name in names:
        kind = embedders.kind(name)
        if kind.origin == source and kind.architecture not in (*COMPOSED, UNKNOWN):
            chosen.append(name)
    return chosen


def trainer(name: str) -> str:
    """The embedder that a stand-in is: "w2v-corpus of half 1" is w2v-corpus."""
    return name.split(" of half ")[0]


# -- stand-ins -------------------------------------------------------------------------


def halves(present: Collection[str]) -> list[str]:
    """Word vectors trained on half of a corpus, as stand-ins for the paper's.

    They stand in for the paper's pairs of one method on two texts, in two sizes, and
    with and without subwords, where not all of these are among the embedders that are
    present, and where any of these is trained here.
    """
    if not any(embedders.family(name) == "trained on the corpus" for name in present):
        return []
    absent = [
        variants for variants in (SIZES, SUBWORDS) if not {*variants} <= {*present}
    ]
    return sorted({STAND_INS[name] for variants in absent for name in variants})


def of_halves(
    corpus: Corpus, queries: np.ndarray, k: int, present: Collection[str]
) -> dict[str, np.ndarray]:
    """Neighbors by word vectors trained on half of the documents, int[q, k].

    They are found in the whole corpus, by vectors trained on either half (`halves`).
    """

    def embedded(name: str) -> Embeddings:
        half = int(name.split(" of half ")[1])
        rows = np.flatnonzero(corpus.passages % 2 == half - 1)
        text = [corpus.sentences[row] for row in rows]
        fitted = store.fit(embedders.load(trainer(name)), text)
        return store.EmbeddingStore().embed(fitted, corpus)

    names = halves(present)
    with thread_pool() as pool:
        embeddings = list(pool.map(embedded, names))
    ids = {}
    for name, vectors in zip(names, embeddings, strict=True):
        ids[name] = exact(vectors[queries], vectors, k, exclude=queries).ids
    return ids


# -- overlaps --------------------------------------------------------------------------


@dataclass
class Overlaps:
    """What two embedders find in common, query by query.

    Attributes
    ----------
    ids : mapping from an embedder's name to its neighbors, int[q, k]
    more : the same for embedders that only verdicts need (`of_halves`)
    clusters : int[q], equal for queries that are not independent
    sampling : Sampling
    """

    ids: Mapping[str, np.ndarray]
    more: Mapping[str, np.ndarray]
    clusters: np.ndarray
    sampling: Sampling

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The overlap of every two embedders, in both orders.

        A row for each query, two levels of columns.
        """
        one_order = n2o.per_query({**self.ids, **self.more})
        return one_order.join(one_order.swaplevel(axis=1))

    def mean(self, pairs: Iterable[tuple[str, str]]) -> pd.Series:
        """The mean overlap of some pairs, for each query."""
        return self.pairs[list(pairs)].mean(axis=1)

    def mean_with(self, name: str, others: Iterable[str]) -> pd.Series:
        """The mean overlap of an embedder with others, for each query.

        The embedder may be one of them.
        """
        return self.mean((name, other) for other in others if other != name)

    def gains(self, average: str, token: str, others: Sequence[str]) -> pd.DataFrame:
        """How many more neighbors the average of all tokens shares than one token.

        With each other embedder, as differences in overlap for each query.
        """
        return self.pairs[average][others] - self.pairs[token][others]

    def interval(
        self,
        comparisons: Sequence[pd.Series] | np.ndarray,
        statistic: Callable[[pd.DataFrame], pd.Series] | None = None,
        method: str = "percentile",
        holm: bool = False,
    ) -> Interval:
        """The mean of each comparison over queries, or a statistic of these means.

        Comparisons are float[q] each. `statistic` is one of a table of draws, with a
        column for each. The options are those of `lib.stats.intervals`.
        """
        values = pd.DataFrame(np.column_stack(comparisons))
        sampling = self.sampling
        if holm:
            sampling = sampling.for_family(values.shape[1])
        draws = stats.draws(values, sampling, self.clusters)
        if statistic is not None:
            draws = statistic(draws)
        return stats.intervals(draws, self.sampling, method, holm)

    def each(
        self, comparisons: Sequence[pd.Series] | np.ndarray, margin: float = 0.0
    ) -> Interval:
        """The mean of each comparison, where all must lie on one side of a margin.

        Where not all of them do, one could be enough to fail the claim, and Holm's
        correction applies.
        """
        plain = self.interval(comparisons)
        if _one_side(plain, margin):
            return plain
        shifted = np.column_stack(comparisons).T - margin
        family = self.interval(shifted, holm=True)
        return Interval(*(side + margin for side in family))

    def stand_ins(self, *names: str) -> tuple[list[str], str]:
        """Embedders of the paper, or stand-ins and what to call them.

        Stand-ins are returned for all if one of the embedders is missing.
        """
        if all(name in self.ids for name in names):
            return list(names), ""
        stand_ins = [STAND_INS[name] for name in names]
        return stand_ins, ", ".join(stand_ins)

    def others(self, *without: str) -> list[str]:
        """The embedders of the run that are no near copies of those named."""
        trainers = [trainer(name) for name in without]
        return [
            name
            for name in self.ids
            if not any(embedders.related(name, one) for one in trainers)
        ]


def minus_median(means: pd.DataFrame) -> pd.Series:
    """The first of some means minus the median of the others, in each draw."""
    return means[0] - means.drop(columns=0).median(axis=1)


def each_lead(
    values: pd.DataFrame, pairs: Iterable[tuple[str, str]], sampling: Sampling
) -> Interval:
    """The mean of the first column of each pair minus the second.

    As `Overlaps.each` has it; the rows of `values` are independent.
    """
    values = np.column_stack([values[one] - values[other] for one, other in pairs])
    plain = stats.bootstrap(stats.mean, values, sampling=sampling)
    if _one_side(plain, 0.0):
        return plain
    enough = sampling.for_family(values.shape[1])
    return stats.bootstrap(stats.mean, values, sampling=enough, holm=True)


def _one_side(interval: Interval, margin: float) -> bool:
    """Whether all intervals lie above the margin, or all below it."""
    return bool((interval.low > margin).all() or (interval.high < margin).all())


def overlap(ids: Ids) -> np.ndarray:
    """`lib.n2o.overlap` of each pair of embedders, float64[q, pairs]."""
    return n2o.per_query(ids).to_numpy()


def shared(
    ids: Mapping[str, np.ndarray], order: np.ndarray | None = None
) -> np.ndarray:
    """How many of their d nearest sentences two embedders share.

    Parameters
    ----------
    ids : mapping of str to int[q, k]
    order : int[q], optional
        A permutation of the queries for the second embedder of each pair: what
        unrelated queries share, a baseline.

    Returns
    -------
    int16[q, pairs, k]
        For each query, each pair of embedders (in the order of
        `itertools.combinations`) and d = 1 ... k.
    """
    counts = []
    for a, b in combinations(ids, 2):
        one = ids[a]
        other = ids[b] if order is None else ids[b][order]
        # Whether place i of one list has the sentence at place j of the other.
        same = one[:, :, np.newaxis] == other[:, np.newaxis, :]
        so_far = same.cumsum(axis=1, dtype=np.int16)
        common = so_far.cumsum(axis=2, dtype=np.int16)  # at depths i and j
        counts.append(common.diagonal(axis1=1, axis2=2))
    return np.stack(counts, axis=1)


def jaccard(counts: np.ndarray) -> np.ndarray:
    """The Jaccard index of two lists, float64[...].

    From what `shared` counts: int[..., k].
    """
    k = counts.shape[-1]
    in_both = counts[..., -1]
    in_either = 2 * k - in_both
    return in_both / in_either


def rank_biased_overlap(counts: np.ndarray, p: float = 0.9) -> np.ndarray:
    """Rank-biased overlap of two lists of k, float64[...], from `shared`.

    By Webber, Moffat and Zobel. The mean of the overlaps at each depth; weights fall by
    a factor `p` from depth to depth.
    """
    k = counts.shape[-1]
    depths = np.arange(1, k + 1)
    overlaps = counts / depths
    weights = p**depths
    return overlaps @ weights / weights.sum()
