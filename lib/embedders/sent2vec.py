"""Sent2Vec: the authors' pretrained models, and models trained on the text at hand.

The authors' models take lower-cased tokens. Those of Wikipedia and of the Toronto books were made by the Stanford
tokenizer, brackets put back for its ``-LRB-``; `lib.corpora.text.lower_word_tokens` stands for it. Those of Twitter
are NLTK's (`tweet_tokens`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.corpora import text
from lib.embedders import fingerprints
from lib.embedders.base import Embedder
from lib.embedders.registry import CORPUS, ENCODER, embedder
from lib.embedders.tokens import Tokenizer
from lib.run import files
from lib.run.errors import InputError

if TYPE_CHECKING:  # the compiler is imported when a model is
    from lib.sent2vec import Sent2Vec

VERSION = 1
LINK, MENTION = re.compile(r"(www\.|https?://).+"), re.compile("@.+")
# For texts of some ten thousand sentences: few words are rare enough to leave out, and a high rate and mild subsampling
# make up for how little there is to learn from.
SMALL_TEXT = {
    "dim": 100, "epochs": 10, "lr": 0.4, "subsample": 1.0e-3, "min_count": 2, "min_target_count": 2, "bucket": 100_000,
    "dropout_k": 7, "seed": 1,
}  # fmt: skip


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
        from lib.sent2vec import Sent2Vec

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


MIT = "MIT (program)"


@embedder("sent2vec-corpus-uni", CORPUS, 100, "Sent2Vec, unigrams", license=MIT, sized=True, preset={"word_ngrams": 1})
@embedder(
    "sent2vec-corpus-bi",
    CORPUS,
    100,
    "Sent2Vec, unigrams and bigrams",
    license=MIT,
    sized=True,
    preset={"word_ngrams": 2},
)
# A tenth of the paper's 0.0005, which takes more from a target's vector, zero at first, than a step gives.
@embedder(
    "sent2vec-corpus-bi-l1", CORPUS, 100, "Sent2Vec, unigrams and bigrams, L1 penalty", license=MIT, sized=True,
    preset={"word_ngrams": 2, "l1": 5.0e-5},
)  # fmt: skip
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
        from lib.sent2vec.settings import Settings

        self.name, self.tokenize = name, tokenize
        self.training = Settings(**(SMALL_TEXT | changes))
        self._model: Sent2Vec | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"tokenize": fingerprints.of_function(self.tokenize)} | asdict(self.training)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        from lib.sent2vec import Sent2Vec

        tokenized = _tokenized(sentences, self.tokenize)
        self._model = Sent2Vec.train(tokenized, self.training, show_progress_bar=show_progress_bar)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._model.encode(_tokenized(sentences, self.tokenize))

    def _state(self) -> dict[str, np.ndarray]:
        from lib.sent2vec import binary

        return {"model": np.frombuffer(binary.dumps(self._model.file), np.uint8)}

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        from lib.sent2vec import Sent2Vec, binary

        self._model = Sent2Vec(binary.parse(state["model"].tobytes(), self.name), self.training)


def tweet_tokens(sentence: str) -> list[str]:
    """NLTK's tokens of a tweet in lower case, a link made ``<url>`` and a name with @ before it ``<user>``."""
    tokens = [token.lower() for token in _tweets().tokenize(text.mend(sentence))]
    return ["<url>" if LINK.fullmatch(token) else MENTION.sub("<user>", token) for token in tokens]


@lru_cache(maxsize=1)
def _tweets() -> Any:
    from nltk.tokenize import TweetTokenizer

    return TweetTokenizer()


def _tokenized(sentences: Sequence[str], tokenize: Tokenizer) -> list[str]:
    """Sentences as the program reads them: tokens parted by blanks."""
    return [" ".join(tokenize(sentence)) for sentence in sentences]


def _published(name: str, files: list[Path], **options: Any) -> Sent2VecFile:
    return Sent2VecFile(files[0], name, **options)


TWEETS = {"tokenize": tweet_tokens}
for of, source, dims, preset in (
    # Table 5 gives the bigrams of Wikipedia 600 dimensions; the page of the published model says 700.
    ("wiki", "Wikipedia", (600, 700), {}),
    ("toronto", "Toronto books", (700, 700), {}),
    ("twitter", "Twitter", (700, 700), TWEETS),
):
    for grams, dim, n in (("unigrams", dims[0], 1), ("bigrams", dims[1], 2)):
        name, words = f"sent2vec-{of}-{grams}", "unigrams and bigrams" if n == 2 else grams
        row = embedder(name, ENCODER, dim, f"Sent2Vec, {source}, {words}", name, preset=preset | {"word_ngrams": n})
        row(_published)
