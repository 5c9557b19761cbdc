"""What every embedder has in common."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.corpora import text
from lib.run import files, progress
from lib.run.errors import InputError, one_line

Embeddings = np.ndarray | sp.csr_array
Tokenizer = Callable[[str], list[str]]
FORMATS = {".json", ".txt", ".model", ".safetensors", ".bin", ".pb", ".index"}  # of a model's files


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
        Attributes on which they depend: numbers, texts, files, functions, mappings from words to vectors.
    needs_fit : bool
        Whether `fit` must come before `encode`.
    fitted_on : str or None
        Fingerprint of the text that `fit` has seen.
    learned : sequence of str
        Attributes that `fit` sets: arrays of floats, and what JSON can hold.
    companions : sequence of Embedder
        Those whose vectors come out of the same pass at no cost.
    batch_size : int
        Sentences encoded at a time.
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

    @property
    def settings(self) -> dict[str, Any]:
        """Everything besides the text that the vectors depend on, in JSON types."""
        libraries = {library: version(library) for library in self.libraries}
        return libraries | {name: described(getattr(self, name)) for name in self.parameters}

    @abstractmethod
    def _encode(self, sentences: Sequence[str]) -> Embeddings:
        """Vectors of one batch."""

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:  # noqa: B027 - no need to override
        """Learn from text. Embedders that learn nothing leave this as it is."""

    def fit(self, sentences: Sequence[str], show_progress_bar: bool = False) -> Embedder:
        """Learn from `sentences` what the embedder needs (idf, common components, word vectors); returns itself."""
        given = mended(sentences)
        if self.needs_fit:
            self._fit(given, show_progress_bar)
            self.fitted_on = text.fingerprint(sentences)
        return self

    def encode(
        self, sentences: Sequence[str], batch_size: int | None = None, show_progress_bar: bool = False
    ) -> Embeddings:
        """Embed `sentences`.

        Returns float32[n, dim], or a CSR array of that shape for vocabulary-sized vectors. A sentence that is
        empty or holds unknown words only gets a zero vector, unless the embedder's docstring says otherwise.

        Raises InputError when called before a needed `fit`, or with anything but a sequence of str.
        """
        if self.needs_fit and self.fitted_on is None:
            raise InputError(f"{self.name}: not fitted; call fit(sentences) before encode, or fit_encode for both")
        return in_batches(self._encode, sentences, batch_size or self.batch_size, self.name, show_progress_bar)

    def fit_encode(self, sentences: Sequence[str], show_progress_bar: bool = False) -> Embeddings:
        """Fit on the very sentences that are then encoded: the papers' use, and a transductive one."""
        return self.fit(sentences, show_progress_bar).encode(sentences, show_progress_bar=show_progress_bar)

    def encode_with_companions(self, sentences: Sequence[str]) -> list[Embeddings]:
        """The vectors of this embedder and of each of its companions, in that order."""
        return [self.encode(sentences)]

    def state(self) -> dict[str, np.ndarray]:
        """What `fit` has learned, as arrays without objects, for `restore`; empty if there is nothing to learn."""
        values = {name: getattr(self, name) for name in self.learned}
        return {name: value if isinstance(value, np.ndarray) else packed(value) for name, value in values.items()}

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        """Take up what an embedder of the same settings has learned from the text with this fingerprint."""
        for name in self.learned:
            setattr(self, name, unpacked(state[name]) if state[name].dtype == np.uint8 else state[name])
        self.fitted_on = fitted_on
        return self


class Concatenation(Embedder):
    """The vectors of several embedders, one beside the other; float32[n, sum of their dimensions].

    Parameters
    ----------
    name : str
    parts : sequence of Embedder
        With dense vectors, at least two.
    """

    def __init__(self, name: str, parts: Sequence[Embedder]) -> None:
        self.name, self.parts = name, parts
        self.needs_fit = any(part.needs_fit for part in parts)

    @property
    def settings(self) -> dict[str, Any]:
        return {"parts": [{"name": part.name, "version": part.version} | part.settings for part in self.parts]}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        for part in self.parts:
            part.fit(sentences, show_progress_bar)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return np.hstack([part.encode(sentences) for part in self.parts])

    def state(self) -> dict[str, np.ndarray]:
        return {f"{i}/{key}": array for i, part in enumerate(self.parts) for key, array in part.state().items()}

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        for i, part in enumerate(self.parts):
            own = {key.removeprefix(f"{i}/"): array for key, array in state.items() if key.startswith(f"{i}/")}
            part.restore(own, fitted_on)
        return super().restore(state, fitted_on)


# -- settings -----------------------------------------------------------------------------------


def described(value: Any) -> Any:
    """A value in the settings of an embedder: the digest of a file or mapping, a function's module and name."""
    if isinstance(value, Path):
        return files.sha256(value)
    if isinstance(value, Mapping):
        return digest_of_mapping(value)
    if callable(value):  # methods of built-in types (str.split) have no module
        return f"{getattr(value, '__module__', None) or 'builtins'}.{value.__qualname__}"
    return getattr(value, "settings", value)


def digest_of_mapping(mapping: Mapping[str, Any]) -> str:
    """32 hexadecimal digits for a mapping from words to numbers or vectors; its own fingerprint if it has one."""
    if hasattr(mapping, "fingerprint"):
        return mapping.fingerprint
    words = sorted(mapping)
    digest = hashlib.blake2b(json.dumps(words).encode(), digest_size=16)
    digest.update(np.asarray([mapping[word] for word in words], dtype=np.float64).tobytes())
    return digest.hexdigest()


# -- vectors ------------------------------------------------------------------------------------


def in_batches(
    encode: Callable[[list[str]], Embeddings], sentences: Sequence[str], size: int, name: str, show: bool
) -> Embeddings:
    """What `encode` makes of `size` sentences at a time; InputError if they are not a sequence of str."""
    given, parts = mended(sentences), []
    with progress.bar(len(given), f"encode {name}", show=show) as bar:
        for start in range(0, max(len(given), 1), size):
            parts.append(encode(given[start : start + size]))
            bar.update(min(size, len(given) - start))
    return stack(parts)


def stack(parts: Sequence[Embeddings]) -> Embeddings:
    """Embeddings of one kind below each other, as float32."""
    if sp.issparse(parts[0]):
        return narrow(sp.csr_array(sp.vstack(parts, format="csr"), dtype=np.float32))
    return np.concatenate(parts).astype(np.float32, copy=False)


def finite(vectors: np.ndarray, weights: Path) -> np.ndarray:
    """The vectors; InputError that names their weights, a file or folder, if they hold NaN or infinity."""
    if not np.isfinite(vectors).all():
        raise InputError(f"{weights}: its vectors are NaN or infinite; get the file again")
    return vectors


def narrow(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix with index arrays of int32, which is all that some libraries take, unless it is too large for them."""
    try:
        index = sp.safely_cast_index_arrays(matrix)
    except ValueError:
        return matrix
    return sp.csr_array((matrix.data, *index), shape=matrix.shape)


# -- text ---------------------------------------------------------------------------------------


def packed(value: Any) -> np.ndarray:
    """uint8: text, numbers, lists and mappings as JSON, in which any character is safe."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def unpacked(data: np.ndarray) -> Any:
    """The value that `packed` was given."""
    return json.loads(data.tobytes())


def mended(sentences: Sequence[str]) -> list[str]:
    """The sentences as a list of text that can be encoded; InputError if they are not a sequence of str."""
    # A generator could be read but once.
    if isinstance(sentences, str) or not (hasattr(sentences, "__len__") and hasattr(sentences, "__getitem__")):
        raise InputError(f"sentences: got a {type(sentences).__name__}; give a list of strings")
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise InputError(f"sentences[{i}]: {sentence!r} is a {type(sentence).__name__}; give a list of strings")
    return [text.mend(sentence) for sentence in sentences]


def longest_first(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Rows of the sentences that have tokens, the longest first, as many in a batch as fit into so many `tokens`.

    Padded to the longest of the batch, they are no more than `tokens` together, but that a sentence longer than that
    is a batch of its own.
    """
    batch: list[int] = []
    for row in sorted(np.flatnonzero(lengths).tolist(), key=lengths.__getitem__, reverse=True):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


# -- files that others made ---------------------------------------------------------------------


@contextmanager
def reading(file: Path, remedy: str) -> Iterator[None]:
    """Turn whatever the reader of a file or folder raises into one sentence.

    Parameters
    ----------
    file : Path
    remedy : str
        What would be right, such as "download it again".

    Raises
    ------
    InputError
        In place of any other exception: damaged bytes can raise nearly anything.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        inside = [path for path in (file, *file.rglob("*")) if path.is_file()]
        page = next((path for path in inside if files.is_web_page(path)), None)
        reason = f"{page.name} is a saved web page" if page else f"{type(error).__name__}: {one_line(error)}"
        raise InputError(f"{file}: cannot be read ({reason}); {remedy}") from error


def digest_of_model(folder: Path, pattern: str = "*") -> str:
    """32 hexadecimal digits that change with the name below `folder` or any byte of a model's files there."""
    total = hashlib.blake2b(digest_size=16)
    for file in sorted(folder.glob(pattern)):
        if file.suffix in FORMATS:
            total.update(f"{file.relative_to(folder).as_posix()} {files.sha256(file)}\n".encode())
    return total.hexdigest()
