"""Transformer encoders such as BERT, GPT and MiniLM.

Their final hidden layer is pooled into one vector.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lib.base.files import read_json
from lib.base.parameters import one_of
from lib.corpora import text
from lib.embedders.base import Embedder, as_sentences, longest_first
from lib.embedders.checkpoints import (
    GPT,
    count_truncated,
    digest_of_model,
    fastest_device,
    fastest_precision,
    finite,
    load_model,
    load_tokenizer,
)
from lib.embedders.kinds import (
    CONTRASTIVE,
    INFERENCE,
    LANGUAGE_MODEL,
    TRANSFORMER,
    Kind,
)
from lib.embedders.registry import CONTEXTUAL, embedder

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 4
POOLINGS = ("cls", "last", "avg")
# Padding included. In smaller batches a processor reads all weights more often than
# needed, and larger ones leave its cache.
TOKENS_PER_BATCH = {"cpu": 1536, "cuda": 16384, "mps": 8192}


class Reading(NamedTuple):
    """What reads sentences.

    Attributes
    ----------
    tokenizer : tokenizers.Tokenizer
    states : callable
        From tokens int64[n, t], and which of them are no padding bool[n, t], to the
        final hidden layer float32[n, t, dim].
    dim, padding : int
        `padding` is the id of the token that fills a batch.
    """

    tokenizer: Any
    states: Callable[[Tensor, Tensor], Tensor]
    dim: int
    padding: int


class Transformer(Embedder):
    """A transformer's final hidden layer, pooled (N2O paper, Table 1).

    It is taken at one token or averaged over all tokens.

    Parameters
    ----------
    name : str
        A companion's has its own pooling at the end.
    folder : Path
        With ``config.json``, ``model.safetensors`` and a tokenizer.
    pooling : {"cls", "last", "avg"}
        The first token, the last one, or the mean over all tokens.
    precision : {"auto", "float32", "bfloat16"}
        "bfloat16" is for the matrix products, twice as fast where they are computed in
        it. It moves a vector's entries by about 1e-3 and exchanges 1 of 200 of the 50
        nearest neighbors (MiniLM; more may change places where all vectors lie in a
        narrow cone). "auto" is bfloat16 on processors that compute in it.
    device : {"auto", "cpu", "cuda", "mps"}
        "auto" is CUDA or else MPS where PyTorch has them, and the processor otherwise.
    prompt : str
        What is put before each sentence.

    Raises
    ------
    InputError
        An unknown option; a file that is missing, damaged, a saved web page, or of
        another model than the others.

    Notes
    -----
    Vectors are float32[n, hidden size]. Where the tokenizer puts special tokens around
    a sentence (BERT: [CLS] and [SEP]), they are tokens like others: the mean includes
    them, the last token is one of them, and even an empty sentence has a vector. GPT
    has none, and gives an empty sentence a zero vector. Table 1 of the N2O paper gives
    GPT 512 dimensions; the published model has 768. A sentence is cut at as many tokens
    as the model has positions for (BERT and GPT: 512), or as sentence-transformers'
    configuration in the folder says (MiniLM: 256).

    A vector does not depend on its batch, up to the rounding of sums (1e-5 in float32).
    """

    version = VERSION
    libraries = ("torch", "transformers")
    parameters: Sequence[str] = (
        "pooling",
        "precision",
        "device",
        "prompt",
        "tokenize",
        "files",
    )
    # As many are sorted by length into batches; a shard of the store.
    batch_size = 2048

    def __init__(
        self,
        name: str,
        folder: Path,
        pooling: str = "avg",
        precision: str = "auto",
        device: str = "auto",
        prompt: str = "",
    ) -> None:
        one_of("precision", precision, ("auto", "float32", "bfloat16"))
        one_of("device", device, ("auto", "cpu", fastest_device()))
        self.name = name
        self.folder = folder
        self.prompt = prompt
        self.pooling = one_of("pooling", pooling, POOLINGS)
        config = read_json(folder / "config.json")
        # Those of the N2O paper: they come out of one pass.
        both = ("last", "avg") if is_decoder(config) else ("cls", "avg")
        self.poolings: Sequence[str] = both if pooling in both else (pooling,)
        self.device = fastest_device() if device == "auto" else device
        self.precision = (
            fastest_precision(self.device) if precision == "auto" else precision
        )
        # From a sentence to words, which are then split into subwords.
        self.tokenize = text.gpt_words if config.get("model_type") == GPT else None

    @property
    def files(self) -> str:
        """A digest of the model's files."""
        return digest_of_model(self.folder)

    @property
    def companions(self) -> list[Transformer]:  # type: ignore[override]
        """The same model with the other poolings."""
        stem = self.name.removesuffix(f"-{self.pooling}")
        others = []
        for pooling in self.poolings:
            if pooling != self.pooling:
                other = copy.copy(self)
                other.pooling = pooling
                other.name = f"{stem}-{pooling}"
                others.append(other)
        return others

    def truncation(self, sentences: Sequence[str]) -> tuple[int, int]:
        return count_truncated(self, sentences, self._truncation)

    def _truncation(self, sentences: list[str]) -> tuple[int, int]:
        tokenizer = self._tokenizer()
        if tokenizer.truncation is None:
            return 0, 0
        longest = tokenizer.truncation["max_length"]
        # ASCII has at most a token for each character, one before the first (XLM-R: its
        # mark of a blank), and those around the sentence.
        room = longest - tokenizer.num_special_tokens_to_add(is_pair=False)
        given = [self.prompt + sentence for sentence in sentences]
        long = [each for each in given if len(each) >= room or not each.isascii()]
        encodings = self._encodings(long, tokenizer)
        return longest, sum(bool(encoding.overflowing) for encoding in encodings)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._pooled(sentences)[self.pooling]

    def encode_with_companions(self, sentences: Sequence[str]) -> list[np.ndarray]:
        pooled = self._pooled(as_sentences(sentences))
        return [pooled[embedder.pooling] for embedder in (self, *self.companions)]

    def _pooled(self, sentences: Sequence[str]) -> dict[str, np.ndarray]:
        """Vectors float32[n, dim] for each pooling, from one pass."""
        reading = self._reading()
        encodings = self._encodings(
            [self.prompt + sentence for sentence in sentences], reading.tokenizer
        )
        tokens = [encoding.ids for encoding in encodings]
        shape = len(sentences), reading.dim
        pooled = {pooling: np.zeros(shape, np.float32) for pooling in self.poolings}

        def encode(rows: list[int]) -> None:
            vectors = _forward(reading, [tokens[row] for row in rows], self.device)
            for pooling in self.poolings:
                pooled[pooling][rows] = vectors[pooling]

        lengths = [len(ids) for ids in tokens]
        batches = list(longest_first(lengths, TOKENS_PER_BATCH[self.device]))
        _one_a_core(encode, batches, self.device)
        return {
            pooling: finite(vectors, self.folder) for pooling, vectors in pooled.items()
        }

    def _tokenizer(self) -> Any:
        """The tokenizer alone, which is read faster than the weights."""
        return load_tokenizer(self.folder, self.files)

    def _reading(self) -> Reading:
        import torch

        lowered = self.precision == "bfloat16"
        model, tokenizer = load_model(self.folder, self.files, self.device, lowered)

        def states(tokens: Tensor, real: Tensor) -> Tensor:
            with (
                torch.inference_mode(),
                torch.autocast(self.device, torch.bfloat16)
                if lowered
                else nullcontext(),
            ):
                hidden = model(input_ids=tokens, attention_mask=real.long())
                return hidden.last_hidden_state.float()

        padding = model.config.pad_token_id or 0
        return Reading(tokenizer, states, model.config.hidden_size, padding)

    def _encodings(self, sentences: list[str], tokenizer: Any) -> list[Any]:
        """Each sentence's subwords, cut to what the model can take."""
        if self.tokenize is None:
            return tokenizer.encode_batch_fast(sentences)
        words = [self.tokenize(sentence) for sentence in sentences]
        return tokenizer.encode_batch_fast(words, is_pretokenized=True)


# -- batches ---------------------------------------------------------------------------


def _one_a_core(
    work: Callable[[list[int]], None], rows: Sequence[list[int]], device: str
) -> None:
    """Give each core batches of its own.

    Cores that share small matrices mostly wait for each other. Since one thread
    computes a batch, vectors do not depend on the number of cores.
    """
    import torch

    cores = torch.get_num_threads()
    workers = cores if device == "cpu" else 1
    try:
        with ThreadPoolExecutor(
            workers, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            for _ in pool.map(work, rows):
                pass
    finally:
        torch.set_num_threads(cores)


# -- the model -------------------------------------------------------------------------


def is_decoder(config: dict[str, Any]) -> bool:
    """Whether each token of a model sees only those before it, by its config.json."""
    names = config.get("architectures") or [""]
    is_causal = names[0].endswith(("ForCausalLM", "LMHeadModel"))
    return is_causal or config.get("model_type") == GPT


def _forward(
    reading: Reading, tokens: list[list[int]], device: str
) -> dict[str, np.ndarray]:
    """Vectors float32[n, dim] of one batch for every pooling."""
    import torch

    sequences = [torch.tensor(ids) for ids in tokens]
    padded = torch.nn.utils.rnn.pad_sequence(
        sequences, batch_first=True, padding_value=reading.padding
    ).to(device)
    lengths = torch.tensor([len(ids) for ids in tokens], device=device)
    real = torch.arange(padded.shape[1], device=device) < lengths[:, None]
    with torch.inference_mode():
        hidden = reading.states(padded, real)
        pooled = {
            "cls": hidden[:, 0],
            "last": hidden[torch.arange(len(hidden), device=device), lengths - 1],
            "avg": (hidden * real[:, :, None]).sum(1) / lengths[:, None],
        }
        return {pooling: vectors.cpu().numpy() for pooling, vectors in pooled.items()}


# -- the registry ----------------------------------------------------------------------

BERT = "BERT base, cased (Wikipedia + BooksCorpus)"
PAIRS = "one billion pairs of sentences"  # of sentence-transformers
FINE_TUNED = {
    "license": "Apache-2.0", "file": "bert-ft-multinli/model.safetensors",
    "command": "make finetune",
}  # fmt: skip
# Table 1 gives 512 dimensions; the published model has 768.
GPT_110M = "GPT, 110M parameters (BooksCorpus)"
# As in the paper: the vectors of these lie in a narrow cone, where rounding exchanges
# neighbors.
CLS = {"pooling": "cls", "precision": "float32"}
LAST = {"pooling": "last", "precision": "float32"}
AVG = {"pooling": "avg", "precision": "float32"}


def _kind(method: str, text: str, objective: str) -> dict[str, Any]:
    return {
        "kind": Kind(TRANSFORMER, objective, reads_order=True, method=method, text=text)
    }


OF_BERT = _kind("BERT", "Wikipedia and BooksCorpus", LANGUAGE_MODEL)
OF_TUNED = FINE_TUNED | _kind("BERT, fine-tuned", "MultiNLI", INFERENCE)
OF_GPT = _kind("GPT", "BooksCorpus", LANGUAGE_MODEL)
OF_MINILM = _kind("MiniLM", PAIRS, CONTRASTIVE)


@embedder(
    "bert-base-cls",
    CONTEXTUAL,
    768,
    f"{BERT}, [CLS]",
    "bert-base-cased",
    **OF_BERT,
    preset=CLS,
)
@embedder(
    "bert-base-avg",
    CONTEXTUAL,
    768,
    f"{BERT}, mean over tokens",
    "bert-base-cased",
    **OF_BERT,
    preset=AVG,
)
@embedder(
    "bert-ft-cls",
    CONTEXTUAL,
    768,
    f"{BERT}, fine-tuned on MultiNLI, [CLS]",
    **OF_TUNED,
    preset=CLS,
)
@embedder(
    "bert-ft-avg",
    CONTEXTUAL,
    768,
    f"{BERT}, fine-tuned on MultiNLI, mean over tokens",
    **OF_TUNED,
    preset=AVG,
)
@embedder(
    "gpt-last",
    CONTEXTUAL,
    768,
    f"{GPT_110M}, last token",
    "openai-gpt",
    **OF_GPT,
    preset=LAST,
)
@embedder(
    "gpt-avg",
    CONTEXTUAL,
    768,
    f"{GPT_110M}, mean over tokens",
    "openai-gpt",
    **OF_GPT,
    preset=AVG,
)
@embedder(
    "minilm-cls", CONTEXTUAL, 384, "all-MiniLM-L6-v2, first token", "all-minilm-l6-v2",
    **OF_MINILM, preset={"pooling": "cls"},
)  # fmt: skip
@embedder(
    "minilm-avg", CONTEXTUAL, 384, "all-MiniLM-L6-v2, mean over tokens",
    "all-minilm-l6-v2", **OF_MINILM, preset={"pooling": "avg"},
)  # fmt: skip
def _in_folder(*files: Path, name: str, **options: Any) -> Transformer:
    return Transformer(name, files[0].parent, **options)
