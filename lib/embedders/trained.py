"""Word vectors trained on the text at hand (gensim), averaged into sentence vectors.

Trained with one thread: the same text, seed and version of gensim give the same vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from lib import progress, text
from lib.embedders.base import Embedder
from lib.embedders.composition import Bag
from lib.errors import InputError

VERSION = 1

# Skip-gram with negative sampling, in gensim's terms.
SKIP_GRAM = {"sg": 1, "window": 5, "negative": 5, "min_count": 2, "workers": 1}
SUBWORDS = {"min_n": 3, "max_n": 6, "bucket": 200_000}
WHOLE_WORDS = {"min_n": 1, "max_n": 0, "bucket": 1}  # max_n below min_n switches character n-grams off


class TrainedAverage(Embedder):
    """Skip-gram vectors trained by `fit`, averaged over the words of a sentence.

    Parameters
    ----------
    name : str
    model : "Word2Vec" or "FastText", a class of gensim
    extra : what the model takes besides `SKIP_GRAM`
    dim, epochs, seed : dimensions, passes over the text, seed of the random numbers

    With subwords an unknown word has a vector too, that of its character n-grams.
    """

    version = VERSION
    needs_fit = True

    def __init__(
        self, name: str, model: str, extra: dict[str, int], dim: int = 100, epochs: int = 5, seed: int = 1
    ) -> None:
        self.name, self.model, self.extra = name, model, extra
        self.dim, self.epochs, self.seed = dim, epochs, seed
        self.vectors: Mapping[str, np.ndarray] = {}

    @property
    def settings(self) -> dict[str, Any]:
        training = {"dim": self.dim, "epochs": self.epochs, "seed": self.seed}
        return {"gensim": version("gensim"), "model": self.model} | SKIP_GRAM | self.extra | training

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        import gensim.models

        tokens = [text.lower_word_tokens(sentence) for sentence in sentences]
        model = getattr(gensim.models, self.model)(vector_size=self.dim, seed=self.seed, **SKIP_GRAM, **self.extra)
        model.build_vocab(tokens)
        if not len(model.wv):
            raise InputError(f"{self.name}: no word occurs {SKIP_GRAM['min_count']} times; fit it on more text")
        with progress.bar(self.epochs, f"train {self.name}", unit="epochs", show=show_progress_bar) as bar:
            counter = _epoch_counter()(bar)
            model.train(tokens, total_examples=len(tokens), epochs=self.epochs, callbacks=[counter])
        self.vectors = _Trained(model.wv)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return Bag(sentences, self.vectors, text.lower_word_tokens).mean().astype(np.float32)


class _Trained(Mapping[str, np.ndarray]):
    """gensim's vectors as a mapping; with subwords a word outside the vocabulary is in it too."""

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def __contains__(self, word: object) -> bool:
        return word in self.vectors

    def __getitem__(self, word: str) -> np.ndarray:
        return self.vectors[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self.vectors.index_to_key)

    def __len__(self) -> int:
        return len(self.vectors)


def _epoch_counter() -> type:
    """A gensim callback that moves a progress bar; made here so that gensim is imported when needed."""
    from gensim.models.callbacks import CallbackAny2Vec

    class EpochCounter(CallbackAny2Vec):
        def __init__(self, bar: Any) -> None:
            self.bar = bar

        def on_epoch_end(self, model: Any) -> None:
            self.bar.update(1)

    return EpochCounter
