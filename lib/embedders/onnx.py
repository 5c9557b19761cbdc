"""Transformers in ONNX's format, run by onnxruntime.

Their packages hold weights alone; the tokenizer is that of all-MiniLM-L6-v2, whose
vocabulary they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.base.files import sha256
from lib.base.parameters import one_of
from lib.embedders.checkpoints import as_input_error
from lib.embedders.kinds import CONTRASTIVE, TRANSFORMER, Kind
from lib.embedders.registry import CONTEXTUAL, embedder
from lib.embedders.transformer import OF_MINILM, Reading, Transformer

if TYPE_CHECKING:
    from torch import Tensor

REMEDY = "give an ONNX file with a transformer's token states, and its tokenizer"


class OnnxTransformer(Transformer):
    """A transformer in ONNX's format; its token states are pooled.

    Parameters
    ----------
    name : str
    weights, vocabulary : Path
        The ONNX file, and a ``tokenizer.json``.
    longest : int
        How many tokens of a sentence it reads, with those around the sentence.
    poolings : sequence of {"cls", "avg"}
        Which of them come out of one pass.
    pooling : {"cls", "avg"}
        One of `poolings`.
    prompt : str
        What is put before each sentence.

    Raises
    ------
    InputError
        From the first `encode`: a file that cannot be read.

    Notes
    -----
    Vectors are float32[n, hidden size]; it runs on the processor, in float32. The
    tokens around a sentence are tokens like others, so even an empty one has a vector.
    """

    version = 1
    libraries = ("onnxruntime", "tokenizers")
    parameters = ("pooling", "prompt", "weights", "vocabulary", "longest")

    def __init__(
        self,
        name: str,
        weights: Path,
        vocabulary: Path,
        longest: int,
        poolings: Sequence[str] = ("cls", "avg"),
        pooling: str = "avg",
        prompt: str = "",
    ) -> None:
        self.name = name
        self.weights = weights
        self.folder = weights.parent
        self.vocabulary = vocabulary
        self.longest = longest
        self.poolings = poolings
        self.pooling = one_of("pooling", pooling, poolings)
        self.prompt = prompt
        self.device = "cpu"
        self.precision = "float32"
        self.tokenize = None

    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        with as_input_error(self.vocabulary, REMEDY):
            tokenizer = Tokenizer.from_file(str(self.vocabulary))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.longest)
        return tokenizer

    def _reading(self) -> Reading:
        import torch

        session = _session(self.weights, sha256(self.weights))
        names = {each.name for each in session.get_inputs()}
        output = next(filter(_has_tokens, session.get_outputs()))

        def states(tokens: Tensor, real: Tensor) -> Tensor:
            given = {
                "input_ids": tokens.numpy(),
                "attention_mask": real.numpy().astype(np.int64),
                "token_type_ids": np.zeros(tokens.shape, np.int64),
            }
            given = {name: array for name, array in given.items() if name in names}
            return torch.from_numpy(session.run([output.name], given)[0])

        return Reading(self._tokenizer(), states, output.shape[-1], padding=0)


@lru_cache(maxsize=2)
def _session(file: Path, digest: str) -> Any:
    """The model; kept for the next call as long as the `digest` of its file stays.

    It computes in the thread that calls it.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    with as_input_error(file, REMEDY):
        session = onnxruntime.InferenceSession(
            file, options, providers=["CPUExecutionProvider"]
        )
        if not any(map(_has_tokens, session.get_outputs())):
            raise ValueError("it returns no token states")
    return session


def _has_tokens(output: Any) -> bool:
    """Whether an output has three dimensions: sentence, token, entry."""
    return len(output.shape) == 3


# -- the registry ----------------------------------------------------------------------

# As its card on the hub has it: mean over tokens, 128 of them at most.
L3 = "sentence-transformers/paraphrase-MiniLM-L3-v2"
L6 = "sentence-transformers/all-MiniLM-L6-v2"
PARAPHRASES = "pairs of paraphrases"
OF_L3: dict[str, Any] = {
    "kind": Kind(TRANSFORMER, CONTRASTIVE, True, "MiniLM, 3 layers", PARAPHRASES)
}


@embedder(
    "paraphrase-minilm-l3-cls", CONTEXTUAL, 384, f"{L3}, first token",
    "paraphrase-minilm-l3", "all-minilm-l6-v2", **OF_L3,
    preset={"pooling": "cls", "longest": 128},
)  # fmt: skip
@embedder(
    "paraphrase-minilm-l3-avg", CONTEXTUAL, 384, f"{L3}, mean over tokens",
    "paraphrase-minilm-l3", "all-minilm-l6-v2", **OF_L3,
    preset={"pooling": "avg", "longest": 128},
)  # fmt: skip
@embedder(
    "minilm-int8w-avg", CONTEXTUAL, 384,
    f"{L6} with 8-bit weights, mean over tokens",
    "minilm-int8w", "all-minilm-l6-v2", **OF_MINILM,
    preset={"poolings": ("avg",), "longest": 256},
)  # fmt: skip
def _packaged(
    weights: Path, *minilm: Path, name: str, **options: Any
) -> OnnxTransformer:
    return OnnxTransformer(name, weights, minilm[-1], **options)
