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
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.corpora import text
from lib.embedders.base import Embedder, digest_of_model, finite, longest_first, mended, reading
from lib.embedders.registry import CONTEXTUAL, embedder
from lib.run import environment
from lib.run.files import read_json
from lib.run.parameters import one_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

VERSION = 4
POOLINGS = ("cls", "last", "avg")
GPT = "openai-gpt"
# Padding included. In smaller batches a processor reads all weights more often than needed, and larger ones leave its
# cache.
TOKENS_PER_BATCH = {"cpu": 1536, "cuda": 16384, "mps": 8192}
PADDED = 128  # weights may have so many more rows than there are tokens, for the sake of the hardware
REMEDY = "give the folder of one model that encodes: config.json, weights (safetensors) and a tokenizer"


class Transformer(Embedder):
    """The final hidden layer of a transformer at one token, or its mean over all tokens (N2O paper, Table 1).

    Parameters
    ----------
    name : str
        A companion's has its own pooling at the end.
    folder : Path
        With ``config.json``, ``model.safetensors`` and a tokenizer.
    pooling : {"cls", "last", "avg"}
        The first token, the last one, or the mean over all tokens.
    precision : {"auto", "float32", "bfloat16"}
        "bfloat16" is for the matrix products, twice as fast where they are computed in it. It moves a vector's entries
        by about 1e-3 and exchanges 1 of 200 of the 50 nearest neighbors (MiniLM; more may change places where all
        vectors lie in a narrow cone). "auto" is bfloat16 where processor or CUDA device compute in it.
    device : {"auto", "cpu", "cuda", "mps"}
        "auto" is CUDA or else MPS where PyTorch has them, and the processor otherwise.
    prompt : str
        What is put before each sentence.

    Raises
    ------
    InputError
        An unknown option; a file that is missing, damaged, a saved web page, or of another model than the others.

    Notes
    -----
    Vectors are float32[n, hidden size]. Where the tokenizer puts special tokens around a sentence (BERT: [CLS] and
    [SEP]), they are tokens like others: the mean includes them, the last token is one of them, and even an empty
    sentence has a vector. GPT has none, and gives an empty sentence a zero vector. Table 1 of the N2O paper gives GPT
    512 dimensions; the published model has 768. A sentence is cut at as many tokens as the model has positions for
    (BERT and GPT: 512), or as sentence-transformers' configuration in the folder says (MiniLM: 256).

    A vector does not depend on its batch, up to the rounding of sums (1e-5 in float32).
    """

    version = VERSION
    libraries = ("torch", "transformers")
    parameters = ("pooling", "precision", "device", "prompt", "tokenize")
    batch_size = 2048  # sentences whose batches are made of like lengths; a store's shard

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
        one_of("device", device, ("auto", "cpu", _fastest_device()))
        self.name, self.folder, self.prompt = name, folder, prompt
        self.pooling = one_of("pooling", pooling, POOLINGS)
        is_gpt = read_json(folder / "config.json").get("model_type") == GPT
        both = ("last", "avg") if is_gpt else ("cls", "avg")  # of the N2O paper: they come out of one pass
        self.poolings = both if pooling in both else (pooling,)
        self.device = _fastest_device() if device == "auto" else device
        self.precision = _fastest_precision(self.device) if precision == "auto" else precision
        self.tokenize = gpt_words if is_gpt else None  # from a sentence to words, which are then split into subwords

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"files": digest_of_model(self.folder)}

    @property
    def companions(self) -> list[Transformer]:
        """The same model with the other poolings."""
        stem = self.name.removesuffix(f"-{self.pooling}")
        others = []
        for pooling in self.poolings:
            if pooling != self.pooling:
                other = copy.copy(self)
                other.pooling, other.name = pooling, f"{stem}-{pooling}"
                others.append(other)
        return others

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._pooled(sentences)[self.pooling]

    def encode_with_companions(self, sentences: Sequence[str]) -> list[np.ndarray]:
        pooled = self._pooled(mended(sentences))
        return [pooled[embedder.pooling] for embedder in (self, *self.companions)]

    def _pooled(self, sentences: Sequence[str]) -> dict[str, np.ndarray]:
        """Vectors float32[n, dim] for each pooling, from one pass."""
        lowered = self.precision == "bfloat16"
        model, tokenizer = load(self.folder, digest_of_model(self.folder), self.device, lowered)
        tokens = self._tokens([self.prompt + sentence for sentence in sentences], tokenizer)
        shape = len(sentences), model.config.hidden_size
        pooled = {pooling: np.zeros(shape, np.float32) for pooling in self.poolings}

        def encode(rows: list[int]) -> None:
            vectors = _forward(model, [tokens[row] for row in rows], self.device, lowered)
            for pooling in self.poolings:
                pooled[pooling][rows] = vectors[pooling]

        of_like_length = list(longest_first([len(ids) for ids in tokens], TOKENS_PER_BATCH[self.device]))
        _one_a_core(encode, of_like_length, self.device)
        return {pooling: finite(vectors, self.folder) for pooling, vectors in pooled.items()}

    def _tokens(self, sentences: list[str], tokenizer: Any) -> list[list[int]]:
        """The ids of each sentence's subwords, cut to what the model can take."""
        has_words = self.tokenize is not None
        given = [self.tokenize(sentence) for sentence in sentences] if has_words else sentences
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(given, is_pretokenized=has_words)]


# -- text for GPT -------------------------------------------------------------------------------

# Em and en dash, horizontal bar, ellipsis and acute accent.
_PLAIN = str.maketrans({"\u2014": "-", "\u2013": "-", "\u2015": "-", "\u2026": "...", "\u00b4": "'"})
_RUN_OF_PUNCTUATION = re.compile(r'([-~!";?+,()\\/*\[\]{}|_])\1*')


def gpt_words(sentence: str) -> list[str]:
    """spaCy's words in lower case of a sentence in the characters that GPT was trained on, punctuation set apart.

    Its authors (Radford et al. 2018) and the N2O paper (appendix A) prepare text in this way.
    """
    import ftfy

    plain = ftfy.fix_text(sentence).translate(_PLAIN)
    return [word.lower() for word in text.word_tokens(_RUN_OF_PUNCTUATION.sub(r" \g<0> ", plain))]


# -- batches ------------------------------------------------------------------------------------


def _one_a_core(work: Callable[[list[int]], None], rows: Sequence[list[int]], device: str) -> None:
    """Give each core batches of its own: cores that share small matrices mostly wait for each other.

    Since one thread computes a batch, vectors do not depend on the number of cores.
    """
    import torch

    cores = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(cores if device == "cpu" else 1, None, torch.set_num_threads, (1,)) as pool:
            for _ in pool.map(work, rows):
                pass
    finally:
        torch.set_num_threads(cores)


# -- the model ----------------------------------------------------------------------------------


def _forward(model: PreTrainedModel, tokens: list[list[int]], device: str, lowered: bool) -> dict[str, np.ndarray]:
    """Vectors float32[n, dim] of one batch for every pooling."""
    import torch

    sequences = [torch.tensor(ids) for ids in tokens]
    padding = model.config.pad_token_id or 0
    padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=padding).to(device)
    lengths = torch.tensor([len(ids) for ids in tokens], device=device)
    real = torch.arange(padded.shape[1], device=device) < lengths[:, None]
    with torch.inference_mode(), torch.autocast(device, torch.bfloat16) if lowered else nullcontext():
        hidden = model(input_ids=padded, attention_mask=real.long()).last_hidden_state.float()
        pooled = {
            "cls": hidden[:, 0],
            "last": hidden[torch.arange(len(hidden), device=device), lengths - 1],
            "avg": (hidden * real[:, :, None]).sum(1) / lengths[:, None],
        }
        return {pooling: vectors.cpu().numpy() for pooling, vectors in pooled.items()}


@lru_cache(maxsize=2)
def load(folder: Path, files: str, device: str, lowered: bool) -> tuple[PreTrainedModel, Any]:
    """Read a model and its tokenizer; kept for the next call as long as the digest of its `files` stays.

    `lowered` rounds the matrices of its linear layers to bfloat16.
    """
    import torch
    import transformers

    quiet()
    with reading(folder, REMEDY), torch.random.fork_rng(devices=[]):  # what is missing is drawn at random
        model, found = transformers.AutoModel.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False, output_loading_info=True
        )
        if missing := [name for name in found["missing_keys"] if not name.startswith("pooler.")]:
            raise ValueError(f"no weights {min(missing)}")
        if model.config.is_encoder_decoder:
            raise ValueError("this model needs a second text to decode")
        tokenizer = _tokenizer(folder, model)
        if longest := _longest(folder, model):
            tokenizer.enable_truncation(longest)
    model.config.use_cache = False  # of a decoder's states, for words to come
    # Once a block of almost 32 MB has been freed, glibc keeps freed memory for the next layer. Otherwise it returns it,
    # and every layer waits for cleared pages.
    torch.empty(31 << 20, dtype=torch.uint8)
    if lowered:
        _lower(model)
        if device == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported():
            from lib.embedders import bert  # imports Numba

            bert.pack(model)
    return model.eval().to(device), tokenizer


def _tokenizer(folder: Path, model: PreTrainedModel) -> Any:
    """From tokenizer.json, which says all, or else from the files of its family.

    The classes of transformers' tokenizers take only a part of tokenizer.json: that of BERT lower-cases a cased
    model unless tokenizer_config.json is there to say that it should not.
    """
    import transformers

    is_whole = (folder / "tokenizer.json").is_file()
    if is_whole:
        file = str(folder / "tokenizer.json")
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file).backend_tokenizer
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True).backend_tokenizer
    known, rows = 1 + max(tokenizer.get_vocab().values()), model.get_input_embeddings().num_embeddings
    # Other files are lines, which could be cut anywhere.
    if known > rows or (known + PADDED <= rows and not is_whole):
        raise ValueError(f"the tokenizer knows {known} tokens, the weights {rows}")
    if model.config.model_type == GPT:
        # Its words go to the byte-pair encoding as they are; the file's rules would split them again.
        tokenizer.normalizer = tokenizer.pre_tokenizer = None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _lower(model: PreTrainedModel) -> None:
    """Round the linear layers to bfloat16 once; otherwise autocast would do it again for every batch."""
    import torch
    from transformers.pytorch_utils import Conv1D

    for module in model.modules():
        if isinstance(module, (torch.nn.Linear, Conv1D)):
            module.to(torch.bfloat16)


def _longest(folder: Path, model: PreTrainedModel) -> int | None:
    """At how many tokens a sentence is cut: where sentence-transformers does (MiniLM: 256), or where positions end."""
    file = folder / "sentence_bert_config.json"
    own = read_json(file).get("max_seq_length") if file.is_file() else None
    positions = getattr(model.config, "max_position_embeddings", None)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if positions and getattr(table, "padding_idx", None) is not None:
        positions -= table.padding_idx + 1  # RoBERTa and its like start to count behind the position of the padding
    return min(filter(None, (own, positions)), default=None)


def quiet() -> None:
    """Do without transformers' bars and its reports of weights that are missing or not needed, which are checked."""
    from transformers import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


# -- devices ------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _fastest_device() -> str:
    # The processor-only build says so in its version: no need to import it where all vectors are stored already.
    if version("torch").endswith("+cpu"):
        return "cpu"
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return accelerator.type if accelerator else "cpu"


def _fastest_precision(device: str) -> str:
    if device == "cuda":
        import torch

        lowered = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        lowered = device == "cpu" and environment.computes_in_bfloat16()
    return "bfloat16" if lowered else "float32"


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
def _in_folder(*files: Path, name: str, **options: Any) -> Transformer:
    return Transformer(name, files[0].parent, **options)
