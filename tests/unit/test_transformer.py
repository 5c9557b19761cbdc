"""Transformers from folders in the official layout: against plain NumPy, whatever the batch, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file
from scipy.special import erf, softmax

from lib import embedders, similarity
from lib.corpora import text
from lib.embedders.transformer import Transformer
from lib.run.errors import InputError
from tests.official.transformers import write_bert, write_gpt

SENTENCES = [
    "The cat",
    "the cat, again: a cat!",
    "",
    "I don't (quite) know...",
    "x",
    "the the " * 9,
    "Do cats do that?",
]
LONG = "a cat and the dog do not go there " * 4  # more than 40 tokens in both models


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory) -> Path:
    return write_bert(tmp_path_factory.mktemp("official") / "bert-base-cased")


@pytest.fixture(scope="module")
def gpt_folder(tmp_path_factory) -> Path:
    return write_gpt(tmp_path_factory.mktemp("official") / "openai-gpt")


@pytest.fixture
def bert(bert_folder) -> Callable[..., Transformer]:
    return lambda pooling="avg", **options: exact(f"bert-base-{pooling}", bert_folder, pooling, **options)


@pytest.fixture
def gpt(gpt_folder) -> Callable[..., Transformer]:
    return lambda pooling="avg", **options: exact(f"gpt-{pooling}", gpt_folder, pooling, **options)


def exact(name: str, folder: Path, pooling: str, **options) -> Transformer:
    return Transformer(name, folder, pooling, **({"precision": "float32", "device": "cpu"} | options))


@pytest.fixture
def copied(tmp_path) -> Callable[[Path], Path]:
    return lambda folder: Path(shutil.copytree(folder, tmp_path / folder.name))


# -- the definition, in NumPy --------------------------------------------------------------------


def normalized(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, epsilon: float) -> np.ndarray:
    centered = x - x.mean(axis=1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + epsilon) * scale + shift


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, heads: int, causal: bool) -> np.ndarray:
    """Vaswani et al. 2017, equation 1, for each head; float64[tokens, hidden]."""
    parts = []
    for q, k, v in zip(*(np.split(matrix, heads, axis=1) for matrix in (query, key, value)), strict=True):
        scores = q @ k.T / np.sqrt(q.shape[1])
        later = np.triu(np.ones_like(scores, bool), k=1) & causal
        parts.append(softmax(np.where(later, -np.inf, scores), axis=1) @ v)
    return np.hstack(parts)


def bert_layers(weights: dict[str, np.ndarray], config: dict, ids: list[int]) -> np.ndarray:
    """The last hidden layer of BERT (Devlin et al. 2019), float64[tokens, hidden]."""

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ weights[f"bert.{name}.weight"].T + weights[f"bert.{name}.bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        scale, shift = (weights[f"bert.{name}.LayerNorm.{part}"] for part in ("gamma", "beta"))
        return normalized(x, scale, shift, config["layer_norm_eps"])

    words, positions, types = (
        weights[f"bert.embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
    )
    x = norm("embeddings", words[ids] + positions[: len(ids)] + types[0])
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        projected = (dense(f"{layer}.attention.self.{part}", x) for part in ("query", "key", "value"))
        attended = attention(*projected, config["num_attention_heads"], causal=False)
        x = norm(f"{layer}.attention.output", x + dense(f"{layer}.attention.output.dense", attended))
        inner = dense(f"{layer}.intermediate.dense", x)
        inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
        x = norm(f"{layer}.output", x + dense(f"{layer}.output.dense", inner))
    return x


def gpt_layers(weights: dict[str, np.ndarray], config: dict, ids: list[int]) -> np.ndarray:
    """The last hidden layer of GPT (Radford et al. 2018, equation 2), float64[tokens, hidden]."""

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        return normalized(x, weights[f"{name}.weight"], weights[f"{name}.bias"], config["layer_norm_epsilon"])

    x = weights["tokens_embed.weight"][ids] + weights["positions_embed.weight"][: len(ids)]
    for i in range(config["n_layer"]):
        attended = attention(*np.split(dense(f"h.{i}.attn.c_attn", x), 3, axis=1), config["n_head"], causal=True)
        x = norm(f"h.{i}.ln_1", x + dense(f"h.{i}.attn.c_proj", attended))
        inner = dense(f"h.{i}.mlp.c_fc", x)
        inner = inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3))) / 2
        x = norm(f"h.{i}.ln_2", x + dense(f"h.{i}.mlp.c_proj", inner))
    return x


def by_definition(folder: Path, layers: Callable, symbols: list[str]) -> np.ndarray:
    """The last hidden layer for these subwords; float64[tokens, hidden]."""
    weights = {name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()}
    ids = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    config = json.loads((folder / "config.json").read_text())
    return layers(weights, config, [ids[symbol] for symbol in symbols])


# Subwords by hand. BERT: cased, pieces behind the first of a word are marked. GPT: spaCy's words in lower case.
PIECES = {
    "The cat": ["[CLS]", "The", "cat", "[SEP]"],
    "Cat, the!": ["[CLS]", "C", "##a", "##t", ",", "the", "!", "[SEP]"],
    "don't": ["[CLS]", "d", "##o", "##n", "'", "t", "[SEP]"],
    "": ["[CLS]", "[SEP]"],
}
PAIRS = {
    "The cat": ["the</w>", "cat</w>"],
    "CAT, a tax!": ["cat</w>", ",</w>", "a</w>", "t", "a", "x</w>", "!</w>"],
    "Don't": ["do</w>", "n't</w>"],
    "wait\u2014it\u2019s": ["w", "a", "i", "t</w>", "-</w>", "i", "t</w>", "'", "s</w>"],
    "well!!?": ["w", "e", "l", "l</w>", "!</w>", "!</w>", "?</w>"],
    "caf\xe9": ["ca", "f", "<unk>"],
}


@pytest.mark.parametrize("sentence", PIECES)
def test_bert_is_its_definition_in_numpy(bert, bert_folder, sentence) -> None:
    hidden = by_definition(bert_folder, bert_layers, PIECES[sentence])
    for pooling, expected in [("cls", hidden[0]), ("last", hidden[-1]), ("avg", hidden.mean(axis=0))]:
        vectors = bert(pooling).encode([sentence])
        np.testing.assert_allclose(vectors[0], expected, atol=1e-5)
        assert vectors.dtype == np.float32


@pytest.mark.parametrize("sentence", PAIRS)
def test_gpt_is_its_definition_in_numpy(gpt, gpt_folder, sentence) -> None:
    hidden = by_definition(gpt_folder, gpt_layers, PAIRS[sentence])
    np.testing.assert_allclose(gpt("last").encode([sentence])[0], hidden[-1], atol=1e-5)
    np.testing.assert_allclose(gpt("avg").encode([sentence])[0], hidden.mean(axis=0), atol=1e-5)


# -- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bert", "gpt"])
@pytest.mark.parametrize("position", [0, -1])
def test_a_vector_does_not_depend_on_its_batch(request, model, position) -> None:
    make = request.getfixturevalue(model)
    sentences = [*SENTENCES, LONG]
    sentences.insert(position, "the end" if position else LONG)
    embedder = make("avg")
    together = embedder.encode_with_companions(sentences)
    for companion, vectors in zip([embedder, *embedder.companions], together, strict=True):
        alone = np.vstack([companion.encode([sentence]) for sentence in sentences])
        np.testing.assert_allclose(vectors, alone, atol=1e-5)
        np.testing.assert_allclose(companion.encode(sentences[::-1], batch_size=3)[::-1], vectors, atol=1e-5)


def test_in_bfloat16_the_batch_changes_a_vector_by_rounding_only() -> None:
    embedder = embedders.load("minilm-avg", precision="bfloat16", device="cpu")
    sentences = [*SENTENCES, LONG]
    together, full = embedder.encode(sentences), embedders.load("minilm-avg", precision="float32").encode(sentences)
    for vectors in (together, np.vstack([embedder.encode([sentence]) for sentence in sentences])):
        read = np.linalg.norm(full, axis=1) > 0
        assert similarity.similarities(vectors[read], full[read]).min() > 0.9999


def test_the_number_of_threads_changes_no_byte_and_is_left_as_it_was(bert) -> None:
    before = torch.get_num_threads()
    sentences = [f"{sentence} {i}" for i in range(60) for sentence in SENTENCES]
    found = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(bert().encode(sentences))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)


def test_companions_come_out_of_one_pass_as_they_would_alone(gpt, bert) -> None:
    for first, other in [(gpt("last"), gpt("avg")), (bert("avg"), bert("cls"))]:
        assert [(one.name, one.settings) for one in first.companions] == [(other.name, other.settings)]
        both = first.encode_with_companions(SENTENCES)
        np.testing.assert_array_equal(both[0], first.encode(SENTENCES))
        np.testing.assert_array_equal(both[1], other.encode(SENTENCES))


# -- text -----------------------------------------------------------------------------------------


def test_an_empty_sentence_is_special_tokens_to_bert_and_nothing_to_gpt(bert, gpt) -> None:
    empty = ["", " ", "\t\n"]
    for pooling in ("last", "avg"):
        np.testing.assert_array_equal(gpt(pooling).encode(empty), 0)
    vectors = bert("avg").encode(empty)
    assert np.abs(vectors).max() > 0.1
    np.testing.assert_allclose(vectors, vectors[[0, 0, 0]], atol=1e-6)


def test_bert_keeps_the_case_even_without_a_tokenizer_config_and_gpt_does_not(bert_folder, copied, gpt) -> None:
    folder = copied(bert_folder)
    (folder / "tokenizer_config.json").unlink()
    upper, lower = exact("bert", folder, "avg").encode(["The", "the"])
    assert np.abs(upper - lower).max() > 0.1
    np.testing.assert_array_equal(*gpt().encode(["The", "the"]))


def test_a_bert_with_a_plain_vocabulary_only_is_read_as_its_config_says(bert_folder, copied, bert) -> None:
    folder = copied(bert_folder)
    (folder / "tokenizer.json").unlink()
    np.testing.assert_allclose(exact("bert", folder, "avg").encode(SENTENCES), bert().encode(SENTENCES), atol=1e-6)


def test_a_gpt_with_vocabulary_and_merges_only_is_read(gpt_folder, copied, gpt) -> None:
    folder = copied(gpt_folder)
    (folder / "tokenizer.json").unlink()
    np.testing.assert_allclose(exact("gpt", folder, "avg").encode(SENTENCES), gpt().encode(SENTENCES), atol=1e-6)


def test_words_may_be_cut_by_another_tokenizer(bert, gpt) -> None:
    by_space = gpt("avg", tokenize=text.whitespace_tokens)
    np.testing.assert_array_equal(by_space.encode(["do n't"]), gpt("avg").encode(["don't"]))
    assert np.abs(by_space.encode(["don't"]) - gpt("avg").encode(["don't"])).max() > 0.1
    np.testing.assert_array_equal(bert(tokenize=text.word_tokens).encode(["The cat"]), bert().encode(["The cat"]))
    assert by_space.settings != gpt("avg").settings


@pytest.mark.parametrize("model", ["bert", "gpt"])
def test_a_long_sentence_is_cut_at_the_positions_of_the_model(request, model) -> None:
    embedder = request.getfixturevalue(model)()
    ends = 2 if model == "bert" else 0
    fitting, one_more = (" ".join("a" * length) for length in (40 - ends, 41 - ends))
    np.testing.assert_array_equal(*embedder.encode([fitting, one_more]))
    assert np.abs(np.subtract(*embedder.encode([fitting, fitting[2:]]))).max() > 1e-4


def test_sentence_transformers_own_length_is_the_default(bert_folder, copied, bert) -> None:
    folder = copied(bert_folder)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8, "do_lower_case": false}')
    embedder = exact("bert", folder, "avg")
    np.testing.assert_allclose(*embedder.encode(["a a a a a a", "a a a a a a a"]), atol=1e-6)
    assert embedder.settings != bert().settings


def test_a_prompt_is_put_before_each_sentence(bert) -> None:
    asking = bert(prompt="The ")
    np.testing.assert_allclose(asking.encode(["cat", "a"]), bert().encode(["The cat", "The a"]), atol=1e-6)
    assert asking.settings != bert().settings


# -- precision --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bert", "gpt"])
def test_bfloat16_is_near_float32_and_has_settings_of_its_own(request, model) -> None:
    make = request.getfixturevalue(model)
    full, lowered = make(), make(precision="bfloat16")
    a, b = full.encode(SENTENCES), lowered.encode(SENTENCES)
    assert 0 < np.abs(a - b).max() < 0.05 * np.abs(a).max()
    assert b.dtype == np.float32
    assert full.settings["precision"] != lowered.settings["precision"]
    np.testing.assert_array_equal(full.encode(SENTENCES), a)  # the two do not share weights


# -- folders ----------------------------------------------------------------------------------------


def tiny_model(kind: str, folder: Path, like: Path, **options) -> Path:
    """A model of transformers as it saves itself, with the tokenizer of another folder."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.AutoConfig.from_pretrained(like, initializer_range=0.5)
        getattr(transformers, kind)(config).save_pretrained(folder, **options)
    for file in like.glob("*token*"):
        shutil.copy(file, folder)
    return folder


def test_a_fine_tuned_classifier_is_read_as_its_encoder(bert_folder, tmp_path) -> None:
    folder = tiny_model("BertForSequenceClassification", tmp_path / "bert-ft", bert_folder)
    classifier = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    batch = transformers.AutoTokenizer.from_pretrained(folder)(["The cat"], return_tensors="pt")
    with torch.inference_mode():
        expected = classifier.bert(**batch).last_hidden_state[0, 0]
    np.testing.assert_allclose(exact("bert-ft-cls", folder, "cls").encode(["The cat"])[0], expected, atol=1e-6)


def test_reading_prints_nothing_and_draws_no_random_number(bert_folder, tmp_path, capfd, caplog) -> None:
    folder = tiny_model("BertForMaskedLM", tmp_path / "without-pooler", bert_folder)
    before = torch.random.get_rng_state()
    capfd.readouterr()
    caplog.clear()
    exact("bert", folder, "avg").encode(["The cat"])
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    assert torch.equal(torch.random.get_rng_state(), before)


def test_weights_in_several_files_are_read(bert_folder, tmp_path) -> None:
    whole = tiny_model("BertModel", tmp_path / "whole", bert_folder)
    parts = tiny_model("BertModel", tmp_path / "parts", bert_folder, max_shard_size="10KB")
    assert not (parts / "model.safetensors").exists()
    a, b = (exact("bert", folder, "avg") for folder in (whole, parts))
    np.testing.assert_array_equal(a.encode(SENTENCES), b.encode(SENTENCES))
    assert a.settings != b.settings


def test_a_folder_whose_weights_change_is_read_again_under_another_fingerprint(bert_folder, copied) -> None:
    folder = copied(bert_folder)
    embedder = exact("bert", folder, "avg")
    before, vectors = embedder.settings, embedder.encode(SENTENCES)
    write_bert(folder, seed=1)
    assert {name for name, value in embedder.settings.items() if before[name] != value} == {"files"}
    assert np.abs(embedder.encode(SENTENCES) - vectors).max() > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "max"}, "pooling: 'max' is not known"),
        ({"precision": "half"}, "precision: 'half' is not known"),
        ({"device": "gpu"}, "device: 'gpu' is not known"),
    ],
)
def test_bad_options_get_a_sentence(bert_folder, options, message) -> None:
    with pytest.raises(InputError, match=message):
        Transformer("bert", bert_folder, **options)
