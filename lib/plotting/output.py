"""Figures and tables on disk and on the screen: the same input, the same bytes."""

from __future__ import annotations

import html
from base64 import b64encode
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from lib import paths
from lib.plotting.style import STYLE


def show(figure: Figure, notebook: str, name: str, alt: str) -> None:
    """Save a figure as PNG and SVG in the notebook's folder and display it with its alternative text."""
    folder = paths.figures_folder(notebook)
    save(figure, folder, name, alt)
    _display(figure, (folder / f"{name}.png").read_bytes(), alt)


def preview(figure: Figure, alt: str) -> None:
    """Display a figure with its alternative text without saving it: what changes while a reader plays with it."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", bbox_inches="tight")
    _display(figure, drawn.getvalue(), alt)


def _display(figure: Figure, image: bytes, alt: str) -> None:
    from IPython.display import display

    png = b64encode(image).decode()
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
    save_table(table, paths.figures_folder(notebook), name, index)


def save_table(table: pd.DataFrame, folder: Path, name: str, index: bool = False) -> None:
    """Write ``name.csv`` in a folder, numbers with six significant digits."""
    table.to_csv(folder / f"{name}.csv", index=index, float_format="%.6g")
