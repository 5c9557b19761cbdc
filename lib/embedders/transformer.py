"""Transformer encoders (BERT, GPT, MiniLM and their like), their final hidden layer pooled into one vector."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lib.corpora import text
from lib.embedders import batches, fingerprints
from lib.embedders import transformer_files as files
from lib.embedders.base import Embedder, finite
from lib.embedders.registry import CONTEXTUAL, embedder
from lib.run import processor
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

if TYPE_CHECKING:
    import torch

VERSION = 2
POOLINGS = ("cls", "last", "avg")
GPT = "openai-gpt"
# Padding included. A processor is fastest while a batch stays in its cache: in batches of 8192, a token takes it half
# as long again.
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 16384, "mps": 8192}

Precision = Literal["auto", "float32", "bfloat16"]
Device = Literal["auto", "cpu", "cuda", "mps"]


class Transformer(Embedder):
    """The final hidden layer of a transformer at one token, or its mean over all tokens (N2O paper, Table 1).

    Parameters
    ----------
    name : str; a companion's has its own pooling at the end
    folder : Path of a folder with ``config.json``, ``model.safetensors`` and a tokenizer; or str, such a path or a
        model of the Hugging Face hub ("organization/model"), which is fetched unless it is in the hub's cache
    pooling : "cls", the first token; "last", the last one; "avg", the mean over all tokens
    precision : "float32"; "bfloat16" for the matrix products, twice as fast where they are computed in it, which
        moves a vector's entries by about 1e-3 and exchanges 1 of 200 of the 50 nearest neighbors (MiniLM; more may
        change places where all vectors lie in a narrow cone); "auto", bfloat16 where processor or CUDA device
        compute in it
    max_length : int, tokens, special ones included; a longer sentence is cut. None, or what is more than the model
        has positions for (BERT and GPT: 512): as many as it has, or fewer where sentence-transformers' configuration
        in the folder says so (MiniLM: 256)
    poolings : those that come out of one pass, as companions; None, those of the N2O paper: "last" and "avg" for
        GPT, "cls" and "avg" for any other model
    device : "auto" is CUDA or else MPS where PyTorch has them, and the processor otherwise
    tokenize : function from a sentence to words, which the model's own tokenizer then splits into subwords; None, the
        model's own tokenizer splits the sentence. For GPT, None is `lib.corpora.text.word_tokens`

    Raises
    ------
    InputError
        An unknown option; a file that is missing, cut short, or a saved web page; a model that the hub does not give.

    Notes
    -----
    Vectors are float32[n, hidden size]. Where the tokenizer puts special tokens around a sentence (BERT: [CLS] and
    [SEP]), they are tokens like others: the mean includes them, the last token is one of them, and even an empty
    sentence has a vector. GPT has none, and gives an empty sentence a zero vector.

    GPT (Radford et al. 2018): text is cleaned by ftfy, dashes and runs of punctuation are set apart, and spaCy's words
    in lower case are split by its byte-pair encoding, as its authors and the N2O paper (appendix A) do. Table 1 of
    that paper gives GPT 512 dimensions; the published model has 768. It has 512 positions.

    A vector does not depend on its batch, up to the rounding of sums (1e-5 in float32).
    """

    version = VERSION
    batch_size = 2048  # sentences whose batches are made of like lengths; a store's shard

    def __init__(
        self,
        name: str,
        folder: Path | str,
        pooling: str = "avg",
        precision: Precision = "auto",
        max_length: int | None = None,
        poolings: Sequence[str] | None = None,
        device: Device = "auto",
        tokenize: Callable[[str], list[str]] | None = None,
    ) -> None:
        one_of("precision", precision, ("auto", "float32", "bfloat16"))
        one_of("device", device, ("auto", *TOKENS_PER_BATCH))
        if max_length is not None:
            in_range("max_length", max_length, 3, 1_000_000, "tokens; BERT takes two to mark a sentence's ends")
        self.name, self.folder, self.max_length = name, files.locate(folder), max_length
        self.is_gpt = files.check(self.folder)["model_type"] == GPT
        self.poolings = tuple(poolings or (("last", "avg") if self.is_gpt else ("cls", "avg")))
        for known in self.poolings:
            one_of("poolings", known, POOLINGS)
        self.pooling = one_of("pooling", pooling, self.poolings)
        self.device = _device(device)
        self.precision = _precision(precision, self.device)
        self.tokenize = tokenize or (text.word_tokens if self.is_gpt else None)

    @property
    def settings(self) -> dict[str, Any]:
        """SHA-256 of the files, versions of the libraries, and the options, "auto" resolved."""
        libraries = {library: version(library) for library in ("torch", "transformers")}
        options = {name: getattr(self, name) for name in ("pooling", "precision", "max_length", "device")}
        words = self.tokenize and fingerprints.of_function(self.tokenize)
        return {"files": files.fingerprint(self.folder), "tokenize": words} | libraries | options

    @property
    def companions(self) -> list[Transformer]:
        """The same model with the other poolings."""
        stem = self.name.removesuffix(f"-{self.pooling}")
        others = [pooling for pooling in self.poolings if pooling != self.pooling]
        return [self._with(pooling, f"{stem}-{pooling}") for pooling in others]

    def _with(self, pooling: str, name: str) -> Transformer:
        other = copy.copy(self)
        other.pooling, other.name = pooling, name
        return other

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._pooled(sentences)[self.pooling]

    def _encode_together(self, sentences: list[str]) -> list[np.ndarray]:
        pooled = self._pooled(sentences)
        return [pooled[embedder.pooling] for embedder in (self, *self.companions)]

    def _pooled(self, sentences: Sequence[str]) -> dict[str, np.ndarray]:
        """Vectors float32[n, dim] for each pooling, from one pass."""
        lowered = self.precision == "bfloat16"
        loaded = files.load(self.folder, files.fingerprint(self.folder), self.device, lowered)
        tokens = self._tokens(sentences, loaded)
        pooled = {pooling: np.zeros((len(sentences), loaded.dim), np.float32) for pooling in self.poolings}

        def encode(rows: list[int]) -> None:
            vectors = _forward(loaded, [tokens[row] for row in rows], self.device, lowered)
            for pooling in self.poolings:
                pooled[pooling][rows] = vectors[pooling]

        of_like_length = list(batches.longest_first([len(ids) for ids in tokens], TOKENS_PER_BATCH[self.device]))
        (_one_a_core if self.device == "cpu" else _one_by_one)(encode, of_like_length)
        return {pooling: finite(vectors, self.folder) for pooling, vectors in pooled.items()}

    def _tokens(self, sentences: Sequence[str], loaded: files.Loaded) -> list[list[int]]:
        """The ids of each sentence's subwords, cut to what the model can take."""
        given = self.max_length or files.own_length(self.folder)
        limits = [limit for limit in (given, loaded.longest) if limit]
        words = None if self.tokenize is None else [self._words(sentence) for sentence in sentences]
        tokenizer = loaded.tokenizer
        with files.tokenizing(self.folder):
            tokenizer.enable_truncation(min(limits)) if limits else tokenizer.no_truncation()
            if words is None:
                return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(sentences))]
            if self.is_gpt:
                # spaCy's words go to the byte-pair encoding as they are; the file's rules would split them again.
                tokenizer.normalizer = tokenizer.pre_tokenizer = None
            return [encoding.ids for encoding in tokenizer.encode_batch_fast(words, is_pretokenized=True)]

    def _words(self, sentence: str) -> list[str]:
        if not self.is_gpt:
            return self.tokenize(sentence)
        return [word.lower() for word in self.tokenize(_cleaned_for_gpt(sentence))]


# -- text for GPT -------------------------------------------------------------------------------

_PLAIN = str.maketrans(
    {
        "\N{EM DASH}": "-",
        "\N{EN DASH}": "-",
        "\N{HORIZONTAL BAR}": "-",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{ACUTE ACCENT}": "'",
    }
)
_RUN_OF_PUNCTUATION = re.compile(r'([-~!";?+,()\\/*\[\]{}|_])\1*')


def _cleaned_for_gpt(sentence: str) -> str:
    """The sentence in the characters that GPT was trained on, punctuation set apart."""
    import ftfy

    return _RUN_OF_PUNCTUATION.sub(r" \g<0> ", ftfy.fix_text(sentence).translate(_PLAIN))


# -- batches ------------------------------------------------------------------------------------


def _one_a_core(work: Callable[[list[int]], None], rows: Sequence[list[int]]) -> None:
    """Give each core batches of its own: cores that share small matrices mostly wait for each other.

    Since one thread computes a batch, vectors do not depend on the number of cores.
    """
    import torch

    cores = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for _ in pool.map(work, rows):
                pass
    finally:
        torch.set_num_threads(cores)


def _one_by_one(work: Callable[[list[int]], None], rows: Sequence[list[int]]) -> None:
    for batch in rows:
        work(batch)


# -- the model ----------------------------------------------------------------------------------


def _forward(loaded: files.Loaded, tokens: list[list[int]], device: str, lowered: bool) -> dict[str, np.ndarray]:
    """Vectors float32[n, dim] of one batch for every pooling."""
    import torch

    sequences = [torch.tensor(ids) for ids in tokens]
    padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=loaded.padding).to(device)
    lengths = torch.tensor([len(ids) for ids in tokens], device=device)
    real = torch.arange(padded.shape[1], device=device) < lengths[:, None]
    with torch.inference_mode(), torch.autocast(device, torch.bfloat16) if lowered else nullcontext():
        hidden = loaded.model(input_ids=padded, attention_mask=real.long()).last_hidden_state.float()
        return {pooling: vectors.cpu().numpy() for pooling, vectors in _pool(hidden, real, lengths).items()}


def _pool(hidden: torch.Tensor, real: torch.Tensor, lengths: torch.Tensor) -> dict[str, torch.Tensor]:
    """Each pooling of the hidden layer float32[n, tokens, dim], whose tokens are `real` or padding at the end."""
    import torch

    rows = torch.arange(len(hidden), device=hidden.device)
    return {
        "cls": hidden[:, 0],
        "last": hidden[rows, lengths - 1],
        "avg": (hidden * real[:, :, None]).sum(1) / lengths[:, None],
    }


# -- devices ------------------------------------------------------------------------------------


def _device(device: Device) -> str:
    if device == "auto":
        return _best_device()
    if device not in ("cpu", *_accelerators()):
        raise InputError(f"device: PyTorch finds no {device!r} here; give 'cpu' or 'auto'")
    return device


@lru_cache(maxsize=1)
def _best_device() -> str:
    # The processor-only build says so in its version: no need to import it where all vectors are stored already.
    return "cpu" if version("torch").endswith("+cpu") else [*_accelerators(), "cpu"][0]


def _accelerators() -> list[str]:
    import torch

    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return [device for device, available in present.items() if available]


def _precision(precision: Precision, device: str) -> str:
    """What "auto" is on a device."""
    if precision != "auto":
        return precision
    return "bfloat16" if _computes_in_bfloat16(device) else "float32"


def _computes_in_bfloat16(device: str) -> bool:
    if device == "cpu":
        return processor.computes_in_bfloat16()
    if device == "cuda":
        import torch

        return torch.cuda.is_bf16_supported(including_emulation=False)
    return False


# -- the registry -------------------------------------------------------------------------------

BERT = "BERT base, cased (Wikipedia + BooksCorpus)"
FINE_TUNED = {
    "license": "Apache-2.0", "file": "bert-ft-multinli/model.safetensors", "command": "make finetune",
}  # fmt: skip
GPT_110M = "GPT, 110M parameters (BooksCorpus)"  # Table 1 gives 512 dimensions; the published model has 768
# As in the paper: the vectors of these lie in a narrow cone, where rounding exchanges neighbors.
CLS, LAST, AVG = ({"pooling": pooling, "precision": "float32"} for pooling in POOLINGS)


@embedder("bert-base-cls", CONTEXTUAL, 768, f"{BERT}, [CLS]", "bert-base-cased", preset=CLS)
@embedder("bert-base-avg", CONTEXTUAL, 768, f"{BERT}, mean over tokens", "bert-base-cased", preset=AVG)
@embedder("bert-ft-cls", CONTEXTUAL, 768, f"{BERT}, fine-tuned on MultiNLI, [CLS]", **FINE_TUNED, preset=CLS)
@embedder("bert-ft-avg", CONTEXTUAL, 768, f"{BERT}, fine-tuned on MultiNLI, mean over tokens", **FINE_TUNED, preset=AVG)
@embedder("gpt-last", CONTEXTUAL, 768, f"{GPT_110M}, last token", "openai-gpt", preset=LAST)
@embedder("gpt-avg", CONTEXTUAL, 768, f"{GPT_110M}, mean over tokens", "openai-gpt", preset=AVG)
@embedder("minilm-cls", CONTEXTUAL, 384, "all-MiniLM-L6-v2, first token", "all-minilm-l6-v2", preset={"pooling": "cls"})
@embedder(
    "minilm-avg", CONTEXTUAL, 384, "all-MiniLM-L6-v2, mean over tokens", "all-minilm-l6-v2", preset={"pooling": "avg"}
)
def _in_folder(name: str, files: list[Path], **options: Any) -> Transformer:
    return Transformer(name, files[0].parent, **options)
