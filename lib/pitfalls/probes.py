"""Probing tasks as transfer tasks with splits, evaluated as those are: SentEval's where they are, else made ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import catalog, probing
from lib.corpora import Corpus
from lib.pitfalls.transfer_tasks import TransferTask, drawn
from lib.probing import Probe, parsing
from lib.probing.making import PARSED
from lib.probing.senteval import FILES
from lib.run.errors import InputError
from lib.run.parameters import one_of

SHARES = (0.5, 0.1, 0.4)  # of train, dev and test: few settings are chosen, and many embedders are told apart
PARSES = "made with a spaCy pipeline that has a tagger and a parser (`pipeline`); there is none, nor SentEval's file"
ONLY_READ = "there is no recipe for it; it is read from SentEval's file, which is not here"


class Probes(NamedTuple):
    """Probing tasks that there are.

    Attributes
    ----------
    tasks : by name
    table : DataFrame with columns task, source, classes, train, dev, test (sentences)
    left_out : the others, each with the reason
    """

    tasks: Mapping[str, TransferTask]
    table: pd.DataFrame
    left_out: Mapping[str, str]


def load_all(names: Sequence[str], corpus: Corpus, size: int, seed: int = 0, pipeline: str = "") -> Probes:
    """What there is of some probing tasks.

    Parameters
    ----------
    names : of `probing.TASKS`
    corpus : what a task is made from whose file is not here
    size : sentences of a task in all (`SHARES`); of SentEval's a sample
    seed : of all that is drawn
    pipeline : the name of an installed spaCy pipeline, for tasks that need parses; "" for none

    Raises InputError for an unknown name, or if there is none of these tasks, with the reasons.
    """
    tasks, rows, left_out = {}, [], {}
    if pipeline:
        parsing.loaded("what needs parses", pipeline)
    _, lacking = probing.available(pipeline or None)
    for name in names:
        one_of("probe_names", name, probing.TASKS)
        if name in lacking and not _is_here(name):
            left_out[name] = PARSES if name in PARSED else ONLY_READ
            continue
        try:
            probe = _probe(name, corpus, size, seed, pipeline)
        except InputError as error:
            left_out[name] = str(error)
            continue
        tasks[name] = as_task(probe)
        sizes = dict(zip(("train", "dev", "test"), tasks[name].splits, strict=True))
        rows.append({"task": name, "source": probe.source, "classes": len(probe.classes)} | sizes)
    if not tasks:
        raise InputError(f"probe_names: none of them can be had; {'; '.join(left_out.values()) or 'give at least one'}")
    return Probes(tasks, pd.DataFrame(rows), left_out)


def as_task(probe: Probe) -> TransferTask:
    """A probing task as a transfer task with the official splits train, dev and test."""
    labels = np.concatenate([split.labels for split in probe.splits])
    return TransferTask(probe.name, probe.sentences, labels, tuple(map(len, probe.splits)))


def _is_here(name: str) -> bool:
    return catalog.find(f"senteval/probing/{FILES[name]}.txt") is not None


def _probe(name: str, corpus: Corpus, size: int, seed: int, pipeline: str) -> Probe:
    """SentEval's task if its file is here, or one that is made."""
    sizes = tuple(round(share * size) for share in SHARES)
    if not _is_here(name):
        return probing.make(name, corpus, seed, sizes, pipeline or None)
    probe, rng = probing.read(name), np.random.default_rng(seed)
    splits = (drawn(split, most, rng) for split, most in zip(probe.splits, sizes, strict=True))
    return Probe(name, *splits, probe.classes, probe.source)
