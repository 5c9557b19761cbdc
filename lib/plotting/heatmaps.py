"""Square tables of similarities, and the tree that orders one."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from lib.plotting.style import COLORS, PAGE_WIDTH, SEQUENTIAL


def clustered_triangle(table: pd.DataFrame, linkage: np.ndarray, notable: float) -> Figure:
    """The lower triangle of a symmetric table in the order of a tree beside it, with numbers from `notable` upward."""
    from scipy.cluster import hierarchy

    height = 0.26 * len(table) + 1.6
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(PAGE_WIDTH, height), width_ratios=(1, 4.4), layout="constrained"
    )
    tree = hierarchy.dendrogram(
        linkage, ax=left, orientation="left", no_labels=True, color_threshold=0, above_threshold_color=COLORS[0]
    )
    left.invert_yaxis()
    left.set_xlabel("1 - N2O")
    left.spines["left"].set_visible(False)
    ordered = table.iloc[tree["leaves"], tree["leaves"]]
    numbers = ordered.map(lambda value: f"{value:.2f}".lstrip("0") if value >= notable else "")
    sns.heatmap(
        ordered,
        mask=np.triu(np.ones(ordered.shape, dtype=bool)),
        cmap=SEQUENTIAL,
        vmin=0,
        annot=numbers,
        fmt="",
        annot_kws={"size": 7},
        linewidths=0.5,
        cbar_kws={"label": "N2O", "shrink": 0.7},
        ax=right,
    )
    right.tick_params(length=0)
    right.set_xticks(right.get_xticks(), right.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
    return figure


def agreement_heatmap(pairs: pd.DataFrame, title: str) -> Figure:
    """Figure 4: of the sentences that two models both get wrong, how many get the same wrong label.

    `pairs` has columns a, b, both and same. Each cell has its fraction and is shaded by it.
    """
    names = list(dict.fromkeys([*pairs["a"], *pairs["b"]]))
    share = pairs.assign(share=pairs["same"] / pairs["both"]).pivot(index="b", columns="a", values="share")
    written = pairs["same"].astype(str) + "/" + pairs["both"].astype(str)
    written = pairs.assign(written=written).pivot(index="b", columns="a", values="written")
    place = {"index": names[1:], "columns": names[:-1]}
    figure, axes = plt.subplots(figsize=(PAGE_WIDTH * 0.8, 0.3 * len(names) + 1), layout="constrained")
    shades = {"cmap": SEQUENTIAL, "vmin": 0, "vmax": 1, "linewidths": 0.5, "annot_kws": {"size": 8}}
    bar = {"label": "share"}
    sns.heatmap(share.reindex(**place), annot=written.reindex(**place), fmt="", cbar_kws=bar, ax=axes, **shades)
    axes.set(xlabel="", ylabel="", title=title)
    axes.tick_params(length=0)
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)
    return figure
