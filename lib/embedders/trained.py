"""Word vectors trained on the text at hand (gensim).

Trained with one thread: the same text, seed and version of gensim give the same vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from lib.corpora import text
from lib.embedders.registry import CORPUS, embedder
from lib.embedders.static import WordVectors, of_entry, write
from lib.embedders.tokens import Tokenizer
from lib.embedders.word_files import Vectors
from lib.run import paths, progress
from lib.run.cache import Entry
from lib.run.errors import InputError

VERSION = 2

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
        entry = self._entry(text.fingerprint(sentences))

        def learn() -> dict[str, Any]:
            tokens = [self.tokenize(text.mend(sentence)) for sentence in sentences]
            return write(entry, self._learned(tokens, show_progress_bar))

        return of_entry(entry, entry.made(learn, f"training {self.name}"))

    def trained(self, fingerprint: str) -> WordVectors:
        """Vectors that `train` has made from the text with this fingerprint; KeyError if they are gone."""
        entry = self._entry(fingerprint)
        facts = entry.facts()
        if facts is None:
            raise KeyError(fingerprint)
        return of_entry(entry, facts)

    def _entry(self, fingerprint: str) -> Entry:
        return Entry(paths.CACHE / "trained", self.name, {"settings": self.settings, "text": fingerprint})

    def _learned(self, tokens: list[list[str]], show: bool) -> Vectors:
        import gensim.models

        model = getattr(gensim.models, self.model)(**self.options)
        model.build_vocab(tokens)
        if not len(model.wv):
            raise InputError(f"{self.name}: no word occurs {COMMON['min_count']} times; fit it on more text")
        run_epochs(model, tokens, self.epochs, self.name, show)
        words = [word.encode("utf-8", "surrogatepass") for word in model.wv.index_to_key]
        rows = getattr(model.wv, "vectors_vocab", model.wv.vectors)  # fastText's, without their n-grams
        lengths = (self.options["min_n"], self.options["max_n"]) if self.options.get("max_n") else None
        ngrams = iter([model.wv.vectors_ngrams]) if lengths else iter(())
        return Vectors(self.options["vector_size"], len(words), iter([(words, rows)]), lengths, ngrams)


def run_epochs(model: Any, documents: Sequence[Any], epochs: int, name: str, show: bool) -> None:
    """Train a model of gensim under a progress bar."""
    from gensim.models.callbacks import CallbackAny2Vec

    class Counter(CallbackAny2Vec):
        def on_epoch_end(self, model: Any) -> None:
            bar.update(1)

    with progress.bar(epochs, f"train {name}", unit="epochs", show=show) as bar:
        model.train(documents, total_examples=len(documents), epochs=epochs, callbacks=[Counter()])
