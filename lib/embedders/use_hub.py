"""The Universal Sentence Encoder as a module of TensorFlow Hub, run by TensorFlow (the optional extra ``use``)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from lib.embedders.base import Embedder
from lib.embedders.registry import ENCODER, embedder
from lib.run.errors import InputError
from lib.run.files import is_web_page
from lib.run.parameters import in_range

VERSION = 1
SIGNATURE = "default"  # the name of the encoder's function in a module, and of the vectors in what it returns
SENTENCES_PER_BATCH = 64
INSTALL = 'pip install "tensorflow>=2.21"'
WANTED = "give the folder that the module's archive was unpacked into (assets use-dan and use-trf of the catalog)"


class UniversalSentenceEncoder(Embedder):
    """The encoder of Cer et al. (2018) in TensorFlow Hub's first format, in which the N2O paper's two are published.

    Parameters
    ----------
    folder : path of the unpacked module: ``tfhub_module.pb``, ``saved_model.pb``, ``variables/`` and, where it has
        some, ``assets/``. Version 2 is the deep averaging network, large version 3 the transformer; 512 dimensions.
    name : str
    threads : int, of TensorFlow in the whole process; it is settled when TensorFlow first computes. With one thread
        the same sentences give the same bytes; more are faster and may change last digits. 0 leaves it as it is.

    Raises
    ------
    InputError
        TensorFlow is not installed or runs with other threads already, or the folder is not such a module.

    Notes
    -----
    The module takes text as it is: its graph does the tokenizing. An empty sentence gets the vector that the module
    gives it, which need not be zero. Sentences are encoded in order of length, on the processor, so that little of a
    batch is padding; the size of its batch changes a vector by rounding only.
    """

    version = VERSION

    def __init__(self, folder: str | Path, name: str, threads: int = 1) -> None:
        in_range("threads", threads, 0, 1024)
        self.folder, self.name, self.threads = Path(folder), name, threads
        _check(self.folder)
        if find_spec("tensorflow") is None:
            raise InputError(f"{name}: needs TensorFlow, which is not installed; {INSTALL}")

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "module": self._digest,
            "tensorflow": version(packages_distributions()["tensorflow"][0]),
            "threads": self.threads,
        }

    @cached_property
    def _digest(self) -> str:
        """A digest of the module's files but for the arrays, whose checksums are in ``variables.index``."""
        digest = hashlib.blake2b(digest_size=16)
        for file in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            if not file.name.startswith("variables.data"):
                digest.update(f"{file.relative_to(self.folder).as_posix()} {file.stat().st_size}\0".encode())
                digest.update(file.read_bytes())
        return digest.hexdigest()

    @property
    def dim(self) -> int:
        """The dimension of a sentence vector."""
        return self._encoder.structured_outputs[SIGNATURE].shape[-1]

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        embeddings = np.zeros((len(sentences), self.dim), np.float32)
        by_length = np.argsort([len(sentence) for sentence in sentences], kind="stable")
        for start in range(0, len(sentences), SENTENCES_PER_BATCH):
            rows = by_length[start : start + SENTENCES_PER_BATCH]
            embeddings[rows] = self._run([sentences[row] for row in rows])
        return embeddings

    def _run(self, sentences: list[str]) -> np.ndarray:
        """float32[n, dim], one pass through the module."""
        tf = import_module("tensorflow")
        (text_input,) = self._encoder.structured_input_signature[1]
        with tf.device("/CPU:0"):
            return self._encoder(**{text_input: tf.constant(sentences)})[SIGNATURE].numpy()

    @cached_property
    def _module(self) -> Any:
        tf = _tensorflow(self.threads)
        try:
            with tf.device("/CPU:0"):
                return tf.saved_model.load(str(self.folder), tags=[])
        except Exception as error:  # damaged bytes can raise nearly anything
            raise InputError(
                f"{self.folder}: TensorFlow cannot load it: a file is missing, damaged or in another format; {WANTED}"
            ) from error

    @cached_property
    def _encoder(self) -> Any:
        """The function from text to vectors. It works as long as its module is there."""
        encoder = self._module.signatures.get(SIGNATURE)
        inputs = encoder.structured_input_signature[1] if encoder else {}
        if len(inputs) != 1 or SIGNATURE not in encoder.structured_outputs:
            raise InputError(f"{self.folder}: has no signature {SIGNATURE!r} from one text to vectors; {WANTED}")
        return encoder


def _check(folder: Path) -> None:
    """Raise InputError unless the folder holds the two files that make it a module."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder; {WANTED}")
    for file in (folder / "tfhub_module.pb", folder / "saved_model.pb"):
        if not file.is_file():
            raise InputError(f"{folder}: has no {file.name}; {WANTED}")
        if is_web_page(file):
            raise InputError(f"{file}: a web page was saved in its place; {WANTED}")


def _tensorflow(threads: int) -> Any:
    """TensorFlow, running with so many threads."""
    tf = import_module("tensorflow")
    try:
        if threads:
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
    except RuntimeError as error:
        raise InputError(
            f"threads: TensorFlow runs already in this process, and not with {threads}; "
            "start a new one (in a notebook, restart the kernel), or give 0 to take it as it is"
        ) from error
    return tf


NEEDED = ("tensorflow", INSTALL)


@embedder("use-dan", ENCODER, 512, "Universal Sentence Encoder, deep averaging network", "use-dan", package=NEEDED)
@embedder("use-trf", ENCODER, 512, "Universal Sentence Encoder, transformer", "use-trf", package=NEEDED)
def _published(name: str, files: list[Path], **options: Any) -> UniversalSentenceEncoder:
    return UniversalSentenceEncoder(files[0].parent, name, **options)
