"""Quantities that change with another: curves with bands of confidence, clouds of points, logarithmic scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullLocator

from lib.plotting.style import COLORS, frame, look


def curves(tables: Mapping[str, pd.DataFrame], axes: Axes, x_label: str, y_label: str) -> None:
    """A line for each name, marked and colored, with a band where its table gives an interval.

    Each table has a column value; its index gives the positions on the x-axis, columns low and high the band.
    """
    for i, (name, table) in enumerate(tables.items()):
        axes.plot(table.index, table["value"], markersize=4, linewidth=1.2, label=name, **look(i))
        if "low" in table:
            axes.fill_between(table.index, table["low"], table["high"], color=look(i)["color"], alpha=0.15, linewidth=0)
    frame(axes, x_label, y_label)


def scatter(x: Sequence[float], y: Sequence[float], axes: Axes, x_label: str, y_label: str) -> None:
    """A cloud of many points, light where they are few."""
    axes.plot(x, y, linestyle="", marker="o", markersize=3, markeredgewidth=0, color=COLORS[0], alpha=0.5)
    frame(axes, x_label, y_label)


def reference(value: float, axes: Axes, label: str) -> None:
    """A dotted level line with its name above its right end."""
    axes.axhline(value, color="0.3", linestyle=":", linewidth=1)
    axes.annotate(
        label, (1, value), xycoords=("axes fraction", "data"), xytext=(0, 2), textcoords="offset points", ha="right"
    )


def logarithmic(axis: Axis, at: Sequence[float] | None = None) -> None:
    """Make ``axes.xaxis`` or ``axes.yaxis`` logarithmic, with plain numbers: 1, 2, 5, 10 ... or those given."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:,g}")
    if at is not None:
        axis.set_ticks(at)
