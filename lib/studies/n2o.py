"""Study 1: which embedders are near copies, and the evidence of its verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from lib import embedders, n2o, stats, store
from lib.catalog import published
from lib.corpora import Corpus
from lib.embedders.base import Embeddings
from lib.neighbors import exact

# Beginnings of the names of embedders that share their method and their training text.
NEAR_COPIES = (
    ("tfidf", "bow"), ("glove-6b",), ("glove-840b",), ("fasttext-cc",), ("fasttext-wiki",), ("elmo-orig",),
    ("minilm",), ("bert-base",), ("bert-ft",), ("gpt",), ("w2v-corpus", "fasttext-corpus"), ("sent2vec-corpus",),
)  # fmt: skip
ORIGINS = ("pretrained", "trained here", "word counts")
ELMO = ("elmo-small", "elmo-orig", "elmo-orig-5.5b")
TOKENS = {"bert-base-cls": "bert-base-avg", "bert-ft-cls": "bert-ft-avg", "gpt-last": "gpt-avg"}  # and averages
USE = ("use-dan", "use-trf")
AVERAGES = ("wordllama", "sent2vec-corpus-uni")  # beside the word vectors without a suffix
ORDER_AWARE = ("random-lstm", "minilm", "use", "sent2vec-corpus-bi", "pv-", "elmo", "bert", "gpt", "infersent")

# What is measured in place of an embedder of the paper that is not here; each half of the corpus is a training text.
STAND_INS = {
    "glove-6b-100d": "w2v-corpus of half 1",
    "glove-6b-300d": "w2v-corpus-300d of half 1",
    "glove-840b-300d": "w2v-corpus-300d of half 2",
    "fasttext-cc": "fasttext-corpus of half 1",
    "fasttext-wiki": "fasttext-corpus of half 2",
    "fasttext-cc-sub": "fasttext-corpus-sub of half 1",
    "fasttext-wiki-sub": "fasttext-corpus-sub of half 2",
    "bert-base-cls": "minilm-cls",
    "bert-base-avg": "minilm-avg",
}


# -- kinds of embedders -------------------------------------------------------------------------


def origin(name: str) -> str:
    """Where what an embedder has learned comes from: one of `ORIGINS`; a random network adds nothing to its words."""
    kinds = {"sparse": "word counts", "trained on the corpus": "trained here"}
    return kinds.get(embedders.family(name.split(" of half")[0]), "pretrained")


def near_copies(a: str, b: str) -> bool:
    """Whether two embedders share their method and their training text."""
    return any(a.startswith(beginnings) and b.startswith(beginnings) for beginnings in NEAR_COPIES)


def is_order_blind(name: str) -> bool:
    """Whether an embedder gives the same vector to the same words in any order."""
    return not any(part in name for part in ORDER_AWARE)


def is_average(name: str) -> bool:
    """Whether an embedder is the plain average of static word vectors."""
    return name in AVERAGES or ("+" not in name and embedders.composes_words(name))


# -- evidence -----------------------------------------------------------------------------------


def of_halves(corpus: Corpus, queries: np.ndarray, k: int) -> dict[str, np.ndarray]:
    """Neighbors in the whole corpus, int[q, k], by word vectors trained on either half of its documents.

    They stand in for the paper's pairs of one method on two texts, in two sizes, and with and without subwords.
    """
    even = corpus.documents % 2 == 0
    found = {}
    for name in sorted(stand_in for stand_in in STAND_INS.values() if " of half " in stand_in):
        trainer, half = name.split(" of half ")
        text = [corpus.sentences[i] for i in np.flatnonzero(even == (half == "1"))]
        vectors = store.EmbeddingStore().embed(store.fit(embedders.load(trainer), text), corpus)
        found[name] = exact(vectors[queries], vectors, k, exclude=queries).ids
    return found


@dataclass
class Evidence:
    """What the verdicts of study 1 rest on.

    Attributes
    ----------
    ids : mapping from an embedder's name to its neighbors, int[q, k]
    more : the same for embedders that only verdicts need (`of_halves`)
    repeated : mapping from a reading of token overlap to DataFrame[q, embedders], those in `more` among them
    clusters : int[q], equal for queries that are not independent
    sampling : stats.Sampling
    ledger : stats.Ledger
    """

    ids: Mapping[str, np.ndarray]
    more: Mapping[str, np.ndarray]
    repeated: Mapping[str, pd.DataFrame]
    clusters: np.ndarray
    sampling: stats.Sampling
    ledger: stats.Ledger

    def pair(self, a: str, b: str) -> np.ndarray:
        """The overlap of two embedders, float[q]."""
        lists = {**self.ids, **self.more}
        return n2o.overlap(lists[a], lists[b])

    def mean(self, pairs: Iterable[tuple[str, str]]) -> np.ndarray:
        """The mean overlap of some pairs, float[q]."""
        return np.mean([self.pair(a, b) for a, b in pairs], axis=0)

    def typical(self, name: str, others: Iterable[str]) -> np.ndarray:
        """The mean overlap of an embedder with others, itself left out, float[q]."""
        return self.mean((name, other) for other in others if other != name)

    def gains(self, average: str, token: str, others: Iterable[str]) -> dict[str, np.ndarray]:
        """How much more of its neighbors the average of all tokens shares with each other embedder, float[q] each."""
        return {name: self.pair(average, name) - self.pair(token, name) for name in others}

    def judge(self, id: str, part: str, values: Sequence[np.ndarray], analogue: str = "", **options) -> None:
        """Hand over the means of some columns, float[q] each, with their bootstrap intervals over queries."""
        columns = np.column_stack(values)
        found = stats.bootstrap(stats.mean, columns, sampling=self.sampling, clusters=self.clusters, **options)
        self.ledger.interval(id, *found, part=part, analogue=analogue)

    def judge_median(self, id: str, part: str, families: Sequence[Sequence[np.ndarray]], analogue: str = "") -> None:
        """Hand over, for each family of columns float[q], the mean of the first less the median mean of the others."""
        columns = [np.column_stack(family) for family in families]
        options = {"sampling": self.sampling, "clusters": self.clusters, "method": "normal"}  # medians are biased
        found = [stats.bootstrap(_above_median, values, **options) for values in columns]
        self.ledger.interval(id, *np.transpose(found), part=part, analogue=analogue)

    def cast(self, *names: str) -> tuple[list[str], str]:
        """Embedders of the paper; or, where one of them is missing, their stand-ins and what to call them."""
        if all(name in self.ids for name in names):
            return list(names), ""
        stand_ins = [STAND_INS[name] for name in names]
        return stand_ins, ", ".join(stand_ins)

    def averages(self) -> list[str]:
        """The embedders of the run that are plain averages of static word vectors."""
        return [name for name in self.ids if is_average(name)]

    def others(self, *without: str) -> list[str]:
        """The embedders of the run that are no near copies of those named."""
        bare = [name.split(" of half")[0] for name in without]
        return [name for name in self.ids if name not in bare and not any(near_copies(name, one) for one in bare)]


def judge(evidence: Evidence) -> None:
    """Enter into the ledger what the neighbors say of each claim that these embedders can test."""
    claims = [_range, _chance, _averages, _variants, _subwords, _subword_tokens, _tfidf_tokens, _tfidf, _tokens]
    if evidence.ids.keys() >= set(published.load("n2o_table1")["embedder"]):
        claims += [_elmo, _outliers, _gains_with_elmo, _infersent, _use]
    for claim in claims:
        claim(evidence)


def judge_order(ledger: stats.Ledger, vectors: Mapping[str, tuple[Embeddings, ...]], sampling: stats.Sampling) -> None:
    """The claims on word order: `vectors` has for each embedder those of sentences, shuffled, and one word replaced."""
    blind, aware = [], []
    for name, (sentences, shuffled, replaced) in vectors.items():
        to_shuffled = cosines(sentences, shuffled)
        if is_order_blind(name):
            blind.append(np.abs(1 - to_shuffled).max())
        else:
            aware.append(cosines(sentences, replaced) > to_shuffled)
    ledger.identity("n2o-bag-of-words-order", blind, part="permuted")
    shares = stats.bootstrap(stats.mean, np.column_stack(aware), sampling=sampling)
    ledger.interval("n2o-bag-of-words-order", *shares, part="substituted")


def cosines(a: Embeddings, b: Embeddings) -> np.ndarray:
    """The cosine of each row of one array with that of the other, float64[n]; NaN for a zero vector."""
    a, b = (rows.toarray() if hasattr(rows, "toarray") else rows for rows in (a, b))
    a, b = (rows.astype(np.float64) for rows in (a, b))
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def _above_median(columns: np.ndarray) -> float:
    means = columns.mean(axis=0)
    return means[0] - np.median(means[1:])


def _range(evidence: Evidence) -> None:
    values = np.concatenate([evidence.pair(a, b) for a, b in combinations(evidence.ids, 2)])
    some = next(iter(evidence.ids.values()))
    constructed = [n2o.overlap(some, some[:, ::-1]) - 1, n2o.overlap(some, -1 - some)]
    evidence.ledger.identity("n2o-output-range", [(values < 0).sum(), (values > 1).sum(), *np.ravel(constructed)])


def _chance(evidence: Evidence) -> None:
    shared = hypergeom(8_000_000 - 1, 50, 50).pmf(np.arange(51))  # of 50 neighbors in the paper's corpus, by chance
    total = np.ones(1)
    for _ in range(100):
        total = np.convolve(total, shared)
    tail = total[200:].sum()  # 0.04 of 100 times 50
    evidence.ledger.interval("n2o-chance-level", tail, tail, tail, part="tail")
    elsewhere = {name: np.roll(ids, len(ids) // 2, axis=0) for name, ids in evidence.ids.items()}  # unrelated queries
    values = [
        evidence.pair(a, b) - n2o.overlap(evidence.ids[a], elsewhere[b]) for a, b in combinations(evidence.ids, 2)
    ]
    evidence.judge("n2o-chance-level", "pairs", values, analogue="the embedders of this run", holm=True)


def _averages(evidence: Evidence) -> None:
    """Averages against sentence encoders of one origin, each embedder left out in turn."""
    everything, unlike = [], []
    for source in ORIGINS[:2]:
        names = [name for name in evidence.ids if origin(name) == source and "+" not in name]
        averages = [name for name in names if is_average(name)]
        for left_out in ["", *names]:
            inside = list(combinations([name for name in averages if name != left_out], 2))
            encoders = [name for name in names if name not in (*averages, left_out)]
            compared = [list(combinations(encoders, 2)), list(product(averages, encoders))]
            everything += _differences(evidence, inside, compared)
            without_copies = [[pair for pair in pairs if not near_copies(*pair)] for pairs in (inside, *compared)]
            unlike += _differences(evidence, without_copies[0], without_copies[1:])
    what = "averages and encoders, pretrained and trained here apart"
    evidence.judge("n2o-static-averages-alike", "all pairs", everything, what)
    evidence.judge("n2o-static-averages-alike", "unlike pairs", unlike, what)


def _differences(evidence: Evidence, inside: list, compared: list[list]) -> list[np.ndarray]:
    return [evidence.mean(inside) - evidence.mean(pairs) for pairs in compared if inside and pairs]


def _variants(evidence: Evidence) -> None:
    (small, large, other), first = evidence.cast("glove-6b-100d", "glove-6b-300d", "glove-840b-300d")
    (one_text, another), second = evidence.cast("fasttext-cc", "fasttext-wiki")
    static = [name for name in evidence.others("w2v-corpus") if is_average(name) and origin(name) == "pretrained"]
    values = [
        evidence.pair(small, large) - evidence.pair(large, other),
        evidence.pair(small, large) - evidence.pair(small, other),
        evidence.pair(one_text, another) - evidence.mean(product((one_text, another), _unlike(static, one_text))),
        evidence.pair(small, large) - evidence.mean(product((small, large), _unlike(static, small))),
    ]
    evidence.judge("n2o-same-method-variants", "", values, "; ".join(filter(None, (first, second))), holm=True)


def _unlike(names: Iterable[str], variant: str) -> list[str]:
    """Those whose method, the beginning of the name, is another."""
    return [name for name in names if name.split("-")[0] != variant.split("-")[0]]


def _fasttext(evidence: Evidence) -> tuple[list[str], str]:
    return evidence.cast("fasttext-cc", "fasttext-wiki", "fasttext-cc-sub", "fasttext-wiki-sub")


def _subwords(evidence: Evidence) -> None:
    (one, two, one_sub, two_sub), analogue = _fasttext(evidence)
    others = [*evidence.others(one_sub), one, two]
    apart = [evidence.pair(sub, name) for sub in (one_sub, two_sub) for name in others]
    values = evidence.pair(one_sub, two_sub)[:, None] - np.column_stack(apart)
    evidence.judge("n2o-subword-effect", "pair", list(values.T), analogue, holm=True)
    texts = evidence.mean([(one, two), (one_sub, two_sub)])
    evidence.judge("n2o-subword-effect", "corpus", [texts - evidence.mean([(one, one_sub), (two, two_sub)])], analogue)


def _subword_tokens(evidence: Evidence) -> None:
    (one, two, one_sub, two_sub), analogue = _fasttext(evidence)
    own, lowest = [], []
    for shares in evidence.repeated.values():
        own += [shares[one_sub] - shares[one], shares[two_sub] - shares[two]]
        others = [*evidence.others(one_sub), one, two]
        lowest += [shares[sub] - shares[name] for sub in (one_sub, two_sub) for name in others]
    evidence.judge("n2o-subword-token-overlap", "own analogue", own, analogue)
    evidence.judge("n2o-subword-token-overlap", "lowest", lowest, analogue, holm=True)


def _tfidf_tokens(evidence: Evidence) -> None:
    kinds = [n for n in evidence.ids if origin(n) == "pretrained" and "+" not in n]
    values = [shares["tfidf"] - shares[name] for shares in evidence.repeated.values() for name in kinds]
    for part in ("largest", "by far"):
        evidence.judge("n2o-tfidf-token-overlap", part, values, ", ".join(kinds))


def _tfidf(evidence: Evidence) -> None:
    """The mean N2O of tf-idf with the embedders of each origin less that of the median embedder."""
    others = evidence.others("tfidf")
    analogue = "with pretrained embedders, and with those trained here"
    for part in ("all", "static"):
        families = []
        for source in ORIGINS[:2]:
            partners = [name for name in others if origin(name) == source and (part == "all" or is_average(name))]
            rivals = [name for name in others if part == "all" or not is_average(name)]
            families.append([evidence.typical(name, partners) for name in ["tfidf", *rivals]])
        evidence.judge_median("n2o-tfidf-low-n2o", part, families, analogue)


def _tokens(evidence: Evidence) -> None:
    """The gain of averaging a transformer's tokens over the vector of one token."""
    (token, average), analogue = evidence.cast("bert-base-cls", "bert-base-avg")
    gains = evidence.gains(average, token, evidence.others(token, "gpt-last"))
    means = [np.mean([gains[name] for name in gains if origin(name) == source], axis=0) for source in ORIGINS]
    evidence.judge("n2o-averaging-raises-n2o", "mean", means, analogue)
    evidence.judge("n2o-averaging-raises-n2o", "each", list(gains.values()), analogue, holm=True)


# -- claims that need the weights of all embedders of the paper's Table 1 -----------------------


def _outside(evidence: Evidence) -> list[str]:
    """The paper's embedders but BERT and GPT."""
    names = published.load("n2o_table1")["embedder"]
    return [name for name in names if name not in {*TOKENS, *TOKENS.values()}]


def _elmo(evidence: Evidence) -> None:
    small, middle, large = ELMO
    related = [evidence.pair(small, middle), evidence.pair(middle, large)]
    values = [pair - evidence.pair(small, large) for pair in related]
    evidence.judge("n2o-elmo-capacity-and-data", "", values, holm=True)


def _outliers(evidence: Evidence) -> None:
    others = _outside(evidence)
    typical = {name: evidence.typical(name, others) for name in (*TOKENS, *others)}
    values = [typical[token] - typical[other] for token in TOKENS for other in others]
    evidence.judge("n2o-specific-token-outliers", "", values, holm=True)


def _gains_with_elmo(evidence: Evidence) -> None:
    others = [name for name in _outside(evidence) if name not in ELMO]
    means, each = [], []
    for token, average in TOKENS.items():
        gains = evidence.gains(average, token, (*ELMO, *others))
        with_elmo = np.mean([gains[name] for name in ELMO], axis=0)
        means.append(with_elmo - np.mean([gains[name] for name in others], axis=0))
        each += [with_elmo - gains[name] for name in others]
    evidence.judge("n2o-averaging-nears-elmo", "mean", means)
    evidence.judge("n2o-averaging-nears-elmo", "maximum", each, holm=True)


def _infersent(evidence: Evidence) -> None:
    static = [name for name in _outside(evidence) if name in evidence.averages()]
    values = []
    for averages in (static, [*static, *ELMO, *TOKENS.values()]):
        near = evidence.mean(("infersent-v1", name) for name in averages)
        others = [name for name in (*_outside(evidence), *TOKENS) if name not in (*averages, "infersent-v1")]
        values += [near - evidence.pair("infersent-v1", name) for name in others]
    evidence.judge("n2o-infersent-near-averages", "averages", values)
    start = evidence.pair("infersent-v1", "glove-840b-300d")
    values = [start - evidence.pair("infersent-v1", name) for name in static if name != "glove-840b-300d"]
    evidence.judge("n2o-infersent-near-averages", "initialization", values)


def _use(evidence: Evidence) -> None:
    others = [name for name in (*_outside(evidence), *TOKENS, *TOKENS.values()) if name not in USE]
    values = [evidence.pair(*USE) - evidence.pair(one, name) for one in USE for name in others]
    evidence.judge("n2o-use-distinct", "each other", values)
    both = evidence.mean(product(USE, others))
    rivals = [evidence.typical(name, others) for name in others]
    evidence.judge_median("n2o-use-distinct", "distinct", [[both, *rivals]])
