"""Tiny random models in exactly the layouts in which BERT and GPT are published."""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = [*string.ascii_letters, *string.digits, *string.punctuation]
MERGES = ["t h", "th e</w>", "d o</w>", "n '", "n' t</w>", "c a", "ca t</w>"]


def write_bert(folder: Path, seed: int = 0) -> Path:
    """Write a cased BERT as ``bert-base-cased`` is published; returns the folder.

    It has the heads of its pretraining. Its vocabulary has all ASCII characters, as
    words and inside them, and the words "The", "the" and "cat".
    """
    vocabulary = [*SPECIAL, *CHARACTERS, "The", "the", "cat"]
    vocabulary += [f"##{character}" for character in CHARACTERS]
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=12, num_hidden_layers=2,
        num_attention_heads=3, intermediate_size=48, max_position_embeddings=40,
    )  # fmt: skip
    tensors = _random(transformers.BertForPreTraining, config, seed)
    # The weights have the names of the TensorFlow original; the decoder is that of the
    # words.
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, old in names.items():
        tensors = {name.replace(new, old): tensor for name, tensor in tensors.items()}
    for name in ("weight", "bias"):
        del tensors[f"cls.predictions.decoder.{name}"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(
        str(folder / "vocab.txt"), do_lower_case=False
    )
    return _write(folder, config, tokenizer, tensors)


def write_gpt(folder: Path, seed: int = 0) -> Path:
    """Write a GPT as ``openai-gpt`` is published; returns the folder.

    Its vocabulary has lower-case ASCII characters, inside words and at their ends, and
    what MERGES makes of them.
    """
    characters = [character for character in CHARACTERS if not character.isupper()]
    symbols = ["<unk>", *characters, *(f"{character}</w>" for character in characters)]
    symbols += [merge.replace(" ", "") for merge in MERGES]
    vocabulary = {symbol: i for i, symbol in enumerate(symbols)}
    config = transformers.OpenAIGPTConfig(
        vocab_size=len(vocabulary), n_positions=40, n_embd=12, n_layer=2, n_head=3
    )
    tensors = _random(transformers.OpenAIGPTModel, config, seed)
    causal = torch.tril(torch.ones(1, 1, 40, 40))
    tensors |= {f"h.{layer}.attn.bias": causal.clone() for layer in range(2)}
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "vocab.json", folder / "merges.txt"
    files[0].write_text(json.dumps(vocabulary), encoding="utf-8")
    files[1].write_text("\n".join(["#version: 0.2", *MERGES]) + "\n", encoding="utf-8")
    return _write(
        folder, config, transformers.OpenAIGPTTokenizer(*map(str, files)), tensors
    )


def _random(
    kind: type, config: transformers.PretrainedConfig, seed: int
) -> dict[str, torch.Tensor]:
    """Normal numbers scaled so signals neither die nor grow and every weight counts."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, tensor in kind(config).state_dict().items():
        scale = 2 / np.sqrt(min(tensor.shape)) if tensor.ndim > 1 else 0.2
        if "embed" in name:
            scale = 1
        numbers = scale * rng.standard_normal(tensor.shape)
        is_norm = tensor.ndim == 1 and name.endswith("weight")
        tensors[name] = torch.tensor(numbers + is_norm, dtype=torch.float32)
    return tensors


def _write(
    folder: Path,
    config: transformers.PretrainedConfig,
    tokenizer: object,
    tensors: dict,
) -> Path:
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
