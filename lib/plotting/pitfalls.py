"""Scores before and after normalization, and scores over the size of embeddings."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from lib.plotting.style import COLORS, bars, frame

UNCLEAR = "0.5"  # the gray of a change whose interval includes 0
NAMED = "0.2"  # the gray of points with a name
APART = 0.16  # of the distance between two rows: how far a mark stands from the middle
LINE = 0.055  # height of a line of text, as a share of the y-axis


def before_and_after(table: pd.DataFrame, axes: Axes, label: str) -> None:
    """A row for each embedder: before and after, joined by an arrow.

    The mark before is open, the one after is filled, and both have their intervals. A
    row is green or orange where the interval of the gain excludes 0, else gray. `table`
    has columns embedder, what ("raw" before, "z" after, "gain"), value, low and high.
    """
    names = list(dict.fromkeys(table["embedder"]))
    scores = table.set_index(["embedder", "what"])
    for i, name in enumerate(names):
        before = scores.loc[(name, "raw")]
        after = scores.loc[(name, "z")]
        gain = scores.loc[(name, "gain")]
        color = UNCLEAR
        if gain.low > 0:
            color = COLORS[2]
        elif gain.high < 0:
            color = COLORS[1]
        _interval(before, axes, i - APART, color, face="white")
        _interval(after, axes, i + APART, color, face=color)
        arrow = {
            "arrowstyle": "-|>",
            "color": color,
            "linewidth": 0.9,
            "shrinkA": 2,
            "shrinkB": 2,
        }
        start = (before.value, i - APART)
        end = (after.value, i + APART)
        axes.annotate("", end, start, arrowprops=arrow)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    frame(axes, label)


def _interval(row: pd.Series, axes: Axes, y: float, color: str, face: str) -> None:
    """A mark with its interval at one height."""
    axes.plot([row.low, row.high], [y, y], color=color, linewidth=0.9, alpha=0.6)
    mark = {"marker": "o", "markersize": 4.5, "markerfacecolor": face, "zorder": 3}
    axes.plot(row.value, y, color=color, **mark)


def named_places(points: pd.DataFrame, axes: Axes) -> None:
    """Single points with intervals, each with its name.

    Names stand on the left of their points. Those of the largest size stand on the
    right, where the x-axis is extended. `points` has columns size, value, low and high;
    its index names the points. The range of the y-axis is set before.
    """
    mark = {
        "marker": "*",
        "markersize": 8,
        "linestyle": "",
        "elinewidth": 0.7,
        "color": NAMED,
    }
    axes.errorbar(points["size"], points["value"], bars(points, "value"), **mark)
    line = LINE * np.ptp(axes.get_ylim())
    halo = withStroke(linewidth=2, foreground="white")
    text = {"color": NAMED, "va": "center", "path_effects": [halo]}
    largest = points["size"].max()
    for size, of_size in points.sort_values("value").groupby("size"):
        values = of_size["value"]
        steps = line * np.arange(len(values))
        # Names are a line apart.
        heights = np.maximum.accumulate(values - steps) + steps
        heights -= (heights - values).mean()
        side = "left" if size == largest else "right"
        shift = (7, 0) if size == largest else (-7, 0)
        for name, height in heights.items():
            axes.annotate(
                name, (size, height), shift, textcoords="offset points", ha=side, **text
            )
    first, last = axes.get_xlim()
    axes.set_xlim(first, last * (last / first) ** 0.4)
