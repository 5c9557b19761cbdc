"""Verdicts on what the papers claim: the rule in the list decides.

`conditions` reads the list's rules, `verdicts` applies them, and `shown` has what a
notebook shows of them.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from matplotlib.figure import Figure

from audit import answer, figures
from audit.answer import Standing
from audit.conditions import Condition
from audit.shown import (
    Shown,
    beside,
    is_exact,
    joined,
    numbers,
    sentence,
    to_decide,
)
from audit.verdicts import (
    DECIDED,
    SEEN,
    UNTESTED,
    WORDS,
    combined,
    conditions,
    evidence,
    growth,
    in_words,
    judged,
    on_claim,
    worded,
)
from lib import plotting
from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.stats import UNDEFINED, Interval

__all__ = ["CLAIMS", "SEEN", "UNTESTED", "WORDS", "Condition", "Ledger", "Shown"]

CLAIMS = Path(__file__).with_name("claims.csv")
LEVEL = 0.05  # chance that an interval of 95 % excludes what it should include
# Of a part that decides nothing.
REMARKS = {"holds": "met", "fails": "not met", "undecided": "open"}


class Ledger:
    """What a study finds of each claim listed for it; the rule in the list decides.

    Parameters
    ----------
    name : str
        A paper, such as "n2o", or a notebook, such as "01_n2o": a source or a lesson of
        ``audit/claims.csv``.
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
            result=claims["status"].mask(absent, UNTESTED),
        )
        self._claims.index = (claims["id"] + " " + claims["part"]).str.strip()
        self._measured: dict[str, Interval] = {}
        self._shown: set[str] = set()
        self._name = name

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
            return self._enter(claim, UNTESTED, None, analogue, note)
        if not ((low <= estimate) & (estimate <= high)).all():
            raise InputError(
                f"{id}: an estimate lies outside its interval; "
                "give low <= estimate <= high"
            )
        member, verdict = judged(claim, low, high)
        decided = Interval(estimate[member], low[member], high[member])
        return self._enter(claim, verdict, decided, analogue, note, len(estimate))

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
        exact = Interval(largest, largest, largest)
        return self._enter(claim, verdict, exact, analogue, note)

    def refuse(self, id: str, interval: Interval, reason: str, part: str = "") -> Shown:
        """Show what was measured of a claim that it cannot decide.

        Parameters
        ----------
        id, part : str
            As in the list.
        interval : Interval
            Of floats.
        reason : str
            What is wrong with the measurement, and which run would decide.
        """
        return self._enter(self._find(id, part), UNTESTED, interval, "", reason)

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
        self._shown.update(absent.index)
        needs = joined(absent["remark"].unique())
        measured = " ".join(absent["measured"].unique())
        finding = f"**{UNTESTED}**; missing: {needs}."
        rule = f"*We would measure:* {measured}"
        return Shown(sentence(absent.iloc[0], *absent["part"]), rule, finding)

    def pending(self) -> list[str]:
        """Claims and parts that are still to be judged.

        This profile can test them, and the list does not put them off.
        """
        return list(self._claims.index[self._claims["verdict"] == ""])

    def reserve(self) -> None:
        """Keep a place near the top of a notebook for the answer."""
        waiting = Markdown("*The answer appears here once all cells have run.*")
        for place in ("summary", "verdicts"):
            display(waiting, display_id=place)

    def answer(self, notebook: str) -> None:
        """Write the verdicts, and show them in the place that `reserve` keeps.

        A row for each claim, and a figure of those that an interval decides. The
        notebook's folder gets the figure ``verdicts``, ``claims.csv`` with a row for
        each claim and ``verdicts.csv`` with one for each part.

        Raises
        ------
        InputError
            Claims that are not judged yet.
        """
        alt = "One row per judged claim: its interval and where its rule holds."
        plotting.show(self.figure(), notebook, "verdicts", alt, update="verdicts")
        plotting.write_table(self.table(), notebook, "claims")
        plotting.write_table(self.parts(), notebook, "verdicts")
        display(Markdown(self.summary()), display_id="summary", update=True)

    def summary(self) -> str:
        """The answer: sentences, counts, and a row for each claim."""
        return answer.page(self._name, self._standings(), self.by_chance())

    def by_chance(self) -> str:
        """How many verdicts rest on intervals, and what chance would make of them.

        Exact values do not count: chance plays no part in them.
        """
        uncertain = [
            name for name, ours in self._measured.items() if not is_exact(ours)
        ]
        parts = self._claims.loc[uncertain]
        parts = parts[parts["verdict"].isin(("holds", "fails"))]
        count = parts.loc[parts["decides"] != "no", "id"].nunique()
        return (
            f"{count} claims have verdicts or parts that rest on 95 % intervals. If "
            "every quantity lay exactly on its threshold, about "
            f"{LEVEL * count:.1f} of them would still be decided by chance."
        )

    def table(self) -> pd.DataFrame:
        """A row for each claim.

        Columns id, claim, published, ours (estimate and interval, or residual),
        verdict, note.
        """
        return pd.DataFrame(
            [_whole(parts) for _, parts in self._claims.groupby("id", sort=False)]
        )

    def parts(self) -> pd.DataFrame:
        """A row for each part of each claim.

        Columns id, part; estimate, low, high (neither for an exact value); rule;
        decides; evidence: "own" (the paper's), "stand-in" or "missing"; note; result of
        the part; verdict on the claim.
        """
        rows = []
        for id, parts in self._claims.groupby("id", sort=False):
            verdict = on_claim(parts)
            for name, part in parts.iterrows():
                interval = self._measured.get(name, UNDEFINED)
                row = {"id": id, "part": part["part"], **interval._asdict()}
                if is_exact(interval):
                    row |= {"low": np.nan, "high": np.nan}
                row |= {"rule": conditions(part), "decides": part["decides"]}
                row |= {"evidence": evidence(part), "note": part["remark"]}
                rows.append(row | {"result": part["result"], "verdict": verdict})
        return pd.DataFrame(rows)

    def figure(self) -> Figure:
        """A row for each claim that an interval decides, on its own scale.

        It shows the interval beside the rule. The claims without a row are named below,
        with the reason.

        Raises
        ------
        InputError
            Claims that are not judged yet.
        """
        pending = ", ".join(self.pending())
        if pending:
            raise InputError(f"{pending}: not judged; judge each of them")
        rows = []
        others = defaultdict(list)
        for claim in self._standings():
            if claim.kind == "identity":
                exact = f"{claim.label} ({claim.verdict})"
                others["Equalities, which have no interval"].append(exact)
            elif claim.interval is None:
                others[claim.verdict.partition(":")[0].capitalize()].append(claim.label)
            else:
                label = joined([claim.label, claim.part])
                row = label, claim.verdict, *claim.interval, claim.regions
                rows.append(figures.Judged(*row))
        notes = [
            f"{reason}: {', '.join(labels)}."
            for reason, labels in sorted(others.items())
        ]
        return figures.verdicts(rows, notes)

    def _standings(self) -> list[Standing]:
        """How each claim stands, in the order of the list."""
        found = []
        for _, parts in self._claims.groupby("id", sort=False):
            deciding = parts[parts["decides"] != "no"]
            verdict = combined(deciding)
            alike = deciding[deciding["verdict"] == verdict]
            claim = self._decisive(alike)
            interval = self._measured.get(claim.name) if verdict in DECIDED else None
            word = worded(verdict, deciding)
            is_shown = claim.name in self._shown
            found.append(Standing.of(claim, word, interval, is_shown))
        return found

    def _decisive(self, parts: pd.DataFrame) -> pd.Series:
        """The part that stands for those with the claim's verdict.

        A stand-in goes before the paper's own evidence, since it makes "seen here" of
        "holds"; an interval before an exact value, and that before a residual.
        """

        def place(name: str) -> tuple[bool, bool, bool]:
            is_own = not parts.loc[name, "stand_in"]
            is_identity = parts.loc[name, "kind"] == "identity"
            interval = self._measured.get(name, UNDEFINED)
            return is_own, is_exact(interval), is_identity

        return parts.loc[min(parts.index, key=place)]

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
        interval: Interval | None,
        analogue: str,
        note: str,
        count: int = 1,
    ) -> Shown:
        """Keep a verdict and what it rests on, and show it."""
        self._shown.add(claim.name)
        ours = "no interval"
        if interval is not None:
            ours = numbers(interval)
        if interval is not None and verdict in DECIDED:
            self._measured[claim.name] = interval
        stand_in = bool(analogue) or not claim["own"]
        remark = joined([analogue, note])
        about = remark
        word = SEEN.get(verdict, verdict) if stand_in else verdict
        entry = f"{ours} {verdict}" if claim["part"] else ours
        if claim["decides"] == "no":
            word = REMARKS.get(verdict, verdict)
            entry = f"{ours} {word} (remark)"
            about = joined(["a remark, which decides nothing", remark])
        if claim["part"]:
            entry = f"{claim['part']}: {entry}"
        columns = ["verdict", "result", "ours", "stand_in", "remark"]
        entered = verdict, word, entry, stand_in, remark
        self._claims.loc[claim.name, columns] = entered

        family = f", the deciding one of {count} intervals" if count > 1 else ""
        reason = f" ({about})" if about else ""
        place = beside(claim["published_value"], interval)
        finding = f"{ours}{family}: **{word}**{reason}.{place}"
        if verdict == "undecided":
            finding += to_decide(growth(claim, interval))
        rule = f"*Measured:* {claim['measured']} {in_words(claim, count)}."
        return Shown(sentence(claim, claim["part"]), rule, finding)


def _whole(parts: pd.DataFrame) -> dict[str, str]:
    """A claim's row from its parts."""
    claim = parts.iloc[0].copy()
    claim["verdict"] = on_claim(parts)
    claim["ours"] = joined(parts["ours"])
    claim["note"] = joined([*parts["remark"].unique(), claim["note"]])
    return claim[["id", "claim", "published", "ours", "verdict", "note"]].to_dict()
