"""Models on a processor that multiplies in bfloat16.

oneDNN computes the products; in BERT, everything between them is float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.base.compiled import njit

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

njit_fast = njit(nogil=True, fastmath=True, error_model="numpy")
SQUARES = 8  # e**x is squared so many times from e**(x / 256)
ONE = np.float32(1)
HALF = np.float32(0.5)
FAR_BELOW = np.float32(-1e30)


def pack(model: PreTrainedModel) -> None:
    """Lay out the matrices of linear layers once in the order that oneDNN uses.

    Otherwise oneDNN would do so for every batch.
    """
    import torch
    from transformers.models.bert.modeling_bert import BertModel

    if (
        type(model) is BertModel
        and model.config.hidden_act == "gelu"
        and not model.config.is_decoder
    ):
        model.encoder.forward = _encoder(model.encoder)
        model.pooler = None  # its vector is not used
        return
    for module in model.modules():
        if type(module) is torch.nn.Linear:
            module.forward = _packed(module)


def _packed(
    *parts: torch.nn.Linear, activation: str = "none"
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Linear layers side by side as one product, and what follows it."""
    import torch

    weight = torch.cat([part.weight for part in parts]).detach()
    weight = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    bias = None if parts[0].bias is None else torch.cat([part.bias for part in parts])
    multiply = torch.ops.mkldnn._linear_pointwise

    def product(states: torch.Tensor) -> torch.Tensor:
        return multiply(states.bfloat16(), weight, bias, activation, [], "none")

    return product


def _encoder(encoder: torch.nn.Module) -> Callable:
    """All layers as the function that transformers calls."""
    from transformers.modeling_outputs import (
        BaseModelOutputWithPastAndCrossAttentions as Output,
    )

    layers = [_layer(layer) for layer in encoder.layer]

    def compute(
        states: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any
    ) -> Output:
        batch, tokens, _ = states.shape
        lengths = (
            np.full(batch, tokens)
            if attention_mask is None
            else _lengths(attention_mask)
        )
        for layer in layers:
            states = layer(states, lengths)
        return Output(states)

    return compute


def _lengths(attention_mask: torch.Tensor) -> np.ndarray:
    """int64[batch]: the number of tokens in each sentence.

    The mask holds booleans, or is one that is added to scores.
    """
    keys = attention_mask[:, 0, 0]
    is_read = keys == 0 if keys.is_floating_point() else keys.bool()
    return is_read.sum(1).numpy()


def _layer(
    layer: torch.nn.Module,
) -> Callable[[torch.Tensor, np.ndarray], torch.Tensor]:
    attention = layer.attention.self
    after = layer.attention.output
    output = layer.output
    project = _packed(attention.query, attention.key, attention.value)
    mix = _packed(after.dense)
    widen = _packed(layer.intermediate.dense, activation="gelu")
    narrow = _packed(output.dense)
    heads = attention.num_attention_heads
    scale = attention.attention_head_size**-0.5

    def compute(states: torch.Tensor, lengths: np.ndarray) -> torch.Tensor:
        # (batch, tokens, 3 * hidden) -> 3 of (batch * heads, tokens, hidden / heads)
        projected = project(states).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
        queries, keys, values = projected.flatten(1, 2)
        weights = (queries @ keys.mT).float()
        softmax(weights.unflatten(0, (-1, heads)).numpy(), lengths, scale)
        attended = (weights.bfloat16() @ values).unflatten(0, (-1, heads))
        attended = attended.transpose(1, 2).flatten(2)
        states = _added(mix(attended), states, after.LayerNorm)
        return _added(narrow(widen(states)), states, output.LayerNorm)

    return compute


def _added(
    change: torch.Tensor, states: torch.Tensor, norm: torch.nn.LayerNorm
) -> torch.Tensor:
    """What a layer returns, added to its states and normalized, float32."""
    total = change.float()
    rows = total.flatten(0, 1).numpy()
    added = states.flatten(0, 1).numpy()
    weight = norm.weight.detach().numpy()
    bias = norm.bias.detach().numpy()
    add_and_normalize(rows, added, weight, bias, norm.eps)
    return total


@njit_fast
def softmax(scores, lengths, scale):
    """Turn scores into weights, which are 0 beyond the end of a sentence.

    Scores are float32[batch, heads, tokens, tokens].

    e**x is the 256th power of e**(x / 256), of which three terms of the series are
    enough for bfloat16.
    """
    batch, heads, tokens, _ = scores.shape
    step = np.float32(scale / 2**SQUARES)
    for sentence in range(batch):
        length = lengths[sentence]
        for head in range(heads):
            rows = scores[sentence, head]
            for i in range(tokens):
                row = rows[i]
                highest = FAR_BELOW
                for j in range(length):
                    highest = max(highest, row[j])
                for j in range(length):
                    row[j] -= highest
                for j in range(length, tokens):
                    row[j] = FAR_BELOW
            flat = rows.reshape(tokens * tokens)  # long enough for vector registers
            for j in range(tokens * tokens):
                part = max(flat[j] * step, -ONE)
                power = ONE + part * (ONE + part * HALF)
                for _ in range(SQUARES):
                    power *= power
                flat[j] = power
            for i in range(tokens):
                row = rows[i]
                total = np.float32(0)
                for j in range(length):
                    total += row[j]
                share = ONE / total
                for j in range(tokens):
                    row[j] *= share


@njit_fast
def add_and_normalize(total, states, weight, bias, epsilon):
    """Layer normalization of the sum of two arrays, in place of the first.

    Both are float32[tokens, hidden].
    """
    tokens, hidden = total.shape
    size = np.float32(hidden)
    for i in range(tokens):
        mean = variance = np.float32(0)
        for j in range(hidden):
            total[i, j] += states[i, j]
            mean += total[i, j]
        mean /= size
        for j in range(hidden):
            total[i, j] -= mean
            variance += total[i, j] * total[i, j]
        factor = np.float32(1 / np.sqrt(variance / size + epsilon))
        for j in range(hidden):
            total[i, j] = total[i, j] * factor * weight[j] + bias[j]
