"""Tiny BERT and OpenAI GPT in exactly the layout of the official folders, with random weights."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

Shapes = Iterator[tuple[str, tuple[int, ...]]]

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = [*string.ascii_letters, *string.digits, *string.punctuation]
# Of GPT: pairs of symbols in the order in which they were learned, and what they lead to. "</w>" ends a word.
MERGES = ["t h", "th e</w>", "d o</w>", "n '", "n' t</w>", "c a", "ca t</w>"]


def write_bert(folder: Path, seed: int = 0, *, hidden: int = 12, layers: int = 2, positions: int = 40) -> Path:
    """Write a cased BERT as ``bert-base-cased`` is published: with the heads of its pretraining; returns the folder.

    Its vocabulary has all ASCII characters, as words and inside them, and the words "The", "the" and "cat".
    """
    vocabulary = [*SPECIAL, *CHARACTERS, *(f"##{character}" for character in CHARACTERS), "The", "the", "cat"]
    config = {
        "architectures": ["BertForMaskedLM"],
        "attention_probs_dropout_prob": 0.1,
        "gradient_checkpointing": False,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": hidden,
        "initializer_range": 0.02,
        "intermediate_size": 4 * hidden,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": positions,
        "model_type": "bert",
        "num_attention_heads": 3,
        "num_hidden_layers": layers,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        "transformers_version": "4.6.0.dev0",
        "type_vocab_size": 2,
        "use_cache": True,
        "vocab_size": len(vocabulary),
    }
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", config)
    _write_json(folder / "tokenizer_config.json", {"do_lower_case": False, "model_max_length": positions})
    _write_json(folder / "tokenizer.json", _word_pieces(vocabulary))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    save_file(_tensors(_bert_shapes(config), seed), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def write_gpt(folder: Path, seed: int = 0, *, hidden: int = 12, layers: int = 2, positions: int = 40) -> Path:
    """Write a GPT as ``openai-gpt`` is published; returns the folder.

    Its vocabulary has lower-case ASCII characters, inside words and at their ends, and what MERGES makes of them.
    """
    characters = [character for character in CHARACTERS if not character.isupper()]
    symbols = ["<unk>", *characters, *(f"{character}</w>" for character in characters)]
    vocabulary = {symbol: i for i, symbol in enumerate([*symbols, *(merge.replace(" ", "") for merge in MERGES)])}
    config = {
        "afn": "gelu",
        "architectures": ["OpenAIGPTLMHeadModel"],
        "attn_pdrop": 0.1,
        "embd_pdrop": 0.1,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "openai-gpt",
        "n_ctx": positions,
        "n_embd": hidden,
        "n_head": 3,
        "n_layer": layers,
        "n_positions": positions,
        "n_special": 0,
        "predict_special_tokens": True,
        "resid_pdrop": 0.1,
        "summary_activation": None,
        "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True,
        "summary_type": "cls_index",
        "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
        "vocab_size": len(vocabulary),
    }
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", config)
    _write_json(folder / "tokenizer_config.json", {"model_max_length": positions})
    _write_json(folder / "tokenizer.json", _byte_pairs(vocabulary))
    _write_json(folder / "vocab.json", vocabulary)
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES]) + "\n", encoding="utf-8")
    tensors = _tensors(_gpt_shapes(config), seed)
    causal = np.tril(np.ones((1, 1, positions, positions), np.float32))
    tensors |= {f"h.{layer}.attn.bias": causal.copy() for layer in range(layers)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


# -- weights ------------------------------------------------------------------------------------


def _tensors(shapes: Shapes, seed: int) -> dict[str, np.ndarray]:
    """Normal numbers of such a size that signals neither die nor grow and every weight counts."""
    rng = np.random.default_rng(seed)
    return {name: _random(rng, name, shape).astype(np.float32) for name, shape in shapes}


def _random(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    numbers = rng.standard_normal(shape)
    if "embed" in name and len(shape) > 1:
        return numbers
    if len(shape) > 1:
        return numbers * 2 / np.sqrt(min(shape))
    is_scale = name.endswith("gamma") or (".ln_" in name and name.endswith("weight"))
    return is_scale + 0.2 * numbers


def _bert_shapes(config: dict[str, Any]) -> Shapes:
    """Names and shapes in the official weights; layer normalization has the names of the TensorFlow original."""
    hidden, inner, words = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    yield "bert.embeddings.word_embeddings.weight", (words, hidden)
    yield "bert.embeddings.position_embeddings.weight", (config["max_position_embeddings"], hidden)
    yield "bert.embeddings.token_type_embeddings.weight", (2, hidden)
    yield from _norm("bert.embeddings.LayerNorm", hidden)
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            yield from _dense(f"{layer}.attention.{part}", hidden, hidden)
        yield from _norm(f"{layer}.attention.output.LayerNorm", hidden)
        yield from _dense(f"{layer}.intermediate.dense", inner, hidden)
        yield from _dense(f"{layer}.output.dense", hidden, inner)
        yield from _norm(f"{layer}.output.LayerNorm", hidden)
    yield from _dense("bert.pooler.dense", hidden, hidden)
    yield "cls.predictions.bias", (words,)
    yield from _dense("cls.predictions.transform.dense", hidden, hidden)
    yield from _norm("cls.predictions.transform.LayerNorm", hidden)
    yield from _dense("cls.seq_relationship", 2, hidden)


def _norm(name: str, size: int) -> Shapes:
    yield f"{name}.gamma", (size,)
    yield f"{name}.beta", (size,)


def _dense(name: str, rows: int, columns: int) -> Shapes:
    yield f"{name}.weight", (rows, columns)
    yield f"{name}.bias", (rows,)


def _gpt_shapes(config: dict[str, Any]) -> Shapes:
    """Names and shapes in the official weights; matrices stand the other way round than BERT's."""
    hidden = config["n_embd"]
    yield "tokens_embed.weight", (config["vocab_size"], hidden)
    yield "positions_embed.weight", (config["n_positions"], hidden)
    for i in range(config["n_layer"]):
        parts = {"attn.c_attn": 3 * hidden, "attn.c_proj": hidden, "mlp.c_fc": 4 * hidden, "mlp.c_proj": hidden}
        for part, columns in parts.items():
            yield f"h.{i}.{part}.weight", (4 * hidden if part == "mlp.c_proj" else hidden, columns)
            yield f"h.{i}.{part}.bias", (columns,)
        for norm in ("ln_1", "ln_2"):
            yield f"h.{i}.{norm}.weight", (hidden,)
            yield f"h.{i}.{norm}.bias", (hidden,)


# -- tokenizers ---------------------------------------------------------------------------------


def _word_pieces(vocabulary: list[str]) -> dict[str, Any]:
    added = [
        {
            "id": i,
            "special": True,
            "content": token,
            **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
        }
        for i, token in enumerate(SPECIAL)
    ]
    ends = {"[CLS]": 2, "[SEP]": 3}
    one = [_piece("SpecialToken", "[CLS]"), _piece("Sequence", "A"), _piece("SpecialToken", "[SEP]")]
    two = [*one, _piece("Sequence", "B", 1), _piece("SpecialToken", "[SEP]", 1)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": _bert_normalizer(lowercase=False),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": one,
            "pair": two,
            "special_tokens": {token: {"id": token, "ids": [i], "tokens": [token]} for token, i in ends.items()},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: i for i, token in enumerate(vocabulary)},
        },
    }


def _piece(kind: str, id: str, type_id: int = 0) -> dict[str, Any]:
    return {kind: {"id": id, "type_id": type_id}}


def _byte_pairs(vocabulary: dict[str, int]) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": _bert_normalizer(lowercase=True),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "</w>",
            "fuse_unk": False,
            "vocab": vocabulary,
            "merges": MERGES,
        },
    }


def _bert_normalizer(lowercase: bool) -> dict[str, Any]:
    rules = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": lowercase}
    return {"type": "BertNormalizer", **rules}
