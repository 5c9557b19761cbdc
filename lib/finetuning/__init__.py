"""Fine-tuning BERT on pairs of sentences, as the N2O paper does (section 4, appendix A, footnote 7).

``python -m lib.finetuning --task multinli`` writes ``data/bert-ft-multinli``, a folder that holds

=======================  ==========================================================================================
config.json, tokenizer   of the model that was fine-tuned, with the task's classes
model.safetensors        the encoder, which ``transformers.AutoModel`` reads
classifier.safetensors   the layer on top of it; `load_classifier` puts the two together
finetune.json            what was done, on what, and how well the result does: accuracies are shares of 1
=======================  ==========================================================================================

The paper takes the defaults of Hugging Face's run_classifier.py, which `Settings` lists. Two things differ from that
script of 2019: its optimizer did not correct the bias of Adam's moments, which matters in the first steps alone, and
it limited the gradient of each tensor to 1, where the common rule limits that of all together.

A killed run goes on from its last checkpoint when it is started again, to the same weights as without the kill: bit
by bit on a processor with as many threads as before.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from lib import catalog
from lib.corpora import text
from lib.finetuning import data
from lib.finetuning import folder as folders
from lib.finetuning.checkpoint import Checkpoint
from lib.finetuning.data import Pairs
from lib.finetuning.folder import load_classifier
from lib.finetuning.training import PairClassifier, Settings, Training
from lib.run import paths
from lib.run.errors import InputError

__all__ = ["Settings", "default_output", "finetune", "load_classifier"]

BASE = "bert-base-cased"
CHECKPOINT = "checkpoint.pt"
PUBLISHED = {"multinli": "development accuracy of bert-ft on MultiNLI"}


def default_output(task: str) -> Path:
    """The folder that a task's model is written to, and that the registry of embedders looks for it in."""
    return paths.DATA / f"bert-ft-{task}"


def finetune(
    task: str,
    model: str | Path | None = None,
    output: str | Path | None = None,
    *,
    show_progress_bar: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Fine-tune BERT on a task, evaluate it and write it to a folder.

    Parameters
    ----------
    task : "multinli", "mrpc" or "sick-e"
    model : folder with config.json, model.safetensors and a tokenizer; None: BERT base, cased, of the catalog
    output : folder, moved into place when it is complete; None: `default_output`. While it is in the making, its
        checkpoint lies in the folder of that name with ".partial" added.
    settings : what `Settings` takes

    Returns
    -------
    dict, the content of finetune.json: task, classes, settings, base (SHA-256 of its files), train (pairs, skipped,
    fingerprint), steps, scores, published_accuracy (None where the paper has none) and versions. `scores` has for
    each split pairs, skipped, accuracy and its 95 % interval (Wilson), majority_accuracy (that of always answering
    the most frequent class of the train split) and, with two classes, f1 of the second. Accuracies are in [0, 1].

    Raises
    ------
    InputError
        A wrong setting, model or data; an output that exists; a checkpoint of other settings; another run at work
        on the same output; a loss that is no finite number.
    """
    chosen, parts = _settings(settings), data.get(task)
    base = _base(model)
    target = default_output(task) if output is None else paths.from_root(output)
    work = target.with_name(f"{target.name}.partial")
    _refuse_existing(target, work)
    splits = {split: data.load(task, split).head(chosen.limit) for split in ("train", *parts.evaluated)}
    with _alone(work):
        model, report = _make(task, base, splits, work, chosen, show_progress_bar)
        folders.save(model, base, report, target)
        (work / CHECKPOINT).unlink(missing_ok=True)
    return report


def _settings(given: dict[str, Any]) -> Settings:
    try:
        return Settings(**given)
    except TypeError as error:  # an unknown name, or a value that cannot be compared with a number
        known = ", ".join(field.name for field in fields(Settings))
        raise InputError(f"settings: {error}; accepted: {known}") from error


def _base(model: str | Path | None) -> Path:
    if model is None:
        catalog.locate(BASE)
        folder = catalog.file(f"{BASE}/{folders.CONFIG}").parent
    else:
        folder = paths.from_root(model)
    folders.check(folder)
    return folder


def _refuse_existing(target: Path, work: Path) -> None:
    if not target.exists():
        return
    if not (target / folders.REPORT).exists():
        raise InputError(f"output: {target} exists and is no output of fine-tuning; give another folder")
    shutil.rmtree(work, ignore_errors=True)  # a kill between the last two acts of a run leaves it behind
    raise InputError(f"output: {target} is there and complete; delete that folder to train anew, or give another")


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Hold the folder of a run in the making against other runs; it is kept only while there is a checkpoint in it."""
    lock = FileLock(work / "lock", timeout=0)
    try:
        work.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise InputError(f"output: another run is at work in {work}; wait for it, or give another output") from error
    except OSError as error:
        raise InputError(f"output: {work} cannot be written to ({error.strerror}); give another output") from error
    try:
        yield
    finally:
        if not (work / CHECKPOINT).exists():
            shutil.rmtree(work, ignore_errors=True)
        lock.release()


def _make(
    task: str, base: Path, splits: dict[str, Pairs], work: Path, chosen: Settings, show: bool
) -> tuple[Any, dict[str, Any]]:
    """Train, with checkpoints in `work`, and evaluate; returns the model and the report."""
    settings, classes, train = chosen.resolved(), data.get(task).classes, splits["train"]
    report = _described(task, base, train, settings)
    model, tokenizer = folders.load(base, classes, chosen.seed)
    _refuse_too_long(chosen.max_length, model.config.max_position_embeddings)
    classifier = PairClassifier(model, tokenizer, settings)
    training = Training(classifier, train, settings)
    digests = report["base"]["sha256"]
    inputs = {"model": text.fingerprint([*digests, *digests.values()]), "pairs": report["train"]["fingerprint"]}
    checkpoint = Checkpoint(work / CHECKPOINT, {"task": task, **settings, **inputs})
    training.run(checkpoint, chosen.checkpoint_every, f"train bert-ft-{task}", show)
    report["steps"] = training.steps
    report["scores"] = {
        split: score(splits[split], classifier.predict(splits[split], f"evaluate on {split}", show), train, classes)
        for split in data.get(task).evaluated
    }
    return model, report


def _described(task: str, base: Path, train: Pairs, settings: dict[str, Any]) -> dict[str, Any]:
    """What is known before the training; "steps" and "scores" keep their places."""
    libraries = {name: version(name) for name in ("numpy", "tokenizers", "torch", "transformers")}
    return {
        "task": task,
        "classes": list(data.get(task).classes),
        "settings": settings,
        "base": {"folder": base.name, "sha256": folders.sha256(base)},
        "train": {"pairs": len(train.labels), "skipped": train.skipped, "fingerprint": train.fingerprint()},
        "steps": None,
        "scores": None,
        "published_accuracy": _published(task),
        "versions": {"python": platform.python_version()} | libraries,
    }


def _refuse_too_long(max_length: int, positions: int) -> None:
    if max_length > positions:
        raise InputError(f"max_length: {max_length} is not accepted; this model has {positions} positions: give fewer")


def score(pairs: Pairs, predicted: np.ndarray, train: Pairs, classes: Sequence[str]) -> dict[str, Any]:
    """How well predicted classes (int64[n]) fit a split; `finetune` says what the numbers are."""
    from scipy.stats import binomtest
    from sklearn.metrics import f1_score

    count, right = len(pairs.labels), int((predicted == pairs.labels).sum())
    interval = binomtest(right, count).proportion_ci(confidence_level=0.95, method="wilson")
    majority = np.bincount(train.labels).argmax()
    result = {
        "pairs": count,
        "skipped": pairs.skipped,
        "accuracy": right / count,
        "interval_95": [float(interval.low), float(interval.high)],
        "majority_accuracy": float((pairs.labels == majority).mean()),
    }
    if len(classes) == 2:
        result["f1"] = float(f1_score(pairs.labels, predicted, zero_division=0))
    return result


def _published(task: str) -> float | None:
    """The paper's accuracy on the development set, if it states one."""
    from lib.catalog import published

    if task not in PUBLISHED:
        return None
    return float(published.cells("n2o", by="quantity")[PUBLISHED[task]]) / 100


# -- the command --------------------------------------------------------------------------------
