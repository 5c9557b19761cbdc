"""Scores before and after normalization, and scores over the size of embeddings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from lib.plotting.style import COLORS, bars, frame, look

NAMED = "0.2"  # the grey of points with a name
LINE = 0.055  # height of a line of text, as a share of the y-axis


def before_and_after(table: pd.DataFrame, axes: Axes, label: str) -> None:
    """A row for each embedder: an open mark before, a filled one after, an arrow between them, and both intervals.

    `table` has columns embedder, what ("raw" before, "z" after), value, low and high.
    """
    names = list(dict.fromkeys(table["embedder"]))
    for i, name in enumerate(names):
        before, after = (table[(table["embedder"] == name) & (table["what"] == what)].iloc[0] for what in ("raw", "z"))
        color = COLORS[2] if after.value >= before.value else COLORS[1]
        for row, shift, face in ((before, -0.16, "white"), (after, 0.16, color)):
            axes.plot([row.low, row.high], [i + shift] * 2, color=color, linewidth=0.9, alpha=0.6)
            axes.plot(row.value, i + shift, marker="o", markersize=4.5, color=color, markerfacecolor=face, zorder=3)
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 0.9, "shrinkA": 2, "shrinkB": 2}
        axes.annotate("", (after.value, i + 0.16), (before.value, i - 0.16), arrowprops=arrow)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    frame(axes, label)


def by_family(points: pd.DataFrame, families: Mapping[str, str], axes: Axes, x_label: str, y_label: str) -> None:
    """Points with intervals, colored and marked by family; the highest and the lowest have their names.

    `points` has columns x, y, low and high (of y); its index names the points.
    """
    for i, kind in enumerate(sorted(set(families.values()))):
        some = points[[families[name] == kind for name in points.index]]
        if some.empty:
            continue
        mark = {"linestyle": "", "markersize": 4, "elinewidth": 0.7, "label": kind}
        axes.errorbar(some["x"], some["y"], bars(some, "y"), **mark, **look(i))
    for name, row in points.iterrows():
        if row["y"] in (points["y"].min(), points["y"].max()):
            right, lowest = row["x"] > points["x"].mean(), row["y"] == points["y"].min()
            place = {"xytext": (-5 if right else 5, -6 if lowest else 3), "textcoords": "offset points"}
            side = {"ha": "right" if right else "left", "va": "top" if lowest else "bottom"}
            axes.annotate(name, (row["x"], row["y"]), **side, **place)
    axes.axhline(0, color="0.4", linewidth=0.8)
    frame(axes, x_label, y_label)


def named_places(points: pd.DataFrame, axes: Axes) -> None:
    """Single points with intervals, each named on its left, the largest on their right, where the x-axis grows.

    `points` has columns size, value, low and high; its index names the points. The range of the y-axis is set before.
    """
    mark = {"marker": "*", "markersize": 8, "linestyle": "", "elinewidth": 0.7, "color": NAMED}
    axes.errorbar(points["size"], points["value"], bars(points, "value"), **mark)
    line = LINE * np.ptp(axes.get_ylim())
    name_look = {
        "color": NAMED,
        "va": "center",
        "textcoords": "offset points",
        "path_effects": [withStroke(linewidth=2, foreground="white")],
    }
    for size, some in points.sort_values("value").groupby("size"):
        steps = line * np.arange(len(some))
        heights = np.maximum.accumulate(some["value"] - steps) + steps  # names are a line apart
        heights -= (heights - some["value"]).mean()
        side = {"ha": "left", "xytext": (7, 0)} if size == points["size"].max() else {"ha": "right", "xytext": (-7, 0)}
        for name, height in heights.items():
            axes.annotate(name, (size, height), **name_look, **side)
    first, last = axes.get_xlim()
    axes.set_xlim(first, last * (last / first) ** 0.4)
