"""How compositions of word vectors score on labelled sets, and by how much they differ (uSIF, section 4).

All compositions meet the same items, and a bootstrap draws items once for all of them: differences are paired ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import corpora, embedders, similarity, stats, tasks, transfer
from lib.catalog import published
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.composition import SIF, USIF, Average
from lib.neighbors.ranking import ranks
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import in_range
from lib.studies.usif import unit

ROUNDING = 1e-6  # of scores; what varies less is constant
SIF_A = 1.0e-3  # what SIF's authors fix
PAPER = {f"STS{year}": [f"STS'{year}"] for year in range(12, 16)}  # our sets in the paper's tables
PAPER |= {"STSBenchmark": ["STS Benchmark"], "SICK-R": ["SICK'14", "SICK-R"], "SICK-E": ["SICK-E"], "SST2": ["SST"]}
VECTORS = {"paragram-sl999": "PSL", "paranmt-50m": "ParaNMT"}  # other vectors stand beside GloVe's row


@dataclass(frozen=True)
class Words:
    """A set of word vectors, a list of frequencies and a tokenizer, and what is composed of them.

    Attributes
    ----------
    name : str
        Of the vectors.
    vectors : mapping word -> float32[d]
    probabilities : mapping word -> p(w)
    tokenize : callable
        From a sentence to its words, in the vectors' case and without punctuation.
    n, m : int
        uSIF's steps and components.
    """

    name: str
    vectors: Mapping[str, np.ndarray]
    probabilities: Mapping[str, float]
    tokenize: Callable[[str], list[str]]
    n: int = 11
    m: int = 5

    @classmethod
    def of(cls, name: str, probabilities: Mapping[str, float], n: int, m: int) -> Words:
        """The word vectors of that name in the registry; InputError for what is no set of published vectors."""
        embedder = embedders.load(name)
        if not isinstance(embedder, Average) or embedder.training:
            raise InputError(f"vector_names: {name!r} has no published word vectors; give one such as glove-6b-50d")
        cased = embedder.tokenize("A") == ["A"]
        return cls(name, embedder.vectors, probabilities, text.cased_words if cased else text.lower_words, n, m)

    def mean(self) -> Average:
        """The plain mean."""
        return Average("mean", self.vectors, self.tokenize)

    def sif(self, **options: object) -> SIF:
        """SIF with a = 1e-3; options are those of its class."""
        return SIF(self.vectors, self.probabilities, **({"a": SIF_A, "tokenize": self.tokenize} | options))

    def usif(self, **options: object) -> USIF:
        """uSIF; options are those of its class."""
        own = {"n": self.n, "m": self.m, "tokenize": self.tokenize}
        return USIF(self.vectors, self.probabilities, **(own | options))

    def usif_at(self, a: float, **options: object) -> SIF:
        """uSIF with another a, up to a factor of 2: SIF at a/2, normalized, components removed by share."""
        return self.sif(**({"a": a / 2, "m": self.m, "normalize": "divide", "removal": "share"} | options))


# -- the sets -----------------------------------------------------------------------------------


class ScoredSet(NamedTuple):
    """What embedders are scored on.

    Attributes
    ----------
    name, group : str
        Such as "STS12 MSRpar" and "STS12": the paper's scores are means over the files of a group.
    size : int
        Items that a bootstrap draws: pairs, documents, queries.
    answers : callable
        From an embedder, which is fitted on the set's own sentences as in the paper, to float64[size], or
        [size, size] for all pairs of some documents.
    gold : float64[size] or [size, size], optional
        With it the score is Pearson's correlation (NaN: no pair), without it the mean answer.
    """

    name: str
    group: str
    size: int
    answers: Callable[[Embedder], np.ndarray]
    gold: np.ndarray | None = None

    def score(self, answers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The scores of some items, float64[...], for answers whose first axes are items, the others embedders."""
        if self.gold is None:
            return answers[rows].mean(axis=0)
        if self.gold.ndim == 1:
            return _pearson(answers[rows], self.gold[rows])
        block = np.ix_(rows, rows)
        known = ~np.isnan(self.gold[block])
        return _pearson(answers[block][known], self.gold[block][known])


def _pearson(columns: np.ndarray, gold: np.ndarray) -> np.ndarray:
    columns, gold = columns - columns.mean(axis=0), gold - gold.mean()
    lengths = np.sqrt((columns**2).sum(axis=0) * (gold @ gold))
    return np.tensordot(gold, columns, 1) / np.where(lengths > 0, lengths, np.nan)


def rated(name: str, split: str = "test") -> list[ScoredSet]:
    """A set of rated pairs, a year of STS as an exam for each file; InputError for a set without ratings."""
    task = tasks.load(name, split)
    if getattr(task, "score", None) is None:
        raise InputError(f"task_names: {name!r} has no rated pairs; give Lee, WS353, STS12 ... STS15, SICK-R")
    if task.ids is not None:
        return [_documents(name, task)]
    files = np.array(task.genre if name.startswith("STS1") else [""] * len(task))
    return [_pairs(name, file, task, np.flatnonzero(files == file)) for file in dict.fromkeys(files.tolist())]


def _pairs(name: str, file: str, task: tasks.PairTask, rows: np.ndarray) -> ScoredSet:
    left, right = ([side[i] for i in rows] for side in (task.left, task.right))
    answers = lambda embedder: similarity.cosine(*np.split(embedder.fit_encode(left + right), 2))  # noqa: E731
    return ScoredSet(f"{name} {file}".strip(), name, len(rows), answers, task.score[rows])


def _documents(name: str, task: tasks.PairTask) -> ScoredSet:
    """All pairs of some documents: documents are drawn, and with them their pairs."""
    texts: dict[int, str] = {}
    for ids, pair in zip(task.ids, zip(task.left, task.right, strict=True), strict=True):
        texts |= dict(zip(ids, pair, strict=True))
    gold = np.full((len(texts), len(texts)), np.nan)
    for (i, j), score in zip(task.ids, task.score, strict=True):
        gold[i, j] = gold[j, i] = score

    def answers(embedder: Embedder) -> np.ndarray:
        vectors = unit(embedder.fit_encode([texts[i] for i in sorted(texts)]).astype(np.float64))
        return vectors @ vectors.T

    return ScoredSet(name, name, len(texts), answers, gold)


def mean_length(names: Sequence[str]) -> float:
    """The mean number of tokens, punctuation included, of all sentences of some sets of rated pairs."""
    found = [tasks.load(name) for name in names]
    return float(np.mean([len(text.word_tokens(each)) for task in found for each in task.left + task.right]))


def verses(asking: str, haystack: str, count: int, seed: int) -> tuple[ScoredSet, ScoredSet]:
    """Verses of one translation that are to be found in another: `count` to be scored, and as many to tune on.

    The score is the mean reciprocal rank. Raises InputError if the two corpora share fewer verses.
    """
    asks, hay = corpora.load(asking), corpora.load(haystack)
    place = {group: i for i, group in enumerate(hay.groups.tolist()) if group >= 0}
    pairs = [(i, place[group]) for i, group in enumerate(asks.groups.tolist()) if group in place]
    in_range("queries", count, 2, len(pairs) // 2, f"{haystack!r} has so many verses of {asking!r}")
    drawn = np.random.default_rng(seed).permutation(np.array(pairs))[: 2 * count]

    def exam(some: np.ndarray) -> ScoredSet:
        queries = [asks.sentences[i] for i in some[:, 0]]

        def answers(embedder: Embedder) -> np.ndarray:
            vectors = embedder.fit(hay.sentences).encode(hay.sentences)
            return 1 / ranks(embedder.encode(queries), vectors[some[:, 1]], vectors, some[:, 1]).ranks

        return ScoredSet("verses", "verses", count, answers)

    return exam(drawn[:count]), exam(drawn[count:])


def learned(name: str) -> ScoredSet:
    """SST2 or SICK-E by logistic regression (accuracy), SICK-R by regression, on frozen embeddings (section 4.4).

    The paper follows "the setup in Wieting et al. (2016b)" without describing it. Penalties are chosen on dev.
    """
    parts = [tasks.load(name, split) for split in ("train", "dev", "test")]
    if name != "SICK-R":
        answers = lambda embedder: transfer.on_task(name, embedder.fit_encode).correct.astype(float)  # noqa: E731
        return ScoredSet(name, name, len(parts[-1].labels if name == "SST2" else parts[-1].label), answers)

    def predictions(embedder: Embedder) -> np.ndarray:
        embedder.fit([sentence for part in parts for sentence in part.left + part.right])
        pairs = [(embedder.encode(part.left), embedder.encode(part.right), part.score) for part in parts]
        return similarity.regress(*pairs).predicted

    return ScoredSet(name, name, len(parts[-1].score), predictions, parts[-1].score)


# -- the scores ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """What compositions of one or more sets of word vectors answer.

    Attributes
    ----------
    exams : list of ScoredSet
    vectors, compositions : list of str
    answers : for each exam float64[size, (size,) vectors, compositions]
    """

    exams: Sequence[ScoredSet]
    vectors: Sequence[str]
    compositions: Sequence[str]
    answers: Sequence[np.ndarray]

    @property
    def groups(self) -> list[str]:
        """The exams' groups, in their order."""
        return list(dict.fromkeys(exam.group for exam in self.exams))

    def only(self, name: str) -> Scores:
        """The scores in one exam."""
        (i,) = (i for i, exam in enumerate(self.exams) if exam.name == name)
        return Scores(self.exams[i : i + 1], self.vectors, self.compositions, self.answers[i : i + 1])

    def of(self, rows: Sequence[np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """For each composition float64[groups, vectors], its mean score over the files of a group.

        `rows` are the items of each exam that count; all of them if not given.
        """
        rows = rows or [np.arange(exam.size) for exam in self.exams]
        parts = zip(self.exams, self.answers, rows, strict=True)
        by_file = np.array([exam.score(answers, some) for exam, answers, some in parts])
        member = np.array([exam.group for exam in self.exams])
        means = np.array([by_file[member == group].mean(axis=0) for group in self.groups])
        return {name: means[..., i] for i, name in enumerate(self.compositions)}

    def interval(self, derive: Callable[[dict], np.ndarray], sampling: stats.Sampling) -> stats.Interval:
        """The bootstrap interval of what `derive` makes of the scores (`of`): items of all exams are drawn together."""
        units = np.array([(i, j) for i, exam in enumerate(self.exams) for j in range(exam.size)])

        def statistic(drawn: np.ndarray) -> np.ndarray:
            return np.ravel(derive(self.of([drawn[drawn[:, 0] == i, 1] for i in range(len(self.exams))])))

        return stats.bootstrap(statistic, units, sampling=sampling)

    def frame(self, derive: Callable[[dict], dict], sampling: stats.Sampling) -> pd.DataFrame:
        """What `derive` makes of the scores, by name: columns what, group, vectors, value, low, high, constant."""
        places = pd.MultiIndex.from_product([derive(self.of()), self.groups, self.vectors])
        table = places.to_frame(index=False, name=["what", "group", "vectors"])
        found = self.interval(lambda scores: np.stack(list(derive(scores).values())), sampling)
        table[["value", "low", "high"]] = np.array(found).T
        return table.assign(constant=table["high"] - table["low"] < ROUNDING)

    def differences(self, pairs: Sequence[tuple[str, str]], sampling: stats.Sampling) -> pd.DataFrame:
        """By how much the first composition of each pair scores higher than the second; as `frame`."""
        return self.frame(lambda s: {f"{one} - {other}": s[one] - s[other] for one, other in pairs}, sampling)


def evaluate(
    sets: Mapping[str, Words], compose: Callable[[Words], Mapping[str, Embedder]], exams: Sequence[ScoredSet]
) -> Scores:
    """Have the compositions of each set of word vectors answer the exams."""
    made = {name: compose(words) for name, words in sets.items()}
    names = list(next(iter(made.values())))
    answers = []
    for exam in progress.track(list(exams), "exams", "sets"):
        found = [[exam.answers(some[name]) for name in names] for some in made.values()]
        answers.append(np.moveaxis(np.array(found), (0, 1), (-2, -1)))
    return Scores(exams, list(sets), names, answers)


def tuned(
    words: Words, make: Callable[[Words, float], Embedder], values: Sequence[float], exams: Sequence[ScoredSet]
) -> float:
    """The value whose composition scores best on exams that are kept for tuning."""
    scores = evaluate({"": words}, lambda words: {str(value): make(words, value) for value in values}, exams).of()
    return values[int(np.argmax([found.mean() for found in scores.values()]))]


def beside(scores: Scores, tables: Sequence[str], compositions: Mapping[str, str]) -> pd.DataFrame:
    """The paper's scores beside ours, x100: columns set, vectors, composition, ours, row, paper.

    `compositions` gives the paper's name of each; one that begins with + follows the vectors': {"uSIF": "+UP"}.
    """
    stated = pd.concat([published.load(table) for table in tables]).set_index(["model", "dataset"])["value"]
    rows, found = [], scores.of()
    for composition, model in compositions.items():
        for (i, group), (j, name) in product(enumerate(scores.groups), enumerate(scores.vectors)):
            row = VECTORS.get(name, "GloVe") + model if model.startswith("+") else model
            for dataset in PAPER.get(group, []):
                if (row, dataset) in stated.index:
                    ours = 100 * found[composition][i, j]
                    rows.append((group, name, composition, ours, row, stated[row, dataset]))
    return pd.DataFrame(rows, columns=["set", "vectors", "composition", "ours", "row", "paper"])
