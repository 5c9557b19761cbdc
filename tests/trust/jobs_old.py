"""The long jobs in a small size, each a function of the folder that holds what it reads; it writes to ``work`` there.

A finished job that is run again does nothing.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import scipy.stats  # noqa: F401 - what the jobs import in their functions is imported here, once for all runs
import sklearn.metrics  # noqa: F401
import torch
from pyarrow import parquet  # noqa: F401
from transformers import AutoTokenizer, BertForSequenceClassification, BertTokenizerFast  # noqa: F401

from lib.finetuning import finetune
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec, training
from lib.sent2vec import model as sent2vec

SENTENCES = [f"{'abcdefgh'[i % 8]} sentence {i * i % 97} of number {i}" for i in range(300)]
torch.set_num_threads(1)


def train(folder: Path) -> None:
    """Sent2Vec, with a checkpoint after each two blocks."""
    training.ROUND = 2
    sent2vec.train = partial(training.train, seconds_between_checkpoints=0)
    text, work = folder / "text.txt", folder / "work"
    if not text.exists():
        words = np.random.default_rng(0).zipf(1.4, size=(20_000, 8)) % 500
        text.write_text("".join(" ".join(f"w{word}" for word in line) + "\n" for line in words))
    if not (work / "model.bin").exists():
        options = {"dim": 12, "epochs": 3, "min_count": 1, "word_ngrams": 2, "bucket": 1000, "threads": 1}
        Sent2Vec.train(text, checkpoint=work / "checkpoint", **options).save(work / "model.bin")
    (work / "checkpoint").unlink(missing_ok=True)


def tune(folder: Path, bert: str) -> None:
    settings = {"epochs": 1, "learning_rate": 5e-3, "max_length": 24, "checkpoint_every": 2, "device": "cpu"}
    try:
        finetune("multinli", bert, folder / "work" / "tuned", batch_size=16, limit=96, **settings)
    except InputError as error:
        if "is there and complete" not in str(error):
            raise


JOBS = {job.__name__: job for job in (train, tune)}
