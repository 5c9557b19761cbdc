"""Verdicts on what the papers claim: the rule in the list decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib import plotting
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.stats import Interval

CLAIMS = Path(__file__).parent / "catalog" / "claims.csv"
QUANTIFIERS = ("all", "any", "most", "none")
DECIDED = ("holds", "fails", "undecided")
UNTESTED = "not testable here"
# With other data or other models than the paper's.
SEEN = {"holds": "seen here", "fails": "not seen here"}
CHANCE = 0.05  # that an interval of 95 % excludes what it should include
# Of a part that decides nothing.
REMARKS = {"holds": "met", "fails": "not met", "undecided": "open"}
WORDS = ("holds", "fails", *SEEN.values(), "undecided", UNTESTED)


@dataclass(frozen=True)
class Condition:
    """When an interval, or a family of intervals, meets a rule.

    Attributes
    ----------
    quantifier : {"all", "any", "most", "none"}
        How many intervals of a family must meet the comparison.
    comparison : {">", "<", "in", "outside", "meets"}
        Above, below, within, without a point in common, with a point in common.
    first, last : float
        The numbers that the intervals are compared with, equal if there is only one.
    """

    quantifier: str
    comparison: str
    first: float
    last: float

    @classmethod
    def parse(cls, text: str, usual: str = "all") -> Condition:
        """Read a condition of the list, such as "> 0.9" or "any outside -0.02 0.02".

        `usual` is the quantifier of a condition that names none.
        """
        words = text.split()
        quantifier = words.pop(0) if words[0] in QUANTIFIERS else usual
        comparison, *numbers = words
        return cls(quantifier, comparison, float(numbers[0]), float(numbers[-1]))

    def decide(self, low: np.ndarray, high: np.ndarray) -> tuple[int, bool]:
        """Which interval decides whether the condition is met, and whether it is."""
        clearance = self._clearance(low, high)
        rising = np.argsort(clearance, kind="stable")
        last = len(rising) - 1
        place = {"all": 0, "most": last // 2}.get(self.quantifier, last)
        member = int(rising[place])
        # "in" and "meets" include their bounds.
        includes = self.comparison in ("in", "meets")
        met = clearance[member] >= 0 if includes else clearance[member] > 0
        return member, bool(met != (self.quantifier == "none"))

    @property
    def _range(self) -> tuple[float, float]:
        """The values that the comparison names."""
        if self.comparison == ">":
            return self.first, np.inf
        if self.comparison == "<":
            return -np.inf, self.first
        return self.first, self.last

    def _clearance(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """By how much each interval meets the comparison; negative if it does not."""
        start, end = self._range
        # Where interval and range are both endless, their difference is NaN.
        with np.errstate(invalid="ignore"):
            apart = np.fmax(start - high, low - end)
            inside = np.fmin(low - start, end - high)
        clearances = {"outside": apart, "meets": -apart}
        return clearances.get(self.comparison, inside)

    def regions(self) -> list[tuple[float, float]]:
        """The ranges of values that meet the condition.

        Under "none", those that do not meet it.
        """
        start, end = self._range
        if (self.comparison == "outside") == (self.quantifier == "none"):
            return [(start, end)]
        beyond = [(-np.inf, start), (end, np.inf)]
        return [(first, last) for first, last in beyond if first < last]

    def words(self, count: int) -> str:
        """The condition on `count` intervals, worded to follow "if"."""
        if count == 1 and self.quantifier != "none":
            return f"the interval {self._predicate('s')}"
        subjects = {
            "all": "both intervals" if count == 2 else f"all {count} intervals",
            "any": "at least one interval",
            "most": f"most of the {count} intervals",
            "none": "no interval",
        }
        plural = self.quantifier in ("all", "most")
        return f"{subjects[self.quantifier]} {self._predicate('' if plural else 's')}"

    def _predicate(self, ending: str) -> str:
        """The verb, with "s" or without, and the numbers."""
        numbers = f"{self.first:g}"
        verbs = {">": "lie above", "<": "lie below"}
        if self.first < self.last:
            numbers = f"{numbers} to {self.last:g}"
            verbs |= {"in": "lie within", "outside": "lie outside", "meets": "overlap"}
        else:
            verbs |= {"in": "equal", "outside": "exclude", "meets": "include"}
        verb, *where = verbs[self.comparison].split()
        return " ".join([f"{verb}{ending}", *where, numbers])


@dataclass(frozen=True)
class Shown:
    """What a notebook shows of a claim, or of one part of it.

    Attributes
    ----------
    claim : str
        The paper's claim, with the place and the printed number.
    rule : str
        What is measured, and when the claim holds or fails.
    finding : str
        Our number, the verdict on it, and where the printed number lies.
    """

    claim: str
    rule: str
    finding: str

    def _repr_markdown_(self) -> str:
        lines = [self.claim, self.rule, self.finding]
        return "> " + "  \n> ".join(filter(None, lines))


class Ledger:
    """What a study finds of each claim listed for it; the rule in the list decides.

    Parameters
    ----------
    name : str
        A paper, such as "n2o", or a notebook, such as "01_n2o": a source or a lesson of
        ``lib/catalog/claims.csv``.
    profile : str
        "paper" for the papers' own data; any other has the data of the default profile.

    Raises
    ------
    InputError
        Neither a paper nor a lesson of the list.
    """

    def __init__(self, name: str, profile: str) -> None:
        claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
        one_of("name", name, dict.fromkeys([*claims["source"], *claims["lesson"]]))
        claims = claims[(claims["source"] == name) | (claims["lesson"] == name)]
        available = claims["paper" if profile == "paper" else "default"]
        absent = available == "no"
        self._claims = claims.assign(
            own=available == "yes",
            ours="",
            stand_in=False,
            remark=claims["needs"].where(absent, ""),
            verdict=claims["status"].mask(absent, UNTESTED),
        )
        self._claims.index = (claims["id"] + " " + claims["part"]).str.strip()
        self._deciding: dict[str, Interval] = {}

    def judge(
        self,
        id: str,
        interval: Interval,
        part: str = "",
        analogue: str = "",
        note: str = "",
    ) -> Shown:
        """Judge a claim, or a part of one, by an estimate and its interval.

        Parameters
        ----------
        id, part : str
            As in the list.
        interval : Interval
            Of floats, or of arrays for a family of comparisons. All of them must meet
            the condition for "holds", one must meet that for "fails", unless the
            condition begins with any, all, most or none. The deciding member is shown:
            of a family that holds the one nearest to not holding, of one that fails the
            clearest.
        analogue : str, optional
            What was measured in place of what the paper names.
        note : str, optional
            A qualifier for the reader.

        Returns
        -------
        Shown
            For display: the claim, the rule, our number and the verdict.

        Raises
        ------
        InputError
            An unknown claim or part, one that was judged before, or an estimate outside
            its interval.
        """
        claim = self._find(id, part)
        # A bound that is 0 but for rounding is 0.
        estimate, low, high = np.round([np.ravel(part) for part in interval], 12) + 0.0
        # An interval without ends would meet any number.
        bounded = np.isfinite(low) | np.isfinite(high)
        if not bounded.all():
            return self._enter(claim, UNTESTED, "no interval", analogue, note)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(
                f"{id}: an estimate lies outside its interval; "
                "give low <= estimate <= high"
            )
        member, verdict = _judged(claim, low, high)
        decided = Interval(estimate[member], low[member], high[member])
        self._deciding[claim.name] = decided
        ours = f"{decided.estimate:.3g} ({decided.low:.3g} to {decided.high:.3g})"
        return self._enter(claim, verdict, ours, analogue, note, len(estimate))

    def identity(
        self,
        id: str,
        residual: np.ndarray,
        part: str = "",
        analogue: str = "",
        note: str = "",
    ) -> Shown:
        """Judge a claim of equality by its residual.

        The residual is a float, or float[n], of which the largest counts. The rest as
        for `judge`.
        """
        claim = self._find(id, part)
        largest = np.abs(residual).max()
        verdict = "holds" if largest <= float(claim["tolerance"]) else "fails"
        self._deciding[claim.name] = Interval(largest, largest, largest)
        return self._enter(claim, verdict, format(largest, ".3g"), analogue, note)

    def missing(self, id: str) -> Shown:
        """Show a claim that this profile cannot test, and what it needs.

        Raises
        ------
        InputError
            An unknown claim, or one with nothing missing.
        """
        one_of("id", id, dict.fromkeys(self._claims["id"]))
        parts = self._claims[self._claims["id"] == id]
        absent = parts[parts["verdict"] == UNTESTED]
        if absent.empty:
            raise InputError(f"{id}: nothing is missing in this profile; judge it")
        needs = _joined(absent["remark"].unique())
        measured = " ".join(absent["measured"].unique())
        finding = f"**{UNTESTED}**; missing: {needs}."
        return Shown(_sentence(parts.iloc[0], ""), f"*Measured:* {measured}", finding)

    def pending(self) -> list[str]:
        """Claims and parts that are still to be judged.

        This profile can test them, and the list does not put them off.
        """
        return list(self._claims.index[self._claims["verdict"] == ""])

    def by_chance(self) -> str:
        """How many verdicts rest on intervals, and what chance would make of them."""
        decided = self._claims["verdict"].isin(("holds", "fails"))
        by_interval = self._claims["kind"] == "interval"
        decides = self._claims["decides"] != "no"
        count = self._claims.loc[decided & by_interval & decides, "id"].nunique()
        return (
            f"{count} claims have verdicts or parts that rest on 95 % intervals. If "
            "every quantity lay exactly on its threshold, about "
            f"{CHANCE * count:.1f} of them would still be decided, by chance."
        )

    def table(self) -> pd.DataFrame:
        """A row for each claim.

        Columns id, claim, published, ours (estimate and interval, or residual),
        verdict, note.
        """
        return pd.DataFrame(
            [_whole(parts) for _, parts in self._claims.groupby("id", sort=False)]
        )

    def figure(self) -> Figure:
        """A row for each judged claim, on its own scale.

        It shows the interval of the part that decides, beside the rule.

        Raises
        ------
        InputError
            Claims that are not judged yet.
        """
        pending = ", ".join(self.pending())
        if pending:
            raise InputError(f"{pending}: not judged; judge each of them")
        rows = []
        for id, parts in self._claims.groupby("id", sort=False):
            deciding = parts[parts["decides"] != "no"]
            verdict = _verdict(deciding["verdict"], parts["combine"].iloc[0])
            alike = deciding[deciding["verdict"] == verdict]
            if verdict not in DECIDED or alike.empty:
                continue
            with_interval = alike[alike["kind"] == "interval"]
            claim = (alike if with_interval.empty else with_interval).iloc[0]
            label = _joined([id.partition("-")[2].replace("-", " "), claim["part"]])
            word = _word(verdict, deciding)
            interval = self._deciding[claim.name]
            rows.append(plotting.Judged(label, word, *interval, _regions(claim)))
        return plotting.verdicts(rows)

    def _find(self, id: str, part: str) -> pd.Series:
        name = one_of("id and part", f"{id} {part}".strip(), self._claims.index)
        claim = self._claims.loc[name]
        if claim["ours"]:
            raise InputError(f"{name}: was judged before; judge each part once")
        return claim

    def _enter(
        self,
        claim: pd.Series,
        verdict: str,
        ours: str,
        analogue: str,
        note: str,
        count: int = 1,
    ) -> Shown:
        """Keep a verdict, and show it."""
        stand_in = bool(analogue) or not claim["own"]
        evidence = _joined([analogue, note])
        about = evidence
        word = SEEN.get(verdict, verdict) if stand_in else verdict
        entry = f"{ours} {verdict}" if claim["part"] else ours
        if claim["decides"] == "no":
            word = REMARKS.get(verdict, verdict)
            entry = f"{ours} {word} (remark)"
            about = _joined(["a remark, which decides nothing", evidence])
        if claim["part"]:
            entry = f"{claim['part']}: {entry}"
        columns = ["verdict", "ours", "stand_in", "remark"]
        self._claims.loc[claim.name, columns] = verdict, entry, stand_in, evidence

        family = f", the one of {count} intervals that decides" if count > 1 else ""
        reason = f" ({about})" if about else ""
        beside = _beside(claim["published_value"], self._deciding.get(claim.name))
        finding = f"{ours}{family}: **{word}**{reason}.{beside}"
        return Shown(_sentence(claim, claim["part"]), _rule(claim, count), finding)


def _judged(claim: pd.Series, low: np.ndarray, high: np.ndarray) -> tuple[int, str]:
    """The deciding interval, and the verdict."""
    member, holds = Condition.parse(claim["holds"] or claim["fails"]).decide(low, high)
    if claim["holds"] and holds:
        return member, "holds"
    if claim["fails"]:
        clearest, fails = Condition.parse(claim["fails"], "any").decide(low, high)
        if fails:
            return clearest, "fails"
    return member, "undecided"


def _regions(claim: pd.Series) -> list[tuple[float, float]]:
    """The values that meet the rule for "holds".

    If the rule for "fails" stands alone, the values that do not meet that one.
    """
    if claim["kind"] == "identity":
        return [(0.0, float(claim["tolerance"]))]
    return Condition.parse(claim["holds"] or f"none {claim['fails']}").regions()


def _sentence(claim: pd.Series, part: str) -> str:
    """The claim, its place, and the printed number."""
    place = f"{claim['where']}; part: {part}" if part else claim["where"]
    return f"**{claim['claim']}** ({place}) Printed: {claim['published']}."


def _rule(claim: pd.Series, count: int) -> str:
    """What is measured, and the rule in words."""
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
    return f"*Measured:* {claim['measured']} {', '.join(clauses)}."


def _beside(printed: str, ours: Interval | None) -> str:
    """Where the printed number lies."""
    if not printed or ours is None:
        return ""
    place = "in"
    if float(printed) < ours.low:
        place = "below"
    if float(printed) > ours.high:
        place = "above"
    return f" The printed {printed} lies {place} our interval."


def _whole(parts: pd.DataFrame) -> dict[str, str]:
    """A claim's row from its parts."""
    claim = parts.iloc[0].copy()
    deciding = parts[parts["decides"] != "no"]
    verdict = _verdict(deciding["verdict"], claim["combine"])
    claim["verdict"] = _word(verdict, deciding)
    claim["ours"] = _joined(parts["ours"])
    claim["note"] = _joined([*parts["remark"].unique(), claim["note"]])
    return claim[["id", "claim", "published", "ours", "verdict", "note"]].to_dict()


def _word(verdict: str, deciding: pd.DataFrame) -> str:
    """The verdict in words that say whether the evidence is the paper's own."""
    return SEEN.get(verdict, verdict) if deciding["stand_in"].any() else verdict


def _verdict(verdicts: pd.Series, combine: str) -> str:
    """The combined verdict of the parts that decide.

    All must hold, and a single one can fail the claim; where the list says "one", it is
    the reverse.
    """
    found = set(verdicts)
    decisive, common = ("holds", "fails") if combine == "one" else ("fails", "holds")
    if decisive in found:
        return decisive
    if found == {common}:
        return common
    if UNTESTED in found:
        return UNTESTED
    if found.isdisjoint(DECIDED):
        return verdicts.iloc[0]  # merged, dropped or pending, as the list says
    return "undecided"


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(filter(None, texts))
