"""How near verdicts are to their thresholds, in standard errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tools import multiplicity

HALF = 1.959964  # half an interval of 95 %, for a standard error of 1


@pytest.mark.parametrize(
    ("estimate", "condition", "expected"),
    [
        (5, "> 2", 3),
        (5, "< 9", 4),
        (5, "in 2 9", 3),
        (5, "outside 6 9", 1),
        (5, "outside -1 2", 3),
        (5, "all > 2", 3),
        (5, "none < 2", np.inf),  # no evidence is asked for
        (5, "meets 5", np.inf),
    ],
)
def test_distance_from_the_border_by_hand(estimate, condition, expected) -> None:
    found = multiplicity.certainty(
        (estimate, estimate - HALF, estimate + HALF), condition
    )
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_weakest_part_carries_a_claim_that_holds_and_the_strongest_one_that_fails(
    tmp_path, monkeypatch
) -> None:
    rules = {"id": ["up", "down", "exact", "open"], "combine": ""}
    pd.DataFrame(rules).to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.setattr(multiplicity, "CLAIMS", tmp_path / "claims.csv")
    rows = [
        ("up", "yes", 4, 2, "holds", "seen here"),
        ("up", "yes", 8, 6, "seen here", "seen here"),
        ("up", "no", 1, -1, "open", "seen here"),
        ("down", "yes", -4, -6, "not seen here", "not seen here"),
        ("down", "yes", -8, -10, "not seen here", "not seen here"),
        ("exact", "yes", 4, np.nan, "holds", "holds"),
        ("open", "yes", 0, -2, "undecided", "undecided"),
    ]
    columns = ["id", "decides", "estimate", "low", "result", "verdict"]
    parts = pd.DataFrame(rows, columns=columns)
    parts["high"] = 2 * parts["estimate"] - parts["low"]
    found = multiplicity.decisive(parts.assign(rule="holds: > 0; fails: < 0"))
    assert found["up"] == pytest.approx(4 / 2 * HALF, rel=1e-5)
    assert found["down"] == pytest.approx(8 / 2 * HALF, rel=1e-5)
    assert list(found.index) == ["up", "down"]
