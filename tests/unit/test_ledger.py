"""Verdicts on the papers' claims: the rule in the list decides, and every row of the list can be judged."""

import numpy as np
import pandas as pd
import pytest

from lib import stats
from lib.run.errors import InputError
from lib.stats import CLAIMS, Ledger

LISTED = {"n2o": 30, "sent2vec": 30, "pitfalls": 30, "usif": 29, "localization": 30}


def listed():
    return pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """A list of claims made by hand, one for each kind of condition, and a study's ledger of it."""

    def build(*rows, profile="default"):
        usual = dict.fromkeys(listed().columns, "")
        usual |= {"study": "x", "id": "c", "kind": "interval", "default": "yes", "paper": "yes"}
        pd.DataFrame([usual | row for row in rows]).to_csv(tmp_path / "claims.csv", index=False)
        monkeypatch.setattr(stats, "CLAIMS", tmp_path / "claims.csv")
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
        ("> 0", "< 0", [0.1, 0.2], [0.3, 0.4], "holds"),
        ("> 0", "< 0", [0.1, -0.1], [0.3, 0.4], "undecided"),
        ("> 0", "< 0", [0.1, -0.2], [0.3, -0.1], "fails"),
        ("> 0", "all < 0", [0.1, -0.2], [0.3, -0.1], "undecided"),
        ("any > 0", "none > 0", [0.1, -0.2], [0.3, -0.1], "holds"),
        ("any > 0", "none > 0", [-0.1, -0.2], [0.3, -0.1], "fails"),
        ("most > 0", "most < 0", [0.1, 0.1, -0.2], [0.3, 0.3, -0.1], "holds"),
        ("most > 0", "most < 0", [0.1, -0.2], [0.3, -0.1], "undecided"),
    ],
)
def test_intervals_by_hand(ledger, holds, fails, lows, highs, expected):
    judged = ledger({"holds": holds, "fails": fails})
    judged.interval("c", np.add(lows, highs) / 2, lows, highs)
    assert verdict(judged) == expected


def test_an_interval_without_ends_decides_nothing(ledger):
    judged = ledger({"holds": "meets 0.64", "fails": "outside 0.64 0.64"})
    judged.interval("c", 0, -np.inf, np.inf)
    assert judged.table()["ours"].item() == "no interval"
    assert verdict(judged) == "undecided"


def test_a_family_shows_its_lowest_and_its_highest(ledger):
    judged = ledger({"holds": "> 0"})
    judged.interval("c", [0.75, 0.5, 0.25], [0.5, 0.25, 0], [1, 0.75, 0.5])
    assert judged.table()["ours"].item() == "0.25 (0 to 0.5) ... 0.75 (0.5 to 1)"


def test_an_identity_holds_up_to_its_tolerance(ledger):
    for residual, expected in [(0.1, "holds"), (-0.1, "holds"), (0.11, "fails"), ([0, -0.2], "fails")]:
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
    judged = ledger(*({"part": part, "combine": combine, "holds": "> 0", "fails": "< 0"} for part in "ab"))
    for part, sign in zip("ab", signs, strict=True):
        if sign is not None:
            judged.interval("c", sign, sign - 0.5, sign + 0.5, part=part)
    assert verdict(judged) == expected


def test_a_row_says_what_was_measured_in_place_of_what(ledger):
    rule = {"claim": "It grows.", "published": "0.9", "holds": "> 0", "note": "Table 3 contradicts itself."}
    judged = ledger(rule | {"part": "a"}, rule | {"part": "b"})
    judged.interval("c", 0.25, 0.125, 0.5, part="a", analogue="MiniLM", note="on verses only")
    judged.interval("c", 0.5, 0.25, 0.75, part="b")
    assert judged.table().to_dict("records") == [
        {
            "id": "c",
            "claim": "It grows.",
            "published": "0.9",
            "ours": "a: 0.25 (0.125 to 0.5) holds; b: 0.5 (0.25 to 0.75) holds",
            "verdict": "holds (analogue)",
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
    assert list(judged.table()["verdict"]) == ["not testable here", "pending: issue 4", "merged: into later", ""]
    assert judged.pending() == ["open a"]
    assert judged.table()["note"][0] == "ELMo"
    assert ledger(*rows, profile="paper").pending() == ["absent", "open a"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda judged: judged.interval("c", 1, 0.5, 2, part="a"), "was judged before"),
        *(
            (lambda judged, wrong=wrong: judged.interval("b", *wrong), "outside its interval")
            for wrong in [(3, 0.5, 2), (1, 2, 0.5), (np.nan, 0, 1)]
        ),
    ],
)
def test_refusals(ledger, call, message):
    judged = ledger({"part": "a", "holds": "> 0"}, {"id": "b", "holds": "> 0"})
    judged.interval("c", 1, 0.5, 2, part="a")
    with pytest.raises(InputError, match=message) as refused:
        call(judged)
    assert "\n" not in str(refused.value)


# README: "for each claim of the papers a verdict by a rule that was fixed before the run"
def test_every_claim_of_the_five_papers_is_listed():
    claims = listed()
    assert not claims.duplicated(["id", "part"]).any()
    assert claims.drop_duplicates("id")["source"].value_counts().to_dict() == LISTED
    assert (claims["id"].str.partition("-")[0] == claims["source"]).all()
    assert (claims.groupby("id")[["study", "claim", "combine", "note"]].nunique() == 1).all(axis=None)
    put_away = claims["status"].str.match("merged: into |dropped: ")
    assert claims.loc[~put_away, "id"].nunique() >= 100
    other = claims.loc[~put_away, "status"]
    assert (other.str.fullmatch("|pending: issue [456]")).all()
    into = claims["status"].str.extract(r"^merged: into ([\w-]+)")[0].dropna()
    assert into.isin(claims.loc[~put_away, "id"]).all()


def test_every_study_can_be_judged_to_its_end_by_rules_that_decide():
    claims = listed()
    judged = claims[claims["kind"] != ""]
    assert judged[["default", "paper"]].isin(["yes", "analogue", "no"]).all(axis=None)
    assert (judged["needs"] != "")[(judged["default"] == "no") | (judged["paper"] == "no")].all()
    identities = judged["kind"] == "identity"
    assert (judged["tolerance"][identities].astype(float) >= 0).all()
    intervals = judged[~identities]
    assert (intervals["holds"].ne("") | intervals["combine"].eq("one")).all()
    for condition in {*intervals["holds"], *intervals["fails"]} - {""}:
        bounds = np.array([float(word) for word in condition.split() if word.strip("-").replace(".", "").isdigit()])
        points = np.concatenate([bounds - 1, bounds, bounds + 1])
        assert {stats._meets(condition, points[[i]], points[[i]], "all") for i in range(len(points))} == {True, False}
    for study in claims["study"].unique():
        ledger = Ledger(study, "paper")
        for row in judged[judged["study"] == study].itertuples():
            if row.kind == "identity":
                ledger.identity(row.id, 0.0, part=row.part)
            else:
                ledger.interval(row.id, 0.0, -1000.0, 1000.0, part=row.part)
        assert ledger.pending() == []
        verdicts = ledger.table()["verdict"].str.partition(":")[0]
        assert verdicts.isin(["holds", "fails", "undecided", "merged", "dropped"]).all()
