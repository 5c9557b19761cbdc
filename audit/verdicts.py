"""A verdict from a rule and an interval, and one from the parts of a claim."""

from __future__ import annotations

import numpy as np
import pandas as pd

from audit.conditions import Condition
from lib.stats import Interval

DECIDED = ("holds", "fails", "undecided")
UNTESTED = "not testable here"
# With other data or other models than the paper's.
SEEN = {"holds": "seen here", "fails": "not seen here"}
WORDS = ("holds", "fails", *SEEN.values(), "undecided", UNTESTED)


def judged(claim: pd.Series, low: np.ndarray, high: np.ndarray) -> tuple[int, str]:
    """Which interval of a family decides, and the verdict.

    Of an undecided family it is the interval that keeps the claim from holding; or the
    one that keeps it from failing, if the first would fail the claim on its own and
    this one would not make it hold.

    Parameters
    ----------
    claim : Series
        A row of the list.
    low, high : float[n]
        Of each interval.
    """
    holding = Condition.parse(claim["holds"] or claim["fails"])
    member, holds = holding.decide(low, high)
    if claim["holds"] and holds:
        return member, "holds"
    if claim["fails"]:
        failing = Condition.parse(claim["fails"], "any")
        clearest, fails = failing.decide(low, high)
        if fails:
            return clearest, "fails"
        if failing.alone(low, high)[member] and not holding.alone(low, high)[clearest]:
            member = clearest
    return member, "undecided"


def regions(claim: pd.Series) -> list[tuple[float, float]]:
    """The values that meet the rule for "holds".

    If the rule for "fails" stands alone, the values that do not meet that one.
    """
    return Condition.parse(claim["holds"] or f"none {claim['fails']}").regions()


def growth(claim: pd.Series, interval: Interval) -> float:
    """How many times as much data would decide, if the estimate stayed as it is.

    Intervals narrow with the root of what is resampled. Infinite if the estimate meets
    neither condition.
    """
    estimate, low, high = interval
    times = [np.inf]
    for text in filter(None, (claim["holds"], claim["fails"])):
        for start, end in Condition.parse(text).regions():
            if start < estimate < end:
                below = (estimate - low) / (estimate - start)
                above = (high - estimate) / (end - estimate)
                times.append(max(below, above) ** 2)
    return min(times)


def conditions(claim: pd.Series) -> str:
    """The rule as the list has it: "holds: > 0.9; fails: < 0.85"."""
    if claim["kind"] == "identity":
        return f"holds: at most {claim['tolerance']}"
    rule = {word: claim[word] for word in ("holds", "fails") if claim[word]}
    return "; ".join(f"{word}: {condition}" for word, condition in rule.items())


def in_words(claim: pd.Series, count: int) -> str:
    """The rule for `count` intervals: "*Holds* if ..., *fails* if ..."."""
    clauses = []
    if claim["kind"] == "identity":
        clauses.append(f"*Holds* if at most {float(claim['tolerance']):g}")
        clauses.append("*fails* otherwise")
    if claim["holds"]:
        clauses.append(f"*Holds* if {Condition.parse(claim['holds']).words(count)}")
    if claim["fails"]:
        condition = Condition.parse(claim["fails"], "any").words(count)
        # "The interval" is named once.
        if clauses:
            condition = condition.replace("the interval", "it")
        word = "fails" if clauses else "Fails"
        clauses.append(f"*{word}* if {condition}")
    return ", ".join(clauses)


def combined(parts: pd.DataFrame) -> str:
    """The verdict on a claim, from those on the parts that decide.

    All must hold, and a single one can fail the claim; where the list says "one", it is
    the reverse.
    """
    found = set(parts["verdict"])
    one_suffices = parts["combine"].iloc[0] == "one"
    decisive = "holds" if one_suffices else "fails"
    common = "fails" if one_suffices else "holds"
    if decisive in found:
        return decisive
    if found == {common}:
        return common
    if UNTESTED in found:
        return UNTESTED
    if found.isdisjoint(DECIDED):
        return parts["verdict"].iloc[0]  # merged, dropped or pending, as the list says
    return "undecided"


def worded(verdict: str, parts: pd.DataFrame) -> str:
    """The verdict in words that say whether the evidence is the paper's own."""
    return SEEN.get(verdict, verdict) if parts["stand_in"].any() else verdict


def on_claim(parts: pd.DataFrame) -> str:
    """The verdict on a claim from its parts, in words."""
    deciding = parts[parts["decides"] != "no"]
    return worded(combined(deciding), deciding)


def evidence(part: pd.Series) -> str:
    """What a judged part rests on: the paper's own evidence, a stand-in, or nothing."""
    if not part["ours"]:
        return "missing"
    return "stand-in" if part["stand_in"] else "own"
