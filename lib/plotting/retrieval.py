"""Needles in a haystack: at which rank who finds which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from lib.plotting.style import COLORS, MARKERS, SEQUENTIAL

LAST_RANKS = (1, 5, 50, 500)  # of the classes that ranks are shown in; what is behind the last is a class of its own


def rank_map(ranks: pd.DataFrame, axes: Axes) -> None:
    """The rank (whole numbers from 1 on) that each embedder (rows) gives each needle (columns): darker is nearer."""
    classes = np.searchsorted(LAST_RANKS, ranks.to_numpy())
    count = len(LAST_RANKS) + 1
    shades = ListedColormap(sns.color_palette(SEQUENTIAL, count)[::-1])
    shown = pd.DataFrame(classes, index=ranks.index)
    sns.heatmap(shown, cmap=shades, vmin=-0.5, vmax=count - 0.5, xticklabels=False, linewidths=0.2, ax=axes)
    axes.set_yticks(np.arange(len(ranks)) + 0.5, ranks.index, rotation=0)
    axes.tick_params(length=0)
    bar = axes.collections[0].colorbar
    bar.set_ticks(range(count), labels=_classes())
    bar.ax.invert_yaxis()
    bar.ax.tick_params(length=0)
    bar.set_label("rank of the needle")


def _classes() -> list[str]:
    names, first = [], 1
    for last in LAST_RANKS:
        names.append(f"{first:,} to {last:,}" if last > first else f"{first:,}")
        first = last + 1
    return [*names, f"{first:,} and more"]


def dots(table: pd.DataFrame, axes: Axes, label: str) -> None:
    """A row for each name of the index, with a mark for each column."""
    for i, column in enumerate(table):
        axes.plot(
            table[column],
            range(len(table)),
            linestyle="",
            marker=MARKERS[i % len(MARKERS)],
            color=COLORS[i % len(COLORS)],
            markersize=5,
            label=column,
        )
    axes.set_yticks(range(len(table)), table.index)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)


def fan(hay: Sequence[float], needles: Mapping[str, float], axes: Axes) -> None:
    """Directions in the plane, in degrees from the query, which points to the right: hay dashed, needles named."""
    _ray(0, axes, color="0.1", linewidth=2)
    axes.annotate("query", _end(0, 1.03), va="center")
    for degrees in hay:
        _ray(degrees, axes, color="0.6", linewidth=1, linestyle="--")
        axes.annotate("hay", _end(degrees, 1.03), va="center", color="0.35")
    for i, (name, degrees) in enumerate(needles.items()):
        _ray(degrees, axes, color=COLORS[i], linewidth=1.4, marker=MARKERS[i], markevery=[1])
        axes.annotate(name, _end(degrees, 1.03), va="center", color=COLORS[i])
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-0.02, 1.6)


def _end(degrees: float, length: float) -> tuple[float, float]:
    angle = np.radians(degrees)
    return length * float(np.cos(angle)), length * float(np.sin(angle))


def _ray(degrees: float, axes: Axes, **style: object) -> None:
    x, y = _end(degrees, 1.0)
    axes.plot([0, x], [0, y], **style)
