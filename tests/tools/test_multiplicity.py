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
    rule = {"kind": "interval", "decides": "yes", "holds": "> 0", "fails": "< 0"}
    rule["combine"] = ""
    rules = [
        rule | {"id": id, "part": part}
        for id in ("up", "down", "exact")
        for part in ("a", "b")
    ]
    rules += [rule | {"id": "up", "part": "c", "decides": "no"}]
    pd.DataFrame(rules).to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.setattr(multiplicity, "CLAIMS", tmp_path / "claims.csv")
    up = "a: 4 (2 to 6) holds; b: 8 (6 to 10) holds; c: 1 (-1 to 3) open (remark)"
    down = "a: -4 (-6 to -2) fails; b: -8 (-10 to -6) fails"
    exact = "a: 4 holds; b: 4 (4 to 4) holds"
    columns = {
        "id": ["up", "down", "exact", "open"],
        "verdict": ["holds", "not seen here", "holds", "undecided"],
        "ours": [up, down, exact, "0 (-1 to 1)"],
    }
    found = multiplicity.decisive(pd.DataFrame(columns))
    assert found["up"] == pytest.approx(4 / 2 * HALF, rel=1e-5)
    assert found["down"] == pytest.approx(8 / 2 * HALF, rel=1e-5)
    assert list(found.index) == ["up", "down"]
