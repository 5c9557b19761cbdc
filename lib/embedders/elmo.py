"""ELMo from its official options and weights (Peters et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lib.corpora import text
from lib.embedders import batches, fingerprints
from lib.embedders import elmo_files as files
from lib.embedders.base import Embedder, finite
from lib.embedders.registry import CONTEXTUAL, embedder
from lib.run.errors import InputError
from lib.run.files import sha256
from lib.run.parameters import one_of

if TYPE_CHECKING:
    from lib.embedders.elmo_model import BiLanguageModel

VERSION = 1
TOKENS_PER_BATCH = 8192  # padding and one end of each sentence included

Precision = Literal["auto", "float32", "bfloat16"]
Device = Literal["auto", "cpu", "cuda"]


class Elmo(Embedder):
    """The mean over a sentence's tokens of the mean over the three layers (N2O paper, Table 1 and appendix A).

    Parameters
    ----------
    options, weights : paths of the official ``*_options.json`` and ``*_weights.hdf5`` of one model
    name : str
    tokenize : function from a sentence to its tokens; the N2O paper uses spaCy's, and keeps the case
    precision : "float32"; "bfloat16" for the matrix products, twice as fast where the processor computes in it,
        which moves a vector's entries by up to 0.3 % of the largest. "auto" is "float32": where all vectors lie in
        a narrow cone, so little exchanges close neighbors (14 % of the five nearest, 2 % of
        the fifty nearest, measured with random weights of the original model's size)
    device : "cpu"; "cuda"; "auto", a GPU where there is one

    Raises
    ------
    InputError
        If a file is missing, damaged, a web page, or if the two do not fit together.

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

    version = VERSION
    batch_size = 512

    def __init__(
        self,
        options: str | Path,
        weights: str | Path,
        name: str = "elmo",
        tokenize: Callable[[str], list[str]] = text.word_tokens,
        precision: Precision = "float32",
        device: Device = "auto",
    ) -> None:
        one_of("precision", precision, ("auto", "float32", "bfloat16"))
        one_of("device", device, ("auto", "cpu", "cuda"))
        self.name, self.tokenize, self.device = name, tokenize, device
        self.precision = "float32" if precision == "auto" else precision
        self.options_file, self.weights_file = Path(options), Path(weights)
        self.options = files.read_options(self.options_file)
        files.check_weights(self.weights_file, self.options)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return 2 * self.options.projection_dim

    @property
    def settings(self) -> dict[str, Any]:
        """SHA-256 of the two files, the tokenizer, the precision, the version of PyTorch."""
        return {
            "options": sha256(self.options_file),
            "weights": sha256(self.weights_file),
            "tokenize": fingerprints.of_function(self.tokenize),
            "precision": self.precision,
            "torch": version("torch"),
        }

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        tokens = [self.tokenize(sentence) for sentence in sentences]
        vectors = np.zeros((len(sentences), self.dim), np.float32)
        with_boundary = [len(words) + 1 if words else 0 for words in tokens]
        for rows in batches.longest_first(with_boundary, TOKENS_PER_BATCH):
            vectors[rows] = self._model.encode([tokens[row] for row in rows])
        return finite(vectors, self.weights_file)

    @cached_property
    def _model(self) -> BiLanguageModel:
        import torch

        from lib.embedders.elmo_model import BiLanguageModel

        available = torch.cuda.is_available()
        if self.device == "cuda" and not available:
            raise InputError("device: PyTorch finds no 'cuda' here; give 'cpu' or 'auto'")
        device = "cuda" if available and self.device != "cpu" else "cpu"
        weights = files.read_weights(self.weights_file, self.options)
        return BiLanguageModel(self.options, weights, device, getattr(torch, self.precision))


@embedder("elmo-small", CONTEXTUAL, 256, "ELMo, small model (1 Billion Word Benchmark)", "elmo-small")
@embedder("elmo-orig", CONTEXTUAL, 1024, "ELMo, original model (1 Billion Word Benchmark)", "elmo-orig")
@embedder(
    "elmo-orig-5.5b", CONTEXTUAL, 1024, "ELMo, original model (5.5B tokens of Wikipedia and news)", "elmo-orig-5.5b"
)
def _published(name: str, files: list[Path], **options: Any) -> Elmo:
    return Elmo(*files, name=name, **options)
