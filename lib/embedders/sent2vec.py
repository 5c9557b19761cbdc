"""Sent2Vec: the authors' pretrained models, and models trained on the text at hand.

The authors' models take lower-cased tokens. Those of Wikipedia and of the Toronto books
were made by the Stanford tokenizer, brackets put back for its ``-LRB-``;
`lib.corpora.text.lower_word_tokens` stands for it. Those of Twitter are NLTK's
(`tweet_tokens`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.base import characters
from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer
from lib.embedders.kinds import CONTEXT, HERE, NGRAM_AVERAGE, STATIC_AVERAGE, Kind
from lib.embedders.registry import CORPUS, ENCODER, embedder

if TYPE_CHECKING:  # the compiler is imported when a model is
    from lib.sent2vec import Sent2Vec

LINK = re.compile(r"(www\.|https?://).+")
MENTION = re.compile("@.+")
# For texts of some ten thousand sentences: few words are rare enough to leave out, and
# a high rate and mild subsampling make up for how little there is to learn from.
SMALL_TEXT = {
    "dim": 100, "epochs": 10, "lr": 0.4, "subsample": 1.0e-3, "min_count": 2,
    "min_target_count": 2, "bucket": 100_000, "dropout_k": 7, "seed": 1,
}  # fmt: skip


class Sent2VecFile(Embedder):
    """A model in a file of the authors' program, ``.bin``, memory-mapped.

    Parameters
    ----------
    file : str or Path
    name : str
    tokenize : callable
        From a sentence to its tokens, which should be those that the model was trained
        on.
    word_ngrams : int
        The longest n-gram that the model must have, so that no other file passes for
        it.

    Raises
    ------
    InputError
        A file that is not such a model or not whole, or that has other n-grams.
    """

    version = 1
    parameters = ("file", "tokenize")

    def __init__(
        self,
        file: str | Path,
        name: str,
        word_ngrams: int,
        tokenize: Tokenizer = text.lower_word_tokens,
    ) -> None:
        self.file = Path(file)
        self.name = name
        self.tokenize = tokenize
        longest = self.model.header.word_ngrams
        if word_ngrams != longest:
            raise InputError(
                f"{file}: has n-grams of up to {longest} words; "
                f"put the file for {name} there"
            )

    @cached_property
    def model(self) -> Sent2Vec:
        """The model in the file."""
        from lib.sent2vec import Sent2Vec

        return Sent2Vec.load(self.file)

    def __getstate__(self) -> dict[str, Any]:
        """Without the model, which another process maps for itself."""
        return {key: value for key, value in self.__dict__.items() if key != "model"}

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self.model.encode(_tokenized(sentences, self.tokenize))


ROW: dict[str, Any] = {"license": "MIT (program)", "sized": True}
UNIGRAMS = {"word_ngrams": 1}
BIGRAMS = {"word_ngrams": 2}
# A tenth of the paper's 0.0005, which takes more from a target's vector, zero at first,
# than a step gives.
PENALTY = BIGRAMS | {"l1": 5.0e-5}


def _kind(preset: dict[str, Any], text: str) -> Kind:
    """Words alone are averaged without their order; of n-grams it is a part."""
    words_alone = preset["word_ngrams"] == 1
    architecture = STATIC_AVERAGE if words_alone else NGRAM_AVERAGE
    return Kind(
        architecture, CONTEXT, reads_order=not words_alone, method="Sent2Vec", text=text
    )


UNI: dict[str, Any] = {"preset": UNIGRAMS, "kind": _kind(UNIGRAMS, HERE)}
BI: dict[str, Any] = {"preset": BIGRAMS, "kind": _kind(BIGRAMS, HERE)}


@embedder("sent2vec-corpus-uni", CORPUS, 100, "Sent2Vec, unigrams", **ROW, **UNI)
@embedder(
    "sent2vec-corpus-bi", CORPUS, 100, "Sent2Vec, unigrams and bigrams", **ROW, **BI
)
@embedder(
    "sent2vec-corpus-bi-l1",
    CORPUS,
    100,
    "Sent2Vec, unigrams and bigrams, L1 penalty",
    **ROW,
    **(BI | {"preset": PENALTY}),
)
class Sent2VecTrained(Embedder):
    """A model that `fit` trains on the text at hand, with one thread.

    Parameters
    ----------
    name : str
    tokenize : callable
        From a sentence to its tokens.
    **changes
        What differs from `SMALL_TEXT`, by name (`lib.sent2vec.Settings`): dim, epochs,
        seed, word_ngrams, l1 and so on.
    """

    version = 1
    parameters = ("tokenize",)
    needs_fit = True

    def __init__(
        self,
        name: str = "sent2vec-corpus-uni",
        tokenize: Tokenizer = text.lower_word_tokens,
        **changes: Any,
    ) -> None:
        from lib.sent2vec.settings import Settings

        self.name = name
        self.tokenize = tokenize
        self.training = Settings(**(SMALL_TEXT | changes))

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | asdict(self.training)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        from lib.sent2vec import Sent2Vec

        tokenized = _tokenized(sentences, self.tokenize)
        self._model = Sent2Vec.train(
            tokenized, self.training, show_progress_bar=show_progress_bar
        )

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._model.encode(_tokenized(sentences, self.tokenize))

    def state(self) -> dict[str, np.ndarray]:
        from lib.sent2vec import binary

        stream = BytesIO()
        binary.write(stream, self._model.file)
        return {"model": np.frombuffer(stream.getvalue(), np.uint8)}

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        from lib.sent2vec import Sent2Vec, binary

        file = binary.parse(state["model"].tobytes(), self.name)
        self._model = Sent2Vec(file, self.training)
        return super().restore(state, fitted_on)


def tweet_tokens(sentence: str) -> list[str]:
    """NLTK's tokens of a tweet, in lower case.

    A link becomes ``<url>``, and a name with @ before it ``<user>``.
    """
    from nltk.tokenize import TweetTokenizer

    tokens = []
    for token in TweetTokenizer().tokenize(characters.mend(sentence)):
        word = token.lower()
        tokens.append("<url>" if LINK.fullmatch(word) else MENTION.sub("<user>", word))
    return tokens


def _tokenized(sentences: Sequence[str], tokenize: Tokenizer) -> list[str]:
    """Sentences as the program reads them: tokens separated by spaces."""
    return [" ".join(tokenize(sentence)) for sentence in sentences]


TWEETS = {"tokenize": tweet_tokens}
for model, dim, source, preset in (
    ("wiki-unigrams", 600, "Wikipedia", UNIGRAMS),
    # Table 5 gives it 600 dimensions; the page of the published model says 700.
    ("wiki-bigrams", 700, "Wikipedia", BIGRAMS),
    ("toronto-unigrams", 700, "Toronto books", UNIGRAMS),
    ("toronto-bigrams", 700, "Toronto books", BIGRAMS),
    ("twitter-unigrams", 700, "Twitter", UNIGRAMS | TWEETS),
    ("twitter-bigrams", 700, "Twitter", BIGRAMS | TWEETS),
):
    name = f"sent2vec-{model}"
    parts = "unigrams" if preset["word_ngrams"] == 1 else "unigrams and bigrams"
    row: dict[str, Any] = {"kind": _kind(preset, source), "preset": preset}
    embedder(name, ENCODER, dim, f"Sent2Vec, {source}, {parts}", name, **row)(
        Sent2VecFile
    )
