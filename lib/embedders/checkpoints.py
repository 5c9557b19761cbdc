"""Transformers with their tokenizers, read from a folder; how long a text they take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.base import environment, files, paths
from lib.base.cache import CacheEntry
from lib.base.errors import InputError, one_line
from lib.base.files import read_json
from lib.corpora import text
from lib.embedders.base import Embedder, as_sentences

if TYPE_CHECKING:
    from transformers import PreTrainedModel

GPT = "openai-gpt"
# Weights may have up to this many more rows than there are tokens, for the hardware.
PADDED = 128
FORMATS = {
    ".json",
    ".txt",
    ".model",
    ".safetensors",
    ".bin",
    ".pb",
    ".index",
}  # of a model's files
TRANSFORMER_REMEDY = (
    "give the folder of an encoder: config.json, weights (safetensors) and a tokenizer"
)
HUB_MODEL_REMEDY = (
    "give the folder of a SentenceTransformer without code of its own; if the hub's "
    "cache has it, delete it there"
)


# -- files that others made ------------------------------------------------------------


@contextmanager
def as_input_error(source: Path | str, remedy: str) -> Iterator[None]:
    """Turn whatever a file's reader or somebody else's code raises into one sentence.

    Parameters
    ----------
    source : Path or str
        The file or folder that is read; or the code that runs, as users call it.
    remedy : str
        What would be right, such as "download it again".

    Raises
    ------
    InputError
        In place of any other exception: damaged bytes can raise nearly anything. Where
        memory runs out, the sentence says so and not `remedy`.
    """
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {one_line(error)}"
        problem = f"raised {reason}"
        if is_out_of_memory(error):
            problem = f"needs more memory than is available ({reason})"
            remedy = "free some, or use something smaller"
        elif isinstance(source, Path):
            problem = f"cannot be read ({_web_page_in(source) or reason})"
        raise InputError(f"{source}: {problem}; {remedy}") from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory, or a GPU's memory, did not suffice."""
    text = f"{type(error).__name__}: {error}".lower()
    phrases = ("outofmemory", "out of memory", "not enough memory", "allocate memory")
    return isinstance(error, MemoryError) or any(phrase in text for phrase in phrases)


def _web_page_in(source: Path) -> str:
    """Which file is a saved web page, in words; empty if none is."""
    for path in (source, *source.rglob("*")):
        if path.is_file() and files.is_web_page(path):
            return f"{path.name} is a saved web page"
    return ""


def has_weights(folder: Path) -> bool:
    """Whether a module's folder has its weights in one file, or all of their parts."""
    for name in ("model.safetensors", "pytorch_model.bin", "adapter_model.safetensors"):
        index = folder / f"{name}.index.json"
        parts = {name}
        if index.is_file() and not (folder / name).is_file():
            parts = set(read_json(index)["weight_map"].values())
        if all((folder / part).is_file() for part in parts):
            return True
    return False


def has_tokenizer(folder: Path) -> bool:
    """Whether a module's folder has a file of a tokenizer."""
    patterns = ("*token*", "vocab*", "*.model")
    return any(path for pattern in patterns for path in folder.glob(pattern))


def digest_of_model(folder: Path, pattern: str = "*") -> str:
    """32 hexadecimal digits that identify a model's files.

    They change with the name or any byte of a file in `folder` that matches `pattern`
    and ends in one of `FORMATS`.
    """
    total = hashlib.blake2b(digest_size=16)
    for file in sorted(folder.glob(pattern)):
        if file.suffix in FORMATS:
            total.update(
                f"{file.relative_to(folder).as_posix()} {files.sha256(file)}\n".encode()
            )
    return total.hexdigest()


def finite(vectors: np.ndarray, weights: Path) -> np.ndarray:
    """The vectors, if all of them are finite.

    Raises InputError, naming their weights (a file or folder), if they hold NaN or
    infinity.
    """
    if not np.isfinite(vectors).all():
        raise InputError(
            f"{weights}: its vectors are NaN or infinite; get the file again"
        )
    return vectors


# -- transformers ----------------------------------------------------------------------


@lru_cache(maxsize=2)
def load_model(
    folder: Path, files: str, device: str, lowered: bool
) -> tuple[PreTrainedModel, Any]:
    """Read a model and its tokenizer, and keep them for the next call.

    They are kept as long as the digest of the model's `files` stays the same. `lowered`
    rounds the matrices of its linear layers to bfloat16.
    """
    import torch
    import transformers

    quiet()
    # Weights that are missing are drawn at random.
    with as_input_error(folder, TRANSFORMER_REMEDY), torch.random.fork_rng(devices=[]):
        model, info = transformers.AutoModel.from_pretrained(
            folder,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        if missing := [
            name for name in info["missing_keys"] if not name.startswith("pooler.")
        ]:
            raise ValueError(f"no weights {min(missing)}")
        if model.config.is_encoder_decoder:
            raise ValueError("this model needs a second text to decode")
        tokenizer = _tokenizer(folder, model)
    model.config.use_cache = False  # of a decoder's states, for words to come
    # Once a block of almost 32 MB has been freed, glibc keeps freed memory for the next
    # layer. Otherwise it returns it, and every layer waits for cleared pages.
    torch.empty(31 << 20, dtype=torch.uint8)
    if lowered:
        _lower(model)
        if device == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported():
            from lib.embedders import bert  # imports Numba

            bert.pack(model)
    return model.eval().to(device), tokenizer


@lru_cache(maxsize=2)
def load_tokenizer(folder: Path, files: str) -> Any:
    """The tokenizer of `load_model`, without reading the model's weights."""
    import torch
    import transformers

    quiet()
    options = {"local_files_only": True, "trust_remote_code": False}
    with as_input_error(folder, TRANSFORMER_REMEDY), torch.device("meta"):
        config = transformers.AutoConfig.from_pretrained(folder, **options)
        model = transformers.AutoModel.from_config(config, trust_remote_code=False)
        return _tokenizer(folder, model)


def _tokenizer(folder: Path, model: PreTrainedModel) -> Any:
    """From tokenizer.json, which says all, or else from the files of its family.

    It cuts where sentence-transformers does (MiniLM: 256), or where positions end.

    The classes of transformers' tokenizers take only a part of tokenizer.json: that of
    BERT lower-cases a cased model unless tokenizer_config.json is there to say that it
    should not.
    """
    import transformers

    file = folder / "tokenizer.json"
    is_whole = file.is_file()
    if is_whole:
        whole = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file))
    else:
        whole = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True
        )
    tokenizer = whole.backend_tokenizer
    check_vocabulary(tokenizer, model, is_whole)
    if model.config.model_type == GPT:
        # Its words go to the byte-pair encoding as they are; the file's rules would
        # split them again.
        tokenizer.normalizer = tokenizer.pre_tokenizer = None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    file = folder / "sentence_bert_config.json"
    own = read_json(file).get("max_seq_length") if file.is_file() else None
    positions = getattr(model.config, "max_position_embeddings", None)
    longest = min(filter(None, (own, positions, table_size(model))), default=None)
    if longest:
        tokenizer.enable_truncation(longest)
    return tokenizer


def check_vocabulary(
    tokenizer: Any, model: PreTrainedModel, is_whole: bool = False
) -> None:
    """Raise ValueError if a tokenizer and a model's weights do not go together.

    One that `is_whole` may know fewer tokens. Others are read from lines, which could
    be cut anywhere, or missing: then all words would be unknown.
    """
    known = 1 + max(tokenizer.get_vocab().values(), default=-1)
    rows = model.get_input_embeddings().num_embeddings
    if known > rows or (known + PADDED <= rows and not is_whole):
        raise ValueError(f"the tokenizer knows {known} tokens, the weights {rows}")


def table_size(model: PreTrainedModel) -> int | None:
    """How many tokens have a row in a model's table of positions, if it has one.

    RoBERTa and its like start to count behind the position of the padding.
    """
    inner = getattr(model, "embeddings", None)
    table: Any = getattr(inner, "position_embeddings", None)
    if not hasattr(table, "num_embeddings"):
        return None
    unused = 0 if table.padding_idx is None else table.padding_idx + 1
    return table.num_embeddings - unused


def _lower(model: PreTrainedModel) -> None:
    """Round the linear layers to bfloat16 once; autocast would do so every batch."""
    import torch
    from transformers.pytorch_utils import Conv1D

    for module in model.modules():
        if isinstance(module, (torch.nn.Linear, Conv1D)):
            module.to(torch.bfloat16)


def count_truncated(
    embedder: Embedder,
    sentences: Sequence[str],
    count: Callable[[list[str]], tuple[int, int]],
) -> tuple[int, int]:
    """What `count` says of an embedder's limit, kept for the next run with this text.

    To ask a tokenizer, torch and transformers must be imported, which takes seconds.
    """
    given = as_sentences(sentences)
    settings = {"version": embedder.version, **embedder.settings}
    key = {"settings": settings, "text": text.fingerprint(given)}
    entry = CacheEntry(paths.CACHE / "truncation", embedder.name, key)
    doing = f"counting tokens for {embedder.name}"
    return tuple(entry.made(lambda: {"found": count(given)}, doing)["found"])


def similarity(folder: Path) -> str:
    """By what a model says that its vectors are to be compared; cosine by default."""
    file = folder / "config_sentence_transformers.json"
    said = read_json(file) if file.is_file() else {}
    return said.get("similarity_fn_name") or "cosine"


def prompts(folder: Path) -> dict[str, str]:
    """What a model wants before a query and before a document; empty if nothing."""
    file = folder / "config_sentence_transformers.json"
    said = (read_json(file) if file.is_file() else {}).get("prompts") or {}
    document = [said[key] for key in ("document", "passage", "corpus") if said.get(key)]
    own = {"query": said.get("query", ""), "document": "".join(document[:1])}
    return own if any(own.values()) else {}


def modules(folder: Path) -> list[tuple[str, str]]:
    """The folders of a model's modules, and their classes.

    Only that of transformers if the model has nothing but that library's configuration.
    """
    file = folder / "modules.json"
    configuration = folder / "config.json"
    with as_input_error(folder, HUB_MODEL_REMEDY):
        if file.is_file():
            listed = json.loads(file.read_text(encoding="utf-8"))
            return [
                (module["path"], module["type"].rpartition(".")[2]) for module in listed
            ]
        if configuration.is_file():
            options = json.loads(configuration.read_text(encoding="utf-8"))
            if "model_type" in options:
                return [("", "Transformer")]
    return []


def token_counts(
    model: Any, sentences: Sequence[str], prompt: str | None, **options: Any
) -> list[int]:
    """How many tokens a SentenceTransformer makes of each sentence."""
    lengths = []
    for start in range(0, len(sentences), 32):
        batch = sentences[start : start + 32]
        tokens = model.preprocess(
            batch, prompt=prompt, processing_kwargs={"text": options}
        )
        lengths += tokens["attention_mask"].sum(dim=1).tolist()
    return lengths


def quiet() -> None:
    """Silence transformers' progress bars and its reports on missing weights.

    Weights that are missing or not needed are checked elsewhere.
    """
    from transformers import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


# -- where they run --------------------------------------------------------------------


@lru_cache(maxsize=1)
def fastest_device() -> str:
    """The device that models run on by default, such as "cuda" or "cpu"."""
    # The processor-only build says so in its version: no need to import it where all
    # vectors are stored already.
    if version("torch").endswith("+cpu"):
        return "cpu"
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return accelerator.type if accelerator else "cpu"


def fastest_precision(device: str) -> str:
    """The faster precision: "bfloat16" on a processor that has it, else "float32".

    On an H100, bfloat16 takes 3.6 times as long (MiniLM, docs/benchmarks).
    """
    lowered = device == "cpu" and environment.computes_in_bfloat16()
    return "bfloat16" if lowered else "float32"
