"""InferSent version 1 from its official weights (Conneau et al. 2017)."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.corpora import text
from lib.embedders import batches, fingerprints
from lib.embedders.base import Embedder, finite
from lib.embedders.registry import ENCODER, embedder
from lib.embedders.static import WordVectors
from lib.run import files
from lib.run.errors import InputError

if TYPE_CHECKING:
    import torch

VERSION = 1
START, END = "<s>", "</s>"
TOKENS_PER_BATCH = 4096  # padding included
PREFIX = "enc_lstm."  # of the encoder's entries in the state dict
WANTED = "give the official infersent1.pkl, a state dict (asset infersent-v1 of the catalog)"


class InferSent(Embedder):
    """The maximum over time of a bidirectional LSTM's states (Conneau et al. 2017, section 3.2.2).

    Parameters
    ----------
    weights : path of the official ``infersent1.pkl``. All sizes come from it; its authors' settings were
        ``word_emb_dim=300``, ``enc_lstm_dim=2048`` for each of the two directions, hence 4,096 dimensions,
        ``pool_type="max"``, ``version=1``.
    vectors : mapping word -> float32[d], case kept. It was trained on GloVe 840B, 300-d.
    name : str
    tokenize : a function from a sentence to its tokens

    Raises
    ------
    InputError
        Weights that are missing, damaged, not a state dict of this model or not finite; vectors that are none, of
        another dimension than the weights take, or not finite.

    Notes
    -----
    Words are looked up as tokenized, ``<s>`` before and ``</s>`` after them; what has no vector is skipped, the two
    marks included (GloVe 840B has them, GloVe 6B has not). Version 2 has weights of the same shape, but other marks,
    tokens and vectors (fastText): it is not meant to be read here.

    Where this departs from the authors' program:

    - Version 1 lets the zeros that fill up a batch's shorter sentences take part in the maximum, so that a vector
      depends on its batch. Here the maximum is over the sentence's own words: what that program gives for a
      sentence alone, or for the longest of a batch.
    - An empty sentence, or one of unknown words only, gets a zero vector. There it is encoded as ``<s> </s>``.
    - Appendix A of the N2O paper names NLTK 3.2.5, whose ``word_tokenize`` splits the text into sentences first,
      with data to be downloaded, and splits typographic quotation marks off. The default tokenizer does neither; on
      one sentence in plain quotation marks its tokens are the same (they are on all of STS Benchmark).
    """

    version = VERSION

    def __init__(
        self,
        weights: str | Path,
        vectors: Mapping[str, np.ndarray],
        name: str = "infersent-v1",
        tokenize: Callable[[str], list[str]] = text.treebank_tokens,
    ) -> None:
        if not vectors:
            raise InputError(f"{name}: vectors is empty; give a mapping from words to vectors (GloVe 840B, 300-d)")
        self.weights, self.vectors, self.name, self.tokenize = Path(weights), vectors, name, tokenize
        self._lstm = _load(self.weights)
        given, taken = len(next(iter(vectors.values()))), self._lstm.input_size
        if given != taken:
            raise InputError(
                f"{self.weights}: takes word vectors of {taken} dimensions, and vectors has {given}; "
                "give those that it was trained on (GloVe 840B, 300-d)"
            )

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "weights": self._digest,
            "vectors": fingerprints.of_mapping(self.vectors),
            "tokenize": fingerprints.of_function(self.tokenize),
            "torch": version("torch"),
        }

    @cached_property
    def _digest(self) -> str:
        return files.sha256(self.weights)

    @property
    def dim(self) -> int:
        """The dimension of a sentence vector."""
        return 2 * self._lstm.hidden_size

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = [self._words(sentence) for sentence in sentences]
        embeddings = np.zeros((len(sentences), self.dim), np.float32)
        for rows in batches.longest_first([len(sentence) for sentence in words], TOKENS_PER_BATCH):
            embeddings[rows] = self._pooled([self._lookup(words[row]) for row in rows])
        return finite(embeddings, self.weights)

    def _words(self, sentence: str) -> list[str]:
        """What the LSTM reads of a sentence: its known words between the marks, or nothing."""
        known = [word for word in self.tokenize(sentence) if word in self.vectors]
        return [word for word in (START, *known, END) if word in self.vectors] if known else []

    def _lookup(self, words: Sequence[str]) -> np.ndarray:
        """float32[t, d], the vectors of a sentence's words."""
        found = np.array([self.vectors[word] for word in words], dtype=np.float32)
        if not (finite := np.isfinite(found).all(axis=1)).all():
            word = words[int(finite.argmin())]
            raise InputError(f"{self.name}: the vector of {word!r} holds NaN or infinity; give finite vectors")
        return found

    def _pooled(self, batch: Sequence[np.ndarray]) -> np.ndarray:
        """float32[n, dim], the maximum over time; the longest sentence comes first."""
        import torch
        from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

        device = self._lstm.weight_ih_l0.device
        # TF32 would move entries by about 1e-3.
        with torch.inference_mode(), torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
            states, _ = self._lstm(pack_sequence([torch.from_numpy(vectors) for vectors in batch]).to(device))
            padded, _ = pad_packed_sequence(states, padding_value=-math.inf)  # (time, sentence, dim)
            return padded.amax(dim=0).cpu().numpy()


# -- weights ------------------------------------------------------------------------------------


def _load(weights: Path) -> torch.nn.LSTM:
    """The encoder, on a CUDA device where there is one."""
    import torch

    state = _read(weights)
    dim, hidden = state["weight_ih_l0"].shape[-1], state["weight_hh_l0"].shape[-1]
    # Without storage of its own: random numbers would be drawn for it from the global state.
    lstm = torch.nn.LSTM(dim, hidden, bidirectional=True, device="meta")
    for key, parameter in lstm.state_dict().items():
        if state[key].shape != parameter.shape:
            found, expected = tuple(state[key].shape), tuple(parameter.shape)
            raise InputError(f"{weights}: {PREFIX}{key} has the shape {found} in place of {expected}; {WANTED}")
        if not torch.isfinite(state[key]).all():
            raise InputError(f"{weights}: {PREFIX}{key} holds NaN or infinity; {WANTED}")
    lstm.load_state_dict(state, assign=True)
    return lstm.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def _read(weights: Path) -> dict[str, torch.Tensor]:
    """The LSTM's eight arrays, float32, under the names that PyTorch gives them."""
    found = _unpickled(weights)
    state = found if isinstance(found, Mapping) else {}
    names = [f"{kind}_{of}_l0{way}" for way in ("", "_reverse") for kind in ("weight", "bias") for of in ("ih", "hh")]
    for name in names:
        array, ndim = state.get(PREFIX + name), 2 if name.startswith("weight") else 1
        if not _is_array(array) or array.ndim != ndim:
            raise InputError(f"{weights}: has no array {PREFIX}{name} of {ndim} dimensions; {WANTED}")
    return {name: state[PREFIX + name].float() for name in names}


def _is_array(found: object) -> bool:
    """Whether this is an array of floating-point numbers that are all there, not a view that repeats a few."""
    import torch

    if not isinstance(found, torch.Tensor) or found.layout != torch.strided or found.device.type != "cpu":
        return False
    held = found.untyped_storage().nbytes() // found.element_size()
    return found.is_floating_point() and 0 < found.numel() <= held


def _unpickled(weights: Path) -> Any:
    """What a file of PyTorch holds, read without running anything that it says."""
    import torch

    if not weights.is_file():
        raise InputError(f"{weights}: no such file; {WANTED}")
    if files.is_web_page(weights):
        raise InputError(f"{weights}: a web page was saved in place of the weights; {WANTED}")
    try:
        if zipfile.is_zipfile(weights):
            files.check_zip(weights)
        return torch.load(weights, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes can raise nearly anything
        raise InputError(
            f"{weights}: is damaged, cut short, or a whole pickled model, which is not read because it could run code; "
            f"{WANTED}"
        ) from error


@embedder("infersent-v1", ENCODER, 4096, "InferSent version 1 (SNLI), GloVe 840B", "infersent-v1", "glove-840b")
def _published(name: str, files: list[Path], **options: Any) -> InferSent:
    weights, vectors = files
    return InferSent(weights, WordVectors.load(vectors), name, **options)
