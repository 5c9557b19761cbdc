"""The gate on files as users have them: a BEIR folder, vectors, a shell script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lib
import lib.swap.__main__ as command
from lib.base import paths
from tests.refusals import swap_refuses

N, Q, DIM = 300, 60, 16


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    """A BEIR folder, with vectors of its lines: two that are close, one of noise."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "figures")
    answers = rng.choice(N, Q, replace=False)
    documents = [
        {"_id": f"d{i}", "title": f"title {i}", "text": f"body <b>{i}</b>"}
        for i in range(N)
    ]
    documents.insert(5, {"_id": "again", "title": "title 3", "text": "body <b>3</b>"})
    queries = [{"_id": f"q{i}", "text": f"query {i}"} for i in range(Q + 3)]
    judged = [f"q{i}\td{answer}\t1" for i, answer in enumerate(answers)]
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (beir / f"{name}.jsonl").write_text(lines)
    header = "query-id\tcorpus-id\tscore"
    (beir / "qrels" / "test.tsv").write_text("\n".join([header, *judged]) + "\n")
    text = rng.normal(size=(N, DIM)).astype(np.float32)
    asked = text[answers] + 0.3 * rng.normal(size=(Q, DIM)).astype(np.float32)
    asked = np.vstack([asked, rng.normal(size=(3, DIM))]).astype(np.float32)
    for name, noise in (("old", 0.0), ("near", 0.02), ("far", 2.0)):
        moved = text + noise * rng.normal(size=text.shape)
        whole = np.insert(moved, 5, rng.normal(size=DIM), axis=0).astype(np.float32)
        np.save(tmp_path / f"{name}.npy", whole)
        np.save(tmp_path / f"{name}-q.npy", asked)
    pd.DataFrame({"vector": list(np.load(tmp_path / "near.npy"))}).to_parquet(
        tmp_path / "near.parquet"
    )
    return tmp_path


SIDES = ["--old=old.npy:old-q.npy", "--text=beir", "--max-drop=0.1"]


def test_a_beir_folder_and_vectors_decide_by_labels(folder, capsys) -> None:
    new = "--new=near.parquet:near-q.npy far.npy:far-q.npy bm25"
    asked = [*SIDES, new, "--floor=0.5", "--bridge=", "--name=x", "--json"]
    assert command.main(asked) == 3
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads((folder / "figures/swapped/x/swap.json").read_bytes())
    assert [each["status"] for each in said["candidates"]] == [0, 3, 3]
    assert said["queries"] == said["queries"] | {"asked": Q, "of_the_text": False}
    assert said["text"]["sentences"] == N
    assert said["notes"] == [
        "text: 300 of 301 lines are used: 1 repeat an earlier one.",
        "queries: 60 of 63 are judged and asked.",
    ]
    near = said["candidates"][0]
    assert near["quality"]["nDCG@10"]["old"] > 0.9
    assert near["floor"]["shares"]["results_old"]["value"] < 0.9
    page = (folder / "figures/swapped/x/report.html").read_text()
    assert "body &lt;b&gt;3&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "http" not in page
    lost = pd.read_csv(folder / "figures/swapped/x/lost.csv")
    assert set(lost["id"]) <= {f"d{i}" for i in range(N)}
    assert lost["rank"].max() == 10


def test_the_status_speaks_in_a_shell_script(folder) -> None:
    (folder / "gate.py").write_text(
        "import sys\nfrom pathlib import Path\nfrom lib.base import paths\n"
        "paths.ROOT = Path.cwd()\npaths.FIGURES = paths.ROOT / 'figures'\n"
        "from lib.swap.__main__ import main\nsys.exit(main())\n"
    )
    script = f"""
    {sys.executable} gate.py --old=old.npy:old-q.npy --text=beir --new=$1 --at-least=0.8
    case $? in 0) echo ship;; 3) echo stop;; 4) echo more;; *) echo broken;; esac
    """
    checkout = Path(lib.__file__).parent.parent
    variables = {"PYTHONPATH": str(checkout), "HOME": str(folder)}
    for new, answer in (("near", "ship"), ("far", "stop"), ("none", "broken")):
        done = subprocess.run(
            ["sh", "-c", script, "sh", f"{new}.npy:{new}-q.npy"],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
        )
        assert done.stdout.splitlines()[-1] == answer, done.stderr


def test_lines_with_weights_and_judgments_in_the_form_of_trec(folder, capsys) -> None:
    rows = range(1, N + 2)
    (folder / "my.txt").write_text("".join(f"line {i}\n" for i in rows))
    (folder / "asked.txt").write_text(
        "".join(f"asked {i}\t{1 + 30 * (i == 1)}\n" for i in range(1, Q + 4))
        + "asked 1\t5\n\n"
    )
    (folder / "trec.txt").write_text("1 0 7 1\n2 0 9 2\n")
    whole = np.load(folder / "old-q.npy")
    np.save(folder / "more-q.npy", np.vstack([whole, whole[:2]]))
    options = ["--old=old.npy:more-q.npy", "--new=near.npy:more-q.npy", "--json"]
    options += ["--text=my.txt", "--queries=asked.txt", "--qrels=trec.txt"]
    assert command.main([*options, "--at-least=0.5"]) == 4
    said = json.loads(capsys.readouterr().out)
    assert said["queries"]["weighted"]
    assert said["queries"]["independent"] == int((36 + 62) ** 2 / (36**2 + 62))
    why = "63 of 65 lines are used: 1 repeat an earlier one, 1 are empty."
    assert said["notes"] == [f"queries: {why}"]
    assert said["candidates"][0]["judged_queries"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"old": "no.npy"}, "/no.npy: no such file; give vectors in .npy or"),
        ({"new": "old-q.npy:old-q.npy"}, "new.npy"),
        ({"new": "old.npy"}, "old.npy: vectors cannot encode queries; give theirs"),
        ({"new": "old.npy:old.npy"}, "queries: has 301 vectors for 63 lines (queries)"),
        ({"new": "gone.py:encode"}, "gone.py"),
        ({"max-drop": "2"}, "MAX_DROP: '2' is not accepted; give 0 to 1"),
        ({"floor": "1.5"}, "FLOOR: 1.5 is not accepted; give -1.0 to 1.0"),
        ({"bridge": "maybe"}, "BRIDGE: 'maybe' is not known"),
        ({"qrels": "no.tsv"}, "/no.tsv: no such file; give TREC qrels"),
        ({"qrels": "bad.tsv"}, "bad.tsv, line 1: has no judgment; give TREC qrels"),
        ({"qrels": "strange.tsv"}, "QRELS: names 1 sentences that the text does not"),
        (
            {"new": "near.npy:near-q.npy", "text": "beir/corpus.jsonl"},
            "MAX_DROP: needs",
        ),
        ({"old-similarity": "dots"}, "similarity: 'dots' is not known; did you mean"),
        ({"text": "none", "max-drop": ""}, "corpus: 'none' is not known"),
    ],
)
def test_bad_files_end_with_status_2_and_a_sentence(
    folder, capsys, change, message
) -> None:
    (folder / "bad.tsv").write_text("q1 d1 much\n")
    (folder / "strange.tsv").write_text("q1 0 x1 1\n")
    if message == "new.npy":
        message = "old-q.npy:old-q.npy: has 63 vectors for 301 lines (sentences)"
    given = {"old": "old.npy:old-q.npy", "new": "near.npy:near-q.npy", "text": "beir"}
    given |= {"max-drop": "0.1"} | change
    swap_refuses(given, message, capsys)
