"""The unfolding recursive autoencoder (URAE).

The root of a binary tree over the words stands for the sentence.

Socher, Huang, Pennington, Ng and Manning 2011, "Dynamic pooling and unfolding recursive
autoencoders for paraphrase detection". From the paper: one layer p = tanh(W_e [c1; c2]
+ b_e) folds two parts into one, and another unfolds it, down to the words. Training
minimizes the squared distance between the words below a node and what the node unfolds
to, summed over all inner nodes of a tree. The paper uses the trees of a parser, and
L-BFGS.

Decided here: word vectors are fixed and of unit length; words without a vector are left
out; weights are regularized by L2, start from averaging, and are trained by Adam; trees
are greedy, as in the authors' "Semi-supervised recursive autoencoders" (2011), or
balanced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.base import progress
from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.corpora import text
from lib.embedders.base import Tokenizer
from lib.embedders.kinds import HERE, RECONSTRUCTION, RECURSIVE, Kind
from lib.embedders.registry import CORPUS, composition, embedder
from lib.embedders.trained import WordTraining
from lib.embedders.words import WordComposition

if TYPE_CHECKING:
    from torch import Tensor

    from lib.embedders.urae_network import Weights


SENTENCES = 2000  # that are trained on
TREE: dict[str, Any] = {
    "architecture": RECURSIVE,
    "objective": RECONSTRUCTION,
    "reads_order": True,
}


@composition("urae", "unfolding recursive autoencoder", "Socher et al. 2011", **TREE)
class URAE(WordComposition):
    """An unfolding recursive autoencoder over word vectors, trained by `fit`.

    It is trained on 2,000 sentences of the text, drawn by the seed; those of fewer than
    two known words, or of more than 128, then drop out. Word vectors that are trained
    take the whole text. A sentence of one known word has that word's vector, of unit
    length, one without any a zero vector.

    Parameters
    ----------
    vectors : mapping, gensim's KeyedVectors or trained.WordTraining
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
        return [normalize(vectors) for vectors in leaves]

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


# -- the registry ----------------------------------------------------------------------

MIT = "MIT (program)"
OVER_WORDS = "unfolding recursive autoencoder over w2v-corpus"
TRAINED: dict[str, Any] = {
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
