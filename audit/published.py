"""The papers' own numbers.

``published/<paper>.csv`` holds numbers that a paper states in its text,
``published/<paper>_table<N>.csv`` a table. ``published/tables.csv`` says where each
file comes from and how many rows it has. A cell without a number is empty, and
``published/illegible.csv`` says why: the text garbles it, or the paper itself gives
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib.base.errors import InputError
from lib.base.parameters import one_of

FOLDER = Path(__file__).with_suffix("")
# A table that `lib` reads lies beside its reader.
IN_LIB = (
    "embedders/n2o_table1.csv",
    "sent2vec/sent2vec_table5.csv",
)


def files() -> dict[str, Path]:
    """The files of published numbers, by name."""
    inside = [FOLDER.parents[1] / "lib" / file for file in IN_LIB]
    return {file.stem: file for file in [*sorted(FOLDER.glob("*.csv")), *inside]}


def load(name: str) -> pd.DataFrame:
    """A file of published numbers as it stands.

    Names are "n2o", "usif_table1", "n2o_heatmap", "tables", "illegible" and others.

    Numbers stated in a paper's text have columns quantity, value, unit, where (section,
    footnote or figure) and page; a table of scores has a row for each cell, with
    columns such as model, dataset, measure, value and unit. A cell without a number is
    NaN, a page that is not known is <NA>.

    Raises InputError for a name that is not there.
    """
    found = files()
    one_of("published", name, found)
    return pd.read_csv(found[name], dtype={"page": "Int64"})


def cells(
    name: str, by: str | list[str], value: str = "value", **where: object
) -> pd.Series:
    """Published numbers, named by one or more columns.

    For example, ``cells("usif_table1", by="model", dataset="STS'12")``.

    Parameters
    ----------
    name : str
        A file that `load` knows.
    by : str or list of str
        The column or columns that name the numbers, such as "model" or ["a", "b"].
    value : str
        The column that holds the numbers.
    **where
        What other columns must hold.

    Returns
    -------
    Series
        In the file's unit and order, indexed by `by`; NaN where the paper has no
        legible number.

    Raises
    ------
    InputError
        An unknown column, a value that a column never has, or two numbers under one
        name.
    """
    table = load(name)
    for column in [*np.atleast_1d(by), value, *where]:
        one_of("column", str(column), table.columns)
    for column, wanted in where.items():
        content = table[column].astype(str)
        table = table[content == one_of(column, str(wanted), content.dropna().unique())]
    numbers = table.set_index(by)[value]
    if not numbers.index.is_unique:
        twice = numbers.index[numbers.index.duplicated()][0]
        raise InputError(
            f"by: {by!r} names two numbers of {name} ({twice!r}); "
            "name another column too, or select by one"
        )
    return numbers


# -- tables in a paper's own layout ----------------------------------------------------


def layout(
    name: str,
    rows: Sequence[str] = ("model",),
    digits: int = 1,
    best: bool = False,
) -> pd.DataFrame:
    """A table of scores as it stands in the paper: text, a column for each data set.

    Where a cell has two measures, they are joined by a slash; a hyphen stands where the
    paper has no number.

    Parameters
    ----------
    name : str
        A file that `load` knows.
    rows : sequence of str
        The columns that name a row.
    digits : int
        After the point.
    best : bool
        Whether an asterisk marks the highest number of each column.
    """
    table = load(name)
    text = table["value"].map(f"{{:.{digits}f}}".format)
    if best:
        highest = table.groupby(["dataset", "measure"])["value"].transform("max")
        text += np.where(table["value"] == highest, "*", "")
    table["text"] = text.mask(table["value"].isna(), "-")
    by = {"index": list(rows), "columns": "dataset", "values": "text"}
    wide = table.pivot_table(**by, aggfunc=" / ".join, sort=False)
    return wide[table["dataset"].unique()].reset_index()


def in_words(table: pd.DataFrame, digits: int) -> pd.Series:
    """Estimates with their intervals in words, from columns value, low and high."""
    number = f".{digits}f"
    form = f"{{value:{number}}} ({{low:{number}}} to {{high:{number}}})"
    return table.apply(form.format_map, axis=1)


def beside(
    printed: pd.DataFrame, ours: pd.DataFrame, stands: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """A printed table, with our corresponding rows below each model.

    Parameters
    ----------
    printed : DataFrame
        With a column model. If a model occurs twice, our rows follow only the first.
    ours : DataFrame
        Indexed by name; "here: " comes before each.
    stands : mapping
        From a model to the names of our rows. Those of a model that is not printed come
        last.
    """
    here = ours.assign(model="here: " + ours.index)
    left = dict(stands)
    rows = []
    for row in printed.to_dict("records"):
        names = left.pop(row["model"], [])
        rows += [row, *here.loc[names].to_dict("records")]
    for names in left.values():
        rows += here.loc[names].to_dict("records")
    return pd.DataFrame(rows).fillna("")
