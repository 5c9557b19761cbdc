"""Every figure function. They take data and Axes, fit nothing, and leave saving to `show`."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib import paths

PAGE_WIDTH = 6.9  # inches: two columns of print
SEQUENTIAL = "mako_r"  # light to dark in even steps: readable in grey and with every color vision
# Okabe and Ito's palette, each color with a marker of its own so that grey print tells them apart.
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
    """Set the look that all notebooks share."""
    matplotlib.rcParams.update(STYLE)


def show(figure: Figure, notebook: str, name: str, alt: str) -> None:
    """Save a figure as PNG and SVG in the notebook's folder and display it with its alternative text."""
    from IPython.display import display

    folder = paths.figures_folder(notebook)
    save(figure, folder, name, alt)
    png = b64encode((folder / f"{name}.png").read_bytes()).decode()
    width = round(figure.get_figwidth() * STYLE["figure.dpi"])
    # JupyterLab reads no alternative text from an image's metadata, other viewers show no HTML: each gets its own.
    shown = f'<img src="data:image/png;base64,{png}" width="{width}" alt="{html.escape(alt)}">'
    metadata = {"image/png": {"width": width, "alt": alt}}
    display({"text/html": shown, "image/png": png, "text/plain": alt}, metadata=metadata, raw=True)
    plt.close(figure)


def save(figure: Figure, folder: Path, name: str, alt: str) -> None:
    """Write ``name.png`` and ``name.svg``: the same figure gives the same bytes, with `alt` as its description."""
    figure.savefig(folder / f"{name}.png", bbox_inches="tight", metadata={"Description": alt, "Software": None})
    figure.savefig(
        folder / f"{name}.svg", bbox_inches="tight", metadata={"Description": alt, "Date": None, "Creator": None}
    )


def write_table(table: pd.DataFrame, notebook: str, name: str, index: bool = False) -> None:
    """Write ``name.csv`` in the notebook's folder, numbers with six significant digits."""
    table.to_csv(paths.figures_folder(notebook) / f"{name}.csv", index=index, float_format="%.6g")


def heatmap_axes(size: int) -> tuple[Figure, Axes]:
    """A figure wide enough for a square table of `size` annotated rows."""
    width = max(PAGE_WIDTH, 0.36 * size + 2.2)
    figure, axes = plt.subplots(figsize=(width, width * 0.8), layout="constrained")
    return figure, axes


def stacked_heatmap_axes(sizes: Sequence[int]) -> tuple[Figure, Sequence[Axes]]:
    """A figure with one square table of so many annotated rows below the other, cells of one size."""
    heights = [0.3 * size + 1.6 for size in sizes]  # the names below the columns take the rest
    shape = (max(PAGE_WIDTH, 0.36 * max(sizes) + 2.2), sum(heights))
    figure, panels = plt.subplots(len(sizes), figsize=shape, height_ratios=heights, layout="constrained", squeeze=False)
    return figure, panels[:, 0]


def heatmap(
    table: pd.DataFrame,
    axes: Axes,
    highest: float | None = None,
    bar: bool = True,
    square: bool = True,
    label: str = "N2O",
) -> None:
    """An annotated heatmap of a symmetric table in [0, 1]; its diagonal is left out.

    `highest` is the value of the darkest color: the largest off the diagonal if not given.
    """
    diagonal = np.eye(len(table), dtype=bool)
    highest = highest or table.to_numpy()[~diagonal].max()
    sns.heatmap(
        table,
        mask=diagonal,
        cmap=SEQUENTIAL,
        vmin=0,
        vmax=highest,
        annot=True,
        fmt=".2f",
        annot_kws={"size": 8},
        square=square,
        linewidths=0.5,
        cbar=bar,
        cbar_kws={"label": label, "shrink": 0.7},
        ax=axes,
    )
    axes.set_facecolor("0.92")
    axes.tick_params(length=0)
    axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(axes.get_yticks(), axes.get_yticklabels(), rotation=0)


def bars_with_intervals(table: pd.DataFrame, axes: Axes, label: str) -> None:
    """Horizontal bars with error bars; `table` has columns mean, low, high, its index names the bars."""
    errors = np.abs(table[["low", "high"]].to_numpy() - table[["mean"]].to_numpy()).T
    axes.barh(
        table.index, table["mean"], xerr=errors, color=COLORS[0], height=0.7, error_kw={"ecolor": "0.15", "capsize": 2}
    )
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)


def boxplots(table: pd.DataFrame, axes: Axes, chance: float, label: str = "N2O with each other embedder") -> None:
    """A box for each row of a symmetric table, over its entries off the diagonal, which are drawn as points."""
    values = {name: table.loc[name].drop(name).to_numpy() for name in table.index}
    order = sorted(values, key=lambda name: -float(np.median(values[name])))
    axes.boxplot(
        [values[name] for name in order],
        orientation="horizontal",
        showfliers=False,
        widths=0.6,
        medianprops={"color": COLORS[1], "linewidth": 1.6},
    )
    for i, name in enumerate(order, start=1):
        axes.plot(
            values[name],
            np.full(len(values[name]), i),
            linestyle="",
            marker="o",
            markersize=2.5,
            color=COLORS[0],
            alpha=0.7,
        )
    axes.axvline(chance, color="0.4", linestyle=":", linewidth=1)
    axes.annotate(
        "chance",
        (chance, 1),
        xycoords=("data", "axes fraction"),
        xytext=(2, 2),
        textcoords="offset points",
        color="0.3",
    )
    axes.set_yticks(range(1, len(order) + 1), order)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    axes.grid(axis="x", color="0.9")


def dendrogram(linkage: np.ndarray, names: Sequence[str], axes: Axes, label: str) -> list[str]:
    """A tree that opens to the left, leaves on the right; returns the leaves from top to bottom."""
    from scipy.cluster import hierarchy

    tree = hierarchy.dendrogram(
        linkage, ax=axes, orientation="left", no_labels=True, color_threshold=0, above_threshold_color=COLORS[0]
    )
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.spines["left"].set_visible(False)
    return [names[i] for i in tree["leaves"]]


def clustered_heatmap(table: pd.DataFrame, linkage: np.ndarray) -> Figure:
    """A heatmap in the order of a hierarchical clustering, with its tree beside it."""
    width = max(PAGE_WIDTH, 0.36 * len(table) + 2.8)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(width, width * 0.62), width_ratios=(1, 3.6), layout="constrained"
    )
    order = dendrogram(linkage, list(table.index), left, "1 - N2O")
    heatmap(table.loc[order, order], right, square=False)  # as high as the tree, leaf beside row
    return figure


def scatter_map(points: pd.DataFrame, families: Mapping[str, str], axes: Axes) -> None:
    """Names at their places in the plane (columns x, y), colored and marked by family."""
    kinds = sorted(set(families.values()))
    for i, kind in enumerate(kinds):
        members = points[[families[name] == kind for name in points.index]]
        color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
        axes.scatter(members["x"], members["y"], color=color, marker=marker, label=kind, s=28, zorder=2)
    axes.margins(0.18, 0.15)
    _bare(axes)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3)
    _label_points(points, axes)


def _label_points(points: pd.DataFrame, axes: Axes) -> None:
    """Name each point beside it, where the name covers neither points nor other names."""
    from adjustText import adjust_text

    axes.figure.draw_without_rendering()  # settles the scales, which the names' places depend on
    axes.figure.set_layout_engine("none")
    names = [axes.text(x, y, name) for name, (x, y) in points[["x", "y"]].iterrows()]
    adjust_text(
        names,
        points["x"].to_numpy(),
        points["y"].to_numpy(),
        ax=axes,
        expand=(1.15, 1.9),
        force_text=(0.3, 0.5),
        min_arrow_len=12,
        arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6},
    )


def toy_neighbors(points: Mapping[str, tuple[float, float]], nearest: str, axes: Axes, title: str) -> None:
    """A few sentences in the plane; the first is the query, joined to its `nearest`, which lies on the circle."""
    query = next(iter(points))
    origin, end = np.asarray(points[query]), np.asarray(points[nearest])
    radius = float(np.linalg.norm(end - origin))
    axes.add_patch(plt.Circle(tuple(origin), radius, fill=False, linestyle="--", color="0.6"))
    axes.plot(*np.array([origin, end]).T, color="0.3", linewidth=1)
    for i, (sentence, place) in enumerate(points.items()):
        # The query is a ring, so that a sentence on the very same point shows inside it.
        size, face = (16, "none") if sentence == query else (8, COLORS[i])
        axes.plot(
            *place,
            linestyle="",
            marker=MARKERS[i],
            color=COLORS[i],
            markerfacecolor=face,
            markersize=size,
            label=sentence,
        )
    axes.margins(0.3)
    _bare(axes)
    axes.set_title(title)


def _bare(axes: Axes) -> None:
    """A plane whose directions mean nothing: equal scales, no ticks, a thin frame."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color="0.8")
