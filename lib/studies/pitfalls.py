"""Study 7, part 1: pairs of texts, what normalization does to cosines, and what follows for the paper's claims.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3, table 2. The measures
are in `lib.similarity`. A finding has the claim and its part as its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from lib.studies.orders import UNMEASURED, Found, Resampled, defined, frame, joined, kendall, opposed, reversals
from lib.studies.scores import pearsons

OFFICIAL = ("STSBenchmark", "SICK-R")  # come with train, dev and test
TRAIN, DEV, TEST = range(3)
SHARES = (0.4, 0.5)  # of the verses of Verse-pairs: where training ends, and dev
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
    after = dict(pairwise([group for group in weymouth if group in young]))
    both = np.array([group for group in young if group in after])
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
    similarities : float64[n, 2, e]
        Similarities as the embeddings are, and z-normalized over the tested pairs, or by training pairs where learned.
    sampling : Sampling
    """

    pairs: Rated
    names: list[str]
    similarities: np.ndarray
    sampling: Sampling

    @property
    def scores(self) -> Resampled:
        """Pearson's correlations with the gold scores, r[2, e]; what pairs are made of is drawn."""

        def score(times: np.ndarray) -> np.ndarray:
            rows = np.repeat(np.arange(len(times)), times)
            return pearsons(self.similarities[rows], self.pairs.gold[rows])

        return Resampled(self.pairs.drawn, score, self.sampling)


def judge(pairs: Rated, encoders: Mapping[str, Callable[[Sequence[str]], Embeddings]], sampling: Sampling) -> Judged:
    """The cosines of the tested pairs by every embedder that tells them apart; InputError where none does."""
    test, found = pairs.split == TEST, {}
    for name, encode in encoders.items():
        left, right = (side[test] for side in sides(encode, pairs))
        both = np.stack([similarity.similarities(left, right, how) for how in (None, "z")], axis=1)
        if np.ptp(both, axis=0).min() > 1e-9:
            found[name] = both
    if not found:
        raise InputError(f"{pairs.name}: every embedder finds all pairs equally similar; give others, or another set")
    return Judged(pairs.part(TEST), list(found), np.stack(list(found.values()), axis=2), sampling)


def sides(encode: Callable, pairs: Rated) -> list[Embeddings]:
    """The embeddings of both sides; what many pairs share is encoded once."""
    place = {text: i for i, text in enumerate(pairs.texts)}
    vectors = encode(pairs.texts)
    return [vectors[[place[text] for text in side]] for side in (pairs.left, pairs.right)]


def table_2(judged: Judged) -> pd.DataFrame:
    """Rows set, embedder, what (raw, z, gain), value, low, high, those with the lowest raw score first."""
    found = np.array(judged.scores.interval(lambda r: np.stack([*r, r[1] - r[0]])))
    order = found[0, 0].argsort(kind="stable")
    found = Interval(*found[:, :, order].transpose(0, 2, 1))
    names = [judged.names[i] for i in order]
    return frame(found, set=[judged.pairs.name], embedder=names, what=("raw", "z", "gain"))


def narrowing(r: np.ndarray) -> float:
    """The log of the standard deviation over embedders after normalization over that before; below 0 is narrower."""
    return float(np.log(r[1].std() / r[0].std()))


def _narrowings(r: np.ndarray, names: Sequence[str], left_out: Sequence[Sequence[str]]) -> np.ndarray:
    """`narrowing` without some of the embedders, once for each of the lists that are left out."""
    kept = [[i for i, name in enumerate(names) if name not in some] for some in left_out]
    return np.array([narrowing(r[:, some]) for some in kept])


def spread(judged: Judged) -> pd.DataFrame:
    """`narrowing` of all embedders, without the plain averages, and without each in turn.

    Rows set, without, value, low, high, constant (whether the value has no interval, as the paper's).
    """
    left_out = _left_out(judged.names)
    found = judged.scores.interval(lambda r: _narrowings(r, judged.names, left_out.values()))
    table = pd.DataFrame(np.transpose(found), columns=["value", "low", "high"])
    return table.assign(set=judged.pairs.name, without=list(left_out), constant=False)


def published_spread(scores: pd.DataFrame) -> pd.DataFrame:
    """As `spread`, of the paper's table 2: columns none and z-norm, indexed by encoder."""
    left_out = _left_out(scores.index)
    found = _narrowings(scores[["none", "z-norm"]].to_numpy().T, scores.index, left_out.values())
    table = pd.DataFrame({"value": found, "low": found, "high": found, "set": "the paper's table 2"})
    return table.assign(without=list(left_out), constant=True)


def _left_out(names: Sequence[str]) -> dict[str, list[str]]:
    averages = [name for name in names if name in AVERAGES]
    return {"none": [], "plain averages": averages} | {name: [name] for name in names}


# -- other measures than the cosine ---------------------------------------------------------------


def measures(left: Embeddings, right: Embeddings) -> np.ndarray:
    """Four similarities of each pair, float64[n, 4]: cosine, dot product, negative Euclidean and Manhattan distance."""
    times = sp.csr_array.multiply if sp.issparse(left) else np.multiply
    difference = left - right
    found = [
        similarity.similarities(left, right),
        times(left, right).sum(axis=1),
        -np.sqrt(times(difference, difference).sum(axis=1)),
        -abs(difference).sum(axis=1),
    ]
    return np.column_stack(found).astype(np.float64)


def of_measures(pairs: Rated, encoders: Mapping[str, Callable], sampling: Sampling) -> Found:
    """The claim on other measures: the cosine less the best alternative, chosen on another half; mean of embedders."""
    test = pairs.split == TEST
    each = (sides(encode, pairs) for encode in encoders.values())
    similarities = np.stack([measures(left[test], right[test]) for left, right in each], axis=2)

    def ahead(chosen_on: np.ndarray, tested_on: np.ndarray) -> float:
        best = 1 + chosen_on[1:].argmax(axis=0)
        return (tested_on[0] - tested_on[best, np.arange(len(best))]).mean()

    found = Judged(pairs.part(TEST), list(encoders), similarities, sampling).scores.in_halves(ahead)
    width = found.high - found.low
    claim = "pitfalls-cosine-not-special"
    return {(claim, "precise"): Interval(width, width, width), (claim, "mean"): found}


def of_words(encode: Callable, sampling: Sampling) -> Found:
    """The claim on WordSim-353: the gain of word vectors that know all words, z-normalized over the words."""
    gain = judge(rated("WS353"), {"words": encode}, sampling).scores.interval(lambda r: r[1, 0] - r[0, 0])
    return {("pitfalls-ws353-lu", part): gain for part in ("large", "size")}


# -- a similarity that is learned -----------------------------------------------------------------


def learn(pairs: Rated, encoders: Mapping[str, Callable], method: str, sampling: Sampling) -> Judged:
    """What a learned similarity says of the tested pairs, without and with normalization by the training pairs."""
    jobs = ((pairs.gold, pairs.split, *sides(encode, pairs), method) for encode in encoders.values())
    similarities = np.stack(list(in_processes(_learned, jobs)), axis=2)
    return Judged(pairs.part(TEST), list(encoders), similarities, sampling)


def _learned(gold: np.ndarray, split: np.ndarray, left: Embeddings, right: Embeddings, method: str) -> np.ndarray:
    parts = [similarity.Pairs(left[split == part], right[split == part], gold[split == part]) for part in range(3)]
    return np.stack([similarity.regress(*parts, method, normalize) for normalize in (False, True)], axis=1)


# -- findings -------------------------------------------------------------------------------------


def of_cosines(judged: Judged) -> Found:
    """The claims on table 2: what the paper says of nine encoders on STS Benchmark."""
    ranked = replace(judged.pairs, gold=rankdata(judged.pairs.gold))
    scores, names = judged.scores, judged.names
    by_rank = replace(judged, pairs=ranked, similarities=rankdata(judged.similarities, axis=0)).scores
    found = {
        ("pitfalls-ucp-spread-raw", "range"): scores.interval(lambda r: np.ptp(r[0]), "bca"),
        ("pitfalls-ucp-spread-shrinks", ""): scores.interval(lambda r: _narrowings(r, names, [[x] for x in names])),
        ("pitfalls-ucp-worst-catch-up", "catch up"): scores.in_halves(
            lambda a, b: stats.spearman(a[0], b[1] - b[0]), "fisher"
        ),
        ("pitfalls-ucp-spearman-same-trend", "spread"): by_rank.interval(narrowing),
        ("pitfalls-ucp-spearman-same-trend", "signs"): opposed(
            *(each.interval(lambda r: r[1] - r[0], holm=True) for each in (scores, by_rank))
        ),
        ("pitfalls-ucp-unfair-order", "reversals"): reversals(scores),
        ("pitfalls-ucp-unfair-order", "agreement"): scores.in_halves(orders.steadiness),
    }
    glove = next((names.index(name) for name in GLOVE if name in names), None)
    for claim, each in (("worst-catch-up", scores), ("spearman-same-trend", by_rank)):
        gain = UNMEASURED if glove is None else each.interval(lambda r: r[1, glove] - r[0, glove])
        found[f"pitfalls-ucp-{claim}", "GloVe"] = gain
    # The lead of complex embedders over plain averages; no ratio where the lead before is not above 0.
    kinds = [[i for i, name in enumerate(names) if name in kind] for kind in (COMPLEX, AVERAGES)]
    narrower = much = UNMEASURED
    if all(kinds):
        lead = lambda r: r[:, kinds[0]].mean(axis=1) - r[:, kinds[1]].mean(axis=1)  # noqa: E731
        narrower = scores.interval(lambda r: np.diff(lead(r))[0])
        much = defined(scores.interval(lambda r: lead(r)[1] / lead(r)[0]), scores.interval(lambda r: lead(r)[0]))
    return found | {("pitfalls-ucp-complex-gap", "narrower"): narrower, ("pitfalls-ucp-complex-gap", "much"): much}


def of_learned(cosines: Judged, learned: Judged, train_mean: float) -> Found:
    """The claims on a learned similarity beside UCP, by the same embedders on the same tested pairs."""
    scores = replace(cosines, similarities=np.concatenate([cosines.similarities, learned.similarities], axis=1)).scores
    gold = cosines.pairs.gold

    def gains(r: np.ndarray) -> np.ndarray:
        """Of the cosine, and of what is learned."""
        return r[[1, 3]] - r[[0, 2]]

    def useful(times: np.ndarray) -> float:
        """The share of embedders whose learned similarity is nearer to the gold scores than their mean is."""
        errors = np.average((learned.similarities[:, 0] - gold[:, None]) ** 2, axis=0, weights=times)
        return (errors < np.average((gold - train_mean) ** 2, weights=times)).mean()

    noise = scores.interval(gains)
    deviation = (noise.high - noise.low) / (2 * 1.96)
    bias = np.subtract(*(deviation**2).mean(axis=1))
    spread = scores.interval(lambda r: np.subtract(*gains(r).var(axis=1)))
    tau = scores.in_halves(lambda a, b: kendall(a[2], b[3]) - kendall(a[0], b[1]))
    of_cosine = scores.interval(lambda r: gains(r)[0].mean())
    ratio = scores.interval(lambda r: np.divide(*gains(r).mean(axis=1)[::-1]))
    claim, instead = "pitfalls-supervised-gain-smaller", "pitfalls-learned-instead-of-ucp"
    return {
        ("pitfalls-supervised-most-profit-stsb", ""): orders.share(scores.interval(lambda r: (gains(r)[1] > 0).mean())),
        (claim, "smaller"): scores.interval(lambda r: np.subtract(*gains(r).mean(axis=1))),
        (claim, "much"): defined(ratio, of_cosine),
        (instead, "steadier"): joined([tau, Interval(*(bound - bias for bound in spread))]),
        (instead, "useful"): replace(scores, score=useful).interval(float),
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
