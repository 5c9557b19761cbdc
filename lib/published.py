"""The papers' own numbers, and putting them beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lib.parameters import one_of

FOLDER = Path(__file__).with_suffix("")


def load(paper: str) -> pd.DataFrame:
    """The numbers of a paper: columns quantity, value, unit, where (section, table or appendix), page.

    Raises InputError for a paper that is not there.
    """
    one_of("paper", paper, [file.stem for file in FOLDER.glob("*.csv")])
    return pd.read_csv(FOLDER / f"{paper}.csv")


def beside(paper: str, ours: Mapping[str, tuple[str, float]]) -> pd.DataFrame:
    """Put reproduced numbers beside published ones.

    `ours` maps a published quantity to what we measured instead (its name) and the number. Returns columns
    quantity, paper, where, measured here, ours, difference (ours - paper).
    """
    published = load(paper).set_index("quantity")
    rows = []
    for quantity, (measured, value) in ours.items():
        row = published.loc[one_of("quantity", quantity, published.index)]
        where = f"{row['where']}, p. {row['page']}"
        difference = value - row["value"]
        rows.append((quantity, row["value"], where, measured, value, difference))
    return pd.DataFrame(rows, columns=["quantity", "paper", "where", "measured here", "ours", "difference"])
