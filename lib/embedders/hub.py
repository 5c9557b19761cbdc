"""Any sentence encoder by its id on the model hub, or by its folder.

``hub.csv`` lists those that have a row in the catalog.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from posixpath import dirname
from re import fullmatch
from typing import Any

import numpy as np
import pandas as pd

from lib.base import paths
from lib.base.errors import InputError, one_line
from lib.embedders import kinds
from lib.embedders.base import Embedder
from lib.embedders.checkpoints import (
    HUB_MODEL_REMEDY,
    as_input_error,
    check_vocabulary,
    count_truncated,
    digest_of_model,
    finite,
    has_tokenizer,
    has_weights,
    modules,
    prompts,
    quiet,
    similarity,
    table_size,
    token_counts,
)
from lib.embedders.kinds import CONTRASTIVE, STATIC_AVERAGE, TRANSFORMER, Kind
from lib.embedders.registry import CONTEXTUAL, ENTRIES, FORMS, STATIC, CatalogEntry
from lib.embedders.transformer import POOLINGS, Transformer

SECONDS = 5  # that the hub has to answer
COMMAND = "nothing: fetched from the model hub when it is first loaded"
ID = r"[\w.-]+/[\w.-]+"
REVISION = r"[\w.-]+"
ROOTS = ["modules.json", "config.json"]  # one of them says what else there is
# Modules of sentence-transformers, by their class, that have a tokenizer, and weights.
READING = {"Transformer", "StaticEmbedding", "WordEmbeddings"}
WEIGHTED = READING | {"LSTM", "CNN", "Dense"}
CHECK = "check its name and the network"


def load(name: str, pooling: str = "", prompt: str = "") -> Embedder:
    """An encoder that others have published.

    Parameters
    ----------
    name : str
        A folder, or an id of the model hub such as "intfloat/e5-small-v2", which a
        revision may follow ("intfloat/e5-small-v2@main"); the catalog's have one of
        their own. What the hub's cache has is taken as it is; what it lacks is fetched.
        No code that comes with a model is run.
    pooling : {"", "cls", "last", "avg"}
        Of the final hidden layer, as `transformer.Transformer` does. Left out, the
        model says itself how its tokens are pooled and its vectors normalized
        (modules.json), and sentence-transformers does it.
    prompt : str
        What is put before each sentence, such as "query: ".

    Raises
    ------
    InputError
        Neither a folder nor an id; a model that is not in the cache while the hub
        cannot be reached; files that are damaged or need remote code; no pooling where
        the model says none.
    """
    folder = find(name)
    if not any((folder / file).is_file() for file in ("config.json", "modules.json")):
        raise InputError(
            f"embedder: {name}: no model in this folder (no config.json); "
            "give a folder with a saved model"
        )
    if pooling:
        inside = {kind: path for path, kind in modules(folder)}.get("Transformer", "")
        model = Transformer(name, folder / inside, pooling, prompt=prompt)
        model.is_foreign = True
        _configure(model, folder)
        return model
    if not (folder / "modules.json").is_file():
        raise InputError(
            f"pooling: {name} does not say how its tokens are pooled; "
            f"give {', '.join(POOLINGS)}"
        )
    return SentenceEncoder(name, folder, prompt)


class SentenceEncoder(Embedder):
    """A model that sentence-transformers runs as its modules.json says.

    Parameters
    ----------
    name : str
    folder : Path
    prompt : str
        Empty for the one that the model's own configuration has as its default, if any.
    """

    version = 1
    libraries = ("sentence-transformers", "torch", "transformers")
    parameters = ("prompt",)
    batch_size = 256  # so that a slow model shows progress
    is_foreign = True

    def __init__(self, name: str, folder: Path, prompt: str = "") -> None:
        self.name = name
        self.folder = folder
        self.prompt = prompt
        _configure(self, folder)

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"files": digest_of_model(self.folder, "**/*")}

    def truncation(self, sentences: Sequence[str]) -> tuple[int, int]:
        return count_truncated(self, sentences, self._truncation)

    def _truncation(self, sentences: list[str]) -> tuple[int, int]:
        from tokenizers import Tokenizer  # which a browser has not

        model = _read(self.folder, self.settings["files"], with_weights=False)
        prompt = self.prompt or model.prompts.get(model.default_prompt_name)
        tokenizer = getattr(model[0], "tokenizer", None)
        if isinstance(tokenizer, Tokenizer):  # of static embeddings
            limit = (tokenizer.truncation or {}).get("max_length", 0)
            texts = [(prompt or "") + sentence for sentence in sentences]
            encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            return limit, sum(bool(encoding.overflowing) for encoding in encodings)
        if model.transformers_model is None:
            return 0, 0
        sentences = sentences or [""]
        lengths = token_counts(model, sentences, prompt, truncation=False)
        (limit,) = token_counts(model, [sentences[np.argmax(lengths)]], prompt)
        longer = sum(length > limit for length in lengths)
        return limit if longer else 0, longer

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        model = _read(self.folder, self.settings["files"])
        vectors = model.encode(
            list(sentences) or [""], prompt=self.prompt or None, show_progress_bar=False
        )
        return finite(vectors[: len(sentences)], self.folder)


def _configure(model: Embedder, folder: Path) -> None:
    """Similarity and prompts, which its configuration says, or else ``hub.csv``."""
    model.similarity_fn_name = similarity(folder)
    listed = PROMPTS.get(model.name.partition("@")[0], {})
    model.prompts = prompts(folder) or listed


@lru_cache(maxsize=2)
def _read(folder: Path, digest: str, with_weights: bool = True) -> Any:
    """The model; kept for the next call as long as the `digest` of its files stays.

    Without its weights it still says how it cuts a text.
    """
    quiet()
    with as_input_error(folder, HUB_MODEL_REMEDY):
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.util import get_device_name

        kwargs = {"dtype": "float32"} if with_weights else {"device_map": "meta"}
        model = SentenceTransformer(
            str(folder),
            device="cpu" if with_weights else None,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs=kwargs,
        )
        if model.transformers_model and not any(folder.rglob("tokenizer.json")):
            check_vocabulary(model.tokenizer, model.transformers_model)
        positions = table_size(model.transformers_model)
        if positions and positions < model.max_seq_length:
            model.max_seq_length = positions
    # Outside: too little memory on the device is not the files' fault.
    return model.to(get_device_name()) if with_weights else model


# -- the hub ---------------------------------------------------------------------------


def find(model: str) -> Path:
    """The folder of a model: its own, or that in the hub's cache.

    A model of which the cache lacks a part is fetched into it.

    Raises InputError for a model that is not available.
    """
    folder = paths.from_root(model)
    if folder.is_dir():
        return folder.resolve()
    if reason := missing(model):
        raise InputError(f"embedder: {reason}")
    return cached(model) or _fetched(model)


def is_revision(base: str, suffix: str) -> bool:
    """Whether ``@`` stands between a model of the hub and a revision, and not a form.

    A revision is a commit, a branch or a tag, as in ``intfloat/e5-small-v2@main``.
    """
    is_form = any(form.match(suffix) is not None for form in FORMS)
    is_folder = paths.from_root(base).is_dir()
    return not is_form and not is_folder and fullmatch(ID, base) is not None


def _of(model: str) -> dict[str, Any]:
    """A model's id and revision, as the hub's functions take them."""
    id, _, revision = model.partition("@")
    return {"repo_id": id, "revision": revision or REVISIONS.get(id)}


def cached(model: str) -> Path | None:
    """Its folder in the hub's cache, if its weights and tokenizers are there."""
    from huggingface_hub import snapshot_download

    with suppress(OSError, ValueError):  # it is not there, or cannot be read
        # With other patterns it would also look for files that are of no use here.
        found = snapshot_download(
            **_of(model), allow_patterns=ROOTS, local_files_only=True
        )
        folder = Path(found)
        parts = modules(folder) or [("", "Transformer")]
        weighted = [folder / path for path, kind in parts if kind in WEIGHTED]
        reading = [folder / path for path, kind in parts if kind in READING]
        if all(map(has_weights, weighted)) and all(map(has_tokenizer, reading)):
            return folder
    return None


def missing(model: str) -> str:
    """Why a model is not available, in one phrase; empty if it is.

    It is available if it is in the hub's cache or can be fetched. If the hub did not
    answer, the next call asks it again.
    """
    if paths.from_root(model).is_dir():
        return ""
    if not fullmatch(f"{ID}(@{REVISION})?", model):
        return (
            f"{model} is neither a folder here nor a model hub id such as "
            "intfloat/e5-small-v2"
        )
    try:
        cached(model) or _files(model)
    except Exception as error:  # of the hub and its transport, which share no class
        revision = _of(model)["revision"]
        which = f" (revision {revision})" if revision else ""
        absent = f"{model} is not in the model hub's cache and cannot be fetched"
        other = f"{model.partition('@')[0]}@main"
        remedy = f"give {other}, which is there" if cached(other) else CHECK
        return f"{absent}{which} ({one_line(error)}); {remedy}"
    return ""


@lru_cache  # of answers, and not of failures
def _files(model: str) -> list[str]:
    """The names of a model's files on the hub."""
    from huggingface_hub import HfApi

    found: Any = HfApi().model_info(**_of(model), timeout=SECONDS)
    return [file.rfilename for file in found.siblings]


def _fetched(model: str) -> Path:
    """Fetch what the cache lacks of a model; its weights last.

    Of weights in two formats, each module gets its safetensors.
    """
    from huggingface_hub import snapshot_download

    with as_input_error(Path(model), "try again, or fetch it with another program"):
        patterns = ["*.json", "*.txt", "*.model"]
        folder = Path(snapshot_download(**_of(model), allow_patterns=patterns))
        inside = tuple(f"{path}/" for path, _ in modules(folder) if path)
        weights = []
        for place, names in groupby(sorted(_files(model), key=dirname), dirname):
            if not place or f"{place}/".startswith(inside):
                of_place = list(names)
                safe = [name for name in of_place if name.endswith(".safetensors")]
                weights += safe or [name for name in of_place if name.endswith(".bin")]
        snapshot_download(**_of(model), allow_patterns=weights)
    return folder


# -- kinds -----------------------------------------------------------------------------

TEXT = "what its page says"
# Modules of sentence-transformers by their class: architecture, and whether it reads
# the order of the words.
MODULES = {
    "Transformer": (TRANSFORMER, True),
    "StaticEmbedding": (STATIC_AVERAGE, False),
    "BoW": (kinds.WORD_COUNTS, False),
    "WordEmbeddings": (kinds.POOLED_WORDS, False),
    "LSTM": (kinds.RECURRENT, True),
    "CNN": (kinds.CONVOLUTIONAL, True),
}


def kind(model: str) -> Kind:
    """The kind of a model by its modules.json, or else its config.json.

    Without these files it is unknown. Neither file states the training objective.
    """
    unknown = kinds.unknown(model, TEXT)
    folder = paths.from_root(model)
    if not folder.is_dir():
        is_of_hub = fullmatch(f"{ID}(@{REVISION})?", model)
        folder = cached(model) if is_of_hub else None
    if folder is None:
        return unknown
    known = [MODULES[name] for _, name in modules(folder) if name in MODULES]
    if not known:
        return unknown
    architecture, reads_order = known[-1]  # LSTM and CNN come after WordEmbeddings
    return replace(unknown, architecture=architecture, reads_order=reads_order)


# -- the registry ----------------------------------------------------------------------


class HubEntry(CatalogEntry):
    """A row of the catalog, of a model that the hub has."""

    @property
    def missing(self) -> str:
        """Why the model is not available; empty if it is."""
        return missing(self.name)

    @property
    def available(self) -> bool:
        """Whether the model is in the hub's cache."""
        return cached(self.name) is not None


def entry(name: str) -> HubEntry:
    """The row of a folder, an id that the catalog does not list, or a revision."""
    if listed := ENTRIES.get(name.partition("@")[0]):
        return replace(listed, name=name)  # type: ignore[return-value]
    source = "the model hub, or a folder"
    return HubEntry(
        load,
        name,
        CONTEXTUAL,
        None,
        source,
        (),
        kind(name),
        "see its page",
        command=COMMAND,
    )


table = pd.read_csv(Path(__file__).with_suffix(".csv"), keep_default_na=False)
# That mteb measures, too; the branch "main" of the others.
REVISIONS = {row.name: row.revision or None for row in table.itertuples()}
PROMPTS = {
    row.name: {"query": row.prompt, "document": row.text_prompt}
    for row in table.itertuples()
    if row.text_prompt
}
for row in table.itertuples():
    is_static = row.architecture == STATIC_AVERAGE
    options = {"pooling": row.pooling, "prompt": row.prompt}
    ENTRIES[row.name] = HubEntry(
        load,
        row.name,
        STATIC if is_static else CONTEXTUAL,
        row.dim,
        row.source,
        (),
        Kind(row.architecture, CONTRASTIVE, not is_static, row.method, row.text),
        row.license,
        command=COMMAND,
        preset={name: value for name, value in options.items() if value},
    )
