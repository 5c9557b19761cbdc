"""The unfolding recursive autoencoder (URAE).

The root of a binary tree over the words stands for the sentence.

Socher, Huang, Pennington, Ng and Manning 2011, "Dynamic pooling and unfolding recursive
autoencoders for paraphrase detection". From the paper: one layer p = tanh(W_e [c1; c2]
+ b_e) folds two parts into one, another unfolds it, down to the words, and what is
minimized is the squared distance between the words below a node and what it unfolds to,
summed over all inner nodes of a tree. The paper takes the trees of a parser, and
L-BFGS.

Decided here: word vectors are fixed, of unit length (as those of the published
network); words without a vector are left out; weights are regularized by L2, start from
averaging, and take Adam; trees are greedy, as in the authors' "Semi-supervised
recursive autoencoders" (2011), or balanced.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.corpora import text
from lib.embedders.base import Tokenizer, as_input_error, finite
from lib.embedders.kinds import HERE, RECONSTRUCTION, RECURSIVE, Kind
from lib.embedders.registry import CORPUS, ENCODER, composition, embedder
from lib.embedders.trained import WordTraining
from lib.embedders.words import WordComposition
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import one_of

if TYPE_CHECKING:
    from torch import Tensor

    from lib.embedders.urae_network import Weights


SENTENCES = 2000  # that are trained on
TREE = {"architecture": RECURSIVE, "objective": RECONSTRUCTION, "reads_order": True}


@composition("urae", "unfolding recursive autoencoder", "Socher et al. 2011", **TREE)
class URAE(WordComposition):
    """An unfolding recursive autoencoder over word vectors, trained by `fit`.

    It is trained on 2,000 sentences of the text, drawn by the seed; those of fewer than
    two known words, or of more than 128, then drop out. Word vectors that are trained
    take the whole text. A sentence of one known word has that word's vector, of unit
    length, one without any a zero vector.

    Parameters
    ----------
    vectors : mapping or trained.WordTraining
        From words to float32[d], or what trains such vectors. The sentence's vector has
        d dimensions too.
    tokenize : callable
        From a sentence to its tokens.
    name : str
    trees : {"greedy", "balanced"}
        Greedy by reconstruction error.
    epochs, seed : int
        Passes over the sentences, seed of the random numbers.

    Raises
    ------
    InputError
        An unknown kind of `trees`; from `fit`, a text without a sentence of two known
        words.
    """

    version = 1
    libraries = ("torch",)
    parameters = (*WordComposition.parameters, "trees", "epochs", "seed")
    needs_fit = True
    learned = ("_arrays",)
    batch_size = 512
    unit_length = True

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | WordTraining,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "urae",
        trees: str = "greedy",
        epochs: int = 3,
        seed: int = 1,
    ) -> None:
        super().__init__(name, vectors, tokenize)
        self.trees = one_of("trees", trees, ("greedy", "balanced"))
        self.epochs = epochs
        self.seed = seed

    def _leaves(self, sentences: Sequence[str]) -> list[Tensor]:
        """The vectors of the known words of each sentence, float32[n, d]."""
        import torch
        from torch.nn.functional import normalize

        words = self._words(sentences)
        leaves = [torch.from_numpy(words.vectors_of(i)) for i in range(len(sentences))]
        if self.unit_length:
            leaves = [normalize(vectors) for vectors in leaves]
        return leaves

    def _grown(self, weights: Weights, words: Sequence[Tensor]) -> list[np.ndarray]:
        """The trees over the words of sentences that have some."""
        from lib.embedders import urae_network

        if self.trees == "balanced":
            return [urae_network.balanced(len(vectors)) for vectors in words]
        return urae_network.greedy(weights, words)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        from lib.embedders import urae_network

        super()._fit(sentences, show_progress_bar)
        words = self._training_set(sentences)
        weights = urae_network.initial(self.word_dim, self.seed)
        total = self.epochs * len(words)
        with (
            urae_network.one_thread(),
            progress.bar(total, f"train {self.name}", show=show_progress_bar) as bar,
        ):
            for number in urae_network.train(
                weights, words, self._grown, self.epochs, self.seed
            ):
                bar.update(number)
        self._arrays = [tensor.tolist() for tensor in weights]

    def _training_set(self, sentences: Sequence[str]) -> list[Tensor]:
        from lib.embedders import urae_network

        rng = np.random.default_rng(self.seed)
        size = min(SENTENCES, len(sentences))
        chosen = np.sort(rng.choice(len(sentences), size, replace=False))
        words = self._leaves([sentences[i] for i in chosen])
        usable = [
            vectors for vectors in words if 2 <= len(vectors) <= urae_network.LONGEST
        ]
        if not usable:
            raise InputError(
                f"{self.name}: no sentence has two words with a vector; "
                "fit it on more text"
            )
        return usable

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        import torch

        from lib.embedders import urae_network

        encoded = np.zeros((len(sentences), self.word_dim), np.float32)
        with torch.inference_mode(), urae_network.one_thread():
            words = self._leaves(sentences)
            worded = [i for i, vectors in enumerate(words) if len(vectors)]
            if worded:
                weights = urae_network.Weights(*map(torch.tensor, self._arrays))
                words = [words[i] for i in worded]
                forest = urae_network.forest(self._grown(weights, words))
                nodes = urae_network.nodes(weights, torch.cat(words), forest)
                encoded[worded] = nodes[forest.roots].numpy()
        return encoded


# -- the published network -------------------------------------------------------------

UNKNOWN = "*UNKNOWN*"
BRACKETS = {
    "(": "-lrb-",
    ")": "-rrb-",
    "[": "-lsb-",
    "]": "-rsb-",
    "{": "-lcb-",
    "}": "-rcb-",
}
REMEDY = "give the file of the package codeRAEVectorsNIPS2011"
PUBLISHED = Kind(**TREE, method="URAE", text="Gigaword")


@embedder(
    "urae",
    ENCODER,
    100,
    "unfolding recursive autoencoder, Socher et al. 2011",
    "urae",
    kind=PUBLISHED,
)
class PublishedURAE(URAE):
    """The network that Socher et al. published, read from its MATLAB files.

    It is used as it came, without further training. A word that it does not know has
    the vector of ``*UNKNOWN*``, as in the authors' program; a sentence of such words
    alone has a zero vector, as everywhere here. Their trees were the Stanford parser's:
    the balanced ones that it has here give other vectors.

    Parameters
    ----------
    vectors : str or Path
        ``vars.normalized.100.mat`` of the package ``codeRAEVectorsNIPS2011``:
        ``words``, a cell array of v strings in lower case, ``*UNKNOWN*`` among them;
        ``We``, double[100, v], their vectors (Collobert and Weston's in Turian's
        version), each of unit length.
    params : str or Path
        ``params.mat`` of the same: ``W1`` and ``W2``, double[100, 100], and ``b1``,
        double[100, 1]: a node is tanh(W1 c1 + W2 c2 + b1). ``We``, empty, or
        double[100, v], what training has added to the word vectors. What may be there
        besides, which unfolds, is not read.
    name : str
    tokenize : callable
        From a sentence to its lower-cased tokens.

    Raises
    ------
    InputError
        A file that is not MATLAB's, is damaged, lacks a variable or has one of another
        shape.

    Notes
    -----
    The variables are what public programs that use the package read from it. We have
    not seen the files themselves, and have tried the reader on small files of this
    form. The semantic localization paper says 200 dimensions; the vectors that the
    package writes have 100, and the reader takes any number.
    """

    version = 1
    parameters = ("tokenize", "file", "params")
    needs_fit = False
    unit_length = False

    def __init__(
        self,
        vectors: str | Path,
        params: str | Path,
        name: str = "urae",
        tokenize: Tokenizer = text.lower_word_tokens,
    ) -> None:
        self.file = Path(vectors)
        self.params = Path(params)
        table, weights = read(self.file, self.params)
        super().__init__(table, tokenize, name, trees="balanced")
        self._arrays = weights

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        encoded = super()._encode(sentences)
        for row, sentence in enumerate(sentences):
            is_known = any(token in self.vectors for token in self.tokenize(sentence))
            if not is_known:
                encoded[row] = 0
        return finite(encoded, self.params)


class _WithUnknown(dict):
    """Word vectors in which an unknown word has that of ``*UNKNOWN*``."""

    def get(self, word: str, default: object = None) -> np.ndarray:
        return self[word if word in self else UNKNOWN]


def read(vectors: Path, params: Path) -> tuple[_WithUnknown, list[np.ndarray]]:
    """The word vectors, and what folds: float32[d, 2 d] and float32[d]."""
    with as_input_error(vectors, REMEDY):
        variables = _variables(vectors)
        cells = variables["words"].ravel()
        words = [cell.item() if cell.size else "" for cell in cells]
        matrix = variables["We"].reshape(-1, len(words))
        words.index(UNKNOWN)  # an error, if it is not there
    with as_input_error(params, REMEDY):
        network = _variables(params)
        if network.get("We", matrix[:0]).size:
            matrix = matrix + network["We"]
        d = len(matrix)
        encode = np.hstack([network["W1"], network["W2"]]).reshape(d, 2 * d)
        bias = network["b1"].reshape(d)
        arrays = [np.ascontiguousarray(array, np.float32) for array in (encode, bias)]
    rows = np.ascontiguousarray(matrix.T, np.float32)
    table = dict(zip(words, rows, strict=True))
    brackets = {
        bracket: table[word] for bracket, word in BRACKETS.items() if word in table
    }
    return _WithUnknown(table | brackets), arrays


def _variables(file: Path) -> dict[str, np.ndarray]:
    """The variables of a MATLAB file, which another process tries first.

    Wrong bytes can crash SciPy's reader.
    """
    from scipy.io import loadmat

    program = "import scipy.io, sys; scipy.io.loadmat(sys.argv[1])"
    command = [sys.executable, "-c", program, str(file)]
    trial = subprocess.run(command, capture_output=True, check=False)
    if trial.returncode < 0:
        raise ValueError("it is damaged")
    return loadmat(file)


# -- the registry ----------------------------------------------------------------------

MIT = "MIT (program)"
OVER_WORDS = "unfolding recursive autoencoder over w2v-corpus"
TRAINED = {
    "kind": Kind(**TREE, method="URAE", text=HERE),
    "license": MIT,
    "sized": True,
}


@embedder("urae-corpus", CORPUS, 100, OVER_WORDS, **TRAINED)
@embedder(
    "urae-corpus-balanced",
    CORPUS,
    100,
    f"{OVER_WORDS}, balanced trees",
    **TRAINED,
    preset={"trees": "balanced"},
)
def _over_trained_words(name: str, dim: int = 100, **options: Any) -> URAE:
    vectors = WordTraining("w2v-corpus", dim=dim)
    options = {"tokenize": text.lower_word_tokens} | options
    return URAE(vectors, name=name, **options)
