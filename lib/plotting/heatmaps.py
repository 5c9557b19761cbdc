"""Square tables of similarities, and the tree that orders one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.plotting.style import COLORS, PAGE_WIDTH, SEQUENTIAL


def clustered_triangle(
    table: pd.DataFrame, linkage: np.ndarray, notable: float
) -> Figure:
    """The lower triangle of a symmetric table, ordered by a tree beside it.

    Numbers are shown from `notable` upward. The tree joins two branches at the mean N2O
    between them.
    """
    from scipy.cluster import hierarchy

    figure = plt.figure(
        figsize=(PAGE_WIDTH, 0.26 * len(table) + 1.6), layout="constrained"
    )
    left, right = figure.subplots(1, 2, width_ratios=(1, 4.4))
    one_color = {"color_threshold": 0, "above_threshold_color": COLORS[0]}
    tree = hierarchy.dendrogram(
        linkage, ax=left, orientation="left", no_labels=True, **one_color
    )
    left.invert_yaxis()
    # Most joins are of little N2O; a logarithmic axis tells them apart.
    left.set_xscale("function", functions=(_to_logs, _from_logs))
    joins = linkage[:, 2]
    left.set_xlim(joins.max() + 0.2 * (1 - joins.max()), 0)
    ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1) if tick >= 1 - joins.max()]
    left.set_xticks([1 - tick for tick in ticks], [f"{tick:g}" for tick in ticks])
    left.set_xlabel("N2O, logarithmic")
    left.spines["left"].set_visible(False)

    leaves = tree["leaves"]
    ordered = table.iloc[leaves, leaves]
    above = np.triu(np.ones(ordered.shape, dtype=bool))
    bar = {"label": "N2O", "shrink": 0.7}
    notes = ordered.where(ordered >= notable).map(_two_digits)
    _shaded(ordered, notes, right, bar, size=7, mask=above)
    _slant(right)
    return figure


def _to_logs(distance: np.ndarray) -> np.ndarray:
    return -np.log(np.clip(1 - distance, 1e-3, None))


def _from_logs(logs: np.ndarray) -> np.ndarray:
    return 1 - np.exp(-logs)


def triangles(tables: Mapping[str, pd.DataFrame], columns: int = 1) -> Figure:
    """The lower triangles of symmetric tables, with their numbers.

    `columns` of them stand side by side. All have one scale, from 0 to 1, and cells of
    one size. A cell without a number is gray.
    """
    lengths = np.reshape([len(table) for table in tables.values()], (-1, columns))
    heights = lengths.max(axis=1) - 1
    size = (PAGE_WIDTH, (0.2 * heights + 1.3).sum())
    figure, panels = plt.subplots(
        *lengths.shape,
        figsize=size,
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for axes, (title, table) in zip(panels.flat, tables.items(), strict=True):
        _triangle(table, axes)
        axes.set_title(title)
    for row, height in zip(panels, heights, strict=True):
        for axes in row:
            bottom = axes.get_ylim()[0]
            axes.set(xlim=(0, lengths.max() - 1), ylim=(bottom, bottom - height))
    return figure


def _triangle(table: pd.DataFrame, axes: Axes) -> None:
    lower = np.tril(np.ones(table.shape, dtype=bool), -1)
    shown = table.where(lower).iloc[1:, :-1]
    absent = np.where(np.tril(np.ones(shown.shape, dtype=bool)), 0.15, np.nan)
    axes.pcolormesh(absent, cmap="Greys", vmin=0, vmax=1)
    _shaded(shown, shown.map(_two_digits), axes, None, size=6, vmax=1)
    axes.tick_params(labelsize=7)
    axes.set(xlabel="", ylabel="")
    _slant(axes)
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)


def _slant(axes: Axes) -> None:
    """Write the names below the columns obliquely, and leave out the ticks."""
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.tick_params(length=0)
    axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), **slanted)


def _two_digits(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}".lstrip("0")


def agreement_heatmap(pairs: pd.DataFrame, title: str) -> Figure:
    """Figure 4: how often two models that are both wrong give the same wrong label.

    `pairs` has columns a, b, both and same. Each cell has its fraction and is shaded by
    it.
    """
    names = list(dict.fromkeys([*pairs["a"], *pairs["b"]]))
    cells = pairs.set_index(["b", "a"])
    share = cells["same"] / cells["both"]
    fraction = cells["same"].astype(str) + "/" + cells["both"].astype(str)
    share = share.unstack().reindex(names[1:], columns=names[:-1])
    fraction = fraction.unstack().reindex(names[1:], columns=names[:-1])
    height = 0.3 * len(names) + 1
    figure, axes = plt.subplots(
        figsize=(PAGE_WIDTH * 0.8, height), layout="constrained"
    )
    _shaded(share, fraction, axes, {"label": "share"}, size=8, vmax=1)
    axes.set(xlabel="", ylabel="", title=title)
    axes.tick_params(length=0)
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)
    return figure


def _shaded(
    values: pd.DataFrame,
    written: pd.DataFrame,
    axes: Axes,
    bar: dict[str, Any] | None,
    size: int,
    **options: Any,
) -> None:
    """A heat map with something written into each cell; other options are seaborn's."""
    import seaborn as sns

    sns.heatmap(
        values,
        annot=written,
        fmt="",
        annot_kws={"size": size},
        cmap=SEQUENTIAL,
        vmin=0,
        linewidths=0.5,
        cbar=bar is not None,
        cbar_kws=bar,
        ax=axes,
        **options,
    )
