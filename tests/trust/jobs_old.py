"""The long jobs in a small size, each a function of the folder that holds what it reads; it writes to ``work`` there.

A finished job that is run again does nothing.
"""

from __future__ import annotations

from pathlib import Path

import scipy.stats  # noqa: F401 - what the jobs import in their functions is imported here, once for all runs
import sklearn.metrics  # noqa: F401
import torch
from pyarrow import parquet  # noqa: F401
from transformers import AutoTokenizer, BertForSequenceClassification, BertTokenizerFast  # noqa: F401

from lib.embedders.finetuning import finetune
from lib.run.errors import InputError

torch.set_num_threads(1)


def tune(folder: Path, bert: str) -> None:
    settings = {"num_train_epochs": 1, "learning_rate": 5e-3, "max_length": 24, "save_steps": 2, "use_cpu": True}
    try:
        finetune("multinli", bert, folder / "work" / "tuned", per_device_train_batch_size=16, limit=96, **settings)
    except InputError as error:
        if "is there; delete" not in str(error):
            raise


JOBS = {job.__name__: job for job in (tune,)}
