"""One verdict is reached without the cells after it."""

from __future__ import annotations

import json

from tools.run.jobs import Job
from tools.verdict import judged

CELLS = [
    "high = 0.5",
    'from audit.ledger import Ledger\nledger = Ledger("n2o", "default")',
    "from lib.stats import Interval\n"
    'ledger.judge("n2o-k-stability", Interval(0.95, 0.94, high))',
    'raise SystemExit("too far")',
]


def test_cells_run_up_to_the_one_that_judges_with_the_profile_s_parameters(
    tmp_path,
) -> None:
    cell = {"cell_type": "code", "outputs": [], "execution_count": None}
    cells = [cell | {"metadata": {}, "source": source} for source in CELLS]
    cells[0]["metadata"] = {"tags": ["parameters"]}
    made = tmp_path / "toy.ipynb"
    made.write_text(json.dumps({"cells": cells}))
    parts = judged(Job(made, "default", {"high": 0.96}), "n2o-k-stability").parts()
    found = parts.set_index("id").loc["n2o-k-stability"]
    assert (found["estimate"], found["high"], found["verdict"]) == (
        0.95,
        0.96,
        "seen here",
    )
