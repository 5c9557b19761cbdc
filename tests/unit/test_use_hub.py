"""The Universal Sentence Encoder's modules: tiny ones in the official format, against plain NumPy.

What needs TensorFlow is skipped where it is not installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lib.embedders import use_hub
from lib.embedders.use_hub import UniversalSentenceEncoder
from lib.run.errors import InputError
from tests.official import use as official

RNG = np.random.default_rng(0)
WORDS = ["a", "dog", "barks", "cat"]  # every other word has the number 4
ARRAYS = {
    "embeddings": RNG.standard_normal((5, 6)).astype(np.float32),
    "weights": RNG.standard_normal((6, 3)).astype(np.float32),
    "bias": RNG.standard_normal(3).astype(np.float32),
}
SENTENCES = ["a dog barks", "", "cat", "a zebra and a dog and a cat and a zebra", "barks barks", "a\x00 cat"] * 3


@pytest.fixture(scope="module")
def tf() -> Any:
    reason = 'needs TensorFlow, which is optional: pip install "tensorflow>=2.21"'
    tensorflow = pytest.importorskip("tensorflow", reason=reason)
    # Before it computes anything, as the encoder would.
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    return tensorflow


@pytest.fixture(scope="module")
def modules(tf, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("use")
    graphs = {"use-dan": official.deep_averaging, "use-trf": official.self_attention}
    return {name: official.write_use(tf, folder / name, WORDS, ARRAYS, graph) for name, graph in graphs.items()}


def attended(words: np.ndarray) -> np.ndarray:
    """Each word's mean of all words, weighted by the softmax of dot products."""
    weights = np.exp(words @ words.T)
    return weights / weights.sum(axis=1, keepdims=True) @ words


def by_hand(name: str, sentence: str) -> np.ndarray:
    numbers = [WORDS.index(word) if word in WORDS else len(WORDS) for word in sentence.split()]
    words = ARRAYS["embeddings"][numbers].astype(np.float64)
    if name == "use-trf":
        words = attended(words)
    mean = words.sum(axis=0) / np.sqrt(max(len(words), 1))
    return np.tanh(mean @ ARRAYS["weights"] + ARRAYS["bias"])


@pytest.mark.parametrize("name", ["use-dan", "use-trf"])
def test_vectors_are_those_of_the_module(modules, name) -> None:
    vectors = UniversalSentenceEncoder(modules[name], name).encode(SENTENCES)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [by_hand(name, sentence) for sentence in SENTENCES], atol=1e-6)


@pytest.mark.parametrize("name", ["use-dan", "use-trf"])
@pytest.mark.parametrize("size", [1, 5, 64])
def test_a_vector_does_not_depend_on_its_batch(modules, monkeypatch, name, size) -> None:
    encoder = UniversalSentenceEncoder(modules[name], name)
    alone = np.vstack([encoder.encode([sentence]) for sentence in SENTENCES])
    monkeypatch.setattr(use_hub, "SENTENCES_PER_BATCH", size)
    np.testing.assert_allclose(encoder.encode(SENTENCES), alone, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(SENTENCES[::-1])[::-1], alone, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(SENTENCES, batch_size=4), alone, atol=1e-6)


def test_the_same_bytes_every_time(modules) -> None:
    first, again = (UniversalSentenceEncoder(modules["use-trf"], "use-trf").encode(SENTENCES) for _ in range(2))
    assert first.tobytes() == again.tobytes()


def test_an_empty_sentence_has_the_modules_vector_and_no_sentences_none(modules) -> None:
    encoder = UniversalSentenceEncoder(modules["use-dan"], "use-dan")
    np.testing.assert_allclose(encoder.encode(["", " \t\n"]), np.tanh([ARRAYS["bias"]] * 2), atol=1e-6)
    assert encoder.encode([]).shape == (0, encoder.dim) == (0, 3)


def test_wild_text_is_taken(modules) -> None:
    wild = ["\x00", "日本語", "\U0001f469\u200d\U0001f467", "e\u0301" * 50, "dog " * 3000, "\u202eabc", "\ud800 a"]
    for name, module in modules.items():
        assert np.isfinite(UniversalSentenceEncoder(module, name).encode(wild)).all()


def test_settings_are_those_of_the_files_wherever_they_lie(modules, tmp_path) -> None:
    def settings(change: Callable[[Path], object] | None = None, name: str = "use-dan") -> str:
        folder = tmp_path / "module"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(modules[name], folder)
        if change:
            change(folder)
        return json.dumps(UniversalSentenceEncoder(folder, name).settings)

    same = json.dumps(UniversalSentenceEncoder(modules["use-dan"], "use-dan").settings)
    assert settings() == same
    assert settings(name="use-trf") != same
    assert settings(lambda folder: (folder / "assets" / "use-dan.txt").write_text("a\nb\nc\nd\n")) != same
    assert settings(lambda folder: (folder / "variables" / "variables.index").write_bytes(b"other")) != same


def test_threads_of_a_running_tensorflow_cannot_change(modules) -> None:
    expected = UniversalSentenceEncoder(modules["use-dan"], "use-dan").encode(SENTENCES)
    with pytest.raises(InputError, match=r"threads: TensorFlow runs already .* not with 2"):
        UniversalSentenceEncoder(modules["use-dan"], "use-dan", threads=2).encode(SENTENCES)
    as_it_is = UniversalSentenceEncoder(modules["use-dan"], "use-dan", threads=0).encode(SENTENCES)
    np.testing.assert_array_equal(as_it_is, expected)


# -- what users save in place of a module ---------------------------------------------------------


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def change_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[5] ^= 1
    file.write_bytes(data)


DAMAGE = {
    "graph cut short": lambda folder: cut_short(folder / "saved_model.pb"),
    "graph empty": lambda folder: (folder / "saved_model.pb").write_bytes(b""),
    "no variables": lambda folder: shutil.rmtree(folder / "variables"),
    "variables cut short": lambda folder: cut_short(folder / "variables" / "variables.data-00000-of-00001"),
    "a wrong bit": lambda folder: change_a_bit(folder / "variables" / "variables.data-00000-of-00001"),
    "a web page": lambda folder: (folder / "variables" / "variables.index").write_text("<html>"),
    "no assets": lambda folder: shutil.rmtree(folder / "assets"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_module_gets_a_sentence(modules, tmp_path, damage) -> None:
    folder = shutil.copytree(modules["use-dan"], tmp_path / "module")
    damage(folder)
    with pytest.raises(InputError) as error:
        UniversalSentenceEncoder(folder, "use-dan").encode(["a dog"])
    assert str(error.value).startswith(f"{folder}: TensorFlow cannot load it: a file is missing, damaged")


def test_a_module_of_another_format_gets_a_sentence(tf, tmp_path) -> None:
    tf.saved_model.save(tf.Module(), str(tmp_path))
    (tmp_path / "tfhub_module.pb").write_bytes(official.FORMAT_3)
    with pytest.raises(InputError, match="TensorFlow cannot load it"):
        UniversalSentenceEncoder(tmp_path, "use-dan").encode(["a dog"])


def test_a_module_that_is_no_sentence_encoder_gets_a_sentence(modules, monkeypatch) -> None:
    monkeypatch.setattr(use_hub, "SIGNATURE", "images")
    with pytest.raises(InputError, match="has no signature 'images' from one text to vectors"):
        UniversalSentenceEncoder(modules["use-dan"], "use-dan").encode(["a dog"])


def module_folder(folder: Path) -> Path:
    """The two files by which a module is known, which will do until TensorFlow reads them."""
    folder.mkdir()
    (folder / "tfhub_module.pb").write_bytes(official.FORMAT_3)
    (folder / "saved_model.pb").write_bytes(b"\x08\x01")
    return folder


BAD_FOLDERS = {
    "missing": (shutil.rmtree, "module: is not a folder"),
    "no graph": (lambda folder: (folder / "saved_model.pb").unlink(), "module: has no saved_model.pb"),
    "no module": (lambda folder: (folder / "tfhub_module.pb").unlink(), "module: has no tfhub_module.pb"),
    "a web page": (
        lambda folder: (folder / "saved_model.pb").write_text("\n<!DOCTYPE html>"),
        "saved_model.pb: a web page was saved in its place",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), BAD_FOLDERS.values(), ids=BAD_FOLDERS)
def test_a_folder_that_is_no_module_gets_a_sentence(tmp_path, spoil, message) -> None:
    folder = module_folder(tmp_path / "module")
    spoil(folder)
    with pytest.raises(InputError) as error:
        UniversalSentenceEncoder(folder, "use-dan")
    assert message in str(error.value)
    assert "give the folder that the module's archive was unpacked into" in str(error.value)


def test_without_tensorflow_one_is_told_what_to_install(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(InputError, match=r'use-dan: needs TensorFlow, .*; pip install "tensorflow>=2.21"'):
        UniversalSentenceEncoder(module_folder(tmp_path / "module"), "use-dan")


def refuse(*_: object, **__: object) -> None:
    raise RuntimeError("nothing of the kind")


def stand_in(load: Callable[..., Any], set_threads: Callable[..., None] = lambda _: None) -> ModuleType:
    """What the encoder needs of TensorFlow until it computes, so that this can be seen where it is not installed."""
    tensorflow = ModuleType("tensorflow")
    tensorflow.__spec__ = ModuleSpec("tensorflow", None)
    tensorflow.config = SimpleNamespace(
        threading=SimpleNamespace(
            set_intra_op_parallelism_threads=set_threads, set_inter_op_parallelism_threads=set_threads
        )
    )
    tensorflow.device = nullcontext
    tensorflow.saved_model = SimpleNamespace(load=load)
    return tensorflow


def module_of(**signatures: tuple[int, list[str]]) -> Callable[..., Any]:
    """A loader of modules with these signatures: how many inputs, and the names of the outputs."""
    made = {
        name: SimpleNamespace(
            structured_input_signature=((), dict.fromkeys(map(str, range(n)))), structured_outputs=names
        )
        for name, (n, names) in signatures.items()
    }
    return lambda *_, **__: SimpleNamespace(signatures=made)


NO_SIGNATURE = "module: has no signature 'default' from one text to vectors"
REFUSED = {
    "damaged": (stand_in(refuse), "module: TensorFlow cannot load it: a file is missing, damaged or in another format"),
    "no signature": (stand_in(module_of(images=(1, ["default"]))), NO_SIGNATURE),
    "two texts": (stand_in(module_of(default=(2, ["default"]))), NO_SIGNATURE),
    "no vectors": (stand_in(module_of(default=(1, ["classes"]))), NO_SIGNATURE),
    "threads": (
        stand_in(refuse, refuse),
        "threads: TensorFlow runs already in this process, and not with 1; start a new",
    ),
}


@pytest.mark.parametrize(("tensorflow", "message"), REFUSED.values(), ids=REFUSED)
def test_what_tensorflow_refuses_gets_a_sentence(tmp_path, monkeypatch, tensorflow, message) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    with pytest.raises(InputError) as error:
        UniversalSentenceEncoder(module_folder(tmp_path / "module"), "use-dan").encode(["a dog"])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_threads_are_a_number(tmp_path) -> None:
    with pytest.raises(InputError, match="threads: -1 is not accepted"):
        UniversalSentenceEncoder(module_folder(tmp_path / "module"), "use-dan", threads=-1)


def test_tensorflow_is_not_imported_before_it_is_used() -> None:
    code = "import sys, lib.embedders, lib.embedders.use_hub; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
