"""How rankings change from condition to condition, and correlations with their intervals and over many sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from lib.plotting.style import COLORS
from lib.plotting.usif import DIVERGING, LINES

DARK = 0.6  # correlations farther from 0 stand on dark cells


def bump_chart(ranks: pd.DataFrame, scores: pd.DataFrame, highlighted: Sequence[str], axes: Axes) -> None:
    """A line for each row through its ranks, column by column; its score at each, its name at both ends.

    Parameters
    ----------
    ranks : 1 is drawn at the top; no two equal in a column
    scores : of the same rows and columns
    highlighted : rows in color, up to seven of them; the others are grey
    """
    last = ranks.shape[1] - 1
    for name, row in ranks.iterrows():
        colored = name in highlighted
        look = {"color": "0.7", "linewidth": 0.8, "zorder": 1}
        if colored:
            i = list(highlighted).index(name)
            look = {"color": COLORS[i % len(COLORS)], "linewidth": 1.8, "zorder": 2, "linestyle": LINES[i % len(LINES)]}
        axes.plot(range(last + 1), row, **look)
        ink = look["color"] if colored else "0.35"
        for place, rank in enumerate(row):
            said = f"{scores.loc[name].iloc[place]:.1f}"
            before, after = (f"{name}  " if place == 0 else ""), (f"  {name}" if place == last else "")
            side = "right" if place == 0 else "left" if place == last else "center"
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
            axes.text(place, rank, before + said + after, ha=side, va="center", color=ink, bbox=box, zorder=3)
    axes.set_xticks(range(last + 1), ranks.columns)
    axes.xaxis.tick_top()
    axes.set(xlim=(-0.75, last + 0.75), ylim=(len(ranks) + 0.5, 0.5), yticks=[])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def heatmap_with_intervals(values: pd.DataFrame, low: pd.DataFrame, high: pd.DataFrame, axes: Axes, label: str) -> None:
    """Correlations in [-1, 1] by color and number, each with its interval below it."""
    sns.heatmap(
        values, cmap=DIVERGING, vmin=-1, vmax=1, linewidths=0.5, cbar_kws={"label": label, "shrink": 0.8}, ax=axes
    )
    for (i, j), value in np.ndenumerate(values.to_numpy()):
        ink = "white" if abs(value) > DARK else "0.1"
        said = f"{low.iat[i, j]:.2f} to {high.iat[i, j]:.2f}"
        axes.text(j + 0.5, i + 0.38, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=9, weight="bold")
        axes.text(j + 0.5, i + 0.68, said, ha="center", va="center", color=ink, fontsize=8)
    axes.tick_params(length=0)
    axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), rotation=0)
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)
    axes.set(xlabel="", ylabel="")


def over_sets(random: pd.DataFrame, named: pd.DataFrame, whole: pd.Series, axes: Axes, label: str) -> None:
    """Where a correlation lies in many sets: the spread of random ones, a point for each named one, a bar for all.

    `random` and `named` have a row for each set, and the columns that `whole` is indexed by.
    """
    places = np.arange(1, len(whole) + 1)
    for body in axes.violinplot(random[whole.index].to_numpy(), places, widths=0.8, showextrema=False)["bodies"]:
        body.set(facecolor=COLORS[5], alpha=0.5, linewidth=0)
    apart = np.linspace(-0.25, 0.25, len(named))
    for place, name in zip(places, whole.index, strict=True):
        axes.plot(place + apart, named[name], linestyle="", marker="o", markersize=3, color=COLORS[1])
    axes.hlines(whole, places - 0.42, places + 0.42, color="0.1", linewidth=1.8, label="all embedders")
    axes.plot([], [], color=COLORS[5], linewidth=6, alpha=0.5, label="random halves")
    axes.plot([], [], linestyle="", marker="o", markersize=3, color=COLORS[1], label="unions of families")
    axes.axhline(0, color="0.3", linewidth=0.8, linestyle=":")
    axes.set_xticks(places, whole.index)
    axes.set(ylim=(-1.05, 1.05), ylabel=label)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
