"""The folders that fine-tuning reads and writes: BERT's weights, configuration and tokenizer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from lib.embedders import transformer_files
from lib.embedders.transformer_files import quiet
from lib.finetuning.training import head_seed
from lib.run import files
from lib.run.errors import InputError, one_line

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
CLASSIFIER = "classifier.safetensors"
REPORT = "finetune.json"
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json", "added_tokens.json")
_FAMILY = "bert"


def check(folder: Path) -> None:
    """Raise InputError unless a folder has the files of a BERT; whether they are sound is seen when they are read."""
    if not folder.is_dir():
        raise InputError(f"model: {folder}: no such folder; give one with {CONFIG}, {WEIGHTS} and a tokenizer")
    for needed in ((CONFIG,), (WEIGHTS,), ("tokenizer.json", "vocab.txt")):
        if not any((folder / name).is_file() for name in needed):
            raise InputError(f"model: {folder}: no {' or '.join(needed)} in it; give a folder of BERT with safetensors")
    for file in folder.glob("*.json"):
        files.read_json(file)
    transformer_files.check(folder)
    family = files.read_json(folder / CONFIG).get("model_type")
    if family != _FAMILY:
        raise InputError(f"model: {folder / CONFIG}: model_type is {family!r}; give a BERT ({_FAMILY!r})")


def sha256(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a model that the result of fine-tuning depends on, by name."""
    names = [name for name in (CONFIG, WEIGHTS, *TOKENIZER) if (folder / name).is_file()]
    return {name: files.sha256(folder / name) for name in names}


def load(folder: Path, classes: Sequence[str], seed: int) -> tuple[Any, Any]:
    """A model for sequence classification, float32, and its tokenizer; the layer of classes is new, drawn by `seed`.

    Raises InputError if the files cannot be read or lack weights of the encoder.
    """
    labels = {"id2label": dict(enumerate(classes)), "label2id": {name: code for code, name in enumerate(classes)}}
    try:
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(head_seed(seed))
            model, found = transformers.AutoModelForSequenceClassification.from_pretrained(
                folder,
                **labels,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # the readers of weights, tokenizer and configuration share no class of errors
        raise InputError(f"model: {folder}: cannot be read ({one_line(error)}); get its files again") from error
    if missing := sorted(name for name in found["missing_keys"] if name.startswith(f"{model.base_model_prefix}.")):
        raise InputError(
            f"model: {folder / WEIGHTS}: lacks {missing[0]} and {len(missing) - 1} more weights; get the file again"
        )
    return model, tokenizer


def load_classifier(folder: str | Path) -> tuple[Any, Any]:
    """The model for sequence classification that `finetune` has trained, and its tokenizer.

    Parameters
    ----------
    folder : an output of `finetune`

    Returns
    -------
    model of transformers in evaluation mode, whose `config.id2label` names the classes; tokenizer

    Raises
    ------
    InputError
        The folder is no output of `finetune`, or its files are damaged.
    """
    folder = Path(folder)
    check(folder)
    if not (folder / CLASSIFIER).is_file():
        raise InputError(f"folder: {folder}: no {CLASSIFIER} in it; give a folder that fine-tuning has written")
    labels = files.read_json(folder / CONFIG).get("id2label")
    if not isinstance(labels, dict) or not labels or not all(isinstance(name, str) for name in labels.values()):
        raise InputError(f"folder: {folder / CONFIG}: id2label names no classes; give a folder of fine-tuning")
    model, tokenizer = load(folder, list(labels.values()), seed=0)
    _load_top(model, folder / CLASSIFIER)
    return model.eval(), tokenizer


def _load_top(model: Any, file: Path) -> None:
    """Fill what is not the encoder."""
    try:
        top = load_file(file)
        lacking = {name for name in model.state_dict() if not name.startswith(f"{model.base_model_prefix}.")} - {*top}
        found = model.load_state_dict(top, strict=False)
        if lacking or found.unexpected_keys or not all(torch.isfinite(tensor).all() for tensor in top.values()):
            raise ValueError("it lacks weights, has others, or holds NaN or infinity")
    except (SafetensorError, OSError, RuntimeError, ValueError) as error:
        raise InputError(f"folder: {file}: cannot be read ({one_line(error)}); get it again") from error


def save(model: Any, base: Path, report: dict[str, Any], folder: Path) -> None:
    """Write a fine-tuned model, the tokenizer of its `base` and the report: all of it, or nothing.

    The encoder lies in a file of its own, so that `transformers.AutoModel` finds in it just what it looks for.
    Raises InputError if the folder cannot be written.
    """
    try:
        with files.replacing_folder(folder) as new:
            _write(model, base, report, new)
    except (OSError, SafetensorError) as error:
        raise InputError(f"output: {folder} cannot be written ({error}); the training is kept, run again") from error


def _write(model: Any, base: Path, report: dict[str, Any], folder: Path) -> None:
    encoder, prefix = model.base_model, f"{model.base_model_prefix}."
    top = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(prefix)}
    for name, tensors in ((WEIGHTS, encoder.state_dict()), (CLASSIFIER, top)):
        on_processor = {key: tensor.cpu().contiguous() for key, tensor in tensors.items()}
        save_file(on_processor, folder / name, metadata={"format": "pt"})
    encoder.config.architectures = [type(encoder).__name__]
    encoder.config.save_pretrained(folder)
    for name in TOKENIZER:
        if (base / name).is_file():
            shutil.copyfile(base / name, folder / name)
    (folder / REPORT).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
