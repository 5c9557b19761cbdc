"""Semantic localization: borders between groups in the plane, and mistakes that two models share."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.pipeline import Pipeline

from lib.plotting.style import COLORS, MARKERS, PAGE_WIDTH, SEQUENTIAL


def parted_plane(points: pd.DataFrame, model: Pipeline, axes: Axes) -> None:
    """Sentences in the plane (columns x and y), marked by group (the index), and the borders that a model draws."""
    limit = 1.2 * float(np.abs(points.to_numpy()).max())
    x, y = np.meshgrid(*[np.linspace(-limit, limit, 300)] * 2)
    said = model.predict(np.column_stack([x.ravel(), y.ravel()]))
    names = points.index.unique()
    for i, name in enumerate(names):
        axes.contour(x, y, (said == name).reshape(x.shape), levels=[0.5], colors="0.5", linewidths=1)
        members = points.loc[name]
        axes.plot(members["x"], members["y"], linestyle="", marker=MARKERS[i], color=COLORS[i], label=name)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set(xlabel="first dimension", ylabel="second dimension")
    axes.set_aspect("equal")


def agreement_heatmap(pairs: pd.DataFrame, title: str) -> Figure:
    """Figure 4: of the sentences that two models both get wrong, how many get the same wrong label.

    `pairs` has columns a, b, both and same. Each cell has its fraction and is shaded by it.
    """
    names = list(dict.fromkeys([*pairs["a"], *pairs["b"]]))
    share = pairs.assign(share=pairs["same"] / pairs["both"]).pivot(index="b", columns="a", values="share")
    written = pairs["same"].astype(str) + "/" + pairs["both"].astype(str)
    written = pairs.assign(written=written).pivot(index="b", columns="a", values="written")
    place = {"index": names[1:], "columns": names[:-1]}
    figure, axes = plt.subplots(figsize=(PAGE_WIDTH * 0.8, 0.3 * len(names) + 1), layout="constrained")
    shades = {"cmap": SEQUENTIAL, "vmin": 0, "vmax": 1, "linewidths": 0.5, "annot_kws": {"size": 8}}
    bar = {"label": "share"}
    sns.heatmap(share.reindex(**place), annot=written.reindex(**place), fmt="", cbar_kws=bar, ax=axes, **shades)
    axes.set(xlabel="", ylabel="", title=title)
    axes.tick_params(length=0)
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)
    return figure
