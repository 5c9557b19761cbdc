"""Transformers from folders in the official layout: tokens by hand and pooling.

The batch makes no difference.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from lib import embedders, similarity
from lib.embedders.bert import pack
from lib.embedders.transformer import Transformer
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
    return lambda pooling="avg", **options: exact(
        f"bert-base-{pooling}", bert_folder, pooling, **options
    )


@pytest.fixture
def gpt(gpt_folder) -> Callable[..., Transformer]:
    return lambda pooling="avg", **options: exact(
        f"gpt-{pooling}", gpt_folder, pooling, **options
    )


def exact(name: str, folder: Path, pooling: str, **options) -> Transformer:
    return Transformer(
        name, folder, pooling, **({"precision": "float32", "device": "cpu"} | options)
    )


@pytest.fixture
def copied(tmp_path) -> Callable[[Path], Path]:
    return lambda folder: Path(shutil.copytree(folder, tmp_path / folder.name))


# -- tokens by hand --------------------------------------------------------------------


def hidden_states(folder: Path, symbols: list[str]) -> np.ndarray:
    """The last hidden layer for these subwords, by the library alone.

    float32[tokens, hidden].
    """
    ids = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        return (
            model(torch.tensor([[ids[symbol] for symbol in symbols]]))
            .last_hidden_state[0]
            .numpy()
        )


# Subwords by hand. BERT: cased, pieces behind the first of a word are marked. GPT:
# spaCy's words in lower case.
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
    "wait\u2014it\u2019s": [
        "w",
        "a",
        "i",
        "t</w>",
        "-</w>",
        "i",
        "t</w>",
        "'",
        "s</w>",
    ],
    "well!!?": ["w", "e", "l", "l</w>", "!</w>", "!</w>", "?</w>"],
    "caf\xe9": ["ca", "f", "<unk>"],
}


# -- batches ---------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bert", "gpt"])
@pytest.mark.parametrize("position", [0, -1])
def test_a_vector_does_not_depend_on_its_batch(request, model, position) -> None:
    make = request.getfixturevalue(model)
    sentences = [*SENTENCES, LONG]
    sentences.insert(position, "the end" if position else LONG)
    embedder = make("avg")
    together = embedder.encode_with_companions(sentences)
    for companion, vectors in zip(
        [embedder, *embedder.companions], together, strict=True
    ):
        alone = np.vstack([companion.encode([sentence]) for sentence in sentences])
        np.testing.assert_allclose(vectors, alone, atol=1e-5)
        np.testing.assert_allclose(
            companion.encode(sentences[::-1], batch_size=3)[::-1], vectors, atol=1e-5
        )


def test_in_bfloat16_the_batch_changes_a_vector_by_rounding_only() -> None:
    embedder = embedders.load("minilm-avg", precision="bfloat16", device="cpu")
    sentences = [*SENTENCES, LONG]
    together, full = (
        embedder.encode(sentences),
        embedders.load("minilm-avg", precision="float32").encode(sentences),
    )
    for vectors in (
        together,
        np.vstack([embedder.encode([sentence]) for sentence in sentences]),
    ):
        read = np.linalg.norm(full, axis=1) > 0
        assert similarity.similarities(vectors[read], full[read]).min() > 0.9999


@pytest.mark.skipif(
    not torch.ops.mkldnn._is_mkldnn_bf16_supported(),
    reason="needs a processor with AVX-512",
)
@pytest.mark.parametrize(
    "attention", ["sdpa", "eager"]
)  # with a mask of booleans, and one that is added to scores
def test_the_layers_of_our_own_give_what_the_models_own_give(
    bert_folder, attention
) -> None:
    model = transformers.AutoModel.from_pretrained(
        bert_folder, attn_implementation=attention
    ).eval()
    ids = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 0, 0, 0]])
    real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        theirs = model(input_ids=ids, attention_mask=real).last_hidden_state
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.to(torch.bfloat16)
        pack(model)
        ours = model(input_ids=ids, attention_mask=real).last_hidden_state
    np.testing.assert_allclose(ours[real.bool()], theirs[real.bool()], atol=0.1)


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


# -- text ------------------------------------------------------------------------------


def test_an_empty_sentence_is_special_tokens_to_bert_and_nothing_to_gpt(
    bert, gpt
) -> None:
    empty = ["", " ", "\t\n"]
    for pooling in ("last", "avg"):
        np.testing.assert_array_equal(gpt(pooling).encode(empty), 0)
    vectors = bert("avg").encode(empty)
    assert np.abs(vectors).max() > 0.1
    np.testing.assert_allclose(vectors, vectors[[0, 0, 0]], atol=1e-6)


def test_bert_keeps_the_case_even_without_a_tokenizer_config_and_gpt_does_not(
    bert_folder, copied, gpt
) -> None:
    folder = copied(bert_folder)
    (folder / "tokenizer_config.json").unlink()
    upper, lower = exact("bert", folder, "avg").encode(["The", "the"])
    assert np.abs(upper - lower).max() > 0.1
    np.testing.assert_array_equal(*gpt().encode(["The", "the"]))


@pytest.mark.parametrize("model", ["bert", "gpt"])
def test_a_model_with_the_files_of_older_tokenizers_only_is_read(
    request, copied, model
) -> None:
    folder = copied(request.getfixturevalue(f"{model}_folder"))
    (folder / "tokenizer.json").unlink()
    expected = request.getfixturevalue(model)().encode(SENTENCES)
    found = exact(model, folder, "avg").encode(SENTENCES)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("model", ["bert", "gpt"])
def test_a_long_sentence_is_cut_at_the_positions_of_the_model(request, model) -> None:
    embedder = request.getfixturevalue(model)()
    ends = 2 if model == "bert" else 0
    fitting, one_more = (" ".join("a" * length) for length in (40 - ends, 41 - ends))
    np.testing.assert_array_equal(*embedder.encode([fitting, one_more]))
    assert np.abs(np.subtract(*embedder.encode([fitting, fitting[2:]]))).max() > 1e-4


def test_sentence_transformers_own_length_is_the_default(
    bert_folder, copied, bert
) -> None:
    folder = copied(bert_folder)
    (folder / "sentence_bert_config.json").write_text(
        '{"max_seq_length": 8, "do_lower_case": false}'
    )
    embedder = exact("bert", folder, "avg")
    np.testing.assert_allclose(
        *embedder.encode(["a a a a a a", "a a a a a a a"]), atol=1e-6
    )
    assert embedder.settings != bert().settings


# -- folders ---------------------------------------------------------------------------


def tiny_model(kind: str, folder: Path, like: Path, **options) -> Path:
    """A saved model of transformers, with the tokenizer of another folder."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.AutoConfig.from_pretrained(like, initializer_range=0.5)
        getattr(transformers, kind)(config).save_pretrained(folder, **options)
    for file in like.glob("*token*"):
        shutil.copy(file, folder)
    return folder


def test_weights_in_several_files_are_read(bert_folder, tmp_path) -> None:
    whole = tiny_model("BertModel", tmp_path / "whole", bert_folder)
    parts = tiny_model(
        "BertModel", tmp_path / "parts", bert_folder, max_shard_size="10KB"
    )
    assert not (parts / "model.safetensors").exists()
    a, b = (exact("bert", folder, "avg") for folder in (whole, parts))
    np.testing.assert_array_equal(a.encode(SENTENCES), b.encode(SENTENCES))
    assert a.settings != b.settings


def test_a_folder_whose_weights_change_is_read_again_under_another_fingerprint(
    bert_folder, copied
) -> None:
    folder = copied(bert_folder)
    embedder = exact("bert", folder, "avg")
    before, vectors = embedder.settings, embedder.encode(SENTENCES)
    write_bert(folder, seed=1)
    assert {
        name for name, value in embedder.settings.items() if before[name] != value
    } == {"files"}
    assert np.abs(embedder.encode(SENTENCES) - vectors).max() > 0.1


# Lessons 0 to 4: "reads 256 tokens of a sentence"
def test_sentences_that_are_cut_are_counted_by_the_tokens_that_the_model_counts() -> (
    None
):
    sentences = [
        "a b c",
        "word " * 254,
        "word " * 255,
        "\u4e2d" * 300,
    ]  # the last without blanks: a token for each sign
    minilm = embedders.load("minilm-avg")
    assert minilm.cut(sentences) == (
        256,
        2,
    )  # 254 words and the two tokens around them are just read
    longer, whole = minilm.encode([sentences[2], "word " * 300])
    np.testing.assert_allclose(longer, whole, atol=1e-6)
    assert embedders.load("glove-6b-50d").cut(sentences) == (0, 0)
