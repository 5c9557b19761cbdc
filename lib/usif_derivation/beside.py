"""The scores of the uSIF paper beside ours (Tables 1 to 3 and section 4.3)."""

from __future__ import annotations

import pandas as pd

from lib.catalog import published

DATASETS = {f"STS{year}": f"STS'{year}" for year in range(12, 16)}
DATASETS |= {"SICK-R": "SICK'14", "STSBenchmark": "STS Benchmark"}
VECTORS = {"paragram-sl999": "PSL", "paranmt-50m": "ParaNMT"}  # others are put beside GloVe (840B, 300 dimensions)
COMPOSITIONS = {"SIF": "WR", "SIF, tuned": "WR", "uSIF": "UP"}
TRAINED = {"mean": "ParaNMT Word Avg. (300d)", "SIF": "ParaNMT+WR", "uSIF": "ParaNMT+UP"}


def split(embedder: str) -> tuple[str, str]:
    """Word vectors and composition of a name such as "glove-6b-50d SIF, tuned"."""
    vectors, _, composition = embedder.partition(" ")
    return vectors, composition


def scores(averages: pd.DataFrame) -> pd.DataFrame:
    """Tables 1 and 2 beside ours.

    Parameters
    ----------
    averages : from `results.Results.averages`, embedders named "<vectors> <composition>"

    Returns
    -------
    DataFrame with columns task, ours, paper (the row of its table), published, mean_of_files, weighted, pooled (all
    x100) and difference (mean_of_files - published), for the sets that the paper has
    """
    stated = pd.concat([published.load("usif_table1"), published.load("usif_table2")])
    stated = stated.set_index(["model", "dataset"])["value"]
    rows = []
    for row in averages.itertuples():
        vectors, composition = split(row.embedder)
        key = f"{VECTORS.get(vectors, 'GloVe')}+{COMPOSITIONS.get(composition)}", DATASETS.get(row.task)
        if key in stated.index:
            ours = [100 * value for value in (row.mean_of_files, row.weighted, row.pooled)]
            rows.append((row.task, row.embedder, key[0], stated[key], *ours, ours[0] - stated[key]))
    columns = ["task", "ours", "paper", "published", "mean_of_files", "weighted", "pooled", "difference"]
    return pd.DataFrame(rows, columns=columns)


def improvements(files: pd.DataFrame, averages: pd.DataFrame, vectors: str) -> pd.DataFrame:
    """By how much uSIF beats SIF, in percent of SIF's score, beside what section 4.3 states.

    Parameters
    ----------
    files : scores, rows embedders, columns sets of rated pairs (single files)
    averages : from `results.Results.averages`, of the same sets
    vectors : whose SIF and uSIF are compared

    Returns
    -------
    DataFrame as `lib.catalog.published.beside`
    """
    means = averages.pivot(index="task", columns="embedder", values="mean_of_files")
    by_file, by_task = (
        100 * (of[f"{vectors} uSIF"] / of[f"{vectors} SIF"] - 1).sort_values(ascending=False) for of in (files.T, means)
    )
    ours = {
        "greatest improvement over Arora et al., one task": (f"{vectors}, {by_file.index[0]}", by_file.iloc[0]),
        "greatest improvement over Arora et al., yearly average": (f"{vectors}, {by_task.index[0]}", by_task.iloc[0]),
        "average improvement over Arora et al.": (f"{vectors}, mean over tasks", by_task.mean()),
    }
    return published.beside("usif", ours)


def trained(learned: pd.DataFrame) -> pd.DataFrame:
    """Scores of `supervised.learned` with a column more: what Table 3 has for ParaNMT's vectors, as a share."""
    stated = published.load("usif_table3").set_index(["model", "dataset"])["value"]
    keys = [(TRAINED[split(row.embedder)[1]], row.task.replace("SST2", "SST")) for row in learned.itertuples()]
    return learned.assign(with_paranmt=[stated[key] / 100 for key in keys])
