"""Estimates with their intervals, and how values are spread."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lib.plotting.kinds import marks
from lib.plotting.style import bars, frame

CLOSE = 0.6  # of the distance between two names: what rows of one name share


def dots_with_intervals(
    table: pd.DataFrame,
    axes: Axes,
    label: str,
    kinds: pd.Series | None = None,
    level: float | pd.Series | None = None,
) -> None:
    """A dot with its interval for each row, from top to bottom.

    Columns are value, low and high; the index names the rows. Rows of one name stand
    close together beside it. `kinds` names each row's kind, which it is colored and
    marked by. `level` draws a dotted line, such as chance, or one for each kind.
    """
    if kinds is None:
        kinds = pd.Series("", table.index)
    errors = bars(table, "value")
    names, places = _places(table.index)
    looks = marks(kinds)
    for kind, its_look in looks.items():
        rows = np.flatnonzero(kinds == kind)
        values = table["value"].iloc[rows]
        mark = {"linestyle": "", "markersize": 5, **its_look}
        axes.errorbar(values, places[rows], xerr=errors[:, rows], label=kind, **mark)
    if level is not None:
        for kind, place in pd.Series(level).items():
            color = looks.get(kind, {}).get("color", "0.4")
            axes.axvline(place, color=color, linestyle=":", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    frame(axes, label)
    figure = axes.figure
    if kinds.nunique() > 1 and not figure.legends:  # one for all panels
        figure.legend(frameon=False, loc="outside lower center", ncols=3)


def _places(index: pd.Index) -> tuple[pd.Index, np.ndarray]:
    """The distinct names, and where each row stands, float[rows].

    Rows of one name are close together.
    """
    number, names = pd.factorize(index)
    same = pd.Series(number).groupby(number)
    position = (same.cumcount() + 0.5) / same.transform("size")
    return names, number + CLOSE * (position - 0.5).to_numpy()
