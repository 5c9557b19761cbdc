"""ELMo from its official options and weights (Peters et al. 2018, section 3).

Character convolutions with highway layers (Kim et al. 2016) make vectors of words; two LSTM language models with
projected states (Sak et al. 2014), one a direction, put them into context.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.corpora import text
from lib.embedders.base import Embedder, finite, longest_first, reading
from lib.embedders.registry import CONTEXTUAL, embedder

if TYPE_CHECKING:
    import torch

TOKENS_PER_BATCH = 8192  # padding and one end of each sentence included
WORDS_AT_A_TIME = 256  # of the character network: bounds its memory
GATES_AT_A_TIME = 256  # sequence positions whose input products are held at once: 16 MiB of the original model

BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = range(256, 261)  # after the 256 bytes
CLIPS = ("cell_clip", "proj_clip")  # None for no clipping
WANTED = "give the official options.json and weights.hdf5 of one ELMo model"


class Elmo(Embedder):
    """The mean over a sentence's tokens of the mean over the three layers (N2O paper, Table 1 and appendix A).

    Parameters
    ----------
    options, weights : str or Path
        The official ``*_options.json`` and ``*_weights.hdf5`` of one model.
    name : str
    tokenize : callable
        From a sentence to its tokens. The N2O paper uses spaCy's, and keeps the case.

    Raises
    ------
    InputError
        A file that is missing, damaged or a web page; files that do not fit together.

    Notes
    -----
    Vectors are float32[n, 2 * projection_dim]: 256 of the small model, 1024 of the original ones; the forward
    language model's half, then the backward one's. The first layer, of words without their context, is in both.
    The ends of a sentence are read by the language models and are not in the mean. An empty sentence has a zero
    vector. No sentence is cut, however long; of a token, as in the authors' programs, only the first
    ``max_characters_per_token`` - 2 bytes count (48).

    Each sentence starts from a state of zeros. The authors' programs start from the state that the sentences before
    it left behind, so that a vector depends on what was encoded earlier; here it depends on its sentence alone,
    up to the rounding of sums (1e-5).
    """

    version = 1
    libraries = ("torch",)
    parameters = ("options", "weights", "tokenize")
    batch_size = 512

    def __init__(
        self,
        options: str | Path,
        weights: str | Path,
        name: str = "elmo",
        tokenize: Callable[[str], list[str]] = text.word_tokens,
    ) -> None:
        self.name, self.tokenize = name, tokenize
        self.options, self.weights = Path(options), Path(weights)
        self.switches = read_options(self.options)

    @property
    def dim(self) -> int:
        """The dimension of a sentence vector."""
        return 2 * self.switches["projection_dim"]

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        tokens = [self.tokenize(sentence) for sentence in sentences]
        vectors = np.zeros((len(sentences), self.dim), np.float32)
        with_end = [len(words) + 1 if words else 0 for words in tokens]
        for rows in longest_first(with_end, TOKENS_PER_BATCH):
            vectors[rows] = self._model.encode([tokens[row] for row in rows])
        return finite(vectors, self.weights)

    @cached_property
    def _model(self) -> BiLanguageModel:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        with reading(self.weights, WANTED):
            arrays = read_weights(self.weights)
            tensors = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
            model = BiLanguageModel(self.switches, tensors)
            if model.dim != self.dim:
                raise ValueError(f"vectors have {model.dim} dimensions where the options ask for {self.dim}")
        return model


# -- files --------------------------------------------------------------------------------------


def read_options(file: Path) -> dict[str, Any]:
    """The switches of a model by their names in the file. Sizes are those of the weights."""
    with reading(file, WANTED):
        document = json.loads(file.read_text(encoding="utf-8"))
        options = document["char_cnn"] | document["lstm"]
        switches = ("activation", "max_characters_per_token", "use_skip_connections", "projection_dim", *CLIPS)
        return {name: options[name] for name in switches}


def read_weights(file: Path) -> dict[str, np.ndarray]:
    """Every dataset by its path, float32."""
    import h5py

    arrays = {}

    def keep(name: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[...].astype(np.float32)

    with h5py.File(file) as weights:
        weights.visititems(keep)
    return arrays


# -- the network --------------------------------------------------------------------------------


class BiLanguageModel:
    """The mean over tokens and layers of what the two language models make of sentences.

    Parameters
    ----------
    options : dict
        Of `read_options`.
    tensors : mapping
        From the names of datasets to float32 tensors.
    """

    def __init__(self, options: dict[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
        self.options, self.device = options, tensors["char_embed"].device
        self.words = _CharacterNetwork(options, tensors)
        self.forward, self.backward = (
            [_Lstm(options, tensors, f"RNN_{number}/RNN/MultiRNNCell/Cell{i}/LSTMCell") for i in range(layers)]
            for number, layers in ((number, _count(tensors, f"RNN_{number}.*/B")) for number in (0, 1))
        )
        self.dim = sum(layers[0].projection.shape[1] for layers in (self.forward, self.backward))

    def encode(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """float32[n, 2 * projection_dim] of tokenized sentences, none empty, the longest first."""
        import torch

        lengths = np.array([len(tokens) for tokens in sentences])
        distinct = sorted({token for tokens in sentences for token in tokens}, key=lambda token: (len(token), token))
        index = {token: row for row, token in enumerate(distinct, 3)}
        rows = [[index[token] for token in tokens] for tokens in sentences]
        with torch.inference_mode():
            table = self._table(distinct)
            forward = self._sum(table, [[1, *row] for row in rows], self.forward)
            backward = self._sum(table, [[2, *row[::-1]] for row in rows], self.backward)
            sums = torch.cat([forward, backward], dim=1).cpu().numpy()
        counts = lengths[:, None] * (len(self.forward) + 1)
        return sums / counts.astype(np.float32)

    def _table(self, tokens: Sequence[str]) -> torch.Tensor:
        """float32[3 + n, projection_dim]: zeros for padding, the two ends of a sentence, then the tokens."""
        import torch

        words = [[BEGIN_SENTENCE], [END_SENTENCE], *(token.encode("utf-8", "ignore") for token in tokens)]
        ids = np.stack([character_ids(word, self.options["max_characters_per_token"]) for word in words])
        vectors = self.words(torch.from_numpy(ids).to(self.device))
        return torch.cat([torch.zeros_like(vectors[:1]), vectors])

    def _sum(self, table: torch.Tensor, rows: Sequence[list[int]], layers: Sequence[_Lstm]) -> torch.Tensor:
        """float32[n, projection_dim]: the sum over tokens and layers in one direction, of rows of the table.

        Position 0 is the end of the sentence from which the direction starts: read, and not summed. Nothing is
        read after the last token. Padding is zero in every layer, so that it adds nothing.
        """
        import torch

        sequences = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows])
        inputs = table[sequences.to(self.device)]
        active = (sequences > 0).sum(dim=1).tolist()
        total = inputs[1:].sum(dim=0)
        for number, layer in enumerate(layers):
            outputs = layer(inputs, active)
            if number > 0 and self.options["use_skip_connections"]:
                outputs += inputs
            total += outputs[1:].sum(dim=0)
            inputs = outputs
        return total


def character_ids(word: bytes | Sequence[int], length: int) -> np.ndarray:
    """int64[length]: begin, the bytes of a word (at most `length` - 2 of them), end, padding.

    These are rows of the dataset ``char_embed``. The authors' programs add 1 to each and put a zero row before
    them for sentences that are padded; here sentences are not.
    """
    ids = np.full(length, PADDING, dtype=np.int64)
    marked = [BEGIN_WORD, *word[: length - 2], END_WORD]
    ids[: len(marked)] = marked
    return ids


def _count(tensors: Mapping[str, torch.Tensor], pattern: str) -> int:
    """How many tensors have a name of this pattern."""
    return sum(re.fullmatch(pattern, name) is not None for name in tensors)


class _CharacterNetwork:
    """Words from characters: convolutions, the maximum over positions, highway layers, a projection."""

    def __init__(self, options: dict[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
        import torch

        def layer(group: str, name: str) -> tuple[torch.Tensor, torch.Tensor]:
            return tensors[f"{group}/W_{name}"], tensors[f"{group}/b_{name}"]

        self.activation = {"relu": torch.relu, "tanh": torch.tanh}[options["activation"]]
        self.embedding = tensors["char_embed"]
        self.convolutions = [layer("CNN", f"cnn_{i}") for i in range(_count(tensors, "CNN/W_cnn.*"))]
        self.highways = [
            (layer(f"CNN_high_{i}", "carry"), layer(f"CNN_high_{i}", "transform"))
            for i in range(_count(tensors, "CNN_high.*W_carry"))
        ]
        self.projection = layer("CNN_proj", "proj")
        self.widest = max(filters.shape[1] for filters, _ in self.convolutions)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """float32[n, projection_dim] of int64[n, max_characters]."""
        import torch

        return torch.cat([self._words(part) for part in ids.split(WORDS_AT_A_TIME)])

    def _words(self, ids: torch.Tensor) -> torch.Tensor:
        import torch

        # All windows of padding alone are equal: with the widest filter's length of padding, none is missed.
        longest = int((ids != PADDING).sum(dim=1).max())
        characters = self.embedding[ids[:, : longest + self.widest]]
        maxima = [self._maxima(characters, filters.flatten(0, 2), bias) for filters, bias in self.convolutions]
        words = self.activation(torch.cat(maxima, dim=1))
        for (carry, carry_bias), (transform, transform_bias) in self.highways:
            # Despite its name, the carry gate says how much of the transformed word is taken.
            gate = (words @ carry + carry_bias).sigmoid()
            words = words.lerp((words @ transform + transform_bias).relu(), gate)
        matrix, bias = self.projection
        return words @ matrix + bias

    def _maxima(self, characters: torch.Tensor, filters: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """float32[n, number]: the largest answer of each filter, from characters float32[n, length, dim].

        A window is a run of width times dim numbers, and `filters` a matrix of so many rows.
        """
        windows = characters.flatten(1).unfold(1, len(filters), characters.shape[2])
        return (windows @ filters).amax(dim=1) + bias


class _Lstm:
    """One LSTM layer with a projected state; cell and state are clipped at every step."""

    def __init__(self, options: dict[str, Any], tensors: Mapping[str, torch.Tensor], cell: str) -> None:
        self.cell_clip, self.proj_clip = (options[name] for name in CLIPS)
        self.projection = tensors[f"{cell}/W_P_0"]
        self.dim, width = self.projection.shape
        self.input_weight, self.state_weight = tensors[f"{cell}/W_0"].split(width)
        self.bias = tensors[f"{cell}/B"].clone()
        self.bias[2 * self.dim : 3 * self.dim] += 1  # the forget gate's, which the file leaves out

    def __call__(self, inputs: torch.Tensor, active: Sequence[int]) -> torch.Tensor:
        """float32[steps, n, projection_dim] of the same; at step t, sequences from `active[t]` on are over."""
        outputs = inputs.new_zeros(inputs.shape)
        state, cell = inputs.new_zeros(inputs.shape[1:]), inputs.new_zeros(inputs.shape[1], self.dim)
        at_once = max(1, GATES_AT_A_TIME // inputs.shape[1])
        for t, n in enumerate(active):
            if t % at_once == 0:
                from_inputs = inputs[t : t + at_once] @ self.input_weight + self.bias
            gates = from_inputs[t % at_once, :n] + state[:n] @ self.state_weight
            input_gate, candidate, forget_gate, output_gate = gates.split(self.dim, dim=1)
            kept = cell[:n] * forget_gate.sigmoid()
            cell = _clipped(kept.addcmul(input_gate.sigmoid(), candidate.tanh()), self.cell_clip)
            state = _clipped((cell.tanh() * output_gate.sigmoid()) @ self.projection, self.proj_clip)
            outputs[t, :n] = state
        return outputs


def _clipped(x: torch.Tensor, limit: float | None) -> torch.Tensor:
    return x if limit is None else x.clamp(-limit, limit)


@embedder("elmo-small", CONTEXTUAL, 256, "ELMo, small model (1 Billion Word Benchmark)", "elmo-small")
@embedder("elmo-orig", CONTEXTUAL, 1024, "ELMo, original model (1 Billion Word Benchmark)", "elmo-orig")
@embedder(
    "elmo-orig-5.5b", CONTEXTUAL, 1024, "ELMo, original model (5.5B tokens of Wikipedia and news)", "elmo-orig-5.5b"
)
def _published(name: str, files: list[Path], **options: Any) -> Elmo:
    return Elmo(*files, name=name, **options)
