"""Quantities that change with another: curves with bands, points, log scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullLocator

from lib.plotting.style import frame, look


def curves(
    tables: Mapping[str, pd.DataFrame],
    axes: Axes,
    x_label: str,
    y_label: str,
    joined: bool = True,
    looks: Sequence[int] | None = None,
) -> None:
    """A marked and colored line for each name, with a band for its intervals.

    Each table has a column value; its index gives the positions on the x-axis, columns
    low and high the band. Without `joined` there are marks alone. The lines look like
    kinds 0, 1, 2 ... or those given, so that a line looks alike in several figures.
    """
    looks = looks or range(len(tables))
    for number, (name, table) in zip(looks, tables.items(), strict=True):
        if table.empty:
            continue
        # A mark on the frame is shown whole.
        mark = look(number) | {"markersize": 4, "linewidth": 1.2, "clip_on": False}
        if not joined:
            mark["linestyle"] = "none"
        axes.plot(table.index, table["value"], label=name, **mark)
        if "low" in table:
            band = {"color": mark["color"], "alpha": 0.15, "linewidth": 0}
            axes.fill_between(table.index, table["low"], table["high"], **band)
    frame(axes, x_label, y_label)


def logarithmic(axis: Axis, at: Sequence[float] | None = None) -> None:
    """Make ``axes.xaxis`` or ``axes.yaxis`` logarithmic, with plain numbers.

    These are 1, 2, 5, 10 ... or those given.
    """
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:,g}")
    if at is not None:
        axis.set_ticks(at)
