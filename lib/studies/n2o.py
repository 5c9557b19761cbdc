"""Study 1: which embedders are near copies, and the evidence of its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from lib import embedders, n2o, similarity, stats, store
from lib.catalog import published
from lib.corpora import Corpus
from lib.embedders.base import Embeddings
from lib.neighbors import exact
from lib.run.environment import cores

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

# Variants of one method that verdicts compare: sizes, texts, with and without subwords.
SIZES = ("glove-6b-100d", "glove-6b-300d", "glove-840b-300d")
TEXTS = ("fasttext-cc", "fasttext-wiki")
SUBWORDS = (*TEXTS, "fasttext-cc-sub", "fasttext-wiki-sub")

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


def of_halves(corpus: Corpus, queries: np.ndarray, k: int, present: Iterable[str]) -> dict[str, np.ndarray]:
    """Neighbors in the whole corpus, int[q, k], by word vectors trained on either half of its documents.

    They stand in for the paper's pairs of one method on two texts, in two sizes, and with and without subwords, where
    not all of these are among the embedders that are present.
    """
    replaced = [name for variants in (SIZES, SUBWORDS) if not {*variants} <= {*present} for name in variants]

    def embedded(name: str) -> Embeddings:
        trainer, half = name.split(" of half ")
        text = [corpus.sentences[i] for i in np.flatnonzero(corpus.documents % 2 == int(half) - 1)]
        return store.EmbeddingStore().embed(store.fit(embedders.load(trainer), text), corpus)

    names = sorted({STAND_INS[name] for name in replaced})
    with ThreadPoolExecutor(cores()) as pool:  # each is trained with one thread
        vectors = dict(zip(names, pool.map(embedded, names), strict=True))
    return {name: exact(each[queries], each, k, exclude=queries).ids for name, each in vectors.items()}


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

    @cached_property
    def overlaps(self) -> pd.DataFrame:
        """The overlap of every two embedders in both orders: a row for each query, two levels of columns."""
        found = n2o.per_query({**self.ids, **self.more})
        return found.join(found.swaplevel(axis=1))

    def mean(self, pairs: Iterable[tuple[str, str]]) -> pd.Series:
        """The mean overlap of some pairs, for each query."""
        return self.overlaps[list(pairs)].mean(axis=1)

    def mean_with(self, name: str, others: Iterable[str]) -> pd.Series:
        """The mean overlap of an embedder with others, for each query; it may be one of these."""
        return self.mean((name, other) for other in others if other != name)

    def gains(self, average: str, token: str, others: Sequence[str]) -> pd.DataFrame:
        """How much more of its neighbors the average of all tokens shares with each other embedder than one token."""
        return self.overlaps[average][others] - self.overlaps[token][others]

    def judge(
        self,
        id: str,
        part: str,
        *families: Sequence[pd.Series] | np.ndarray,
        analogue: str = "",
        statistic: Callable[[np.ndarray], np.ndarray] = stats.mean,
        **options: bool | str,
    ) -> None:
        """Hand over a statistic of each family of columns, float[q] each, with its bootstrap interval over queries."""
        options |= {"sampling": self.sampling, "clusters": self.clusters}
        found = [stats.bootstrap(statistic, np.column_stack(family), **options) for family in families]
        self.ledger.interval(id, *np.column_stack(found), part=part, analogue=analogue)

    def stand_ins(self, *names: str) -> tuple[list[str], str]:
        """Embedders of the paper; or, where one of them is missing, their stand-ins and what to call them."""
        if all(name in self.ids for name in names):
            return list(names), ""
        stand_ins = [STAND_INS[name] for name in names]
        return stand_ins, ", ".join(stand_ins)

    def others(self, *without: str) -> list[str]:
        """The embedders of the run that are no near copies of those named."""
        plain = [name.split(" of half")[0] for name in without]
        return [name for name in self.ids if name not in plain and not any(near_copies(name, one) for one in plain)]


def judge(evidence: Evidence) -> None:
    """Enter into the ledger what the neighbors say of each claim that these embedders can test."""
    claims = [_range, _chance, _averages, _variants, _subwords, _tfidf, _tokens]
    if evidence.ids.keys() >= set(published.load("n2o_table1")["embedder"]):
        claims += [_elmo, _outliers, _gains_with_elmo, _infersent, _use]
    for claim in claims:
        claim(evidence)


def judge_order(ledger: stats.Ledger, vectors: Mapping[str, tuple[Embeddings, ...]], sampling: stats.Sampling) -> None:
    """The claims on word order: `vectors` has for each embedder those of sentences, shuffled, and one word replaced."""
    blind, aware = [], []
    for name, (sentences, shuffled, replaced) in vectors.items():
        to_shuffled = similarity.similarities(sentences, shuffled)
        if is_order_blind(name):
            blind.append(np.abs(1 - to_shuffled).max())
        else:
            aware.append(similarity.similarities(sentences, replaced) > to_shuffled)
    ledger.identity("n2o-bag-of-words-order", blind, part="permuted")
    shares = stats.bootstrap(stats.mean, np.column_stack(aware), sampling=sampling)
    ledger.interval("n2o-bag-of-words-order", *shares, part="substituted")


def _above_median(columns: np.ndarray) -> float:
    """The mean of the first column less the median mean of the others."""
    means = columns.mean(axis=0)
    return means[0] - np.median(means[1:])


MEDIAN = {"statistic": _above_median, "method": "normal"}  # resampling biases medians


def _range(evidence: Evidence) -> None:
    values = evidence.overlaps.to_numpy()
    some = next(iter(evidence.ids.values()))
    constructed = [n2o.overlap(some, some[:, ::-1]) - 1, n2o.overlap(some, -1 - some)]
    evidence.ledger.identity("n2o-output-range", [(values < 0).sum(), (values > 1).sum(), *np.ravel(constructed)])


def _chance(evidence: Evidence) -> None:
    shared = hypergeom(8_000_000 - 1, 50, 50).pmf(np.arange(51))  # of 50 neighbors in the paper's corpus, by chance
    tail = reduce(np.convolve, [shared] * 100)[200:].sum()  # 0.04 of 100 times 50
    evidence.ledger.interval("n2o-chance-level", tail, tail, tail, part="tail")
    elsewhere = {name: np.roll(ids, len(ids) // 2, axis=0) for name, ids in evidence.ids.items()}  # unrelated queries
    pairs = combinations(evidence.ids, 2)
    values = [evidence.overlaps[a, b] - n2o.overlap(evidence.ids[a], elsewhere[b]) for a, b in pairs]
    evidence.judge("n2o-chance-level", "pairs", values, analogue="the embedders of this run", holm=True)


def _averages(evidence: Evidence) -> None:
    """Averages against sentence encoders of one origin, each embedder left out in turn."""
    values = {"all pairs": [], "unlike pairs": []}
    for source in ORIGINS[:2]:
        names = [name for name in evidence.ids if origin(name) == source and "+" not in name]
        for left_out in ["", *names]:
            pairs = list(combinations((name for name in names if name != left_out), 2))
            unlike = [pair for pair in pairs if not near_copies(*pair)]
            for part, some in zip(values, (pairs, unlike), strict=True):
                of_pair = evidence.overlaps[some].T  # a row for each pair, by how many of the two are averages
                means = of_pair.groupby(lambda pair: is_average(pair[0]) + is_average(pair[1])).mean()
                if 2 in means.index:
                    values[part] += [means.loc[2] - means.loc[averages] for averages in means.index.drop(2)]
    for part, differences in values.items():
        what = "averages and encoders, pretrained and trained here apart"
        evidence.judge("n2o-static-averages-alike", part, differences, analogue=what)


def _variants(evidence: Evidence) -> None:
    (small, large, other), first = evidence.stand_ins(*SIZES)
    (one_text, another), second = evidence.stand_ins(*TEXTS)
    static = [name for name in evidence.others("w2v-corpus") if is_average(name) and origin(name) == "pretrained"]

    def with_other_methods(*variants: str) -> pd.Series:
        """Mean overlap with those of another method, which is the beginning of the name."""
        method = variants[0].split("-")[0]
        return evidence.mean(product(variants, [name for name in static if name.split("-")[0] != method]))

    sizes, texts = evidence.overlaps[small, large], evidence.overlaps[one_text, another]
    values = [
        sizes - evidence.overlaps[large, other],
        sizes - evidence.overlaps[small, other],
        texts - with_other_methods(one_text, another),
        sizes - with_other_methods(small, large),
    ]
    analogue = "; ".join(filter(None, (first, second)))
    evidence.judge("n2o-same-method-variants", "", values, analogue=analogue, holm=True)


def _subwords(evidence: Evidence) -> None:
    """fastText with subwords on two texts against all others, and against itself without: N2O and token overlap."""
    names, analogue = evidence.stand_ins(*SUBWORDS)
    one, two, one_sub, two_sub = names
    others = [name for name in evidence.others(one_sub) if name not in names]
    pairs = list(product((one_sub, two_sub), [*others, one, two]))
    texts = evidence.overlaps[one_sub, two_sub]
    apart = [texts - evidence.overlaps[pair] for pair in pairs]
    evidence.judge("n2o-subword-effect", "pair", apart, analogue=analogue, holm=True)
    same_method = evidence.mean([(one, two), (one_sub, two_sub)])
    same_text = evidence.mean([(one, one_sub), (two, two_sub)])
    evidence.judge("n2o-subword-effect", "corpus", [same_method - same_text], analogue=analogue)
    own, lowest = [], []
    for shares in evidence.repeated.values():
        own += [shares[one_sub] - shares[one], shares[two_sub] - shares[two]]
        lowest += [shares[sub] - shares[name] for sub, name in pairs]
    evidence.judge("n2o-subword-token-overlap", "own analogue", own, analogue=analogue)
    evidence.judge("n2o-subword-token-overlap", "lowest", lowest, analogue=analogue, holm=True)


def _tfidf(evidence: Evidence) -> None:
    """Token overlap; mean N2O with those of each origin less the median embedder's, with and without near copies."""
    kinds = [name for name in evidence.ids if origin(name) == "pretrained" and "+" not in name]
    values = [shares["tfidf"] - shares[name] for shares in evidence.repeated.values() for name in kinds]
    for part in ("largest", "by far"):
        evidence.judge("n2o-tfidf-token-overlap", part, values, analogue=", ".join(kinds))
    others = evidence.others("tfidf")
    averages = [name for name in others if is_average(name)]
    rest = [name for name in others if name not in averages]
    compared = {"all": (others, others), "static": (averages, rest)}
    for (part, (partners, rivals)), unlike in product(compared.items(), (False, True)):
        families = []
        for source in ORIGINS[:2]:
            company = {}
            for name in ["tfidf", *rivals]:
                counted = evidence.others(name) if unlike else others
                company[name] = [one for one in partners if one in counted and one != name and origin(one) == source]
            families.append([evidence.mean_with(*each) for each in company.items() if each[1]])
        analogue = "with pretrained embedders, and with those trained here"
        label = f"{part}, no near copies" if unlike else part
        evidence.judge("n2o-tfidf-low-n2o", label, *filter(None, families), analogue=analogue, **MEDIAN)


def _tokens(evidence: Evidence) -> None:
    """The gain of averaging a transformer's tokens over the vector of one token."""
    (token, average), analogue = evidence.stand_ins("bert-base-cls", "bert-base-avg")
    gains = evidence.gains(average, token, evidence.others(token, "gpt-last")).T
    evidence.judge("n2o-averaging-raises-n2o", "mean", gains.groupby(origin).mean().to_numpy(), analogue=analogue)
    evidence.judge("n2o-averaging-raises-n2o", "each", gains.to_numpy(), analogue=analogue, holm=True)


# -- claims that need the weights of all embedders of the paper's Table 1 -----------------------


def _outside(*without: str) -> list[str]:
    """The paper's embedders but BERT, GPT and others."""
    names = published.load("n2o_table1")["embedder"]
    return [name for name in names if name not in {*TOKENS, *TOKENS.values(), *without}]


def _elmo(evidence: Evidence) -> None:
    small, middle, large = ELMO
    related = [evidence.overlaps[small, middle], evidence.overlaps[middle, large]]
    values = [overlap - evidence.overlaps[small, large] for overlap in related]
    evidence.judge("n2o-elmo-capacity-and-data", "", values, holm=True)


def _outliers(evidence: Evidence) -> None:
    others = _outside()
    typical = {name: evidence.mean_with(name, others) for name in (*TOKENS, *others)}
    values = [typical[token] - typical[other] for token, other in product(TOKENS, others)]
    evidence.judge("n2o-specific-token-outliers", "", values, holm=True)


def _gains_with_elmo(evidence: Evidence) -> None:
    means, each = [], []
    for token, average in TOKENS.items():
        with_elmo = evidence.gains(average, token, [*ELMO]).mean(axis=1)
        others = evidence.gains(average, token, _outside(*ELMO))
        means.append(with_elmo - others.mean(axis=1))
        each += [with_elmo - others[name] for name in others]
    evidence.judge("n2o-averaging-nears-elmo", "mean", means)
    evidence.judge("n2o-averaging-nears-elmo", "maximum", each, holm=True)


def _infersent(evidence: Evidence) -> None:
    own = evidence.overlaps["infersent-v1"]
    others = [*_outside("infersent-v1"), *TOKENS]
    static = [name for name in others if is_average(name)]
    values = []
    for averages in (static, [*static, *ELMO, *TOKENS.values()]):
        near = own[averages].mean(axis=1)
        values += [near - own[name] for name in others if name not in averages]
    evidence.judge("n2o-infersent-near-averages", "averages", values)
    start = own["glove-840b-300d"]
    values = [start - own[name] for name in static if name != "glove-840b-300d"]
    evidence.judge("n2o-infersent-near-averages", "initialization", values)


def _use(evidence: Evidence) -> None:
    others = [*_outside(*USE), *TOKENS, *TOKENS.values()]
    values = [evidence.overlaps[USE] - evidence.overlaps[pair] for pair in product(USE, others)]
    evidence.judge("n2o-use-distinct", "each other", values)
    rivals = [evidence.mean_with(name, others) for name in others]
    evidence.judge("n2o-use-distinct", "distinct", [evidence.mean(product(USE, others)), *rivals], **MEDIAN)
