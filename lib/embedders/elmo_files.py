"""The two official files of an ELMo model: options (JSON) and weights (HDF5), checked before use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.run import files
from lib.run.errors import InputError, one_line

if TYPE_CHECKING:
    import h5py

MOST_CHARACTERS = 1 << 16  # of a token: room is made for all of them in each
MOST_TIMES = 100  # what a dataset takes on the disk, if it is packed
N_CHARACTERS = 261  # 256 bytes, then two ends of a sentence, two ends of a word, padding
DIRECTIONS = ("RNN_0", "RNN_1")  # forward, backward


@dataclass(frozen=True)
class Options:
    """The sizes and switches of a model; a clip of None clips nothing."""

    activation: str
    character_dim: int
    filters: tuple[tuple[int, int], ...]  # width in characters, number of filters
    max_characters: int  # the two ends of the word included
    n_highway: int
    dim: int
    projection_dim: int
    n_layers: int
    cell_clip: float | None
    proj_clip: float | None
    skip_connections: bool

    @property
    def n_filters(self) -> int:
        """How many filters there are, of all widths together."""
        return sum(number for _, number in self.filters)


# -- options ------------------------------------------------------------------------------------


def read_options(file: Path) -> Options:
    """Read an options file; InputError if it is missing, not JSON, or lacks a field or has a wrong value in it."""
    document = _read_json(file)

    def field(path: str, accepts: Callable[[Any], bool], what: str) -> Any:
        value = _at(document, path)
        if not accepts(value):
            found = "missing" if value is None else repr(value)[:60]
            raise InputError(f"{file}: {path} is {found}; an ELMo options file has {what} there")
        return value

    def size(path: str) -> int:
        return field(path, _is_size, "a whole number above 0")

    def clip(path: str) -> float | None:
        value = field(path, _is_clip, "a number above 0, or null for no clipping")
        return None if value is None else float(value)

    field("bidirectional", lambda value: value in (None, True), "true, or nothing,")
    field("char_cnn.n_characters", lambda value: value in (N_CHARACTERS, N_CHARACTERS + 1), "261 or 262")
    length = field(
        "char_cnn.max_characters_per_token", lambda value: _is_size(value) and 3 <= value <= MOST_CHARACTERS,
        f"3 to {MOST_CHARACTERS}",
    )  # fmt: skip
    filters = field(
        "char_cnn.filters", lambda value: _are_filters(value, length), f"pairs [width of 1 to {length}, number]"
    )
    return Options(
        activation=field("char_cnn.activation", lambda value: value in ("relu", "tanh"), '"relu" or "tanh"'),
        character_dim=size("char_cnn.embedding.dim"),
        filters=tuple((width, number) for width, number in filters),
        max_characters=length,
        n_highway=field("char_cnn.n_highway", lambda value: type(value) is int and value >= 0, "a whole number"),
        dim=size("lstm.dim"),
        projection_dim=size("lstm.projection_dim"),
        n_layers=size("lstm.n_layers"),
        cell_clip=clip("lstm.cell_clip"),
        proj_clip=clip("lstm.proj_clip"),
        skip_connections=field("lstm.use_skip_connections", lambda value: isinstance(value, bool), "true or false"),
    )


def _read_json(file: Path) -> dict[str, Any]:
    _check_file(file, "options.json")
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON ({one_line(error)}); give the options.json of an ELMo model") from error
    if not isinstance(document, dict):
        raise InputError(f"{file}: holds a {type(document).__name__}; give the options.json of an ELMo model")
    return document


def _at(document: Any, path: str) -> Any:
    """The value at a dotted path, None if there is none."""
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_clip(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 < value <= np.finfo(np.float32).max)


def _are_filters(value: Any, length: int) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_size, pair)) for pair in value)
        and all(width <= length for width, _ in value)
    )


# -- weights ------------------------------------------------------------------------------------


def expected_shapes(options: Options) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every dataset of a weights file with the shape that the options ask for."""
    n_filters, dim, projection = options.n_filters, options.dim, options.projection_dim
    yield "char_embed", (N_CHARACTERS, options.character_dim)
    for i, (width, number) in enumerate(options.filters):
        yield f"CNN/W_cnn_{i}", (1, width, options.character_dim, number)
        yield f"CNN/b_cnn_{i}", (number,)
    for i in range(options.n_highway):
        for gate in ("carry", "transform"):
            yield f"CNN_high_{i}/W_{gate}", (n_filters, n_filters)
            yield f"CNN_high_{i}/b_{gate}", (n_filters,)
    yield "CNN_proj/W_proj", (n_filters, projection)
    yield "CNN_proj/b_proj", (projection,)
    for direction in DIRECTIONS:
        for layer in range(options.n_layers):
            cell = cell_name(direction, layer)
            yield f"{cell}/W_0", (2 * projection, 4 * dim)
            yield f"{cell}/B", (4 * dim,)
            yield f"{cell}/W_P_0", (dim, projection)


def cell_name(direction: str, layer: int) -> str:
    """The group of one LSTM layer."""
    return f"{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def check_weights(file: Path, options: Options) -> None:
    """Raise InputError unless a file is HDF5 and has every dataset in the shape of the options; reads no values."""
    with _opened(file) as weights:
        for name, shape in expected_shapes(options):
            _check_dataset(file, weights, name, shape)
        more = f"CNN_high_{options.n_highway}", cell_name(DIRECTIONS[0], options.n_layers)
        if beyond := [name for name in more if name in weights]:
            raise InputError(
                f"{file}: has {beyond[0]}, which the options do not know; give weights and options of the same model"
            )


def read_weights(file: Path, options: Options) -> dict[str, np.ndarray]:
    """Every dataset as float32; InputError as in `check_weights`, or where one holds NaN or infinity."""
    arrays = {}
    with _opened(file) as weights:
        for name, shape in expected_shapes(options):
            _check_dataset(file, weights, name, shape)
            arrays[name] = weights[name][...].astype(np.float32, copy=False)
            if not np.isfinite(arrays[name]).all():
                raise InputError(f"{file}: dataset {name} holds NaN or infinity; download the file again")
    return arrays


def _check_dataset(file: Path, weights: h5py.File, name: str, shape: tuple[int, ...]) -> None:
    import h5py

    dataset = None if _leads_out(weights, name) else weights.get(name)
    if not isinstance(dataset, h5py.Dataset) or dataset.external or dataset.is_virtual:
        raise InputError(f"{file}: has no dataset {name} of shape {shape}; give the weights that belong to the options")
    if dataset.shape != shape:
        raise InputError(
            f"{file}: dataset {name} has shape {dataset.shape} where the options ask for {shape}; "
            "give weights and options of the same model"
        )
    if not np.issubdtype(dataset.dtype, np.floating):
        raise InputError(f"{file}: dataset {name} holds {dataset.dtype}; give floating-point weights")
    if dataset.nbytes > MOST_TIMES * dataset.id.get_storage_size():
        raise InputError(f"{file}: dataset {name} holds less than its shape {shape} takes; download the file again")


def _leads_out(weights: h5py.File, name: str) -> bool:
    """Whether a link on the way to a dataset leads into another file, which could be any."""
    import h5py

    parts = name.split("/")
    ways = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return any(isinstance(weights.get(way, getlink=True), h5py.ExternalLink) for way in ways)


@contextmanager
def _opened(file: Path) -> Iterator[h5py.File]:
    """An HDF5 file; what the library cannot read in it is an InputError."""
    import h5py

    _check_file(file, "weights.hdf5")
    try:
        with h5py.File(file, "r") as weights:
            yield weights
    except InputError:
        raise
    except Exception as error:  # damaged bytes can raise nearly anything
        raise InputError(f"{file}: cannot be read as HDF5 ({one_line(error)}); download it again") from error


# -- both ---------------------------------------------------------------------------------------


def _check_file(file: Path, ending: str) -> None:
    """Raise InputError unless there is a file, and one that is no web page saved in its place."""
    if not file.is_file():
        raise InputError(f"{file}: no such file; give the path of an ELMo model's {ending}")
    if files.is_web_page(file):
        raise InputError(f"{file}: a web page in place of an ELMo model's {ending}; download it again")
