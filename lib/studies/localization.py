"""Study 8 beside its lesson: the variants that the paper's claims need, and what is measured on them.

Models have the names of the paper's Table 1 (`WORDS`, `SENTENCES`), variants those of `variants` and `ENSEMBLES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from lib import stats, tasks
from lib.corpora import Corpus, text
from lib.embedders.base import Embeddings
from lib.embedders.sparse import BagOfWords
from lib.localization import classify
from lib.run import progress
from lib.run.cluster import in_processes
from lib.stats import Interval, Sampling
from lib.studies.transfer import encoder
from lib.tasks import local

WORDS = ("BOW", "PCA BOW", "MOWE", "SOWE")
SENTENCES = ("PV-DM", "PV-DBOW", "URAE")
MIXED = "sentence models and BOW"
ENSEMBLES = {MIXED: ("BOW", *SENTENCES), "word models": WORDS}


def treebank_lower(sentence: str) -> list[str]:
    """Penn Treebank tokens in lower case."""
    return [token.lower() for token in text.treebank_tokens(sentence)]


def encode(
    names: Iterable[str], corpus: Corpus | Sequence[str], sentences: Sequence[str], **options: Any
) -> dict[str, Embeddings]:
    """The vectors of sentences by several embedders, each of which has learned what it needs from a corpus."""
    names = list(names)
    order = names[::-1]  # what is trained is named last and takes longest
    jobs = ((name, corpus, list(sentences), options) for name in order)
    found = dict(zip(order, in_processes(encoded, jobs), strict=True))
    return {name: found[name] for name in names}


def encoded(name: str, corpus: Corpus | Sequence[str], sentences: list[str], options: Mapping[str, Any]) -> Embeddings:
    """The same by one embedder."""
    found = encoder(name, corpus, **options)(sentences)
    return found if sp.issparse(found) else np.array(found)


class Answers(NamedTuple):
    """The labels that classifiers give to the sentences of one set.

    Attributes
    ----------
    labels : int[n]
    correct : DataFrame [n, models]
        The share of the seeds with which a sentence was right.
    predictions : DataFrame [n, models]
        With the first seed.
    """

    labels: np.ndarray
    correct: pd.DataFrame
    predictions: pd.DataFrame


class Components(TransformerMixin, BaseEstimator):
    """Principal components, at most as many as the sentences that they are fitted on allow."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def fit(self, X: Embeddings, y: object = None) -> Components:
        """Estimate them."""
        self.pca_ = PCA(min(self.dim, *X.shape), svd_solver="full").fit(dense(X))
        return self

    def transform(self, X: Embeddings) -> np.ndarray:
        """Project on them, float64[n, dim]."""
        return self.pca_.transform(dense(X))


def dense(vectors: Embeddings) -> np.ndarray:
    """As an array."""
    return vectors.toarray() if sp.issparse(vectors) else vectors


def variances(vectors: Embeddings, labels: object = None) -> np.ndarray:
    """Of each column; a score of features for scikit-learn."""
    return StandardScaler(with_mean=False).fit(vectors).var_


def bag_of_words(sentences: Sequence[str]) -> sp.csr_array:
    """float32[n, vocabulary]: how often each Penn Treebank token, in lower case, is in a sentence (section 3.2.4)."""
    return BagOfWords(treebank_lower).fit_encode(sentences)


def groups_of(name: str, count: int = 0, seed: int = 0) -> tasks.ParaphraseGroups:
    """A set of `lib.tasks`, or `count` of its groups; "Verses" are those of Verses-far in three translations."""
    whole = local.verses_far("ylt", "dr", "wmth") if name == "Verses" else tasks.load(name)
    every = np.arange(whole.labels.max() + 1)
    chosen = np.sort(np.random.default_rng(seed).choice(every, count, replace=False)) if count else every
    rows = np.flatnonzero(np.isin(whole.labels, chosen))
    return tasks.ParaphraseGroups([whole.sentences[row] for row in rows], np.searchsorted(chosen, whole.labels[rows]))


def shuffled(sentences: Sequence[str], seed: int = 0) -> list[str]:
    """The sentences with their words in random order."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.permutation(sentence.split())) for sentence in sentences]


def variants(bow: sp.csr_array, urae: np.ndarray, dim: int) -> dict[str, Any]:
    """What `answer` classifies beside a bag of words: its words in `dim` dimensions, and beside the URAE."""
    blocks = [block / np.sqrt(variances(block).sum()) for block in (sp.csr_array(bow, dtype=np.float64), urae)]
    return {
        "PCA BOW, all sentences": Components(dim).fit_transform(bow),
        "BOW, most variable words": (bow, SelectKBest(variances, k=min(dim, bow.shape[1]))),
        "BOW, random directions": (bow, GaussianRandomProjection(dim, random_state=0)),
        "URAE and BOW": sp.csr_array(sp.hstack([blocks[0], sp.csr_array(blocks[1])])),
    }


def answer(
    models: Mapping[str, Any],
    labels: np.ndarray,
    seeds: Sequence[int],
    ensembles: Mapping[str, Sequence[str]] | None = None,
    **options: Any,
) -> Answers:
    """Classify by `lib.localization.classify` with several seeds.

    Parameters
    ----------
    models : mapping
        Of names to vectors, or to a tuple of vectors and the transformers that they pass.
    labels : int[n]
    seeds : sequence of int
        One classification for each; `classify` calls it `seed`.
    ensembles : mapping, optional
        Of names to models, whose scores are divided by their standard deviation and added.
    **options
        The others of `classify`.
    """
    tables, groups = [], np.unique(labels)
    keys = list(product(seeds, models))
    jobs = ((labels, options | {"seed": seed}, models[name]) for seed, name in keys)
    tracked = progress.track(keys, "classification", "models")
    found = dict(zip(tracked, in_processes(scores, jobs), strict=True))
    for seed in seeds:
        by_model = {name: found[seed, name] for name in models}
        for name, members in (ensembles or {}).items():
            by_model[name] = sum(by_model[member] / by_model[member].std() for member in members)
        tables.append(pd.DataFrame({name: groups[each.argmax(axis=1)] for name, each in by_model.items()}))
    correct = np.mean([table.eq(labels, axis=0) for table in tables], axis=0)
    return Answers(labels, pd.DataFrame(correct, columns=tables[0].columns), tables[0])


def scores(labels: np.ndarray, options: Mapping[str, Any], model: Any) -> np.ndarray:
    """Those of `lib.localization.classify`, of each sentence for each group."""
    vectors, *steps = model if isinstance(model, tuple) else (model,)
    return classify(vectors, labels, *steps, **options).scores


def across(models: Mapping[str, Any], labels: np.ndarray, scale: bool = True) -> Answers:
    """Learn from the first half of the rows and label the second, then the reverse, with C = 1.

    The halves are two translations, say, and have one sentence of each group.
    """
    return answer(models, labels, [0], halves=True, scale=scale)


def accuracies(answers: Answers, sampling: Sampling) -> pd.DataFrame:
    """A row for each model, best first: accuracy, low, high; groups are resampled."""
    found = stats.bootstrap(stats.mean, answers.correct.to_numpy(), sampling=sampling, clusters=answers.labels)
    table = found.table(answers.correct, "model").rename(columns={"value": "accuracy"})
    return table.sort_values("accuracy", ascending=False, kind="stable")


def leads(
    tested: Mapping[str, Answers], pairs: Sequence[tuple[str, str]], sampling: Sampling, holm: bool = False
) -> Interval:
    """Accuracy of the first less that of the second of each pair, set after set; groups are resampled."""
    found = []
    for answers in tested.values():
        differences = np.column_stack([answers.correct[a] - answers.correct[b] for a, b in pairs])
        found.append(stats.bootstrap(stats.mean, differences, sampling=sampling, clusters=answers.labels, holm=holm))
    return Interval(*np.round(np.concatenate(found, axis=1), 12))


def mistakes(labels: np.ndarray, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each two models, the columns of label[n, m]: the sentences both get wrong, and alike, int[m, m]."""
    wrong = predictions != labels[:, None]
    both = wrong[:, :, None] & wrong[:, None, :]
    same = both & (predictions[:, :, None] == predictions[:, None, :])
    return both.sum(axis=0), same.sum(axis=0)


def agreement(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """P(same answer | both wrong) of each two models, float[m, m], figure 4; NaN where they are never both wrong."""
    both, same = mistakes(labels, predictions)
    return np.divide(same, both, out=np.full(both.shape, np.nan), where=both > 0)


def shared_mistakes(answers: Answers, names: Sequence[str]) -> pd.DataFrame:
    """A row for each pair of models: a, b, both (sentences that both get wrong), same (with the same answer)."""
    both, same = mistakes(answers.labels, answers.predictions[names].to_numpy())
    rows = [(names[i], names[j], both[i, j], same[i, j]) for i, j in combinations(range(len(names)), 2)]
    return pd.DataFrame(rows, columns=["a", "b", "both", "same"])


def spread(vectors: Embeddings, labels: np.ndarray) -> np.ndarray:
    """float64[n, 2]: squared distances of each sentence from its group's mean, and of that from the mean of all."""
    rows = pd.DataFrame(dense(vectors).astype(np.float64))
    means = rows.groupby(labels).transform("mean")
    return np.column_stack([((rows - means) ** 2).sum(axis=1), ((means - rows.mean()) ** 2).sum(axis=1)])
