"""Bars in panels, and upright lines."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.plotting.distributions import bars_with_intervals
from lib.plotting.style import PAGE_WIDTH

DIVERGING = "PuOr"  # dark on both sides, light at 0, and its two sides differ for every color vision
LINES = ("-", "--", ":", "-.")
PANELS = 3  # beside each other


def upright(value: float, axes: Axes, label: str) -> None:
    """A dotted vertical line with its name beside its upper end."""
    axes.axvline(value, color="0.3", linestyle=":", linewidth=1.2)
    place = {"xycoords": ("data", "axes fraction"), "xytext": (3, -9), "textcoords": "offset points"}
    axes.annotate(label, (value, 1), color="0.2", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8}, **place)


def grouped_bars(table: pd.DataFrame, label: str) -> Figure:
    """Bars with intervals, a panel for each group, three beside each other; all panels have the same bars in one order.

    `table` has columns embedder (the bars), group (the panels), mean, low and high.
    """
    groups, bars = list(dict.fromkeys(table["group"])), list(dict.fromkeys(table["embedder"]))
    rows = -(-len(groups) // PANELS)
    shape = (PAGE_WIDTH, rows * (0.17 * len(bars) + 0.75))
    figure, panels = plt.subplots(
        rows, min(len(groups), PANELS), figsize=shape, layout="constrained", sharey=True, squeeze=False
    )
    for axes, group in zip(panels.flat, groups, strict=False):
        bars_with_intervals(table[table["group"] == group].set_index("embedder").loc[bars], axes, label)
        axes.set_title(group)
        axes.axvline(0, color="0.3", linewidth=0.8)
    for axes in panels.flat[len(groups) :]:
        axes.set_visible(False)
    panels[0, 0].set_ylim(len(bars) - 0.5, -0.5)  # shared by all panels; each has turned it
    return figure
