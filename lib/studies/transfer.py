"""Study 7, part 2: accuracy on transfer tasks under several classifiers, with normalization and without.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3, figures 1 to 3. The
measures are in `lib.transfer` and `lib.probing`. A finding has the claim and its part as its key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lib import embedders, tasks, transfer
from lib.corpora import Corpus
from lib.embedders.base import Embeddings
from lib.run import progress
from lib.run.cluster import in_processes
from lib.stats import Sampling
from lib.store import EmbeddingStore, fit
from lib.studies.orders import UNMEASURED, Found, Resampled, frame, kendall, reversals, share, steadiness
from lib.tasks import ClassificationTask

# Averages and bags of words, and random projections of them; all others are encoders.
SIMPLE = ("tfidf", "bow", "glove", "wordllama", "w2v", "fasttext")


Splits = Sequence[ClassificationTask]  # one, which is cross-validated; or train, dev (if there is one) and test


def sentences(splits: Splits) -> list[str]:
    """Those of all splits, n."""
    return [sentence for split in splits for sentence in split.sentences]


def load(name: str, most: int, seed: int, folds: int) -> Splits:
    """A set of single sentences with at most so many of them in training or cross-validation; 0 for all.

    A set without official splits is cross-validated; with one fold it is halved, into training and test sentences.
    """
    first, *others = (tasks.load(name, split) for split in tasks.splits(name))
    splits = [drawn(first, most, seed), *others]
    if folds > 1 or len(splits) > 1:
        return splits
    half = transfer.deal(splits[0].labels, 2, np.random.default_rng(seed), splits[0].groups)
    return [_rows(splits[0], np.flatnonzero(half == side)) for side in (0, 1)]


def drawn(task: ClassificationTask, most: int, seed: int) -> ClassificationTask:
    """At most so many sentences, each class with its share; 0 for all."""
    if not 0 < most <= len(task) - len(np.unique(task.labels)):
        return task
    from sklearn.model_selection import train_test_split

    kept, _ = train_test_split(np.arange(len(task)), train_size=most, stratify=task.labels, random_state=seed)
    return _rows(task, np.sort(kept))


def _rows(task: ClassificationTask, rows: np.ndarray) -> ClassificationTask:
    groups = None if task.groups is None else task.groups[rows]
    return ClassificationTask([task.sentences[i] for i in rows], task.labels[rows], groups)


def encoder(name: str, corpus: Corpus | Sequence[str], **options: Any) -> Callable[[Sequence[str]], Embeddings]:
    """From sentences to their stored embeddings, by an embedder that is fitted on a corpus if it learns from text."""
    embedder = fit(embedders.load(name, **options), corpus)
    return lambda sentences: EmbeddingStore().embed(embedder, list(sentences))


# -- results --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Results:
    """Which tested sentences of several tasks are labelled right, by condition and embedder.

    Attributes
    ----------
    tasks : list of str
    task : int[n]
        Of each sentence.
    clusters : int[n]
        From 0 on, equal for sentences that mean the same.
    correct : dict
        bool[n] for each condition and embedder.
    sampling : Sampling
    """

    tasks: list[str]
    task: np.ndarray
    clusters: np.ndarray
    correct: Mapping[tuple[str, str], np.ndarray]
    sampling: Sampling

    def by_task(self, conditions: Sequence[str], names: Sequence[str] | np.ndarray) -> Resampled:
        """Accuracies float32[tasks, conditions, ...], whose last axes are those of the names."""
        names, member = np.asarray(names), np.arange(len(self.tasks))[:, None] == self.task
        correct = np.array([[self.correct[how, name] for name in names.flat] for how in conditions], np.float32)
        columns = correct.reshape(-1, len(self.task)).T

        def score(times: np.ndarray) -> np.ndarray:
            weights = (member * times).astype(np.float32)
            means = weights @ columns / weights.sum(axis=1, keepdims=True)
            return means.reshape(len(self.tasks), len(conditions), *names.shape)

        return Resampled(np.stack([self.clusters] * 2, axis=1), score, self.sampling)

    def mean(self, conditions: Sequence[str], names: Sequence[str] | np.ndarray) -> Resampled:
        """The means of accuracies over tasks, float32[conditions, ...]."""
        by_task = self.by_task(conditions, names)
        return replace(by_task, score=lambda times: by_task.score(times).mean(axis=0))

    def table(self, conditions: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
        """Rows condition, embedder, task ("mean" for all), accuracy, low, high."""
        with_mean = lambda a: np.concatenate([a, a.mean(axis=0, keepdims=True)])  # noqa: E731
        found = self.by_task(conditions, names).interval(with_mean)
        table = frame(found, task=[*self.tasks, "mean"], condition=conditions, embedder=names)
        return table.rename(columns={"value": "accuracy"})[["condition", "embedder", "task", "accuracy", "low", "high"]]


def evaluate(
    jobs: Mapping[str, tuple[Callable, Mapping[str, Mapping[str, Any]]]],
    labelled: Mapping[str, Splits],
    folds: int,
    seed: int,
    sampling: Sampling,
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
    sampling : Sampling
        Of all intervals.
    """
    order = list(product(jobs, labelled.values()))

    def inputs() -> Iterator[tuple]:
        for name, splits in order:
            encode, conditions = jobs[name]
            yield splits, np.asarray(encode(sentences(splits))), conditions, folds, seed

    correct = defaultdict(list)
    tracked = progress.track(order, "transfer tasks", "embedders x tasks")
    for (name, _), found in zip(tracked, in_processes(_under_all, inputs()), strict=True):
        for how, right in found.items():
            correct[how, name].append(right)
    tested = [splits[-1] for splits in labelled.values()]
    place = np.repeat(np.arange(len(tested)), [len(split) for split in tested])
    groups = [np.arange(len(split)) if split.groups is None else split.groups for split in tested]
    clusters = pd.DataFrame({"task": place, "group": np.concatenate(groups)}).groupby(["task", "group"]).ngroup()
    correct = {key: np.concatenate(each) for key, each in correct.items()}
    return Results(list(labelled), place, clusters.to_numpy(), correct, sampling)


def _under_all(
    splits: Splits, vectors: Embeddings, conditions: Mapping, folds: int, seed: int
) -> dict[str, np.ndarray]:
    common = {"folds": folds, "seed": seed, "inner_folds": 1}
    found = {how: transfer.on_splits(splits, lambda _: vectors, **common, **more) for how, more in conditions.items()}
    return {how: result.correct for how, result in found.items()}


# -- findings -------------------------------------------------------------------------------------


def accuracies(results: Results, condition: str, names: Sequence[str]) -> pd.DataFrame:
    """The share of tested sentences labelled right: a row an embedder, a column a task."""
    everything = np.ones(len(results.task), int)
    return pd.DataFrame(results.by_task([condition], names).score(everything)[:, 0].T, names, results.tasks)


def lead(results: Results, names: Sequence[str], first: str, second: str) -> pd.DataFrame:
    """Mean accuracy under one condition less that under another: value, low, high, indexed by embedder."""
    found = results.mean([first, second], names).interval(lambda a: a[0] - a[1])
    return frame(found, embedder=names).set_index("embedder")


def of_normalization(results: Results, names: Sequence[str]) -> Found:
    """The claims on normalization under logistic regression: never, always, or chosen inside the training data."""
    scores = results.mean(["logistic", "always", "chosen"], names)
    chosen = scores.interval(lambda a: np.mean(a[2] - a[:2], axis=1))
    return {
        ("pitfalls-supervised-most-profit-transfer", ""): share(scores.interval(lambda a: (a[1] > a[0]).mean())),
        ("pitfalls-normalization-hyperparameter", "not worse"): chosen,
        ("pitfalls-normalization-hyperparameter", "better"): chosen,
        ("pitfalls-supervised-rank-changes", "reversals"): reversals(results.mean(["logistic", "always"], names)),
        ("pitfalls-supervised-rank-changes", "agreement"): scores.in_halves(steadiness),
    }


def of_classifiers(results: Results, names: Sequence[str]) -> Found:
    """The claims on ranks under logistic regression and a multi-layer perceptron."""
    scores, claim = results.mean(["logistic", "mlp"], names), "pitfalls-classifier-rank-instability"
    shaken = scores.in_halves(lambda a, b: -steadiness(a, b))
    return {(claim, "reversals"): reversals(scores), (claim, "agreement"): shaken}


def agreement(results: Results, names: Sequence[str]) -> pd.DataFrame:
    """Kendall's tau of logistic regression on half of the sentences with each classifier on the other half."""
    classifiers = {"logistic": "logistic regression", "svm": "SVM", "mlp": "MLP"}
    taus = lambda a, b: np.array([kendall(a[0], other) for other in b])  # noqa: E731
    found = results.mean(list(classifiers), names).in_halves(taus, "fisher")
    return frame(found, **{"with": classifiers.values()})


def simple_compete(results: Results, names: Sequence[str]) -> Found:
    """The best simple embedder less the best other one on each task, both chosen on the other half of the sentences."""
    simple = np.array([name.startswith(SIMPLE) for name in names])
    if simple.all() or not simple.any():
        return {("pitfalls-simple-compete", ""): UNMEASURED}

    def ahead(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        of_simple, of_others = (np.where(kind, a[:, 0], -1).argmax(axis=1) for kind in (simple, ~simple))
        each_task = np.arange(len(b))
        return b[each_task, 0, of_simple] - b[each_task, 0, of_others]

    tail = (1 - results.sampling.confidence) / len(results.tasks)  # Bonferroni's, which Holm's steps only relax
    family = replace(results, sampling=replace(results.sampling, confidence=1 - tail))
    return {("pitfalls-simple-compete", ""): family.by_task(["chosen"], names).in_halves(ahead)}
