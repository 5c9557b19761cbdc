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

TRAIN, DEV, TEST = range(3)
SPREAD = ["value", "low", "high", "set", "without", "constant"]
SHARES = (0.4, 0.5)  # of the verses of Verse-pairs: where training ends, and dev
# Kinds of embedders as in the paper: its complex ones and its plain averages, or those of the same kind.
GLOVE = ("glove-840b-300d", "glove-6b-300d", "glove-6b-50d")
COMPLEX = ("infersent-v1", "use-trf", "use-dan", "use-multilingual-q8", "sent2vec-wiki-bigrams", "sent2vec-corpus-bi")
AVERAGES = (*GLOVE, "w2v", "w2v-corpus", "Glove-300d", "Word2Vec-300d", "Word2Vec-800d")


# -- pairs ----------------------------------------------------------------------------------------


def rated(name: str, verses: int = 600, seed: int = 0) -> pd.DataFrame:
    """A set of rated pairs of `lib.tasks`, or "Verse-pairs" (`verse_pairs`).

    Columns left, right, gold, split (TRAIN, DEV or TEST; all TEST where nothing is to be learned), first and second:
    the units that a resample draws, two documents, of which the pair consists, or one verse or pair, given twice.
    """
    if name == "Verse-pairs":
        return verse_pairs(verses, seed)
    parts = [tasks.load(name, split) for split in tasks.splits(name)]
    tables = [pd.DataFrame({"left": part.left, "right": part.right, "gold": part.score}) for part in parts]
    table = pd.concat(tables, keys=range(3 - len(parts), 3), names=["split", None]).reset_index("split")
    table = table.reset_index(drop=True)
    if parts[0].ids is None:
        return table.assign(first=table.index, second=table.index)
    first, second = np.transpose(parts[0].ids)
    return table.assign(first=first, second=second)


def verse_pairs(verses: int, seed: int) -> pd.DataFrame:
    """Young's verse with, in Weymouth's words, the same verse (2), the next one (1), and one from elsewhere (0)."""
    young, weymouth = (_verses(f"bible-gospels:{name}") for name in ("ylt", "wmth"))
    after = dict(pairwise([group for group in weymouth if group in young]))
    both = np.array([group for group in young if group in after])
    rng = np.random.default_rng(seed)
    count = min(verses, len(both) // 2)
    chosen, elsewhere = rng.permutation(both)[: 2 * count].reshape(2, count)
    place = np.arange(count)
    split = np.searchsorted(np.array(SHARES) * count, place, side="right")
    left = [young[group] for group in chosen]
    tables = []
    for gold, others in ((2.0, chosen), (1.0, [after[group] for group in chosen]), (0.0, elsewhere)):
        columns = {"left": left, "right": [weymouth[group] for group in others], "gold": gold}
        tables.append(pd.DataFrame(columns).assign(split=split, first=place, second=place))
    return pd.concat(tables, ignore_index=True)


def _verses(name: str) -> dict[int, str]:
    corpus = corpora.load(name)
    return {group: text for text, group in zip(corpus.sentences, corpus.groups.tolist(), strict=True) if group >= 0}


# -- cosines --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scored:
    """Similarities of the tested pairs of a set by several embedders, each in two ways: raw and z for cosines.

    Attributes
    ----------
    pairs : DataFrame
        The tested ones, n of them.
    names : list of str, length e
    similarities : float64[n, 2, e]
        Of the embeddings as they are, and z-normalized over the tested pairs, or by training pairs where learned.
    sampling : Sampling
    """

    pairs: pd.DataFrame
    names: list[str]
    similarities: np.ndarray
    sampling: Sampling

    @property
    def scores(self) -> Resampled:
        """Pearson's correlations with the gold scores, r[2, e]; what pairs are made of is drawn."""
        gold = self.pairs["gold"].to_numpy()
        drawn = np.unique(self.pairs[["first", "second"]], return_inverse=True)[1].reshape(-1, 2)

        def score(times: np.ndarray) -> np.ndarray:
            rows = np.repeat(np.arange(len(times)), times)
            return pearsons(self.similarities[rows], gold[rows])

        return Resampled(drawn, score, self.sampling)


def ucp(
    pairs: pd.DataFrame, encoders: Mapping[str, Callable[[Sequence[str]], Embeddings]], sampling: Sampling
) -> Scored:
    """The cosines of the tested pairs by every embedder that tells them apart; InputError where none does."""
    test, found = (pairs["split"] == TEST).to_numpy(), {}
    for name, encode in encoders.items():
        left, right = (side[test] for side in sides(encode, pairs))
        both = np.stack([similarity.similarities(left, right, how) for how in (None, "z")], axis=1)
        if np.ptp(both, axis=0).min() > 1e-9:
            found[name] = both
    if not found:
        raise InputError("rated_names: every embedder finds all pairs equally similar; give others, or another set")
    return Scored(pairs[test], list(found), np.stack(list(found.values()), axis=2), sampling)


def sides(encode: Callable, pairs: pd.DataFrame) -> list[Embeddings]:
    """The embeddings of both sides; what many pairs share is encoded once."""
    unique = texts(pairs)
    vectors, place = encode(unique), pd.Index(unique)
    return [vectors[place.get_indexer(pairs[side])] for side in ("left", "right")]


def texts(pairs: pd.DataFrame) -> list[str]:
    """Every text once, in order."""
    return pd.concat([pairs["left"], pairs["right"]]).unique().tolist()


def table_2(scored: Scored, name: str) -> pd.DataFrame:
    """Rows set, embedder, what (raw, z, gain), value, low, high, those with the lowest raw score first."""
    found = np.array(scored.scores.interval(lambda r: np.stack([*r, r[1] - r[0]])))
    order = found[0, 0].argsort(kind="stable")
    found = Interval(*found[:, :, order].transpose(0, 2, 1))
    return frame(found, set=[name], embedder=[scored.names[i] for i in order], what=("raw", "z", "gain"))


def narrowing(r: np.ndarray) -> float:
    """The log of the standard deviation over embedders after normalization over that before; below 0 is narrower."""
    return float(np.log(r[1].std() / r[0].std()))


def _narrowings(r: np.ndarray, names: Sequence[str], left_out: Sequence[Sequence[str]]) -> np.ndarray:
    """`narrowing` without some of the embedders, once for each of the lists that are left out."""
    kept = [[i for i, name in enumerate(names) if name not in some] for some in left_out]
    return np.array([narrowing(r[:, some]) for some in kept])


def spread(scored: Scored, name: str) -> pd.DataFrame:
    """`narrowing` on a set with a name: of all embedders, without the plain averages, and without each in turn.

    Rows value, low, high, set, without, constant (whether the value has no interval, as the paper's).
    """
    left_out = _left_out(scored.names)
    found = scored.scores.interval(lambda r: _narrowings(r, scored.names, left_out.values()))
    return frame(found, without=list(left_out)).assign(set=name, constant=False)[SPREAD]


def published_spread(scores: pd.DataFrame) -> pd.DataFrame:
    """As `spread`, of the paper's table 2: columns none and z-norm, indexed by encoder."""
    left_out = _left_out(scores.index)
    found = _narrowings(scores[["none", "z-norm"]].to_numpy().T, scores.index, left_out.values())
    table = frame(Interval(found, found, found), without=list(left_out))
    return table.assign(set="the paper's table 2", constant=True)[SPREAD]


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


def of_measures(pairs: pd.DataFrame, encoders: Mapping[str, Callable], sampling: Sampling) -> Found:
    """The claim on other measures: the cosine less the best alternative, chosen on another half; mean of embedders."""
    test = (pairs["split"] == TEST).to_numpy()
    both = (sides(encode, pairs) for encode in encoders.values())
    values = np.stack([measures(left[test], right[test]) for left, right in both], axis=2)

    def ahead(chosen_on: np.ndarray, tested_on: np.ndarray) -> float:
        best = 1 + chosen_on[1:].argmax(axis=0)
        return (tested_on[0] - tested_on[best, np.arange(len(best))]).mean()

    found = Scored(pairs[test], list(encoders), values, sampling).scores.in_halves(ahead)
    width = found.high - found.low
    claim = "pitfalls-cosine-not-special"
    return {(claim, "precise"): Interval(width, width, width), (claim, "mean"): found}


def of_words(encode: Callable, sampling: Sampling) -> Found:
    """The claim on WordSim-353: the gain of word vectors that know all words, z-normalized over the words."""
    gain = ucp(rated("WS353"), {"words": encode}, sampling).scores.interval(lambda r: r[1, 0] - r[0, 0])
    return {("pitfalls-ws353-lu", part): gain for part in ("large", "size")}


# -- a similarity that is learned -----------------------------------------------------------------


def learn(pairs: pd.DataFrame, encoders: Mapping[str, Callable], method: str, sampling: Sampling) -> Scored:
    """A similarity of the tested pairs that is learned, without and with normalization by the training pairs."""
    gold, split = (pairs[column].to_numpy() for column in ("gold", "split"))
    jobs = ((gold, split, *sides(encode, pairs), method) for encode in encoders.values())
    values = np.stack(list(in_processes(_learned, jobs)), axis=2)
    return Scored(pairs[pairs["split"] == TEST], list(encoders), values, sampling)


def _learned(gold: np.ndarray, split: np.ndarray, left: Embeddings, right: Embeddings, method: str) -> np.ndarray:
    parts = [(left[split == part], right[split == part], gold[split == part]) for part in (TRAIN, DEV, TEST)]
    return np.stack([similarity.regress(*parts, method, normalize) for normalize in (False, True)], axis=1)


# -- findings -------------------------------------------------------------------------------------


def of_cosines(scored: Scored) -> Found:
    """The claims on table 2: what the paper says of nine encoders on STS Benchmark."""
    ranked = scored.pairs.assign(gold=rankdata(scored.pairs["gold"]))
    scores, names = scored.scores, scored.names
    by_rank = replace(scored, pairs=ranked, similarities=rankdata(scored.similarities, axis=0)).scores
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


def of_learned(cosines: Scored, learned: Scored, train_mean: float) -> Found:
    """The claims on a learned similarity beside UCP, by the same embedders on the same tested pairs."""
    both = np.concatenate([cosines.similarities, learned.similarities], axis=1)
    scores = replace(cosines, similarities=both).scores
    gold = cosines.pairs["gold"].to_numpy()

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
