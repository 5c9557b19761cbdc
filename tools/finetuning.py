"""Fine-tuning BERT on pairs of sentences, as the N2O paper does.

The paper describes it in section 4, appendix A and footnote 7.

``python -m tools.finetuning --task multinli`` (``make finetune``) writes
``data/bert-ft-multinli``: the model with its classes and tokenizer, which transformers
and the registry of embedders read, and ``finetune.json``, what was done, on what, and
how well the result does.

===========  ==================================  =======================================
task         classes                             splits
===========  ==================================  =======================================
`multinli`   contradiction, entailment, neutral  train; dev, the matched subset (N2O
                                                 paper, section 4)
`mrpc`       not a paraphrase, paraphrase        train; test: there is no dev part (the
                                                 paper's footnote 7)
`sick-e`     contradiction, neutral, entailment  train; dev, test
===========  ==================================  =======================================

The paper takes the defaults of Hugging Face's run_classifier.py, which
`TrainingSettings` lists. Two things differ from that script of 2019: its optimizer did
not correct the bias of Adam's moments, which matters in the first steps alone, and it
limited the gradient of each tensor to 1, where the common rule limits that of all
together.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

from audit import published
from lib import catalog, tasks
from lib.base import cache, characters, files, parameters, paths
from lib.base.errors import InputError, command, one_line
from lib.corpora import text
from lib.embedders.checkpoints import (
    TRANSFORMER_REMEDY,
    as_input_error,
    digest_of_model,
    quiet,
)

REPORT = "finetune.json"
Pair = dict[str, Any]  # left, right: str; label: int

# -- the tasks -------------------------------------------------------------------------


class Task(NamedTuple):
    """A task's classes by code, its evaluation splits and its name in `lib.tasks`."""

    classes: tuple[str, ...]
    evaluated: tuple[str, ...]
    name: str = ""


TASKS = {
    "multinli": Task(("contradiction", "entailment", "neutral"), ("dev",)),
    "mrpc": Task(("not a paraphrase", "paraphrase"), ("test",), "MRPC"),
    "sick-e": Task(
        ("contradiction", "neutral", "entailment"), ("dev", "test"), "SICK-E"
    ),
}
PUBLISHED = "development accuracy of bert-ft on MultiNLI"


def load_pairs(task: str, split: str) -> list[Pair]:
    """The labeled pairs of a task's split, in the order of its file."""
    if task == "multinli":
        part = {"train": "train", "dev": "dev_matched"}[split]
        return read_multinli(
            catalog.file(f"multinli/multinli_1.0/multinli_1.0_{part}.jsonl")
        )
    loaded = tasks.load(TASKS[task].name, split)
    pairs = []
    for left, right, label in zip(loaded.left, loaded.right, loaded.label, strict=True):
        pairs.append({"left": left, "right": right, "label": int(label)})
    return pairs


def read_multinli(file: Path) -> list[Pair]:
    """The pairs of a file in MultiNLI's layout.

    Pairs on whose label its annotators did not agree ("-") are left out.
    """
    classes = TASKS["multinli"].classes
    pairs = []
    with (
        as_input_error(file, "get it again (make data ASSET=multinli)"),
        file.open(encoding="utf-8") as lines,
    ):
        for line in lines:
            record = json.loads(line)
            if record["gold_label"] != "-":
                left = characters.mend(record["sentence1"])
                right = characters.mend(record["sentence2"])
                label = classes.index(record["gold_label"])
                pairs.append({"left": left, "right": right, "label": label})
    return pairs


# -- training --------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingSettings:
    """How to fine-tune; the defaults are the paper's (appendix A).

    All but the last are arguments of transformers' Trainer
    (``transformers.TrainingArguments``).

    Attributes
    ----------
    num_train_epochs, per_device_train_batch_size : int
        Passes over the pairs, and pairs in a step.
    learning_rate, warmup_steps : float
        The highest rate, and the share of the steps in which it rises to that.
    weight_decay : float
        Of everything but biases and layer normalization.
    adam_epsilon : float
        That of the script's optimizer.
    seed : int
        Of first weights, order and dropout.
    bf16, use_cpu : bool
        Compute in bfloat16; on the processor, even where there is a GPU.
    save_steps : int
        Steps between checkpoints.
    max_length : int
        Tokens of a pair, beyond which the longer sentence is cut first.
    """

    num_train_epochs: int = 3
    per_device_train_batch_size: int = 32
    learning_rate: float = 5e-5
    warmup_steps: float = 0.1
    weight_decay: float = 0.01
    adam_epsilon: float = 1e-6
    seed: int = 1
    bf16: bool = False
    use_cpu: bool = False
    save_steps: int = 500
    max_length: int = 128


def finetune(
    task: str,
    model: str | Path = "",
    output: str | Path = "",
    *,
    show_progress_bar: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Fine-tune BERT on a task, evaluate it and write it to a folder.

    A killed run goes on from its last checkpoint when it is started again, to the same
    weights as without the kill: bit by bit on a processor with as many threads as
    before.

    Parameters
    ----------
    task : {"multinli", "mrpc", "sick-e"}
    model : str or Path, optional
        Folder with config.json, weights and a tokenizer; by default BERT base, cased,
        of the catalog.
    output : str or Path, optional
        Folder, moved into place when it is complete; by default ``data/bert-ft-TASK``,
        where the registry of embedders looks for it. Checkpoints lie beside it.
    show_progress_bar : bool
    **settings
        What `TrainingSettings` takes.

    Returns
    -------
    dict
        The content of finetune.json: what was done, on what, and for each split what
        `score` returns. `published_accuracy` is None where the paper has none.

    Raises
    ------
    InputError
        A wrong setting, model or data; an output that exists; a loss that is no finite
        number.
    """
    parameters.one_of("task", task, TASKS)
    chosen = TrainingSettings(**settings)
    base = (
        paths.from_root(model)
        if model
        else catalog.file("bert-base-cased/config.json").parent
    )
    target = paths.from_root(output) if output else paths.DATA / f"bert-ft-{task}"
    train = load_pairs(task, "train")
    tested = {split: load_pairs(task, split) for split in TASKS[task].evaluated}
    report = _description(task, base, train, chosen)
    # Checkpoints of other settings, another model or other pairs have another name.
    digest = blake2b(json.dumps(report).encode(), digest_size=4).hexdigest()
    work = target.with_name(f"{target.name}.{digest}.partial")
    with (
        files.writing(target.parent),
        cache.locked(work / "lock", f"fine-tuning {target.name}"),
    ):
        if target.exists():
            raise InputError(
                f"output: {target} already exists; "
                "delete it to train again, or give another folder"
            )
        trainer = _trainer(task, base, train, chosen, work, show_progress_bar)
        outcome = trainer.train(resume_from_checkpoint=_last_checkpoint(work))
        if not math.isfinite(outcome.training_loss):
            shutil.rmtree(work)
            raise InputError(
                f"learning_rate: the loss is {outcome.training_loss}; give a lower rate"
            )
        report["steps"] = outcome.global_step
        report["scores"] = {}
        for split, pairs in tested.items():
            predicted = trainer.predict(pairs).predictions.argmax(axis=1)
            report["scores"][split] = score(pairs, predicted, train)
        with files.replacing_folder(target) as folder:
            trainer.model.save_pretrained(folder)
            trainer.processing_class.save_pretrained(folder)
            (folder / REPORT).write_text(
                json.dumps(report, indent=1) + "\n", encoding="utf-8"
            )
        shutil.rmtree(work)
    return report


def _description(
    task: str, base: Path, train: Sequence[Pair], chosen: TrainingSettings
) -> dict[str, Any]:
    """All that the result depends on."""
    accuracy = None
    if task == "multinli":
        printed = published.cells("n2o", by="quantity")
        accuracy = float(printed[PUBLISHED]) / 100
    settings = asdict(chosen)
    del settings["save_steps"]
    fingerprint = text.fingerprint([json.dumps(pair) for pair in train])
    return {
        "task": task,
        "classes": TASKS[task].classes,
        "settings": settings,
        "base": digest_of_model(base),
        "pairs": {"number": len(train), "fingerprint": fingerprint},
        "published_accuracy": accuracy,
        "versions": {
            name: version(name) for name in ("tokenizers", "torch", "transformers")
        },
    }


def _trainer(
    task: str,
    base: Path,
    train: list[Pair],
    chosen: TrainingSettings,
    work: Path,
    show: bool,
) -> transformers.Trainer:
    settings = asdict(chosen)
    del settings["max_length"]
    try:
        arguments = transformers.TrainingArguments(
            str(work),
            **settings,
            save_total_limit=1,
            logging_nan_inf_filter=False,
            disable_tqdm=not show,
            remove_unused_columns=False,
            dataloader_pin_memory=torch.cuda.is_available(),
            report_to="none",
        )
    except ValueError as error:
        raise InputError(f"settings: {one_line(error)}") from error
    transformers.set_seed(chosen.seed)  # for the new layer's first weights
    model, tokenizer = _base_model(base, TASKS[task].classes)

    def batch(pairs: list[Pair]) -> dict[str, torch.Tensor]:
        left = [pair["left"] for pair in pairs]
        right = [pair["right"] for pair in pairs]
        labels = [pair["label"] for pair in pairs]
        longest = min(chosen.max_length, model.config.max_position_embeddings)
        length = {"truncation": "longest_first", "max_length": longest, "padding": True}
        inputs = tokenizer(left, right, return_tensors="pt", **length)
        return {**inputs, "labels": torch.tensor(labels)}

    trainer = transformers.Trainer(
        model, arguments, batch, train, processing_class=tokenizer
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def _base_model(folder: Path, classes: Sequence[str]) -> tuple[Any, Any]:
    """A float32 sequence classifier with a new layer of classes, and its tokenizer."""
    codes = {name: code for code, name in enumerate(classes)}
    labels = {"id2label": dict(enumerate(classes)), "label2id": codes}
    options = {"local_files_only": True, "trust_remote_code": False}
    quiet()
    with as_input_error(folder, TRANSFORMER_REMEDY):
        model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, **labels, **options, dtype=torch.float32, output_loading_info=True
        )
        if missing := [
            name
            for name in info["missing_keys"]
            if name.startswith(model.base_model_prefix)
        ]:
            raise ValueError(f"no weights {min(missing)}")
        return model, transformers.AutoTokenizer.from_pretrained(folder, **options)


def _last_checkpoint(work: Path) -> str | None:
    """The folder that was completed last: this file is written after all others."""
    steps = {}
    for file in work.glob("checkpoint-*/trainer_state.json"):
        if file.read_bytes().endswith(b"}\n"):
            _, step = file.parent.name.split("-")
            steps[int(step)] = str(file.parent)
    return steps[max(steps)] if steps else None


def score(
    pairs: Sequence[Pair], predicted: np.ndarray, train: Sequence[Pair]
) -> dict[str, Any]:
    """How well predicted classes (int64[n]) fit a split.

    Returns
    -------
    dict
        pairs, their number; accuracy and interval_95 (Wilson), in [0, 1];
        majority_accuracy, that of always answering the most frequent class of the train
        split; and with two classes f1 of the second.
    """
    from scipy.stats import binomtest
    from sklearn.metrics import f1_score

    labels = np.array([pair["label"] for pair in pairs])
    counts = np.bincount([pair["label"] for pair in train])
    right = int((predicted == labels).sum())
    interval = binomtest(right, len(labels)).proportion_ci(
        confidence_level=0.95, method="wilson"
    )
    scores = {
        "pairs": len(labels),
        "accuracy": right / len(labels),
        "interval_95": [float(interval.low), float(interval.high)],
        "majority_accuracy": float((labels == counts.argmax()).mean()),
    }
    if len(counts) == 2:
        scores["f1"] = float(f1_score(labels, predicted, zero_division=0))
    return scores


# -- the command -----------------------------------------------------------------------


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = transformers.HfArgumentParser(
        TrainingSettings,
        prog="python -m tools.finetuning",
        description="Fine-tune BERT on sentence pairs as the N2O paper does. "
        "After a kill, the same command resumes.",
    )
    parser.add_argument("--task", required=True, help=", ".join(TASKS))
    parser.add_argument(
        "--model",
        default="",
        help="folder of the model to start from (default: BERT base, cased)",
    )
    parser.add_argument(
        "--output", default="", help="folder to write (default: data/bert-ft-TASK)"
    )
    given = parser.parse_args(arguments)
    report = finetune(**vars(given), show_progress_bar=True)
    print(json.dumps(report, indent=1))
    print(f"written to {given.output or f'data/bert-ft-{given.task}'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
