"""The look of all figures: for print columns, color-blind readers and grayscale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes

PAGE_WIDTH = 6.9  # inches: two columns of print
# Light to dark in even steps, readable in gray and for the color-blind.
try:
    import seaborn  # noqa: F401 - registers its color maps

    SEQUENTIAL = "mako_r"
except ImportError:  # lesson 00 in a browser (`make lite`)
    SEQUENTIAL = "YlGnBu"
# Okabe and Ito's palette, each color with a marker of its own so that gray print tells
# them apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "sentence-embeddings",
    "svg.fonttype": "path",
}


def use_style() -> None:
    """Set the look of all notebooks, whatever the user's Matplotlib settings are."""
    style.use(["default", STYLE])


def look(number: int) -> dict[str, Any]:
    """The color and the marker of the kind with this number."""
    color = COLORS[number % len(COLORS)]
    marker = MARKERS[number % len(MARKERS)]
    return {"color": color, "marker": marker}


def bars(table: pd.DataFrame, column: str) -> np.ndarray:
    """Lengths of error bars from a column to low and high, float[2, rows]."""
    bounds = table[["low", "high"]].to_numpy()
    return np.abs(bounds - table[[column]].to_numpy()).T


def frame(axes: Axes, x_label: str, y_label: str | None = None) -> None:
    """Label the axes, and draw a light grid behind the data.

    Without a label of the y-axis, only vertical grid lines are drawn.
    """
    axes.set(xlabel=x_label, ylabel=y_label or "")
    axes.grid(axis="x" if y_label is None else "both", color="0.9")
    axes.set_axisbelow(True)
