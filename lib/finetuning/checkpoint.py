"""Where a training stands, on disk: written whole or not at all, and held to the settings that it was made with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from lib.errors import InputError
from lib.finetuning.training import Training


class Checkpoint:
    """The weights, the moments and the step of a training, in one file.

    Parameters
    ----------
    path : Path
    run : dict of JSON types, what the result depends on; a checkpoint of another run is refused
    """

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        self.path, self.run = path, run

    def write(self, training: Training) -> None:
        """Write under a temporary name, flush to the disk, then rename."""
        content = {
            "run": self.run,
            "step": training.step,
            "model": training.model.state_dict(),
            "optimizer": training.optimizer.state_dict(),
        }
        temporary = self.path.with_suffix(".tmp")
        try:
            with temporary.open("wb") as stream:
                torch.save(content, stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, self.path)
        except (OSError, RuntimeError) as error:  # the latter from PyTorch's writer, on a full disk
            temporary.unlink(missing_ok=True)
            raise InputError(f"{self.path}: cannot be written ({error}); the one before is kept, run again") from error

    def restore(self, training: Training) -> None:
        """Bring a training to where this checkpoint stands; to its beginning if there is none yet."""
        if not self.path.exists():
            return
        try:
            content = torch.load(self.path, map_location="cpu", weights_only=True)
            held = content["run"]
        except Exception as error:  # whatever PyTorch's reader makes of a damaged file
            raise InputError(f"{self.path}: this checkpoint is damaged; delete it to start anew") from error
        self._refuse_other(held)
        training.model.load_state_dict(content["model"])
        training.optimizer.load_state_dict(content["optimizer"])
        training.step = content["step"]

    def _refuse_other(self, held: dict[str, Any]) -> None:
        """InputError that names what differs between the checkpoint's run and this one."""
        keys = [key for key in {**held, **self.run} if held.get(key) != self.run.get(key)]
        if keys:
            differing = ", ".join(f"{key} {held.get(key)!r} (now {self.run.get(key)!r})" for key in keys)
            raise InputError(
                f"{self.path}: the checkpoint of a run with {differing}; run with the same to go on, or delete "
                f"{self.path.parent} to start anew"
            )
