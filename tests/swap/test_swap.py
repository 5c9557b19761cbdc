"""One embedder in another's place: by hand, by invariance, by the command."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lib.store
import lib.swap.__main__ as command
from lib import n2o, stats, swap
from lib.base import paths
from lib.corpora.corpus import Record, assemble
from lib.store import EmbeddingStore
from lib.swap import Searched, SearchTask, comparison, report
from tests.letters import DIM, letters, write_letters
from tests.refusals import refused, swap_refuses

SENTENCES = [f"{word} number {i}" for word in ("fish", "bread") for i in range(60)]


class Letters:
    def encode(self, sentences):
        return letters(sentences)


@pytest.fixture(autouse=True)
def store(own_cache, monkeypatch) -> None:
    own_store = EmbeddingStore(own_cache / "store")
    monkeypatch.setattr(lib.store, "EmbeddingStore", lambda: own_store)


@pytest.fixture
def vectors(rng) -> np.ndarray:
    return rng.normal(size=(len(SENTENCES), 12))


# -- invariance ------------------------------------------------------------------------


def test_a_rotation_and_a_positive_scale_change_nothing(vectors, rng) -> None:
    rotation, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    scales = rng.uniform(0.1, 9, size=(len(vectors), 1))
    found = swap.compare(vectors, scales * vectors @ rotation, SENTENCES)
    numbers = found.numbers
    expected = {"n2o": 1, "first_changed": 0, "first_lost": 0}
    assert numbers["value"].to_dict() == expected
    # Wilson's interval of none of 120; an embedder and itself have none.
    open_ends = [*numbers["high"][1:], 1 - numbers["low"].iloc[0]]
    assert open_ends == pytest.approx([0.03102] * 3, abs=1e-5)
    itself = swap.between(found.task, found.old, found.old).numbers
    for column in ("value", "low", "high"):
        assert itself[column].to_dict() == expected
    assert (found.changes()["lost"].str.len() == 0).all()
    assert (found.found_by()["old"] == found.found_by()["new"]).all()


def test_random_vectors_give_chance_which_is_said(rng) -> None:
    sentences = [str(i) for i in range(400)]
    found = swap.compare(*rng.normal(size=(2, 400, 30)), sentences, k=20)
    assert found.chance == pytest.approx(20 / 399)
    low, high = found.numbers.loc["n2o", ["low", "high"]]
    assert low - 0.005 < found.chance < high + 0.005
    assert "k = 20, chance 0.050" in found.lines()[0]


lists = st.permutations(range(12)).map(lambda order: np.array([order[:5]]))


# Lesson 10: overlap(A, C) >= overlap(A, B) + overlap(B, C) - 1
@given(lists, lists, lists)
def test_two_upgrades_lose_at_most_what_each_loses(a, b, c) -> None:
    least = n2o.overlap(a, b) + n2o.overlap(b, c) - 1
    assert n2o.overlap(a, c) >= least - 1e-12


# -- by hand ---------------------------------------------------------------------------

TEXT = ["zero", "one", "two", "three", "four", "five"]
OLD = np.array([[1, 2, 3], [2, 0, 3], [4, 5, 0]])
NEW = np.array([[1, 3, 2], [0, 3, 5], [0, 1, 2]])


@pytest.fixture
def task() -> SearchTask:
    return SearchTask(TEXT, [TEXT[0], TEXT[1], TEXT[3]], np.array([0, 1, 3]))


@pytest.fixture
def toy(task) -> swap.Swap:
    scores = np.linspace(0.9, 0.1, 9).reshape(3, 3)
    old = Searched("a", task.fingerprint, OLD, notes=("reads little.",), scores=scores)
    new = Searched("a", task.fingerprint, NEW, scores=scores)
    return swap.between(task, old, new, stats.Sampling(0, 200))


def test_the_numbers_by_hand(toy) -> None:
    np.testing.assert_allclose(toy.overlaps, [1, 2 / 3, 1 / 3])
    assert toy.per_query["first_changed"].tolist() == [False, True, True]
    assert toy.per_query["first_lost"].tolist() == [False, True, True]
    np.testing.assert_allclose(toy.numbers["value"], 2 / 3)
    assert toy.chance == 3 / 5
    assert toy.lines()[-1] == "a (old) reads little."


def test_what_is_lost_and_gained_by_hand_and_in_the_files(toy, tmp_path) -> None:
    changes = toy.changes()
    assert changes["query"].tolist() == ["three", "one", "zero"]
    assert changes["lost"].tolist() == [["four", "five"], ["two"], []]
    assert changes["gained"].tolist() == [["one", "two"], ["five"], []]
    found_by = toy.found_by().set_index("sentence")
    assert found_by.loc["zero"].tolist() == [2, 2]
    assert found_by.loc["four"].tolist() == [1, 0]
    report.write(toy, tmp_path)
    table = pd.read_csv(tmp_path / "lost.csv")
    assert table["candidate"].unique() == ["a (new)"]
    columns = ["query_id", "change", "id", "rank", "score", "sentence"]
    assert table.loc[0, columns].tolist() == [4, "lost", 5, 1, 0.3, "four"]
    summary = json.loads((tmp_path / "swap.json").read_bytes())
    assert summary["schema"] == "sentence-swap/1"
    seen = summary["candidates"][0]
    assert seen["n2o"]["value"] == pytest.approx(2 / 3)
    width = seen["n2o"]["high"] - seen["n2o"]["low"]
    assert seen["half_widths"]["3"] == pytest.approx(width / 2)
    assert summary["old"]["notes"] == ["reads little."]


# -- what is compared ------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3])
def test_queries_of_another_source_may_find_their_equal(k) -> None:
    found = swap.compare(Letters(), Letters(), SENTENCES, k=k, queries=SENTENCES[:5])
    assert found.old.ids[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert found.chance == k / len(SENTENCES)


def test_a_lone_surrogate_is_compared_like_its_replacement(tmp_path) -> None:
    texts = [[*SENTENCES, f"fish {sign} number"] for sign in ("\ud800", "\ufffd")]
    lone, mended = [swap.compare("minilm-avg", "minilm-cls", text) for text in texts]
    np.testing.assert_array_equal(lone.overlaps, mended.overlaps)
    report.write(lone, tmp_path)


def test_names_and_forms_are_compared_and_the_text_encoded_once(tmp_path) -> None:
    name = write_letters(tmp_path / "mine.py")
    found = swap.compare(name, f"{name}@int8", SENTENCES, k=3)
    assert (found.old.cost.bytes, found.new.cost.bytes) == (4 * DIM, DIM)
    assert found.old.cost.seconds == found.new.cost.seconds > 0
    assert f"sentences a second, {DIM} bytes a vector" in found.lines()[3]
    assert swap.load_embedder(name).name == name


# -- refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentences": []}, "sentences: empty, or one string; give a list"),
        ({"k": 0}, "k: 0 is not accepted; give 1 to 119"),
        (
            {"sentences": ["One."]},
            "k: 10 needs more text (the text has 1 sentence); give a longer one",
        ),
        ({"queries": 0}, "queries: 0 is not accepted"),
        ({"new": np.ones((7, 3))}, "new: has 7 vectors for 120 sentences"),
        ({"new": np.ones((120, 3))}, "new: every neighbor is as near as every other"),
        ({"new": np.full((120, 3), np.nan)}, "new: row 0 contains NaN or infinity"),
        (
            {"new": letters(SENTENCES), "queries": ["a"]},
            "new: vectors cannot encode queries; give theirs, too",
        ),
        ({"queries": ["a"], "weights": [0]}, "weights: give a number above 0 for"),
        ({"new": "bm25#hsnw"}, "bm25#hsnw, after #: 'hsnw' is not known; did you mean"),
    ],
)
def test_bad_input_gets_one_sentence(change, message) -> None:
    given = {"old": Letters(), "new": Letters(), "sentences": SENTENCES, "k": 10}
    with refused(message):
        swap.compare(**(given | change))


def test_another_text_and_another_k_are_refused(task) -> None:
    a = Searched("a", task.fingerprint, OLD)
    with refused("b: has searched another text, or with other"):
        swap.between(task, a, Searched("b", "other", NEW))
    with refused("k: a has 3 neighbors of a query and b 2"):
        swap.between(task, a, Searched("b", task.fingerprint, NEW[:, :2]))


# -- fine-tuning -----------------------------------------------------------------------


class Model:
    """What a trainer gives to an evaluator."""

    weights = np.eye(DIM)

    def encode(self, sentences, show_progress_bar=True):
        assert not show_progress_bar
        return letters(sentences) @ self.weights


def test_the_evaluator_logs_drift_as_the_protocol_has_it(tmp_path, rng) -> None:
    model = Model()
    drift = swap.evaluator(model, SENTENCES, k=5, name="old")
    assert drift.primary_metric == "old_n2o"
    assert drift.greater_is_better
    same = drift(model, str(tmp_path / "eval"), 0, 10)
    model.weights = rng.normal(size=(DIM, DIM))
    other = drift(model, str(tmp_path / "eval"), 1, 20)
    assert same == {"old_n2o": 1, "old_first_changed": 0, "old_first_lost": 0}
    assert 0 < other["old_n2o"] < 1
    model.weights = np.full((DIM, DIM), np.nan)
    with refused("new: returned NaN or infinity"):
        drift(model)
    logged = pd.read_csv(tmp_path / "eval" / "old_n2o_evaluation_results.csv")
    assert logged[["epoch", "steps"]].to_numpy().tolist() == [[0, 10], [1, 20]]
    assert logged["n2o"].tolist() == pytest.approx([1, other["old_n2o"]])


def test_sentence_transformers_takes_the_evaluator() -> None:
    evaluation = pytest.importorskip("sentence_transformers.base.evaluation")
    drift = swap.evaluator(Model(), SENTENCES, k=5)
    assert isinstance(drift, evaluation.SentenceEvaluator)
    assert evaluation.SequentialEvaluator([drift])(Model())["n2o"] == 1


# -- the command -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "interval", "status", "verdict"),
    [
        (30, (0.9, 0.85, 0.95), 0, "OK: N2O is 0.900 (0.850 to 0.950), at least 0.8"),
        (
            30,
            (0.7, 0.65, 0.75),
            3,
            "BELOW: N2O is 0.700 (0.650 to 0.750), less than 0.8",
        ),
        (
            99,
            (0.8, 0.75, 0.85),
            4,
            "UNDECIDED: N2O is 0.800 (0.750 to 0.850), which leaves open whether it is "
            "at least 0.8; use more queries",
        ),
        # An interval of a third of the width has three times three as many queries.
        (
            50,
            (0.78, 0.71, 0.84),
            4,
            "UNDECIDED: N2O is 0.780 (0.710 to 0.840), which leaves open whether it is "
            "at least 0.8; use more queries, about 450 if it stays the same",
        ),
        # Above the bound, the part below it counts.
        (
            50,
            (0.82, 0.76, 0.9),
            4,
            "UNDECIDED: N2O is 0.820 (0.760 to 0.900), which leaves open whether it is "
            "at least 0.8; use more queries, about 450 if it stays the same",
        ),
        (
            29,
            (1, 0.9, 1),
            4,
            "UNDECIDED: N2O is 1.000 (0.900 to 1.000), but a verdict needs 30 "
            "independent queries and there are 29; use more (those of one document "
            "count as one)",
        ),
        (
            1,
            (0.1, np.nan, np.nan),
            4,
            "UNDECIDED: N2O is 0.100 (nan to nan), but a verdict needs 30 "
            "independent queries and there are 1; use more (those of one document "
            "count as one)",
        ),
    ],
)
def test_the_exit_status_says_whether_it_is_enough(
    units, interval, status, verdict
) -> None:
    assert comparison.judged("N2O", 0.8, units, *interval) == (status, verdict)


@pytest.fixture
def text(tmp_path, monkeypatch) -> str:
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "figures")
    (tmp_path / "my.txt").write_text("\n".join(SENTENCES) + "\n")
    return str(tmp_path / "my.txt")


# README: "`make swap OLD=... NEW=... TEXT=...`"
def test_the_command_prints_lines_and_no_report_overwrites_another(
    text, tmp_path, capsys
) -> None:
    name = write_letters(tmp_path / "mine.py")
    options = [f"--old={name}", f"--new={name}@float16", f"--text={text}", "--k=4"]
    assert command.main([*options, "--name=x", "--at-least=0.8"]) == 0
    said = capsys.readouterr().out.splitlines()[-7:]
    folder = paths.FIGURES / "swapped" / "x"
    for line, start in zip(
        said,
        (
            "120 queries, 120 sentences, k = 4, chance 0.034; in use: ",
            "candidate ",
            f"{name}@float16  1.000 (",
            "N2O by sentences: 30: ",
            "The queries are sentences of the text, which flatters: ",
            f"report: {folder / 'report.html'}, ",
            "OK: N2O is ",
        ),
        strict=True,
    ):
        assert line.startswith(start)
    page = (folder / "report.html").read_text()
    assert f"in place of {name}</h1>" in page
    assert command.main([*options, "--name=x"]) == 0
    assert (folder.with_name("x-2") / "report.html").exists()


# docs/swap.md: "An edited module that it imports counts at once"
def test_the_gate_measures_what_a_users_code_is_now(text, tmp_path, capsys) -> None:
    name = write_letters(tmp_path / "whole.py")
    (tmp_path / "part.py").write_text(
        "from kept import KEPT\nfrom whole import letters\n"
        "def encode(sentences): return letters(sentences)[:, -KEPT:]\n"
    )
    options = [f"--old={name}", f"--new={tmp_path}/part.py:encode", f"--text={text}"]
    for kept in (DIM, 10):
        (tmp_path / "kept.py").write_text(f"KEPT = {kept}\n")
        assert command.main([*options, "--k=4", "--name=x"]) == 0
        full = letters(SENTENCES)
        expected = swap.compare(full, full[:, -kept:], SENTENCES, k=4).overlaps.mean()
        assert f"  {expected:.3f} (" in capsys.readouterr().out
    assert expected < 0.9


def test_queries_of_one_document_count_as_one_and_too_few_decide_nothing(
    text, tmp_path, capsys
) -> None:
    records = [Record(each, i // 10) for i, each in enumerate(SENTENCES)]
    corpus = assemble("toy", records)
    found = swap.compare(Letters(), Letters(), corpus, k=4)
    assert (len(found.task.queries), found.units) == (120, 12)
    name = write_letters(tmp_path / "mine.py")
    (tmp_path / "two.txt").write_text("fish\nbread\n")
    options = [f"--old={name}", f"--new={name}@float16", f"--text={text}", "--k=4"]
    options += [f"--queries={tmp_path / 'two.txt'}", "--at-least=0.1"]
    assert command.main([*options, "--name=x"]) == 4
    assert "UNDECIDED: N2O is 1.000 (0.342 to 1.000), but" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"old": ""}, "OLD: is empty; give OLD, NEW and TEXT"),
        ({"at-least": "80"}, "AT_LEAST: '80' is not accepted; give 0 to 1"),
        ({"at-least": "null"}, "AT_LEAST: 'null' is not accepted; give 0 to 1"),
        ({"at-least": "00.5e"}, "AT_LEAST: '00.5e' is not accepted; give 0 to 1"),
        ({"k": "many"}, "k: 'many' is not accepted"),
        ({"k": "010"}, "k: '010' is not accepted; give 1 to"),
        ({"text": "no.txt"}, f"TEXT: {paths.ROOT}/no.txt: no such file; give a file"),
        ({"name": "../x"}, "NAME: '../x' is not accepted"),
        ({"new-pooling": "sum"}, "new, pooling: 'sum' is not known"),
        ({"new": "minilm"}, "embedder: 'minilm' is not known"),
    ],
)
def test_bad_options_are_refused_with_status_2(text, capsys, change, message) -> None:
    given = {"old": "wordllama", "new": "wordllama", "text": text} | change
    swap_refuses(given, message, capsys)
