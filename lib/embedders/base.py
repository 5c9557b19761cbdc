"""What every embedder has in common."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.base import characters, files, keys, progress
from lib.base.errors import InputError
from lib.corpora import text
from lib.vectors import Embeddings, stack

Tokenizer = Callable[[str], list[str]]


class Embedder(ABC):
    """A map from sentences to vectors.

    Attributes
    ----------
    name : str
        The name in the registry.
    version : int
        Of the code in the embedder's module: raised when its vectors change.
    libraries : sequence of str
        Packages on whose versions the vectors depend.
    parameters : sequence of str
        Attributes on which they depend: numbers, texts, files, functions, mappings from
        words to vectors.
    needs_fit : bool
        Whether `fit` must come before `encode`.
    fitted_on : str or None
        Fingerprint of the text that `fit` has seen.
    learned : sequence of str
        Attributes that `fit` sets: arrays of floats, and what JSON can hold.
    companions : sequence of Embedder
        Embedders whose vectors come from the same pass at no extra cost.
    batch_size : int
        Sentences encoded at a time.
    bits : int
        Size of one number of a stored vector.
    is_kept : bool
        Whether vectors depend on nothing but `settings` and the text, so that the store
        keeps them for later runs.
    is_foreign : bool
        Whether others made it, so that its vectors may depend on their batch.
    similarity_fn_name : str
        By what its vectors are to be compared, as sentence-transformers calls it.
    """

    name: str
    version: int = 1
    libraries: Sequence[str] = ()
    parameters: Sequence[str] = ()
    needs_fit: bool = False
    fitted_on: str | None = None
    learned: Sequence[str] = ()
    companions: Sequence[Embedder] = ()
    batch_size: int = 1024
    bits: int = 32
    is_kept: bool = True
    is_foreign: bool = False
    similarity_fn_name: str = "cosine"

    @property
    def settings(self) -> dict[str, Any]:
        """Everything besides the text that the vectors depend on, in JSON types."""
        libraries = {library: version(library) for library in self.libraries}
        return libraries | {
            name: described(name, getattr(self, name)) for name in self.parameters
        }

    @abstractmethod
    def _encode(self, sentences: Sequence[str]) -> Embeddings:
        """Vectors of one batch."""

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:  # noqa: B027 - no need to override
        """Learn from text. Embedders that learn nothing leave this as it is."""

    def fit(
        self, sentences: Sequence[str], show_progress_bar: bool = False
    ) -> Embedder:
        """Learn from `sentences` what the embedder needs; returns itself.

        This may be idf, common components or word vectors.
        """
        given = mended(sentences)
        if self.needs_fit:
            self._fit(given, show_progress_bar)
            self.fitted_on = text.fingerprint(sentences)
        return self

    def encode(
        self,
        sentences: Sequence[str],
        batch_size: int | None = None,
        show_progress_bar: bool = False,
    ) -> Embeddings:
        """Embed `sentences`.

        Returns float32[n, dim], or a CSR array of that shape for vocabulary-sized
        vectors. A sentence that is empty or holds unknown words only gets a zero
        vector, unless the embedder's docstring says otherwise.

        Raises InputError when called before a needed `fit`, or with anything but a
        sequence of str.
        """
        if self.needs_fit and self.fitted_on is None:
            raise InputError(
                f"{self.name}: not fitted; "
                "call fit(sentences) before encode, or fit_encode for both"
            )
        return in_batches(
            self._encode,
            sentences,
            batch_size or self.batch_size,
            self.name,
            show_progress_bar,
        )

    def fit_encode(
        self, sentences: Sequence[str], show_progress_bar: bool = False
    ) -> Embeddings:
        """Fit on the same sentences that are then encoded, as the papers do.

        This use is transductive.
        """
        vectors = self.fit(sentences, show_progress_bar).encode(
            sentences, show_progress_bar=show_progress_bar
        )
        if self.is_foreign:
            from lib.embedders import notes  # which imports this module

            notes.tell(self, sentences)
        return vectors

    def encode_with_companions(self, sentences: Sequence[str]) -> list[Embeddings]:
        """The vectors of this embedder and of each of its companions, in that order."""
        return [self.encode(sentences)]

    def cut(self, sentences: Sequence[str]) -> tuple[int, int]:
        """The length limit in tokens, and how many sentences are longer.

        The limit is 0 if the embedder does not cut sentences.
        """
        return 0, 0

    def state(self) -> dict[str, np.ndarray]:
        """What `fit` has learned, as arrays for `restore`.

        The arrays hold no objects. There are none if there is nothing to learn.
        """
        arrays = {}
        for name in self.learned:
            value = getattr(self, name)
            arrays[name] = value if isinstance(value, np.ndarray) else packed(value)
        return arrays

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        """Take over what an embedder of the same settings has learned.

        `fitted_on` is the fingerprint of the text that it learned from.
        """
        for name in self.learned:
            value = state[name]
            setattr(self, name, unpacked(value) if value.dtype == np.uint8 else value)
        self.fitted_on = fitted_on
        return self


def inside(place: str, embedder: Embedder) -> dict[str, np.ndarray]:
    """What an embedder has learned, as part of another one's state."""
    return {f"{place}/{key}": array for key, array in embedder.state().items()}


def taken_out(place: str, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What `inside` has put into a state."""
    start = f"{place}/"
    return {
        key.removeprefix(start): array
        for key, array in state.items()
        if key.startswith(start)
    }


# -- settings --------------------------------------------------------------------------


def described(name: str, value: Any) -> Any:
    """A parameter's value as it appears in the settings of an embedder.

    Files and mappings appear by their digest, functions as `keys.of_function` has them,
    which raises InputError for one that it cannot tell from another.
    """
    if isinstance(value, Path):
        return files.sha256(value)
    if isinstance(value, Mapping):
        return digest_of_mapping(value)
    if callable(value):
        return keys.of_function(name, value)
    return getattr(value, "settings", value)


def digest_of_mapping(mapping: Mapping[str, Any]) -> str:
    """32 hexadecimal digits for a mapping from words to numbers or vectors.

    If the mapping has a fingerprint of its own, it is that.
    """
    if hasattr(mapping, "fingerprint"):
        return mapping.fingerprint
    words = sorted(mapping)
    digest = hashlib.blake2b(json.dumps(words).encode(), digest_size=16)
    digest.update(
        np.asarray([mapping[word] for word in words], dtype=np.float64).tobytes()
    )
    return digest.hexdigest()


# -- vectors ---------------------------------------------------------------------------


def in_batches(
    encode: Callable[[list[str]], Embeddings],
    sentences: Sequence[str],
    size: int | Callable[[], int],
    name: str,
    show: bool,
) -> Embeddings:
    """Apply `encode` to `size` sentences at a time.

    Raises InputError if the sentences are not a sequence of str. A `size` that may
    change from batch to batch is a function that returns it.
    """
    given = mended(sentences)
    parts = []
    start = 0
    with progress.bar(len(given), f"encode {name}", show=show) as bar:
        while not parts or start < len(given):
            end = start + (size() if callable(size) else size)
            batch = given[start:end]
            parts.append(encode(batch))
            bar.update(len(batch))
            start += len(batch)
    return stack(parts)


# -- text ------------------------------------------------------------------------------


def packed(value: Any) -> np.ndarray:
    """Text, numbers, lists and mappings as JSON in uint8; any character is safe."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def unpacked(data: np.ndarray) -> Any:
    """The value that `packed` was given."""
    return json.loads(data.tobytes())


def mended(sentences: Sequence[str]) -> list[str]:
    """The sentences as a list of text that can be encoded.

    Raises InputError if they are not a sequence of str.
    """
    # A generator could be read only once.
    if isinstance(sentences, str) or not (
        hasattr(sentences, "__len__") and hasattr(sentences, "__getitem__")
    ):
        raise InputError(
            f"sentences: got a {type(sentences).__name__}; give a list of strings"
        )
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise InputError(
                f"sentences[{i}]: {sentence!r} is a {type(sentence).__name__}; "
                "give a list of strings"
            )
    return [characters.mend(sentence) for sentence in sentences]


def longest_first(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Batches of rows of the sentences that have tokens, the longest first.

    Each batch has as many rows as fit into `tokens` when padded to its longest. A
    sentence longer than that is a batch on its own.
    """
    batch: list[int] = []
    for row in sorted(
        np.flatnonzero(lengths).tolist(), key=lengths.__getitem__, reverse=True
    ):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


# -- what an embedder returns ----------------------------------------------------------

CONTRACT = (
    "give a function that takes a list of strings and returns an array of shape "
    "(sentences, dimensions), or a class or an object with such an encode"
)


def checked(returned: Any, name: str, sentences: Sequence[str]) -> Embeddings:
    """What `encode` has returned for these sentences, as float32[n, dim] or CSR.

    Raises an InputError with the embedder's `name` for anything but an array of finite
    numbers with a row for each sentence.
    """
    vectors = _array(returned, name)
    rows = len(sentences)
    if vectors.ndim != 2 or vectors.shape[0] != rows or not vectors.shape[1]:
        raise InputError(
            f"{name}: returned shape {vectors.shape} for {rows} sentences; "
            f"give ({rows}, dim)"
        )
    # A sum is finite just where all of its row is.
    finite = np.isfinite(vectors.sum(axis=1, dtype=np.float64))
    if not finite.all():
        raise InputError(
            f"{name}: returned NaN or infinity for "
            f"{sentences[finite.argmin()][:60]!r}; give finite numbers"
        )
    return vectors


def form(vectors: Embeddings) -> str:
    """A description of what all vectors of an embedder have in common."""
    storage = "sparse" if sp.issparse(vectors) else "dense"
    return f"{storage} vectors of {vectors.shape[1]} dimensions"


def check_form(vectors: Embeddings, name: str, before: str) -> None:
    """Raise InputError unless vectors have the form of earlier ones, if any."""
    now = form(vectors)
    if before and now != before:
        raise InputError(
            f"{name}: returned {now}, and {before} on an earlier call; "
            "always return the same kind"
        )


def _array(returned: Any, name: str) -> Embeddings:
    """A float32 copy, since the embedder may reuse its memory.

    PyTorch tensors are copied from their device.
    """
    try:
        if sp.issparse(returned):
            return sp.csr_array(returned, dtype=np.float32, copy=True)
        if hasattr(returned, "detach"):
            returned = returned.detach().float().cpu().numpy()
        with np.errstate(over="ignore"):  # infinity is refused afterwards
            return np.array(returned).astype(np.float32, casting="same_kind")
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{name}: returned no array of numbers (type {type(returned).__name__}); "
            f"{CONTRACT}"
        ) from error


def dense(vectors: Embeddings) -> np.ndarray:
    """The vectors as a dense array."""
    return vectors.toarray() if sp.issparse(vectors) else vectors
