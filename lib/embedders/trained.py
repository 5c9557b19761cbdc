"""Word vectors and paragraph vectors, trained on the text at hand by gensim.

Paragraph vectors are those of Le and Mikolov (2014). Training uses one thread: the same
text, seed and version of gensim give the same vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from lib.base import characters, paths, progress
from lib.base.cache import CacheEntry
from lib.base.errors import InputError
from lib.base.parameters import in_range, one_of
from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer, packed, unpacked
from lib.embedders.kinds import CONTEXT, HERE, PARAGRAPH, STATIC_AVERAGE, Kind
from lib.embedders.registry import CORPUS, embedder
from lib.embedders.static import WordVectors, of_entry, write
from lib.embedders.word_files import Vectors

# gensim's terms. The probability of a token to be kept is thinned out for frequent
# words by `sample`.
COMMON: dict[str, Any] = {"negative": 5, "min_count": 2, "sample": 1.0e-3, "workers": 1}
NGRAMS = {"min_n": 3, "max_n": 6, "bucket": 200_000}
# max_n below min_n switches character n-grams off.
WHOLE_WORDS = {"min_n": 1, "max_n": 0, "bucket": 1}

ROW: dict[str, Any] = {"license": "LGPL-2.1 (program)", "sized": True}
WORDS = ROW | {"words": text.lower_word_tokens}
FASTTEXT = {"model": "FastText"} | WHOLE_WORDS
SUBWORDS = FASTTEXT | NGRAMS
# fastText's skip-gram without subwords is word2vec's.
_words_kind = partial(Kind, STATIC_AVERAGE, CONTEXT, reads_order=False, text=HERE)
SKIP_GRAM: dict[str, Any] = {"kind": _words_kind(method="skip-gram")}
CBOW: dict[str, Any] = {"kind": _words_kind(method="continuous bag of words")}


@embedder("w2v-corpus", CORPUS, 100, "word2vec skip-gram", **SKIP_GRAM, **WORDS)
@embedder(
    "w2v-corpus-cbow",
    CORPUS,
    100,
    "word2vec continuous bag of words",
    **CBOW,
    **WORDS,
    preset={"sg": 0},
)
@embedder(
    "fasttext-corpus",
    CORPUS,
    100,
    "fastText skip-gram, whole words",
    **SKIP_GRAM,
    **WORDS,
    preset=FASTTEXT,
)
@embedder(
    "fasttext-corpus-sub",
    CORPUS,
    100,
    "fastText skip-gram, subwords",
    **SKIP_GRAM,
    **WORDS,
    preset=SUBWORDS,
)
class WordTraining:
    """Word vectors that are yet to be trained on a text.

    Parameters
    ----------
    name : str
    model : {"Word2Vec", "FastText"}
        A class of gensim.
    dim, epochs, seed : int
        Dimensions, passes over the text, seed of the random numbers.
    **options
        Others of that class, such as ``sg=0`` for continuous bag of words (CBOW); with
        character n-grams (`NGRAMS`) an unknown word has a vector, too.

    Notes
    -----
    The cache keeps what was trained on a text, so the average, SIF and uSIF of one set
    train it once.
    """

    def __init__(
        self,
        name: str,
        model: str = "Word2Vec",
        dim: int = 100,
        epochs: int = 5,
        seed: int = 1,
        **options: int,
    ) -> None:
        self.name = name
        self.model = model
        self.epochs = epochs
        self.options = (
            COMMON | {"window": 5, "sg": 1, "vector_size": dim, "seed": seed} | options
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything besides the text that the vectors depend on."""
        return {
            "version": 2,
            "gensim": version("gensim"),
            "model": self.model,
            "epochs": self.epochs,
        } | self.options

    def train(
        self, sentences: Sequence[str], show_progress_bar: bool = False
    ) -> WordVectors:
        """Vectors of the words of a text, trained on it now or before.

        Raises InputError if the text has no word that occurs twice.
        """
        entry = self._entry(text.fingerprint(sentences))

        def learn() -> dict[str, Any]:
            tokens = [
                text.lower_word_tokens(characters.mend(sentence))
                for sentence in sentences
            ]
            return write(entry, self._learned(tokens, show_progress_bar))

        return of_entry(entry, entry.made(learn, f"training {self.name}"))

    def trained(self, fingerprint: str) -> WordVectors:
        """Vectors that `train` has made from the text with this fingerprint.

        Raises KeyError if they are gone.
        """
        entry = self._entry(fingerprint)
        facts = entry.facts()
        if facts is None:
            raise KeyError(fingerprint)
        return of_entry(entry, facts)

    def _entry(self, fingerprint: str) -> CacheEntry:
        return CacheEntry(
            paths.CACHE / "trained",
            self.name,
            {"settings": self.settings, "text": fingerprint},
        )

    def _learned(self, tokens: list[list[str]], show: bool) -> Vectors:
        import gensim.models

        model = getattr(gensim.models, self.model)(**self.options)
        model.build_vocab(tokens)
        if not len(model.wv):
            raise InputError(
                f"{self.name}: no word occurs {COMMON['min_count']} times; "
                "fit it on more text"
            )
        if self.epochs:  # without a pass, vectors stay as they are drawn
            run_epochs(model, tokens, self.epochs, self.name, show)
        words = model.wv.index_to_key
        # fastText's vectors are taken without their n-grams.
        rows = getattr(model.wv, "vectors_vocab", model.wv.vectors)
        vectors = Vectors(
            self.options["vector_size"], len(words), iter([(words, rows)])
        )
        if not self.options.get("max_n"):
            return vectors
        lengths = (self.options["min_n"], self.options["max_n"])
        ngrams = iter([model.wv.vectors_ngrams])
        return vectors._replace(lengths=lengths, buckets=ngrams)


def run_epochs(
    model: Any, documents: Sequence[Any], epochs: int, name: str, show: bool
) -> None:
    """Train a model of gensim under a progress bar."""
    from gensim.models.callbacks import CallbackAny2Vec

    class Counter(CallbackAny2Vec):
        def on_epoch_end(self, model: Any) -> None:
            bar.update(1)

    with progress.bar(epochs, f"train {name}", unit="epochs", show=show) as bar:
        model.train(
            documents,
            total_examples=len(documents),
            epochs=epochs,
            callbacks=[Counter()],
        )


# -- paragraph vectors -----------------------------------------------------------------

MOST_PASSES = 320  # over a sentence whose vector does not converge
DM = "paragraph vectors, distributed memory, concatenated"
DBOW = "paragraph vectors, distributed bag of words"
CONVERGED = "inferred until convergence"
# Concatenation multiplies the time of a pass by the words in the window: few passes.
PV_DM = {"model": "pv-dm", "epochs": 3, "tolerance": 0.03}
PV_DBOW = {"model": "pv-dbow", "epochs": 20, "tolerance": 0.03}
# PV-DBOW learns from bags of words, but the random draws of an inference go to the
# words in their order.
_paragraphs_kind = partial(Kind, PARAGRAPH, CONTEXT, reads_order=True, text=HERE)
OF_DM: dict[str, Any] = {"kind": _paragraphs_kind(method="PV-DM")}
OF_DBOW: dict[str, Any] = {"kind": _paragraphs_kind(method="PV-DBOW")}


@embedder("pv-dm-corpus", CORPUS, 100, DM, **OF_DM, **ROW, preset={"model": "pv-dm"})
@embedder(
    "pv-dbow-corpus", CORPUS, 100, DBOW, **OF_DBOW, **ROW, preset={"model": "pv-dbow"}
)
@embedder(
    "pv-dm-corpus-converged",
    CORPUS,
    100,
    f"{DM}, {CONVERGED}",
    **OF_DM,
    **ROW,
    preset=PV_DM,
)
@embedder(
    "pv-dbow-corpus-converged",
    CORPUS,
    100,
    f"{DBOW}, {CONVERGED}",
    **OF_DBOW,
    **ROW,
    preset=PV_DBOW,
)
class ParagraphVectors(Embedder):
    """PV-DM with concatenated context, or PV-DBOW.

    A sentence's vector is inferred, with words and output layer locked. Sentences of
    the fitted text are inferred, too, so equal sentences have equal vectors. Every
    inference starts from zero and the same random numbers: it depends on the sentence
    alone. A sentence without a word of the vocabulary has a zero vector.

    Parameters
    ----------
    model : {"pv-dm", "pv-dbow"}
    dim, epochs, seed : int
        Dimensions, passes over the text, seed of the random numbers.
    tokenize : callable
        From a sentence to its tokens.
    name : str
    tolerance : float, optional
        If given, the number of passes is doubled, starting from zero each time, until
        the vector turns by less than this (1 minus the cosine), at most to 320 passes.
        Its length keeps growing, since nothing limits it.
    """

    version = 1
    libraries = ("gensim",)
    parameters = ("inference_epochs", "alpha", "tokenize", "tolerance")
    needs_fit = True
    alpha = 0.1  # the learning rate of inference, which falls to 0.0001
    # Passes over a sentence; with a tolerance, the first number that is tried.
    inference_epochs = 20

    def __init__(
        self,
        model: str = "pv-dbow",
        dim: int = 100,
        epochs: int = 20,
        seed: int = 1,
        tokenize: Tokenizer = text.lower_word_tokens,
        name: str = "",
        tolerance: float | None = None,
    ) -> None:
        if tolerance is not None:
            in_range("tolerance", tolerance, 1.0e-6, 1)
        self.tolerance = tolerance
        self.model = one_of("model", model, ("pv-dm", "pv-dbow"))
        self.name = name or f"{model}-corpus"
        self.seed = seed
        self.tokenize = tokenize
        memory = int(model == "pv-dm")
        size = {"vector_size": dim, "window": 8, "epochs": epochs, "seed": seed}
        self.options = COMMON | {"dm": memory, "dm_concat": memory} | size

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | self.options

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        from gensim.models.doc2vec import Doc2Vec, TaggedDocument

        tokenized = map(self.tokenize, sentences)
        documents = [TaggedDocument(tokens, [i]) for i, tokens in enumerate(tokenized)]
        model = Doc2Vec(**self.options)
        model.build_vocab(documents)
        if not self._words(model):
            raise InputError(
                f"{self.name}: no word occurs {COMMON['min_count']} times; "
                "fit it on more text"
            )
        run_epochs(model, documents, model.epochs, self.name, show_progress_bar)
        self._trained = model

    def _words(self, model: Any) -> list[str]:
        """The vocabulary without the padding that concatenation adds."""
        words = model.wv.index_to_key
        return [word for word in words if model.wv.get_vecattr(word, "count") > 1]

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(sentences), self.options["vector_size"]), np.float32)
        for i, sentence in enumerate(sentences):
            words = [
                word for word in self.tokenize(sentence) if word in self._trained.wv
            ]
            if words:
                vectors[i] = self._converged(words)
        return vectors

    def _converged(self, words: list[str]) -> np.ndarray:
        """float32[dim]: the vector after the passes asked for, or after convergence."""
        passes = self.inference_epochs
        vector = self._inferred(words, passes)
        while self.tolerance is not None and 2 * passes <= MOST_PASSES:
            before = vector
            passes *= 2
            vector = self._inferred(words, passes)
            lengths = float(np.linalg.norm(before) * np.linalg.norm(vector))
            if float(before @ vector) >= (1 - self.tolerance) * lengths:
                break
        return vector

    def _inferred(self, words: list[str], passes: int) -> np.ndarray:
        """float32[dim]: gradient descent on the sentence's vector alone.

        gensim's own ``infer_vector`` starts from Python's hash of the words, which
        differs from process to process, and goes on with random numbers where the last
        call stopped.
        """
        from gensim.models.doc2vec import train_document_dbow, train_document_dm_concat

        model = self._trained
        model.random.seed(self.seed)
        vector = np.zeros((1, self.options["vector_size"]), np.float32)
        locked = {"learn_words": False, "learn_hidden": False, "doctag_vectors": vector}
        locked["doctags_lockf"] = np.ones(1, np.float32)
        work = np.zeros(model.layer1_size, np.float32)
        context = np.zeros_like(work)
        for alpha in np.linspace(self.alpha, 1.0e-4, passes):
            if self.model == "pv-dbow":
                train_document_dbow(model, words, [0], alpha, work, **locked)
            else:
                train_document_dm_concat(
                    model, words, [0], alpha, work, context, **locked
                )
        return vector[0]

    def state(self) -> dict[str, np.ndarray]:
        model = self._trained
        words = self._words(model)
        counts = np.array([model.wv.get_vecattr(word, "count") for word in words])
        return {
            "words": packed(words),
            "counts": counts,
            "vectors": model.wv.vectors,
            "output": model.syn1neg,
        }

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        from gensim.models.doc2vec import Doc2Vec

        model = Doc2Vec(**self.options)
        words = unpacked(state["words"])
        counts = dict(zip(words, state["counts"].tolist(), strict=True))
        model.build_vocab_from_freq(counts)
        # gensim orders words of the same count as it likes.
        order = words + model.wv.index_to_key[len(words) :]
        model.wv.index_to_key = order
        model.wv.key_to_index = {word: i for i, word in enumerate(order)}
        model.wv.vectors = np.array(state["vectors"])
        model.syn1neg = np.array(state["output"])
        self._trained = model
        return super().restore(state, fitted_on)
