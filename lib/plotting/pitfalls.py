"""Scores before and after normalization, why they change, and scores over the size of embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lib.plotting.style import COLORS, MARKERS

PARTS = ("mean vector", "1st component", "2nd to 10th", "the rest")
SHADES = ("#D55E00", "#0072B2", "#56B4E9", "0.85")


def quartet(x: Sequence[float], y: Sequence[float], axes: Axes, title: str) -> None:
    """Points with the straight line that lies closest to them."""
    slope, start = np.polyfit(x, y, 1)
    axes.plot(x, y, linestyle="", marker="o", markersize=4, color=COLORS[0])
    axes.axline((0, start), slope=slope, color=COLORS[1], linewidth=1.2)
    axes.set(xlim=(2, 20), ylim=(2, 14), title=title)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)


def rays(points: Mapping[str, np.ndarray], axes: Axes, title: str, first: float, last: float) -> None:
    """Vectors in the plane as arrows from the origin, named at their ends; the abscissa goes from `first` to `last`."""
    for i, (name, end) in enumerate(points.items()):
        style = {"arrowstyle": "-|>", "color": COLORS[i], "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, (0, 0), arrowprops=style)
        up = 4 if end[1] >= 0 else -11
        axes.annotate(name, end, xytext=(2, up), textcoords="offset points", color=COLORS[i])
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.set(xlim=(first, last), ylim=(-2.2, 2.2), title=title)
    axes.grid(color="0.93")
    axes.set_axisbelow(True)


def before_and_after(table: pd.DataFrame, axes: Axes, label: str) -> None:
    """A row for each name: an open mark before, a filled one after, an arrow between them, and both intervals.

    `table` has columns raw, raw_low, raw_high, z, z_low and z_high; its index names the rows.
    """
    for i, row in enumerate(table.itertuples()):
        color = COLORS[2] if row.z >= row.raw else COLORS[1]
        for value, low, high, shift, face in (
            (row.raw, row.raw_low, row.raw_high, -0.16, "white"),
            (row.z, row.z_low, row.z_high, 0.16, color),
        ):
            axes.plot([low, high], [i + shift] * 2, color=color, linewidth=0.9, alpha=0.45)
            axes.plot(value, i + shift, marker="o", markersize=4.5, color=color, markerfacecolor=face, zorder=3)
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 0.9, "shrinkA": 2, "shrinkB": 2}
        axes.annotate("", (row.z, i + 0.16), (row.raw, i - 0.16), arrowprops=arrow)
    axes.set_yticks(range(len(table)), table.index)
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_xlabel(label)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)


def squared_lengths(table: pd.DataFrame, axes: Axes) -> None:
    """What embeddings' mean squared length is made of, a bar for each row: the mean vector, then components around it.

    `table` has columns mean_share, and first and ten, which are shares of the variance; its index names the bars.
    """
    around = 1 - table["mean_share"]
    parts = (table["mean_share"], around * table["first"], around * (table["ten"] - table["first"]))
    left = np.zeros(len(table))
    for part, name, shade in zip((*parts, 1 - sum(parts)), PARTS, SHADES, strict=True):
        axes.barh(range(len(table)), part, left=left, color=shade, height=0.75, label=name)
        left = left + part.to_numpy()
    axes.set_yticks(range(len(table)), table.index)
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the mean squared length")


def by_family(points: pd.DataFrame, families: Mapping[str, str], axes: Axes, x_label: str, y_label: str) -> None:
    """Points with intervals, colored and marked by family; the highest and the lowest have their names.

    `points` has columns x, y, low and high (of y); its index names the points.
    """
    for i, kind in enumerate(sorted(set(families.values()))):
        some = points[[families[name] == kind for name in points.index]]
        if some.empty:
            continue
        errors = np.abs(some[["low", "high"]].to_numpy() - some[["y"]].to_numpy()).T
        look = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "label": kind}
        axes.errorbar(some["x"], some["y"], errors, linestyle="", markersize=4, elinewidth=0.7, **look)
    for name, row in points.iterrows():
        if row["y"] in (points["y"].min(), points["y"].max()):
            right, lowest = row["x"] > points["x"].mean(), row["y"] == points["y"].min()
            place = {"xytext": (-5 if right else 5, -6 if lowest else 3), "textcoords": "offset points"}
            side = {"ha": "right" if right else "left", "va": "top" if lowest else "bottom"}
            axes.annotate(name, (row["x"], row["y"]), **side, **place)
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)


def named_places(points: pd.DataFrame, axes: Axes, color: str = "0.2") -> None:
    """Single points with intervals, each named on its right, on a logarithmic abscissa that is made long enough.

    `points` has columns size, value, low and high; its index names the points.
    """
    errors = np.abs(points[["low", "high"]].to_numpy() - points[["value"]].to_numpy()).T
    axes.errorbar(
        points["size"], points["value"], errors, linestyle="", marker="*", markersize=8, elinewidth=0.7, color=color
    )
    for name, row in points.iterrows():
        place = {"xytext": (7, -4), "textcoords": "offset points", "va": "top"}
        axes.annotate(name, (row["size"], row["value"]), color=color, **place)
    first, last = axes.get_xlim()
    axes.set_xlim(first, last * (last / first) ** 0.4)
