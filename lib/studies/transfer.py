"""Study 7, part 2: accuracy on transfer tasks under several classifiers, with normalization and without.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3, figures 1 to 3. The
measures are in `lib.transfer` and `lib.probing`. A finding has the claim and its part as its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lib import embedders, stats, tasks, transfer
from lib.corpora import Corpus
from lib.embedders.base import Embeddings
from lib.run import progress
from lib.run.cluster import in_processes
from lib.stats import Interval, Sampling
from lib.store import EmbeddingStore, fit
from lib.studies.orders import UNMEASURED, Found, both_of, kendall, reversals, share, steadiness
from lib.studies.pitfalls import SPLITS
from lib.tasks import ClassificationTask, local

CLASSES = {"Translations": (5, 600), "Books": (5, 500), "Questions": (2, 410)}  # and sentences of a class, at most
# Averages and bags of words, and random projections of them; all others are encoders.
SIMPLE = ("tfidf", "bow", "glove", "wordllama", "w2v", "fasttext")


@dataclass(frozen=True, eq=False)
class Task:
    """Sentences with classes, in one or several splits.

    Attributes
    ----------
    sentences : list of str, length n
    labels : int[n]
    sizes : sequence of int
        Of train, dev (if there is one) and test; one number for a set that is cross-validated.
    groups : int[n], optional
        Equal for sentences that mean the same.
    """

    sentences: list[str]
    labels: np.ndarray
    sizes: Sequence[int]
    groups: np.ndarray | None = None

    @property
    def tested(self) -> np.ndarray:
        """The rows that are tested: those of the last split."""
        return np.arange(len(self.labels))[-self.sizes[-1] :]

    def evaluate(self, vectors: Embeddings, folds: int, **options: Any) -> transfer.Result:
        """By the splits, or by cross-validation; `options` are those of `transfer.Evaluation`."""
        if len(self.sizes) == 1:
            return transfer.cross_validate(vectors, self.labels, folds=folds, groups=self.groups, **options)
        ends = np.cumsum(self.sizes)[:-1]
        sides = np.split(np.arange(len(self.labels)), ends)
        train, *dev, test = ((vectors[rows], self.labels[rows]) for rows in sides)
        return transfer.train_test(train, test, *dev, **options)


def load(name: str, most: int, seed: int, folds: int) -> Task:
    """A set of single sentences with at most so many of them in training or cross-validation; 0 for all.

    A set without official splits is cross-validated; with one fold it is halved, into training and test sentences.
    """
    if name in local.MAKERS:
        classes, highest = CLASSES[name]
        made = local.MAKERS[name](min(most // classes, highest) if most else highest, seed=seed)
        return _halved(Task(made.sentences, made.labels, [len(made)], made.groups), folds, seed)
    parts = [tasks.load(name, split) for split in transfer.OFFICIAL.get(name, ("all",))]
    return _halved(of_parts([drawn(parts[0], most, seed), *parts[1:]]), folds, seed)


def _halved(task: Task, folds: int, seed: int) -> Task:
    if folds > 1 or len(task.sizes) > 1:
        return task
    half = transfer.deal(task.labels, 2, np.random.default_rng(seed), task.groups)
    order = np.argsort(half, kind="stable")
    groups = None if task.groups is None else task.groups[order]
    return Task([task.sentences[i] for i in order], task.labels[order], np.bincount(half).tolist(), groups)


def encoder(name: str, corpus: Corpus | Sequence[str], **options: Any) -> Callable[[Sequence[str]], Embeddings]:
    """From sentences to their stored embeddings, by an embedder that is fitted on a corpus if it learns from text."""
    embedder = fit(embedders.load(name, **options), corpus)
    return lambda sentences: EmbeddingStore().embed(embedder, list(sentences))


def of_parts(parts: Sequence[ClassificationTask]) -> Task:
    """A task with these splits."""
    sentences = [sentence for part in parts for sentence in part.sentences]
    return Task(sentences, np.concatenate([part.labels for part in parts]), [len(part) for part in parts])


def drawn(task: ClassificationTask, most: int, seed: int) -> ClassificationTask:
    """At most so many sentences, each class with its share; 0 for all."""
    if not 0 < most <= len(task) - len(np.unique(task.labels)):
        return task
    from sklearn.model_selection import train_test_split

    kept, _ = train_test_split(np.arange(len(task)), train_size=most, stratify=task.labels, random_state=seed)
    kept.sort()
    return ClassificationTask([task.sentences[i] for i in kept], task.labels[kept])


# -- results --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Results:
    """Which tested sentences of several tasks are labelled right, by embedder and condition.

    Attributes
    ----------
    tasks : list of str
    task : int[n]
        Of each sentence.
    clusters : int[n]
        Equal for sentences that mean the same.
    correct : dict
        float32[n] for each condition and embedder.
    """

    tasks: list[str]
    task: np.ndarray
    clusters: np.ndarray
    correct: Mapping[tuple[str, str], np.ndarray]

    def columns(self, conditions: Sequence[str], names: Sequence[str]) -> np.ndarray:
        """float32[n, conditions, names]."""
        return np.stack([[self.correct[how, name] for name in names] for how in conditions]).transpose(2, 0, 1)

    def interval(self, statistic: Callable, columns: np.ndarray, sampling: Sampling, **options: Any) -> Interval:
        """Of ``statistic(a)``, a[tasks, ...] being mean accuracies of `columns`; sentences are drawn."""
        member = np.eye(len(self.tasks), dtype=np.float32)[self.task]
        return stats.bootstrap(
            lambda rows, of: statistic(_means(rows, of)),
            columns, member, sampling=sampling, clusters=self.clusters, method="normal", **options,
        )  # fmt: skip

    def in_halves(
        self, statistic: Callable, columns: np.ndarray, sampling: Sampling, method: str = "normal"
    ) -> Interval:
        """Of ``statistic(a, b)`` of accuracies [tasks, ...] on two halves of the sentences, mean over random splits."""
        rng, units = np.random.default_rng(sampling.seed), np.unique(self.clusters, return_inverse=True)[1]
        halves = np.array([rng.permutation(units.max() + 1) % 2 for _ in range(SPLITS)])[:, units]
        member = np.eye(len(self.tasks), dtype=np.float32)[self.task]
        sides = np.stack([halves, 1 - halves], axis=1).reshape(2 * SPLITS, -1).T
        weights = (sides[:, :, None] * member[:, None]).reshape(len(units), -1).astype(np.float32)

        def of(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
            means = _means(rows, weight).reshape(SPLITS, 2, len(self.tasks), *rows.shape[1:])
            return np.mean([[statistic(a, b), statistic(b, a)] for a, b in means], axis=(0, 1))

        return stats.bootstrap(of, columns, weights, sampling=sampling, clusters=self.clusters, method=method)

    def table(self, conditions: Sequence[str], names: Sequence[str], sampling: Sampling) -> pd.DataFrame:
        """Rows condition, embedder, task ("mean" for all), accuracy, low, high."""
        with_mean = lambda a: np.concatenate([a, a.mean(axis=0, keepdims=True)])  # noqa: E731
        found = self.interval(with_mean, self.columns(conditions, names), sampling)
        places = np.ndindex(found.estimate.shape)
        labels = [*self.tasks, "mean"]
        rows = [(conditions[c], names[e], labels[t], *(bound[t, c, e] for bound in found)) for t, c, e in places]
        return pd.DataFrame(rows, columns=["condition", "embedder", "task", "accuracy", "low", "high"])


def _means(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted means of rows, float[w, ...], for each column of weights."""
    sums = weights.T @ rows.reshape(len(rows), -1)
    return (sums / weights.sum(axis=0)[:, None]).reshape(weights.shape[1], *rows.shape[1:])


def evaluate(
    jobs: Mapping[str, tuple[Callable, Mapping[str, Mapping[str, Any]]]],
    labelled: Mapping[str, Task],
    folds: int,
    seed: int,
) -> Results:
    """Every embedder on every task under its conditions.

    Parameters
    ----------
    jobs : mapping
        For each name what encodes, and its conditions: options of `transfer.Evaluation` by name.
    labelled : mapping
        Tasks by name.
    folds, seed : int
        Of cross-validation.
    """
    order = [(name, task) for name in jobs for task in labelled]

    def inputs() -> Iterator[tuple]:
        for name, task in order:
            encode, conditions = jobs[name]
            vectors = encode(labelled[task].sentences)
            vectors = np.asarray(vectors) if isinstance(vectors, np.memmap) else vectors
            yield labelled[task], vectors, conditions, folds, seed

    found: dict[tuple[str, str], list] = {}
    with progress.bar(len(order), "transfer tasks", unit="embedders x tasks") as bar:
        for (name, _), results in zip(order, in_processes(_under_all, inputs()), strict=True):
            for how, result in results.items():
                found.setdefault((how, name), []).append(result)
            bar.update(1)
    place = np.repeat(np.arange(len(labelled)), [len(task.tested) for task in labelled.values()])
    groups = [_groups(task) + 10**7 * i for i, task in enumerate(labelled.values())]
    correct = {key: np.concatenate(each) for key, each in found.items()}
    return Results(list(labelled), place, np.concatenate(groups), correct)


def _under_all(task: Task, vectors: Embeddings, conditions: Mapping, folds: int, seed: int) -> dict[str, np.ndarray]:
    common = {"folds": folds, "seed": seed, "inner_folds": 1}
    results = {how: task.evaluate(vectors, **common, **options) for how, options in conditions.items()}
    return {how: found.correct.astype(np.float32) for how, found in results.items()}


def _groups(task: Task) -> np.ndarray:
    groups = np.arange(len(task.labels)) if task.groups is None else task.groups
    return np.unique(groups[task.tested], return_inverse=True)[1]


# -- findings -------------------------------------------------------------------------------------


def accuracies(results: Results, condition: str, names: Sequence[str]) -> pd.DataFrame:
    """The share of tested sentences labelled right: a row an embedder, a column a task."""
    member = np.eye(len(results.tasks), dtype=np.float32)[results.task]
    return pd.DataFrame(_means(results.columns([condition], names)[:, 0], member).T, names, results.tasks)


def lead(results: Results, names: Sequence[str], first: str, second: str, sampling: Sampling) -> pd.DataFrame:
    """Mean accuracy under one condition less that under another: value, low, high, indexed by embedder."""
    columns = results.columns([first, second], names)
    found = results.interval(lambda a: a.mean(axis=0)[0] - a.mean(axis=0)[1], columns, sampling)
    return pd.DataFrame(dict(zip(("value", "low", "high"), found, strict=True)), index=list(names))


def of_normalization(results: Results, names: Sequence[str], sampling: Sampling) -> Found:
    """The claims on normalization under logistic regression: never, always, or chosen inside the training data."""
    columns = results.columns(["logistic", "always", "chosen"], names)
    means = lambda a: a.mean(axis=0)  # noqa: E731
    chosen = lambda a: np.mean(means(a)[2] - means(a)[:2], axis=1)  # noqa: E731
    best = results.interval(chosen, columns, sampling)
    return {
        ("pitfalls-supervised-most-profit-transfer", ""): share(
            results.interval(lambda a: (means(a)[1] > means(a)[0]).mean(), columns, sampling)
        ),
        ("pitfalls-normalization-hyperparameter", "not worse"): best,
        ("pitfalls-normalization-hyperparameter", "better"): best,
        ("pitfalls-supervised-rank-changes", "reversals"): _reversals(results, columns[:, :2], sampling),
        ("pitfalls-supervised-rank-changes", "agreement"): results.in_halves(
            lambda a, b: steadiness(means(a), means(b)), columns[:, :2], sampling
        ),
    }


def of_classifiers(results: Results, names: Sequence[str], sampling: Sampling) -> Found:
    """The claims on ranks under logistic regression and a multi-layer perceptron."""
    columns = results.columns(["logistic", "mlp"], names)
    shaken = results.in_halves(lambda a, b: -steadiness(a.mean(axis=0), b.mean(axis=0)), columns, sampling)
    claim = "pitfalls-classifier-rank-instability"
    return {(claim, "reversals"): _reversals(results, columns, sampling), (claim, "agreement"): shaken}


def agreement(results: Results, names: Sequence[str], sampling: Sampling) -> pd.DataFrame:
    """Kendall's tau of logistic regression on half of the sentences with each classifier on the other half."""
    classifiers = ["logistic", "svm", "mlp"]
    columns = results.columns(classifiers, names)
    taus = lambda a, b: np.array([kendall(a.mean(axis=0)[0], other) for other in b.mean(axis=0)])  # noqa: E731
    found = results.in_halves(taus, columns, sampling, "fisher")
    return pd.DataFrame({"with": classifiers, "value": found.estimate, "low": found.low, "high": found.high})


def _reversals(results: Results, columns: np.ndarray, sampling: Sampling) -> Interval:
    return both_of(results.interval(lambda a: reversals(a.mean(axis=0)), columns, sampling, holm=True))


def simple_compete(results: Results, names: Sequence[str], sampling: Sampling) -> Found:
    """The best simple embedder less the best other one on each task, both chosen on the other half of the sentences."""
    simple = np.array([name.startswith(SIMPLE) for name in names])
    if simple.all() or not simple.any():
        return {("pitfalls-simple-compete", ""): UNMEASURED}

    def ahead(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        best = [np.where(kind, a[:, 0], -1).argmax(axis=1) for kind in (simple, ~simple)]
        of_simple, of_others = (np.take_along_axis(b[:, 0], place[:, None], 1)[:, 0] for place in best)
        return of_simple - of_others

    columns = results.columns(["chosen"], names)
    tail = (1 - sampling.confidence) / len(results.tasks)  # Bonferroni's, which Holm's steps only relax
    family = Sampling(sampling.seed, sampling.repetitions, 1 - tail)
    return {("pitfalls-simple-compete", ""): results.in_halves(ahead, columns, family)}
