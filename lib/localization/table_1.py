"""Table 1 beside ours: which of the paper's models one of ours is, or is of the kind of."""

from __future__ import annotations

import pandas as pd

from lib import embedders
from lib.catalog import published

BOW, PCA_BOW = "BOW", "PCA BOW"
DATASETS = {"MSRP-groups": "MSRP", "Opinosis-groups": "Opinosis"}
COLUMNS = ["of the paper", "published", "model", "ours", "low", "high"]


def kind(name: str) -> str | None:
    """The model of Table 1 that an embedder is of the kind of, such as MOWE; None for what the paper does not have."""
    if name in (BOW, PCA_BOW):
        return name
    for prefix in ("pv-dm", "pv-dbow", "urae"):
        if name.startswith(prefix):
            return prefix.upper()
    vectors, _, composition = name.partition("+")
    if not embedders.composes_words(vectors):
        return None
    return {"": "MOWE", "mowe": "MOWE", "sowe": "SOWE"}.get(composition)


def beside(summary: pd.DataFrame, task: str) -> pd.DataFrame:
    """The published accuracies of a set, and ours of each model of the same kind (`COLUMNS`), in percent.

    A model of the paper without one of ours has a row too. For a set that the paper does not have, nothing is
    published.
    """
    rated = published.load("localization_table1")
    theirs = rated[rated["dataset"] == DATASETS.get(task)].set_index("model")["value"]
    models = theirs.reindex(rated["model"].unique()).rename("published").rename_axis("of the paper").reset_index()
    ours = 100 * summary[["accuracy", "low", "high"]].rename(columns={"accuracy": "ours"}).rename_axis("model")
    ours = ours.reset_index().assign(**{"of the paper": [kind(name) for name in summary.index]})
    return models.merge(ours, how="left", on="of the paper")[COLUMNS]
