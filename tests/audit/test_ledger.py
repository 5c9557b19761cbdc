"""Verdicts on the papers' claims follow the listed rules; all rows have one."""

import re
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml

from audit import ledger as room
from audit import verdicts
from audit.answer import SENTENCES
from audit.ledger import CLAIMS, UNTESTED, WORDS, Condition, Ledger
from lib.base import paths
from lib.base.errors import InputError
from lib.stats import Interval

LISTED = {"n2o": 30, "sent2vec": 33, "pitfalls": 31, "usif": 31, "localization": 32}
RULE = {"holds": "> 0", "fails": "< 0"}


def listed():
    return pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)


def around(estimate):
    """An interval from 0.5 below to 0.5 above."""
    return Interval(estimate, np.subtract(estimate, 0.5), np.add(estimate, 0.5))


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """The ledger of a handmade list of claims."""

    def build(*rows, profile="default"):
        usual = dict.fromkeys(listed().columns, "")
        usual |= {"lesson": "x", "source": "y", "id": "c", "kind": "interval"}
        usual |= {"default": "yes", "paper": "yes", "decides": "yes"}
        claims = pd.DataFrame([usual | row for row in rows])
        claims.to_csv(tmp_path / "claims.csv", index=False)
        monkeypatch.setattr(room, "CLAIMS", tmp_path / "claims.csv")
        return Ledger("x", profile)

    return build


def verdict(ledger):
    return ledger.table()["verdict"].item()


# -- one rule --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holds", "fails", "low", "high", "expected"),
    [
        ("> 0.9", "< 0.9", 0.91, 0.99, "holds"),
        ("> 0.9", "< 0.9", 0.8, 0.89, "fails"),
        ("> 0.9", "< 0.9", 0.9, 0.91, "undecided"),
        ("in -0.02 0.02", "outside -0.02 0.02", -0.02, 0.01, "holds"),
        ("in -0.02 0.02", "outside -0.02 0.02", -0.05, -0.03, "fails"),
        ("in -0.02 0.02", "outside -0.02 0.02", 0.01, 0.03, "undecided"),
        ("meets 0.15 0.2", "outside 0.15 0.2", 0.1, 0.16, "holds"),
        ("meets 0.64", "outside 0.64 0.64", 0.65, 0.7, "fails"),
        ("meets 0.64", "outside 0.64 0.64", -np.inf, np.inf, UNTESTED),
        ("> 0", "", -0.5, -0.1, "undecided"),
        ("> 0", "< 0", 0.1, np.inf, "holds"),
    ],
)
def test_intervals_by_hand(ledger, holds, fails, low, high, expected) -> None:
    judged = ledger({"holds": holds, "fails": fails})
    judged.judge("c", Interval(np.clip(0.5, low, high), low, high))
    assert verdict(judged) == expected


@pytest.mark.parametrize(
    ("holds", "fails", "family", "shown", "expected"),
    [
        ("> 0", "< 0", [2, 3, 1], 1, "holds"),  # the nearest to the border
        ("> 0", "< 0", [2, -3, -1], -3, "fails"),  # the clearest beyond it
        ("> 0", "< 0", [2, 0.25, 3], 0.25, "undecided"),  # what reaches across it
        ("> 0", "all < 0", [2, -3, 1], -3, "undecided"),  # the others would hold
        ("> 0", "all < 0", [-2, -3, -1], -1, "fails"),
        ("any > 0", "none > 0", [-2, 3, 1], 3, "holds"),
        ("any > 0", "none > 0", [-2, 0, -1], 0, "fails"),
        ("none < 0", "all < 0", [2, 3, 1], 1, "holds"),
        ("most > 0", "most < 0", [-2, 3, 1], 1, "holds"),  # without it no majority
        ("most > 0", "most < 0", [2, -2], -2, "undecided"),
        ("most > 0", "most < 0", [-2, -3, 0.25, 3], 0.25, "undecided"),
        ("in -2 2", "outside -2 2", [0, 1, -1.25], -1.25, "holds"),
    ],
)
def test_a_family_shows_the_member_that_decides(
    ledger, holds, fails, family, shown, expected
) -> None:
    judged = ledger({"holds": holds, "fails": fails})
    judged.judge("c", around(family))
    assert judged.table()["ours"].item().startswith(f"{shown} (")
    assert verdict(judged) == expected


@pytest.mark.parametrize(
    ("holds", "fails", "ours", "times"),
    [
        ("> 0", "< 0", (0.5, -0.5, 1.5), "4"),  # half as wide
        ("> 0", "< 0", (-0.5, -1.5, 0), ""),  # touches 0
        ("in -1 1", "outside -1 1", (0.5, -0.5, 1.5), "4"),
        ("> 1", "< -1", (0.5, -1, 2), ""),  # it meets neither
        ("> 0", "< 0", (0.01, -1, 2), ""),  # nobody has as much
    ],
)
def test_an_open_claim_says_how_much_data_would_decide(
    ledger, holds, fails, ours, times
) -> None:
    judged = ledger({"holds": holds, "fails": fails})
    found = re.findall("([0-9.]+) times", judged.judge("c", Interval(*ours)).finding)
    assert found == [times] * bool(times)


@pytest.mark.parametrize(
    ("residual", "expected"),
    [(-0.1, "holds"), (0.11, "fails"), ([0, -0.5], "fails")],
)
def test_an_identity_holds_up_to_its_tolerance(ledger, residual, expected) -> None:
    row = {"kind": "identity", "tolerance": "0.1", "measured": "Largest gap."}
    judged = ledger(row)
    shown = judged.identity("c", residual)
    assert verdict(judged) == expected
    assert (
        shown.rule
        == "*Measured:* Largest gap. *Holds* if at most 0.1, *fails* otherwise."
    )
    assert shown.finding == f"{np.abs(residual).max():g}: **{expected}**."


# -- parts, evidence and remarks -------------------------------------------------------


@pytest.mark.parametrize(
    ("combine", "signs", "expected"),
    [
        ("", (1, 1), "holds"),
        ("", (1, -1), "fails"),
        ("", (1, 0), "undecided"),
        ("", (1, None), "undecided"),
        ("", (1, "missing"), UNTESTED),
        ("", (0, "missing"), UNTESTED),
        ("", (-1, "missing"), "fails"),
        ("one", (1, -1), "holds"),
        ("one", (-1, -1), "fails"),
    ],
)
def test_parts_of_a_claim(ledger, combine, signs, expected) -> None:
    parts = [RULE | {"part": part, "combine": combine} for part in "ab"]
    if signs[1] == "missing":
        parts[1]["default"] = "no"
    judged = ledger(*parts)
    for part, sign in zip("ab", signs, strict=True):
        if isinstance(sign, int):
            judged.judge("c", around(sign), part)
    assert verdict(judged) == expected


@pytest.mark.parametrize(
    ("evidence", "analogue", "sign", "expected"),
    [
        ("yes", "", 1, "holds"),
        ("yes", "", -1, "fails"),
        ("yes", "MiniLM", 1, "seen here"),
        ("analogue", "", 1, "seen here"),
        ("analogue", "MiniLM", -1, "not seen here"),
        ("analogue", "MiniLM", 0, "undecided"),
    ],
)
def test_only_the_papers_own_evidence_makes_a_claim_hold_or_fail(
    ledger, evidence, analogue, sign, expected
) -> None:
    judged = ledger(RULE | {"default": evidence})
    shown = judged.judge("c", around(sign), analogue=analogue)
    assert verdict(judged) == expected
    assert f"**{expected}**" in shown.finding


@pytest.mark.parametrize(("sign", "remark"), [(1, "met"), (-1, "not met"), (0, "open")])
def test_a_remark_is_shown_and_decides_nothing(ledger, sign, remark) -> None:
    judged = ledger(RULE | {"part": "a"}, RULE | {"part": "b", "decides": "no"})
    judged.judge("c", around(1), "a")
    judged.judge("c", around(sign), "b", "MiniLM")
    assert verdict(judged) == "holds"
    assert judged.table()["ours"].item().endswith(f") {remark} (remark)")


# -- what is shown ---------------------------------------------------------------------


def test_a_row_says_what_was_measured_in_place_of_what(ledger) -> None:
    claim = {"claim": "It grows.", "published": "0.9", "note": "Table 3 differs."}
    judged = ledger(claim | RULE | {"part": "a"}, claim | RULE | {"part": "b"})
    judged.judge("c", Interval(0.25, 0.125, 0.5), "a", "MiniLM", "on verses only")
    judged.judge("c", Interval(0.5, 0.25, 0.75), "b")
    assert judged.table().to_dict("records") == [
        {
            "id": "c",
            "claim": "It grows.",
            "published": "0.9",
            "ours": "a: 0.25 (0.125 to 0.5) holds; b: 0.5 (0.25 to 0.75) holds",
            "verdict": "seen here",
            "note": "MiniLM; on verses only; Table 3 differs.",
        }
    ]


def test_each_part_has_a_row_of_numbers_its_rule_and_its_evidence(ledger) -> None:
    remark = RULE | {"part": "remark", "decides": "no"}
    absent = {"id": "d", "default": "no", "needs": "ELMo"}
    judged = ledger(RULE | {"part": "wide"}, RULE | {"part": "exact"}, remark, absent)
    judged.judge("c", around(1), "wide", "MiniLM")
    judged.judge("c", Interval(2, 2, 2), "exact")
    judged.judge("c", around(-1), "remark")
    columns = ["part", "estimate", "low", "evidence", "note", "result", "verdict"]
    table = judged.parts()
    assert table[columns].astype(object).fillna("").to_numpy().tolist() == [
        ["wide", 1, 0.5, "stand-in", "MiniLM", "seen here", "seen here"],
        ["exact", 2, "", "own", "", "holds", "seen here"],
        ["remark", -1, -1.5, "own", "", "not met", "seen here"],
        ["", "", "", "missing", "ELMo", UNTESTED, UNTESTED],
    ]
    assert list(table["rule"]) == 3 * ["holds: > 0; fails: < 0"] + [""]


@pytest.mark.parametrize(
    ("low", "high", "place"), [(0.99, 1, "below"), (0.95, 1, "in"), (0, 0.95, "above")]
)
def test_a_claim_is_shown_with_its_rule_in_words_and_the_printed_number(
    ledger, low, high, place
) -> None:
    claim = {"claim": "It grows.", "where": "sec. 6", "published": "0.986 at least"}
    rule = {"measured": "A correlation.", "holds": "> 5", "fails": "< -5"}
    judged = ledger(claim | rule | {"id": "y-it-grows", "published_value": "0.986"})
    shown = judged.judge(
        "y-it-grows", Interval(high, low, high), analogue="16 embedders"
    )
    assert shown._repr_markdown_() == (
        '> <a id="y-it-grows"></a>**It grows.** (*it grows*, sec. 6) '
        "Printed: 0.986 at least.  \n"
        "> *Measured:* A correlation. "
        "*Holds* if the interval lies above 5, *fails* if it lies below -5.  \n"
        f"> {high} ({low} to {high}): **undecided** (16 embedders). "
        f"The printed 0.986 lies {place} our interval."
    )


@pytest.mark.parametrize(
    ("printed", "beside"),
    [("0.5", "lies below"), ("0.75", "equals"), ("1", "lies above")],
)
def test_an_exact_value_stands_alone(ledger, printed, beside) -> None:
    judged = ledger({"holds": "> 0", "part": "a", "published_value": printed})
    shown = judged.judge("c", Interval(0.75, 0.75, 0.75), "a")
    expected = f"0.75: **holds**. The printed {printed} {beside} our number."
    assert shown.finding == expected
    assert judged.table()["ours"].item() == "a: 0.75 holds"


def test_chance_plays_no_part_in_exact_values(ledger) -> None:
    exact = {"id": "exact", "holds": "> 0"}
    equal = {"id": "equal", "kind": "identity", "tolerance": "0"}
    remark = RULE | {"id": "up", "part": "b", "decides": "no"}
    up = RULE | {"id": "up", "part": "a"}
    other = RULE | {"id": "down"}
    judged = ledger(up, remark, other, RULE | {"id": "open"}, exact, equal)
    judged.judge("up", around(1), "a")
    judged.judge("up", around(1), "b")
    judged.judge("down", around(-1))
    judged.judge("open", around(0))
    judged.judge("exact", Interval(1, 1, 1))
    judged.identity("equal", 0.0)
    assert judged.by_chance().startswith("2 claims have verdicts")


@pytest.mark.parametrize(
    ("condition", "count", "expected"),
    [
        ("< 24", 2, "both intervals lie below 24"),
        ("in -0.02 0.02", 3, "all 3 intervals lie within -0.02 to 0.02"),
        ("any outside -1 1", 3, "at least one interval lies outside -1 to 1"),
        ("outside 0 0", 1, "the interval excludes 0"),
        ("meets 0.64", 1, "the interval includes 0.64"),
        ("meets 0.15 0.2", 1, "the interval overlaps 0.15 to 0.2"),
        ("most > -0.01", 6, "most of the 6 intervals lie above -0.01"),
        ("none < 0", 6, "no interval lies below 0"),
        ("all in 0 0", 2, "both intervals equal 0"),
    ],
)
def test_a_condition_in_words(condition, count, expected) -> None:
    assert Condition.parse(condition).words(count) == expected


@pytest.mark.parametrize(
    ("condition", "regions"),
    [
        ("> 0.9", [(0.9, np.inf)]),
        ("< 0.9", [(-np.inf, 0.9)]),
        ("in -0.02 0.02", [(-0.02, 0.02)]),
        ("outside -0.02 0.02", [(-np.inf, -0.02), (0.02, np.inf)]),
        ("none > 0.9", [(-np.inf, 0.9)]),
        ("none outside -0.02 0.02", [(-0.02, 0.02)]),
    ],
)
def test_figures_shade_the_values_that_meet_the_rule(condition, regions) -> None:
    assert Condition.parse(condition).regions() == regions


def test_what_is_missing_and_what_is_pending(ledger) -> None:
    absent = {"id": "absent", "default": "no", "needs": "ELMo", "holds": "> 0"}
    rows = (
        absent | {"measured": "A share."},
        {"id": "later", "status": "pending: issue 4", "holds": "> 0"},
        {"id": "same", "status": "merged: into later"},
        {"id": "open", "part": "a", "holds": "> 0"},
    )
    judged = ledger(*rows)
    expected = [UNTESTED, "pending: issue 4", "merged: into later", ""]
    assert list(judged.table()["verdict"]) == expected
    assert judged.pending() == ["open a"]
    assert judged.table()["note"][0] == "ELMo"
    shown = judged.missing("absent")
    assert shown.finding == f"**{UNTESTED}**; missing: ELMo."
    assert shown.rule == "*We would measure:* A share."
    assert ledger(*rows, profile="paper").pending() == ["absent", "open a"]


def titles(figure):
    """The label and the verdict of each row."""
    return [
        (axes.get_title(loc="left"), axes.get_title(loc="right"))
        for axes in figure.axes
    ]


def test_the_figure_has_a_row_for_each_interval_and_names_the_other_claims(
    ledger,
) -> None:
    judged = ledger(
        RULE | {"id": "c-up"},
        RULE | {"id": "c-down"},
        {"id": "c-equal", "kind": "identity", "tolerance": "0"},
        {"id": "c-not-here", "default": "no"},
        {"id": "c-same", "status": "merged: into c-up"},
    )
    judged.identity("c-equal", 0.0)
    judged.judge("c-up", Interval(1, 0.5, np.inf))
    with pytest.raises(InputError, match="c-down: not judged"):
        judged.figure()
    judged.judge("c-down", around(-1))
    figure = judged.figure()
    assert titles(figure) == [("up", "holds"), ("down", "fails")]
    assert figure.get_supxlabel().splitlines() == [
        "Equalities, which have no interval: equal (holds).",
        "Merged: same.",
        "Not testable here: not here.",
    ]
    plt.close(figure)


def test_of_several_parts_the_figure_shows_one_with_an_interval(ledger) -> None:
    equal = {"part": "equal", "kind": "identity", "tolerance": "0"}
    parts = [RULE | {"part": part} for part in ("exact", "wide")]
    judged = ledger(*({"id": "c-up"} | part for part in [equal, *parts]))
    judged.identity("c-up", 0.0, "equal")
    judged.judge("c-up", Interval(1, 1, 1), "exact")
    judged.judge("c-up", around(1), "wide")
    figure = judged.figure()
    assert titles(figure) == [("up; wide", "holds")]
    plt.close(figure)


def test_a_refused_verdict_shows_the_true_interval_and_why(ledger) -> None:
    judged = ledger(RULE)
    shown = judged.refuse("c", Interval(0.5, 0.4, 0.6), "the rate is not tuned")
    assert shown.finding.startswith("0.5 (0.4 to 0.6): **not testable here**")
    assert "(the rate is not tuned)" in shown.finding
    figure = judged.figure()
    assert not titles(figure)[0][1]
    assert "Not testable here" in figure.get_supxlabel()
    plt.close(figure)


def test_the_answer_counts_every_claim_once(ledger) -> None:
    judged = ledger(
        RULE | {"id": "c-up"},
        RULE | {"id": "c-over there", "default": "analogue"},
        RULE | {"id": "c-open"},
        {"id": "c-absent", "default": "no"},
        {"id": "c-same", "status": "merged: into c-up"},
    )
    judged.judge("c-up", around(1))
    judged.judge("c-over there", around(-1))
    judged.judge("c-open", around(0))
    counts, _, table, chance = judged.summary().split("\n\n")
    assert counts == (
        "**4 claims.** Decided by the paper's printed numbers, data or mathematics: 1 "
        "(holds 1, fails 0). Tested on other data or models: 1 (seen here 0, not seen "
        "here 1). Undecided: 1 (1 on the paper's own evidence). Not testable here: 1."
    )
    rows = [[cell.strip() for cell in row.split("|")] for row in table.splitlines()]
    assert [row[2] for row in rows[2:]] == [
        f"**{word}**"
        for word in ("holds", "not seen here", "undecided", "not testable here")
    ]
    assert rows[2][1].endswith("](#c-up)")
    rule = "*Holds* if the interval lies above 0, *fails* if it lies below 0"
    assert rows[2][3:5] == ["the paper's own", f"1 (0.5 to 1.5); {rule}"]
    assert chance == judged.by_chance()


@pytest.mark.parametrize("name", paths.replications(), ids=paths.notebook_name)
def test_the_answer_of_a_paper_rests_on_claims_and_verdicts_of_the_list(name) -> None:
    claims = listed()
    ids = set(claims.loc[claims["source"] == name.stem, "id"])
    sentences = yaml.safe_load(SENTENCES.read_text(encoding="utf-8"))[name.stem]
    for sentence in sentences:
        assert sentence["when"].keys() <= ids
        assert set(sentence["when"].values()) <= set(WORDS)


def test_a_ledger_has_the_claims_of_a_paper_or_of_a_lesson(ledger) -> None:
    other = {"id": "e", "lesson": "z", "source": "w"}
    ledger({}, {"id": "d", "lesson": "z"}, other)
    assert list(Ledger("y", "default").table()["id"]) == ["c", "d"]
    assert list(Ledger("z", "default").table()["id"]) == ["d", "e"]
    with pytest.raises(InputError, match="name: 'n20' is not known"):
        Ledger("n20", "default")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda judged: judged.judge("c", around(1), "a"), "was judged before"),
        (lambda judged: judged.judge("c", around(1)), "is not known"),
        (lambda judged: judged.missing("b"), "nothing is missing"),
        (lambda judged: judged.judge("b", Interval(3, 0.5, 2)), "outside its interval"),
        (lambda judged: judged.judge("b", Interval(1, 2, 0.5)), "outside its interval"),
        (lambda judged: judged.judge("b", Interval(np.nan, 0, 1)), "outside its"),
    ],
)
def test_refusals(ledger, call, message) -> None:
    judged = ledger({"part": "a", "holds": "> 0"}, {"id": "b", "holds": "> 0"})
    judged.judge("c", around(1), "a")
    with pytest.raises(InputError, match=message) as refused:
        call(judged)
    assert "\n" not in str(refused.value)


def test_a_row_of_the_answer_links_to_its_block_if_there_is_one(ledger) -> None:
    absent = {"claim": "It is.", "default": "no", "needs": "weights"}
    judged = ledger(RULE | absent)
    assert "| It is | " in judged.summary()
    assert "missing: weights" in judged.summary()
    judged.missing("c")
    assert "| [It is](#c) | " in judged.summary()


# -- the list --------------------------------------------------------------------------


# README: "for each claim of the papers a verdict by a written rule"
def test_every_claim_of_the_five_papers_is_listed_with_a_whole_rule() -> None:
    claims = listed()
    assert not claims.duplicated(["id", "part"]).any()
    assert claims.drop_duplicates("id")["source"].value_counts().to_dict() == LISTED
    shared = claims.groupby("id")[["lesson", "claim", "combine", "note"]].nunique()
    assert (shared == 1).all(axis=None)
    judged = claims[claims["kind"] != ""]
    put_away = claims.loc[claims["kind"] == "", "status"]
    assert put_away.str.match("merged: into |dropped: ").all()
    assert (judged["status"] == "").all()
    assert judged[["default", "paper"]].isin(["yes", "analogue", "no"]).all(axis=None)
    absent = (judged[["default", "paper"]] == "no").any(axis=1)
    assert (judged.loc[absent, "needs"] != "").all()
    identities = judged["kind"] == "identity"
    assert (judged.loc[identities, "tolerance"].astype(float) >= 0).all()
    intervals = judged[~identities]
    assert (intervals["holds"].ne("") | intervals["combine"].eq("one")).all()
    assert judged["decides"].isin(["yes", "no"]).all()
    assert judged["decides"].eq("yes").groupby(judged["id"]).any().all()
    assert judged["measured"].str.fullmatch(r"\S.*\.").all()


def families(conditions):
    """An interval, or two points, on, beside, and between the conditions' numbers."""
    words = " ".join(conditions).split()
    numbers = np.unique([float(word) for word in words if word[-1].isdigit()])
    gap = min([1.0, *(np.diff(numbers) / 4)])
    points = np.unique(np.add.outer(numbers, [-gap, 0, gap]))
    intervals = [(low, high) for low in points for high in points if low <= high]
    yield from ([interval] for interval in intervals)
    yield from combinations([(point, point) for point in points], 2)


def test_every_rule_can_be_met_and_none_both_holds_and_fails() -> None:
    claims = listed()
    intervals = claims[claims["kind"] == "interval"]
    rules = intervals[["holds", "fails"]].drop_duplicates()
    for rule in rules.to_dict("records"):
        met = {"holds": set(), "fails": set()}
        for i, family in enumerate(families(rule.values())):
            low, high = np.transpose(family)
            for name, usual in (("holds", "all"), ("fails", "any")):
                condition = rule[name] and Condition.parse(rule[name], usual)
                if condition and condition.decide(low, high)[1]:
                    met[name].add(i)
        assert [name for name in met if rule[name] and not met[name]] == [], rule
        assert met["holds"].isdisjoint(met["fails"]), rule


# The list: "With this estimate, 6 times as much data would decide"
@pytest.mark.parametrize(
    ("interval", "times"),
    # Its half of 0.5 must become 0.2, and its half of 0.9 must become 0.3.
    [((0.2, -0.3, 0.7), 6.25), ((-0.3, -0.4, 0.6), 9), ((0.0, -1, 1), np.inf)],
)
def test_how_much_more_data_would_decide_by_hand(interval, times) -> None:
    claim = pd.Series({"holds": "> 0", "fails": "< 0"})
    assert verdicts.growth(claim, Interval(*interval)) == pytest.approx(times)
