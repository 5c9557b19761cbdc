"""Quantities that change with another: curves with bands of confidence, and clouds of points."""

from __future__ import annotations

from collections.abc import Mapping

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
