"""One verdict alone: ``make verdict CLAIM=n2o-k-stability``.

It calls ``python -m tools.verdict``, which runs the cells of the paper's replication,
up to the one that judges the claim, and prints what came out of each part.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import chdir

import pandas as pd
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from audit.ledger import CLAIMS, Ledger
from audit.shown import numbers
from lib.base import parameters, paths
from lib.base.errors import command
from lib.stats import Interval
from tools.results import PROFILES
from tools.run.jobs import Job, select


def judged(job: Job, claim: str) -> Ledger:
    """The ledger of a replication when all parts of a claim are judged."""
    shell = InteractiveShell.instance()
    for cell in parameters.cells(job.notebook):
        if cell["cell_type"] != "code":
            continue
        with capture_output(stderr=False):
            shell.run_cell("".join(cell["source"])).raise_error()
        if "parameters" in cell["metadata"].get("tags", []):
            shell.push(job.parameters)
        ledger = shell.user_ns.get("ledger")
        if ledger and not any(part.split()[0] == claim for part in ledger.pending()):
            break
    return ledger


@command
def main(arguments: list[str] | None = None) -> int:
    """Print the verdict on a claim; the exit status is 0."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.verdict", description="Measure one claim."
    )
    parser.add_argument("--claim", required=True, metavar="ID")
    parser.add_argument("--profile", default="default", choices=PROFILES)
    options = parser.parse_args(arguments)
    claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False).set_index("id")
    parameters.one_of("CLAIM", options.claim, dict.fromkeys(claims.index))
    source = claims.loc[[options.claim], "source"].iloc[0]
    (job,) = select(f"{paths.REPLICATION}/{source}", options.profile)
    with tempfile.TemporaryDirectory() as figures, chdir(paths.NOTEBOOKS):
        os.environ[paths.FIGURES_VARIABLE] = figures
        parts = judged(job, options.claim).parts()
    parts = parts[parts["id"] == options.claim]
    for _, part in parts.iterrows():
        low, high = part[["low", "high"]].fillna(part["estimate"])
        ours = numbers(Interval(part["estimate"], low, high))
        if part["evidence"] == "missing":
            ours = f"missing: {part['note']}"
        print(f"{part['part'] or 'claim'}: {ours}  [{part['rule']}]  {part['result']}")
    print(f"{options.claim}: {parts['verdict'].iloc[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
