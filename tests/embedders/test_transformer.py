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
def folders(tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("official")
    return {
        "bert": write_bert(place / "bert-base-cased"),
        "gpt": write_gpt(place / "openai-gpt"),
    }


def exact(folder: Path, pooling: str = "avg") -> Transformer:
    return Transformer("tiny", folder, pooling, precision="float32", device="cpu")


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
        tokens = torch.tensor([[ids[symbol] for symbol in symbols]])
        return model(tokens).last_hidden_state[0].numpy()


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
def test_a_vector_does_not_depend_on_its_batch(folders, model) -> None:
    sentences = [*SENTENCES, LONG, "the end"]
    embedder = exact(folders[model])
    members = [embedder, *embedder.companions]
    together = embedder.encode_with_companions(sentences)
    for member, vectors in zip(members, together, strict=True):
        alone = np.vstack([member.encode([sentence]) for sentence in sentences])
        np.testing.assert_allclose(vectors, alone, atol=1e-5)
        turned = member.encode(sentences[::-1], batch_size=3)[::-1]
        np.testing.assert_allclose(turned, vectors, atol=1e-5)


def test_in_bfloat16_the_batch_changes_a_vector_by_rounding_only() -> None:
    embedder = embedders.load("minilm-avg", precision="bfloat16", device="cpu")
    sentences = [*SENTENCES, LONG]
    full = embedders.load("minilm-avg", precision="float32").encode(sentences)
    together = embedder.encode(sentences)
    alone = np.vstack([embedder.encode([sentence]) for sentence in sentences])
    for vectors in (together, alone):
        assert similarity.similarities(vectors, full).min() > 0.9999


@pytest.mark.skipif(
    not torch.ops.mkldnn._is_mkldnn_bf16_supported(),
    reason="needs a processor with AVX-512",
)
@pytest.mark.parametrize(
    "attention", ["sdpa", "eager"]
)  # with a mask of booleans, and one that is added to scores
def test_the_layers_of_our_own_give_what_the_models_own_give(
    folders, attention
) -> None:
    model = transformers.AutoModel.from_pretrained(
        folders["bert"], attn_implementation=attention
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


def test_the_number_of_threads_changes_no_byte_and_is_left_as_it_was(folders) -> None:
    before = torch.get_num_threads()
    sentences = [f"{sentence} {i}" for i in range(60) for sentence in SENTENCES]
    found = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(exact(folders["bert"]).encode(sentences))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)


# -- text ------------------------------------------------------------------------------


def test_an_empty_sentence_is_special_tokens_to_bert_and_nothing_to_gpt(
    folders,
) -> None:
    for pooling in ("last", "avg"):
        assert not exact(folders["gpt"], pooling).encode(["", "\t\n"]).any()
    vectors = exact(folders["bert"]).encode(["", "\t\n"])
    assert np.abs(vectors).max() > 0.1
    np.testing.assert_allclose(*vectors, atol=1e-6)


def test_bert_keeps_the_case_even_without_a_tokenizer_config_and_gpt_does_not(
    folders, copied
) -> None:
    folder = copied(folders["bert"])
    (folder / "tokenizer_config.json").unlink()
    upper, lower = exact(folder).encode(["The", "the"])
    assert np.abs(upper - lower).max() > 0.1
    np.testing.assert_array_equal(*exact(folders["gpt"]).encode(["The", "the"]))


@pytest.mark.parametrize("model", ["bert", "gpt"])
def test_a_model_with_the_files_of_older_tokenizers_only_is_read(
    folders, copied, model
) -> None:
    folder = copied(folders[model])
    (folder / "tokenizer.json").unlink()
    expected = exact(folders[model]).encode(SENTENCES)
    np.testing.assert_allclose(exact(folder).encode(SENTENCES), expected, atol=1e-6)


@pytest.mark.parametrize(("model", "most"), [("bert", 38), ("gpt", 40)])
def test_a_long_sentence_is_cut_at_the_positions_of_the_model(
    folders, model, most
) -> None:
    embedder = exact(folders[model])
    less, fitting, more = (" ".join("a" * (most + step)) for step in (-1, 0, 1))
    np.testing.assert_array_equal(*embedder.encode([fitting, more]))
    assert np.abs(np.subtract(*embedder.encode([fitting, less]))).max() > 1e-4


# -- folders ---------------------------------------------------------------------------


def test_weights_in_several_files_are_read_and_changed_ones_again(
    folders, copied
) -> None:
    folder = copied(folders["bert"])
    model = transformers.AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="10KB")
    assert not (folder / "model.safetensors").exists()
    parts = exact(folder)
    expected = exact(folders["bert"]).encode(SENTENCES)
    np.testing.assert_allclose(parts.encode(SENTENCES), expected, atol=1e-6)
    before = parts.settings
    write_bert(folder, seed=1)
    assert parts.settings != before
    assert np.abs(parts.encode(SENTENCES) - expected).max() > 0.1


# Lessons 0 to 4: "reads 256 tokens of a sentence"
def test_sentences_that_are_cut_are_counted_by_the_tokens_that_the_model_counts() -> (
    None
):
    # 254 words are just read, with the two tokens around them. The last sentence has no
    # blanks: a token for each sign.
    sentences = ["a b c", "word " * 254, "word " * 255, "\u4e2d" * 300]
    minilm = embedders.load("minilm-avg")
    assert minilm.truncation(sentences) == (256, 2)
    longer, whole = minilm.encode([sentences[2], "word " * 300])
    np.testing.assert_allclose(longer, whole, atol=1e-6)
    assert embedders.load("glove-6b-50d").truncation(sentences) == (0, 0)
