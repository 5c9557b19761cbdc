"""Training a classifier of sentence pairs, step by step, so that a killed run goes on to the same weights.

What a step does depends on the seed and the step's number alone, besides the weights and moments: the order of the
pairs is drawn anew for each epoch and the dropout for each step. A checkpoint is therefore weights, moments and a
number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from lib.finetuning.checkpoint import Checkpoint
from lib.finetuning.data import Pairs
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

PRECISIONS = ("auto", "float32", "bfloat16")
DEVICES = ("auto", "cpu", "cuda")
EPSILON = 1e-6  # of the script's optimizer; PyTorch's default is 1e-8
LARGEST_GRADIENT = 1.0
STEPS_BETWEEN_LOSSES = 20  # reading the loss more often would hold up a GPU
_ORDER, _DROPOUT, _HEAD = range(3)  # what random numbers are drawn for


@dataclass(frozen=True)
class Settings:
    """How to fine-tune; the defaults are those of run_classifier.py, as the N2O paper has them (appendix A).

    Attributes
    ----------
    epochs, batch_size : int; the last batch of an epoch may be smaller
    learning_rate : float, the highest, at the end of the warm-up
    max_length : int, tokens of a pair, special tokens included; the longer sentence is cut first
    warmup : float, the share of the steps in which the learning rate rises
    weight_decay : float, of everything but biases and layer normalization
    seed : int, of the classifier's first weights, the order of the pairs and dropout
    precision : "float32"; "bfloat16", autocast; "auto", bfloat16 on a GPU that computes in it
    device : "cpu"; "cuda"; "auto", a GPU where there is one
    limit : int, for trials: the first so many pairs of each split; None, all
    checkpoint_every : int, steps; no part of the result
    """

    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 5e-5
    max_length: int = 128
    warmup: float = 0.1
    weight_decay: float = 0.01
    seed: int = 1
    precision: str = "auto"
    device: str = "auto"
    limit: int | None = None
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "max_length", "seed", "checkpoint_every"):
            if not isinstance(getattr(self, name), int):
                raise InputError(f"{name}: {getattr(self, name)!r} is no whole number; give one")
        in_range("epochs", self.epochs, 1, 1000)
        in_range("batch_size", self.batch_size, 1, 4096)
        in_range("learning_rate", self.learning_rate, 1e-9, 1)
        in_range("max_length", self.max_length, 8, 8192, "tokens of a pair")
        in_range("warmup", self.warmup, 0, 0.99, "a share of the steps")
        in_range("weight_decay", self.weight_decay, 0.0, 1.0)
        in_range("seed", self.seed, 0, 2**32 - 1)
        in_range("checkpoint_every", self.checkpoint_every, 1, 10**9)
        if self.limit is not None:
            in_range("limit", self.limit, 1, 10**9)
        one_of("precision", self.precision, PRECISIONS)
        one_of("device", self.device, DEVICES)
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InputError("device: 'cuda' is not available here; give 'cpu' or 'auto'")

    def resolved(self) -> dict[str, Any]:
        """What the result depends on, as JSON types: each "auto" is what it stands for on this machine."""
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        precision = self.precision
        if precision == "auto":
            lowered = device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
            precision = "bfloat16" if lowered else "float32"
        values = asdict(self) | {"device": device, "precision": precision}
        del values["checkpoint_every"]
        return values


# -- what each step is made of ------------------------------------------------------------------


def batches(count: int, batch_size: int, epochs: int, seed: int) -> Iterator[np.ndarray]:
    """The rows of each step's batch: every epoch is a permutation of all `count` pairs, drawn from (seed, epoch)."""
    for epoch in range(epochs):
        order = _generator(seed, _ORDER, epoch).permutation(count)
        for start in range(0, count, batch_size):
            yield order[start : start + batch_size]


def learning_rate(step: int, steps: int, highest: float, warmup: float) -> float:
    """The learning rate of a step, counted from 0: a straight line from 0 to `highest`, and one back down to 0.

    The line turns after the share `warmup` of all `steps`, as in BERT's own training and in run_classifier.py.
    """
    done = step / steps
    return highest * (done / warmup if done < warmup else (1 - done) / (1 - warmup))


def decay_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups for an optimizer: matrices decay, vectors (biases and layer normalization) do not."""
    parameters = list(model.parameters())
    return [
        {"params": [one for one in parameters if one.ndim > 1], "weight_decay": weight_decay},
        {"params": [one for one in parameters if one.ndim <= 1], "weight_decay": 0.0},
    ]


def head_seed(seed: int) -> int:
    """The seed of the classifier's first weights."""
    return int(_generator(seed, _HEAD, 0).integers(2**63))


def dropout_seed(seed: int, step: int) -> int:
    """The seed of one step's dropout."""
    return int(_generator(seed, _DROPOUT, step).integers(2**63))


def _generator(seed: int, purpose: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, number, purpose])


# -- the model ----------------------------------------------------------------------------------


class PairClassifier:
    """A model and its tokenizer: from pairs of sentences to scores of classes.

    Parameters
    ----------
    model : of transformers, for sequence classification
    tokenizer : of the same folder
    settings : dict, of `Settings.resolved`
    """

    def __init__(self, model: Any, tokenizer: Any, settings: dict[str, Any]) -> None:
        self.model, self.tokenizer = model.to(settings["device"]), tokenizer
        self.device = torch.device(settings["device"])
        self.batch_size, self.max_length = settings["batch_size"], settings["max_length"]
        self.lowered = settings["precision"] == "bfloat16"

    def scores(self, pairs: Pairs, rows: np.ndarray) -> torch.Tensor:
        """float32[rows, classes], before the softmax; padded to the longest pair among them."""
        left, right = ([side[row] for row in rows] for side in (pairs.left, pairs.right))
        inputs = self.tokenizer(
            left, right, truncation="longest_first", max_length=self.max_length, padding=True, return_tensors="pt"
        ).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.lowered):
            return self.model(**inputs).logits.float()

    def predict(self, pairs: Pairs, description: str, show: bool = False) -> np.ndarray:
        """int64[n], the class with the highest score of each pair; without dropout."""
        count = len(pairs.left)
        predicted = np.empty(count, np.int64)
        self.model.eval()
        with torch.inference_mode(), progress.bar(count, description, "pairs", show=show) as bar:
            for start in range(0, count, self.batch_size):
                rows = np.arange(start, min(start + self.batch_size, count))
                predicted[rows] = self.scores(pairs, rows).argmax(dim=1).cpu().numpy()
                bar.update(len(rows))
        return predicted


# -- training -----------------------------------------------------------------------------------


class Training:
    """Fine-tuning of one classifier on one list of pairs.

    Parameters
    ----------
    classifier : PairClassifier, changed in place
    pairs : Pairs, of the train split
    settings : dict, of `Settings.resolved`
    """

    def __init__(self, classifier: PairClassifier, pairs: Pairs, settings: dict[str, Any]) -> None:
        self.classifier, self.pairs, self.settings = classifier, pairs, settings
        self.model = classifier.model
        self.step = 0
        self.steps = settings["epochs"] * -(-len(pairs.left) // settings["batch_size"])
        groups = decay_groups(self.model, settings["weight_decay"])
        self.optimizer = torch.optim.AdamW(groups, lr=settings["learning_rate"], eps=EPSILON, fused=True)

    def run(self, checkpoint: Checkpoint, every: int, description: str, show: bool = False) -> None:
        """Train from where the checkpoint stands to the end; write it every so many steps and after the last."""
        if (state := checkpoint.read()) is not None:
            self.restore(state)
        given = (self.settings[name] for name in ("batch_size", "epochs", "seed"))
        self.model.train()
        with progress.bar(self.steps, description, "steps", initial=self.step, show=show) as bar:
            mean = _MeanLoss(bar, description)
            for rows in islice(batches(len(self.pairs.left), *given), self.step, None):
                mean.add(self.advance(rows), self.step)
                bar.update(1)
                if self.step % every == 0 or self.step == self.steps:
                    mean.show(self.step)
                    checkpoint.write(self.state())

    def state(self) -> dict[str, Any]:
        """Where the training stands: weights, moments and step."""
        model, optimizer = self.model.state_dict(), self.optimizer.state_dict()
        return {"step": self.step, "model": model, "optimizer": optimizer}

    def restore(self, state: dict[str, Any]) -> None:
        """Go to where it stood when this was its `state`."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]

    def advance(self, rows: np.ndarray) -> torch.Tensor:
        """One step of the optimizer on these rows; returns their mean cross entropy before it."""
        settings = self.settings
        rate = learning_rate(self.step, self.steps, settings["learning_rate"], settings["warmup"])
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self._loss(rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), LARGEST_GRADIENT)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return loss.detach()

    def _loss(self, rows: np.ndarray) -> torch.Tensor:
        """The loss under this step's dropout; the caller's random numbers are left as they were."""
        device = self.classifier.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(dropout_seed(self.settings["seed"], self.step))
            labels = torch.from_numpy(self.pairs.labels[rows]).to(device)
            return torch.nn.functional.cross_entropy(self.classifier.scores(self.pairs, rows), labels)


class _MeanLoss:
    """The mean loss since it was last shown, on a progress bar; InputError once it is no finite number."""

    def __init__(self, bar: Any, description: str) -> None:
        self.bar, self.description = bar, description
        self.losses: list[torch.Tensor] = []

    def add(self, loss: torch.Tensor, step: int) -> None:
        self.losses.append(loss)
        if len(self.losses) == STEPS_BETWEEN_LOSSES:
            self.show(step)

    def show(self, step: int) -> None:
        if not self.losses:
            return
        mean = float(torch.stack(self.losses).mean())
        self.losses.clear()
        if not np.isfinite(mean):
            raise InputError(f"learning_rate: the loss is {mean} by step {step}; give a lower rate")
        self.bar.set_description_str(f"{self.description}, loss {mean:.3f}", refresh=False)
