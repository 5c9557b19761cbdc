"""Misclassification agreement: where two models are both wrong, how often they say the same (section 5.2, figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib.run.errors import InputError


class Agreement(NamedTuple):
    """Counts of sentences for every two models; symmetric tables with the models in both directions.

    Attributes
    ----------
    same : int, both are wrong, and say the same group: figure 4's numerators
    both : int, both are wrong: its denominators; the diagonal is how many mistakes a model makes
    """

    same: pd.DataFrame
    both: pd.DataFrame

    @property
    def share(self) -> pd.DataFrame:
        """P(m1 = m2 | both wrong), in [0, 1]; missing where two models are never both wrong."""
        return self.same / self.both.where(self.both > 0)

    @property
    def mistakes(self) -> pd.Series:
        """How many sentences each model gets wrong."""
        return pd.Series(np.diag(self.both), self.both.index, name="mistakes")

    def pairs(self) -> pd.DataFrame:
        """A row for each pair of models: a, b, same, both, share."""
        upper = np.triu_indices(len(self.both), 1)
        a, b = (self.both.index[side] for side in upper)
        counts = {name: getattr(self, name).to_numpy()[upper] for name in ("same", "both", "share")}
        return pd.DataFrame({"a": a, "b": b} | counts)


def agreement(labels: Sequence[Any], predictions: Mapping[str, Sequence[Any]]) -> Agreement:
    """How the mistakes of models compare.

    Parameters
    ----------
    labels : [n], what each sentence is; one fold's test sentences, as in the paper, or all
    predictions : [n] of each model, what it says

    Raises InputError for predictions that are not as many as the labels, and for no model.
    """
    labels = np.asarray(labels)
    if not predictions:
        raise InputError("predictions: there are none; give those of one model or more")
    for name, said in predictions.items():
        if len(said) != len(labels):
            raise InputError(f"predictions: {len(said)} of {name!r} for {len(labels)} labels; give one for each")
    said = np.stack([np.asarray(each) for each in predictions.values()])
    wrong = said != labels
    both = wrong.astype(np.int64) @ wrong.T.astype(np.int64)
    same = np.array([((said == each) & wrong & bad).sum(axis=1) for each, bad in zip(said, wrong, strict=True)])
    names = list(predictions)
    return Agreement(*(pd.DataFrame(table, names, names) for table in (same, both)))
