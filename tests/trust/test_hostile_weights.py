"""Other people's weights that are cut, harmful, or do not fit together.

Each is refused in one sentence, and nothing in them runs.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file, save_file

from lib.base import paths
from lib.base.errors import InputError
from lib.embedders import hub, own
from lib.embedders.elmo import Elmo
from lib.embedders.infersent import InferSent
from lib.embedders.static import WordVectors
from lib.embedders.transformer import Transformer
from lib.sent2vec import Sent2Vec
from lib.studies import situate
from tests.embedders.test_hub import write_model
from tests.official.elmo import write_elmo
from tests.official.infersent import random_weights, write_infersent
from tests.official.transformers import write_bert, write_gpt
from tests.refusals import refused

SENTENCES = ["the cat sat .", "the", ""]
VECTORS = {
    word: np.random.default_rng(2).normal(size=5)
    for word in ("<s>", "</s>", "the", "cat")
}


@dataclass(frozen=True)
class Reader:
    """How to write good files into a folder, which one to damage, and the reader."""

    write: Callable[[Path], Any]
    file: str
    read: Callable[[Path], np.ndarray]


def transformer(folder: Path) -> np.ndarray:
    return Transformer("tiny", folder, precision="float32").encode(SENTENCES)


def elmo(folder: Path) -> np.ndarray:
    return Elmo(
        folder / "options.json", folder / "weights.hdf5", tokenize=str.split
    ).encode(SENTENCES)


def infersent(folder: Path) -> np.ndarray:
    return InferSent(folder / "weights.pkl", VECTORS, tokenize=str.split).encode(
        SENTENCES
    )


def sentence_transformer(folder: Path) -> np.ndarray:
    return hub.load(str(folder)).encode(SENTENCES)


def write_bin(folder: Path) -> None:
    weights = load_file(write_bert(folder) / "model.safetensors")
    torch.save(
        {name: torch.from_numpy(array) for name, array in weights.items()},
        folder / "pytorch_model.bin",
    )
    (folder / "model.safetensors").unlink()


READERS = {
    "elmo options": Reader(write_elmo, "options.json", elmo),
    "elmo weights": Reader(write_elmo, "weights.hdf5", elmo),
    "infersent": Reader(
        lambda f: write_infersent(f / "weights.pkl", random_weights(5, 4)),
        "weights.pkl",
        infersent,
    ),
    "bert config": Reader(write_bert, "config.json", transformer),
    "bert weights": Reader(write_bert, "model.safetensors", transformer),
    "bert tokenizer": Reader(write_bert, "tokenizer.json", transformer),
    "bert weights, bin": Reader(write_bin, "pytorch_model.bin", transformer),
    "gpt weights": Reader(write_gpt, "model.safetensors", transformer),
    "sentence transformer": Reader(
        write_model, "model.safetensors", sentence_transformer
    ),
    "its pooling": Reader(write_model, "1_Pooling/config.json", sentence_transformer),
}


class Payload:
    """Its pickle makes a folder when it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.folder),)


def harmful(payload: Payload, folder: Path) -> Iterator[bytes]:
    """The payload as a pickle, in both of torch's formats, and as object arrays."""
    folder.mkdir()
    yield pickle.dumps(payload, 2)
    for modern in (True, False):
        torch.save(
            {"enc_lstm.weight_ih_l0": payload},
            folder / "torch",
            _use_new_zipfile_serialization=modern,
        )
        yield (folder / "torch").read_bytes()
    objects = np.array([payload, payload], dtype=object)
    for name, save in {"array.npy": np.save, "arrays.npz": np.savez}.items():
        save(folder / name, objects, allow_pickle=True)
        yield (folder / name).read_bytes()


WEB_PAGE = b"\n<!DOCTYPE html><html><body>404</body></html>"


# SECURITY: "no file runs when it is read"
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_or_harmful_file_gets_a_sentence_and_runs_nothing(
    name, tmp_path
) -> None:
    reader, trace, folder = READERS[name], tmp_path / "it ran", tmp_path / "weights"
    reader.write(folder)
    file = folder / reader.file
    good = file.read_bytes()
    assert np.isfinite(reader.read(folder)).all()
    cut = good[: len(good) * 9 // 10]
    for content in (cut, b"", *harmful(Payload(trace), tmp_path / "forms")):
        file.write_bytes(content)
        with refused(str(folder)):
            reader.read(folder)
        assert not trace.exists()
    file.write_bytes(WEB_PAGE)
    with refused("web page"):
        reader.read(folder)


def folder_of_vectors(file: Path) -> None:
    pd.DataFrame({"index": ["a", "b"]}).to_parquet(file.with_name("x_index.parquet"))
    WordVectors.load(file.parent, show_progress_bar=False)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        *(
            (f"words.{kind}", partial(WordVectors.load, show_progress_bar=False))
            for kind in ("bin", "txt", "vec.gz")
        ),
        ("x_emb.npy", folder_of_vectors),
        ("sent2vec.bin", Sent2Vec.load),
        ("neighbors.parquet", situate.read),
    ],
)
def test_what_is_read_without_weights_runs_nothing_either(
    name, read, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    for number, content in enumerate(
        harmful(Payload(tmp_path / "it ran"), tmp_path / "forms")
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_bytes(content)
        with pytest.raises(InputError):
            read(folder / name)
    assert not (tmp_path / "it ran").exists()


# -- models that bring code along ------------------------------------------------------

CODE = (
    "import os\nos.mkdir({!r})\nclass Own:\n    @classmethod\n"
    "    def load(cls, *a, **k): return cls()\n"
)


def change(file: Path, **changes: Any) -> None:
    """Of a JSON document."""
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def module_of_its_own(folder: Path) -> None:
    (folder / "modules.json").write_text(
        '[{"idx": 0, "name": "0", "path": "", "type": "code.Own"}]'
    )


def classes_of_its_own(folder: Path) -> None:
    names = {
        "AutoModel": "code.Own",
        "AutoConfig": "code.Own",
        "AutoTokenizer": ["code.Own", None],
    }
    own_classes = {"auto_map": names, "trust_remote_code": True}
    change(folder / "config.json", model_type="own", **own_classes)
    change(folder / "tokenizer_config.json", tokenizer_class="Own", **own_classes)


def settings_that_trust(folder: Path) -> None:
    classes_of_its_own(folder)
    kind = "sentence_transformers.models.Transformer"
    module = {"idx": 0, "name": "0", "path": "", "type": kind}
    (folder / "modules.json").write_text(json.dumps([module]))
    trusting = {
        f"{of}_args": {"trust_remote_code": True}
        for of in ("model", "config", "tokenizer")
    }
    settings = {"max_seq_length": 9, **trusting}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))


# SECURITY: "code that comes with a model is refused"
@pytest.mark.parametrize(
    "spoil", [module_of_its_own, classes_of_its_own, settings_that_trust]
)
def test_code_in_the_folder_of_a_model_is_not_run(spoil, tmp_path) -> None:
    folder = write_bert(tmp_path / "model")
    (folder / "code.py").write_text(CODE.format(str(tmp_path / "it ran")))
    spoil(folder)
    with suppress(InputError):
        has_modules = (folder / "modules.json").exists()
        model = own.load(str(folder), pooling="" if has_modules else "avg")
        model.encode(["a cat sat on the mat"])
    assert not (tmp_path / "it ran").exists()


# -- numbers that are none, and files of two models ------------------------------------


def tensors(folder: Path, spoil: Callable[[dict[str, np.ndarray]], None]) -> None:
    arrays = load_file(folder / "model.safetensors")
    spoil(arrays)
    save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})


def nan(arrays: dict[str, np.ndarray]) -> None:
    arrays["bert.encoder.layer.1.output.dense.bias"][:] = np.nan


def without_output(arrays: dict[str, np.ndarray]) -> None:
    for name in [name for name in arrays if "layer.1.output" in name]:
        del arrays[name]


def other_options(folder: Path) -> None:
    options, _ = write_elmo(folder.with_name("wide"), projection_dim=6)
    shutil.copy(options, folder)


def other_tokenizer(folder: Path) -> None:
    shutil.copy(write_bert(folder.with_name("bert")) / "tokenizer.json", folder)


MISFITS = [
    (
        "elmo weights",
        other_options,
        "give the official options.json and weights.hdf5 of one ELMo model",
    ),
    ("bert weights", partial(tensors, spoil=nan), "vectors are NaN or infinite"),
    (
        "bert weights",
        partial(tensors, spoil=without_output),
        "no weights encoder.layer.1.output",
    ),
    ("gpt weights", other_tokenizer, "the tokenizer knows"),
]


# SECURITY.md: "right vectors, or one sentence that names the file"
@pytest.mark.parametrize(("name", "spoil", "message"), MISFITS)
def test_numbers_that_are_none_and_files_of_two_models_get_a_sentence(
    name, spoil, message, tmp_path
) -> None:
    folder = tmp_path / "weights"
    READERS[name].write(folder)
    spoil(folder)
    with refused(message):
        READERS[name].read(folder)
