"""The answer at the top of a replication: sentences, counts, one row per claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from audit.shown import anchor, numbers, short_name
from audit.verdicts import SEEN, UNTESTED, WORDS, in_words, regions
from lib.stats import Interval

# Each paper's sentences, with the verdicts under which each is true.
SENTENCES = Path(__file__).with_name("answers.yaml")
COUNTED = (
    "**{all} claims.** Decided by the paper's printed numbers, data or mathematics: "
    "{own} (holds {holds}, fails {fails}). Tested on other data or models: {tried} "
    "(seen here {seen}, not seen here {unseen}). Undecided: {open} ({open_own} on the "
    "paper's own evidence). Not testable here: {absent}."
)
READING = (
    "A claim **holds** or **fails** on the paper's own evidence; with other data or "
    "models it is **seen here** or **not seen here**. The last column gives the "
    "deciding part, its estimate with a 95 % interval, and the rule; the link leads "
    "to the measurement and its unit."
)


@dataclass(frozen=True)
class Standing:
    """The status of a claim.

    Attributes
    ----------
    id : str
    part : str
        The part that decides.
    claim : str
        The paper's claim in one sentence.
    verdict, kind : str
        As in the list of claims.
    rule : str
        In words.
    is_own : bool
        Whether the part's evidence is the paper's.
    interval : Interval or None
        The deciding part's.
    regions : list of (float, float)
        Values that meet the rule.
    missing : str
        What is missing, or what happened to the claim.
    is_measured : bool
        Whether something was measured, if not enough for a verdict.
    is_shown : bool
        Whether the notebook has a block on the part.
    """

    id: str
    part: str
    claim: str
    verdict: str
    rule: str
    kind: str
    is_own: bool
    interval: Interval | None
    regions: list[tuple[float, float]]
    missing: str
    is_measured: bool
    is_shown: bool

    @classmethod
    def of(
        cls, part: pd.Series, verdict: str, interval: Interval | None, is_shown: bool
    ) -> Standing:
        """From the row of the deciding part."""
        is_interval = interval is not None and part["kind"] == "interval"
        return cls(
            part["id"],
            part["part"],
            part["claim"],
            verdict,
            in_words(part, 1),
            part["kind"] if interval is not None else "",
            not part["stand_in"],
            interval,
            regions(part) if is_interval else [],
            part["remark"],
            bool(part["ours"]),
            is_shown,
        )

    @property
    def label(self) -> str:
        """A short name."""
        return short_name(self.id)


def page(name: str, standings: Sequence[Standing], chance: str) -> str:
    """The answer, in Markdown.

    Parameters
    ----------
    name : str
        The paper.
    standings : sequence of Standing
    chance : str
        How many verdicts chance would give.
    """
    judged = [claim for claim in standings if claim.verdict in WORDS]
    head = "| claim | verdict | evidence | what decides |\n| --- | --- | --- | --- |"
    ordered = sorted(judged, key=lambda claim: WORDS.index(claim.verdict))
    table = "\n".join([head, *map(_row, ordered)])
    texts = [*_sentences(name, judged), _counts(judged), READING, table, chance]
    return "\n\n".join(texts)


def _sentences(name: str, judged: Sequence[Standing]) -> list[str]:
    """The sentences that the verdicts support, as one paragraph."""
    verdicts = {claim.id: claim.verdict for claim in judged}
    listed: Sequence[Mapping] = _all_sentences().get(name, [])
    true = [each["says"] for each in listed if each["when"].items() <= verdicts.items()]
    return [" ".join(true)] if true else []


@cache
def _all_sentences() -> dict:
    return yaml.safe_load(SENTENCES.read_text(encoding="utf-8"))


def _counts(judged: Sequence[Standing]) -> str:
    count = Counter(claim.verdict for claim in judged)
    undecided = [claim for claim in judged if claim.verdict == "undecided"]
    return COUNTED.format(
        all=len(judged),
        own=count["holds"] + count["fails"],
        holds=count["holds"],
        fails=count["fails"],
        tried=sum(count[word] for word in SEEN.values()),
        seen=count[SEEN["holds"]],
        unseen=count[SEEN["fails"]],
        open=len(undecided),
        open_own=sum(claim.is_own for claim in undecided),
        absent=count[UNTESTED],
    )


def _row(claim: Standing) -> str:
    evidence = "the paper's own" if claim.is_own else "other data or models"
    decides = claim.missing if claim.is_measured else f"missing: {claim.missing}"
    if claim.verdict == UNTESTED:
        evidence = ""
    if claim.interval is not None:
        part = f"{claim.part}: " if claim.part else ""
        decides = f"{part}{numbers(claim.interval)}; {claim.rule}"
    sentence = claim.claim.rstrip(".")
    if claim.is_shown:
        sentence = f"[{sentence}](#{anchor(claim.id, claim.part)})"
    cells = [
        sentence,
        f"**{claim.verdict}**",
        evidence,
        decides,
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
