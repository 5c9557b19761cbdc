"""Scores printed in the paper on Sent2Vec, with the sampling error of its test sets.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features",
tables 1, 2, 4, 6 and 7. Two printed scores are compared unpaired: nobody has the
predictions, so their errors are taken to be independent, and intervals are wider than
paired ones would be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from audit import published
from lib.stats import Interval

# Sentences or pairs in the test sets.
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
EVIDENCE = (
    "printed scores with the sampling error of their test sets; the models' own "
    "answers, paired, would have narrower intervals"
)
STS_2014 = 3750  # pairs of its six sets
DRAWS = 10_000  # of all printed scores
BOOKS, WIKIPEDIA, TWITTER = TEXTS = ("book corpus", "wiki", "twitter")
# How Table 6 calls the texts of Table 7.
HEADINGS = {
    "unordered sentences: Toronto Books": BOOKS,
    "unordered sentences: Wikipedia": WIKIPEDIA,
    "unordered sentences: Twitter": TWITTER,
}
# How tables 1 and 6 call the models of tables 2 and 7.
ALIASES = {
    "Unigram TFIDF": "Unigram TF-IDF",
    "DictRep BOW+embs": "DictRep BOW + embs.",
    "DictRep RNN+embs.": "DictRep RNN + embs.",
}


def sent2vec(form: str, text: str = BOOKS) -> str:
    """The name that `scores` gives a model: form "uni.", "uni. + bi." or with L1."""
    return f"Sent2Vec {text} {form}"


def scores() -> pd.DataFrame:
    """Printed accuracies and correlations, with the sampling error of their test sets.

    An accuracy p on n sentences has the error √(p (1 - p) / n), a correlation r over n
    pairs (1 - r²) / √(n - 3).

    Returns
    -------
    DataFrame with columns model, dataset, measure, value (an accuracy is a share) and
    error, its standard error; a row once, though two tables have it
    """
    table = pd.concat(published.load(f"sent2vec_table{n}") for n in (1, 2, 6, 7))
    table = table[table["dataset"].isin(SIZES)].query("measure != 'f1'")
    table = table.dropna(subset="value")
    form = table["model"].str.removeprefix("Sent2Vec ")
    is_nameless = form.ne(table["model"]) & form.str.startswith("uni.")
    text = table["data"].map(HEADINGS).fillna(BOOKS)
    own = "Sent2Vec " + text + " " + form
    table["model"] = own.where(is_nameless, table["model"].replace(ALIASES))
    size = table["dataset"].map(SIZES)
    is_share = table["measure"] == "accuracy"
    value = table["value"] / np.where(is_share, 100, 1)
    of_share = np.sqrt(value * (1 - value) / size)
    of_correlation = (1 - value**2) / np.sqrt(size - 3)
    error = of_share.where(is_share, of_correlation)
    table = table.assign(value=value, error=error)
    columns = ["model", "dataset", "measure", "value", "error"]
    return table[columns].drop_duplicates(columns[:3], ignore_index=True)


def interval(value: np.ndarray, error: np.ndarray) -> Interval:
    """The 95 % interval of normal estimates with these standard errors."""
    value = np.asarray(value, float).round(6)
    half = norm.isf(0.025) * np.asarray(error, float)
    return Interval(value, value - half, value + half)


def leads(printed: pd.DataFrame, model: str, rivals: Sequence[str]) -> pd.DataFrame:
    """The lead of a model over the best of some rivals, by set and measure.

    Parameters
    ----------
    printed : DataFrame
        As `scores` has it.
    model : str
    rivals : sequence of str

    Returns
    -------
    DataFrame with columns dataset, measure, rival, value, low and high
    """
    cell = ["dataset", "measure"]
    others = printed[printed["model"].isin(rivals)]
    others = others.sort_values("value", kind="stable")
    best = others.groupby(cell).last().rename(columns={"model": "rival"})
    own = printed[printed["model"] == model]
    table = own.merge(best, on=cell, suffixes=("", "_rival"))
    error = np.hypot(table["error"], table["error_rival"])
    value, low, high = interval(table["value"] - table["value_rival"], error)
    return table[[*cell, "rival"]].assign(value=value, low=low, high=high)


def averages(printed: pd.DataFrame) -> pd.DataFrame:
    """Each model's averages over the test sets, with their sampling error.

    The two correlations of a set share their error, since they have the same pairs.

    Returns
    -------
    DataFrame indexed by model; columns (value, kind) and (error, kind), where kind is
    supervised, similarity, or macro, the mean of both; NaN where a set is missing
    """
    kind = np.where(printed["measure"] == "accuracy", "supervised", "similarity")
    by_set = printed.groupby(["model", kind, "dataset"])[["value", "error"]].mean()
    groups = by_set.groupby(level=[0, 1])
    sets = pd.Series({"supervised": 6, "similarity": 7})
    complete = groups.size() == sets.reindex(groups.size().index, level=1)
    table = groups.mean()
    table["error"] = groups["error"].agg(np.linalg.norm) / groups.size()
    table = table.where(complete, axis=0).unstack()
    kinds = ["supervised", "similarity"]
    table["value", "macro"] = table["value"][kinds].sum(axis=1, skipna=False) / 2
    squares = table["error"][kinds] ** 2
    table["error", "macro"] = np.sqrt(squares.sum(axis=1, skipna=False)) / 2
    return table


def arora() -> pd.DataFrame:
    """The averages of Table 4, with their sampling error, as `averages` has them.

    Nobody has the single accuracies of GloVe + WR and PSL + WR: the error of their
    averages is taken to be that of Sent2Vec's on the same sets.
    """
    cells = published.load("sent2vec_table4")
    value = cells.pivot(index="model", columns="dataset", values="value")
    pairs = pd.Series({"STS 2014": STS_2014, "SICK 2014": SIZES["SICK 2014"]})
    on_pairs = value[pairs.index]
    errors = (1 - on_pairs**2) / np.sqrt(pairs - 3)
    own = averages(scores())["error", "supervised"][sent2vec("uni. + bi.", TWITTER)]
    columns = {
        ("value", "similarity"): on_pairs.mean(axis=1),
        ("error", "similarity"): np.sqrt((errors**2).sum(axis=1)) / len(pairs),
        ("value", "supervised"): value["average of supervised tasks"],
        ("error", "supervised"): own,
    }
    return pd.DataFrame(columns, value.index)


def average_leads(
    means: pd.DataFrame, pairs: Sequence[tuple[str, str]], *kinds: str
) -> Interval:
    """By how much the first of each pair leads the second on average.

    `means` is what `averages` gives; the pairs of one kind come after those of another.
    """
    gaps, errors = [], []
    for kind in kinds:
        of_kind = means.xs(kind, axis=1, level=1)
        for model, rival in pairs:
            gaps.append(of_kind["value"][model] - of_kind["value"][rival])
            errors.append(np.hypot(of_kind["error"][model], of_kind["error"][rival]))
    return interval(np.array(gaps), np.array(errors))


def sets_led(
    printed: pd.DataFrame, model: str, rivals: Sequence[str], seed: int
) -> Interval:
    """On how many sets a model has the best score by every measure.

    A parametric bootstrap draws all scores together; the measures of a set have the
    same draw. A tie is no lead.
    """
    names = [model, *rivals]
    table = printed[printed["model"].isin(names)]
    wide = table.pivot(index=["dataset", "measure"], columns="model")
    values, errors = (wide[part][names].to_numpy() for part in ("value", "error"))
    place, sets = pd.factorize(wide.index.get_level_values("dataset"))
    shape = DRAWS, len(sets), len(names)
    noise = np.random.default_rng(seed).normal(size=shape)

    def count(drawn: np.ndarray) -> np.ndarray:
        """The sets led, in each draw of scores, float[draws, cells, models]."""
        ahead = drawn[..., 0] > np.nanmax(drawn[..., 1:], axis=-1)
        by_set = [ahead[:, place == number].all(axis=1) for number in range(len(sets))]
        return np.sum(by_set, axis=0)

    (estimate,) = count(values[None])
    counts = count(values + noise[:, place] * errors)
    low, high = np.percentile(counts, [2.5, 97.5], method="inverted_cdf")
    return Interval(estimate, min(low, estimate), max(high, estimate))
