"""What the Sent2Vec paper prints: its scores with their sampling error, its averages, and where they do not add up.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features", Tables 1 to 3 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.catalog import published

PRINTED = "printed scores with the sampling error of their test sets, unpaired"
SIZES = {  # of the test sets: sentences, or pairs
    "MSRP": 1725, "MR": 10662, "CR": 3775, "SUBJ": 10000, "MPQA": 10606, "TREC": 500, "STS 2014 News": 300,
    "STS 2014 Forum": 450, "STS 2014 WordNet": 750, "STS 2014 Twitter": 750, "STS 2014 Images": 750,
    "STS 2014 Headlines": 750, "SICK 2014": 9927,
}  # fmt: skip


def printed() -> pd.DataFrame:
    """Tables 1, 2 and 7 as one: model, dataset, measure, value and its standard error.

    Values are fractions. The error is that of a share of the set's sentences, or of a correlation of its pairs.
    """
    table = pd.concat(published.load(f"sent2vec_table{number}") for number in (1, 2, 7))
    table = table[table["dataset"].isin(SIZES) & (table["measure"] != "f1")].dropna(subset="value")
    share = table["measure"] == "accuracy"
    value = table["value"].where(~share, table["value"] / 100)
    size = table["dataset"].map(SIZES)
    error = np.sqrt(value * (1 - value) / size).where(share, (1 - value**2) / np.sqrt(size - 3))
    return table.assign(value=value, error=error)[["model", "dataset", "measure", "value", "error"]]


def leads(model: str, rivals: Sequence[str]) -> pd.DataFrame:
    """By how much a model leads the best of some rivals in print, with the interval of an unpaired comparison.

    Returns
    -------
    DataFrame with columns dataset, measure, rival, lead, low, high
    """
    table = printed()
    own = table[table["model"] == model].set_index(["dataset", "measure"])
    best = table[table["model"].isin(rivals)].sort_values("value").groupby(["dataset", "measure"]).last()
    both = own.join(best.add_suffix(" of rival"), how="inner")
    lead = both["value"] - both["value of rival"]
    half = 1.96 * np.hypot(both["error"], both["error of rival"])
    found = {"rival": both["model of rival"], "lead": lead.round(6), "low": lead - half, "high": lead + half}
    return pd.DataFrame(found).reset_index()


def sets_led(table: pd.DataFrame) -> tuple[int, int, int]:
    """On how many sets a model is ahead by every measure: in print, beyond doubt, and at most, given the intervals."""
    weakest = table.groupby("dataset")[["lead", "low", "high"]].min()
    return tuple(int((weakest[column] > 0).sum()) for column in weakest)


def misprints() -> pd.DataFrame:
    """Averages that differ from the mean of their parts by more than rounding explains.

    Returns
    -------
    DataFrame with columns table, model, measure, printed, parts (their mean)
    """
    rows = []
    for number in (1, 2, 7):
        table = published.load(f"sent2vec_table{number}").query("measure != 'f1'")
        for (model, measure), own in table.groupby(["model", "measure"], sort=False):
            average = own["dataset"] == "average"
            rows.append((number, model, measure, own["value"][average].mean(), own["value"][~average].mean()))
    rows += [(3, model, "macro average", *pair) for (model, _), *pair in macro_averages().itertuples()]
    found = pd.DataFrame(rows, columns=["table", "model", "measure", "printed", "parts"])
    slack = np.where(found["printed"] > 1, 0.11, 0.011)  # percent, correlations
    return found[(found["printed"] - found["parts"]).abs() > slack]


def macro_averages() -> pd.DataFrame:
    """Table 3: printed macro averages and the means of their parts, by model and corpus."""
    table = published.load("sent2vec_table3").pivot_table("value", ["model", "corpus"], "measure", sort=False)
    parts = table[["supervised average", "unsupervised average"]].mean(axis=1)
    return pd.DataFrame({"printed": table["macro average"], "parts": parts})


def judge_printed(ledger: stats.Ledger, profile: str) -> dict[str, pd.DataFrame]:
    """Judge the claims that rest on printed numbers; returns the leads of two models over all unsupervised rivals."""
    names = pd.Series(printed()["model"].unique())
    rivals = names[~names.str.contains("Sent2Vec|CaptionRep|DictRep")]
    toronto, others = rivals[rivals != "C-PHRASE"], rivals[rivals != "SkipThought"]
    ahead = {model: leads(model, rivals) for model in ("Sent2Vec uni.", "Sent2Vec uni. + bi.")}

    def judge(claim: str, tables: Sequence[pd.DataFrame], where: str = "") -> None:
        table = pd.concat(tables)
        chosen = table.query(where) if where else table
        ledger.interval(f"sent2vec-{claim}", *chosen[["lead", "low", "high"]].to_numpy().T, analogue=PRINTED)

    counts = [sets_led(table) for table in ahead.values()]
    ledger.interval("sent2vec-most-benchmarks", *np.transpose(counts), analogue=PRINTED)
    alike = [leads(model, toronto).query("measure != 'accuracy'") for model in ahead]
    ledger.interval(
        "sent2vec-similarity-majority", *np.transpose([sets_led(table) for table in alike]), analogue=PRINTED
    )
    second = leads("Sent2Vec uni. + bi.", others).query("dataset in ('MR', 'SUBJ', 'TREC')")
    judge("cr-and-half-of-tasks", [second, *(table.query("dataset == 'CR'") for table in ahead.values())])
    accuracy = published.load("sent2vec_table1").query("measure == 'accuracy'")
    accuracy = accuracy.pivot(index="model", columns="dataset", values="value")
    r = np.corrcoef(accuracy["MSRP"], accuracy[["MR", "CR", "SUBJ", "MPQA", "TREC"]].mean(axis=1))[0, 1]
    bounds = np.tanh(np.arctanh(r) + np.array([-1.96, 1.96]) / np.sqrt(len(accuracy) - 3))  # Fisher's z
    ledger.interval("sent2vec-msrp-lack-of-generality", r, *bounds)
    if profile != "paper":
        phrase = [leads(model, ["C-PHRASE"]) for model in ahead]
        judge("cphrase-lag", phrase, "dataset in ('STS 2014 News', 'STS 2014 WordNet')")
        captions = [leads(model, ["CaptionRep BOW", "CaptionRep RNN"]) for model in ahead]
        judge("images-beats-captionrep", captions, "dataset == 'STS 2014 Images'")
    return ahead
