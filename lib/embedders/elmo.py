"""ELMo from its official options and weights (Peters et al. 2018, section 3).

Character convolutions with highway layers (Kim et al. 2016) make vectors of words; two
LSTM language models with projected states (Sak et al. 2014), one a direction, put them
into context.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer, longest_first
from lib.embedders.checkpoints import as_input_error, finite
from lib.embedders.kinds import LANGUAGE_MODEL, RECURRENT, Kind
from lib.embedders.registry import CONTEXTUAL, embedder

if TYPE_CHECKING:
    from torch import Tensor

TOKENS_PER_BATCH = 8192  # padding and one end of each sentence included
WORDS_AT_A_TIME = 256  # of the character network: bounds its memory

# These come after the 256 bytes.
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = range(256, 261)
CLIPS = ("cell_clip", "proj_clip")  # None for no clipping
ELMO_REMEDY = "give the official options.json and weights.hdf5 of one ELMo model"


def _kind(text: str) -> dict[str, Kind]:
    return {
        "kind": Kind(
            RECURRENT, LANGUAGE_MODEL, reads_order=True, method="ELMo", text=text
        )
    }


BILLION = _kind("1 Billion Word Benchmark")
LARGER = _kind("5.5B tokens of Wikipedia and news")


@embedder(
    "elmo-small",
    CONTEXTUAL,
    256,
    "ELMo, small model (1 Billion Word Benchmark)",
    "elmo-small",
    **BILLION,
)
@embedder(
    "elmo-orig",
    CONTEXTUAL,
    1024,
    "ELMo, original model (1 Billion Word Benchmark)",
    "elmo-orig",
    **BILLION,
)
@embedder(
    "elmo-orig-5.5b",
    CONTEXTUAL,
    1024,
    "ELMo, original model (5.5B tokens of Wikipedia and news)",
    "elmo-orig-5.5b",
    **LARGER,
)
class Elmo(Embedder):
    """ELMo's states, averaged over tokens and layers.

    The mean over a sentence's tokens of the mean over the three layers (N2O paper,
    Table 1 and appendix A).

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
    Vectors are float32[n, 2 * projection_dim]: 256 of the small model, 1024 of the
    original ones; the forward language model's half, then the backward one's. The first
    layer, of words without their context, is in both. The ends of a sentence are read
    by the language models and are not in the mean. An empty sentence has a zero vector.
    No sentence is cut, however long; of a token, as in the authors' programs, only the
    first ``max_characters_per_token`` - 2 bytes count (48).

    Each sentence starts from a state of zeros. The authors' programs start from the
    state that the sentences before it left behind, so a vector depends on what was
    encoded earlier; here it depends on its sentence alone, up to the rounding of sums
    (1e-5).
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
        tokenize: Tokenizer = text.word_tokens,
    ) -> None:
        self.name = name
        self.tokenize = tokenize
        self.options = Path(options)
        self.weights = Path(weights)
        self.switches = read_options(self.options)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        tokens = [self.tokenize(sentence) for sentence in sentences]
        vectors = np.zeros(
            (len(sentences), 2 * self.switches["projection_dim"]), np.float32
        )
        with_end = [len(words) + 1 if words else 0 for words in tokens]
        for rows in longest_first(with_end, TOKENS_PER_BATCH):
            vectors[rows] = self._model.encode([tokens[row] for row in rows])
        return finite(vectors, self.weights)

    @cached_property
    def _model(self) -> BiLanguageModel:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        dim = 2 * self.switches["projection_dim"]
        with as_input_error(self.weights, ELMO_REMEDY):
            tensors = {
                name: torch.from_numpy(array)
                for name, array in read_weights(self.weights).items()
            }
            # Files that do not fit together fail here. What fails later, for lack of
            # memory say, is not their fault.
            trial = BiLanguageModel(self.switches, tensors).encode([["a"]])
            if trial.shape[1] != dim:
                raise ValueError(
                    f"vectors of {trial.shape[1]} dimensions, but {dim} in the options"
                )
        tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
        return BiLanguageModel(self.switches, tensors)


# -- files -----------------------------------------------------------------------------


def read_options(file: Path) -> dict[str, Any]:
    """A model's switches by their names in the file; sizes come from the weights."""
    with as_input_error(file, ELMO_REMEDY):
        document = json.loads(file.read_text(encoding="utf-8"))
        options = document["char_cnn"] | document["lstm"]
        switches = (
            "activation",
            "max_characters_per_token",
            "use_skip_connections",
            "projection_dim",
            *CLIPS,
        )
        return {name: options[name] for name in switches}


def read_weights(file: Path) -> dict[str, np.ndarray]:
    """Every dataset by its path, float32."""
    import h5py

    names: list[str] = []
    with h5py.File(file) as weights:
        weights.visit(names.append)
        datasets = [name for name in names if isinstance(weights[name], h5py.Dataset)]
        return {name: weights[name][...].astype(np.float32) for name in datasets}


# -- the network -----------------------------------------------------------------------


class BiLanguageModel:
    """The mean of two language models' states over tokens and layers.

    Parameters
    ----------
    options : dict
        Of `read_options`.
    tensors : mapping
        From the names of datasets to float32 tensors.
    """

    def __init__(self, options: dict[str, Any], tensors: Mapping[str, Tensor]) -> None:
        self.options = options
        self.tensors = tensors
        self.layers = self._count("RNN_0/.*/B")

    def _count(self, pattern: str) -> int:
        """How many datasets have a name of this pattern."""
        return sum(re.fullmatch(pattern, name) is not None for name in self.tensors)

    def encode(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """float32[n, 2 * projection_dim] of tokenized sentences.

        No sentence is empty, and the longest comes first.
        """
        import torch

        distinct = {token for tokens in sentences for token in tokens}
        distinct = sorted(sorted(distinct), key=len)
        index = {token: row for row, token in enumerate(distinct, 3)}
        rows = [[index[token] for token in tokens] for tokens in sentences]
        with torch.inference_mode():
            table = self._table(distinct)
            forward = self._sum(table, [[1, *row] for row in rows], 0)
            backward = self._sum(table, [[2, *row[::-1]] for row in rows], 1)
            sums = torch.cat([forward, backward], dim=1).cpu().numpy()
        counts = [[len(tokens) * (self.layers + 1)] for tokens in sentences]
        return sums / np.array(counts, np.float32)

    def _table(self, tokens: Sequence[str]) -> Tensor:
        """float32[3 + n, projection_dim]: the vectors of tokens before the LSTMs.

        The first rows are zeros for padding and the two ends of a sentence; tokens
        follow.
        """
        import torch

        words: list[Sequence[int]] = [[BEGIN_SENTENCE], [END_SENTENCE]]
        words += [token.encode("utf-8", "ignore") for token in tokens]
        length = self.options["max_characters_per_token"]
        ids = np.stack([character_ids(word, length) for word in words])
        device = self.tensors["char_embed"].device
        parts = torch.from_numpy(ids).to(device).split(WORDS_AT_A_TIME)
        vectors = torch.cat([self._words(part) for part in parts])
        padding = torch.zeros_like(vectors[:1])
        return torch.cat([padding, vectors])

    def _words(self, ids: Tensor) -> Tensor:
        """float32[n, projection_dim] of characters, int64[n, max_characters].

        Convolutions, highway layers and a projection.
        """
        import torch

        def linear(inputs: Tensor, group: str, name: str) -> Tensor:
            weight = self.tensors[f"{group}/W_{name}"]
            return inputs @ weight + self.tensors[f"{group}/b_{name}"]

        names = [f"cnn_{i}" for i in range(self._count("CNN/W_cnn.*"))]
        filters = [self.tensors[f"CNN/W_{name}"][0] for name in names]
        # A filter is [number, dim, width].
        filters = [weight.permute(2, 1, 0) for weight in filters]
        # All windows of padding alone are equal: with the widest filter's length of
        # padding, none is missed.
        widest = max(weight.shape[2] for weight in filters)
        longest = int((ids != PADDING).sum(dim=1).max()) + widest
        characters = self.tensors["char_embed"][ids[:, :longest]].transpose(1, 2)
        maxima = []
        for name, weight in zip(names, filters, strict=True):
            bias = self.tensors[f"CNN/b_{name}"]
            convolved = torch.nn.functional.conv1d(characters, weight, bias)
            maxima.append(convolved.amax(dim=2))
        activation = {"relu": torch.relu, "tanh": torch.tanh}[
            self.options["activation"]
        ]
        words = activation(torch.cat(maxima, dim=1))
        for i in range(self._count("CNN_high.*W_carry")):
            # Despite its name, the carry gate says how much of the transformed word is
            # taken.
            gate = linear(words, f"CNN_high_{i}", "carry").sigmoid()
            transformed = linear(words, f"CNN_high_{i}", "transform").relu()
            words = words.lerp(transformed, gate)
        return linear(words, "CNN_proj", "proj")

    def _sum(self, table: Tensor, rows: Sequence[list[int]], number: int) -> Tensor:
        """float32[n, projection_dim]: the sum over tokens and layers in one direction.

        `rows` are rows of the table. Position 0 is the end of the sentence from which
        the direction starts: read, and not summed. Nothing is read after the last
        token. Padding is zero in every layer, so that it adds nothing.
        """
        import torch

        sequences = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows])
        inputs = table[sequences.to(table.device)]
        active = (sequences > 0).sum(dim=1).tolist()
        total = inputs[1:].sum(dim=0)
        for layer in range(self.layers):
            cell = f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            outputs = self._lstm(inputs, active, cell)
            if layer > 0 and self.options["use_skip_connections"]:
                outputs += inputs
            total += outputs[1:].sum(dim=0)
            inputs = outputs
        return total

    def _lstm(self, inputs: Tensor, active: Sequence[int], cell: str) -> Tensor:
        """Run one layer in one direction over float32[steps, n, projection_dim].

        The result has the same shape. At step t, sequences from `active[t]` on are
        over.

        One layer with a projected state; memory and state are clipped at every step.
        """
        import torch

        weights = self.tensors[f"{cell}/W_0"]
        bias = self.tensors[f"{cell}/B"]
        projection = self.tensors[f"{cell}/W_P_0"]
        memory_clip = self.options["cell_clip"] or torch.inf
        state_clip = self.options["proj_clip"] or torch.inf
        outputs = torch.zeros_like(inputs)
        state = torch.zeros_like(inputs[0])
        memory = inputs.new_zeros(inputs.shape[1], len(projection))
        for t, n in enumerate(active):
            gates = torch.cat([inputs[t, :n], state[:n]], dim=1) @ weights + bias
            input_gate, candidate, forget_gate, output_gate = gates.chunk(4, dim=1)
            # The file leaves the 1 out of its bias.
            kept = memory[:n] * (forget_gate + 1).sigmoid()
            memory = (kept + input_gate.sigmoid() * candidate.tanh()).clamp(
                -memory_clip, memory_clip
            )
            state = (output_gate.sigmoid() * memory.tanh()) @ projection
            state = state.clamp(-state_clip, state_clip)
            outputs[t, :n] = state
        return outputs


def character_ids(word: bytes | Sequence[int], length: int) -> np.ndarray:
    """int64[length]: begin, up to `length` - 2 bytes of a word, end, padding.

    These are rows of the dataset ``char_embed``. The authors' programs add 1 to each
    and put a zero row before them for sentences that are padded; here sentences are
    not.
    """
    ids = np.full(length, PADDING, dtype=np.int64)
    marked = [BEGIN_WORD, *word[: length - 2], END_WORD]
    ids[: len(marked)] = marked
    return ids
