"""ELMo: by hand, against the definition in plain NumPy, its invariances, and files that are not what they should be."""

from __future__ import annotations

import json
import math
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.embedders import elmo, elmo_files, elmo_model
from lib.embedders.elmo import Elmo
from lib.run.errors import InputError
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
    "tanh": {"activation": "tanh", "n_highway": 2},
    "no highway": {"n_highway": 0},
    "clipped": {"scale": 4.0, "clip": 0.5},
    "not clipped": {"scale": 4.0, "clip": None},
    "no skip connections": {"skip_connections": False},
    "short tokens": {"max_characters": 6},
    "filters as wide as tokens": {"max_characters": 8, "filters": ((1, 2), (8, 3))},
    "state as wide as cell": {"dim": 5, "projection_dim": 5},
}

# -- the definition, in double precision, one token and one step after the other ------------------------------


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def padded_characters(middle: list[int], length: int) -> list[int]:
    """Ids as the authors number them: 0 is for padded sentences, every other id is one more than its row."""
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


def word_vector(ids: list[int], weights: dict[str, np.ndarray], cnn: dict) -> np.ndarray:
    characters = np.vstack([np.zeros(cnn["embedding"]["dim"]), weights["char_embed"]])[ids]
    features = []
    for i, (width, number) in enumerate(cnn["filters"]):
        kernel, bias = weights[f"CNN/W_cnn_{i}"][0], weights[f"CNN/b_cnn_{i}"]
        windows = [characters[start : start + width] for start in range(len(ids) - width + 1)]
        features += [max(np.vdot(window, kernel[:, :, k]) for window in windows) + bias[k] for k in range(number)]
    x = np.tanh(features) if cnn["activation"] == "tanh" else np.maximum(features, 0)
    for i in range(cnn["n_highway"]):
        carry = sigmoid(x @ weights[f"CNN_high_{i}/W_carry"] + weights[f"CNN_high_{i}/b_carry"])
        transformed = np.maximum(x @ weights[f"CNN_high_{i}/W_transform"] + weights[f"CNN_high_{i}/b_transform"], 0)
        x = carry * transformed + (1 - carry) * x
    return x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]


def lstm(inputs: list[np.ndarray], weights: dict[str, np.ndarray], cell: str, options: dict) -> list[np.ndarray]:
    clip = options["cell_clip"] or math.inf
    h, c = np.zeros(options["projection_dim"]), np.zeros(options["dim"])
    outputs = []
    for x in inputs:
        i, j, f, o = np.split(np.concatenate([x, h]) @ weights[f"{cell}/W_0"] + weights[f"{cell}/B"], 4)
        c = np.clip(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), -clip, clip)
        h = np.clip((sigmoid(o) * np.tanh(c)) @ weights[f"{cell}/W_P_0"], -clip, clip)
        outputs.append(h)
    return outputs


def layers_of(number: int, vectors: list[np.ndarray], weights: dict[str, np.ndarray], lstms: dict) -> list[np.ndarray]:
    """The layers of one language model, float64[tokens, projection_dim] each; number 1 reads from the right."""
    order = -1 if number else 1
    inputs, layers = vectors[::order], []
    for layer in range(lstms["n_layers"]):
        outputs = lstm(inputs, weights, f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell", lstms)
        if layer > 0 and lstms["use_skip_connections"]:
            outputs = [out + x for out, x in zip(outputs, inputs, strict=True)]
        layers.append(np.array(outputs[::order]))
        inputs = outputs
    return layers


def by_definition(tokens: list[str], files: tuple[Path, Path]) -> np.ndarray:
    """Every layer with its boundaries; then the means."""
    options, weights = json.loads(files[0].read_text()), arrays_of(files[1])
    cnn = options["char_cnn"]
    words = [(256,), *(tuple(token.encode()) for token in tokens), (257,)]
    ids = {word: padded_characters([*word], cnn["max_characters_per_token"]) for word in words}
    distinct = {word: word_vector(ids[word], weights, cnn) for word in ids}
    vectors = [distinct[word] for word in words]
    forward, backward = (layers_of(number, vectors, weights, options["lstm"]) for number in (0, 1))
    layers = [np.hstack(halves) for halves in [(vectors, vectors), *zip(forward, backward, strict=True)]]
    return np.mean([layer[1:-1].mean(axis=0) for layer in layers], axis=0)


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_vectors_are_those_of_the_definition(tmp_path, configuration) -> None:
    files = write_elmo(tmp_path, **configuration)
    vectors = Elmo(*files, tokenize=str.split).encode(SENTENCES)
    assert vectors.dtype == np.float32
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        if sentence:
            expected = by_definition(sentence.split(), files)
            np.testing.assert_allclose(vector, expected, atol=1e-5 * max(1, np.abs(expected).max()))


def test_clipping_bites_where_it_is_tested(tmp_path) -> None:
    clipped, free = (CONFIGURATIONS[name] for name in ("clipped", "not clipped"))
    vectors = [
        Elmo(*write_elmo(tmp_path / name, **sizes), tokenize=str.split).encode(SENTENCES[:1])
        for name, sizes in (("clipped", clipped), ("free", free))
    ]
    assert np.abs(vectors[0] - vectors[1]).max() > 0.1


# -- by hand ---------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    return write_elmo(tmp_path)


@pytest.fixture
def tiny(files) -> Elmo:
    return Elmo(*files, tokenize=str.split)


def fill(file: Path, **values: float) -> None:
    """Set every dataset to zero, but those whose last name is given."""
    with h5py.File(file, "r+") as weights:
        for name, _ in elmo_files.expected_shapes(elmo_files.read_options(file.with_name("options.json"))):
            weights[name][...] = values.get(name.split("/")[-1], 0)


def test_only_the_word_layer_speaks_when_the_lstms_are_silent(files) -> None:
    fill(files[1], b_proj=6.0)
    np.testing.assert_allclose(Elmo(*files).encode(["a few words", "a"]), 2.0, rtol=1e-6)  # (6 + 0 + 0) / 3


def test_two_steps_of_an_lstm_by_hand(tmp_path) -> None:
    # Candidates of tanh(B) alone, every gate at sigmoid(B) but forget at sigmoid(B + 1): the boundary is step 1.
    files = write_elmo(tmp_path, dim=1, projection_dim=1, skip_connections=False)
    fill(files[1], B=0.5, W_P_0=1.0)
    gate, keep = sigmoid(0.5), sigmoid(1.5)
    cell = keep * (gate * math.tanh(0.5)) + gate * math.tanh(0.5)
    layer = gate * math.tanh(cell)
    np.testing.assert_allclose(Elmo(*files).encode(["a"]), (0 + layer + layer) / 3, rtol=1e-6)


def test_the_two_halves_swap_when_weights_and_words_are_mirrored(files) -> None:
    with h5py.File(files[1], "r+") as weights:
        weights["char_embed"][257] = weights["char_embed"][256]
        del weights["RNN_1"]
        weights.copy("RNN_0", "RNN_1")
    forward, backward = Elmo(*files, tokenize=str.split).encode(["a b c", "c b a"]).reshape(2, 2, -1)
    np.testing.assert_allclose(forward, backward[::-1], atol=1e-6)
    assert np.abs(forward[0] - forward[1]).max() > 1e-3


# -- what a vector does and does not depend on -----------------------------------------------------------------


def test_no_vector_depends_on_its_batch_its_place_or_an_earlier_call(tiny) -> None:
    together = tiny.encode(SENTENCES)
    alone = np.vstack([tiny.encode([sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(tiny.encode(SENTENCES[::-1]), together[::-1], atol=1e-6)
    np.testing.assert_array_equal(tiny.encode(SENTENCES), together)
    np.testing.assert_allclose(tiny.encode(SENTENCES, batch_size=2), together, atol=1e-6)


def test_no_vector_depends_on_how_the_work_is_divided(tiny, monkeypatch) -> None:
    together = tiny.encode(SENTENCES)
    monkeypatch.setattr(elmo, "TOKENS_PER_BATCH", 1)
    for name in ("WORDS_AT_A_TIME", "GATES_AT_A_TIME"):
        monkeypatch.setattr(elmo_model, name, 1)
    np.testing.assert_allclose(tiny.encode(SENTENCES), together, atol=1e-6)


def test_empty_sentences_are_zero_and_none_gives_no_rows(tiny) -> None:
    np.testing.assert_array_equal(tiny.encode(["", " \t\n"]), np.zeros((2, 8)))
    assert tiny.encode([]).shape == (0, tiny.dim) == (0, 8)


def test_the_last_word_of_a_very_long_sentence_counts(tiny) -> None:
    words = "word " * 3000
    first, second = tiny.encode([words + "x", words + "y"]) * 3001
    assert np.abs(first - second).max() > 0.01


def test_of_a_long_token_the_bytes_that_fit_count(tiny) -> None:
    head = "é" * 24  # 48 bytes
    same, longer, other = tiny.encode([head, head + "tail", head[:-1] + "e"])
    np.testing.assert_array_equal(same, longer)
    assert np.abs(same - other).max() > 1e-4


def test_case_is_kept_and_tokens_are_those_of_spacy(files) -> None:
    spacy_tokens, given_tokens = Elmo(*files), Elmo(*files, tokenize=str.split)
    np.testing.assert_array_equal(spacy_tokens.encode(["Don't go."]), given_tokens.encode(["Do n't go ."]))
    upper, lower = spacy_tokens.encode(["Apple", "apple"])
    assert np.abs(upper - lower).max() > 1e-4


def test_bfloat16_is_near_and_auto_is_float32(files) -> None:
    exact, near, auto = (Elmo(*files, precision=kind).encode(SENTENCES) for kind in ("float32", "bfloat16", "auto"))
    np.testing.assert_array_equal(exact, auto)
    np.testing.assert_allclose(near, exact, atol=0.03 * np.abs(exact).max())
    assert near.dtype == np.float32
    assert not np.array_equal(near, exact)


def test_float64_files_are_read_as_float32(files, tiny) -> None:
    before = tiny.encode(SENTENCES)
    with h5py.File(files[1], "r+") as weights:
        projection = weights["CNN_proj/W_proj"][...].astype(np.float64)
        del weights["CNN_proj/W_proj"]
        weights["CNN_proj/W_proj"] = projection
    np.testing.assert_array_equal(Elmo(*files, tokenize=str.split).encode(SENTENCES), before)


def test_settings_tell_apart_whatever_changes_a_vector(tmp_path) -> None:
    files = write_elmo(tmp_path / "one")
    other_weights = write_elmo(tmp_path / "two", seed=1)[1]
    other_options = write_elmo(tmp_path / "three", clip=2)[0]
    made = [
        Elmo(*files), Elmo(files[0], other_weights), Elmo(other_options, files[1]),
        Elmo(*files, tokenize=str.split), Elmo(*files, precision="bfloat16"),
    ]  # fmt: skip
    assert len({json.dumps(embedder.settings) for embedder in made}) == len(made)
    assert Elmo(*files, name="x", device="cpu").settings == made[0].settings
    write_elmo(tmp_path / "one", seed=2)
    assert Elmo(*files).settings not in [embedder.settings for embedder in made[1:]]
    assert Elmo(*files).settings["weights"] != Elmo(files[0], other_weights).settings["weights"]


@settings(max_examples=50)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_wild_text_has_finite_vectors_that_do_not_depend_on_their_neighbors(wild_elmo, sentences) -> None:
    vectors = wild_elmo.encode(sentences)
    assert vectors.shape == (len(sentences), 8)
    assert np.isfinite(vectors).all()
    for sentence, vector in zip(sentences, vectors, strict=True):
        np.testing.assert_allclose(wild_elmo.encode([sentence])[0], vector, atol=1e-6)


@pytest.fixture(scope="module")
def wild_elmo(tmp_path_factory) -> Elmo:
    return Elmo(*write_elmo(tmp_path_factory.mktemp("elmo")))


# -- files that are not what they should be --------------------------------------------------------------------


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:3000])


def edit(path: str, value: object):
    """A function that sets a field of an options file, or takes it out."""

    def change(file: Path) -> None:
        document = json.loads(file.read_text())
        *groups, last = path.split(".")
        inner = document
        for group in groups:
            inner = inner[group]
        if value is None:
            inner.pop(last, None)
        else:
            inner[last] = value
        file.write_text(json.dumps(document))

    return change


def replace(name: str, value: object):
    """A function that puts another array in place of a dataset, or takes it out."""

    def change(file: Path) -> None:
        with h5py.File(file, "r+") as weights:
            del weights[name]
            if value is not None:
                weights[name] = value

    return change


def never_written(file: Path) -> None:
    """A dataset that has its shape and type, and no numbers."""
    with h5py.File(file, "r+") as weights:
        del weights["char_embed"]
        weights.create_dataset("char_embed", (261, 4), "f4", chunks=(261, 4))


HTML = "\n<!DOCTYPE html><html><body>Sign in</body></html>"
BAD_OPTIONS = [
    (Path.unlink, "no such file; give the path of an ELMo model's options.json"),
    (lambda file: file.write_text(HTML), "a web page in place of an ELMo model's options.json"),
    (lambda file: file.write_text('{"lstm": '), "not JSON (Expecting value"),
    (lambda file: file.write_bytes(b"\xff\xfe\x00"), "not JSON ('utf-8' codec"),
    (lambda file: file.write_text("[" * 100_000), "not JSON (maximum recursion"),
    (lambda file: file.write_text("[1]"), "holds a list; give the options.json"),
    (edit("lstm.dim", None), "lstm.dim is missing; an ELMo options file has a whole number above 0 there"),
    (edit("lstm", []), "lstm.dim is missing"),
    (edit("lstm.n_layers", 0), "lstm.n_layers is 0"),
    (edit("lstm.n_layers", 10**9), "has no dataset RNN_0/RNN/MultiRNNCell/Cell2/LSTMCell/W_0"),
    (edit("lstm.projection_dim", "4"), "lstm.projection_dim is '4'"),
    (edit("lstm.cell_clip", -3), "lstm.cell_clip is -3; an ELMo options file has a number above 0, or null"),
    (edit("lstm.proj_clip", math.nan), "lstm.proj_clip is nan"),
    (edit("lstm.use_skip_connections", None), "lstm.use_skip_connections is missing"),
    (edit("bidirectional", False), "bidirectional is False"),
    (edit("char_cnn.activation", "gelu"), "char_cnn.activation is 'gelu'; an ELMo options file has \"relu\" or"),
    (edit("char_cnn.n_characters", 60), "char_cnn.n_characters is 60; an ELMo options file has 261 or 262 there"),
    (edit("char_cnn.max_characters_per_token", 2), "char_cnn.max_characters_per_token is 2"),
    (edit("char_cnn.filters", [[1, 3], [60, 4]]), "pairs [width of 1 to 50, number] there"),
    (edit("char_cnn.filters", [[1, 3], 2]), "char_cnn.filters is [[1, 3], 2]"),
    (edit("char_cnn.n_highway", -1), "char_cnn.n_highway is -1"),
    (edit("char_cnn.embedding", {}), "char_cnn.embedding.dim is missing"),
    (edit("lstm.dim", 8), "W_0 has shape (8, 28) where the options ask for (8, 32)"),
    (
        edit("lstm.n_layers", 1),
        "has RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell, which the options do not know; give weights",
    ),
    (edit("char_cnn.n_highway", 0), "has CNN_high_0, which the options do not know; give weights and options of the"),
]
BAD_WEIGHTS = [
    (Path.unlink, "no such file; give the path of an ELMo model's weights.hdf5"),
    (lambda file: file.write_text(HTML), "a web page in place of an ELMo model's weights.hdf5"),
    (lambda file: file.write_bytes(b""), "cannot be read as HDF5"),
    (lambda file: file.write_bytes(b"PK\x03\x04" * 100), "cannot be read as HDF5"),
    (cut, "cannot be read as HDF5"),
    (replace("char_embed", None), "has no dataset char_embed of shape (261, 4)"),
    (replace("CNN/W_cnn_1", None), "has no dataset CNN/W_cnn_1 of shape (1, 2, 4, 4)"),
    (replace("CNN", np.zeros(3)), "has no dataset CNN/W_cnn_0"),
    (replace("CNN/W_cnn_0", np.zeros((1, 1, 4, 9), "f4")), "has shape (1, 1, 4, 9) where the options ask for (1, 1, 4"),
    (replace("CNN_proj/b_proj", np.zeros(4, "i4")), "dataset CNN_proj/b_proj holds int32; give floating-point weights"),
    (replace("CNN_proj/b_proj", np.array(["a"] * 4, "S1")), "dataset CNN_proj/b_proj holds |S1"),
    (replace("CNN_proj/b_proj", np.array([0, 1, np.nan, 2])), "dataset CNN_proj/b_proj holds NaN or infinity"),
    (replace("CNN_proj/b_proj", np.array([0, 1, np.inf, 2])), "dataset CNN_proj/b_proj holds NaN or infinity"),
    (never_written, "dataset char_embed holds less than its shape (261, 4) takes; download the file again"),
    (
        replace("CNN_proj/W_proj", np.full((12, 4), 3e38, "f4")),
        "its numbers are so large that vectors are NaN or infinite",
    ),
]


def refused(files: tuple[Path, Path]) -> str:
    with pytest.raises(InputError) as error:
        Elmo(*files, tokenize=str.split).encode(["a"])
    return str(error.value)


@pytest.mark.parametrize(("spoil", "message"), BAD_OPTIONS)
def test_bad_options_get_a_sentence(files, spoil, message) -> None:
    spoil(files[0])
    said = refused(files)
    assert message in said
    assert said.startswith(tuple(map(str, files)))


@pytest.mark.parametrize(("spoil", "message"), BAD_WEIGHTS)
def test_bad_weights_get_a_sentence(files, spoil, message) -> None:
    spoil(files[1])
    said = refused(files)
    assert message in said
    assert said.startswith(str(files[1]))


def test_the_two_files_the_wrong_way_round_get_a_sentence(files) -> None:
    assert refused(files[::-1]).startswith(f"{files[1]}: not JSON")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "float16"}, "precision: 'float16' is not known; did you mean"),
        ({"device": "gpu"}, "device: 'gpu' is not known"),
    ],
)
def test_bad_arguments_get_a_sentence(files, options, message) -> None:
    with pytest.raises(InputError) as error:
        Elmo(*files, **options)
    assert message in str(error.value)


def test_a_gpu_that_is_not_there_gets_a_sentence(files, monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match="device: PyTorch finds no 'cuda' here; give 'cpu' or 'auto'"):
        Elmo(*files, device="cuda").encode(["a"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "lstm", "lstm.dim", "lstm.n_layers", "lstm.cell_clip", "lstm.use_skip_connections", "char_cnn", "char_cnn.filters",
    "char_cnn.n_highway", "char_cnn.n_characters", "char_cnn.embedding", "bidirectional",
]  # fmt: skip


@settings(max_examples=50)
@given(path=st.sampled_from(FIELDS), value=JSON)
def test_wild_options_are_read_or_refused_in_a_sentence(wild_elmo, path, value) -> None:
    file = wild_elmo.options_file.with_name("wild.json")
    file.write_bytes(wild_elmo.options_file.read_bytes())
    edit(path, value)(file)
    sentence = ""
    try:
        elmo_files.check_weights(wild_elmo.weights_file, elmo_files.read_options(file))
    except InputError as error:
        sentence = str(error)
    assert not sentence or sentence.startswith((f"{file}: ", f"{wild_elmo.weights_file}: "))


# -- the official files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stem", "dim"),
    [
        ("2x1024_128_2048cnn_1xhighway", 256),
        ("2x4096_512_2048cnn_2xhighway", 1024),
        ("2x4096_512_2048cnn_2xhighway_5.5B", 1024),
    ],
)
def test_the_official_models_know_a_paraphrase(data_file, stem, dim) -> None:
    options, weights = (data_file(f"elmo/elmo_{stem}_{ending}") for ending in ("options.json", "weights.hdf5"))
    vectors = Elmo(options, weights).encode(
        ["The company's shares fell sharply on Monday.", "Its stock dropped steeply on Monday.", "He plays the violin."]
    )
    assert vectors.shape == (3, dim)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2]
