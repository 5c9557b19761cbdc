"""Any sentence encoder by its id on the model hub, or by its folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from re import fullmatch
from typing import Any

import numpy as np

from lib.embedders.base import Embedder, digest_of_model, finite, reading
from lib.embedders.registry import CONTEXTUAL, ENTRIES, STATIC, Entry
from lib.embedders.transformer import POOLINGS, Transformer, quiet
from lib.run import paths
from lib.run.errors import InputError, one_line

SECONDS = 5  # that the hub has to answer
COMMAND = "nothing: fetched from the model hub when it is first loaded"
ID = r"[\w.-]+/[\w.-]+"
REMEDY = "give the folder of a SentenceTransformer without code of its own; if the hub's cache has it, delete it there"


def load(name: str, pooling: str = "", prompt: str = "") -> Embedder:
    """An encoder that others have published.

    Parameters
    ----------
    name : str
        A folder, or an id of the model hub such as "intfloat/e5-small-v2". What the hub's cache has is taken as it is;
        what it lacks is fetched. No code that comes with a model is run.
    pooling : {"", "cls", "last", "avg"}
        Of the final hidden layer, as `transformer.Transformer` does. Left out, the model says itself how its tokens
        are pooled and its vectors normalized (modules.json), and sentence-transformers does it.
    prompt : str
        What is put before each sentence, such as "query: ".

    Raises
    ------
    InputError
        Neither a folder nor an id; a model that is not in the cache while the hub cannot be reached; files that are
        damaged or need remote code; no pooling where the model says none.
    """
    folder = find(name)
    if pooling:
        return Transformer(name, folder, pooling, prompt=prompt)
    if not (folder / "modules.json").is_file():
        raise InputError(f"pooling: {name} does not say how its tokens are pooled; give {', '.join(POOLINGS)}")
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
    batch_size = 2048

    def __init__(self, name: str, folder: Path, prompt: str = "") -> None:
        self.name, self.folder, self.prompt = name, folder, prompt

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"files": digest_of_model(self.folder, "**/*")}

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        model = _read(self.folder, self.settings["files"])
        vectors = model.encode(list(sentences) or [""], prompt=self.prompt or None, show_progress_bar=False)
        return finite(vectors[: len(sentences)], self.folder)


@lru_cache(maxsize=1)
def _read(folder: Path, files: str) -> Any:
    """The model; kept for the next call as long as the digest of its `files` stays."""
    quiet()
    with reading(folder, REMEDY):
        from sentence_transformers import SentenceTransformer

        options = {"local_files_only": True, "trust_remote_code": False, "model_kwargs": {"dtype": "float32"}}
        return SentenceTransformer(str(folder), **options)


# -- the hub ------------------------------------------------------------------------------------


def find(model: str) -> Path:
    """The folder of a model: its own, or that in the hub's cache, into which it is fetched if need be.

    Raises InputError for a model that cannot be had.
    """
    folder = paths.from_root(model)
    if folder.is_dir():
        return folder.resolve()
    if reason := missing(model):
        raise InputError(f"embedder: {reason}")
    return cached(model) or _fetched(model)


def cached(model: str) -> Path | None:
    """The folder of a model in the hub's cache, if its weights are there."""
    from huggingface_hub import snapshot_download

    with suppress(OSError):
        folder = Path(snapshot_download(model, local_files_only=True))
        if any(file.suffix in (".safetensors", ".bin") for file in folder.rglob("*")):
            return folder
    return None


@lru_cache
def missing(model: str) -> str:
    """Why a model cannot be had here, one phrase; empty if it is in the hub's cache or can be fetched."""
    if paths.from_root(model).is_dir():
        return ""
    if not fullmatch(ID, model):
        return f"{model} is no folder here, and no id of the model hub, such as intfloat/e5-small-v2"
    try:
        cached(model) or _files(model)
    except Exception as error:  # of the hub and its transport, which share no class
        absent = f"{model} is not in the model hub's cache and cannot be fetched"
        return f"{absent} ({one_line(error)}); check its name and the network"
    return ""


@lru_cache
def _files(model: str) -> list[str]:
    """The names of a model's files on the hub."""
    from huggingface_hub import HfApi

    return [file.rfilename for file in HfApi().model_info(model, timeout=SECONDS).siblings]


def _fetched(model: str) -> Path:
    """Fetch a model, its weights last, so that they are there only where all the rest is."""
    from huggingface_hub import snapshot_download

    weights = "*.safetensors" if any(name.endswith(".safetensors") for name in _files(model)) else "*.bin"
    with reading(Path(model), "try again, or fetch it with another program"):
        for patterns in (["*.json", "*.txt", "*.model"], [weights]):
            folder = snapshot_download(model, allow_patterns=patterns)
    return Path(folder)


# -- the registry -------------------------------------------------------------------------------


class HubEntry(Entry):
    """A row of the catalog, of a model that the hub has."""

    @property
    def missing(self) -> str:
        """Why the model cannot be had here; empty if it can."""
        return missing(self.name)

    @property
    def available(self) -> bool:
        """Whether the model is in the hub's cache."""
        return cached(self.name) is not None


def entry(name: str) -> HubEntry:
    """The row of a folder or of an id that the catalog does not list."""
    return HubEntry(load, name, CONTEXTUAL, None, "the model hub, or a folder", (), "see its page", command=COMMAND)


E5, NOMIC, SIMCSE = {"prompt": "query: "}, {"prompt": "search_query: "}, {"pooling": "cls"}
LISTED = [  # id, dimensions, license, what it is and how much is fetched, options
    ("sentence-transformers/all-MiniLM-L12-v2", 384, "Apache-2.0", "MiniLM, 12 layers; 133 MB", {}),
    ("sentence-transformers/all-mpnet-base-v2", 768, "Apache-2.0", "MPNet; 438 MB", {}),
    ("BAAI/bge-small-en-v1.5", 384, "MIT", "BGE, small; 133 MB", {}),
    ("BAAI/bge-base-en-v1.5", 768, "MIT", "BGE, base; 438 MB", {}),
    ("intfloat/e5-small-v2", 384, "MIT", "E5, small; 133 MB", E5),
    ("intfloat/e5-base-v2", 768, "MIT", "E5, base; 438 MB", E5),
    ("thenlper/gte-small", 384, "MIT", "GTE, small; 67 MB", {}),
    ("Alibaba-NLP/gte-modernbert-base", 768, "Apache-2.0", "GTE over ModernBERT; 298 MB", {}),
    ("nomic-ai/modernbert-embed-base", 768, "Apache-2.0", "Nomic over ModernBERT; 596 MB", NOMIC),
    ("princeton-nlp/unsup-simcse-bert-base-uncased", 768, "MIT (program)", "SimCSE, unsupervised; 438 MB", SIMCSE),
    ("sentence-transformers/LaBSE", 768, "Apache-2.0", "LaBSE, 109 languages; 1.9 GB", {}),
    ("sentence-transformers/static-retrieval-mrl-en-v1", 1024, "Apache-2.0", "static embeddings; 125 MB", {}),
]  # fmt: skip
for name, dim, license, source, options in LISTED:
    family = STATIC if source.startswith("static") else CONTEXTUAL
    ENTRIES[name] = HubEntry(load, name, family, dim, source, (), license, command=COMMAND, preset=options)
