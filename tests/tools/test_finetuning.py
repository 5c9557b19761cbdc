"""Fine-tuning, end to end on a tiny BERT: it learns and reports what is wrong.

After a kill it resumes and ends with the same bytes.
"""

from __future__ import annotations

import json
import os
import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from lib.base import paths
from lib.embedders.transformer import Transformer
from tests.copies import run
from tests.refusals import refused
from tools import finetuning
from tools.finetuning import REPORT, TASKS, finetune, main, score

CLASSES = TASKS["multinli"].classes
# The word that gives a class away.
CUES = {"contradiction": "no", "entailment": "indeed", "neutral": "perhaps"}
WORDS = [f"word{number}" for number in range(40)]
QUICK = {
    "num_train_epochs": 6,
    "learning_rate": 5e-3,
    "max_length": 24,
    "save_steps": 10,
    "use_cpu": True,
}


def line(label: str, left: str = "word1 word2", right: str = "word3") -> str:
    pair = {"gold_label": label, "sentence1": left, "sentence2": right}
    return json.dumps(pair) + "\n"


def write_multinli(folder: Path, train: int = 240, dev: int = 90) -> None:
    """Made-up pairs in MultiNLI's layout; the right side gives its class away."""
    rng = np.random.default_rng(0)
    (folder / "multinli/multinli_1.0").mkdir(parents=True)
    for part, count in (("train", train), ("dev_matched", dev)):
        lines = [line("-")]
        for label in rng.choice(CLASSES, size=count):
            left = " ".join(rng.choice(WORDS, size=rng.integers(2, 9)))
            right = " ".join(rng.choice(WORDS, size=rng.integers(2, 9)))
            lines.append(line(label, left, f"{right} {CUES[label]}"))
        (folder / f"multinli/multinli_1.0/multinli_1.0_{part}.jsonl").write_text(
            "".join(lines), encoding="utf-8"
        )


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """So small a model is no work for two; and equal bytes take an equal number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    """A two-layer BERT with random weights, in the layout of pretrained ones."""
    folder = tmp_path_factory.mktemp("models")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *CUES.values()]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(words) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(vocabulary), do_lower_case=False)
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        initializer_range=0.1,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertForPreTraining(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def pairs_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_multinli(folder)
    return folder


@pytest.fixture(autouse=True)
def made_up(pairs_folder, monkeypatch) -> None:
    monkeypatch.setenv(
        "SENTENCE_DATA", f"{pairs_folder}:{os.environ.get('SENTENCE_DATA', '')}"
    )


@pytest.fixture(scope="module")
def finished(bert, pairs_folder, tmp_path_factory) -> Path:
    """The output of one run without interruption."""
    output = tmp_path_factory.mktemp("outputs") / "bert-ft-multinli"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTENCE_DATA", str(pairs_folder))
        finetune("multinli", bert, output, **QUICK)
    return output


def report_of(folder: Path) -> dict:
    return json.loads((folder / REPORT).read_text(encoding="utf-8"))


def test_what_can_be_learned_is_learned(finished) -> None:
    dev = report_of(finished)["scores"]["dev"]
    assert dev["majority_accuracy"] < 0.5
    assert dev["accuracy"] > 0.9
    assert dev["interval_95"][0] < dev["accuracy"] <= dev["interval_95"][1]


def test_the_report_says_what_was_done_and_what_the_paper_reached(finished) -> None:
    report = report_of(finished)
    assert list(finished.parent.iterdir()) == [finished]
    assert report["pairs"]["number"] == 240  # without the one that has no label
    assert report["scores"]["dev"]["pairs"] == 90
    assert report["steps"] == 6 * 8  # 240 pairs are seven batches of 32 and one of 16
    assert report["published_accuracy"] == pytest.approx(
        0.841
    )  # the N2O paper, section 4
    assert report["settings"]["per_device_train_batch_size"] == 32


def test_the_classifier_that_was_evaluated_can_be_loaded(finished) -> None:
    classify = transformers.pipeline("text-classification", str(finished), device="cpu")
    dev = finetuning.load_pairs("multinli", "dev")
    asked = [{"text": pair["left"], "text_pair": pair["right"]} for pair in dev]
    labels = [CLASSES[pair["label"]] for pair in dev]
    right = [answer["label"] for answer in classify(asked)] == np.array(labels)
    expected = report_of(finished)["scores"]["dev"]["accuracy"]
    assert right.mean() == pytest.approx(expected)


def test_the_encoder_of_the_classifier_is_an_embedder(finished) -> None:
    model = transformers.AutoModel.from_pretrained(finished).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(finished)
    with torch.inference_mode():
        hidden = model(**tokenizer("word1 word2", return_tensors="pt"))[0]
    encoder = Transformer("bert-ft-cls", finished, "cls", precision="float32")
    vectors = encoder.encode(["word1 word2"])
    np.testing.assert_allclose(vectors[0], hidden[0, 0], atol=1e-5)


# README: "`make finetune` ... goes on after an interruption"
def test_a_killed_run_is_finished_by_the_next_with_the_same_bytes(
    finished, bert, tmp_path
) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys, torch, transformers
        from tools import finetuning
        from tests.tools.test_finetuning import QUICK

        class Deadly(transformers.TrainerCallback):
            def on_step_end(self, args, state, control, **_):
                if state.global_step == 27:
                    os.kill(os.getpid(), signal.SIGKILL)

        class Trainer(transformers.Trainer):
            def train(self, **options):
                self.add_callback(Deadly())
                return super().train(**options)

        torch.set_num_threads(1)
        transformers.Trainer = Trainer
        finetuning.finetune("multinli", sys.argv[1], sys.argv[2], **QUICK)
        """
    )
    output = tmp_path / "bert-ft-multinli"
    ended = run(paths.ROOT, os.environ, "-c", program, bert, output)
    assert ended.returncode == -signal.SIGKILL
    (work,) = tmp_path.iterdir()
    assert [folder.name for folder in work.glob("checkpoint-*")] == ["checkpoint-20"]
    (work / "checkpoint-30").mkdir()  # as by a kill while it was written
    (work / "checkpoint-30/trainer_state.json").write_text("")
    finetune("multinli", bert, output, **QUICK)
    for file in finished.iterdir():
        assert (output / file.name).read_bytes() == file.read_bytes(), file.name
    assert list(tmp_path.iterdir()) == [output]


def test_the_command_prints_the_report_and_refuses_a_complete_output(
    bert, tmp_path, capsys
) -> None:
    options = ["--num-train-epochs", "1", "--max-length", "24", "--bf16", "--use-cpu"]
    output = tmp_path / "out"
    given = ["--task=multinli", f"--model={bert}", f"--output={output}", *options]
    assert main(given) == 0
    shown = capsys.readouterr().out
    report = shown[shown.index("{\n") : shown.rindex("written to")]
    assert json.loads(report) == report_of(output)
    assert main(given) == 2
    assert capsys.readouterr().err.endswith(
        "out already exists; delete it to train again, or give another folder\n"
    )


def test_scores_by_hand() -> None:
    pairs = [{"label": label} for label in (0, 1, 1, 1)]
    train = [{"label": label} for label in (0, 0, 1)]
    scores = score(pairs, np.array([0, 1, 0, 1]), train)
    assert (scores["accuracy"], scores["majority_accuracy"]) == (3 / 4, 1 / 4)
    assert scores["f1"] == pytest.approx(4 / 5)  # precision 1, recall 2/3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "mrcp"}, "task: 'mrcp' is not known; did you mean mrpc"),
        ({"learning_rate": 1e30}, "learning_rate: the loss is nan; give a lower rate"),
        ({"warmup_steps": -1.0}, "settings: Got warmup_steps = -1.0"),
        ({"model": ""}, "make data ASSET=bert-base-cased"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(bert, tmp_path, options, message) -> None:
    given = {"task": "multinli", "model": bert, "output": tmp_path / "out"}
    with refused(message):
        finetune(**given | QUICK | {"num_train_epochs": 1} | options)


def test_a_broken_file_of_pairs_gets_a_sentence(tmp_path) -> None:
    (tmp_path / "pairs.jsonl").write_text(line("neutral") + "{")
    with refused("pairs.jsonl: cannot be read"):
        finetuning.read_multinli(tmp_path / "pairs.jsonl")
