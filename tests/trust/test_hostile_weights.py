"""Weight files that are cut, of another kind, or that do not fit together: one sentence each that names them."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from lib.embedders import hub
from lib.embedders.elmo import Elmo
from lib.embedders.infersent import InferSent
from lib.embedders.transformer import Transformer
from lib.embedders.urae import PublishedURAE
from lib.run.errors import InputError
from tests.official.elmo import write_elmo
from tests.official.infersent import random_weights, write_infersent
from tests.official.transformers import write_bert, write_gpt
from tests.official.urae import write_urae
from tests.unit.test_hub import write_model

SENTENCES = ["the cat sat .", "the", ""]
VECTORS = {word: np.random.default_rng(2).normal(size=5) for word in ("<s>", "</s>", "the", "cat")}


@dataclass(frozen=True)
class Reader:
    """How good files are written into a folder, the one that is damaged, and how all are read."""

    write: Callable[[Path], Any]
    file: str
    read: Callable[[Path], np.ndarray]


def transformer(folder: Path) -> np.ndarray:
    return Transformer("tiny", folder, precision="float32", tokenize=str.split).encode(SENTENCES)


def elmo(folder: Path) -> np.ndarray:
    return Elmo(folder / "options.json", folder / "weights.hdf5", tokenize=str.split).encode(SENTENCES)


def infersent(folder: Path) -> np.ndarray:
    return InferSent(folder / "weights.pkl", VECTORS, tokenize=str.split).encode(SENTENCES)


def urae(folder: Path) -> np.ndarray:
    return PublishedURAE(folder / "vars.normalized.100.mat", folder / "params.mat").encode(SENTENCES)


def sentence_transformer(folder: Path) -> np.ndarray:
    return hub.load(str(folder)).encode(SENTENCES)


READERS = {
    "elmo options": Reader(write_elmo, "options.json", elmo),
    "elmo weights": Reader(write_elmo, "weights.hdf5", elmo),
    "infersent": Reader(lambda f: write_infersent(f / "weights.pkl", random_weights(5, 4)), "weights.pkl", infersent),
    "infersent, zip": Reader(
        lambda f: write_infersent(f / "weights.pkl", random_weights(5, 4), old=False), "weights.pkl", infersent
    ),
    "urae words": Reader(write_urae, "vars.normalized.100.mat", urae),
    "urae network": Reader(write_urae, "params.mat", urae),
    "bert config": Reader(write_bert, "config.json", transformer),
    "bert weights": Reader(write_bert, "model.safetensors", transformer),
    "bert tokenizer": Reader(write_bert, "tokenizer.json", transformer),
    "gpt weights": Reader(write_gpt, "model.safetensors", transformer),
    "sentence transformer": Reader(write_model, "model.safetensors", sentence_transformer),
    "its modules": Reader(write_model, "modules.json", sentence_transformer),
    "its pooling": Reader(write_model, "1_Pooling/config.json", sentence_transformer),
}


class Harmful:
    """What a pickle can do to those who read it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.trace),)


DAMAGES: dict[str, Callable[[bytes, Path], bytes]] = {
    "cut": lambda good, trace: good[: len(good) * 9 // 10],
    "empty": lambda good, trace: b"",
    "a web page": lambda good, trace: b"\n<!DOCTYPE html><html><body>404</body></html>",
    "a pickle": lambda good, trace: pickle.dumps({"enc_lstm.weight_ih_l0": Harmful(trace)}, 2),
}


def refusal(reader: Reader, folder: Path) -> str:
    with pytest.raises(InputError) as error:
        reader.read(folder)
    sentence = str(error.value)
    assert str(folder) in sentence
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_gets_a_sentence_and_runs_nothing(name, damage, tmp_path) -> None:
    reader, trace, folder = READERS[name], tmp_path / "it was run", tmp_path / "weights"
    reader.write(folder)
    good = (folder / reader.file).read_bytes()
    assert np.isfinite(reader.read(folder)).all()
    (folder / reader.file).write_bytes(DAMAGES[damage](good, trace))
    sentence = refusal(reader, folder)
    assert damage != "a web page" or "web page" in sentence
    assert not trace.exists()


# -- numbers that are none, and files of two models -----------------------------------------------


def hdf5(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with h5py.File(folder / "weights.hdf5", "r+") as weights:
            for name, value in changes.items():
                path = name.replace("__", "/")
                del weights[path]
                if value is not None:
                    weights[path] = value

    return change


def options(group: str, **changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        document = json.loads((folder / "options.json").read_text())
        document[group] |= changes
        (folder / "options.json").write_text(json.dumps(document))

    return change


def lstm(**changes: np.ndarray | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        weights = random_weights(5, 4) | {f"enc_lstm.{name}": array for name, array in changes.items()}
        kept = {name: array for name, array in weights.items() if array is not None}
        write_infersent(folder / "weights.pkl", kept)

    return change


def tensors(spoil: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "model.safetensors"
        save_file(spoil(load_file(file)), file, metadata={"format": "pt"})

    return change


def configured(**values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | values))

    return change


def nan(name: str) -> Callable[[Path], None]:
    return tensors(lambda arrays: arrays | {name: np.full_like(arrays[name], np.nan)})


def other_tokenizer(folder: Path) -> None:
    write_bert(folder.with_name("bert"))
    (folder / "tokenizer.json").write_bytes((folder.with_name("bert") / "tokenizer.json").read_bytes())


NUMBERS = "vectors are NaN or infinite"
LAYERS = "the weights have 2 layers, the configuration 1"
MISFITS = {
    "elmo, NaN": ("elmo weights", hdf5(CNN_proj__b_proj=np.full(4, np.nan, "f4")), NUMBERS),
    "elmo, a dataset is missing": ("elmo weights", hdf5(CNN__W_cnn_1=None), "CNN/W_cnn_1"),
    "elmo, another size": ("elmo options", options("lstm", projection_dim=8), "vectors have 8 dimensions where"),
    "infersent, NaN": ("infersent", lstm(bias_hh_l0=np.full(16, np.nan, "f4")), NUMBERS),
    "infersent, one direction": ("infersent", lstm(weight_ih_l0_reverse=None), "weight_ih_l0_reverse"),
    "infersent, a whole model": (
        "infersent",
        lambda folder: torch.save(torch.nn.LSTM(2, 2), folder / "weights.pkl"),
        "Weights only load failed",
    ),
    "urae, NaN": ("urae network", partial(write_urae, b1=np.full((4, 1), np.nan)), NUMBERS),
    "urae, no variable": ("urae network", partial(write_urae, W1=None), "KeyError: 'W1'"),
    "urae, no unknown": (
        "urae words",
        partial(write_urae, words=np.array([["a", "b", "c", "d", "e"]], dtype=object)),
        "is not in list",
    ),
    "bert, NaN": ("bert weights", nan("bert.encoder.layer.1.output.dense.bias"), NUMBERS),
    "bert, fewer layers": ("bert config", configured(num_hidden_layers=1), LAYERS),
    "bert, weights are missing": (
        "bert weights",
        tensors(lambda arrays: {name: array for name, array in arrays.items() if "layer.1.output" not in name}),
        "no weights encoder.layer.1.output",
    ),
    "gpt, another tokenizer": ("gpt weights", other_tokenizer, "the tokenizer knows"),
    "its NaN": ("sentence transformer", nan("bert.encoder.layer.1.output.dense.bias"), NUMBERS),
}


@pytest.mark.parametrize(("name", "spoil", "message"), MISFITS.values(), ids=MISFITS)
def test_numbers_that_are_none_and_files_of_two_models_get_a_sentence(name, spoil, message, tmp_path) -> None:
    folder = tmp_path / "weights"
    READERS[name].write(folder)
    spoil(folder)
    assert message in refusal(READERS[name], folder)
