"""Where a training stands, on disk: written whole or not at all, and held to the text and settings it was made with."""

from __future__ import annotations

import json
import zipfile
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lib.run import files, locks
from lib.run.errors import InputError
from lib.sent2vec.kernels import Model
from lib.sent2vec.settings import Settings

VERSION = 1  # of the checkpoint and of everything that decides which numbers a training arrives at
BYTES = 1 << 24  # that are read or written at once
STATE = "state.json"


class Checkpoint:
    """The matrices of a training and how far it is, in one file: a zip archive without compression.

    Parameters
    ----------
    path : the file
    settings : Settings; the number of threads does not matter
    digest : str that stands for the text
    """

    def __init__(self, path: Path, settings: Settings, digest: str) -> None:
        self.path = path
        given = {name: getattr(value, "item", lambda value=value: value)() for name, value in asdict(settings).items()}
        self.run = {"version": VERSION, "text": digest} | {name: given[name] for name in given if name != "threads"}

    def exists(self) -> bool:
        """Whether there is one."""
        return self.path.exists()

    def alone(self) -> AbstractContextManager:
        """Hold the file against other trainings: they wait, and then go on from what is there."""
        return locks.held_beside(self.path, f"training with {self.path}")

    def write(self, state: dict[str, Any], model: Model) -> None:
        """Write under a temporary name, flush to the disk, then rename. `state` is of JSON types.

        Raises InputError if that cannot be done; the one before is kept.
        """
        try:
            with files.replacing(self.path) as stream, zipfile.ZipFile(stream, "w") as archive:
                archive.writestr(STATE, json.dumps({"run": self.run} | state))
                for name, matrix in zip(Model._fields, model, strict=True):
                    with archive.open(name, "w", force_zip64=True) as member:
                        _write(member, matrix)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror}); the one before is kept, make room and run again"
            ) from error

    def read(self, model: Model) -> dict[str, Any]:
        """Fill the matrices; returns the state. Raises InputError for a damaged file and for another training's."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                state = json.loads(archive.read(STATE))
                self._refuse_other(state.pop("run"))
                for name, matrix in zip(Model._fields, model, strict=True):
                    with archive.open(name) as member:
                        _read(member, matrix)
        except InputError:
            raise
        except Exception as error:  # a damaged archive can make its readers raise anything
            raise InputError(f"{self.path}: this checkpoint is damaged; delete it to start anew") from error
        return state

    def _refuse_other(self, held: dict[str, Any]) -> None:
        keys = [key for key in {**held, **self.run} if held.get(key) != self.run.get(key)]
        if keys:
            differing = ", ".join(f"{key} {held.get(key)!r} (now {self.run.get(key)!r})" for key in keys)
            raise InputError(
                f"{self.path}: the checkpoint of a training with {differing}; train with the same to go on, or delete "
                "it to start anew"
            )


def _write(member: BinaryIO, matrix: np.ndarray) -> None:
    data = matrix.reshape(-1).view(np.uint8).data
    for start in range(0, len(data), BYTES):
        member.write(data[start : start + BYTES])


def _read(member: BinaryIO, matrix: np.ndarray) -> None:
    data, start = matrix.reshape(-1).view(np.uint8).data, 0
    while part := member.read(min(BYTES, len(data) - start) or 1):
        data[start : start + len(part)] = part  # ValueError if there is more than the matrix has room for
        start += len(part)
    if start < len(data):
        raise EOFError
