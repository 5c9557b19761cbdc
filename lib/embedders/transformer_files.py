"""The folders that transformers are read from: found, checked, fingerprinted, loaded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from lib.run import files
from lib.run.errors import InputError, one_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
SHARDED = "model.safetensors.index.json"
PICKLED = "pytorch_model.bin"
SENTENCE_TRANSFORMERS = "sentence_bert_config.json"
# The files that define a tokenizer; any one set of them is enough.
TOKENIZERS = (("tokenizer.json",), ("vocab.txt",), ("vocab.json", "merges.txt"), ("spiece.model",))
_TOKENIZER_FILES = (
    *(name for names in TOKENIZERS for name in names),
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
)
_FROM_HUB = (CONFIG, "model*.safetensors", SHARDED, SENTENCE_TRANSFORMERS, *_TOKENIZER_FILES)
# What configurations call their number.
_LAYERS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    *("num_decoder_layers", "encoder_layers", "decoder_layers"),
)
_PADDED = 128  # weights may have so many more rows than there are tokens, for the sake of the hardware
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")

# -- finding ------------------------------------------------------------------------------------


def locate(folder: Path | str) -> Path:
    """The folder itself, or the one in the hub's cache that holds the model "organization/model".

    What the cache has is taken as it is; what it lacks is fetched from the hub, safetensors only.
    Raises InputError for a folder that is not here and for a model that cannot be fetched.
    """
    if isinstance(folder, Path) or Path(folder).is_dir():
        return Path(folder)
    if not _HUB_ID.fullmatch(folder):
        raise InputError(f"folder: no folder {folder!r} here; give one, or a model of the hub as 'organization/model'")
    from huggingface_hub import snapshot_download

    with suppress(OSError):
        cached = Path(snapshot_download(folder, allow_patterns=_FROM_HUB, local_files_only=True))
        if not _lacking(cached):
            return cached
    try:
        return Path(snapshot_download(folder, allow_patterns=_FROM_HUB))
    except Exception as error:  # of the hub, its transport and the disk, which share no class
        reason = one_line(error.__cause__ or error)
        raise InputError(
            f"folder: {folder} is not in this machine's cache and cannot be fetched from the hub ({reason}); "
            "check the name and the network, or give a local folder"
        ) from error


def _lacking(folder: Path) -> str:
    """What a folder lacks, and what would be right; empty if it has everything."""
    if not folder.is_dir():
        return f"no such folder; give one with {CONFIG}, {WEIGHTS} and a tokenizer"
    if not (folder / CONFIG).is_file():
        return f"has no {CONFIG}; give the folder of a transformer"
    if not (folder / WEIGHTS).is_file() and not (folder / SHARDED).is_file():
        pickled = f" but a {PICKLED}, which is not read since it could run code" if (folder / PICKLED).exists() else ""
        return f"has no {WEIGHTS}{pickled}; give weights in safetensors"
    if not any(all((folder / name).is_file() for name in names) for names in TOKENIZERS):
        return f"has no tokenizer; add its {' or '.join(' and '.join(names) for names in TOKENIZERS)}"
    return ""


# -- checking -----------------------------------------------------------------------------------


def check(folder: Path) -> dict[str, Any]:
    """The configuration in a folder, whose files are looked at but not read through.

    Raises InputError, with the file, if one is missing, cut short or a saved web page, or if the model is none that
    encodes sentences on its own.
    """
    if lacking := _lacking(folder):
        raise InputError(f"{folder}: {lacking}")
    config = files.read_json(folder / CONFIG)
    if not isinstance(config.get("model_type"), str):
        raise InputError(f"{folder / CONFIG}: names no model_type; give the configuration of a transformer")
    if config.get("is_encoder_decoder"):
        raise InputError(f"{folder / CONFIG}: {config['model_type']} needs a second text to decode; give an encoder")
    for name in _TOKENIZER_FILES:
        if (folder / name).is_file() and files.is_web_page(folder / name):
            raise InputError(f"{folder / name}: is a saved web page; get the file again")
    check_layers(folder, config)
    return config


def weight_files(folder: Path) -> list[Path]:
    """The one file of weights, or those that the index of a sharded model names.

    Raises InputError for an index that is missing or damaged.
    """
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    shards = files.read_json(folder / SHARDED).get("weight_map")
    names = {str(name): folder / str(name) for name in shards.values()} if isinstance(shards, dict) else {}
    if not names or not all(Path(name).name == name and os.path.isfile(file) for name, file in names.items()):
        raise InputError(f"{folder / SHARDED}: has no weight_map from tensors to files beside it; get all files again")
    return [folder / name for name in sorted(set(shards.values()))]


def _tensors(file: Path) -> list[str]:
    """The names of the arrays in a file."""
    try:
        with safe_open(file, framework="numpy") as weights:  # compares the header with the length of the file
            return list(weights.keys())
    except (SafetensorError, OSError) as error:
        page = "a saved web page" if file.is_file() and files.is_web_page(file) else one_line(error)
        raise InputError(f"{file}: cannot be read as safetensors ({page}); get the file again") from error


def check_layers(folder: Path, config: dict[str, Any]) -> None:
    """Raise InputError for more layers than there are arrays: building them would take time and memory without end.

    Weights that are not in safetensors count as few.
    """
    stored = any((folder / name).is_file() for name in (WEIGHTS, SHARDED))
    arrays = sum(len(_tensors(file)) for file in weight_files(folder)) if stored else 0
    parts = [config, *(part for part in config.values() if isinstance(part, dict))]  # of text and of images, say
    for part, name in product(parts, _LAYERS):
        layers = part.get(name, 1)
        if type(layers) is not int or not 1 <= layers <= max(arrays, 100):
            raise InputError(
                f"{folder / CONFIG}: {name} is {repr(layers)[:60]} where the weights are {arrays} arrays; "
                "give the files of one model"
            )


def own_length(folder: Path) -> int | None:
    """The number of tokens at which sentence-transformers cuts for this model, where it says so.

    Raises InputError if it says something else.
    """
    file = folder / SENTENCE_TRANSFORMERS
    length = files.read_json(file).get("max_seq_length") if file.is_file() else None
    if length is not None and not (type(length) is int and 0 < length < 1 << 31):
        raise InputError(f"{file}: max_seq_length is {repr(length)[:60]}; give a number of tokens, or null")
    return length


# -- the fingerprint ----------------------------------------------------------------------------


def fingerprint(folder: Path) -> str:
    """Hexadecimal SHA-256 that changes with any byte of the weights, the configuration or the tokenizer."""
    names = [folder / name for name in (CONFIG, SENTENCE_TRANSFORMERS, *_TOKENIZER_FILES)]
    digest = hashlib.sha256()
    for file in [*(file for file in names if file.is_file()), *weight_files(folder)]:
        digest.update(f"{file.name} {files.sha256(file)}\n".encode())
    return digest.hexdigest()


# -- loading ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loaded:
    """A model and what is needed to feed it.

    Attributes
    ----------
    model : in evaluation mode, on its device
    tokenizer : of the tokenizers library, without padding
    dim : int, of its hidden layers
    longest : int or None, how many tokens it has positions for
    padding : int, a token that it is used to be padded with, or any
    """

    model: PreTrainedModel
    tokenizer: Any
    dim: int
    longest: int | None
    padding: int


@lru_cache(maxsize=2)
def load(folder: Path, print_of_files: str, device: str, lowered: bool) -> Loaded:
    """Read a model; kept for the next call as long as the fingerprint of its files stays.

    `lowered` rounds the matrices of its linear layers to bfloat16. Raises InputError if weights are missing (those
    of BERT's pooler, which the hidden layers do not pass through, may be) or do not fit the configuration.
    """
    model, tokenizer = _read_model(folder), _read_tokenizer(folder)
    _check_tokens(folder, tokenizer, model.get_input_embeddings().num_embeddings)
    tokenizer.no_padding()
    model.config.use_cache = False  # of a decoder's states, for words to come
    if lowered:
        _lower(model)
    padding = model.config.pad_token_id or 0
    return Loaded(model.to(device), tokenizer, model.config.hidden_size, _positions(model), padding)


def _check_tokens(folder: Path, tokenizer: Any, rows: int) -> None:
    """Raise InputError if the tokenizer has tokens that the weights have no row for, or is not whole."""
    known = 1 + max(tokenizer.get_vocab().values(), default=-1)
    bare = not (folder / "tokenizer.json").is_file()  # lines, which could be cut anywhere
    if known > rows or (bare and known + _PADDED <= rows):
        raise InputError(
            f"{folder}: its tokenizer knows {known} tokens, its weights {rows}; give the files of one model"
        )


def _read_model(folder: Path) -> PreTrainedModel:
    import torch
    import transformers

    try:
        with quiet(), torch.random.fork_rng(devices=[]):  # what is missing would be drawn at random
            model, found = transformers.AutoModel.from_pretrained(
                folder,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except Exception as error:  # the readers of weights and configuration share no class of errors
        raise InputError(f"{folder}: cannot be read as a transformer ({one_line(error)})") from error
    if missing := sorted(name for name in found["missing_keys"] if not name.startswith("pooler.")):
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise InputError(f"{weight_files(folder)[0]}: lacks the weights {missing[0]}{more}; give a complete file")
    own = {_any_layer(name) for name in model.state_dict()}
    prefix = f"{model.base_model_prefix}."
    if more := [name for name in found["unexpected_keys"] if _any_layer(name.removeprefix(prefix)) in own]:
        raise InputError(f"{folder / CONFIG}: has no place for the weights {min(more)}; give the files of one model")
    _try_out(folder, model.eval())
    return model


def _any_layer(name: str) -> str:
    """The name of a weight without the number of its layer."""
    return re.sub(r"\.\d+\.", ".#.", name)


def _try_out(folder: Path, model: PreTrainedModel) -> None:
    """Raise InputError if weights are not finite, or if nothing comes of one token and a padding."""
    import torch

    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise InputError(f"{weight_files(folder)[0]}: {name} holds NaN or infinity; get the file again")
    try:
        with torch.inference_mode():
            tokens = torch.tensor([[0, model.config.pad_token_id or 0]])
            hidden = model(input_ids=tokens, attention_mask=torch.tensor([[1, 0]])).last_hidden_state
        if hidden.shape != (1, 2, model.config.hidden_size):
            raise ValueError(f"the hidden layer of two tokens has the shape {tuple(hidden.shape)}")
    except Exception as error:  # what a configuration of wrong numbers leads to
        raise InputError(f"{folder / CONFIG}: no model can be run as it says ({one_line(error)})") from error


def _read_tokenizer(folder: Path) -> Any:
    """From tokenizer.json, which says all, or else from the files of its family.

    The classes of transformers' tokenizers take only a part of tokenizer.json: that of BERT lower-cases a cased
    model unless tokenizer_config.json is there to say that it should not.
    """
    import transformers

    with tokenizing(folder), quiet():
        if (folder / "tokenizer.json").is_file():
            file = str(folder / "tokenizer.json")
            return transformers.PreTrainedTokenizerFast(tokenizer_file=file).backend_tokenizer
        whole = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return whole.backend_tokenizer


@contextmanager
def tokenizing(folder: Path) -> Iterator[None]:
    """Whatever the compiled tokenizer of a folder raises, as InputError."""
    try:
        yield
    except InputError:
        raise
    except BaseException as error:  # its panics are no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(f"{folder}: its tokenizer cannot be read ({one_line(error)}); get its files again") from error


def _lower(model: PreTrainedModel) -> None:
    """Round the linear layers to bfloat16 once; otherwise autocast would do it again for every batch."""
    import torch
    from transformers.pytorch_utils import Conv1D

    for module in model.modules():
        if isinstance(module, (torch.nn.Linear, Conv1D)):
            module.to(torch.bfloat16)


def _positions(model: PreTrainedModel) -> int | None:
    """How many tokens fit; RoBERTa and its like start to count behind the position of the padding."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    skipped = getattr(table, "padding_idx", None)
    positions = getattr(model.config, "max_position_embeddings", None)
    return positions if positions is None or skipped is None else positions - skipped - 1


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' bars and its reports of weights that are missing or not needed, which are checked here."""
    from transformers import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
