"""Embedders on labelled sets: similarity of rated pairs, and what a classifier learns from frozen embeddings.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features", section 4 and Tables 1, 2, 6 and 7.
What an embedder learns from text it learns from a corpus, never from the sets; embeddings come from the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import exams, stats, transfer
from lib.corpora import Corpus
from lib.embedders.base import Embedder, Embeddings
from lib.exams import RatedPairs
from lib.run import progress
from lib.similarity import correlations, cosine
from lib.store import EmbeddingStore, fit

Encode = Callable[[Sequence[str]], Embeddings]


def encoder(embedder: Embedder, corpus: Corpus) -> Encode:
    """A function from sentences to their embeddings, float32[n, dim] or CSR, by an embedder fitted on a corpus."""
    fit(embedder, corpus)
    return lambda sentences: EmbeddingStore().embed(embedder, list(sentences))


def rated(names: Sequence[str]) -> list[RatedPairs]:
    """Sets of rated pairs, a year of STS as one set a file; all of SICK-R, as in the Sent2Vec paper, else the test."""
    sets = [exams.rated([name], "all" if name == "SICK-R" else "test") for name in names]
    return [each for some in sets for each in some]


def rate(
    encoders: Mapping[str, Encode],
    sets: Sequence[RatedPairs],
    rng: np.random.Generator,
    repetitions: int = 1000,
    confidence: float = 0.95,
    show_progress_bar: bool = True,
) -> pd.DataFrame:
    """How well the cosine of two sentences follows people's ratings of the pair.

    Parameters
    ----------
    encoders : by the names that the table shows (`encoder`)
    sets : rated pairs; resamples are drawn once for all embedders, items where pairs share items
    rng, repetitions, confidence : as for `lib.stats.bootstrap_mean`

    Returns
    -------
    DataFrame with columns embedder, dataset, pairs, pearson, low, high (the interval of pearson), spearman
    """
    draws = [each.draws(rng, repetitions) for each in sets]
    rows = []
    for name in progress.track(list(encoders), "rated pairs", unit="embedders", show=show_progress_bar):
        for each, drawn in zip(sets, draws, strict=True):
            vectors = encoders[name]([*each.left, *each.right])
            cosines = cosine(vectors[: len(each)], vectors[len(each) :])
            found = correlations(cosines, each.gold)
            low, high = stats.percentiles(each.scores(cosines[:, None], drawn)[:, 0], confidence)
            rows.append((name, each.name, len(each), found["pearson"], low, high, found["spearman"]))
    return pd.DataFrame(rows, columns=["embedder", "dataset", "pairs", "pearson", "low", "high", "spearman"])


def classify(
    encoders: Mapping[str, Encode],
    task_names: Sequence[str],
    seed: int = 0,
    folds: int = 10,
    inner_folds: int = 5,
    show_progress_bar: bool = True,
) -> pd.DataFrame:
    """Accuracy of logistic regression on frozen embeddings, its L2 penalty chosen inside the training data.

    Official splits where a set has them, otherwise nested cross-validation; pairs as [|u - v|, u * v].

    Parameters
    ----------
    encoders : by the names that the table shows (`encoder`)
    task_names : of `lib.tasks`
    seed, inner_folds : as in `lib.transfer.Options`
    folds : of cross-validation, where a set has no official splits

    Returns
    -------
    DataFrame with columns embedder, dataset and those of `lib.transfer.Result.row`
    """
    rows = []
    for name in progress.track(list(encoders), "classification", unit="embedders", show=show_progress_bar):
        for task in task_names:
            result = transfer.on_task(
                task, encoders[name], folds=folds, inner_folds=inner_folds, normalize=(False,), seed=seed
            )
            rows.append({"embedder": name, "dataset": task} | result.row())
    return pd.DataFrame(rows)


def macro_average(rated: pd.DataFrame, classified: pd.DataFrame) -> pd.DataFrame:
    """Table 3: the average of the two averages, for each embedder by falling macro average.

    Returns
    -------
    DataFrame indexed by embedder with columns supervised (mean accuracy, percent), unsupervised (mean of Spearman's and
    Pearson's correlations times 100) and macro, their mean
    """
    supervised = 100 * classified.groupby("embedder", sort=False)["accuracy"].mean()
    both = rated.groupby("embedder", sort=False)[["pearson", "spearman"]].mean()
    table = pd.DataFrame({"supervised": supervised, "unsupervised": 100 * both.mean(axis=1)})
    return table.assign(macro=table.mean(axis=1)).sort_values("macro", ascending=False, kind="stable")
