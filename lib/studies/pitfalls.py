"""Study 7, part 1: pairs of texts, what normalization does to cosines, and what follows for the paper's claims.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3, table 2. The measures
are in `lib.similarity`. A finding has the claim and its part as its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import rankdata

from lib import corpora, similarity, stats, tasks
from lib.embedders.base import Embeddings
from lib.run.cluster import in_processes
from lib.run.errors import InputError
from lib.stats import Interval, Sampling
from lib.studies import orders
from lib.studies.orders import UNMEASURED, Found, both_of, defined, joined, kendall, opposed, reversals, steadiness

OFFICIAL = ("STSBenchmark", "SICK-R")  # come with train, dev and test
TRAIN, DEV, TEST = range(3)
SHARES = (0.4, 0.5)  # of the verses of Verse-pairs: where training ends, and dev
SPLITS = 3  # into random halves
# Kinds of embedders as in the paper: its complex ones and its plain averages, or those of the same kind.
GLOVE = ("glove-840b-300d", "glove-6b-300d", "glove-6b-50d")
COMPLEX = ("infersent-v1", "use-trf", "use-dan", "use-multilingual-q8", "sent2vec-wiki-bigrams", "sent2vec-corpus-bi")
AVERAGES = (*GLOVE, "w2v", "w2v-corpus", "Glove-300d", "Word2Vec-300d", "Word2Vec-800d")


# -- pairs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rated:
    """Pairs of texts with scores.

    Attributes
    ----------
    name : str
    left, right : list of str, length n
    gold : float64[n]
    split : int[n]
        TRAIN, DEV or TEST; all TEST where nothing is to be learned.
    drawn : int[n, 2]
        What a resample draws: two documents, of which the pair consists, or one verse or pair, given twice.
    """

    name: str
    left: list[str]
    right: list[str]
    gold: np.ndarray
    split: np.ndarray
    drawn: np.ndarray

    def part(self, split: int) -> Rated:
        """The pairs of one split."""
        rows = np.flatnonzero(self.split == split)
        left, right = ([side[i] for i in rows] for side in (self.left, self.right))
        drawn = np.unique(self.drawn[rows], return_inverse=True)[1].reshape(-1, 2)
        return Rated(self.name, left, right, self.gold[rows], self.split[rows], drawn)

    @property
    def texts(self) -> list[str]:
        """Every text once, in order."""
        return list(dict.fromkeys([*self.left, *self.right]))

    @property
    def units(self) -> np.ndarray:
        """What a resample draws from."""
        return np.unique(self.drawn)

    def rows(self, units: np.ndarray) -> np.ndarray:
        """The pairs of some units, a pair as often as both of its units were drawn together."""
        count = np.bincount(units, minlength=self.drawn.max() + 1)
        first, second = self.drawn.T
        times = np.where(first == second, count[first], count[first] * count[second])
        return np.repeat(np.arange(len(times)), times)


def rated(name: str, verses: int = 600, seed: int = 0) -> Rated:
    """A set of rated pairs of `lib.tasks`, or "Verse-pairs" (`verse_pairs`)."""
    if name == "Verse-pairs":
        return verse_pairs(verses, seed)
    parts = [tasks.load(name, split) for split in (("train", "dev", "test") if name in OFFICIAL else ("test",))]
    left, right = ([text for part in parts for text in getattr(part, side)] for side in ("left", "right"))
    gold = np.concatenate([part.score for part in parts])
    split = np.repeat(np.arange(3 - len(parts), 3), [len(part) for part in parts])
    pairs = np.arange(len(gold))
    drawn = np.column_stack([pairs, pairs]) if parts[0].ids is None else np.array(parts[0].ids)
    return Rated(name, left, right, gold, split, drawn)


def verse_pairs(verses: int, seed: int) -> Rated:
    """Young's verse with, in Weymouth's words, the same verse (2), the next one (1), and one from elsewhere (0)."""
    young, weymouth = (_verses(f"bible-gospels:{name}") for name in ("ylt", "wmth"))
    both = np.array([group for group in young if group in weymouth])
    following = np.array([group for group in weymouth if group in young])
    after = dict(pairwise(following))
    both = np.array([group for group in both if group in after])
    rng = np.random.default_rng(seed)
    count = min(verses, len(both) // 2)
    chosen, elsewhere = rng.permutation(both)[: 2 * count].reshape(2, count)
    others = (chosen, np.array([after[group] for group in chosen]), elsewhere)
    left = [young[group] for _ in others for group in chosen]
    right = [weymouth[group] for some in others for group in some]
    gold = np.repeat([2.0, 1.0, 0.0], len(chosen))
    place = np.tile(np.arange(len(chosen)), 3)
    split = np.searchsorted(np.array(SHARES) * len(chosen), place, side="right")
    return Rated("Verse-pairs", left, right, gold, split, np.column_stack([place, place]))


def _verses(name: str) -> dict[int, str]:
    corpus = corpora.load(name)
    return {group: text for text, group in zip(corpus.sentences, corpus.groups.tolist(), strict=True) if group >= 0}


# -- cosines --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Judged:
    """What embedders say of the tested pairs of a set, two ways of each: raw and z for cosines.

    Attributes
    ----------
    pairs : Rated
        The tested ones, n of them.
    names : list of str, length e
    said : float64[n, 2, e]
        Similarities as the embeddings are, and z-normalized over the tested pairs, or by training pairs where learned.
    """

    pairs: Rated
    names: list[str]
    said: np.ndarray

    def only(self, names: Sequence[str]) -> Judged:
        """Some of the embedders."""
        return Judged(self.pairs, list(names), self.said[:, :, [self.names.index(name) for name in names]])

    def interval(self, statistic: Callable, sampling: Sampling, method: str = "normal", **options: bool) -> Interval:
        """Of ``statistic(r)``, r[2, e] being Pearson's correlations; what pairs are made of is drawn."""

        def of_units(units: np.ndarray) -> np.ndarray:
            rows = self.pairs.rows(units)
            return statistic(pearsons(self.said[rows], self.pairs.gold[rows]))

        return stats.bootstrap(of_units, self.pairs.units, sampling=sampling, method=method, **options)

    def in_halves(self, statistic: Callable, sampling: Sampling, method: str = "normal") -> Interval:
        """Of ``statistic(a, b)`` of the correlations on two halves of the units, mean over random splits."""
        units = self.pairs.units
        rng = np.random.default_rng(sampling.seed)
        halves = np.array([rng.permutation(len(units)) % 2 for _ in range(SPLITS)])

        def of_units(drawn: np.ndarray) -> np.ndarray:
            found = []
            for half in halves:
                rows = [self.pairs.rows(drawn[half[drawn] == side]) for side in (0, 1)]
                a, b = (pearsons(self.said[some], self.pairs.gold[some]) for some in rows)
                found += [statistic(a, b), statistic(b, a)]
            return np.mean(found, axis=0)

        return stats.bootstrap(of_units, units, sampling=sampling, method=method)


def judge(pairs: Rated, encoders: Mapping[str, Callable[[Sequence[str]], Embeddings]]) -> Judged:
    """The cosines of the tested pairs by every embedder that tells them apart; InputError where none does."""
    test, found = pairs.split == TEST, {}
    for name, encode in encoders.items():
        left, right = (side[test] for side in sides(encode, pairs))
        both = np.stack([similarity.similarities(left, right, how) for how in (None, "z")], axis=1)
        if np.ptp(both, axis=0).min() > 1e-9:
            found[name] = both
    if not found:
        raise InputError(f"{pairs.name}: every embedder finds all pairs equally similar; give others, or another set")
    return Judged(pairs.part(TEST), list(found), np.stack(list(found.values()), axis=2))


def sides(encode: Callable, pairs: Rated) -> list[Embeddings]:
    """The embeddings of both sides; what many pairs share is encoded once."""
    place = {text: i for i, text in enumerate(pairs.texts)}
    vectors = encode(pairs.texts)
    return [vectors[[place[text] for text in side]] for side in (pairs.left, pairs.right)]


def pearsons(columns: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Pearson's correlation of each column, float[n, ...], with the gold scores: float[...]."""
    centered, gold = columns - columns.mean(axis=0), gold - gold.mean()
    lengths = np.sqrt((centered**2).sum(axis=0) * (gold**2).sum())
    return np.tensordot(gold, centered, 1) / lengths


def table_2(judged: Judged, sampling: Sampling) -> pd.DataFrame:
    """Rows set, embedder, what (raw, z, gain), value, low, high, those with the lowest raw score first."""
    found = judged.interval(lambda r: np.stack([*r, r[1] - r[0]]), sampling)
    rows = [
        (judged.pairs.name, judged.names[i], what, *(bound[j, i] for bound in found))
        for i in np.argsort(found.estimate[0], kind="stable")
        for j, what in enumerate(("raw", "z", "gain"))
    ]
    return pd.DataFrame(rows, columns=["set", "embedder", "what", "value", "low", "high"])


def narrowing(r: np.ndarray) -> float:
    """The log of the standard deviation over embedders after normalization over that before; below 0 is narrower."""
    return float(np.log(r[1].std() / r[0].std()))


def spread(judged: Judged, sampling: Sampling) -> pd.DataFrame:
    """`narrowing` of all embedders, without the plain averages, and without each in turn.

    Rows set, without, value, low, high, constant (whether the value has no interval, as the paper's).
    """
    found = narrowings(judged, list(_left_out(judged.names).values()), sampling)
    return _spread(judged.pairs.name, judged.names, np.transpose(found), constant=False)


def published_spread(scores: pd.DataFrame) -> pd.DataFrame:
    """As `spread`, of the paper's table 2: columns none and z-norm, indexed by encoder."""
    kept = [scores.drop(some) for some in _left_out(list(scores.index)).values()]
    found = [[narrowing(some[["none", "z-norm"]].to_numpy().T)] * 3 for some in kept]
    return _spread("the paper's table 2", list(scores.index), found, constant=True)


def _left_out(names: Sequence[str]) -> dict[str, list[str]]:
    averages = [name for name in names if name in AVERAGES]
    return {"none": [], "plain averages": averages} | {name: [name] for name in names}


def _spread(name: str, names: Sequence[str], found: Sequence[Sequence[float]], constant: bool) -> pd.DataFrame:
    table = pd.DataFrame(found, columns=["value", "low", "high"])
    return table.assign(set=name, without=list(_left_out(names)), constant=constant)


def narrowings(judged: Judged, left_out: Sequence[Sequence[str]], sampling: Sampling) -> Interval:
    """`narrowing` without some of the embedders, once for each of the lists that are left out."""
    kept = [[i for i, name in enumerate(judged.names) if name not in some] for some in left_out]
    return judged.interval(lambda r: np.array([narrowing(r[:, some]) for some in kept]), sampling)


# -- other measures than the cosine ---------------------------------------------------------------


def measures(left: Embeddings, right: Embeddings) -> np.ndarray:
    """Four similarities of each pair, float64[n, 4]: cosine, dot product, negative Euclidean and Manhattan distance."""
    product = left.multiply(right) if sp.issparse(left) else left * right
    difference = left - right
    squared = difference.multiply(difference) if sp.issparse(left) else difference**2
    return np.column_stack(
        [
            similarity.similarities(left, right),
            product.sum(axis=1),
            -np.sqrt(squared.sum(axis=1)),
            -abs(difference).sum(axis=1),
        ]
    ).astype(np.float64)


def of_measures(pairs: Rated, encoders: Mapping[str, Callable], sampling: Sampling) -> Found:
    """The claim on other measures: the cosine less the best alternative, chosen on another half; mean of embedders."""
    test = pairs.split == TEST
    each = (sides(encode, pairs) for encode in encoders.values())
    said = np.stack([measures(left[test], right[test]) for left, right in each], axis=2)

    def ahead(chosen_on: np.ndarray, tested_on: np.ndarray) -> float:
        best = chosen_on[1:].argmax(axis=0)
        return float((tested_on[0] - np.take_along_axis(tested_on[1:], best[None], 0)[0]).mean())

    found = Judged(pairs.part(TEST), list(encoders), said).in_halves(ahead, sampling)
    width = found.high - found.low
    claim = "pitfalls-cosine-not-special"
    return {(claim, "precise"): Interval(width, width, width), (claim, "mean"): found}


def of_words(encode: Callable, sampling: Sampling) -> Found:
    """The claim on WordSim-353: the gain of word vectors that know all words, z-normalized over the words."""
    gain = judge(rated("WS353"), {"words": encode}).interval(lambda r: r[1, 0] - r[0, 0], sampling)
    return {("pitfalls-ws353-lu", part): gain for part in ("large", "size")}


# -- a similarity that is learned -----------------------------------------------------------------


def learn(pairs: Rated, encoders: Mapping[str, Callable], method: str) -> Judged:
    """What a learned similarity says of the tested pairs, without and with normalization by the training pairs."""
    jobs = ((pairs.gold, pairs.split, *sides(encode, pairs), method) for encode in encoders.values())
    return Judged(pairs.part(TEST), list(encoders), np.stack(list(in_processes(_learned, jobs)), axis=2))


def _learned(gold: np.ndarray, split: np.ndarray, left: Embeddings, right: Embeddings, method: str) -> np.ndarray:
    parts = [similarity.Pairs(left[split == part], right[split == part], gold[split == part]) for part in range(3)]
    return np.stack([similarity.regress(*parts, method, normalize) for normalize in (False, True)], axis=1)


# -- findings -------------------------------------------------------------------------------------


def of_cosines(judged: Judged, sampling: Sampling) -> Found:
    """The claims on table 2: what the paper says of nine encoders on STS Benchmark."""
    ranked = replace(judged.pairs, gold=rankdata(judged.pairs.gold))
    by_rank = Judged(ranked, judged.names, rankdata(judged.said, axis=0))
    normal = partial(judged.interval, sampling=sampling)
    found = {
        ("pitfalls-ucp-spread-raw", "range"): normal(lambda r: np.ptp(r[0]), method="bca"),
        ("pitfalls-ucp-spread-shrinks", ""): narrowings(judged, [[name] for name in judged.names], sampling),
        ("pitfalls-ucp-worst-catch-up", "catch up"): judged.in_halves(
            lambda a, b: stats.spearman(a[0], b[1] - b[0]), sampling, "fisher"
        ),
        ("pitfalls-ucp-spearman-same-trend", "spread"): by_rank.interval(narrowing, sampling),
        ("pitfalls-ucp-spearman-same-trend", "signs"): opposed(
            *(one.interval(lambda r: r[1] - r[0], sampling, holm=True) for one in (judged, by_rank))
        ),
        ("pitfalls-ucp-unfair-order", "reversals"): both_of(normal(reversals, holm=True)),
        ("pitfalls-ucp-unfair-order", "agreement"): judged.in_halves(steadiness, sampling),
    }
    glove = next((name for name in GLOVE if name in judged.names), None)
    gain = [UNMEASURED] * 2
    if glove:
        gain = [one.only([glove]).interval(lambda r: r[1, 0] - r[0, 0], sampling) for one in (judged, by_rank)]
    found["pitfalls-ucp-worst-catch-up", "GloVe"], found["pitfalls-ucp-spearman-same-trend", "GloVe"] = gain
    return found | _complex_gap(judged, sampling)


def _complex_gap(judged: Judged, sampling: Sampling) -> Found:
    """The lead of complex embedders over plain averages; no ratio where the lead before is not above 0."""
    kinds = [[i for i, name in enumerate(judged.names) if name in kind] for kind in (COMPLEX, AVERAGES)]
    if not all(kinds):
        return dict.fromkeys((("pitfalls-ucp-complex-gap", part) for part in ("narrower", "much")), UNMEASURED)
    of = partial(judged.interval, sampling=sampling)
    lead = lambda r: r[:, kinds[0]].mean(axis=1) - r[:, kinds[1]].mean(axis=1)  # noqa: E731
    before = of(lambda r: lead(r)[0])
    ratio = of(lambda r: lead(r)[1] / lead(r)[0])
    return {
        ("pitfalls-ucp-complex-gap", "narrower"): of(lambda r: np.diff(lead(r))[0]),
        ("pitfalls-ucp-complex-gap", "much"): defined(ratio, before),
    }


def of_learned(cosines: Judged, learned: Judged, train_mean: float, sampling: Sampling) -> Found:
    """The claims on a learned similarity beside UCP, on the same tested pairs."""
    names = [name for name in learned.names if name in cosines.names]
    cosines, learned = cosines.only(names), learned.only(names)
    both = Judged(cosines.pairs, names, np.concatenate([cosines.said, learned.said], axis=1))
    gains = lambda r: (r[1] - r[0], r[3] - r[2])  # noqa: E731 - of the cosine, of what is learned
    of = partial(both.interval, sampling=sampling)
    gold = cosines.pairs.gold

    def useful(units: np.ndarray) -> float:
        rows = cosines.pairs.rows(units)
        errors = ((learned.said[rows, 0] - gold[rows, None]) ** 2).mean(axis=0)
        return float((errors < ((gold[rows] - train_mean) ** 2).mean()).mean())

    noise = of(lambda r: np.stack(gains(r)))
    variance = lambda r: np.var(gains(r)[0]) - np.var(gains(r)[1])  # noqa: E731
    sd = (noise.high - noise.low) / (2 * 1.96)
    bias = (sd[0] ** 2).mean() - (sd[1] ** 2).mean()
    raw = of(variance)
    tau = both.in_halves(lambda a, b: kendall(a[2], b[3]) - kendall(a[0], b[1]), sampling)
    return {
        ("pitfalls-supervised-most-profit-stsb", ""): orders.share(of(lambda r: (gains(r)[1] > 0).mean())),
        ("pitfalls-supervised-gain-smaller", "smaller"): of(lambda r: gains(r)[0].mean() - gains(r)[1].mean()),
        ("pitfalls-supervised-gain-smaller", "much"): defined(
            of(lambda r: gains(r)[1].mean() / gains(r)[0].mean()), of(lambda r: gains(r)[0].mean())
        ),
        ("pitfalls-learned-instead-of-ucp", "steadier"): joined([tau, Interval(*(bound - bias for bound in raw))]),
        ("pitfalls-learned-instead-of-ucp", "useful"): stats.bootstrap(
            useful, cosines.pairs.units, sampling=sampling, method="normal"
        ),
    }


# The paper's recommendations (section 4; the last one is the end of section 3), where this lesson follows each, and
# the claim behind it.
RECOMMENDATIONS = (
    ("compare embeddings of the same size", "averages of exactly an encoder's size", "pitfalls-equal-size"),
    ("treat normalization as a hyperparameter", "chosen in each fold", "pitfalls-normalization-hyperparameter"),
    ("use several classifiers", "logistic regression, SVM and MLP", "pitfalls-classifier-rank-instability"),
    ("learn the similarity in place of UCP", "ridge or softmax regression", "pitfalls-learned-instead-of-ucp"),
    ("normalize where UCP cannot be avoided", "raw and normalized side by side", "pitfalls-ucp-spread-shrinks"),
    ("use harder transfer tasks", "the best simple embedder beside the best other", "pitfalls-simple-compete"),
    ("expect probing to hang on the encoders", "two kinds of embedders", "pitfalls-probing-set-dependent"),
)


def checklist(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The paper's recommendations with the verdict on the claim behind each: recommended, here, claim, verdict."""
    table = pd.DataFrame(RECOMMENDATIONS, columns=["recommended", "here", "id"])
    return table.merge(verdicts[["id", "claim", "verdict"]], on="id").drop(columns="id")
