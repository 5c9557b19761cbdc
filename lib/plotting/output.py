"""Figures and tables on disk and on the screen: the same input, the same bytes."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from lib.plotting.style import STYLE
from lib.run import files, paths

_PART = re.compile(rb'(?<=["#])([mp])[0-9a-f]{10}(?=[")])')  # markers and paths that clip


def show(figure: Figure, notebook: str, name: str, alt: str) -> None:
    """Save a figure as PNG and SVG in the notebook's folder and display it with its alternative text.

    It is shown as HTML, since JupyterLab reads no alternative text from the metadata of a bare image.
    """
    from IPython.display import display

    folder = paths.figures_folder(notebook)
    save(figure, folder, name, alt)
    png = b64encode((folder / f"{name}.png").read_bytes()).decode()
    width = round(figure.get_figwidth() * STYLE["figure.dpi"])
    shown = f'<img src="data:image/png;base64,{png}" width="{width}" alt="{html.escape(alt)}">'
    metadata = {"text/html": {"figure": name, "alt": alt}}
    display({"text/html": shown, "text/plain": alt}, metadata=metadata, raw=True)
    plt.close(figure)


def save(figure: Figure, folder: Path, name: str, alt: str) -> None:
    """Write ``name.png`` and ``name.svg``: the same figure gives the same bytes, with `alt` as its description.

    Each of them is written whole or not at all. Raises InputError if the folder cannot be written.
    """
    bare = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    for kind, metadata in bare.items():
        drawn = BytesIO()
        figure.savefig(drawn, format=kind, bbox_inches="tight", metadata={"Description": alt, **metadata})
        with files.replacing(folder / f"{name}.{kind}") as stream:
            stream.write(_numbered(drawn.getvalue()) if kind == "svg" else drawn.getvalue())


def _numbered(svg: bytes) -> bytes:
    """An SVG whose parts are numbered as they come.

    Matplotlib names them after all digits of their coordinates, of which the last, which nobody sees, depend on the
    number of threads that added something up.
    """
    numbers: dict[bytes, int] = {}
    return _PART.sub(lambda found: b"%b%d" % (found[1], numbers.setdefault(found[0], len(numbers))), svg)


def write_table(table: pd.DataFrame, notebook: str, name: str, index: bool = False) -> None:
    """Write ``name.csv`` in the notebook's folder, numbers with six significant digits."""
    save_table(table, paths.figures_folder(notebook), name, index)


def save_table(table: pd.DataFrame, folder: Path, name: str, index: bool = False) -> None:
    """Write ``name.csv`` in a folder, whole or not at all, numbers with six significant digits.

    Raises InputError if the folder cannot be written.
    """
    content = table.to_csv(index=index, float_format="%.6g", lineterminator="\n")
    with files.replacing(folder / f"{name}.csv") as stream:
        stream.write(content.encode())
