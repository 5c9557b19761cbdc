"""All tables of results obey the rules (`tests.notebooks.tables`).

These are the committed tables and those of the last smoke run.
"""

from __future__ import annotations

import pandas as pd
import pytest

from lib.base import paths
from tests.notebooks.tables import faults

REFERENCE = paths.FIGURES / "reference"


def test_committed_tables_obey_the_rules_and_give_every_claim_a_verdict() -> None:
    files = sorted(REFERENCE.rglob("*.csv"))
    assert [fault for file in files for fault in faults(file)] == []
    for file in REFERENCE.glob("*/*/claims.csv"):
        claims = pd.read_csv(file, dtype=str, keep_default_na=False)
        assert claims["verdict"].all(), file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,rho,low,high\na,0.5,0.4,0.6\n", ""),
        ("name,rho,rho_low,rho_high\na,0.3,0.4,0.6\n", "outside"),
        ("name,rho,low,high\na,0.5,0.5,0.5\n", "equals"),
        ("name,rho,low,high,constant\na,0.5,0.5,0.5,True\n", ""),
        ("name,rho,low,high\n", "header alone"),
        ("name,rho,low,high\na,,0.1,0.2\n", "without"),
    ],
)
def test_the_rules_find_what_breaks_them(tmp_path, text, expected) -> None:
    (tmp_path / "table.csv").write_text(text)
    found = faults(tmp_path / "table.csv")
    assert expected in "".join(found)
    assert bool(found) == bool(expected)
