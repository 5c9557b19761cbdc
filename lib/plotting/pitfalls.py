"""Scores before and after normalization, and scores over the size of embeddings."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from lib.plotting.style import COLORS, frame

UNCLEAR = "0.5"  # the gray of a change whose interval includes 0
APART = 0.16  # of the distance between two rows: how far a mark stands from the middle


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
