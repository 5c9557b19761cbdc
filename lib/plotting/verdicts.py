"""Intervals beside the rules that judge them, each on its own scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lib.plotting.style import COLORS, PAGE_WIDTH

IN_ONE_COLUMN = 20  # rows
ROW_HEIGHT = 0.55  # inches


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


def verdicts(rows: Sequence[Judged]) -> Figure:
    """A row for each interval, over the shaded region where its rule holds.

    More than 20 rows stand in two columns.
    """
    columns = 1 if len(rows) <= IN_ONE_COLUMN else 2
    lines = -(-len(rows) // columns)
    size = (PAGE_WIDTH, ROW_HEIGHT * max(lines, 1))
    figure, panels = plt.subplots(
        max(lines, 1), columns, figsize=size, squeeze=False, layout="constrained"
    )
    # Down the first column, then down the second.
    ordered = panels.T.ravel()
    for row, axes in zip(rows, ordered, strict=False):
        _draw(row, axes)
    for axes in ordered[len(rows) :]:
        axes.set_axis_off()
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
            axes.axvspan(max(low, left), min(high, right), color="0.9", linewidth=0)
    axes.plot(
        [max(row.low, left), min(row.high, right)], [0, 0], color=COLORS[0], linewidth=3
    )
    axes.plot(row.estimate, 0, "o", color="black", markersize=3)
    axes.set(xlim=(left, right), ylim=(-1, 1), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(labelsize=6, length=2)
    axes.xaxis.get_offset_text().set_fontsize(6)
    axes.set_title(row.label, loc="left", fontsize=7)
    axes.set_title(row.verdict, loc="right", fontsize=7, fontweight="bold")
