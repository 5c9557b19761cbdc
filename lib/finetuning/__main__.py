"""The command that fine-tunes: ``python -m lib.finetuning``; ``make finetune`` calls it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import torch

from lib.finetuning import BASE, Settings, data, default_output, finetune
from lib.run import parameters
from lib.run.errors import command

_HELP = {
    "epochs": "passes over the pairs",
    "batch_size": "pairs a step",
    "learning_rate": "the highest, after the warm-up",
    "max_length": "tokens of a pair, beyond which it is cut",
    "warmup": "share of the steps in which the learning rate rises",
    "weight_decay": "of everything but biases and layer normalization",
    "seed": "of first weights, order and dropout",
    "precision": "auto, float32 or bfloat16",
    "device": "auto, cpu or cuda",
    "limit": "use only so many pairs of each split, for trials",
    "checkpoint_every": "steps between checkpoints",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lib.finetuning",
        description="Fine-tune BERT on pairs of sentences as the N2O paper does. Killed, the same command goes on.",
    )
    parser.add_argument("--task", required=True, help=", ".join(data.names()))
    parser.add_argument("--model", help=f"folder of the model to start from; without it, {BASE} of the catalog")
    parser.add_argument("--output", help="folder to write; without it, data/bert-ft-TASK")
    parser.add_argument("--threads", type=int, help="processor threads; without it, PyTorch's choice")
    for field in fields(Settings):
        kind = int if field.default is None else type(field.default)
        name = f"--{field.name.replace('_', '-')}"
        default = "" if field.default is None else " (default: %(default)s)"
        parser.add_argument(name, type=kind, default=field.default, help=_HELP[field.name] + default)
    return parser


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: 0 when done, 2 for wrong input (one sentence on standard error), 130 when interrupted."""
    given = vars(_parser().parse_args(arguments))
    task, model, output, threads = (given.pop(name) for name in ("task", "model", "output", "threads"))
    if threads is not None:
        parameters.in_range("--threads", threads, 1, 1024)
        torch.set_num_threads(threads)
    try:
        report = finetune(task, model or None, output or None, show_progress_bar=True, **given)
    except KeyboardInterrupt:
        print("Interrupted: the same command goes on from the last checkpoint, if one was written", file=sys.stderr)
        return 130
    print(*_summary(report), f"written to {output or default_output(task)}", sep="\n")
    return 0


def _summary(report: dict[str, Any]) -> Iterator[str]:
    """A line for each split: what was reached, beside chance and the paper."""
    for split, result in report["scores"].items():
        low, high = map(_percent, result["interval_95"])
        f1 = f", F1 {_percent(result['f1'])}" if "f1" in result else ""
        yield (
            f"{report['task']}, {split}: accuracy {_percent(result['accuracy'])} (95 % interval {low} to {high}){f1}; "
            f"most frequent class {_percent(result['majority_accuracy'])}; "
            f"{result['pairs']} pairs, {result['skipped']} without label skipped"
        )
    if report["published_accuracy"] is not None:
        limit = report["settings"]["limit"]
        trial = f" (ours: a trial on {limit} pairs)" if limit else ""
        yield f"{report['task']}, dev, in the N2O paper: accuracy {_percent(report['published_accuracy'])}{trial}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
