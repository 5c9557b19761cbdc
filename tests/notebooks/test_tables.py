"""All tables of results, committed ones and those of the last smoke run, obey the rules (`tests.notebooks.tables`)."""

from __future__ import annotations

import pandas as pd

from lib.run import paths
from tests.notebooks.tables import faults

REFERENCE = paths.FIGURES / "reference"


def test_committed_tables_obey_the_rules_and_give_every_claim_a_verdict() -> None:
    assert [fault for file in sorted(REFERENCE.rglob("*.csv")) for fault in faults(file)] == []
    for file in REFERENCE.glob("*/*/claims.csv"):
        assert pd.read_csv(file, dtype=str, keep_default_na=False)["verdict"].all(), file
