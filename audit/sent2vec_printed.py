"""Scores printed in the paper on Sent2Vec, with the sampling error of its test sets.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features",
tables 1, 2 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from audit import published

# Sentences or pairs in the test sets of tables 1, 2 and 7.
SIZES = {
    "MSRP": 1725,
    "MR": 10662,
    "CR": 3775,
    "SUBJ": 10000,
    "MPQA": 10606,
    "TREC": 500,
    "STS 2014 News": 300,
    "STS 2014 Forum": 450,
    "STS 2014 WordNet": 750,
    "STS 2014 Twitter": 750,
    "STS 2014 Images": 750,
    "STS 2014 Headlines": 750,
    "SICK 2014": 9927,
}


def scores() -> pd.DataFrame:
    """Printed accuracies and correlations, with the sampling error of their test sets.

    Returns
    -------
    DataFrame with columns model, dataset, measure, value (an accuracy is a share) and
    error, its standard error
    """
    table = pd.concat(published.load(f"sent2vec_table{n}") for n in (1, 2, 7))
    table = table[table["dataset"].isin(SIZES)].query("measure != 'f1'")
    table = table.dropna(subset="value")
    size = table["dataset"].map(SIZES)
    is_share = table["measure"] == "accuracy"
    value = table["value"] / np.where(is_share, 100, 1)
    of_share = np.sqrt(value * (1 - value) / size)
    of_correlation = (1 - value**2) / np.sqrt(size - 3)
    error = of_share.where(is_share, of_correlation)
    return table.assign(value=value, error=error)


def leads(printed: pd.DataFrame, model: str, rivals: Sequence[str]) -> pd.DataFrame:
    """The lead of a model over the best of some rivals, by set and measure.

    The two are compared unpaired: nobody has their predictions.

    Parameters
    ----------
    printed : DataFrame
        As `scores` has it.
    model : str
    rivals : sequence of str

    Returns
    -------
    DataFrame with columns dataset, measure, rival, lead, low and high, the ends of the
    95 % interval
    """
    cell = ["dataset", "measure"]
    others = printed[printed["model"].isin(rivals)]
    others = others.sort_values("value", kind="stable")
    best = others.groupby(cell).last().rename(columns={"model": "rival"})
    own = printed[printed["model"] == model]
    table = own.merge(best, on=cell, suffixes=("", "_rival"))
    lead = table["value"] - table["value_rival"]
    error = np.hypot(table["error"], table["error_rival"])
    half = norm.isf(0.025) * error
    ends = {"low": lead - half, "high": lead + half}
    return table[[*cell, "rival"]].assign(lead=lead.round(6), **ends)
