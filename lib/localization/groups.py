"""Groups of sentences that mean the same: which to take, how large they are, which words they share (section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from lib import tasks
from lib.corpora import text
from lib.localization.words import treebank_lower
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of
from lib.tasks import ParaphraseGroups

NAMES = ("Verses", "MSRP-groups", "Opinosis-groups")

# Ways to read "each token, including punctuation"; the name says how.
TOKENIZERS = {
    "Treebank, lower case": treebank_lower,
    "Treebank": text.treebank_tokens,
    "spaCy, lower case": text.lower_word_tokens,
    "between white space": text.whitespace_tokens,
    "runs of letters, lower case": text.gensim_tokens,
}


def load(name: str, groups: int = 0, longest: int = 0, at_least: int = 3, seed: int = 0) -> ParaphraseGroups:
    """A set of paraphrase groups of `lib.tasks`, or some of its groups, numbered anew from 0.

    Parameters
    ----------
    name : "Verses", "MSRP-groups" or "Opinosis-groups"
    groups : so many are drawn; 0 for all
    longest : words that a sentence of a group may have (`lib.corpora.text.lower_words`); 0 for any number
    at_least : sentences in a group
    seed : of the drawing

    Raises InputError for an unknown name, or more groups than there are.
    """
    one_of("task", name, NAMES)
    task = tasks.load(name)
    sizes = np.bincount(task.labels)
    fits = sizes >= at_least
    if longest:
        lengths = np.array([len(text.lower_words(sentence)) for sentence in task.sentences])
        np.logical_and.at(fits, task.labels, lengths <= longest)
    offered = np.flatnonzero(fits)
    in_range("groups", groups, 0, len(offered), f"{name} has {len(offered)} of this kind; 0 for all")
    if groups:
        offered = np.sort(np.random.default_rng(seed).choice(offered, size=groups, replace=False))
    rows = np.flatnonzero(np.isin(task.labels, offered))
    labels = np.searchsorted(offered, task.labels[rows]).astype(np.int32)
    return ParaphraseGroups([task.sentences[row] for row in rows], labels)


def present(parameter: str, chosen: Sequence[str], names: Sequence[str], at_least: int) -> list[str]:
    """Those of the `chosen` that are among `names`; InputError, naming the parameter, for fewer than `at_least`."""
    found = [name for name in chosen if name in names]
    if len(found) < at_least:
        raise InputError(f"{parameter}: {len(found)} of {chosen} are here; give {at_least} or more of {names}")
    return found


def breakdown(labels: np.ndarray) -> pd.Series:
    """How many groups there are of each size (the index) that occurs: figures 2 and 3."""
    _, sizes = np.unique(labels, return_counts=True)
    return pd.Series(sizes).value_counts().sort_index().rename_axis("size").rename("groups")


def vocabulary_sizes(sentences: Sequence[str]) -> pd.Series:
    """How many distinct tokens there are, by the way to tokenize (`TOKENIZERS`)."""
    return pd.Series(
        {name: len({token for each in sentences for token in cut(each)}) for name, cut in TOKENIZERS.items()}
    )


def word_overlap(sentences: Sequence[str], labels: np.ndarray) -> pd.Series:
    """The mean word overlap of a group's pairs of sentences, in [0, 1]; the index is the group's label.

    Overlap is the share of word types that two sentences have in common (Jaccard; lower case, no punctuation).
    Raises InputError for a group of one sentence.
    """
    types = pd.Series([text.content_types(sentence) for sentence in sentences])
    found = {}
    for label, members in types.groupby(np.asarray(labels)):
        if len(members) < 2:
            raise InputError(f"labels: group {label} has one sentence; give two or more of each")
        found[label] = float(np.mean([text.jaccard(one, other) for one, other in combinations(members, 2)]))
    return pd.Series(found, name="overlap")
