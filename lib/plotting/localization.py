"""Semantic localization: sizes of groups, lines that part them, and mistakes that two models share."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.plotting.lines import curves
from lib.plotting.style import COLORS, MARKERS, PAGE_WIDTH, SEQUENTIAL

CELL = 0.48, 0.27  # inches: room for 123/456 at 8 points


def group_sizes(breakdowns: Mapping[str, pd.Series]) -> Figure:
    """Bars: how many groups there are of each size, a panel for each set; series as of `lib.localization.breakdown`."""
    shape = (PAGE_WIDTH * (0.6 if len(breakdowns) == 1 else 1), 2.4)
    figure, panels = plt.subplots(1, len(breakdowns), figsize=shape, layout="constrained", squeeze=False)
    for axes, (name, sizes) in zip(panels[0], breakdowns.items(), strict=True):
        bars = axes.bar(sizes.index.astype(str), sizes, color=COLORS[0], width=0.75)
        axes.bar_label(bars, fontsize=8, padding=1)
        axes.set(title=name, xlabel="sentences in a group")
        axes.margins(y=0.12)
    panels[0, 0].set_ylabel("groups")
    return figure


def parted_plane(points: pd.DataFrame, lines: pd.DataFrame, axes: Axes) -> None:
    """Sentences in the plane, marked by group, and the lines that part the groups.

    `points` has columns x, y and group, its index names the sentences. `lines` has columns x, y and offset of functions
    x * X + y * Y + offset: the solid line is where one is 0, the dashed lines where it is 1 and -1.
    """
    limit = 1.7 * float(np.abs(points[["x", "y"]].to_numpy()).max())
    grid = np.linspace(-limit, limit, 200)
    for line in lines.itertuples():
        values = line.x * grid[None, :] + line.y * grid[:, None] + line.offset
        axes.contour(grid, grid, values, levels=[-1, 0, 1], colors="0.3", linestyles=["--", "-", "--"], linewidths=1)
    for i, (group, members) in enumerate(points.groupby("group", sort=False)):
        axes.plot(members["x"], members["y"], linestyle="", marker=MARKERS[i], color=COLORS[i], label=group)
    for name, x, y in points[["x", "y"]].itertuples():
        place = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center"}
        axes.annotate(name, (x, y), bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}, **place)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=len(lines) + 1)
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit))
    axes.set_aspect("equal")
    axes.grid(color="0.93")
    axes.set_axisbelow(True)


def agreement_heatmap(same: pd.DataFrame, both: pd.DataFrame, title: str) -> Figure:
    """Figure 4: of the sentences that two models both get wrong, how many get the same wrong label.

    `same` and `both` are counts, symmetric, with as many mistakes as a model makes on the diagonal of `both`. Each cell
    has its fraction, and is shaded by it; one that is 0/0 has no shade.
    """
    size = len(both)
    shape = (max(PAGE_WIDTH * 0.7, CELL[0] * size + 2.4), CELL[1] * size + 1.9)
    figure, axes = plt.subplots(figsize=shape, layout="constrained")
    upper = np.triu(np.ones((size, size), bool))
    share = same / both.where(both > 0)
    written = same.astype(str) + "/" + both.astype(str)
    shades = {"cmap": SEQUENTIAL, "vmin": 0, "vmax": 1, "linewidths": 0.5, "annot_kws": {"size": 8}}
    bar = {"label": "same wrong label, of both wrong", "shrink": 0.8}
    sns.heatmap(share, mask=upper, annot=written, fmt="", cbar_kws=bar, ax=axes, **shades)
    for row, column in zip(*np.nonzero(~upper & (both == 0).to_numpy()), strict=True):
        axes.text(column + 0.5, row + 0.5, "0/0", ha="center", va="center", color="0.4")
    mistakes = np.diag(both)
    names = [f"{name} ({count})" for name, count in zip(both.index, mistakes, strict=True)]
    axes.set_xticks(np.arange(size - 1) + 0.5, names[:-1], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(np.arange(1, size) + 0.5, names[1:], rotation=0)
    axes.set_xlim(0, size - 1)
    axes.set_ylim(size, 1)
    axes.tick_params(length=0)
    axes.set_title(title)
    return figure


def accuracy_bars(table: pd.DataFrame, published: pd.Series, axes: Axes) -> None:
    """Bars of accuracy in percent with intervals, and a diamond where the paper's number for that kind of model is.

    `table` has columns mean, low, high; `published` has its index, and is missing where the paper has none.
    """
    errors = np.abs(table[["low", "high"]].to_numpy() - table[["mean"]].to_numpy()).T
    look = {"color": COLORS[0], "height": 0.7, "error_kw": {"ecolor": "0.15", "capsize": 2}}
    axes.barh(table.index, table["mean"], xerr=errors, **look)
    known = published.reindex(table.index).dropna()
    if len(known):
        axes.plot(known, known.index, linestyle="", marker="D", markersize=5, color=COLORS[1], label="published")
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_xlabel("accuracy, %")
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)


def curves_by_set(tables: Mapping[str, Mapping[str, pd.DataFrame]], x_label: str, y_label: str) -> Figure:
    """A panel for each set, in it a line with a band for each model, in percent; tables as of `curves`, in [0, 1]."""
    shape = (PAGE_WIDTH * (0.6 if len(tables) == 1 else 1), 2.9)
    figure, panels = plt.subplots(1, len(tables), figsize=shape, layout="constrained", squeeze=False)
    for axes, (task, found) in zip(panels[0], tables.items(), strict=True):
        percent = {name: 100 * table[["value", "low", "high"]] for name, table in found.items()}
        curves(percent, axes, x_label, y_label)
        axes.set_title(task)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure
