"""Study 7: what rankings of embedders go with: normalization with spectra, probing with transfer (figure 3).

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3. `lib.probing` makes or
reads the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib import catalog, probing, stats
from lib.corpora import Corpus
from lib.embedders.base import Embeddings
from lib.run.errors import InputError
from lib.stats import Interval, Sampling
from lib.studies.orders import UNMEASURED, Found, frame
from lib.studies.transfer import Results, Splits, drawn

KIN = ("glove", "minilm", "w2v", "fasttext", "sent2vec")  # share word vectors or weights, and are drawn together
SHARES = (0.4, 0.1, 0.5)  # of a probing task: train, dev, test
LEAST = 3  # embedders that a rank correlation is computed of
CLAIMS = (
    ("pitfalls-probing-average", "number"),
    ("pitfalls-probing-average", "low"),
    ("pitfalls-probing-sentlen-highest", ""),
    ("pitfalls-probing-wc-lowest", ""),
    ("pitfalls-probing-set-dependent", ""),
)
RELIABLE = 0.5  # Spearman of a task's scores on two halves: below, a task is not interpreted


def spectrum(vectors: Embeddings) -> dict[str, float]:
    """How embeddings of n texts, float[n, d] or CSR, lie: the mean's share, and the components around it.

    Returns
    -------
    dict
        `mean`: squared length of the mean vector over the mean squared length; `first`: the first principal
        component's share of the variance; `dimensions`: the effective number, 1 over the sum of squared shares.
    """
    rows = vectors[:, np.unique(vectors.indices)].toarray() if sp.issparse(vectors) else np.asarray(vectors)
    rows = rows.astype(np.float64)
    mean = rows.mean(axis=0)
    around = rows - mean
    smaller = around @ around.T if len(around) < around.shape[1] else around.T @ around
    shares = np.linalg.eigvalsh(smaller)[::-1] / np.trace(smaller)
    share_of_mean = mean @ mean / (rows**2).sum(axis=1).mean()
    return {"mean": float(share_of_mean), "first": float(shares[0]), "dimensions": float(1 / (shares**2).sum())}


def kin(names: Sequence[str]) -> np.ndarray:
    """int[e], equal for embedders that share word vectors or weights (`KIN`)."""
    family = [next((stem for stem in KIN if name.startswith(stem)), name) for name in names]
    return np.unique(family, return_inverse=True)[1]


def why(shape: pd.DataFrame, gain: pd.Series, sampling: Sampling) -> pd.DataFrame:
    """Spearman's correlation over embedders of the gain with each column of `shape`: property, value, low, high."""
    options = {"sampling": sampling, "clusters": kin(list(shape.index)), "method": "fisher"}
    rows = [(name, *stats.bootstrap(stats.spearman, shape[name], gain, **options)) for name in shape]
    return pd.DataFrame(rows, columns=["property", "value", "low", "high"])


def probes(names: Sequence[str], corpus: Corpus, size: int, seed: int) -> tuple[dict[str, Splits], dict[str, str]]:
    """Probing tasks, SentEval's where its files are, else made from a corpus; and why others are left out.

    `size` counts the sentences of a task.
    """
    sizes = [round(share * size) for share in SHARES]
    found, left_out = {}, {}
    for name in names:
        try:
            here = catalog.find(f"senteval/probing/{probing.FILES[name]}.txt")
            task = probing.read(name) if here else probing.make(name, corpus, sizes, seed)
            found[name] = [drawn(split, most, seed) for split, most in zip(task.splits, sizes, strict=True)]
        except InputError as error:
            left_out[name] = str(error)
    return found, left_out


def reliability(results: Results, condition: str, names: Sequence[str]) -> pd.DataFrame:
    """Spearman's correlation over embedders of each task's scores on two halves of its sentences: task, value, ..."""

    def repeats(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.array([stats.spearman(x[0], y[0]) for x, y in zip(a, b, strict=True)])

    return frame(results.by_task([condition], names).in_halves(repeats, "fisher"), task=results.tasks)


def correlations(transfer_scores: np.ndarray, probing_scores: np.ndarray) -> np.ndarray:
    """Spearman's correlation over embedders of every two tasks, [t, p], from scores [e, t] and [e, p]."""
    ranks = pd.DataFrame(np.hstack([transfer_scores, probing_scores])).rank()
    count = transfer_scores.shape[1]
    return ranks.corr().to_numpy()[:count, count:]


def of_probing(
    transfer_scores: pd.DataFrame, probing_scores: pd.DataFrame, trained: Sequence[bool], sampling: Sampling
) -> tuple[pd.DataFrame, Found]:
    """Correlations with their intervals, and the claims on them; embedders are drawn, relatives together.

    Parameters
    ----------
    transfer_scores, probing_scores : DataFrame
        Accuracies of the same embedders (rows) on reliable tasks (columns).
    trained : bool[e]
        Which embedders are of the one of two kinds that are compared.

    Returns
    -------
    DataFrame
        Rows transfer, probing, value, low, high.
    dict
        Findings by claim and part, `UNMEASURED` without the tasks or embedders that a claim speaks of.
    """
    found, probes = dict.fromkeys(CLAIMS, UNMEASURED), list(probing_scores)
    if transfer_scores.empty or probing_scores.empty:
        return pd.DataFrame(), found
    given = transfer_scores.to_numpy(), probing_scores.to_numpy(), np.asarray(trained)
    options = {"sampling": sampling, "clusters": kin(list(transfer_scores.index)), "method": "normal"}

    def of(statistic: Callable, **more: Any) -> Interval:
        return stats.bootstrap(lambda t, p, kind: statistic(correlations(t, p)), *given, **options | more)

    def ahead(rho: np.ndarray, name: str) -> np.ndarray:
        """Of a probing task the correlations [t, p] less those of each other one, mean over transfer tasks."""
        mine = probes.index(name)
        return (rho[:, [mine]] - np.delete(rho, mine, axis=1)).mean(axis=0)

    def contrast(t: np.ndarray, p: np.ndarray, kind: np.ndarray) -> float:
        if min(kind.sum(), (~kind).sum()) < LEAST:
            return np.nan
        first, second = (ahead(correlations(t[some], p[some]), "WC").mean() for some in (kind, ~kind))
        return first - second

    table = frame(of(lambda rho: rho, method="fisher"), transfer=transfer_scores, probing=probes)
    found |= dict.fromkeys(CLAIMS[:2], of(lambda rho: rho.mean()))
    if "SentLen" in probes and len(probes) > 1:
        found["pitfalls-probing-sentlen-highest", ""] = of(lambda rho: ahead(rho, "SentLen"), holm=True)
    if "WC" in probes and len(probes) > 1:
        found["pitfalls-probing-wc-lowest", ""] = of(lambda rho: -ahead(rho, "WC"), holm=True)
        if min(np.sum(trained), len(trained) - np.sum(trained)) >= LEAST:
            found["pitfalls-probing-set-dependent", ""] = stats.bootstrap(contrast, *given, **options)
    return table, found
