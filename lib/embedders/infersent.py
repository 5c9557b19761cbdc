"""InferSent version 1 from its official weights (Conneau et al. 2017)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer, longest_first
from lib.embedders.checkpoints import as_input_error, finite
from lib.embedders.kinds import INFERENCE, RECURRENT, Kind
from lib.embedders.registry import ENCODER, embedder
from lib.embedders.static import WordVectors
from lib.embedders.words import max_over_time

if TYPE_CHECKING:
    import torch

START = "<s>"
END = "</s>"
TOKENS_PER_BATCH = 4096  # padding included
PREFIX = "enc_lstm."  # of the encoder's entries in the state dict
INFERSENT_REMEDY = (
    "give the official infersent1.pkl, a state dict (asset infersent-v1 of the catalog)"
)


class InferSent(Embedder):
    """Maximum over time of a BiLSTM's states (Conneau et al. 2017, section 3.2.2).

    Parameters
    ----------
    weights : str or Path
        The official ``infersent1.pkl``. All sizes come from it; its authors' settings
        were ``word_emb_dim=300``, ``enc_lstm_dim=2048`` for each of the two directions,
        hence 4,096 dimensions, ``pool_type="max"``, ``version=1``.
    vectors : mapping
        From words to float32[d], case kept. It was trained on GloVe 840B, 300-d.
    name : str
    tokenize : callable
        From a sentence to its tokens.

    Raises
    ------
    InputError
        Weights that are missing, damaged or of another model; vectors of another
        dimension than the weights take.

    Notes
    -----
    Words are looked up as tokenized, ``<s>`` before and ``</s>`` after them; what has
    no vector is skipped, the two marks included (GloVe 840B has them, GloVe 6B has
    not). Version 2 has weights of the same shape, but other marks, tokens and vectors
    (fastText): it is not meant to be read here.

    Where this departs from the authors' program:

    - Version 1 lets the zeros that fill up a batch's shorter sentences take part in the
      maximum, so a vector depends on its batch. Here the maximum is over the
      sentence's own words: what that program gives for a sentence alone, or for the
      longest of a batch.
    - An empty sentence, or one of unknown words only, gets a zero vector. There it is
      encoded as ``<s> </s>``.
    - Appendix A of the N2O paper names NLTK 3.2.5, whose ``word_tokenize`` splits the
      text into sentences first, with data to be downloaded, and splits typographic
      quotation marks off. The default tokenizer does neither; on one sentence in plain
      quotation marks its tokens are the same (they are on all of STS Benchmark).
    """

    version = 1
    libraries = ("torch",)
    parameters = ("weights", "vectors", "tokenize")

    def __init__(
        self,
        weights: str | Path,
        vectors: Mapping[str, np.ndarray],
        name: str = "infersent-v1",
        tokenize: Tokenizer = text.treebank_tokens,
    ) -> None:
        self.weights = Path(weights)
        self.vectors = vectors
        self.name = name
        self.tokenize = tokenize
        self._lstm = _load(self.weights)
        given = len(next(iter(vectors.values())))
        taken = self._lstm.input_size
        if given != taken:
            raise InputError(
                f"{self.weights}: needs word vectors of {taken} dimensions, but "
                f"vectors has {given}; "
                "give those it was trained on (GloVe 840B, 300-d)"
            )

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        words = [self._words(sentence) for sentence in sentences]
        embeddings = np.zeros((len(sentences), 2 * self._lstm.hidden_size), np.float32)
        lengths = [len(sentence) for sentence in words]
        for rows in longest_first(lengths, TOKENS_PER_BATCH):
            vectors = [self._vectors(words[row]) for row in rows]
            embeddings[rows] = max_over_time(self._lstm, vectors)
        return finite(embeddings, self.weights)

    def _words(self, sentence: str) -> list[str]:
        """What the LSTM reads: the known words between the marks, or nothing."""
        known = [word for word in self.tokenize(sentence) if word in self.vectors]
        if not known:
            return []
        return [word for word in (START, *known, END) if word in self.vectors]

    def _vectors(self, words: Sequence[str]) -> np.ndarray:
        return np.array([self.vectors[word] for word in words], np.float32)


def _load(weights: Path) -> torch.nn.LSTM:
    """The encoder, on a CUDA device where there is one."""
    import torch

    with as_input_error(weights, INFERSENT_REMEDY):
        state = torch.load(weights, map_location="cpu", weights_only=True)
        names = [name for name in state if name.startswith(PREFIX)]
        arrays = {name.removeprefix(PREFIX): state[name].float() for name in names}
        dim = arrays["weight_ih_l0"].shape[1]
        hidden = arrays["weight_hh_l0"].shape[1]
        # Without storage of its own: random numbers would be drawn for it from the
        # global state.
        lstm = torch.nn.LSTM(dim, hidden, bidirectional=True, device="meta")
        lstm.load_state_dict(arrays, assign=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return lstm.to(device).eval()


KIND = Kind(RECURRENT, INFERENCE, reads_order=True, method="InferSent", text="SNLI")


@embedder(
    "infersent-v1",
    ENCODER,
    4096,
    "InferSent version 1 (SNLI), GloVe 840B",
    "infersent-v1",
    "glove-840b",
    kind=KIND,
)
def _published(weights: Path, vectors: Path, name: str, **options: Any) -> InferSent:
    return InferSent(weights, WordVectors.load(vectors), name, **options)
