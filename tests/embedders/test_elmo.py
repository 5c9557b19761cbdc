"""ELMo: by hand, against plain NumPy, its invariances, and wrong files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.special import expit

from lib.embedders import elmo
from lib.embedders.elmo import Elmo
from tests.official.elmo import write_elmo

LONG_TOKEN = "0123456789" * 9
SENTENCES = [
    "The quick brown fox jumps over the lazy dog .",
    "a",
    "",
    "naïve café , 日本語 \U0001f469\u200d\U0001f467 !",
    f"{LONG_TOKEN} and b",
    " ".join(["on", "and"] * 40),
    "the quick brown fox",
]
CONFIGURATIONS = {
    "small": {},
    "original": {"n_highway": 2},
    "tanh": {"activation": "tanh", "n_highway": 0},
    "clipped": {"scale": 4.0, "clip": 0.5},
    "not clipped": {"scale": 4.0, "clip": None},
    "no skip connections": {"skip_connections": False},
    "short tokens": {"max_characters": 6},
    "filters as wide as tokens": {"max_characters": 8, "filters": ((1, 2), (8, 3))},
}

# -- the definition, in double precision, one token and one step after the other -------


def padded_characters(middle: list[int], length: int) -> list[int]:
    """Ids as the authors number them.

    0 is for padded sentences; every other id is one more than its row.
    """
    marked = [258, *middle[: length - 2], 259]
    return [id + 1 for id in marked + [260] * (length - len(marked))]


def arrays_of(file: Path) -> dict[str, np.ndarray]:
    """Every dataset of an HDF5 file by its path."""
    arrays = {}

    def keep(name: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[...].astype(np.float64)

    with h5py.File(file) as weights:
        weights.visititems(keep)
    return arrays


def word_vector(
    ids: list[int], weights: dict[str, np.ndarray], cnn: dict
) -> np.ndarray:
    characters = np.vstack([np.zeros(cnn["embedding"]["dim"]), weights["char_embed"]])[
        ids
    ]
    features = []
    for i, (width, number) in enumerate(cnn["filters"]):
        kernel, bias = weights[f"CNN/W_cnn_{i}"][0], weights[f"CNN/b_cnn_{i}"]
        windows = [
            characters[start : start + width] for start in range(len(ids) - width + 1)
        ]
        features += [
            max(np.vdot(window, kernel[:, :, k]) for window in windows) + bias[k]
            for k in range(number)
        ]
    x = np.tanh(features) if cnn["activation"] == "tanh" else np.maximum(features, 0)
    for i in range(cnn["n_highway"]):
        carry = expit(
            x @ weights[f"CNN_high_{i}/W_carry"] + weights[f"CNN_high_{i}/b_carry"]
        )
        transformed = np.maximum(
            x @ weights[f"CNN_high_{i}/W_transform"]
            + weights[f"CNN_high_{i}/b_transform"],
            0,
        )
        x = carry * transformed + (1 - carry) * x
    return x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]


def lstm(
    inputs: list[np.ndarray], weights: dict[str, np.ndarray], cell: str, options: dict
) -> list[np.ndarray]:
    clip = options["cell_clip"] or math.inf
    h, c = np.zeros(options["projection_dim"]), np.zeros(options["dim"])
    outputs = []
    for x in inputs:
        i, j, f, o = np.split(
            np.concatenate([x, h]) @ weights[f"{cell}/W_0"] + weights[f"{cell}/B"], 4
        )
        c = np.clip(expit(f + 1) * c + expit(i) * np.tanh(j), -clip, clip)
        h = np.clip((expit(o) * np.tanh(c)) @ weights[f"{cell}/W_P_0"], -clip, clip)
        outputs.append(h)
    return outputs


def layers_of(
    number: int, vectors: list[np.ndarray], weights: dict[str, np.ndarray], lstms: dict
) -> list[np.ndarray]:
    """The layers of one language model, float64[tokens, projection_dim] each.

    Model number 1 reads from the right.
    """
    order = -1 if number else 1
    inputs, layers = vectors[::order], []
    for layer in range(lstms["n_layers"]):
        outputs = lstm(
            inputs,
            weights,
            f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell",
            lstms,
        )
        if layer > 0 and lstms["use_skip_connections"]:
            outputs = [out + x for out, x in zip(outputs, inputs, strict=True)]
        layers.append(np.array(outputs[::order]))
        inputs = outputs
    return layers


def by_definition(tokens: list[str], files: tuple[Path, Path]) -> np.ndarray:
    """Every layer with its boundaries; then the means."""
    options = json.loads(files[0].read_text())
    weights = arrays_of(files[1])
    cnn = options["char_cnn"]
    words = [(256,), *(tuple(token.encode()) for token in tokens), (257,)]
    ids = {
        word: padded_characters([*word], cnn["max_characters_per_token"])
        for word in words
    }
    distinct = {word: word_vector(ids[word], weights, cnn) for word in ids}
    vectors = [distinct[word] for word in words]
    forward, backward = (
        layers_of(number, vectors, weights, options["lstm"]) for number in (0, 1)
    )
    layers = [
        np.hstack(halves)
        for halves in [(vectors, vectors), *zip(forward, backward, strict=True)]
    ]
    return np.mean([layer[1:-1].mean(axis=0) for layer in layers], axis=0)


@pytest.mark.parametrize(
    "configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys()
)
@pytest.mark.parametrize("batch", [1, 10_000])
def test_vectors_are_those_of_the_definition_whatever_the_batch(
    tmp_path, monkeypatch, configuration, batch
) -> None:
    monkeypatch.setattr(elmo, "TOKENS_PER_BATCH", batch)
    files = write_elmo(tmp_path, **configuration)
    vectors = Elmo(*files, tokenize=str.split).encode(SENTENCES)
    assert vectors.dtype == np.float32
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        expected = np.zeros(len(vector))
        if sentence:
            expected = by_definition(sentence.split(), files)
        tolerance = 1e-5 * max(1, np.abs(expected).max())
        np.testing.assert_allclose(vector, expected, atol=tolerance)


class Endless(str):
    """A token for which no memory is left."""

    def encode(self, *_) -> bytes:
        raise MemoryError


def test_what_fails_while_sentences_are_encoded_is_not_blamed_on_the_files(
    tmp_path,
) -> None:
    options, weights = write_elmo(tmp_path)
    embedder = Elmo(options, weights, tokenize=lambda sentence: [Endless(sentence)])
    with pytest.raises(MemoryError):
        embedder.encode(["a"])
