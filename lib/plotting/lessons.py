"""The figures of a lesson: each is drawn, titled, saved and shown by one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pandas.api.types import is_integer_dtype

from lib.base import paths
from lib.plotting.distributions import dots_with_intervals
from lib.plotting.heatmaps import clustered_triangle
from lib.plotting.kinds import display_name, groups, is_named
from lib.plotting.lines import curves, logarithmic
from lib.plotting.output import show, write_table
from lib.plotting.planes import borders
from lib.plotting.style import PAGE_WIDTH, use_style


class Told(Protocol):
    """What is said of a figure, by its name: `lib.studies.findings.Findings`."""

    notebook: str

    def title(self, name: str) -> str:
        """What it shows."""

    def alt(self, name: str) -> str:
        """The alternative text."""


class Figures:
    """The figures of one lesson.

    Parameters
    ----------
    told : Told
        The lesson's findings.
    """

    def __init__(self, told: Told) -> None:
        use_style()
        self._told = told

    def dots(
        self,
        name: str,
        table: pd.DataFrame,
        label: str,
        level: float | pd.Series | None = None,
        limits: tuple[float, float] | None = None,
        by_kind: bool = False,
        by: str = "",
    ) -> None:
        """A row for each estimate with its interval, and the table as CSV.

        Parameters
        ----------
        name : str
            Of the files.
        table : DataFrame
            Columns value, low and high; the index names the rows.
        label : str
            What is on the axis, with its unit.
        level : float or Series, optional
            Where a dotted line is drawn, such as chance, or one for each of `by`.
        limits : (float, float), optional
            Of the axis.
        by_kind : bool
            Rows are embedders, marked by their kinds.
        by : str
            A column by which other rows are marked; those of one name stand together.
        """
        places = max(table.index.nunique(), len(table) / 2)
        size = (PAGE_WIDTH, 0.24 * places + 1)
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        kinds = groups(table.index) if by_kind else None
        if by:
            kinds = table[by]
        rows = table.rename(index=display_name) if by_kind else table
        dots_with_intervals(rows, axes, label, kinds, level)
        axes.set_xlim(limits)
        for tick, row in zip(axes.get_yticklabels(), table.index, strict=False):
            if is_named(str(row)):
                tick.set_weight("bold")
        write_table(table, self._told.notebook, name, index=True)
        self.show(name, figure)

    def curves(
        self,
        name: str,
        tables: Mapping[str, pd.DataFrame],
        x_label: str,
        y_label: str,
        limits: tuple[float, float] | None = None,
        log: bool | Sequence[float] = False,
        joined: bool = True,
        log_y: bool = False,
        looks: Sequence[int] | None = None,
    ) -> None:
        """A line for each table, with a band for its intervals, and all as one CSV.

        Parameters
        ----------
        name : str
            Of the files.
        tables : mapping of str to DataFrame
            Columns value, and low and high for a band; the index has the positions on
            the x-axis.
        x_label, y_label : str
        limits : (float, float), optional
            Of the y-axis.
        log : bool, or sequence of float
            Whether the x-axis is logarithmic, or where its ticks are then.
        joined : bool
            Whether lines join the marks.
        log_y : bool
            Whether the y-axis is logarithmic.
        looks : sequence of int, optional
            The number of each line's color and mark, by default 0, 1, 2 ....
        """
        size = (PAGE_WIDTH, 3)
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        curves(tables, axes, x_label, y_label, joined, looks)
        if log:
            logarithmic(axes.xaxis, None if log is True else log)
        elif all(is_integer_dtype(table.index) for table in tables.values()):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if log_y:
            logarithmic(axes.yaxis)
        axes.set_ylim(limits)
        if len(tables) > 1:
            figure.legend(frameon=False, loc="outside lower center", ncols=3)
        table = pd.concat(tables, names=["line"]).reset_index()
        write_table(table, self._told.notebook, name)
        self.show(name, figure)

    def triangle(self, name: str, table: pd.DataFrame, linkage: np.ndarray) -> None:
        """A square table of N2O as a triangle with its tree, and the table as CSV."""
        shown = table.rename(index=display_name, columns=display_name)
        figure = clustered_triangle(shown, linkage, 0.3)
        figure.set_figwidth(8)  # room for the numbers
        named = table.rename_axis("embedder")
        write_table(named, self._told.notebook, name, index=True)
        self.show(name, figure)

    def borders(
        self,
        name: str,
        points: np.ndarray,
        labels: np.ndarray,
        lines: Mapping[str, tuple[float, float, float]],
    ) -> None:
        """Points in the plane by label, and the lines ax + by + c = 0 by name."""
        figure, axes = plt.subplots(figsize=(4.2, 3), layout="constrained")
        borders(points, labels, lines, axes)
        figure.legend(frameon=False, loc="outside right center")
        self.show(name, figure)

    @property
    def folder(self) -> Path:
        """Where they are."""
        return paths.figures_folder(self._told.notebook)

    def show(self, name: str, figure: Figure) -> None:
        """Title, save and show a figure that the lesson has drawn itself."""
        title = self._told.title(name)
        if len(figure.axes) == 1:
            figure.axes[0].set_title(title)
        else:
            figure.suptitle(title)
        show(figure, self._told.notebook, name, self._told.alt(name))
