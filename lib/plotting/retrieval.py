"""A row for each name, with several marks."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from lib.plotting.style import COLORS, MARKERS


def dots(table: pd.DataFrame, axes: Axes, label: str) -> None:
    """A row for each name of the index, with a mark for each column."""
    for i, column in enumerate(table):
        axes.plot(
            table[column],
            range(len(table)),
            linestyle="",
            marker=MARKERS[i % len(MARKERS)],
            color=COLORS[i % len(COLORS)],
            markersize=5,
            label=column,
        )
    axes.set_yticks(range(len(table)), table.index)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
