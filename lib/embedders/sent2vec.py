"""Sent2Vec: the authors' pretrained models, and models trained on the text at hand.

The authors' models take lower-cased tokens. Those of Wikipedia and of the Toronto books were made by the Stanford
tokenizer, brackets put back for its ``-LRB-``; `lib.corpora.text.lower_word_tokens` stands for it. Those of Twitter
are NLTK's (`tweet_tokens`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lib.corpora import text
from lib.embedders import fingerprints
from lib.embedders.base import Embedder
from lib.embedders.tokens import Tokenizer
from lib.run import files
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec, binary
from lib.sent2vec.settings import Settings

VERSION = 1
LINK, MENTION = re.compile(r"(www\.|https?://).+"), re.compile("@.+")
# For texts of some ten thousand sentences: few words are rare enough to leave out, and a high rate and mild subsampling
# make up for how little there is to learn from.
SMALL_TEXT = Settings(
    dim=100, epochs=10, lr=0.4, subsample=1.0e-3, min_count=2, min_target_count=2, bucket=100_000, dropout_k=7, seed=1
)


class Sent2VecFile(Embedder):
    """A model in a file of the authors' program, ``.bin``, memory-mapped.

    Parameters
    ----------
    path : the file
    name : str
    tokenize : a function from a sentence to its tokens, which should be those that the model was trained on
    word_ngrams : the longest n-gram that the model must have, so that no other file passes for it; None for any

    Raises
    ------
    InputError
        A file that is not such a model or not whole, or that has other n-grams.
    """

    version = VERSION

    def __init__(
        self,
        path: str | Path,
        name: str,
        tokenize: Tokenizer = text.lower_word_tokens,
        word_ngrams: int | None = None,
    ) -> None:
        self.path, self.name, self.tokenize = Path(path), name, tokenize
        found = self.model.header.word_ngrams
        if word_ngrams not in (None, found):
            raise InputError(f"{path}: has n-grams of up to {found} words; put the file of {name} there")

    @cached_property
    def model(self) -> Sent2Vec:
        """The model in the file."""
        return Sent2Vec.load(self.path)

    @cached_property
    def _digest(self) -> str:
        return files.sha256(self.path)

    @property
    def settings(self) -> dict[str, Any]:
        return {"file": self._digest, "tokenize": fingerprints.of_function(self.tokenize)}

    def __getstate__(self) -> dict[str, Any]:
        """Without the model, which another process maps for itself."""
        return {key: value for key, value in self.__dict__.items() if key != "model"}

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self.model.encode(_tokenized(sentences, self.tokenize))


class Sent2VecTrained(Embedder):
    """A model that `fit` trains on the text at hand, with one thread.

    Parameters
    ----------
    name : str
    tokenize : a function from a sentence to its tokens
    changes : what differs from `SMALL_TEXT`, by name (`lib.sent2vec.settings.Settings`): dim, epochs, seed,
        word_ngrams, l1 and so on
    """

    version = VERSION
    needs_fit = True

    def __init__(
        self, name: str = "sent2vec-corpus-uni", tokenize: Tokenizer = text.lower_word_tokens, **changes: Any
    ) -> None:
        self.name, self.tokenize = name, tokenize
        self.training = replace(SMALL_TEXT, **changes)
        self._model: Sent2Vec | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"tokenize": fingerprints.of_function(self.tokenize)} | asdict(self.training)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        tokenized = _tokenized(sentences, self.tokenize)
        self._model = Sent2Vec.train(tokenized, self.training, show_progress_bar=show_progress_bar)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._model.encode(_tokenized(sentences, self.tokenize))

    def _state(self) -> dict[str, np.ndarray]:
        return {"model": np.frombuffer(binary.dumps(self._model.file), np.uint8)}

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        self._model = Sent2Vec(binary.parse(state["model"].tobytes(), self.name), self.training)


def tweet_tokens(sentence: str) -> list[str]:
    """NLTK's tokens of a tweet in lower case, a link made ``<url>`` and a name with @ before it ``<user>``."""
    tokens = [token.lower() for token in _tweets().tokenize(text.parted(text.mend(sentence), text.ANYTHING))]
    return ["<url>" if LINK.fullmatch(token) else MENTION.sub("<user>", token) for token in tokens]


@lru_cache(maxsize=1)
def _tweets() -> Any:
    from nltk.tokenize import TweetTokenizer

    return TweetTokenizer()


def _tokenized(sentences: Sequence[str], tokenize: Tokenizer) -> list[str]:
    """Sentences as the program reads them: tokens parted by blanks."""
    return [" ".join(tokenize(sentence)) for sentence in sentences]
