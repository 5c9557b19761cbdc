"""Estimates with their intervals, and how values are spread."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.plotting.style import PAGE_WIDTH, bars, frame, look

CLOSE = 0.6  # of the distance between two names: what rows of one name share


def dots_with_intervals(
    table: pd.DataFrame, axes: Axes, label: str, kinds: pd.Series | None = None, level: float | None = None
) -> None:
    """A dot with its interval for each row: columns value, low, high; the index names them from top to bottom.

    Rows of one name stand close together beside it. `kinds` names each row's kind, which it is colored and marked by.
    `level` draws a dotted line, such as chance.
    """
    kinds = pd.Series("", table.index) if kinds is None else kinds
    errors = bars(table, "value")
    places, names = pd.factorize(table.index)
    same = pd.Series(places).groupby(places)
    places = places + CLOSE * ((same.cumcount() + 0.5) / same.transform("size") - 0.5).to_numpy()
    for i, kind in enumerate(sorted(kinds.unique())):
        rows = np.flatnonzero(kinds == kind)
        values = table["value"].iloc[rows]
        axes.errorbar(values, places[rows], xerr=errors[:, rows], linestyle="", markersize=5, label=kind, **look(i))
    if level is not None:
        axes.axvline(level, color="0.4", linestyle=":", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    frame(axes, label)
    if kinds.nunique() > 1 and not axes.figure.legends:  # one for all panels
        axes.figure.legend(frameon=False, loc="outside lower center", ncols=3)


def dots_by_group(table: pd.DataFrame, label: str) -> Figure:
    """Dots with intervals, a panel for each group, three beside each other; all panels have the same rows.

    `table` has columns what (the rows), group (the panels), value, low and high.
    """
    groups, count = list(dict.fromkeys(table["group"])), table["what"].nunique()
    rows, columns = -(-len(groups) // 3), min(len(groups), 3)
    shape = (PAGE_WIDTH, rows * (0.2 * count + 0.75))
    figure, panels = plt.subplots(rows, columns, figsize=shape, layout="constrained", sharey=True, squeeze=False)
    for axes in panels.flat[len(groups) :]:
        axes.set_visible(False)
    for axes, group in zip(panels.flat, groups, strict=False):
        dots_with_intervals(table[table["group"] == group].set_index("what"), axes, label, level=0)
        axes.set_title(group)
    return figure
