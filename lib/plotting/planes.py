"""Points in a plane, with their names or their groups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from sklearn.pipeline import Pipeline

from lib.plotting.style import look

POINT, HIGHLIGHTED = 28, 70  # sizes of marks, square points
ROOM = np.array([0.22, 0.12])  # for names around a map, as shares of its width and height


def scatter_map(points: pd.DataFrame, families: Mapping[str, str], axes: Axes, highlighted: str | None = None) -> None:
    """Names at their places in the plane (columns x, y), colored and marked by family; one larger, its name in bold."""
    kinds = sorted(set(families.values()))
    for i, kind in enumerate(kinds):
        members = points[[families[name] == kind for name in points.index]]
        axes.scatter(members["x"], members["y"], label=kind, s=POINT, zorder=2, **look(i))
        if highlighted in members.index:
            place = members.loc[highlighted, ["x", "y"]]
            axes.scatter(*place, edgecolors="0.1", s=HIGHLIGHTED, zorder=3, **look(i))
    room = ROOM * (points.max() - points.min())
    axes.update_datalim([points.min() - room, points.max() + room])
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="0.8")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3)
    label_points(points, axes, highlighted)


def label_points(points: pd.DataFrame, axes: Axes, bold: str | None = None) -> None:
    """Name each point (columns x, y) beside it, where the name covers neither points nor other names."""
    from adjustText import adjust_text

    axes.figure.draw_without_rendering()  # settles the scales, which the names' places depend on
    axes.figure.set_layout_engine("none")
    places = points[["x", "y"]].iterrows()
    names = [axes.text(x, y, name, weight="bold" if name == bold else "normal") for name, (x, y) in places]
    adjust_text(
        names,
        *_avoided(points, axes, bold).T,
        ax=axes,
        expand=(1.15, 1.9),
        force_text=(0.3, 0.5),
        min_arrow_len=12,
        iter_lim=500,  # some hundred are enough; its own limit is one of time, which a busy machine reaches earlier
        arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6},
    )


def _avoided(points: pd.DataFrame, axes: Axes, bold: str | None) -> np.ndarray:
    """Places that no name may cover: the middles and the corners of the marks."""
    sizes = np.where(points.index == bold, HIGHLIGHTED, POINT)
    reach = axes.figure.dpi / 72 * np.sqrt(sizes)[:, None] / 2  # pixels
    centers = axes.transData.transform(points[["x", "y"]])
    corners = [centers + reach * corner for corner in ((0, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))]
    return axes.transData.inverted().transform(np.concatenate(corners))


def parted_plane(points: pd.DataFrame, model: Pipeline, axes: Axes) -> None:
    """Sentences in the plane (columns x and y), marked by group (the index), and the borders that a model draws."""
    limit = 1.2 * float(np.abs(points.to_numpy()).max())
    x, y = np.meshgrid(*[np.linspace(-limit, limit, 300)] * 2)
    predicted = model.predict(np.column_stack([x.ravel(), y.ravel()]))
    names = points.index.unique()
    for i, name in enumerate(names):
        axes.contour(x, y, (predicted == name).reshape(x.shape), levels=[0.5], colors="0.5", linewidths=1)
        members = points.loc[name]
        axes.plot(members["x"], members["y"], linestyle="", label=name, **look(i))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set(xlabel="first dimension", ylabel="second dimension")
    axes.set_aspect("equal")
