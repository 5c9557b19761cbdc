"""Points in a plane, with their names."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lib.plotting.kinds import marks
from lib.plotting.style import frame

# Sizes of marks, in square points.
POINT = 28
HIGHLIGHTED = 70
# For names around a map, as shares of its width and height.
ROOM = np.array([0.22, 0.12])


def scatter_map(
    points: pd.DataFrame,
    families: Mapping[str, str],
    axes: Axes,
    highlighted: str | None = None,
) -> None:
    """Names in the plane (columns x, y), colored and marked by family.

    One is larger, with its name in bold.
    """
    family = points.index.map(families)
    for kind, mark in marks(families.values()).items():
        members = points[family == kind]
        axes.scatter(members["x"], members["y"], label=kind, s=POINT, zorder=2, **mark)
        if highlighted in members.index:
            place = members.loc[highlighted, ["x", "y"]]
            axes.scatter(*place, edgecolors="0.1", s=HIGHLIGHTED, zorder=3, **mark)
    low = points.min()
    high = points.max()
    room = ROOM * (high - low)
    axes.update_datalim([low - room, high + room])
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="0.8")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02)}
    axes.legend(frameon=False, ncols=3, **below)
    label_points(points, axes, highlighted)


def borders(
    points: np.ndarray,
    labels: np.ndarray,
    lines: Mapping[str, tuple[float, float, float]],
    axes: Axes,
) -> None:
    """Points by label, and the lines ax + by + c = 0 by name.

    A line that is named like a label has its color.
    """
    looks = marks([*labels, *lines])
    for label in dict.fromkeys(labels):
        x, y = points[labels == label].T
        axes.plot(x, y, linestyle="", label=label, **looks[label])
    low, high = points.min(axis=0) - 1, points.max(axis=0) + 1
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    for name, (a, b, c) in lines.items():
        foot = -c * np.array([a, b]) / (a * a + b * b)
        line = {"color": looks[name]["color"], "label": f"border {name}"}
        axes.axline(foot, foot + np.array([b, -a]), **line)
    frame(axes, "dimension 1", "dimension 2")


def label_points(points: pd.DataFrame, axes: Axes, bold: str | None = None) -> None:
    """Name each point (columns x, y) where no point or other name is covered."""
    from adjustText import adjust_text

    # Settles the scales, which the names' places depend on.
    axes.figure.draw_without_rendering()
    axes.figure.set_layout_engine("none")
    names = []
    for name, (x, y) in points[["x", "y"]].iterrows():
        weight = "bold" if name == bold else "normal"
        names.append(axes.text(x, y, name, weight=weight))
    avoid_x, avoid_y = _avoided(points, axes, bold).T
    line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.6}
    # Some hundred iterations are enough. Its own limit is one of time, which a busy
    # machine reaches earlier.
    limits = {"min_arrow_len": 12, "iter_lim": 500}
    forces = {"expand": (1.15, 1.9), "force_text": (0.3, 0.5)}
    adjust_text(names, avoid_x, avoid_y, ax=axes, arrowprops=line, **limits, **forces)


def _avoided(points: pd.DataFrame, axes: Axes, bold: str | None) -> np.ndarray:
    """Places that no name may cover: the middles and the corners of the marks."""
    sizes = np.where(points.index == bold, HIGHLIGHTED, POINT)
    reach = axes.figure.dpi / 72 * np.sqrt(sizes)[:, None] / 2  # pixels
    centers = axes.transData.transform(points[["x", "y"]])
    places = [centers]
    for corner in product((-1, 1), repeat=2):
        places.append(centers + reach * corner)
    return axes.transData.inverted().transform(np.concatenate(places))
