"""Quantities that change with another: curves with bands of confidence, and clouds of points."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lib.plotting.style import COLORS, MARKERS


def curves(tables: Mapping[str, pd.DataFrame], axes: Axes, x_label: str, y_label: str) -> None:
    """A line for each name, marked and colored, with a band where its table gives an interval.

    Each table has a column value, its index is the abscissa; columns low and high give the band.
    """
    for i, (name, table) in enumerate(tables.items()):
        color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
        axes.plot(table.index, table["value"], color=color, marker=marker, markersize=4, linewidth=1.2, label=name)
        if "low" in table:
            axes.fill_between(table.index, table["low"], table["high"], color=color, alpha=0.15, linewidth=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)


def against(points: pd.DataFrame, kinds: pd.Series, axes: Axes, x_label: str, y_label: str) -> None:
    """What we measured over what was published, with the line where both are equal.

    `points` has columns published and value, and low and high for the interval of value; `kinds` names each point's
    kind, which it is colored and marked by.
    """
    for i, kind in enumerate(kinds.unique()):
        some = points[(kinds == kind).to_numpy()]
        errors = np.abs(some[["low", "high"]].to_numpy() - some[["value"]].to_numpy()).T
        look = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "label": kind}
        axes.errorbar(
            some["published"], some["value"], errors, linestyle="", markersize=4, elinewidth=0.8, capsize=1.5, **look
        )
    axes.axline((0, 0), slope=1, color="0.6", linestyle=":", linewidth=1, zorder=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if kinds.nunique() > 1:
        axes.legend(frameon=False)
