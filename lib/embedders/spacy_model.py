"""spaCy's English model of middle size: its word vectors, and its contextual ones.

Only data of the package are read: nothing of it is imported. Its 20,000 vectors have
684,830 keys: a rare word has the vector of the frequent one that is nearest to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lib.base import files
from lib.base.environment import thread_pool
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.checkpoints import as_input_error, finite
from lib.embedders.kinds import (
    CONTEXT,
    CONVOLUTIONAL,
    SEVERAL_TASKS,
    STATIC_AVERAGE,
    Kind,
)
from lib.embedders.registry import CONTEXTUAL, STATIC, embedder

REMEDY = "give the folder of a model of spaCy 3 with vectors"
# The network whose states the other parts of the pipeline read, which are left out.
NETWORK = "tok2vec"
OTHERS = ("tagger", "parser", "senter", "attribute_ruler", "lemmatizer", "ner")
SENTENCES_PER_THREAD = 64


class SpacyVectors(Mapping[str, np.ndarray]):
    """A mapping word -> float32[d]; several words may share a vector.

    Parameters
    ----------
    folder : Path
        ``vocab`` of a spaCy model: vectors, key2row, strings.json.

    Raises
    ------
    InputError
        A file that is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        from spacy.vectors import Vectors

        self.folder = folder
        with as_input_error(folder, REMEDY):
            self._vectors = Vectors().from_disk(folder, exclude=["strings"])

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change if a word or number does."""
        digests = [files.sha256(self.folder / name) for name in ("vectors", "key2row")]
        return "".join(digest[:16] for digest in digests)

    def __getitem__(self, word: str) -> np.ndarray:
        if not isinstance(word, str):
            raise KeyError(word)
        return self._vectors[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __len__(self) -> int:
        return self._vectors.n_keys

    @cached_property
    def _words(self) -> list[str]:
        """The words, which the mapping itself knows by their hashes alone."""
        with as_input_error(self.folder, REMEDY):
            strings = json.loads((self.folder / "strings.json").read_bytes())
        rows = self._vectors.find(keys=strings)
        return [word for word, row in zip(strings, rows, strict=True) if row >= 0]


class SpacyContext(Embedder):
    """The mean of a sentence's contextual vectors, float32[n, 96].

    They are the states of a convolutional network that sees four words to each side,
    and that spaCy's tagger and parser read.

    Parameters
    ----------
    name : str
    folder : Path
        A spaCy model.

    Raises
    ------
    InputError
        From the first `encode`: a file that is missing or damaged.
    """

    version = 1
    libraries = ("spacy", "thinc")
    parameters = ("weights",)

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.weights = folder / NETWORK / "model"

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        pipeline = _pipeline(self.folder, files.sha256(self.weights))
        network = pipeline.get_pipe(NETWORK).model
        vectors = np.zeros((len(sentences), network.get_dim("nO")), np.float32)
        texts = [pipeline.make_doc(str(sentence)) for sentence in sentences]
        worded = [row for row, sentence in enumerate(sentences) if sentence.strip()]

        def encode(start: int) -> None:
            rows = worded[start : start + SENTENCES_PER_THREAD]
            states = network.predict([texts[row] for row in rows])
            vectors[rows] = [of_tokens.mean(axis=0) for of_tokens in states]

        with thread_pool() as threads:
            starts = range(0, len(worded), SENTENCES_PER_THREAD)
            for _ in threads.map(encode, starts):
                pass
        return finite(vectors, self.weights)


@lru_cache(maxsize=1)
def _pipeline(folder: Path, digest: str) -> Any:
    """The tokenizer and the network; kept as long as the `digest` of its weights is."""
    import spacy

    with as_input_error(folder, REMEDY):
        return spacy.load(folder, exclude=OTHERS)


# -- the registry ----------------------------------------------------------------------

MODEL = "spacy/en_core_web_md 3.8"
WEB = "OSCAR, Wikipedia, OpenSubtitles and WMT"


@embedder(
    "spacy-md", STATIC, 300, f"{MODEL}, word vectors", "spacy-md",
    kind=Kind(STATIC_AVERAGE, CONTEXT, False, "fastText", WEB),
    words=text.word_tokens,
)  # fmt: skip
def _vectors(vectors: Path, *others: Path, name: str) -> SpacyVectors:
    return _opened(vectors.parent)


@lru_cache(maxsize=1)  # each composition asks for them
def _opened(folder: Path) -> SpacyVectors:
    return SpacyVectors(folder)


@embedder(
    "spacy-md-cnn", CONTEXTUAL, 96, f"{MODEL}, contextual vectors", "spacy-md",
    kind=Kind(CONVOLUTIONAL, SEVERAL_TASKS, True, "spaCy's parser", "OntoNotes 5"),
)  # fmt: skip
def _context(vectors: Path, *others: Path, name: str) -> SpacyContext:
    return SpacyContext(name, vectors.parent.parent)
