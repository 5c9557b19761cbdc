"""What the paper on localization measures: variants, answers, mistakes, geometry.

Models have the names of the paper's Table 1 (`WORDS`, `SENTENCES`), variants those of
`variants` and `ENSEMBLES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from audit import published
from lib import catalog, corpora, stats, tasks
from lib.base import progress
from lib.base.cluster import in_processes
from lib.corpora import text
from lib.localization import GRID, classify, double, spread, svm
from lib.stats import Interval, Sampling
from lib.tasks import local, readers
from lib.vectors import Embeddings, dense

WORDS = ("BOW", "PCA BOW", "MOWE", "SOWE")
SENTENCES = ("PV-DM", "PV-DBOW", "URAE")
UNGROUPED = "Opinosis"
MIXED = "sentence models and BOW"
ENSEMBLES = {MIXED: ("BOW", *SENTENCES), "word models": WORDS}


class Components(TransformerMixin, BaseEstimator):
    """Principal components, no more than the sentences they are fitted on allow."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def fit(self, X: Embeddings, y: object = None) -> Components:
        """Estimate them."""
        dim = min(self.dim, *X.shape)
        self.pca_ = PCA(dim, svd_solver="full").fit(dense(X))
        return self

    def transform(self, X: Embeddings) -> np.ndarray:
        """Project on them, float64[n, dim]."""
        return self.pca_.transform(dense(X))


def variances(vectors: Embeddings, labels: object = None) -> np.ndarray:
    """The variance of each column, float64[d]; a score function for scikit-learn."""
    return StandardScaler(with_mean=False).fit(vectors).var_


def groups_of(name: str, count: int = 0) -> tasks.ParaphraseGroups:
    """A set of `lib.tasks`, or `count` of its groups.

    "Verses" are those of Verses-far in three translations.
    """
    if name == "Verses":
        whole = local.verses_far("ylt", "dr", "wmth")
    else:
        whole = tasks.load(name)
    if not count:
        return whole
    rng = np.random.default_rng(0)
    total = whole.labels.max() + 1
    chosen = np.sort(rng.choice(total, count, replace=False))
    rows = np.flatnonzero(np.isin(whole.labels, chosen))
    sentences = [whole.sentences[row] for row in rows]
    return tasks.ParaphraseGroups(
        sentences, np.searchsorted(chosen, whole.labels[rows])
    )


def others(names: Sequence[str], count: int) -> list[str]:
    """Sentences to learn from in place of tested ones, as many of each text.

    The last ones of a corpus; "Opinosis" stands for the sentences that its groups leave
    out, in random order.
    """
    rng = np.random.default_rng(0)
    found = []
    for name in names:
        if name == UNGROUPED:
            sentences = rng.permutation(ungrouped()).tolist()
        else:
            sentences = list(corpora.load(name).sentences)
        found += sentences[-(count // len(names)) :]
    return rng.permutation(found).tolist()


def ungrouped() -> list[str]:
    """The first column of each file of Opinosis' groups: sentences without a group."""
    folder = catalog.file("opinosis/paraphrase_groups")
    own = set(tasks.load("Opinosis-groups").sentences)
    found = set()
    for file in folder.glob("*.data"):
        lines = file.read_text(readers.WESTERN).splitlines()
        found |= {line.split("\t")[0].strip().strip('"') for line in lines}
    return sorted(found - own - {""})


def shuffled(sentences: Sequence[str]) -> list[str]:
    """The sentences with their words in random order."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.permutation(sentence.split())) for sentence in sentences]


def variants(bow: sp.csr_array, urae: np.ndarray, dim: int) -> dict[str, Any]:
    """What `cross_validated_labels` classifies beside a bag of words.

    Its words in `dim` dimensions, and its words beside the URAE.
    """
    best = SelectKBest(variances, k=min(dim, bow.shape[1]))
    directions = GaussianRandomProjection(dim, random_state=0)
    blocks = [double(bow), urae]
    scaled = [block / np.sqrt(variances(block).sum()) for block in blocks]
    both = sp.hstack([sp.csr_array(block) for block in scaled])
    return {
        "PCA BOW, all sentences": Components(dim).fit_transform(bow),
        "BOW, most variable words": (bow, best),
        "BOW, random directions": (bow, directions),
        "URAE and BOW": sp.csr_array(both),
    }


def cross_validated_labels(
    models: Mapping[str, Any],
    labels: np.ndarray,
    seeds: Sequence[int],
    ensembles: Mapping[str, Sequence[str]] | None = None,
    C: float | Sequence[float] = 1.0,
    halves: bool = False,
) -> pd.DataFrame:
    """Classify sentences by `lib.localization.classify`, over several deals of folds.

    Parameters
    ----------
    models : mapping
        Of names to vectors, or to a tuple of vectors and the transformers that they
        pass.
    labels : int[n]
        The group of each sentence.
    seeds : sequence of int
        One deal of the folds for each.
    ensembles : mapping, optional
        Of names to models, whose scores are divided by their standard deviation and
        added.
    C, halves
        As for `classify`.

    Returns
    -------
    DataFrame
        The group that each sentence is placed in: a column for each deal and model. The
        index has the group that it belongs to.
    """
    runs = list(product(seeds, models))
    jobs = ((models[name], labels, seed, C, halves) for seed, name in runs)
    tracked = progress.track(runs, "classification", "models")
    scored = dict(zip(tracked, in_processes(scores, jobs), strict=True))
    ensembles = ensembles or {}
    for seed, name in product(seeds, ensembles):
        values = [scored[seed, member] for member in ensembles[name]]
        scored[seed, name] = sum(each / each.std() for each in values)
    groups = np.unique(labels)
    every = product(seeds, [*models, *ensembles])
    placed = {run: groups[scored[run].argmax(axis=1)] for run in every}
    table = pd.DataFrame(placed, pd.Index(labels, name="group"))
    return table.rename_axis(columns=["deal", "model"])


def scores(
    model: Any,
    labels: np.ndarray,
    seed: int,
    C: float | Sequence[float],
    halves: bool,
) -> np.ndarray:
    """The scores of `lib.localization.classify`, float64[n, groups]."""
    vectors, *steps = model if isinstance(model, tuple) else (model,)
    return classify(vectors, labels, *steps, seed=seed, C=C, halves=halves).scores


def is_correct(answers: pd.DataFrame) -> pd.DataFrame:
    """1 where a sentence is placed in its group, else 0; axes as in the labels."""
    return answers.eq(answers.index.to_numpy(), axis=0).astype(float)


def share(right: pd.DataFrame) -> pd.DataFrame:
    """The share of deals that place each sentence right; a column for each model."""
    return right.T.groupby("model", sort=False).mean().T


def accuracy(right: pd.DataFrame, sampling: Sampling) -> pd.DataFrame:
    """Draws of the accuracy of each model, over other groups and other deals.

    `right` is as `is_correct` has it, or its means within groups, with which each group
    counts the same; with a level "set" of its index the accuracies are those on each
    set. The levels are set, if given, model and, for several deals, seed.
    """
    deals = right.columns.unique("deal")
    by_model = right[deals[0]]
    if len(deals) > 1:
        by_model = right.rename_axis(columns=["seed", "model"]).swaplevel(axis=1)
        by_model = by_model[list(by_model.columns.unique("model"))]
    groups = right.index.get_level_values("group")
    sets = None
    if "set" in right.index.names:
        sets = right.index.get_level_values("set")
    return stats.draws(by_model, sampling, groups, sets=sets)


def printed(sampling: Sampling) -> dict[str, pd.DataFrame]:
    """Draws of the accuracies in Table 1, for each set, as `accuracy` has ours.

    A draw is binomial, on as many sentences as the set is said to have.
    """
    table = published.cells("localization_table1", ["dataset", "model"]) / 100
    stated = published.cells("localization", "quantity")
    rng = np.random.default_rng(sampling.seed)
    found = {}
    for name in table.index.unique("dataset"):
        count = int(stated[f"sentences in the {name} subcorpus"])
        share = table[name]
        right = rng.binomial(count, share, (sampling.repetitions, len(share)))
        drawn = np.vstack([share, right / count])
        found[name] = pd.DataFrame(drawn, columns=share.index)
    return found


def paired_errors(draws: pd.DataFrame, sentences: int) -> pd.Series:
    """How far `printed` has the errors of differences right, for every two models.

    The standard deviation of draws of a difference, paired and over groups, as a
    multiple of the binomial error of an unpaired one on that many sentences.
    """
    pairs = list(combinations(draws.columns, 2))
    shares = draws.iloc[0]
    variances = pd.Series(shares * (1 - shares) / sentences)
    unpaired = [np.sqrt(variances[one] + variances[other]) for one, other in pairs]
    return stats.differences(draws, pairs).iloc[1:].std() / unpaired


def contrasts(
    accuracies: Mapping[str, pd.DataFrame],
    pairs: Sequence[tuple[str, str]],
    sampling: Sampling,
    margin: bool = False,
) -> Interval:
    """Accuracy of the first minus that of the second of each pair, on every set.

    All are one family, with Holm's correction, which is for differences from 0, or,
    where they are compared with a margin, with Bonferroni's.
    """
    gaps = {name: stats.differences(each, pairs) for name, each in accuracies.items()}
    joined = pd.concat(gaps, axis=1)
    if margin:
        return bonferroni(joined, sampling)
    return stats.intervals(joined, sampling, holm=True)


def bonferroni(draws: pd.DataFrame, sampling: Sampling) -> Interval:
    """The intervals of a family of columns, wide enough to hold together."""
    names = draws.columns
    if "seed" in names.names:
        names = names.droplevel("seed").unique()
    confidence = 1 - (1 - sampling.confidence) / len(names)
    return stats.intervals(draws, replace(sampling, confidence=confidence))


def mistakes(
    labels: np.ndarray, predictions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sentences that two models both get wrong, and wrong alike, int[m, m] each.

    The models are the columns of label[n, m].
    """
    wrong = predictions != labels[:, None]
    both = wrong[:, :, None] & wrong[:, None, :]
    same = both & (predictions[:, :, None] == predictions[:, None, :])
    return both.sum(axis=0), same.sum(axis=0)


def agreement(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """P(same answer | both wrong) of each two models, float[m, m] (figure 4).

    NaN where they are never both wrong.
    """
    both, same = mistakes(labels, predictions)
    return same / np.where(both > 0, both, np.nan)


def shared_mistakes(predictions: pd.DataFrame) -> pd.DataFrame:
    """A row for each two models: a, b, both, same.

    `both` counts the sentences that both get wrong, `same` those that they get wrong
    alike. `predictions` has a column for each model and the groups of the sentences as
    its index.
    """
    both, same = mistakes(predictions.index.to_numpy(), predictions.to_numpy())
    pairs = np.triu_indices(len(both), 1)
    first, second = (predictions.columns[places] for places in pairs)
    counts = {"both": both[pairs], "same": same[pairs]}
    return pd.DataFrame({"a": first, "b": second} | counts)


def space(models: Mapping[str, Embeddings], labels: np.ndarray) -> pd.DataFrame:
    """How the groups lie: a row for each model.

    Columns scatter (squared distances within groups over those between them) and, of an
    SVM with the largest C, separable (accuracy on the sentences that it has learned
    from) and border_margin (distance of a border to the nearest sentences, at one
    scale; mean over groups).
    """
    table = pd.DataFrame(index=pd.Index(models, name="model"))
    for name, vectors in models.items():
        within, between = spread(vectors, labels).sum(axis=0)
        table.loc[name, "scatter"] = within / between
        vectors = double(vectors)
        fitted = svm(C=GRID[-1]).fit(vectors, labels)
        table.loc[name, "separable"] = fitted.score(vectors, labels)
        norms = np.linalg.norm(fitted[-1].coef_, axis=1)
        table.loc[name, "border_margin"] = (1 / norms).mean()
    return table


def overlaps(sentences: Sequence[str], labels: np.ndarray) -> pd.DataFrame:
    """Word overlap of each sentence with its group and with other groups.

    The overlap of two sentences is the number of word types that they share, divided by
    all word types of the two (Jaccard), without punctuation. The index of the rows is
    the group.

    Columns own and other (means over sentences of the group and of other groups),
    own_nearest and other_nearest (the largest), margin (own_nearest - other_nearest),
    used (share of its word types that another sentence of the group has, mean over
    these), words (word types), size (sentences of the group).
    """
    types = CountVectorizer(analyzer=text.content_types).fit_transform(sentences)
    shared = (types @ types.T).toarray()
    words = shared.diagonal()
    either = words[:, None] + words - shared
    jaccard = shared / np.maximum(1, either)
    alike = labels[:, None] == labels
    itself = np.eye(len(labels), dtype=bool)
    own = np.where(alike & ~itself, jaccard, np.nan)
    other = np.where(alike, np.nan, jaccard)
    table = pd.DataFrame(index=pd.Index(labels, name="group"))
    table["own"] = np.nanmean(own, axis=1)
    table["other"] = np.nanmean(other, axis=1)
    table["own_nearest"] = np.nanmax(own, axis=1)
    table["other_nearest"] = np.nanmax(other, axis=1)
    table["margin"] = table["own_nearest"] - table["other_nearest"]
    used = shared / np.maximum(1, words)[:, None]
    table["used"] = np.nanmean(np.where(alike & ~itself, used, np.nan), axis=1)
    return table.assign(words=words, size=alike.sum(axis=1))
