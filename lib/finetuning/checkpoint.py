"""Where a training stands, on disk: written whole or not at all, and held to the settings that it was made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from lib.run import files
from lib.run.errors import InputError


class Checkpoint:
    """The weights, the moments and the step of a training, in one file.

    Parameters
    ----------
    path : Path
    run : dict of JSON types, what the result depends on; a checkpoint of another run is refused
    """

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        self.path, self.run = path, run

    def write(self, state: dict[str, Any]) -> None:
        """Write under a temporary name, flush to the disk, then rename. `state` is of tensors and JSON types.

        Raises InputError if that cannot be done; the one before is kept.
        """
        remedy = "the one before is kept, run again"
        try:
            with files.writing(self.path, remedy), files.replacing(self.path) as stream:
                torch.save({"run": self.run, **state}, stream)
        except RuntimeError as error:  # from PyTorch's writer, on a full disk
            raise InputError(f"{self.path}: cannot be written ({error}); {remedy}") from error

    def read(self) -> dict[str, Any] | None:
        """The state that was written last; None if there is none yet.

        Raises InputError for a checkpoint that is damaged, or of another training.
        """
        if not self.path.exists():
            return None
        try:
            files.check_zip(self.path)
            state = torch.load(self.path, map_location="cpu", weights_only=True)
            held = state.pop("run")
        except Exception as error:  # whatever PyTorch's reader makes of a damaged file
            raise InputError(f"{self.path}: this checkpoint is damaged; delete it to start anew") from error
        self._refuse_other(held)
        return state

    def _refuse_other(self, held: dict[str, Any]) -> None:
        """InputError that names what differs between the checkpoint's run and this one."""
        keys = [key for key in {**held, **self.run} if held.get(key) != self.run.get(key)]
        if keys:
            differing = ", ".join(f"{key} {held.get(key)!r} (now {self.run.get(key)!r})" for key in keys)
            raise InputError(
                f"{self.path}: the checkpoint of a run with {differing}; run with the same to go on, or delete "
                f"{self.path.parent} to start anew"
            )
