"""What the readers of files that others made have in common."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lib.run import files
from lib.run.errors import InputError, one_line

FORMATS = {".json", ".txt", ".model", ".safetensors", ".bin"}  # of a model's files


@contextmanager
def reading(file: Path, wanted: str) -> Iterator[None]:
    """Turn whatever the reader of a file or folder raises into one sentence.

    Parameters
    ----------
    file : Path
    wanted : str
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
        raise InputError(f"{file}: cannot be read ({reason}); {wanted}") from error


def digest(folder: Path, paths: Iterable[Path]) -> str:
    """32 hexadecimal digits that change with the name below `folder` or any byte of these files."""
    total = hashlib.blake2b(digest_size=16)
    for path in sorted(paths):
        total.update(f"{path.relative_to(folder).as_posix()} {files.sha256(path)}\n".encode())
    return total.hexdigest()


def digest_of_model(folder: Path, pattern: str = "*") -> str:
    """The `digest` of a model's files, by default of those in the folder itself."""
    return digest(folder, (file for file in folder.glob(pattern) if file.suffix in FORMATS))


def check_layers(folder: Path) -> None:
    """Raise ValueError where weights (safetensors) have more or fewer layers than their configuration says.

    Their libraries leave out what is too many, and draw at random what is missing.
    """
    from safetensors import safe_open

    config, weights = folder / "config.json", folder / "model.safetensors"
    if not (config.is_file() and weights.is_file()):
        return
    with safe_open(weights, framework="numpy") as tensors:
        numbers = [int(match[1]) for name in tensors.keys() if (match := re.search(r"\.(\d+)\.", name))]  # noqa: SIM118
    found = max(numbers, default=0) + 1
    said = files.read_json(config).get("num_hidden_layers", found)
    if found not in (1, said):  # one layer may be used again and again
        raise ValueError(f"the weights have {found} layers, the configuration {said}")
