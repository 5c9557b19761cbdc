"""Square tables of similarities: annotated heatmaps, and the tree that orders one."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.plotting.style import COLORS, PAGE_WIDTH, SEQUENTIAL


def heatmap_axes(size: int) -> tuple[Figure, Axes]:
    """A figure wide enough for a square table of `size` annotated rows."""
    width = max(PAGE_WIDTH, 0.36 * size + 2.2)
    figure, axes = plt.subplots(figsize=(width, width * 0.8), layout="constrained")
    return figure, axes


def stacked_heatmap_axes(sizes: Sequence[int]) -> tuple[Figure, Sequence[Axes]]:
    """A figure with one square table of so many annotated rows below the other, cells of one size."""
    heights = [0.3 * size + 1.6 for size in sizes]  # the names below the columns take the rest
    shape = (max(PAGE_WIDTH, 0.36 * max(sizes) + 2.2), sum(heights))
    figure, panels = plt.subplots(len(sizes), figsize=shape, height_ratios=heights, layout="constrained", squeeze=False)
    return figure, panels[:, 0]


def heatmap(
    table: pd.DataFrame,
    axes: Axes,
    highest: float | None = None,
    bar: bool = True,
    square: bool = True,
    label: str = "N2O",
    lowest: float = 0.0,
    decimals: int = 2,
) -> None:
    """An annotated heatmap of a symmetric table in [0, 1]; its diagonal is left out.

    `highest` is the value of the darkest color: the largest off the diagonal if not given. `lowest` is that of the
    lightest; the numbers have so many `decimals`.
    """
    diagonal = np.eye(len(table), dtype=bool)
    highest = highest or table.to_numpy()[~diagonal].max()
    sns.heatmap(
        table,
        mask=diagonal,
        cmap=SEQUENTIAL,
        vmin=lowest,
        vmax=highest,
        annot=True,
        fmt=f".{decimals}f",
        annot_kws={"size": 8},
        square=square,
        linewidths=0.5,
        cbar=bar,
        cbar_kws={"label": label, "shrink": 0.7},
        ax=axes,
    )
    axes.set_facecolor("0.92")
    axes.tick_params(length=0)
    axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)


def dendrogram(linkage: np.ndarray, names: Sequence[str], axes: Axes, label: str) -> list[str]:
    """A tree that opens to the left, leaves on the right; returns the leaves from top to bottom."""
    from scipy.cluster import hierarchy

    tree = hierarchy.dendrogram(
        linkage, ax=axes, orientation="left", no_labels=True, color_threshold=0, above_threshold_color=COLORS[0]
    )
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.spines["left"].set_visible(False)
    return [names[i] for i in tree["leaves"]]


def clustered_heatmap(table: pd.DataFrame, linkage: np.ndarray) -> Figure:
    """A heatmap in the order of a hierarchical clustering, with its tree beside it."""
    width = max(PAGE_WIDTH, 0.36 * len(table) + 2.8)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(width, width * 0.62), width_ratios=(1, 3.6), layout="constrained"
    )
    order = dendrogram(linkage, list(table.index), left, "1 - N2O")
    heatmap(table.loc[order, order], right, square=False)  # as high as the tree, leaf beside row
    return figure
