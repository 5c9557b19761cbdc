"""Word vectors trained on the text at hand (gensim).

Trained with one thread: the same text, seed and version of gensim give the same vectors.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lib import paths, progress, text
from lib.embedders.static import WordVectors
from lib.embedders.tokens import Tokenizer
from lib.errors import InputError

VERSION = 2

# gensim's terms. The probability of a token to be kept is thinned out for frequent words by `sample`.
COMMON = {"window": 5, "negative": 5, "min_count": 2, "sample": 1.0e-3, "workers": 1}
SUBWORDS = {"min_n": 3, "max_n": 6, "bucket": 200_000}
WHOLE_WORDS = {"min_n": 1, "max_n": 0, "bucket": 1}  # max_n below min_n switches character n-grams off


class Training:
    """Word vectors that are still to be trained on a text.

    Parameters
    ----------
    name : str
    model : "Word2Vec" or "FastText", a class of gensim
    skip_gram : bool; False for continuous bag of words (CBOW)
    subwords : bool, for FastText: vectors of character n-grams too, so that an unknown word has a vector
    dim, epochs, seed : dimensions, passes over the text, seed of the random numbers
    tokenize : a function from a sentence to its tokens

    What has been trained on a text is kept in the cache: the average, SIF and uSIF of one set train it once.
    """

    def __init__(
        self,
        name: str,
        model: str = "Word2Vec",
        skip_gram: bool = True,
        subwords: bool = False,
        dim: int = 100,
        epochs: int = 5,
        seed: int = 1,
        tokenize: Tokenizer = text.lower_word_tokens,
    ) -> None:
        self.name, self.model, self.epochs, self.tokenize = name, model, epochs, tokenize
        extra = (SUBWORDS if subwords else WHOLE_WORDS) if model == "FastText" else {}
        self.options = COMMON | {"sg": int(skip_gram), "vector_size": dim, "seed": seed} | extra

    @property
    def settings(self) -> dict[str, Any]:
        """Everything besides the text that the vectors depend on."""
        return {
            "version": VERSION,
            "gensim": version("gensim"),
            "model": self.model,
            "epochs": self.epochs,
        } | self.options

    def train(self, sentences: Sequence[str], show_progress_bar: bool = False) -> WordVectors:
        """Vectors of the words of a text: trained, or those that were trained on it before.

        Raises InputError if the text has no word that occurs twice.
        """
        file = self._file(text.fingerprint(sentences))
        if not file.exists():
            self._train_into(file, [self.tokenize(text.mend(sentence)) for sentence in sentences], show_progress_bar)
        return WordVectors.load(file)

    def trained(self, fingerprint: str) -> WordVectors:
        """Vectors that `train` has made from the text with this fingerprint; KeyError if they are gone."""
        file = self._file(fingerprint)
        if not file.exists():
            raise KeyError(fingerprint)
        return WordVectors.load(file)

    def _file(self, fingerprint: str) -> Path:
        description = json.dumps([self.settings, fingerprint], sort_keys=True)
        return (
            paths.CACHE
            / "trained"
            / f"{self.name}-{hashlib.blake2b(description.encode(), digest_size=8).hexdigest()}.bin"
        )

    def _train_into(self, file: Path, tokens: list[list[str]], show: bool) -> None:
        import gensim.models

        model = getattr(gensim.models, self.model)(**self.options)
        model.build_vocab(tokens)
        if not len(model.wv):
            raise InputError(f"{self.name}: no word occurs {COMMON['min_count']} times; fit it on more text")
        with progress.bar(self.epochs, f"train {self.name}", unit="epochs", show=show) as bar:
            model.train(tokens, total_examples=len(tokens), epochs=self.epochs, callbacks=[epoch_counter(bar)])
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f"{os.getpid()}-{file.name}")
        _save(model, temporary)
        os.replace(temporary, file)


def _save(model: Any, file: Path) -> None:
    """In the official format of the program that the model is of."""
    from gensim.models.fasttext import FastText, save_facebook_model

    if isinstance(model, FastText):
        save_facebook_model(model, str(file))
    else:
        model.wv.save_word2vec_format(str(file), binary=True)


def epoch_counter(bar: Any) -> Any:
    """A gensim callback that moves a progress bar; its class is made here so that gensim is imported when needed."""
    from gensim.models.callbacks import CallbackAny2Vec

    class EpochCounter(CallbackAny2Vec):
        def on_epoch_end(self, model: Any) -> None:
            bar.update(1)

    return EpochCounter()
