"""What uSIF's paper scores, what it prints, and how its rivals are tuned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from audit import published
from audit.learned import regress
from lib import stats, tasks
from lib.embedders.base import Embedder
from lib.stats import Sampling
from lib.studies import scores
from lib.studies.scores import ItemSet

# Our sets in the paper's tables.
PAPER = {f"STS{year}": [f"STS'{year}"] for year in range(12, 16)}
PAPER |= {
    "STSBenchmark": ["STS Benchmark"],
    "SICK-R": ["SICK'14", "SICK-R"],
    "SICK-E": ["SICK-E"],
    "SST2": ["SST"],
}
# Pairs or sentences in each file of the paper's test sets; a year's score is the mean
# over its files. STS 2013 is given without SMT, which is not distributed.
SIZES = {
    "STS'12": [750, 750, 459, 750, 399],
    "STS'13": [189, 750, 561],
    "STS'14": [450, 300, 750, 750, 750, 750],
    "STS'15": [375, 750, 375, 750, 750],
    "STS Benchmark": [1379],
    "SICK'14": [4927],
    "SICK-R": [4927],
    "SICK-E": [4927],
    "SST": [1821],
}
ALIASES = {"ParaNMT Trigram-Word Addition": "ParaNMT Trigram-Word"}


# -- sets ------------------------------------------------------------------------------


def connected(task: Any) -> np.ndarray:
    """The cluster of each pair, int[pairs]: pairs with a common sentence share it."""
    sentences, names = pd.factorize(np.array([*task.left, *task.right]))
    left, right = np.split(sentences, 2)
    ones = np.ones(len(left))
    graph = coo_array((ones, (left, right)), shape=(len(names), len(names)))
    _, member = connected_components(graph, directed=False)
    return member[left]


def rated(name: str) -> list[ItemSet]:
    """Rated pairs as in `lib.studies.scores`; a bootstrap draws connected sentences."""
    sets = scores.rated(name)
    task: Any = tasks.load(name)
    if task.ids is not None:
        return sets  # by document
    member = connected(task)
    if len(sets) == 1:
        return [sets[0]._replace(clusters=member)]
    files = np.array(task.genre)
    return [each._replace(clusters=member[files == each.name]) for each in sets]


def learned(name: str) -> ItemSet:
    """A supervised task on frozen embeddings (section 4.4).

    SST2 and SICK-E by logistic regression (accuracy), SICK-R by regression.

    The paper follows "the setup in Wieting et al. (2016b)" without describing it.
    Penalties are chosen on dev.
    """
    parts: list[Any] = [tasks.load(name, split) for split in tasks.splits(name)]
    if name == "SST2":
        return scores.classified(name, name)
    member = connected(parts[-1])
    if name != "SICK-R":
        return scores.classified(name, name)._replace(clusters=member)

    def predictions(embedder: Embedder) -> np.ndarray:
        embedder.fit(
            [sentence for part in parts for sentence in part.left + part.right]
        )
        pairs = []
        for part in parts:
            left = embedder.encode(part.left)
            right = embedder.encode(part.right)
            pairs.append((left, right, part.score))
        return regress(*pairs)

    return ItemSet(name, name, predictions, member, parts[-1].score)


# -- tuning ----------------------------------------------------------------------------


def tuned(
    on_dev: pd.DataFrame, on_test: pd.DataFrame, candidates: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of the candidate that scores best on other data, chosen in each draw.

    Parameters
    ----------
    on_dev, on_test : DataFrame
        Draws with the levels what, group and vectors, equally many of either.
    candidates : sequence of str
        Among "what".

    Returns
    -------
    scores : DataFrame
        Draws on test, with the levels group and vectors.
    chosen : DataFrame
        The place of the candidate in each draw, a column for each set of vectors; in
        the first row that of the estimate.
    """
    found = {}
    chosen = {}
    means = stats.mean_over(on_dev[list(candidates)], "group")
    for vectors in means.columns.unique("vectors"):
        of_dev = means.xs(vectors, axis=1, level="vectors")[list(candidates)]
        place = of_dev.to_numpy().argmax(axis=1)
        chosen[vectors] = place
        of_test = on_test.xs(vectors, axis=1, level="vectors")
        for group in of_test.columns.unique("group"):
            values = of_test.xs(group, axis=1, level="group")[list(candidates)]
            found[group, vectors] = values.to_numpy()[np.arange(len(place)), place]
    table = pd.DataFrame(found).rename_axis(columns=["group", "vectors"])
    return table, pd.DataFrame(chosen)


# -- the print -------------------------------------------------------------------------


def printed(sampling: Sampling) -> pd.DataFrame:
    """The scores of tables 1 to 3 as shares, and draws of them.

    A draw adds the sampling error of the test sets, normal and independent, for nobody
    has the models' predictions: √(p (1 - p) / n) of an accuracy p on n sentences, and
    (1 - r²) / √(n - 3) of a correlation r over n pairs. The files of a year are taken
    to have the year's mean.

    Returns
    -------
    DataFrame
        As `lib.stats.draws` has them, with the levels model and dataset.
    """
    table = pd.concat(published.load(f"usif_table{number}") for number in (1, 2, 3))
    table = table.dropna(subset="value").replace({"model": ALIASES})
    values = table["value"].to_numpy() / 100
    errors = []
    for value, dataset, measure in zip(
        values, table["dataset"], table["measure"], strict=True
    ):
        sizes = np.array(SIZES[dataset])
        of_files = (1 - value**2) / np.sqrt(sizes - 3)
        if measure == "accuracy":
            of_files = np.sqrt(value * (1 - value) / sizes)
        errors.append(np.linalg.norm(of_files) / len(sizes))
    rng = np.random.default_rng(sampling.seed)
    noise = rng.normal(size=(sampling.repetitions, len(values))) * errors
    columns = pd.MultiIndex.from_frame(table[["model", "dataset"]])
    return pd.DataFrame(np.vstack([values, values + noise]), columns=columns)
