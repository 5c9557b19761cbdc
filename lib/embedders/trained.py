"""Word vectors trained on the text at hand (gensim).

Trained with one thread: the same text, seed and version of gensim give the same vectors.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lib.corpora import text
from lib.embedders.registry import CORPUS, embedder
from lib.embedders.static import WordVectors
from lib.embedders.tokens import Tokenizer
from lib.run import files, locks, paths, progress
from lib.run.errors import InputError

VERSION = 2

_log = logging.getLogger(__name__)

# gensim's terms. The probability of a token to be kept is thinned out for frequent words by `sample`.
COMMON = {"window": 5, "negative": 5, "min_count": 2, "sample": 1.0e-3, "workers": 1}
SUBWORDS = {"min_n": 3, "max_n": 6, "bucket": 200_000}
WHOLE_WORDS = {"min_n": 1, "max_n": 0, "bucket": 1}  # max_n below min_n switches character n-grams off


ROW = {"license": "LGPL-2.1 (program)", "sized": True, "words": text.lower_word_tokens}


@embedder("w2v-corpus", CORPUS, 100, "word2vec skip-gram", **ROW)
@embedder("w2v-corpus-cbow", CORPUS, 100, "word2vec continuous bag of words", **ROW, preset={"skip_gram": False})
@embedder("fasttext-corpus", CORPUS, 100, "fastText skip-gram, whole words", **ROW, preset={"model": "FastText"})
@embedder(
    "fasttext-corpus-sub", CORPUS, 100, "fastText skip-gram, subwords", **ROW,
    preset={"model": "FastText", "subwords": True},
)  # fmt: skip
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
        if not _is_whole(file):
            with locks.held_if_possible(file.with_suffix(".lock"), f"training {self.name}"):
                if not _is_whole(file):
                    tokens = [self._tokens(sentence) for sentence in sentences]
                    self._train_into(file, tokens, show_progress_bar)
        return WordVectors.load(file)

    def _tokens(self, sentence: str) -> list[str]:
        # A zero byte would end the word in fastText's file, and all behind it would be read as something else.
        return [token for token in self.tokenize(text.mend(sentence)) if "\0" not in token]

    def trained(self, fingerprint: str) -> WordVectors:
        """Vectors that `train` has made from the text with this fingerprint; KeyError if they are gone."""
        file = self._file(fingerprint)
        if not _is_whole(file):
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
        with files.writing(file.parent):
            file.parent.mkdir(parents=True, exist_ok=True)
            with files.replacing(file) as stream:
                _save(model, Path(stream.name))
            with files.replacing(_seal(file)) as stream:
                stream.write(_content(file).encode())


def _seal(file: Path) -> Path:
    """The file that says what is in a file of vectors."""
    return file.with_suffix(".json")


def _content(file: Path) -> str:
    size = file.stat().st_size
    return files.sealed({"size": size, "crc32": files.crc32(file, size)})


def _is_whole(file: Path) -> bool:
    """Whether a file of vectors is there, as it was written."""
    if not file.exists():
        return False
    try:
        whole = _seal(file).read_text(encoding="utf-8") == _content(file)
    except (OSError, ValueError):
        whole = False
    if not whole:
        _log.warning("%s: is damaged, or of an older version; training again", file)
    return whole


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
