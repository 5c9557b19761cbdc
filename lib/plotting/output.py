"""Figures and tables on disk and on the screen: the same input, the same bytes."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from io import BytesIO

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from lib.base import files, markdown, paths
from lib.plotting.style import STYLE

_PART = re.compile(
    rb'(?<=["#])([mp])[0-9a-f]{10}(?=[")])'
)  # markers and paths that clip


def show(figure: Figure, notebook: str, name: str, alt: str, update: str = "") -> None:
    """Save a figure in the notebook's folder and display it.

    It is saved as PNG and SVG, and displayed with its alternative text; where something
    was displayed under the id `update`, in its place.

    Each file is written whole or not at all, and the same figure gives the same bytes.
    It is shown as HTML, since JupyterLab reads no alternative text from the metadata of
    a bare image. Raises InputError if the folder cannot be written.
    """
    from IPython.display import display

    folder = paths.figures_folder(notebook)
    bare = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    for kind, metadata in bare.items():
        buffer = BytesIO()
        figure.savefig(
            buffer,
            format=kind,
            bbox_inches="tight",
            metadata={"Description": alt, **metadata},
        )
        content = buffer.getvalue()
        if kind == "svg":
            content = _numbered(content)
        with files.replacing(folder / f"{name}.{kind}") as stream:
            stream.write(content)
    png = b64encode((folder / f"{name}.png").read_bytes()).decode()
    width = round(figure.get_figwidth() * STYLE["figure.dpi"])
    picture = (
        f'<img src="data:image/png;base64,{png}" width="{width}" '
        f'alt="{html.escape(alt)}">'
    )
    metadata = {"text/html": {"figure": name, "alt": alt}}
    place = {"display_id": update, "update": True} if update else {}
    shown = {"text/html": picture, "text/plain": alt}
    display(shown, metadata=metadata, raw=True, **place)
    plt.close(figure)


def _numbered(svg: bytes) -> bytes:
    """An SVG whose parts are numbered as they come.

    Matplotlib names them after all digits of their coordinates, of which the last,
    which nobody sees, depend on the number of threads that added something up.
    """
    numbers: dict[bytes, int] = {}

    def numbered(part: re.Match[bytes]) -> bytes:
        number = numbers.setdefault(part[0], len(numbers))
        return b"%b%d" % (part[1], number)

    return _PART.sub(numbered, svg)


def write_table(
    table: pd.DataFrame, notebook: str, name: str, index: bool = False
) -> None:
    """Write ``name.csv`` in the notebook's folder, whole or not at all.

    Numbers have six significant digits. Raises InputError if the folder cannot be
    written.
    """
    content = table.to_csv(index=index, float_format="%.6g", lineterminator="\n")
    with files.replacing(paths.figures_folder(notebook) / f"{name}.csv") as stream:
        stream.write(content.encode())


def show_table(table: pd.DataFrame, notebook: str, name: str, digits: int = 2) -> None:
    """Write a table as `write_table` does, and display it.

    The index is part of it if it has a name. The column ``constant``, which marks
    intervals without width, is written but not displayed.

    Parameters
    ----------
    table : DataFrame
    notebook, name : str
    digits : int
        After the point, of the numbers displayed.
    """
    from IPython.display import Markdown, display

    has_names = any(table.index.names)
    write_table(table, notebook, name, index=has_names)
    shown = table.reset_index() if has_names else table
    shown = shown.drop(columns="constant", errors="ignore")
    display(Markdown(markdown.table(shown, digits)))
