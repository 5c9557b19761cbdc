"""The unfolding recursive autoencoder (URAE): the root of a binary tree over the words stands for the sentence.

Socher, Huang, Pennington, Ng and Manning 2011, "Dynamic pooling and unfolding recursive autoencoders for paraphrase
detection". From the paper: one layer p = tanh(W_e [c1; c2] + b_e) folds two parts into one, another unfolds it, down to
the words, and what is minimized is the squared distance between the words below a node and what it unfolds to, summed
over all inner nodes of a tree. The paper takes the trees of a parser, and L-BFGS.

Decided here: word vectors are fixed, of unit length (as those of the published network); words without a vector are
left out; weights are regularized by L2, start from averaging, and take Adam; without a parser, trees are greedy, as in
the authors' "Semi-supervised recursive autoencoders" (2011).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.corpora import text
from lib.embedders import fingerprints, urae_trees
from lib.embedders.composition import WordComposition
from lib.embedders.registry import CORPUS, composition, embedder
from lib.embedders.tokens import Tokenizer
from lib.embedders.trained import Training
from lib.embedders.urae_trees import Parser
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

if TYPE_CHECKING:
    from torch import Tensor

    from lib.embedders.urae_network import Weights

VERSION = 1
TREES = ("auto", "parsed", "greedy", "balanced")


@composition("urae", "unfolding recursive autoencoder", "Socher et al. 2011")
class URAE(WordComposition):
    """An unfolding recursive autoencoder over word vectors, trained on the text that `fit` is given.

    A sentence of one known word has that word's vector, of unit length, one without any a zero vector.

    Parameters
    ----------
    vectors : mapping word -> float32[d], or a `trained.Training`; the sentence's vector has d dimensions too
    tokenize : a function from a sentence to its tokens
    trees : "parsed" by an installed spaCy pipeline (`urae_trees.parse`); "greedy", by reconstruction error; "balanced";
        "auto" for parsed if there is such a pipeline, and else greedy; or a function from a sentence to its tree,
        nested pairs of words: ``(("the", "cat"), "sleeps")``, ``""`` for no words
    epochs, batch : int, passes over the sentences, and sentences in a step
    sentences : int, how many of the text, drawn by the seed, the autoencoder is trained on; those of fewer than two
        known words, or of more than 128, then drop out. Word vectors that are trained take the whole text.
    rate, decay : float, of Adam, and the weight of the L2 regularization
    seed : int

    Attributes
    ----------
    losses : float64[epochs], the mean unfolding error of a sentence in each epoch of training

    Raises
    ------
    InputError
        Options out of range; from `fit`, a text without a sentence of two known words; trees that are not nested pairs.
    """

    version = VERSION
    needs_fit = True
    batch_size = 512
    unit_length = True

    def __init__(
        self,
        vectors: Mapping[str, np.ndarray] | Training,
        tokenize: Tokenizer = text.word_tokens,
        name: str = "urae",
        trees: str | Parser = "auto",
        epochs: int = 3,
        batch: int = 16,
        sentences: int = 2000,
        rate: float = 3.0e-3,
        decay: float = 1.0e-4,
        seed: int = 1,
    ) -> None:
        super().__init__(name, vectors, tokenize)
        self.needs_fit = True
        self.trees, self._parser = _trees(trees)
        for parameter, value in (("epochs", epochs), ("batch", batch), ("sentences", sentences)):
            in_range(parameter, value, 1, 10**9)
        self.options = {
            "epochs": epochs, "batch": batch, "sentences": sentences, "rate": rate, "decay": decay, "seed": seed,
        }  # fmt: skip
        self.losses = np.empty(0)
        self._arrays: list[np.ndarray] = []

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | self.options | {"trees": self.trees, "torch": version("torch")}

    # -- words and trees ------------------------------------------------------------------------

    def _leaves(self, sentences: Sequence[str]) -> tuple[list[Tensor], list[np.ndarray | None]]:
        """The vectors of the known words of each sentence, float32[n, d]; and its tree, if a parser gives it."""
        import torch
        from torch.nn.functional import normalize

        found, trees = self._parsed(sentences) if self._parser else self._in_order(sentences)
        words = [torch.from_numpy(vectors) for vectors in found]
        return [normalize(vectors) for vectors in words] if self.unit_length else words, trees

    def _in_order(self, sentences: Sequence[str]) -> tuple[list[np.ndarray], list[None]]:
        vectors, starts = self.lexicon.sequences(sentences)
        return np.split(vectors, starts[1:-1]) if len(sentences) else [], [None] * len(sentences)

    def _parsed(self, sentences: Sequence[str]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        found, trees = [], []
        for sentence in sentences:
            leaves, merges = urae_trees.flattened(self._parser(sentence))
            if not all(isinstance(leaf, str) for leaf in leaves):
                raise InputError(f"{self.name}: trees: the leaves must be words; {sentence[:40]!r} has {leaves[:3]}")
            known = np.array([leaf in self.vectors for leaf in leaves])
            rows = [self.vectors[leaf] for leaf, here in zip(leaves, known, strict=True) if here]
            found.append(np.array(rows, np.float32).reshape(len(rows), self.lexicon.dim))
            trees.append(urae_trees.without(merges, known))
        return found, trees

    def _grown(self, weights: Weights, words: Sequence[Tensor], trees: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        """The trees over the words of sentences that have some."""
        from lib.embedders import urae_network

        if self._parser:
            return list(trees)
        if self.trees == "balanced":
            return [urae_trees.balanced(len(vectors)) for vectors in words]
        return urae_network.greedy(weights, words)

    # -- training and encoding ------------------------------------------------------------------

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        from lib.embedders import urae_network

        super()._fit(sentences, show_progress_bar)
        words, trees = self._training_set(sentences)
        with urae_network.one_thread():
            weights = self._initial()
            self.losses = self._train(weights, words, trees, show_progress_bar)
        self._arrays = [tensor.numpy() for tensor in weights]

    def _training_set(self, sentences: Sequence[str]) -> tuple[list[Tensor], list[np.ndarray | None]]:
        rng, size = np.random.default_rng(self.options["seed"]), min(self.options["sentences"], len(sentences))
        chosen = np.sort(rng.choice(len(sentences), size, replace=False))
        words, trees = self._leaves([sentences[i] for i in chosen])
        usable = [i for i, vectors in enumerate(words) if 2 <= len(vectors) <= urae_trees.LONGEST]
        if not usable:
            raise InputError(f"{self.name}: no sentence has two words with a vector; fit it on more text")
        return [words[i] for i in usable], [trees[i] for i in usable]

    def _initial(self) -> Weights:
        import torch

        from lib.embedders import urae_network

        return urae_network.initial(self.lexicon.dim, torch.Generator().manual_seed(self.options["seed"]))

    def _train(self, weights: Weights, words: list[Tensor], trees: list[np.ndarray | None], show: bool) -> np.ndarray:
        """float64[epochs], the mean error of a sentence."""
        from lib.embedders import urae_network

        def trees_of(weights: Weights, chosen: Sequence[int]) -> list[np.ndarray]:
            return self._grown(weights, [words[i] for i in chosen], [trees[i] for i in chosen])

        own = {name: self.options[name] for name in ("epochs", "batch", "rate", "decay", "seed")}
        errors = []
        with progress.bar(own["epochs"] * len(words), f"train {self.name}", show=show) as bar:
            for number, error in urae_network.train(weights, words, trees_of, **own):
                bar.update(number)
                errors.append(error)
        return np.array(errors).reshape(own["epochs"], -1).sum(1) / len(words)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        import torch

        from lib.embedders import urae_network

        encoded = np.zeros((len(sentences), self.lexicon.dim), np.float32)
        with torch.inference_mode(), urae_network.one_thread():
            words, trees = self._leaves(sentences)
            worded = [i for i, vectors in enumerate(words) if len(vectors)]
            if worded:
                weights = urae_network.Weights(*map(torch.tensor, self._arrays))
                words = [words[i] for i in worded]
                forest = urae_trees.forest(self._grown(weights, words, [trees[i] for i in worded]))
                encoded[worded] = urae_network.nodes(weights, torch.cat(words), forest)[forest.roots].numpy()
        return encoded

    def _state(self) -> dict[str, np.ndarray]:
        return (
            super()._state() | {f"weights{i}": array for i, array in enumerate(self._arrays)} | {"losses": self.losses}
        )

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        super()._restore(state, fitted_on)
        self._arrays, self.losses = [state[f"weights{i}"] for i in range(4)], state["losses"]


def _trees(trees: str | Parser) -> tuple[str, Parser | None]:
    """What to call the kind of trees in the settings, and the parser if there is one."""
    if callable(trees):
        return fingerprints.of_function(trees), trees
    one_of("trees", trees, TREES)
    installed = urae_trees.installed_parser()
    if trees == "greedy" or trees == "balanced" or (trees == "auto" and not installed):
        return "greedy" if trees == "auto" else trees, None
    if not installed:
        raise InputError(f"trees: no parser is installed; install one of {', '.join(urae_trees.PIPELINES)}")
    return f"{installed} {version(installed.replace('_', '-'))}", urae_trees.parse


MIT = "MIT (program)"
OVER_WORDS = "unfolding recursive autoencoder over w2v-corpus"


@embedder("urae-corpus", CORPUS, 100, OVER_WORDS, license=MIT, sized=True, preset={"trees": "auto"})
@embedder(
    "urae-corpus-balanced", CORPUS, 100, f"{OVER_WORDS}, balanced trees", license=MIT, sized=True,
    preset={"trees": "balanced"},
)  # fmt: skip
def _over_trained_words(name: str, dim: int = 100, **options: Any) -> URAE:
    vectors = Training("w2v-corpus", dim=dim)
    return URAE(vectors, **({"name": name, "tokenize": vectors.tokenize} | options))
