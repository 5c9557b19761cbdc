"""What makes a sentence hard to place: the words that its group shares, the size of the embedding, the group itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lib.embedders.base import Embeddings
from lib.localization.repetition import Repeated, repeat
from lib.localization.results import interval
from lib.run import progress
from lib.run.errors import InputError


def by_overlap(
    repeated: Mapping[str, Repeated], overlap: pd.Series, bins: int = 3, **bounds: Any
) -> dict[str, pd.DataFrame]:
    """Accuracy over the word overlap inside a group (section 5.3's limitation), the groups in equally large bins.

    Parameters
    ----------
    repeated : results of models on the same sentences
    overlap : of each group (`word_overlap`)
    bins : from the groups with the least overlap to those with the most
    bounds : `repetitions`, `confidence` of the intervals

    Returns
    -------
    For each model a table with columns value, low, high and groups, by the mean overlap of the bin

    Raises InputError for fewer than two bins, or more than there are groups.
    """
    if not 2 <= bins <= len(overlap):
        raise InputError(f"bins: {bins} is not accepted; give 2 to {len(overlap)}, the number of groups")
    bin_of = overlap.rank(method="first").sub(1).mul(bins).floordiv(len(overlap)).astype(int)
    labels = next(iter(repeated.values())).results[0].labels
    where, codes = bin_of.loc[labels].to_numpy(), pd.factorize(labels)[0]
    means = overlap.groupby(bin_of).mean()
    tables = {}
    for name, each in repeated.items():
        rows = []
        for number in range(bins):
            inside = where == number
            correct, weights = each.correct[inside], each.weights[inside]
            value = float(np.average(correct, weights=weights))
            rows.append((value, *interval(correct, weights, codes[inside], **bounds), int((bin_of == number).sum())))
        tables[name] = pd.DataFrame(rows, columns=["value", "low", "high", "groups"], index=means.to_numpy())
    return tables


def at_sizes(
    models: Mapping[str, Embeddings],
    labels: Sequence[Any],
    sizes: Sequence[int],
    seeds: Sequence[int] = (0,),
    show_progress_bar: bool = True,
    **options: Any,
) -> dict[str, pd.DataFrame]:
    """Accuracy at equal size: every model on as many principal components, of each fold's training sentences.

    A size that a model's dimensions, or the training sentences, do not reach is left out. Returns for each model a
    table with columns value, low, high, by size.
    """
    folds = options.get("folds", 3)
    most = len(labels) * (folds - 1) // folds
    tables = {}
    for name in progress.track(list(models), "equal sizes", "models", show_progress_bar):
        reached = [size for size in sizes if size <= min(models[name].shape[1], most)]
        found = [repeat(models[name], labels, seeds, pca=size, **options) for size in reached]
        rows = [(each.accuracy, each.low, each.high) for each in found]
        tables[name] = pd.DataFrame(rows, columns=["value", "low", "high"], index=reached)
    return tables


def never_right(repeated: Mapping[str, Repeated]) -> np.ndarray:
    """Which sentences no model labels right with any seed, bool[n]."""
    return ~np.any([each.correct > 0 for each in repeated.values()], axis=0)


def hardest(repeated: Mapping[str, Repeated], sentences: Sequence[str]) -> pd.DataFrame:
    """A row for each group, from the hardest: which share of answers is right over models, seeds and sentences.

    Columns group, sentences, never_right (how many of them no model gets right), accuracy, example (the sentence with
    the fewest right answers), taken_for (a sentence of the group that its wrong answers name most often; missing where
    there are none).
    """
    results = [result for each in repeated.values() for result in each.results]
    labels, said = results[0].labels, np.stack([result.predictions for result in results])
    right, never = np.mean([each.correct for each in repeated.values()], axis=0), never_right(repeated)
    rows = []
    for label in pd.unique(labels):
        members = np.flatnonzero(labels == label)
        worst = members[np.argmin(right[members])]
        wrong = pd.Series(said[:, worst])[said[:, worst] != label]
        taken_for = None if wrong.empty else sentences[np.flatnonzero(labels == wrong.mode().iloc[0])[0]]
        facts = (label, len(members), int(never[members].sum()), float(right[members].mean()))
        rows.append((*facts, sentences[worst], taken_for))
    columns = ["group", "sentences", "never_right", "accuracy", "example", "taken_for"]
    return pd.DataFrame(rows, columns=columns).sort_values("accuracy", kind="stable", ignore_index=True)


def stacked(tables: Mapping[str, Mapping[str, pd.DataFrame]], index: str) -> pd.DataFrame:
    """One table of the tables by set and model: columns set, model, `index`, and theirs."""
    keyed = {(task, name): table for task, found in tables.items() for name, table in found.items()}
    return pd.concat(keyed, names=["set", "model", index]).reset_index()
