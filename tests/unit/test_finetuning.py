"""Fine-tuning, end to end on a tiny BERT: it learns, goes on after a kill to the same bytes, and says what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from filelock import FileLock
from safetensors.torch import load_file, save_file

from lib.finetuning import data, finetune, load_classifier, score
from lib.finetuning import folder as folders
from lib.finetuning.__main__ import main
from lib.finetuning.checkpoint import Checkpoint
from lib.finetuning.data import Pairs
from lib.finetuning.training import (
    PairClassifier,
    Settings,
    Training,
    batches,
    decay_groups,
    dropout_seed,
    learning_rate,
)
from lib.run import paths
from lib.run.errors import InputError

CLASSES = data.get("multinli").classes
CUES = {"contradiction": "no", "entailment": "indeed", "neutral": "perhaps"}  # the word that gives a class away
WORDS = [f"word{number}" for number in range(40)]
QUICK = {"epochs": 6, "learning_rate": 5e-3, "max_length": 24, "checkpoint_every": 10, "device": "cpu"}


def tiny_bert(folder: Path, words: list[str], model: type = transformers.BertForPreTraining) -> Path:
    """A BERT of two layers with random weights, in the layout in which pretrained ones are published."""
    folder.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(vocabulary), initializer_range=0.1, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model(config).save_pretrained(folder)
    return folder


def line(label: str, left: str = "word1 word2", right: str = "word3") -> str:
    return json.dumps({"gold_label": label, "sentence1": left, "sentence2": right, "pairID": "1"}) + "\n"


def write_multinli(folder: Path, train: int = 240, dev: int = 90) -> None:
    """Made-up pairs in MultiNLI's layout; each right side holds the word that gives its class away."""
    rng = np.random.default_rng(0)
    (folder / "multinli/multinli_1.0").mkdir(parents=True)
    for part, count in (("train", train), ("dev_matched", dev)):
        labels = [CLASSES[i] for i in rng.integers(3, size=count)]
        sides = [[" ".join(rng.choice(WORDS, size=rng.integers(2, 9))) for _ in labels] for _ in range(2)]
        lines = [line(label, left, f"{right} {CUES[label]}") for label, left, right in zip(labels, *sides, strict=True)]
        lines.insert(3, line("-"))
        (folder / f"multinli/multinli_1.0/multinli_1.0_{part}.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """So small a model is no work for two; and equal bytes take an equal number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny", [*WORDS, *CUES.values()])


@pytest.fixture(scope="module")
def pairs_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_multinli(folder)
    return folder


@pytest.fixture(autouse=True)
def made_up(pairs_folder, monkeypatch) -> None:
    monkeypatch.setenv("SENTENCE_DATA", f"{pairs_folder}:{os.environ.get('SENTENCE_DATA', '')}")


@pytest.fixture(scope="module")
def finished(bert, pairs_folder, tmp_path_factory) -> Path:
    """The output of one run without interruption."""
    output = tmp_path_factory.mktemp("outputs") / "bert-ft-multinli"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTENCE_DATA", str(pairs_folder))
        finetune("multinli", bert, output, **QUICK)
    return output


def report_of(folder: Path) -> dict:
    return json.loads((folder / "finetune.json").read_text(encoding="utf-8"))


# -- the whole ----------------------------------------------------------------------------------


def test_what_can_be_learned_is_learned(finished) -> None:
    report = report_of(finished)
    dev = report["scores"]["dev"]
    assert dev["majority_accuracy"] < 0.5
    assert dev["accuracy"] > 0.9
    assert dev["interval_95"][0] < dev["accuracy"] <= dev["interval_95"][1]


def test_the_report_says_what_was_done_and_what_the_paper_reached(finished, bert) -> None:
    report = report_of(finished)
    assert (report["train"]["pairs"], report["train"]["skipped"]) == (240, 1)
    assert (report["scores"]["dev"]["pairs"], report["scores"]["dev"]["skipped"]) == (90, 1)
    assert report["steps"] == 6 * 8  # 240 pairs are seven batches of 32 and one of 16
    assert report["published_accuracy"] == pytest.approx(0.841)  # the N2O paper, section 4
    assert report["settings"]["batch_size"] == 32
    assert set(report["base"]["sha256"]) >= {"config.json", "model.safetensors", "vocab.txt"}


def test_nothing_is_left_beside_the_output(finished) -> None:
    assert list(finished.parent.iterdir()) == [finished]


def test_the_output_loads_as_an_encoder_without_a_warning(finished, capfd) -> None:
    encoder, found = transformers.AutoModel.from_pretrained(finished, output_loading_info=True, local_files_only=True)
    assert not any(found.values())
    assert "LOAD REPORT" not in "".join(capfd.readouterr())
    classifier, _ = load_classifier(finished)
    for name, tensor in classifier.base_model.state_dict().items():
        assert torch.equal(tensor, encoder.state_dict()[name])


def test_the_classifier_that_was_evaluated_can_be_loaded(finished) -> None:
    model, tokenizer = load_classifier(finished)
    dev = data.load("multinli", "dev")
    with torch.inference_mode():
        scores = model(**tokenizer(dev.left, dev.right, padding=True, return_tensors="pt")).logits
    names = [model.config.id2label[int(code)] for code in scores.argmax(dim=1)]
    accuracy = np.mean([name == CLASSES[label] for name, label in zip(names, dev.labels, strict=True)])
    assert accuracy == pytest.approx(report_of(finished)["scores"]["dev"]["accuracy"])


def test_a_killed_run_is_finished_by_the_next_with_the_same_bytes(finished, bert, pairs_folder, tmp_path) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys, torch
        from lib.finetuning import training
        from lib.finetuning import finetune
        from tests.unit.test_finetuning import QUICK

        class Deadly(training.Training):
            def advance(self, rows):
                if self.step == 27:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().advance(rows)

        torch.set_num_threads(1)
        sys.modules["lib.finetuning"].Training = Deadly
        finetune("multinli", sys.argv[1], sys.argv[2], **QUICK)
        """
    )
    output = tmp_path / "bert-ft-multinli"
    ended = subprocess.run([sys.executable, "-c", program, bert, output], cwd=paths.ROOT)
    assert ended.returncode == -signal.SIGKILL
    assert not output.exists()
    assert torch.load(tmp_path / "bert-ft-multinli.partial/checkpoint.pt", weights_only=True)["step"] == 20
    finetune("multinli", bert, output, **QUICK)
    for file in finished.iterdir():
        assert (output / file.name).read_bytes() == file.read_bytes(), file.name
    assert list(tmp_path.iterdir()) == [output]


def test_the_command_prints_the_accuracy_beside_the_papers(bert, tmp_path, capsys) -> None:
    options = ["--epochs", "1", "--limit", "40", "--max-length", "24", "--precision", "bfloat16", "--device", "cpu"]
    given = ["--task", "multinli", "--model", str(bert), "--output", str(tmp_path / "out"), *options]
    assert main(given) == 0
    shown = capsys.readouterr()
    assert "multinli, dev: accuracy " in shown.out
    assert "in the N2O paper: accuracy 84.1 % (ours: a trial on 40 pairs)" in shown.out
    assert "loss" in shown.err
    assert report_of(tmp_path / "out")["settings"]["precision"] == "bfloat16"
    assert main(given) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_sick_entailment_is_learned_better_than_chance(data_file, tmp_path) -> None:
    data_file("senteval/SICK/SICK_train.txt")
    train = data.load("sick-e", "train")
    words = sorted({word for sentence in train.left + train.right for word in sentence.split() if word.isalpha()})
    bert = tiny_bert(tmp_path / "tiny", words, transformers.BertModel)
    report = finetune("sick-e", bert, tmp_path / "out", epochs=1, learning_rate=3e-3, max_length=48, device="cpu")
    assert (report["train"]["pairs"], report["steps"]) == (4500, 141)
    test = report["scores"]["test"]
    assert test["pairs"] == 4927
    assert test["majority_accuracy"] == pytest.approx(2793 / 4927)  # the neutral pairs
    assert test["interval_95"][0] > test["majority_accuracy"]


def test_mrpc_is_evaluated_on_its_test_part_with_f1(data_file, bert, tmp_path) -> None:
    data_file("senteval/MRPC/msr_paraphrase_train.txt")
    report = finetune("mrpc", bert, tmp_path / "out", limit=64, epochs=1, max_length=24, device="cpu")
    assert list(report["scores"]) == ["test"]
    assert 0 <= report["scores"]["test"]["f1"] <= 1
    assert report["published_accuracy"] is None


# -- the parts ----------------------------------------------------------------------------------


def test_the_learning_rate_rises_and_falls_on_straight_lines() -> None:
    rates = [learning_rate(step, steps=10, highest=8.0, warmup=0.2) for step in range(10)]
    np.testing.assert_allclose(rates, [0, 4, 8, 7, 6, 5, 4, 3, 2, 1])
    assert learning_rate(0, steps=10, highest=8.0, warmup=0.0) == 8.0
    # MultiNLI, three epochs of 12,272 batches: the highest rate after a tenth of them
    assert learning_rate(3 * 12_272 // 20, 3 * 12_272, 5e-5, 0.1) == pytest.approx(2.5e-5, rel=1e-3)


def test_an_epoch_takes_every_pair_once_in_an_order_of_its_own() -> None:
    drawn = list(batches(count=10, batch_size=4, epochs=3, seed=5))
    assert [len(rows) for rows in drawn] == [4, 4, 2] * 3
    epochs = [np.concatenate(drawn[start : start + 3]) for start in (0, 3, 6)]
    for order in epochs:
        assert sorted(order) == list(range(10))
    assert len({tuple(order) for order in epochs}) == 3


def test_the_order_depends_on_the_seed_alone() -> None:
    first, second = (np.concatenate(list(batches(50, 8, 2, seed=1))) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, np.concatenate(list(batches(50, 8, 2, seed=2))))
    np.testing.assert_array_equal(first[:50], np.random.default_rng([1, 0]).permutation(50))
    later = np.concatenate(list(islice(batches(50, 8, 2, seed=1), 9, None)))
    np.testing.assert_array_equal(later, first[50 + 2 * 8 :])


def test_biases_and_layer_normalization_do_not_decay(bert) -> None:
    model, _ = folders.load(bert, CLASSES, seed=1)
    decayed, kept = decay_groups(model, 0.01)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.01, 0.0)
    for group, expected in ((decayed, False), (kept, True)):
        for parameter in group["params"]:
            name = names.pop(id(parameter))
            assert ("LayerNorm" in name or name.endswith("bias")) == expected, name
    assert names == {}


def training_of(bert: Path, dropout: float | None = None, **settings) -> Training:
    resolved = Settings(**QUICK | settings).resolved()
    model, tokenizer = folders.load(bert, CLASSES, resolved["seed"])
    for module in model.modules() if dropout is not None else ():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    model.train()
    return Training(PairClassifier(model, tokenizer, resolved), data.load("multinli", "train"), resolved)


def test_the_first_step_is_that_of_adamw_by_hand(bert) -> None:
    training = training_of(bert, dropout=0.0, warmup=0.0, learning_rate=0.01, weight_decay=0.5)
    rows, model = np.arange(6), training.model
    training._loss(rows).backward()
    before = {name: (one.detach().clone(), one.grad.clone()) for name, one in model.named_parameters()}
    norm = np.sqrt(sum(float((gradient**2).sum()) for _, gradient in before.values()))
    assert norm > 1
    model.zero_grad()
    training.advance(rows)
    for name, now in model.named_parameters():
        old, gradient = (tensor.double() for tensor in before[name])
        gradient /= norm  # limited to 1
        decay = 0 if name.endswith("bias") or "LayerNorm" in name else 0.5
        expected = old * (1 - 0.01 * decay) - 0.01 * gradient / (gradient.abs() + 1e-6)
        torch.testing.assert_close(now.detach().double(), expected, rtol=1e-3, atol=1e-5)
        mean = training.optimizer.state[now]["exp_avg"].double()
        torch.testing.assert_close(mean, 0.1 * gradient, rtol=1e-3, atol=1e-7)


def test_dropout_depends_on_seed_and_step_and_leaves_the_callers_random_numbers_alone(bert) -> None:
    training = training_of(bert)
    state = torch.get_rng_state()
    first, again = (float(training._loss(np.arange(8)).detach()) for _ in range(2))
    training.step = 1
    assert first == again != float(training._loss(np.arange(8)).detach())
    assert torch.equal(torch.get_rng_state(), state)
    assert len({dropout_seed(seed, step) for seed in range(5) for step in range(5)}) == 25


def test_evaluation_has_no_dropout(finished) -> None:
    model, tokenizer = load_classifier(finished)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.9
    classifier = PairClassifier(model.train(), tokenizer, Settings(**QUICK).resolved())
    dev = data.load("multinli", "dev")
    accuracy = (classifier.predict(dev, "evaluate") == dev.labels).mean()
    assert accuracy == report_of(finished)["scores"]["dev"]["accuracy"]


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(bert, tmp_path, monkeypatch) -> None:
    training, checkpoint = training_of(bert), Checkpoint(tmp_path / "checkpoint.pt", {"epochs": 6})
    checkpoint.write(training.state())
    before = checkpoint.path.read_bytes()

    def full(content, stream) -> None:
        stream.write(b"some of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(InputError, match=r"cannot be written \(.*No space left on device\); the one before is kept"):
        checkpoint.write(training.state())
    assert list(tmp_path.iterdir()) == [checkpoint.path]
    assert checkpoint.path.read_bytes() == before


def test_the_first_weights_of_the_classifier_depend_on_the_seed_alone(bert) -> None:
    one, same, other = (folders.load(bert, CLASSES, seed)[0].classifier.weight for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_weights_under_their_names_of_2018_are_found(bert, tmp_path) -> None:
    # The published bert-base-cased calls the parameters of layer normalization gamma and beta.
    folder = shutil.copytree(bert, tmp_path / "old")
    weights = load_file(bert / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }
    save_file(old, folder / "model.safetensors", metadata={"format": "pt"})
    model, _ = folders.load(folder, CLASSES, seed=1)
    for name, tensor in model.base_model.state_dict().items():
        assert torch.equal(tensor, weights[f"bert.{name}"])


def test_a_fine_tuned_encoder_can_be_fine_tuned_on_another_task(finished) -> None:
    model, _ = folders.load(finished, ("no", "yes"), seed=1)
    assert model.config.id2label == {0: "no", 1: "yes"}
    assert torch.equal(model.base_model.state_dict()["pooler.dense.bias"], _encoder(finished)["pooler.dense.bias"])


def _encoder(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def test_scores_by_hand() -> None:
    train = Pairs(["a"] * 3, ["b"] * 3, np.array([1, 1, 0]))
    pairs = Pairs(["a"] * 4, ["b"] * 4, np.array([1, 1, 0, 0]), skipped=2)
    result = score(pairs, np.array([1, 0, 0, 1]), train, ("no", "yes"))
    assert (result["pairs"], result["skipped"], result["accuracy"], result["majority_accuracy"]) == (4, 2, 0.5, 0.5)
    assert result["f1"] == 0.5  # precision 1/2, recall 1/2
    # Wilson: centre 0.5, half width z / (2 sqrt(n + z^2)) with z = 1.959964, n = 4
    assert result["interval_95"] == pytest.approx([0.15004, 0.84996], abs=1e-4)


def test_pairs_without_label_are_counted_and_left_out(tmp_path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(line("neutral", "caf\u00e9", "") + line("-") + line("entailment") + line("-"), encoding="utf-8")
    pairs = data.read_jsonl(file, CLASSES)
    assert (pairs.left, pairs.right, pairs.skipped) == (["café", "word1 word2"], ["", "word3"], 2)
    assert pairs.labels.tolist() == [2, 1]


def test_a_lone_surrogate_is_mended(tmp_path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(line("neutral", "half \ud83d", "\0"))
    assert data.read_jsonl(file, CLASSES).left == ["half \ufffd"]


# -- wrong input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<!DOCTYPE html><html>", "line 1: begins a web page, which is no JSON; get the file again"),
        (line("neutral") + '{"gold_label": "neut', 'line 2: begins \'{"gold_label": "neut\', which is no JSON'),
        (line("neutral") + "\n", "line 2: begins"),
        (line("neutral") + "[1]\n", "line 2: a list; each line is an object"),
        (line("neutral") + '{"gold_label": "neutral", "sentence1": "a"}\n', "line 2: no text as its sentence2"),
        (line("nuetral"), "line 1: gold_label: 'nuetral' is not known; did you mean neutral"),
        (line("-"), "no labelled pair in it"),
        ("", "no labelled pair in it"),
    ],
)
def test_a_broken_file_of_pairs_gets_a_sentence(tmp_path, content, message) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        data.read_jsonl(file, CLASSES)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0}, "learning_rate: 0 is not accepted"),
        ({"learning_rate": float("nan")}, "learning_rate: nan is not accepted"),
        ({"epochs": 0}, "epochs: 0 is not accepted"),
        ({"batch_size": -1}, "batch_size: -1 is not accepted"),
        ({"warmup": 1}, "warmup: 1 is not accepted; give 0 to 0.99 (a share of the steps)"),
        ({"seed": -1}, "seed: -1 is not accepted"),
        ({"limit": 0}, "limit: 0 is not accepted"),
        ({"max_length": 3}, "max_length: 3 is not accepted"),
        ({"max_length": 513}, "max_length: 513 is not accepted; this model has 512 positions"),
        ({"precision": "float16"}, "precision: 'float16' is not known"),
        ({"device": "tpu"}, "device: 'tpu' is not known"),
        ({"epochs": "3"}, "epochs: '3' is no whole number"),
        ({"batch_size": 2.5}, "batch_size: 2.5 is no whole number"),
        ({"learning_rate": "high"}, "learning_rate: 'high' is not accepted"),
        ({"epoch": 3}, "accepted: epochs, batch_size"),
        ({"task": "mnli"}, "task: 'mnli' is not known; did you mean multinli?"),
        ({"model": "nowhere"}, "no such folder"),
    ],
)
def test_a_wrong_setting_gets_a_sentence(bert, tmp_path, settings, message) -> None:
    given = {"task": "multinli", "model": bert, "output": tmp_path / "out"} | QUICK | settings
    with pytest.raises(InputError) as error:
        finetune(**given)
    assert message in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_graphics_card_that_is_not_there_is_refused(bert, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="device: 'cuda' is not available here; give 'cpu' or 'auto'"):
        finetune("multinli", bert, tmp_path / "out", **QUICK | {"device": "cuda"})


def test_a_classifier_with_other_weights_is_refused(finished, tmp_path) -> None:
    folder = shutil.copytree(finished, tmp_path / "other")
    weights = load_file(folder / folders.CLASSIFIER)
    for wrong in ({}, weights | {"more": torch.zeros(1)}, {name: each * np.nan for name, each in weights.items()}):
        save_file(wrong, folder / folders.CLASSIFIER)
        with pytest.raises(InputError, match=r"cannot be read \(it lacks weights, has others, or holds NaN"):
            load_classifier(folder)


def test_an_output_that_cannot_be_written_gets_a_sentence(finished, bert, tmp_path) -> None:
    (tmp_path / "file").touch()
    model, _ = load_classifier(finished)
    with pytest.raises(InputError, match=r"output: .*out cannot be written \(.*; the training is kept, run again"):
        folders.save(model, bert, {}, tmp_path / "file" / "out")


def test_a_loss_that_is_no_number_ends_the_training(bert, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Training, "_loss", lambda self, rows: self.model.classifier.weight.sum() * float("nan"))
    with pytest.raises(InputError, match="learning_rate: the loss is nan by step 10; give a lower rate"):
        finetune("multinli", bert, tmp_path / "out", **QUICK)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "no model.safetensors in it"),
        (lambda folder: (folder / "config.json").unlink(), "no config.json in it"),
        (lambda folder: (folder / "config.json").write_text("<html></html>"), "config.json: no JSON in it"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "gpt2"}'), "model_type is 'gpt2'"),
        (lambda folder: (folder / "tokenizer.json").write_text("<!doctype html>"), "tokenizer.json: no JSON in it"),
        (lambda folder: (folder / "model.safetensors").write_text("<html>" * 9), "as safetensors (a saved web page)"),
        (lambda folder: os.truncate(folder / "model.safetensors", 5000), "cannot be read as safetensors ("),
        (lambda folder: save_file({"a": torch.zeros(1)}, folder / "model.safetensors"), "lacks bert."),
    ],
)
def test_a_damaged_model_gets_a_sentence(bert, tmp_path, damage, message) -> None:
    folder = shutil.copytree(bert, tmp_path / "damaged")
    damage(folder)
    with pytest.raises(InputError) as error:
        finetune("multinli", folder, tmp_path / "out", **QUICK)
    assert message in str(error.value)


def test_missing_data_and_a_missing_model_say_how_to_get_them(bert, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SENTENCE_DATA", str(tmp_path))
    monkeypatch.setattr(paths, "DATA", tmp_path)
    with pytest.raises(InputError, match="make data ASSET=multinli"):
        finetune("multinli", bert, tmp_path / "out", **QUICK)
    with pytest.raises(InputError, match="make data ASSET=bert-base-cased"):
        finetune("multinli", **QUICK)


def test_a_complete_output_is_not_overwritten(finished, bert, tmp_path) -> None:
    with pytest.raises(InputError, match="is there and complete; delete that folder to train anew"):
        finetune("multinli", bert, finished, **QUICK)
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="exists and is no output of fine-tuning"):
        finetune("multinli", bert, tmp_path / "mine", **QUICK)


def interrupt(*_) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_command_says_that_it_can_go_on(bert, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(PairClassifier, "predict", interrupt)
    assert main(["--task", "multinli", "--model", str(bert), "--output", str(tmp_path / "out"), "--limit", "9"]) == 130
    assert "Interrupted: the same command goes on" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["out.partial"]


def test_a_checkpoint_of_other_settings_or_a_damaged_one_is_refused(bert, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(PairClassifier, "predict", interrupt)
    with pytest.raises(KeyboardInterrupt):
        finetune("multinli", bert, tmp_path / "out", **QUICK | {"epochs": 1})
    with pytest.raises(InputError, match=r"epochs 1 \(now 6\); run with the same to go on, or delete"):
        finetune("multinli", bert, tmp_path / "out", **QUICK)
    os.truncate(tmp_path / "out.partial/checkpoint.pt", 1000)
    with pytest.raises(InputError, match="this checkpoint is damaged; delete it to start anew"):
        finetune("multinli", bert, tmp_path / "out", **QUICK | {"epochs": 1})


def test_two_runs_do_not_write_to_one_output(bert, tmp_path) -> None:
    (tmp_path / "out.partial").mkdir()
    with (
        FileLock(tmp_path / "out.partial/lock"),
        pytest.raises(InputError, match="another run is at work"),
    ):
        finetune("multinli", bert, tmp_path / "out", **QUICK)
