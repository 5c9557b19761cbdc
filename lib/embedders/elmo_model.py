"""The network of ELMo in PyTorch: character convolutions, then two LSTM language models, one a direction.

Peters et al. (2018), "Deep contextualized word representations", section 3; the character network is that of
Kim et al. (2016) with highway layers, the LSTM that of Sak et al. (2014) with a projected state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch.nn import functional

from lib.embedders.elmo_files import DIRECTIONS, Options, cell_name

BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = range(256, 261)  # after the 256 bytes
WORDS_AT_A_TIME = 256  # of the character network: bounds its memory
GATES_AT_A_TIME = 256  # sequence positions whose input products are held at once: 16 MiB of the original model

_ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}
_GATES = ("carry", "transform")


def character_ids(word: bytes | Sequence[int], length: int) -> np.ndarray:
    """int64[length]: begin, the bytes of a word (at most `length` - 2 of them), end, padding.

    These are rows of the dataset ``char_embed``. The authors' programs add 1 to each and put a zero row before
    them for sentences that are padded; here sentences are not.
    """
    ids = np.full(length, PADDING, dtype=np.int64)
    marked = [BEGIN_WORD, *word[: length - 2], END_WORD]
    ids[: len(marked)] = marked
    return ids


class BiLanguageModel:
    """The mean over tokens and layers of what the two language models make of sentences.

    Parameters
    ----------
    options : Options
    weights : mapping from dataset names to float32 arrays, as `lib.embedders.elmo_files.read_weights` gives them
    device : torch.device or its name
    dtype : torch.float32, or torch.bfloat16 for the matrix products alone: sums, gates and states stay float32
    """

    def __init__(
        self, options: Options, weights: Mapping[str, np.ndarray], device: str, dtype: torch.dtype = torch.float32
    ) -> None:
        self.options, self.device = options, device
        tensors = _Tensors(weights, device, dtype)
        self.words = _CharacterNetwork(options, tensors)
        self.layers = [
            [_Lstm(options, tensors, cell_name(direction, layer)) for layer in range(options.n_layers)]
            for direction in DIRECTIONS
        ]

    @torch.inference_mode()
    def encode(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """float32[n, 2 * projection_dim] of tokenized sentences, none empty, the longest first."""
        lengths = np.array([len(tokens) for tokens in sentences])
        distinct = sorted({token for tokens in sentences for token in tokens}, key=lambda token: (len(token), token))
        index = {token: row for row, token in enumerate(distinct, 3)}
        table = self._table(distinct)
        rows = [np.array([index[token] for token in tokens]) for tokens in sentences]
        forward = self._sum(table, _sequences(1, rows), self.layers[0])
        backward = self._sum(table, _sequences(2, [row[::-1] for row in rows]), self.layers[1])
        counts = lengths[:, None] * (self.options.n_layers + 1)
        return torch.cat([forward, backward], dim=1).cpu().numpy() / counts.astype(np.float32)

    def _table(self, tokens: Sequence[str]) -> torch.Tensor:
        """float32[3 + n, projection_dim]: zeros for padding, the two ends of a sentence, then the tokens."""
        words = [[BEGIN_SENTENCE], [END_SENTENCE], *(token.encode("utf-8", "ignore") for token in tokens)]
        ids = np.stack([character_ids(word, self.options.max_characters) for word in words])
        return functional.pad(self.words(torch.from_numpy(ids).to(self.device)), (0, 0, 1, 0))

    def _sum(self, table: torch.Tensor, sequences: np.ndarray, layers: Sequence[_Lstm]) -> torch.Tensor:
        """float32[n, projection_dim]: the sum over tokens and layers in one direction.

        Position 0 is the end of the sentence from which the direction starts: read, and not summed. Nothing is
        read after the last token. Padding is zero in every layer, so that it adds nothing.
        """
        inputs = table[torch.from_numpy(sequences).to(self.device)]
        active = (sequences > 0).sum(axis=1).tolist()
        total = inputs[1:].sum(dim=0)
        for number, layer in enumerate(layers):
            outputs = layer(inputs, active)
            if number > 0 and self.options.skip_connections:
                outputs += inputs
            total += outputs[1:].sum(dim=0)
            inputs = outputs
        return total


def _sequences(first: int, rows: Sequence[np.ndarray]) -> np.ndarray:
    """int64[steps, n]: `first`, then each sentence's own rows of the table, then zeros."""
    sequences = np.zeros((1 + len(rows[0]), len(rows)), dtype=np.int64)
    sequences[0] = first
    for column, row in enumerate(rows):
        sequences[1 : 1 + len(row), column] = row
    return sequences


class _Tensors:
    """The datasets of a weights file as tensors on a device."""

    def __init__(self, weights: Mapping[str, np.ndarray], device: str, dtype: torch.dtype) -> None:
        self.weights, self.device, self.dtype = weights, device, dtype

    def __getitem__(self, name: str) -> torch.Tensor:
        return torch.from_numpy(self.weights[name]).to(self.device)

    def matrix(self, name: str) -> torch.Tensor:
        """A factor of matrix products, in their precision."""
        return self[name].to(self.dtype)


def _product(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """x @ matrix in the matrix's precision; what float32 is added to is float32 again."""
    return x.to(matrix.dtype) @ matrix


class _CharacterNetwork:
    """Words from characters: convolutions, the maximum over positions, highway layers, a projection."""

    def __init__(self, options: Options, tensors: _Tensors) -> None:
        self.activation = _ACTIVATIONS[options.activation]
        self.embedding = tensors["char_embed"]
        self.filters = [
            (tensors.matrix(f"CNN/W_cnn_{i}").flatten(0, 2), tensors[f"CNN/b_cnn_{i}"])
            for i in range(len(options.filters))
        ]
        self.highways = [
            [(tensors.matrix(f"CNN_high_{i}/W_{gate}"), tensors[f"CNN_high_{i}/b_{gate}"]) for gate in _GATES]
            for i in range(options.n_highway)
        ]
        self.projection = tensors.matrix("CNN_proj/W_proj"), tensors["CNN_proj/b_proj"]
        self.widest = max(width for width, _ in options.filters)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """float32[n, projection_dim] of int64[n, max_characters]."""
        return torch.cat([self._words(part) for part in ids.split(WORDS_AT_A_TIME)])

    def _words(self, ids: torch.Tensor) -> torch.Tensor:
        # All windows of padding alone are equal: with the widest filter's length of padding, none is missed.
        longest = int((ids != PADDING).sum(dim=1).max())
        characters = self.embedding[ids[:, : longest + self.widest]]
        words = self.activation(torch.cat([self._maxima(characters, *filters) for filters in self.filters], dim=1))
        for (carry, carry_bias), (transform, transform_bias) in self.highways:
            # Despite its name, the carry gate says how much of the transformed word is taken.
            gate = torch.sigmoid(_product(words, carry) + carry_bias)
            words = torch.lerp(words, torch.relu(_product(words, transform) + transform_bias), gate)
        matrix, bias = self.projection
        return _product(words, matrix) + bias

    def _maxima(self, characters: torch.Tensor, filters: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """float32[n, number]: the largest answer of each filter, from characters float32[n, length, dim].

        A window is a run of width times dim numbers, and `filters` a matrix of so many rows.
        """
        windows = characters.flatten(1).unfold(1, len(filters), characters.shape[2])
        return _product(windows, filters).amax(dim=1) + bias


class _Lstm:
    """One LSTM layer with a projected state; cell and state are clipped at every step."""

    def __init__(self, options: Options, tensors: _Tensors, cell: str) -> None:
        self.dim, self.cell_clip, self.proj_clip = options.dim, options.cell_clip, options.proj_clip
        # The file has the gates as input, candidate, forget, output; side by side, the sigmoids are one call.
        order = torch.cat([torch.arange(self.dim, device=tensors.device) + gate * self.dim for gate in (0, 2, 3, 1)])
        weights = tensors.matrix(f"{cell}/W_0")[:, order]
        self.input_weight, self.state_weight = weights.split(options.projection_dim)
        self.bias = tensors[f"{cell}/B"][order]
        self.bias[self.dim : 2 * self.dim] += 1  # the forget bias, which the file leaves out
        self.projection = tensors.matrix(f"{cell}/W_P_0")

    def __call__(self, inputs: torch.Tensor, active: Sequence[int]) -> torch.Tensor:
        """float32[steps, n, projection_dim] of the same; at step t, sequences from `active[t]` on are over."""
        outputs = torch.zeros_like(inputs)
        state, cell = torch.zeros_like(inputs[0]), inputs.new_zeros(inputs.shape[1], self.dim)
        size = max(1, GATES_AT_A_TIME // inputs.shape[1])
        for start, part in zip(range(0, len(inputs), size), inputs.split(size), strict=True):
            gates = _product(part, self.input_weight).float().add_(self.bias)
            for t, now in enumerate(gates, start):
                n = active[t]
                state, cell = self._step(now[:n], state[:n], cell[:n])
                outputs[t, :n] = state
        return outputs

    def _step(self, gates: torch.Tensor, state: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The next state and cell; `gates` holds the input's part of the gates, and is overwritten, as is `cell`."""
        gates += _product(state, self.state_weight)
        gates[:, : 3 * self.dim].sigmoid_()
        input_gate, forget_gate, output_gate, candidate = gates.split(self.dim, dim=1)
        cell = _clipped(cell.mul_(forget_gate).addcmul_(input_gate, candidate.tanh_()), self.cell_clip)
        state = _product(cell.tanh().mul_(output_gate), self.projection).float()
        return _clipped(state, self.proj_clip), cell


def _clipped(x: torch.Tensor, limit: float | None) -> torch.Tensor:
    return x if limit is None else x.clamp_(-limit, limit)
