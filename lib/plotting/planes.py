"""Points in a plane, and the lines that separate them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes

from lib.plotting.kinds import marks
from lib.plotting.style import frame


def borders(
    points: np.ndarray,
    labels: np.ndarray,
    lines: Mapping[str, tuple[float, float, float]],
    axes: Axes,
) -> None:
    """Points by label, and the lines ax + by + c = 0 by name.

    A line that is named like a label has its color, another one is dark.
    """
    looks = marks(labels)
    for label in dict.fromkeys(labels):
        x, y = points[labels == label].T
        axes.plot(x, y, linestyle="", label=label, **looks[label])
    low, high = points.min(axis=0) - 1, points.max(axis=0) + 1
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    dashes = cycle(["-", "--", ":", "-."])  # told apart in gray print, too
    for name, (a, b, c) in lines.items():
        foot = -c * np.array([a, b]) / (a * a + b * b)
        color = looks[name]["color"] if name in looks else "0.2"
        line = {"color": color, "label": f"border {name}"}
        line["linestyle"] = next(dashes)
        axes.axline(foot, foot + np.array([b, -a]), **line)
    frame(axes, "dimension 1", "dimension 2")
