"""The rules that every table of results obeys."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tools.run.comparison import intervals


def faults(file: Path) -> list[str]:
    """What is wrong with a table; empty if nothing is.

    A table has rows, and its header is one line of names. An interval, the columns
    ``low`` and ``high`` or ``X_low`` and ``X_high``, holds its estimate: the column
    before ``low``, or ``X``. It has a width unless a column ``constant`` says that the
    data are constant.
    """
    table = pd.read_csv(file)
    if table.empty:
        return [f"{file}: a header alone"]
    found = []
    header = pd.read_csv(file, header=None, nrows=1, dtype=str).loc[0]
    if header.isna().any() or header.duplicated().any():
        found.append(f"{file}: a column without a name of its own")
    for estimate, low, high in intervals(list(table.columns)):
        numbers = table[[estimate, low, high]].apply(pd.to_numeric, errors="coerce")
        known = numbers.dropna()
        outside = (known[estimate] < known[low]) | (known[estimate] > known[high])
        if outside.any():
            found.append(
                f"{file}: {estimate} lies outside its interval in {outside.sum()} of "
                f"{len(table)} rows"
            )
        bounds = numbers[[low, high]].notna().any(axis=1)
        if (bounds & numbers[estimate].isna()).any():
            found.append(f"{file}: {low} and {high} without {estimate}")
        narrow = known[low] == known[high]
        if "constant" in table:
            narrow &= ~table.loc[known.index, "constant"].astype(bool)
        if narrow.any():
            found.append(
                f"{file}: {low} equals {high} in {narrow.sum()} of {len(table)} rows"
            )
    return found
