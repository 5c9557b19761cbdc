"""How many of the committed verdicts would fall by chance, for ``docs/claims.md``."""

from __future__ import annotations

from typing import Any

import pandas as pd
from scipy.stats import norm

from audit.ledger import CLAIMS, SEEN, Condition
from tools.pages import table

# The columns of the list whose condition a verdict has met.
MET = {
    "holds": "holds",
    "fails": "fails",
    SEEN["holds"]: "holds",
    SEEN["fails"]: "fails",
}
LEVEL = 0.05  # two-sided, over all verdicts


def certainty(numbers: tuple[float, float, float], condition: str) -> float:
    """By how many standard errors an estimate is clear of a condition's border.

    It is measured on the side on which the interval lies.

    Parameters
    ----------
    numbers : (float, float, float)
        Estimate, low and high, at 95 %.
    condition : str
        As in ``audit/claims.csv``. "meets" and "none ..." ask for no evidence:
        there is no border to be clear of.

    Returns
    -------
    float
        Infinite for an interval without width, for "meets" and for "none ...".
    """
    estimate, low, high = numbers
    rule = Condition.parse(condition)
    first = rule.first
    last = rule.last
    above = _errors(estimate - first, estimate - low)
    below = _errors(last - estimate, high - estimate)
    beyond = _errors(estimate - last, estimate - low)
    before = _errors(first - estimate, high - estimate)
    clear = {
        ">": above,
        "<": before,
        "in": min(above, below),
        "outside": max(beyond, before),
        "meets": float("inf"),
    }[rule.comparison]
    return float("inf") if rule.quantifier == "none" else clear


def _errors(distance: float, half: float) -> float:
    return abs(norm.ppf(0.025)) * distance / half if half > 0 else float("inf")


def decisive(parts: pd.DataFrame) -> pd.Series:
    """For each claim that an interval decides, by how many standard errors.

    Of the parts of one profile, as in ``verdicts.csv``: float, by id. Exact values do
    not count.
    """
    rules = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    combine = rules.set_index("id")["combine"]
    met = parts["verdict"].map(MET)
    is_decisive = (parts["result"].map(MET) == met) & (parts["decides"] == "yes")
    has_interval = parts["low"].notna()
    found = {}
    for id, of_claim in parts[is_decisive & has_interval].groupby("id", sort=False):
        verdict = MET[of_claim["verdict"].iloc[0]]
        errors = [
            certainty((part.estimate, part.low, part.high), _condition(part, verdict))
            for part in of_claim.itertuples()
        ]
        # One part suffices to hold, or, of most claims, to fail.
        any_holds = (combine[[id]] == "one").any()
        suffices = (verdict == "holds") == any_holds
        found[id] = max(errors) if suffices else min(errors)
    return pd.Series(found, dtype=float)


def _condition(part: Any, verdict: str) -> str:
    """The condition of a part's rule for a verdict."""
    rule = dict(clause.split(": ") for clause in part.rule.split("; "))
    return rule[verdict]


def paragraph(verdicts: pd.DataFrame) -> str:
    """How many verdicts each profile has, and which are near their threshold.

    It also says how many would be decided by chance.
    """
    parts = []
    for profile, of_profile in verdicts.groupby("profile"):
        errors = decisive(of_profile)
        border = norm.isf(LEVEL / 2 / len(errors))
        near = errors[errors < border].sort_values()
        parts.append(
            f"**{profile.capitalize()} profile.** {len(errors)} verdicts are decided "
            "by intervals. If every quantity lay exactly on its threshold, about "
            f"{LEVEL * len(errors):.0f} of them would still be decided by chance. "
            f"With a correction for their number (Bonferroni, {LEVEL:.0%} for all "
            f"together), an estimate must lie {border:.1f} standard errors from its "
            f"threshold. These {len(near)} lie nearer:"
        )
        rows = (
            of_profile.drop_duplicates("id")
            .set_index("id")
            .loc[near.index, ["verdict"]]
            .assign(errors=near.map("{:.1f}".format))
        )
        rows.columns = ["verdict", "standard errors from the threshold"]
        parts.append(table(rows.rename_axis("claim").reset_index()).strip())
    return "\n\n".join(parts) + "\n"
