"""The neighborhoods of one query under many embedders, side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from lib.plotting.style import COLORS, SEQUENTIAL


def known_neighbors(known: pd.DataFrame, axes: Axes, label: str) -> None:
    """How many embedders know each of the nearest neighbors; those that only one knows are framed.

    `known` holds whole numbers from 1 on, with a row for each embedder and a column for each rank. `label` says what
    is counted.
    """
    sns.heatmap(
        known,
        cmap=SEQUENTIAL,
        vmin=1,
        annot=True,
        fmt="d",
        annot_kws={"size": 8},
        linewidths=0.5,
        cbar_kws={"label": label, "ticks": MaxNLocator(integer=True)},
        ax=axes,
    )
    for row, column in np.argwhere(known.to_numpy() == 1):
        axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=COLORS[1], linewidth=1.4, clip_on=False))
    axes.set_xlabel("rank of the neighbor")
    axes.set_ylabel("")
    axes.tick_params(length=0)
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)
