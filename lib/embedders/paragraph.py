"""Paragraph vectors (Le and Mikolov 2014), trained by gensim on the text that `fit` is given."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from lib.corpora import text
from lib.embedders import fingerprints
from lib.embedders.base import Embedder, packed, unpacked
from lib.embedders.registry import CORPUS, embedder
from lib.embedders.tokens import Tokenizer
from lib.embedders.trained import run_epochs
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

VERSION = 1
MOST_PASSES = 320  # over a sentence whose vector goes on turning
MODELS = ("pv-dm", "pv-dbow")
COMMON = {"negative": 5, "min_count": 2, "sample": 1.0e-3, "workers": 1}


TRAINED = {"license": "LGPL-2.1 (program)", "sized": True}
CONVERGED = "inferred until they hardly turn"


@embedder(
    "pv-dm-corpus",
    CORPUS,
    100,
    "paragraph vectors, distributed memory, concatenated",
    **TRAINED,
    preset={"model": "pv-dm"},
)
@embedder(
    "pv-dbow-corpus",
    CORPUS,
    100,
    "paragraph vectors, distributed bag of words",
    **TRAINED,
    preset={"model": "pv-dbow"},
)
# Concatenation makes a pass over the text as dear as there are words in the window: few of them.
@embedder(
    "pv-dm-corpus-converged",
    CORPUS,
    100,
    f"paragraph vectors, distributed memory, concatenated, {CONVERGED}",
    **TRAINED,
    preset={"model": "pv-dm", "epochs": 3, "tolerance": 0.03},
)
@embedder(
    "pv-dbow-corpus-converged", CORPUS, 100, f"paragraph vectors, distributed bag of words, {CONVERGED}",
    **TRAINED, preset={"model": "pv-dbow", "epochs": 20, "tolerance": 0.03},
)  # fmt: skip
class ParagraphVectors(Embedder):
    """PV-DM with concatenated context, or PV-DBOW; a sentence's vector is inferred, words and output layer locked.

    Also a sentence of the fitted text is inferred, so that equal sentences have equal vectors. Every inference starts
    from zero and the same random numbers: it depends on the sentence alone. A sentence without a word of
    the vocabulary has a zero vector.

    Parameters
    ----------
    model : "pv-dm" or "pv-dbow"
    dim, window : dimensions; words on either side that PV-DM sees
    epochs : int, passes over the text
    inference_epochs : int, passes over a sentence; with a `tolerance`, the first number that is tried
    tolerance : float or None. If given, the passes are doubled, from zero each time, until that turns the vector by
        less (1 minus the cosine of both), at most to 320. Its length goes on growing, since nothing holds it back
    alpha : float, the learning rate of inference, which falls to 0.0001
    seed : int
    """

    version = VERSION
    needs_fit = True

    def __init__(
        self,
        model: Literal["pv-dm", "pv-dbow"] = "pv-dbow",
        dim: int = 100,
        window: int = 8,
        epochs: int = 20,
        inference_epochs: int = 20,
        alpha: float = 0.1,
        seed: int = 1,
        tokenize: Tokenizer = text.lower_word_tokens,
        name: str = "",
        tolerance: float | None = None,
    ) -> None:
        self.tolerance = tolerance if tolerance is None else in_range("tolerance", tolerance, 1.0e-6, 1)
        self.model, self.name = one_of("model", model, MODELS), name or f"{model}-corpus"
        self.inference_epochs, self.alpha, self.seed, self.tokenize = inference_epochs, alpha, seed, tokenize
        concatenated = model == "pv-dm"
        self.options = COMMON | {
            "dm": int(concatenated), "dm_concat": int(concatenated),
            "vector_size": dim, "window": window, "epochs": epochs, "seed": seed,
        }  # fmt: skip
        self._trained: Any = None

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "gensim": version("gensim"),
            "inference_epochs": self.inference_epochs,
            "alpha": self.alpha,
            "tokenize": fingerprints.of_function(self.tokenize),
            **({} if self.tolerance is None else {"tolerance": self.tolerance, "most_passes": MOST_PASSES}),
        } | self.options

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        from gensim.models.doc2vec import Doc2Vec, TaggedDocument

        documents = [TaggedDocument(self.tokenize(sentence), [i]) for i, sentence in enumerate(sentences)]
        model = Doc2Vec(**self.options)
        model.build_vocab(documents)
        if not self._words(model):
            raise InputError(f"{self.name}: no word occurs {COMMON['min_count']} times; fit it on more text")
        run_epochs(model, documents, model.epochs, self.name, show_progress_bar)
        self._trained = model

    def _words(self, model: Any) -> list[str]:
        """The vocabulary without the padding that concatenation adds."""
        return [word for word in model.wv.index_to_key if model.wv.get_vecattr(word, "count") > 1]

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(sentences), self.options["vector_size"]), np.float32)
        for i, sentence in enumerate(sentences):
            words = [word for word in self.tokenize(sentence) if word in self._trained.wv]
            if words:
                vectors[i] = self._settled(words)
        return vectors

    def _settled(self, words: list[str]) -> np.ndarray:
        """float32[dim]: the vector after as many passes as are asked for, or as it takes."""
        passes = self.inference_epochs
        vector = self._inferred(words, passes)
        while self.tolerance is not None and 2 * passes <= MOST_PASSES:
            before, passes = vector, 2 * passes
            vector = self._inferred(words, passes)
            lengths = float(np.linalg.norm(before) * np.linalg.norm(vector))
            if float(before @ vector) >= (1 - self.tolerance) * lengths:
                break
        return vector

    def _inferred(self, words: list[str], passes: int) -> np.ndarray:
        """float32[dim]: gradient descent on the sentence's vector alone.

        gensim's own ``infer_vector`` starts from Python's hash of the words, which differs from process to process,
        and goes on with random numbers where the last call stopped.
        """
        from gensim.models.doc2vec import train_document_dbow, train_document_dm_concat

        model = self._trained
        model.random.seed(self.seed)
        vector = np.zeros((1, self.options["vector_size"]), np.float32)
        locked = {"learn_words": False, "learn_hidden": False, "doctag_vectors": vector}
        locked["doctags_lockf"] = np.ones(1, np.float32)
        work, context = (np.zeros(model.layer1_size, np.float32) for _ in range(2))
        for alpha in np.linspace(self.alpha, 1.0e-4, passes):
            if self.model == "pv-dbow":
                train_document_dbow(model, words, [0], alpha, work, **locked)
            else:
                train_document_dm_concat(model, words, [0], alpha, work, context, **locked)
        return vector[0]

    def _state(self) -> dict[str, np.ndarray]:
        model = self._trained
        words = self._words(model)
        counts = np.array([model.wv.get_vecattr(word, "count") for word in words])
        return {"words": packed(words), "counts": counts, "vectors": model.wv.vectors, "output": model.syn1neg}

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        from gensim.models.doc2vec import Doc2Vec

        model = Doc2Vec(**self.options)
        words = unpacked(state["words"])
        model.build_vocab_from_freq(dict(zip(words, state["counts"].tolist(), strict=True)))
        # gensim orders words of the same count as it likes.
        order = words + model.wv.index_to_key[len(words) :]
        model.wv.index_to_key, model.wv.key_to_index = order, {word: i for i, word in enumerate(order)}
        model.wv.vectors, model.syn1neg = np.array(state["vectors"]), np.array(state["output"])
        self._trained = model
