"""The random walk's vectors, likelihoods and angles; and what uSIF's own a is among others."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from lib.plotting.distributions import bars_with_intervals
from lib.plotting.style import COLORS, PAGE_WIDTH

DIVERGING = "PuOr"  # dark on both sides, light at 0, and its two sides differ for every color vision
LINES = ("-", "--", ":", "-.")
PANELS = 3  # beside each other


def arrows(vectors: Mapping[str, np.ndarray], axes: Axes, title: str) -> None:
    """Vectors in the plane as arrows from the origin, each with its name at its end; equal ones share an arrow."""
    names: dict[tuple[float, ...], list[str]] = {}
    for name, vector in vectors.items():
        names.setdefault(tuple(np.round(vector, 9)), []).append(name)
    for i, (end, same) in enumerate(sorted(names.items(), key=lambda item: -np.linalg.norm(item[0]))):
        # The shorter of two on one line comes later, and is broader, so that both are seen.
        style = {"arrowstyle": "-|>", "color": COLORS[i], "linewidth": 1.4 + 0.8 * i, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, (0, 0), arrowprops=style)
        axes.annotate(" = ".join(same), end, xytext=(5, -3 - 4 * i), textcoords="offset points", color=COLORS[i])
    ends = np.array(list(names))
    reach = 1.7 * np.abs(ends).max()
    limits = min(0, 1.2 * ends.min()) - 0.05 * reach, reach
    axes.set(xlim=limits, ylim=limits, title=title)
    axes.set_aspect("equal")
    axes.grid(color="0.9")
    axes.set_axisbelow(True)


def advantage_map(table: pd.DataFrame, axes: Axes, title: str, limit: float) -> ScalarMappable:
    """A surface seen from above: rows beta, columns sigma; the line is where it crosses 0, colors end at +-limit."""
    levels = np.linspace(-limit, limit, 17)
    drawn = axes.contourf(table.columns, table.index, table, levels=levels, cmap=DIVERGING)
    axes.contour(table.columns, table.index, table, levels=[0], colors="0.1", linewidths=1.5)
    axes.set(xlabel="sigma", ylabel="beta", title=title)
    return drawn


def expansions(tables: Mapping[str, pd.DataFrame], axes: Axes, band: tuple[float, float], band_label: str) -> None:
    """A function (solid) and its Taylor polynomial (dashed) over the angle in degrees, and where real angles lie.

    Tables have columns exact and linear, and angles in radians as their index; `band` is in degrees.
    """
    axes.axvspan(*band, color="0.92", label=band_label)
    for i, (name, table) in enumerate(tables.items()):
        degrees, color = np.degrees(table.index), COLORS[i % len(COLORS)]
        axes.plot(degrees, table["exact"], color=color, linewidth=1.4, label=name)
        axes.plot(degrees, table["linear"], color=color, linewidth=1.4, linestyle="--")
    axes.axvline(90, color="0.4", linewidth=0.8, linestyle=":")
    axes.set_xlim(0, 180)
    axes.set_xticks(range(0, 181, 30))
    axes.set_xlabel("angle between word and discourse vector, degrees")


def densities(curves: Mapping[str, np.ndarray], centers: np.ndarray, axes: Axes, label: str) -> None:
    """Densities over one abscissa, told apart by color and by dashes."""
    for i, (name, values) in enumerate(curves.items()):
        axes.plot(centers, values, color=COLORS[i % len(COLORS)], linestyle=LINES[i % len(LINES)], label=name)
    axes.set_xlabel(label)
    axes.set_ylabel("density")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


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
