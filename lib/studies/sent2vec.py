"""What the lesson on Sent2Vec measures: trainings that differ in one thing, on the same items, with five seeds.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features", sections 2 to 5, appendices A to D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from lib import corpora, embedders, stats, tasks, transfer
from lib.corpora import text
from lib.embedders.base import Embeddings
from lib.neighbors.ranking import ranks
from lib.run import paths
from lib.run.cache import Entry
from lib.run.parameters import in_range
from lib.run.processor import cores
from lib.sent2vec import Sent2Vec
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import END_OF_LINE
from lib.similarity import cosine
from lib.store import EmbeddingStore, fit
from lib.tasks import PairTask
from lib.transfer import Logistic

VERSION = 1  # of the answers in the cache
HAYSTACK = "bible-gospels:web"
BANDS = ("rare", "middle", "frequent")
SIF_A = 1e-3  # of Arora et al.
Encode = Callable[[Sequence[str]], Embeddings]


def tokenized(sentences: Sequence[str]) -> list[str]:
    """Sentences as Sent2Vec reads them: lower-cased tokens parted by blanks."""
    return [_tokens(sentence) for sentence in sentences]


@lru_cache(maxsize=200_000)  # every model is asked about the same sentences
def _tokens(sentence: str) -> str:
    return " ".join(text.lower_word_tokens(sentence))


# -- what embedders are asked --------------------------------------------------------------------


class Exam(NamedTuple):
    """A set, and what an embedder answers.

    Attributes
    ----------
    name : str
    kind : str
        "similarity", "supervised", "cosine" or "Lee".
    answers : callable
        Takes a function from sentences to embeddings and returns float64[items]: reciprocal ranks, cosines, or whether
        a label is right.
    gold : float64[items]
        People's ratings; NaN where the score is the mean of the answers, and not the correlation with ratings.
    clusters : int64[items]
        Equal for items that are not independent.
    key : str
        What the cache knows it by.
    """

    name: str
    kind: str
    answers: Callable[[Encode], np.ndarray]
    gold: np.ndarray
    clusters: np.ndarray
    key: str


def verses(count: int, seed: int, kind: str = "similarity", translation: str = "ylt") -> list[Exam]:
    """Verses of a translation to be found in the World English Bible, and their cosines with what is to be found.

    The score is the mean reciprocal rank. Raises InputError for more verses than both translations have.
    """
    hay, asking = corpora.load(HAYSTACK), corpora.load(f"bible-gospels:{translation}")
    alike = {group: np.flatnonzero(hay.groups == group).tolist() for group in set(hay.groups.tolist()) - {-1}}
    known = [i for i, group in enumerate(asking.groups.tolist()) if group in alike]
    in_range("queries", count, 2, len(known), "verses that both translations have")
    chosen = np.random.default_rng(seed).permutation(known)[:count]
    same = [alike[group] for group in asking.groups[chosen].tolist()]
    wanted = [places[0] for places in same]
    sentences, queries = list(hay.sentences), [asking.sentences[i] for i in chosen]

    def found(encode: Encode) -> np.ndarray:
        vectors = encode(sentences)
        return 1 / ranks(encode(queries), vectors[wanted], vectors, same).ranks

    def cosines(encode: Encode) -> np.ndarray:
        return cosine(encode(queries), encode([sentences[i] for i in wanted]))

    shared = np.full(count, np.nan), np.arange(count), text.fingerprint(queries)
    return [Exam("Verses", kind, found, *shared), Exam("Verses", "cosine", cosines, *shared)]


def rated(name: str, kind: str = "similarity") -> list[Exam]:
    """Pairs with people's ratings: a year of STS as a set a file, all of SICK-R, else the test split."""
    task = tasks.load(name, "all" if name == "SICK-R" else "test")
    files = np.array(task.genre) if name.startswith("STS1") else np.full(len(task), name)
    exams = []
    for file in dict.fromkeys(files.tolist()):
        rows = np.flatnonzero(files == file)
        sides = [[side[i] for i in rows] for side in (task.left, task.right)]

        def answers(encode: Encode, sides: list = sides) -> np.ndarray:
            return cosine(*map(encode, sides))

        exams.append(Exam(file, kind, answers, task.score[rows], np.arange(len(rows)), text.fingerprint(sides[0])))
    return exams


def labelled(name: str, folds: int) -> Exam:
    """Sentences with classes: whether logistic regression, with a penalty of 1, labels each of them right."""
    task = tasks.load(name, "test")
    groups = getattr(task, "groups", None)
    size = len(task.left if isinstance(task, PairTask) else task.sentences)

    def answers(encode: Encode) -> np.ndarray:
        result = transfer.on_task(name, encode, folds=folds, normalize=(True,), classifier=Logistic((1.0,)))
        return result.correct.astype(np.float64)

    clusters = np.arange(size) if groups is None else groups
    return Exam(name, "supervised", answers, np.full(size, np.nan), clusters, f"{folds} folds")


def exams(similarity: Sequence[str], classified: Sequence[str], queries: int, seed: int) -> list[Exam]:
    """What the lesson asks: verses or sets of rated pairs, other verses that are held out, Lee, sets with classes.

    For sets of rated pairs also their cosines, and STS-B.
    """
    found = verses(queries, seed) + verses(queries, seed + 1, "held out", "wmth")[:1] + rated("Lee", "Lee")
    if list(similarity) != ["Verses"]:
        pairs = [exam for name in similarity for exam in rated(name)]
        alike = [exam._replace(kind="cosine", gold=np.nan * exam.gold) for exam in pairs]
        found = [*found[2:], *pairs, *alike, *rated("STSBenchmark", "STS-B")]
    return found + [labelled(name, 5) for name in classified]


# -- models --------------------------------------------------------------------------------------


def word_weights(model: Sent2Vec) -> pd.DataFrame:
    """What each word counts in a mean (figure 1).

    Returns
    -------
    DataFrame with columns word, row (of the input matrix), frequency (share of all tokens), norm (of the word's
    vector), sif (a / (a + frequency)) and band (0 to 2: thirds of the range of log frequency, rare to frequent)
    """
    dictionary = model.dictionary
    rows = np.array([i for i in range(1, dictionary.n_words) if dictionary.words[i] != END_OF_LINE])
    frequency = dictionary.counts[rows] / dictionary.tokens
    logarithm = np.log(frequency)
    edges = np.linspace(logarithm.min(), logarithm.max(), len(BANDS) + 1)[1:-1]
    return pd.DataFrame(
        {
            "word": [dictionary.words[i].decode(errors="replace") for i in rows],
            "row": rows,
            "frequency": frequency,
            "norm": np.linalg.norm(model.input_matrix[rows], axis=1),
            "sif": SIF_A / (SIF_A + frequency),
            "band": np.digitize(logarithm, edges),
        }
    )


def changed(model: Sent2Vec, variant: str) -> Sent2Vec:
    """A trained model with something taken away or replaced.

    "words only": without its bigrams; "SIF": the directions of its words with the lengths of smoothed inverse
    frequency; "no rare", "no middle", "no frequent": a band of words silenced (`word_weights`); "": as it is.
    """
    if variant == "words only":
        header = model.header._replace(word_ngrams=1, bucket=0)
        return Sent2Vec(model.file._replace(header=header))
    if not variant:
        return model
    table, matrix = word_weights(model), np.array(model.input_matrix)
    if variant == "SIF":
        matrix[table["row"]] *= (table["sif"] / table["norm"]).to_numpy(np.float32)[:, None]
    else:
        band = BANDS.index(variant.removeprefix("no "))
        matrix[table["row"][table["band"] == band]] = 0
    return Sent2Vec(model.file._replace(input_matrix=matrix))


def gensim_words(lines: Sequence[str], settings: Settings, skip_gram: bool) -> Encode:
    """The mean of word vectors that gensim's word2vec learns with the same settings and a window of five words."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        [line.split() for line in lines], vector_size=settings.dim, epochs=settings.epochs, window=5, workers=1,
        negative=settings.negatives, sample=settings.subsample, min_count=settings.min_count, sg=int(skip_gram),
        seed=settings.seed,
    )  # fmt: skip

    def encode(sentences: Sequence[str]) -> np.ndarray:
        nothing = np.zeros(settings.dim, np.float32)
        known = [[model.wv[word] for word in line.split() if word in model.wv] for line in tokenized(sentences)]
        return np.array([np.mean(vectors, axis=0) if vectors else nothing for vectors in known])

    return encode


class Training(NamedTuple):
    """A training, and what its model is asked.

    Attributes
    ----------
    lines : sequence of str
        Tokenized sentences.
    settings : Settings
    kinds : tuple of str
        Of the exams that it takes.
    variants : tuple of str
        What is taken away or replaced afterwards (`changed`), each an embedder of its own.
    gensim : str
        "C-BOW" or "skip-gram", which gensim trains, in place of Sent2Vec.
    """

    lines: Sequence[str]
    settings: Settings
    kinds: tuple[str, ...] = ("similarity",)
    variants: tuple[str, ...] = ("",)
    gensim: str = ""


def measured(training: Training, exams: Sequence[Exam]) -> dict[str, np.ndarray]:
    """The answers to each exam, named "variant/kind/exam", and the columns of `word_weights`; kept in the cache."""
    exams = [exam for exam in exams if exam.kind in training.kinds]
    key = {"version": VERSION, "settings": asdict(training.settings), "text": text.fingerprint(training.lines)}
    key |= {"variants": training.variants, "gensim": training.gensim}
    key["exams"] = [[exam.name, exam.kind, exam.key] for exam in exams]
    entry = Entry(paths.CACHE / "sent2vec-study", training.gensim or "sent2vec", key)

    def learn() -> dict[str, Any]:
        arrays, encoders = {}, {}
        if training.gensim:
            encoders[""] = gensim_words(training.lines, training.settings, training.gensim == "skip-gram")
        else:
            model = Sent2Vec.train(training.lines, training.settings)
            arrays = dict(word_weights(model).drop(columns="word"))
            encoders = {variant: encoder(changed(model, variant)) for variant in training.variants}
        for variant, encode in encoders.items():
            asked = [exam for exam in exams if exam.kind != "supervised" or variant in ("", "SIF")]
            arrays |= {f"{variant}/{exam.kind}/{exam.name}": exam.answers(encode) for exam in asked}
        with entry.writing("answers.npz") as stream:
            np.savez(stream, **arrays)
        return {}

    entry.made(learn, "training Sent2Vec")
    with np.load(entry.folder / "answers.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def encoder(model: Sent2Vec) -> Encode:
    """A model as a function from sentences to embeddings, float32[n, dim]."""
    return lambda sentences: model.encode(tokenized(sentences))


# -- comparisons ---------------------------------------------------------------------------------


class Results:
    """The answers of embedders to the same exams, and their scores.

    Parameters
    ----------
    exams : sequence of Exam
    sampling : lib.stats.Sampling
    """

    def __init__(self, exams: Sequence[Exam], sampling: stats.Sampling) -> None:
        self.exams, self.sampling = exams, sampling
        self.found: dict[str, list[dict[str, np.ndarray]]] = {}

    def train(self, trainings: Mapping[str, Sequence[Training]]) -> None:
        """Train and ask the models of each name, one a seed, on all cores."""
        jobs = [delayed(measured)(training, self.exams) for some in trainings.values() for training in some]
        answers = iter(Parallel(n_jobs=cores())(jobs))
        self.found |= {name: [next(answers) for _ in some] for name, some in trainings.items()}

    def ask(self, name: str, sentences: Sequence[str], kinds: Sequence[str], embedder: str) -> None:
        """Ask an embedder of the registry, fitted on some sentences, under a name."""
        fitted = fit(embedders.load(embedder), sentences)
        encode = partial(EmbeddingStore().embed, fitted)
        exams = [exam for exam in self.exams if exam.kind in kinds]
        self.found[name] = [{f"/{exam.kind}/{exam.name}": exam.answers(encode) for exam in exams}]

    def answers(self, names: Sequence[str], exam: Exam) -> np.ndarray:
        """float64[items, names, seeds]; "uni: SIF" is the variant "SIF" of "uni". One without seeds is repeated."""
        columns = []
        seeds = max(map(len, self.found.values()))
        for name in names:
            trained, _, variant = name.partition(": ")
            own = [arrays[f"{variant}/{exam.kind}/{exam.name}"] for arrays in self.found[trained]]
            columns.append(np.resize(own, (seeds, len(own[0]))).T)
        return np.stack(columns, axis=1)

    def bootstrap(
        self, statistic: Callable[[np.ndarray], np.ndarray], names: Sequence[str], *kinds: str, holm: bool = False
    ) -> stats.Interval:
        """Interval of a statistic of the scores, float64[names, seeds], over other items and other seeds.

        The score is the mean over the kinds of exams of the mean over the exams of a kind, of the mean of the answers
        or their Pearson correlation with ratings.
        """
        exams = [exam for exam in self.exams if exam.kind in kinds]
        sizes = [len(exam.gold) for exam in exams]
        number = np.repeat(np.arange(len(exams)), sizes)
        answers = np.concatenate([self.answers(names, exam) for exam in exams])
        gold = np.concatenate([exam.gold for exam in exams])
        clusters = np.concatenate([exam.clusters for exam in exams]) + number * 10**9

        def value(answers: np.ndarray, gold: np.ndarray, number: np.ndarray) -> np.ndarray:
            scores = [_score(answers[number == i], gold[number == i]) for i in range(len(exams))]
            by_kind = [np.mean([s for s, e in zip(scores, exams, strict=True) if e.kind == kind], 0) for kind in kinds]
            return statistic(np.mean(by_kind, axis=0))

        return stats.bootstrap(
            value, answers, gold, number, sampling=self.sampling, clusters=clusters, seeds=True, holm=holm
        )

    def scores(self, names: Sequence[str], *kinds: str) -> stats.Interval:
        """The score of each embedder."""
        return self.bootstrap(lambda scores: scores, names, *kinds)

    def apart(self, pairs: Sequence[tuple[str, str]], *kinds: str) -> stats.Interval:
        """The score of the first of each two less that of the second, paired, with Holm's correction."""
        names = sorted({name for pair in pairs for name in pair})
        first, second = ([names.index(pair[side]) for pair in pairs] for side in (0, 1))
        return self.bootstrap(lambda scores: scores[first] - scores[second], names, *kinds, holm=True)


def lee(results: Results, names: Sequence[str]) -> stats.Interval:
    """Pearson's correlation with the ratings of Lee's pairs (an exam of the kind "Lee").

    Documents are resampled, for pairs share them.
    """
    exam = next(exam for exam in results.exams if exam.kind == "Lee")
    left, right = np.array(tasks.load("Lee").ids).T
    answers, documents = results.answers(names, exam), np.arange(right.max() + 1)

    def value(drawn: np.ndarray) -> np.ndarray:
        times = np.bincount(drawn, minlength=len(documents))
        return _correlation(answers, exam.gold, (times[left] * times[right]).astype(float))

    return stats.bootstrap(value, documents, sampling=results.sampling, method="normal", seeds=True)


def _score(answers: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """The mean of each column of answers or, where there are ratings, its correlation with them."""
    return answers.mean(axis=0) if np.isnan(gold).any() else _correlation(answers, gold, np.ones(len(gold)))


def _correlation(answers: np.ndarray, gold: np.ndarray, weights: np.ndarray) -> np.ndarray:
    x = answers - np.average(answers, axis=0, weights=weights)
    y = weights * (gold - np.average(gold, weights=weights))
    squares = np.tensordot(weights, x**2, 1) * (y**2 / np.maximum(weights, 1)).sum()
    return np.tensordot(y, x, 1) / np.sqrt(squares)
