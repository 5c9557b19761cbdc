"""What every embedder has in common."""

from __future__ import annotations

import hashlib
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.base import characters, files, keys, progress
from lib.base.errors import InputError
from lib.corpora import text
from lib.vectors import Embeddings, dense, stack

if TYPE_CHECKING:
    from tqdm.std import tqdm

Tokenizer = Callable[[str], list[str]]

# As sentence-transformers calls them in a model's configuration.
SIMILARITIES = {
    "dot": "the dot product",
    "euclidean": "the Euclidean distance",
    "manhattan": "the Manhattan distance",
}
SAMPLE = 6  # sentences of the spot check
# Relative to a vector's length. Sums in another order move a float32 vector by 1e-6 to
# 1e-5; a change of this size can exchange neighbors.
TOLERANCE = 1e-3
OF_BFLOAT16 = 2e-2  # there, sums in another order move a vector by 5e-3
BATCH_SECONDS = 2.0  # a batch of an embedder of unknown speed takes about as long
SMALLEST_BATCH = 8  # sentences; the first batch is the smallest
LARGEST_BATCH = 2048


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
    batch_size : int or None
        Sentences encoded at a time; None if its speed is unknown.
    bits : int
        Size of one number of a stored vector.
    precision : str
        "bfloat16" if its vectors are computed in that.
    is_stored : bool
        Whether the store may have its vectors at all.
    is_kept : bool
        Whether vectors depend on nothing but `settings` and the text, so that the store
        keeps them for later runs.
    is_foreign : bool
        Whether others made it, so that its vectors may depend on their batch.
    is_vouched_for : bool
        Whether nothing but a user's name tells it from others, so that the store asks
        it for nothing besides the vectors.
    similarity_fn_name : str
        By what its vectors are to be compared, as sentence-transformers calls it.
    prompts : mapping of str to str
        What it wants before a "query" and before a "document" in search.
    """

    name: str
    version: int = 1
    libraries: Sequence[str] = ()
    parameters: Sequence[str] = ()
    needs_fit: bool = False
    fitted_on: str | None = None
    learned: Sequence[str] = ()
    companions: Sequence[Embedder] = ()
    batch_size: int | None = 1024
    bits: int = 32
    precision: str = "float32"
    is_stored: bool = True
    is_kept: bool = True
    is_foreign: bool = False
    is_vouched_for: bool = False
    similarity_fn_name: str = "cosine"
    prompts: Mapping[str, str] = MappingProxyType({})

    @property
    def settings(self) -> dict[str, Any]:
        """Everything besides the text that the vectors depend on, in JSON types."""
        libraries = {library: version(library) for library in self.libraries}
        return libraries | {
            name: setting_key(name, getattr(self, name)) for name in self.parameters
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
        given = as_sentences(sentences)
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
        given = as_sentences(sentences)
        size = batch_size or self.batch_size
        doing = f"encode {self.name}"
        with progress.bar(len(given), doing, show=show_progress_bar) as bar:
            return in_batches(self._encode, given, size, bar)

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
            for note in self.notes(sentences) + self.spot_check(sentences):
                progress.note(self.name, note)
        return vectors

    def encode_with_companions(self, sentences: Sequence[str]) -> list[Embeddings]:
        """The vectors of this embedder and of each of its companions, in that order."""
        return [self.encode(sentences)]

    def truncation(self, sentences: Sequence[str]) -> tuple[int, int]:
        """The length limit in tokens, and how many sentences are longer.

        The limit is 0 if the embedder does not truncate sentences.
        """
        return 0, 0

    def notes(self, sentences: Sequence[str], compared: str = "cosine") -> list[str]:
        """What a reader must know before trusting its neighbors in a text.

        `compared` is the similarity of the search. Each note is a predicate whose
        subject is the embedder. Nothing is encoded.
        """
        notes = []
        tokens, longer = self.truncation(sentences)
        if longer:
            notes.append(
                f"reads at most {tokens:,} tokens of a sentence; "
                f"{longer:,} sentences are longer."
            )
        asked = str(self.similarity_fn_name)
        if asked != compared and (other := SIMILARITIES.get(asked)):
            notes.append(
                f"asks that its vectors be compared by {other}; here they are compared "
                "by cosine, so its users may get other results."
            )
        return notes

    def spot_check(self, sentences: Sequence[str]) -> list[str]:
        """Encode a few of these sentences together and one by one.

        Returns notes on what is wrong: that the vectors differ, or that all sentences
        get the same one.
        """
        lengths = [len(sentence) for sentence in sentences]
        places = np.linspace(0, len(sentences) - 1, SAMPLE).astype(int)
        # Of different lengths, since a shorter one is padded.
        places = np.unique([*places, np.argmin(lengths), np.argmax(lengths)])
        sample = [sentences[int(i)] for i in places]
        together = dense(self.encode(sample))
        alone = np.vstack([dense(self.encode([sentence])) for sentence in sample])
        distances = np.linalg.norm(together - alone, axis=1)
        tolerance = OF_BFLOAT16 if self.precision == "bfloat16" else TOLERANCE
        moved = distances > tolerance * np.linalg.norm(alone, axis=1)
        if moved.any():
            doubt = "returns different vectors for a sentence in another call or batch"
            return [f"{doubt}, so its neighbors are not reproducible."]
        if len(sample) > 1 and np.ptp(together, axis=0).max() == 0:
            return [f"gives {len(sample)} different sentences the same vector."]
        return []

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


def prefix_state(place: str, embedder: Embedder) -> dict[str, np.ndarray]:
    """What an embedder has learned, as part of another one's state."""
    return {f"{place}/{key}": array for key, array in embedder.state().items()}


def unprefix_state(place: str, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What `prefix_state` has put into a state."""
    start = f"{place}/"
    return {
        key.removeprefix(start): array
        for key, array in state.items()
        if key.startswith(start)
    }


# -- settings --------------------------------------------------------------------------


def setting_key(name: str, value: Any) -> Any:
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
    encode: Callable[[Sequence[str]], Embeddings],
    sentences: Sequence[str],
    size: int | None,
    bar: tqdm,
) -> Embeddings:
    """Apply `encode` to `size` sentences at a time, and advance a progress bar.

    Without a `size`, and if the bar is shown, batches grow or shrink until one takes
    about `BATCH_SECONDS`.
    """
    is_paced = size is None and not bar.disable
    if size is None:
        size = SMALLEST_BATCH if is_paced else LARGEST_BATCH
    parts: list[Embeddings] = []
    start = 0
    while not parts or start < len(sentences):
        batch = sentences[start : start + size]
        started = time.perf_counter()
        parts.append(encode(batch))
        seconds = time.perf_counter() - started
        bar.update(len(batch))
        start += len(batch)
        if is_paced and seconds < BATCH_SECONDS / 4:
            size = min(4 * size, LARGEST_BATCH)
        elif is_paced and seconds > 2 * BATCH_SECONDS:
            size = max(size // 4, 1)
    return stack(parts)


# -- text ------------------------------------------------------------------------------


def packed(value: Any) -> np.ndarray:
    """Text, numbers, lists and mappings as JSON in uint8; any character is safe."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def unpacked(data: np.ndarray) -> Any:
    """The value that `packed` was given."""
    return json.loads(data.tobytes())


def as_sentences(sentences: Sequence[str]) -> list[str]:
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
