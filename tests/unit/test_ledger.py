"""Verdicts on the papers' claims follow the listed rules; all rows have one."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import ledger as room
from lib.ledger import CLAIMS, UNTESTED, WORDS, Condition, Ledger
from lib.run import paths
from lib.run.errors import InputError
from lib.stats import Interval

LISTED = {"n2o": 30, "sent2vec": 30, "pitfalls": 30, "usif": 29, "localization": 30}


def listed():
    return pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """A handmade list of claims, one for each kind of condition, and its ledger."""

    def build(*rows, profile="default"):
        usual = dict.fromkeys(listed().columns, "")
        usual |= {
            "lesson": "x",
            "source": "y",
            "id": "c",
            "kind": "interval",
            "decides": "yes",
        }
        usual |= {"default": "yes", "paper": "yes"}
        pd.DataFrame([usual | row for row in rows]).to_csv(
            tmp_path / "claims.csv", index=False
        )
        monkeypatch.setattr(room, "CLAIMS", tmp_path / "claims.csv")
        return Ledger("x", profile)

    return build


def verdict(ledger):
    return ledger.table()["verdict"].item()


@pytest.mark.parametrize(
    ("holds", "fails", "lows", "highs", "expected"),
    [
        ("> 0.9", "< 0.9", 0.91, 0.99, "holds"),
        ("> 0.9", "< 0.9", 0.8, 0.89, "fails"),
        ("> 0.9", "< 0.9", 0.9, 0.91, "undecided"),
        ("in -0.02 0.02", "outside -0.02 0.02", -0.02, 0.01, "holds"),
        ("in -0.02 0.02", "outside -0.02 0.02", -0.05, -0.03, "fails"),
        ("in -0.02 0.02", "outside -0.02 0.02", 0.01, 0.03, "undecided"),
        ("meets 0.15 0.2", "outside 0.15 0.2", 0.1, 0.16, "holds"),
        ("meets 0.64", "outside 0.64 0.64", 0.65, 0.7, "fails"),
        ("> 0", "", -0.5, -0.1, "undecided"),
        ("any > 0", "none > 0", [-0.1, -0.2], [0.3, -0.1], "fails"),
        ("most > 0", "most < 0", [0.1, -0.2], [0.3, -0.1], "undecided"),
    ],
)
def test_intervals_by_hand(ledger, holds, fails, lows, highs, expected):
    judged = ledger({"holds": holds, "fails": fails})
    judged.judge("c", Interval(np.add(lows, highs) / 2, lows, highs))
    assert verdict(judged) == expected


def test_an_interval_without_ends_decides_nothing(ledger):
    judged = ledger({"holds": "meets 0.64", "fails": "outside 0.64 0.64"})
    judged.judge("c", Interval(0, -np.inf, np.inf))
    assert judged.table()["ours"].item() == "no interval"
    assert verdict(judged) == "not testable here"


@pytest.mark.parametrize(
    ("holds", "fails", "shifts", "shown", "expected"),
    [
        ("> 0", "< 0", [2, 3, 1], 1, "holds"),  # the nearest to the border
        ("> 0", "< 0", [2, -3, -1], -3, "fails"),  # the clearest beyond it
        (
            "> 0",
            "< 0",
            [2, 0.25, 3],
            0.25,
            "undecided",
        ),  # the one that reaches across it
        ("> 0", "all < 0", [2, -3, 1], -3, "undecided"),  # all others would let it hold
        ("> 0", "all < 0", [-2, -3, -1], -1, "fails"),
        ("any > 0", "none > 0", [-2, 3, 1], 3, "holds"),
        ("none < 0", "all < 0", [2, 3, 1], 1, "holds"),
        (
            "most > 0",
            "most < 0",
            [-2, 3, 1],
            1,
            "holds",
        ),  # without it there is no majority
        ("in -2 2", "outside -2 2", [0, 1, -1.25], -1.25, "holds"),
    ],
)
def test_a_family_shows_the_member_that_decides(
    ledger, holds, fails, shifts, shown, expected
):
    judged = ledger({"holds": holds, "fails": fails})
    judged.judge("c", Interval(shifts, np.subtract(shifts, 0.5), np.add(shifts, 0.5)))
    assert judged.table()["ours"].item().startswith(f"{shown} (")
    assert verdict(judged) == expected


@pytest.mark.parametrize(("sign", "remark"), [(1, "met"), (-1, "not met"), (0, "open")])
def test_a_remark_is_shown_and_decides_nothing(ledger, sign, remark):
    rule = {"holds": "> 0", "fails": "< 0"}
    judged = ledger(rule | {"part": "a"}, rule | {"part": "b", "decides": "no"})
    judged.judge("c", Interval(1, 0.5, 1.5), part="a")
    judged.judge(
        "c", Interval(sign, sign - 0.5, sign + 0.5), part="b", analogue="MiniLM"
    )
    assert verdict(judged) == "holds"
    assert (
        judged.table()["ours"]
        .item()
        .endswith(f"b: {sign} ({sign - 0.5:g} to {sign + 0.5:g}) {remark} (remark)")
    )


@pytest.mark.parametrize(
    ("sign", "expected"),
    [(1, "not testable here"), (-1, "fails"), (0, "not testable here")],
)
def test_a_part_that_cannot_be_measured_leaves_a_claim_that_can_only_fail(
    ledger, sign, expected
):
    rule = {"holds": "> 0", "fails": "< 0"}
    judged = ledger(rule | {"part": "a"}, rule | {"part": "b", "default": "no"})
    judged.judge("c", Interval(sign, sign - 0.5, sign + 0.5), part="a")
    assert verdict(judged) == expected


def test_an_identity_holds_up_to_its_tolerance(ledger):
    for residual, expected in [
        (0.1, "holds"),
        (-0.1, "holds"),
        (0.11, "fails"),
        ([0, -0.2], "fails"),
    ]:
        judged = ledger({"kind": "identity", "tolerance": "0.1"})
        judged.identity("c", residual)
        assert verdict(judged) == expected


@pytest.mark.parametrize(
    ("combine", "signs", "expected"),
    [
        ("", (1, 1), "holds"),
        ("", (1, -1), "fails"),
        ("", (1, 0), "undecided"),
        ("", (1, None), "undecided"),
        ("one", (1, -1), "holds"),
        ("one", (-1, -1), "fails"),
    ],
)
def test_parts_of_a_claim(ledger, combine, signs, expected):
    judged = ledger(
        *(
            {"part": part, "combine": combine, "holds": "> 0", "fails": "< 0"}
            for part in "ab"
        )
    )
    for part, sign in zip("ab", signs, strict=True):
        if sign is not None:
            judged.judge("c", Interval(sign, sign - 0.5, sign + 0.5), part=part)
    assert verdict(judged) == expected


def test_a_row_says_what_was_measured_in_place_of_what(ledger):
    rule = {
        "claim": "It grows.",
        "published": "0.9",
        "holds": "> 0",
        "note": "Table 3 contradicts itself.",
    }
    judged = ledger(rule | {"part": "a"}, rule | {"part": "b"})
    judged.judge(
        "c",
        Interval(0.25, 0.125, 0.5),
        part="a",
        analogue="MiniLM",
        note="on verses only",
    )
    judged.judge("c", Interval(0.5, 0.25, 0.75), part="b")
    assert judged.table().to_dict("records") == [
        {
            "id": "c",
            "claim": "It grows.",
            "published": "0.9",
            "ours": "a: 0.25 (0.125 to 0.5) holds; b: 0.5 (0.25 to 0.75) holds",
            "verdict": "seen here",
            "note": "MiniLM; on verses only; Table 3 contradicts itself.",
        }
    ]


def test_what_is_missing_and_what_is_pending(ledger):
    rows = (
        {"id": "absent", "default": "no", "needs": "ELMo", "holds": "> 0"},
        {"id": "later", "status": "pending: issue 4", "holds": "> 0"},
        {"id": "same", "status": "merged: into later"},
        {"id": "open", "part": "a", "holds": "> 0"},
    )
    judged = ledger(*rows)
    assert list(judged.table()["verdict"]) == [
        "not testable here",
        "pending: issue 4",
        "merged: into later",
        "",
    ]
    assert judged.pending() == ["open a"]
    assert judged.table()["note"][0] == "ELMo"
    judged.leave_out(["open a"], "needs two embedders")
    assert judged.pending() == []
    assert judged.table()["note"][3] == "needs two embedders"
    assert ledger(*rows, profile="paper").pending() == ["absent", "open a"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda judged: judged.judge("c", Interval(1, 0.5, 2), part="a"),
            "was judged before",
        ),
        (lambda judged: judged.judge("c", Interval(1, 0.5, 2)), "is not known"),
        (lambda judged: judged.leave_out(["bb"], "needs ELMo"), "is not known"),
        *(
            (
                lambda judged, wrong=wrong: judged.judge("b", Interval(*wrong)),
                "outside its interval",
            )
            for wrong in [(3, 0.5, 2), (1, 2, 0.5), (np.nan, 0, 1)]
        ),
    ],
)
def test_refusals(ledger, call, message):
    judged = ledger({"part": "a", "holds": "> 0"}, {"id": "b", "holds": "> 0"})
    judged.judge("c", Interval(1, 0.5, 2), part="a")
    with pytest.raises(InputError, match=message) as refused:
        call(judged)
    assert "\n" not in str(refused.value)


def test_a_judged_claim_is_shown_with_its_rule_in_words_and_the_printed_number(ledger):
    claim = {
        "claim": "It grows.",
        "where": "sec. 6",
        "published": "0.986 at least",
        "published_value": "0.986",
    }
    rule = {
        "measured": "Spearman's correlation.",
        "holds": "> 0.9",
        "fails": "< 0.9",
        "default": "analogue",
    }
    judged = ledger(claim | rule)
    shown = judged.judge(
        "c", Interval(0.947, 0.935, 0.956), analogue="16 embedders on Wikipedia"
    )
    assert shown._repr_markdown_() == (
        "> **It grows.** (sec. 6) Printed: 0.986 at least.  \n"
        "> *Measured:* Spearman's correlation. "
        "*Holds* if the interval lies above 0.9, *fails* if it lies below 0.9.  \n"
        "> 0.947 (0.935 to 0.956): **seen here** (16 embedders on Wikipedia). "
        "The printed 0.986 lies above our interval."
    )


@pytest.mark.parametrize(
    ("condition", "count", "expected"),
    [
        ("> 0.9", 1, "the interval lies above 0.9"),
        ("< 24", 2, "both intervals lie below 24"),
        ("in -0.02 0.02", 3, "all 3 intervals lie within -0.02 to 0.02"),
        (
            "any outside -0.02 0.02",
            3,
            "at least one interval lies outside -0.02 to 0.02",
        ),
        ("outside 0 0", 1, "the interval excludes 0"),
        ("meets 0.64", 1, "the interval includes 0.64"),
        ("meets 0.15 0.2", 1, "the interval overlaps 0.15 to 0.2"),
        ("most > -0.01", 6, "most of the 6 intervals lie above -0.01"),
        ("none < 0", 6, "no interval lies below 0"),
        ("all in 0 0", 2, "both intervals equal 0"),
    ],
)
def test_a_condition_in_words(condition, count, expected):
    assert Condition.parse(condition).words(count) == expected


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
):
    judged = ledger({"holds": "> 0", "fails": "< 0", "default": evidence})
    shown = judged.judge("c", Interval(sign, sign - 0.5, sign + 0.5), analogue=analogue)
    assert verdict(judged) == expected
    assert f"**{expected}**" in shown.finding


@pytest.mark.parametrize(
    ("low", "high", "place"), [(1.5, 3, "below"), (0.5, 3, "in"), (0, 0.5, "above")]
)
def test_where_the_printed_number_lies_decides_nothing(ledger, low, high, place):
    judged = ledger({"holds": "> 5", "published_value": "1"})
    shown = judged.judge("c", Interval(high, low, high))
    assert shown.finding.endswith(
        f"**undecided**. The printed 1 lies {place} our interval."
    )


def test_an_equality_is_shown_with_its_tolerance(ledger):
    judged = ledger(
        {"kind": "identity", "tolerance": "1e-06", "measured": "Largest gap."}
    )
    shown = judged.identity("c", [0.0, -0.5])
    assert (
        shown.rule
        == "*Measured:* Largest gap. *Holds* if at most 1e-06, *fails* otherwise."
    )
    assert shown.finding == "0.5: **fails**."


def test_a_claim_that_cannot_be_tested_says_what_is_missing(ledger):
    absent = {"default": "no", "needs": "ELMo's weights"}
    judged = ledger(
        absent | {"part": "a"},
        {"part": "b", "holds": "> 0"},
        {"id": "d", "holds": "> 0"},
    )
    assert (
        judged.missing("c").finding == "**not testable here**; missing: ELMo's weights."
    )
    with pytest.raises(InputError, match="nothing is missing"):
        judged.missing("d")


def test_the_figure_has_a_row_for_each_judged_claim_and_refuses_claims_left_out(ledger):
    rows = [
        {"id": f"c-{number}", "holds": "> 0", "fails": "< 0"} for number in range(25)
    ]
    judged = ledger(
        *rows,
        {"id": "c-equal", "kind": "identity", "tolerance": "0"},
        {"id": "c-no", "default": "no"},
    )
    judged.identity("c-equal", 0.0)
    for number in range(24):
        judged.judge(f"c-{number}", Interval(number - 12, number - 12.5, number - 11.5))
    with pytest.raises(InputError, match="c-24: not judged"):
        judged.figure()
    judged.judge("c-24", Interval(1, 0.5, np.inf))
    figure = judged.figure()
    titles = [
        (axes.get_title(loc="left"), axes.get_title(loc="right"))
        for axes in figure.axes
    ]
    assert titles[0] == ("0", "fails")
    assert ("equal", "holds") in titles
    assert sum(bool(label) for label, _ in titles) == 26
    plt.close(figure)


def test_a_ledger_has_the_claims_of_a_paper_or_of_a_lesson(ledger):
    other = {"id": "e", "lesson": "z", "source": "w"}
    ledger(
        {"lesson": "x", "source": "y"}, {"id": "d", "lesson": "z", "source": "y"}, other
    )
    assert list(Ledger("y", "default").table()["id"]) == ["c", "d"]
    assert list(Ledger("z", "default").table()["id"]) == ["d", "e"]
    with pytest.raises(InputError, match="name: 'n20' is not known"):
        Ledger("n20", "default")


# README: "for each claim of the papers a verdict by a written rule"
def test_every_claim_of_the_five_papers_is_listed():
    claims = listed()
    assert not claims.duplicated(["id", "part"]).any()
    assert claims.drop_duplicates("id")["source"].value_counts().to_dict() == LISTED
    assert (claims["id"].str.partition("-")[0] == claims["source"]).all()
    assert (
        claims.groupby("id")[["lesson", "claim", "combine", "note"]].nunique() == 1
    ).all(axis=None)
    put_away = claims["status"].str.match("merged: into |dropped: ")
    assert claims.loc[~put_away, "id"].nunique() >= 100
    other = claims.loc[~put_away, "status"]
    assert (other.str.fullmatch("|pending: issue [456]")).all()
    into = claims["status"].str.extract(r"^merged: into ([\w-]+)")[0].dropna()
    assert into.isin(claims.loc[~put_away, "id"]).all()


def test_every_rule_is_whole_and_every_claim_has_a_part_that_decides():
    claims = listed()
    judged = claims[claims["kind"] != ""]
    assert judged[["default", "paper"]].isin(["yes", "analogue", "no"]).all(axis=None)
    assert (judged["needs"] != "")[
        (judged["default"] == "no") | (judged["paper"] == "no")
    ].all()
    identities = judged["kind"] == "identity"
    assert (judged["tolerance"][identities].astype(float) >= 0).all()
    intervals = judged[~identities]
    assert (intervals["holds"].ne("") | intervals["combine"].eq("one")).all()
    assert judged["decides"].isin(["yes", "no"]).all()
    assert judged["decides"].eq("yes").groupby(judged["id"]).any().all()
    assert claims.loc[claims["kind"] != "", "measured"].str.fullmatch(r"\S.*\.").all()
    assert pd.to_datetime(claims["registered"], format="%Y-%m-%d").notna().all()
    printed = claims.loc[claims["published_value"] != "", "published_value"]
    assert pd.to_numeric(printed).notna().all()


def families(conditions):
    """An interval, or two points, on, beside, and between the conditions' numbers."""
    numbers = sorted(
        {
            float(word)
            for condition in conditions
            for word in condition.split()
            if word[-1].isdigit()
        }
    )
    gap = min([1.0, *(np.diff(numbers) / 4)])
    points = np.unique(np.add.outer(numbers, [-gap, 0, gap]))
    intervals = [(low, high) for low in points for high in points if low <= high]
    yield from ([interval] for interval in intervals)
    yield from combinations([(point, point) for point in points], 2)


def test_every_rule_can_be_met_and_none_both_holds_and_fails():
    claims = listed()
    rules = claims.loc[
        claims["kind"] == "interval", ["holds", "fails"]
    ].drop_duplicates()
    for holds, fails in rules.itertuples(index=False):
        met = {"holds": set(), "fails": set()}
        for i, family in enumerate(families(filter(None, (holds, fails)))):
            low, high = np.transpose(family)
            for name, condition, usual in (
                ("holds", holds, "all"),
                ("fails", fails, "any"),
            ):
                if condition and Condition.parse(condition, usual).decide(low, high)[1]:
                    met[name].add(i)
        assert met["holds"] or not holds, holds
        assert met["fails"] or not fails, fails
        assert met["holds"].isdisjoint(met["fails"]), (holds, fails)


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_what_the_list_says_is_available_is_what_the_committed_verdicts_rest_on(
    profile,
) -> None:
    claims = listed()
    deciding = claims[(claims["kind"] != "") & (claims["decides"] == "yes")].set_index(
        "id"
    )[profile]
    available = {id: set(parts) for id, parts in deciding.groupby(level=0)}
    found = pd.read_csv(
        paths.FIGURES / "reference" / profile / "claims.csv", keep_default_na=False
    ).set_index("id")
    for id, verdict in found["verdict"].items():
        if verdict in WORDS and verdict != UNTESTED:
            own = "analogue" not in available[id]
            assert (verdict in ("holds", "fails")) == own or verdict == "undecided", id
            assert "no" not in available[id] or verdict in ("fails", "not seen here"), (
                id
            )
        elif verdict == UNTESTED:
            assert "no" in available[id] or "no interval" in found.loc[id, "ours"], id
