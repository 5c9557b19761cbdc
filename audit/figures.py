"""Intervals beside the rules that judge them, each on its own scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from lib.plotting.style import COLORS, PAGE_WIDTH, bars, frame

NAMED = "0.2"  # the gray of points with a name
LINE = 0.055  # height of a line of text, as a share of the y-axis
NEAR = 1.1  # names of sizes whose ratio is at most this stand in one column


DIAMOND = {"color": COLORS[1], "markersize": 3.5}

IN_ONE_COLUMN = 20  # rows
ROW_HEIGHT = 0.55  # inches
LINE_HEIGHT = 0.12  # inches, of the legend and of the notes
LINE_LENGTH = 120  # characters, of the notes
INTERVAL = {"color": COLORS[0], "linewidth": 3}
ESTIMATE = {"marker": "o", "markerfacecolor": "k", "markeredgecolor": "k"}
RULE = {"color": "0.9", "linewidth": 0}


@dataclass(frozen=True)
class Judged:
    """One row of `verdicts`.

    Attributes
    ----------
    label, verdict : str
        What stands above the interval, to the left and to the right.
    estimate, low, high : float
    regions : list of (float, float)
        Where the rule holds; either end may be infinite.
    """

    label: str
    verdict: str
    estimate: float
    low: float
    high: float
    regions: Sequence[tuple[float, float]]


def verdicts(rows: Sequence[Judged], notes: Sequence[str] = ()) -> Figure:
    """A row for each interval, over the shaded region where its rule holds.

    More than 20 rows stand in two columns. The notes stand below.
    """
    columns = 1 if len(rows) <= IN_ONE_COLUMN else 2
    lines = max(-(-len(rows) // columns), 1)
    text = "\n".join(fill(note, LINE_LENGTH) for note in notes)
    height = ROW_HEIGHT * lines + LINE_HEIGHT * (2 + len(text.splitlines()))
    figure, panels = plt.subplots(
        lines,
        columns,
        figsize=(PAGE_WIDTH, height),
        squeeze=False,
        layout="constrained",
    )
    # Down the first column, then down the second.
    ordered = panels.T.ravel()
    for row, axes in zip(rows, ordered, strict=False):
        _draw(row, axes)
    for axes in ordered[len(rows) :]:
        axes.set_axis_off()
    _explain(figure, rows)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7)
    return figure


def _draw(row: Judged, axes: Axes) -> None:
    numbers = [
        row.estimate,
        row.low,
        row.high,
        *(bound for region in row.regions for bound in region),
    ]
    finite = [number for number in numbers if np.isfinite(number)]
    lowest = min(finite)
    highest = max(finite)
    margin = 0.25 * (highest - lowest) or 1.0
    left = lowest - margin
    right = highest + margin
    for low, high in row.regions:
        if low == high:
            axes.axvline(low, color="0.8", linewidth=4)
        else:
            axes.axvspan(max(low, left), min(high, right), **RULE)
    bounds = [max(row.low, left), min(row.high, right)]
    axes.plot(bounds, [0, 0], **INTERVAL)
    axes.plot(row.estimate, 0, markersize=3, **ESTIMATE)
    axes.set(xlim=(left, right), ylim=(-1, 1), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(labelsize=6, length=2)
    axes.xaxis.get_offset_text().set_fontsize(6)
    axes.set_title(row.label, loc="left", fontsize=7)
    axes.set_title(row.verdict, loc="right", fontsize=7, fontweight="bold")


def _explain(figure: Figure, rows: Sequence[Judged]) -> None:
    """A legend above the rows, of what they show."""
    handles = [
        Line2D([], [], markersize=3, **INTERVAL, **ESTIMATE, label="our interval"),
        Patch(**RULE, label="where the rule holds"),
    ]
    if any(row.low == row.high for row in rows):
        dot = {"linestyle": "", "label": "exact value"}
        handles.insert(1, Line2D([], [], markersize=3, **dot, **ESTIMATE))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=len(handles),
        frameon=False,
        fontsize=7,
    )


def boxes(
    tables: Mapping[str, pd.DataFrame], label: str, marks: Mapping[str, pd.Series]
) -> Figure:
    """Horizontal box plots, a panel for each table and in it a box for each column.

    Whiskers reach the lowest and the highest value; missing values do not count. The
    diamonds are `marks`, for each table a value for each column.
    """
    rows = [table.shape[1] for table in tables.values()]
    shape = (PAGE_WIDTH, 0.17 * sum(rows) + 0.7 * len(rows))
    figure, panels = plt.subplots(
        len(rows),
        figsize=shape,
        height_ratios=rows,
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, (title, table) in zip(panels[:, 0], tables.items(), strict=True):
        _boxes(table, axes)
        axes.plot(marks[title][table.columns], range(table.shape[1]), "D", **DIAMOND)
        frame(axes, label)
        axes.set_title(title)
    axes.set_xlim(left=0)  # of all panels, once all are drawn
    return figure


def _boxes(table: pd.DataFrame, axes: Axes) -> None:
    places = range(table.shape[1])
    lines = {"color": "0.3", "linewidth": 0.8}
    axes.boxplot(
        [table[name].dropna() for name in table],
        positions=places,
        orientation="horizontal",
        widths=0.6,
        whis=(0, 100),
        boxprops=lines,
        whiskerprops=lines,
        capprops=lines,
        medianprops={"color": COLORS[0], "linewidth": 1.5},
    )
    axes.set_yticks(places, table.columns)
    axes.set_ylim(len(places) - 0.5, -0.5)


def reference(value: float, axes: Axes, label: str) -> None:
    """A dotted level line with its name above its middle."""
    axes.axhline(value, color="0.3", linestyle=":", linewidth=1)
    place = {"xycoords": ("axes fraction", "data"), "ha": "center"}
    axes.annotate(
        label, (0.5, value), xytext=(0, 2), textcoords="offset points", **place
    )


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
    sizes = points["size"].sort_values()
    is_new = sizes > NEAR * sizes.shift(fill_value=0)
    columns = is_new.cumsum()
    for _, column in points.sort_values("value").groupby(columns):
        values = column["value"]
        steps = line * np.arange(len(values))
        # Names are a line apart.
        heights = np.maximum.accumulate(values - steps) + steps
        heights -= (heights - values).mean()
        is_last = column["size"].max() == sizes.max()
        size = column["size"].max() if is_last else column["size"].min()
        side, shift = ("left", (7, 0)) if is_last else ("right", (-7, 0))
        for name, height in heights.items():
            axes.annotate(
                name, (size, height), shift, textcoords="offset points", ha=side, **text
            )
    first, last = axes.get_xlim()
    axes.set_xlim(first, last * (last / first) ** 0.4)


def correlations(table: pd.DataFrame, axes: Axes) -> None:
    """A heat map of correlations with their numbers; what is missing stays empty."""
    import seaborn as sns

    bar = {"label": "Spearman's correlation", "shrink": 0.8}
    options = {"annot": True, "fmt": ".2f", "vmin": -1, "vmax": 1, "cbar_kws": bar}
    sns.heatmap(table, cmap="RdBu_r", linewidths=0.5, ax=axes, **options)
    axes.set(xlabel="probing task", ylabel="")
    axes.tick_params(length=0, labelrotation=0, labelsize=7)
