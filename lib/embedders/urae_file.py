"""The network that Socher et al. published, read from its MATLAB files.

The package ``codeRAEVectorsNIPS2011`` of the paper's page holds two files of MATLAB's version 5 format:

``vars.normalized.100.mat``
    ``words``, a cell array of v strings in lower case, ``*UNKNOWN*`` among them; ``We``, double[100, v], their vectors
    (Collobert and Weston's in Turian's version), each of unit length
``params.mat``
    ``W1`` and ``W2``, double[100, 100], and ``b1``, double[100, 1]: a node is tanh(W1 c1 + W2 c2 + b1). ``We``, empty,
    or double[100, v], what training has added to the word vectors. ``W3``, ``W4``, ``b2`` and ``b3``, if they are
    there, unfold: c1' = tanh(W3 p + b2), c2' = tanh(W4 p + b3)

This is what public programs that use the package read from it. We have not seen the files themselves, nor whether they
hold the second half, and have tried the reader on small files of this form. The semantic localization paper says 200
dimensions; the vectors that the package writes have 100, and the reader takes any number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lib.corpora import text
from lib.embedders import matlab_file, urae_trees
from lib.embedders.registry import ENCODER, embedder
from lib.embedders.static import WordVectors
from lib.embedders.tokens import Tokenizer
from lib.embedders.urae import URAE
from lib.embedders.urae_trees import Parser
from lib.run.errors import InputError

UNKNOWN = "*UNKNOWN*"
NETWORK = ("We", "W1", "W2", "W3", "W4", "b1", "b2", "b3")
BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}


class PublishedURAE(URAE):
    """The published network: as it came, without further training.

    A word that it does not know has the vector of ``*UNKNOWN*``, as in the authors' program; a sentence of such words
    alone has a zero vector, as everywhere here. Their trees were the Stanford parser's: others give other vectors.

    Parameters
    ----------
    vectors, params : paths of ``vars.normalized.100.mat`` and ``params.mat``
    trees : as for `URAE`; "auto" is balanced where no parser is installed, since the file may hold no decoder, which
        greedy trees need
    tokenize : a function from a sentence to its lower-cased tokens

    Raises
    ------
    InputError
        A file that is not MATLAB's, lacks a variable or has one of another shape; greedy trees without a decoder.
    """

    version = 1
    unit_length = False

    def __init__(
        self,
        vectors: str | Path,
        params: str | Path,
        name: str = "urae",
        trees: str | Parser = "auto",
        tokenize: Tokenizer = text.lower_word_tokens,
    ) -> None:
        if trees == "auto" and not urae_trees.installed_parser():
            trees = "balanced"
        words, matrix, arrays = read(Path(vectors), Path(params))
        super().__init__(_WithUnknown(name, words, matrix), tokenize, name, trees)
        self.needs_fit = False
        self._arrays = arrays
        if self.trees == "greedy" and not arrays[2].size:
            raise InputError(f"{params}: has no decoder (W3, W4, b2, b3), which greedy trees need; give other trees")

    @property
    def settings(self) -> dict[str, Any]:
        from lib.embedders import fingerprints

        weights = {str(i): array for i, array in enumerate(self._arrays)}
        own = {"weights": fingerprints.of_mapping({key: array.ravel() for key, array in weights.items()})}
        return {key: value for key, value in super().settings.items() if key not in self.options} | own

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        encoded = super()._encode(sentences)
        for row, sentence in enumerate(sentences):
            if not any(self.vectors.knows(token) for token in self.tokenize(sentence)):
                encoded[row] = 0
        return encoded


class _WithUnknown(WordVectors):
    """Word vectors in which each word has one: an unknown word that of ``*UNKNOWN*``."""

    def knows(self, word: str) -> bool:
        return super().__contains__(BRACKETS.get(word, word))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str)

    def __getitem__(self, word: str) -> np.ndarray:
        word = BRACKETS.get(word, word)
        return super().__getitem__(word if self.knows(word) else UNKNOWN)


def read(vectors: Path, params: Path) -> tuple[list[str], np.ndarray, list[np.ndarray]]:
    """The words, their vectors float32[v, d], and the network: float32 [d, 2 d], [d], [2 d, d] and [2 d].

    The last two are empty if the file has no decoder. Raises InputError for files that are missing or damaged, or whose
    matrices do not fit together.
    """
    table, network = matlab_file.read(vectors, ("words", "We")), matlab_file.read(params, NETWORK)
    words, matrix = _variable(vectors, table, "words"), _variable(vectors, table, "We")
    if not isinstance(words, list) or len(set(words)) < len(words):
        raise InputError(f"{vectors}: words is not a cell array of words, each there once; get the file again")
    shape = np.shape(matrix)
    if len(shape) != 2 or not shape[0] or shape[1] != len(words):
        raise InputError(f"{vectors}: We has the shape {shape} for {len(words)} words; it must have a column a word")
    matrix = _shaped(vectors, table, "We", shape)
    if UNKNOWN not in words:
        raise InputError(f"{vectors}: words has no {UNKNOWN}; give the file of the package codeRAEVectorsNIPS2011")
    d = len(matrix)
    if np.size(network.get("We", ())):
        matrix = matrix + _shaped(params, network, "We", matrix.shape)
    first = np.hstack([_shaped(params, network, name, (d, d)) for name in ("W1", "W2")])
    arrays = [first, _shaped(params, network, "b1", (d, 1)).ravel(), *_decoder(params, network, d)]
    return words, np.ascontiguousarray(matrix.T, np.float32), [np.ascontiguousarray(a, np.float32) for a in arrays]


def _decoder(file: Path, network: Mapping[str, Any], d: int) -> list[np.ndarray]:
    if not {"W3", "W4", "b2", "b3"} <= network.keys():
        return [np.empty((0, d)), np.empty(0)]
    matrices = [_shaped(file, network, name, (d, d)) for name in ("W3", "W4")]
    return [np.vstack(matrices), np.vstack([_shaped(file, network, name, (d, 1)) for name in ("b2", "b3")]).ravel()]


def _variable(file: Path, variables: Mapping[str, Any], name: str) -> Any:
    if name not in variables:
        found = ", ".join(variables)[:200] or "none"
        raise InputError(f"{file}: has no variable {name} (it has: {found}); give the file of codeRAEVectorsNIPS2011")
    return variables[name]


def _shaped(file: Path, variables: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = _variable(file, variables, name)
    if np.shape(array) != shape:
        raise InputError(f"{file}: {name} has the shape {np.shape(array)}; it must be {shape}")
    if not isinstance(array, np.ndarray) or not (np.abs(array) <= np.finfo(np.float32).max).all():
        raise InputError(f"{file}: {name} is not an array of finite numbers")
    return array


@embedder("urae", ENCODER, 100, "unfolding recursive autoencoder, Socher et al. 2011", "urae")
def _published(name: str, files: list[Path], **options: Any) -> PublishedURAE:
    return PublishedURAE(*files, name=name, **options)
