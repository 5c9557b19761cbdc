"""Probing tasks: what a classifier can tell about a sentence from its embedding.

Examples are the length of a sentence, its words, and their order.

=============  =========================================  ==========================
name           what is asked of a sentence                made from any corpus, too
=============  =========================================  ==========================
``SentLen``    how many words it has                      yes
``WC``         which of some words it contains            yes
``TreeDepth``  how deep its parse is                      with a parser
``TopConst``   which constituents are at the top
``BShift``     whether two adjacent words were swapped    yes
``Tense``      the tense of its main verb                 with a parser
``SubjNum``    the number of its subject                  with a parser
``ObjNum``     the number of its direct object            with a parser
``SOMO``       whether a word was replaced by an odd one  with a parser
``CoordInv``   whether two clauses changed places         with a parser
=============  =========================================  ==========================

Conneau et al. (2018), "What you can cram into a single vector", whose files come with
SentEval (`read`). Where they are not here, `make` follows their recipes on other text;
docs/data.md says where it departs from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from audit.probing import grammar, recipes
from lib import catalog
from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.corpora import Corpus, reading
from lib.tasks import ClassificationTask

FILES = {
    "SentLen": "sentence_length",
    "WC": "word_content",
    "TreeDepth": "tree_depth",
    "TopConst": "top_constituents",
    "BShift": "bigram_shift",
    "Tense": "past_present",
    "SubjNum": "subj_number",
    "ObjNum": "obj_number",
    "SOMO": "odd_man_out",
    "CoordInv": "coordination_inversion",
}


# What a task asks for, to Conneau et al.
SURFACE = ("SentLen", "WC")
SEMANTIC = ("Tense", "SubjNum", "ObjNum", "SOMO", "CoordInv")
RECIPES = recipes.RECIPES | grammar.RECIPES


class Probe(NamedTuple):
    """A probing task.

    Attributes
    ----------
    splits : list of ClassificationTask
        Train, dev and test; no sentence stands in two of them.
    classes : sequence of str
        What label code i stands for.
    """

    splits: Sequence[ClassificationTask]
    classes: Sequence[str]


def _tasks(splits: Iterable[pd.DataFrame]) -> list[ClassificationTask]:
    """Of tables with the columns sentence and label."""
    made = []
    for split in splits:
        labels = split["label"].to_numpy(np.int32)
        made.append(ClassificationTask(split["sentence"].tolist(), labels))
    return made


# -- SentEval's files ------------------------------------------------------------------

SPLITS = ("tr", "va", "te")


def read(name: str) -> Probe:
    """SentEval's probing task of this name.

    `lib.catalog` says where the file is looked for. Sentences are tokens separated by
    spaces. Classes are sorted by number if they are numbers, else alphabetically.

    Raises
    ------
    InputError
        An unknown name; a file that is missing, or broken (with the line); a missing
        split; a label that the training split does not have twice.
    """
    one_of("name", name, FILES)
    path = catalog.file(f"senteval/probing/{FILES[name]}.txt")
    rows = map(_row, reading.lines(path))
    table = pd.DataFrame(rows, columns=["split", "label", "sentence"])
    classes = sorted(table["label"].unique(), key=_by_number)
    training = table.loc[table["split"] == "tr", "label"]
    counts = training.value_counts().reindex(classes, fill_value=0)
    splits = table["split"].unique()
    if len(splits) < len(SPLITS) or len(classes) < 2 or counts.min() < 2:
        present = (
            f"lines of {', '.join(splits)} with the labels {', '.join(classes[:9])}"
        )
        raise InputError(
            f"{path}: has {present}; give "
            "lines of tr, va and te, and two labels or more, each in two lines or more "
            "of tr"
        )
    codes = {label: code for code, label in enumerate(classes)}
    table["label"] = table["label"].map(codes)
    return Probe(_tasks(table[table["split"] == split] for split in SPLITS), classes)


def _row(line: reading.Line) -> tuple[str, str, str]:
    """Split, label and sentence.

    There may be more columns between label and sentence.
    """
    cells = [cell.strip() for cell in line.text.split("\t")]
    if len(cells) < 3 or cells[0] not in SPLITS or not cells[1] or not cells[-1]:
        raise InputError(
            f"{line.place}: is not a line of a task; "
            "give tr, va or te, a label and a sentence, separated by tabs"
        )
    return cells[0], cells[1], cells[-1]


def _by_number(label: str) -> tuple[bool, int | str]:
    if re.fullmatch(r"\d{1,18}", label):
        return False, int(label)
    return True, label


# -- made from a corpus ----------------------------------------------------------------

TRAIN, DEV, TEST = range(3)
ANY = -1  # split


def make(name: str, corpus: Corpus, sizes: Sequence[int], seed: int = 0) -> Probe:
    """A probing task made from a corpus (docs/data.md has the recipes).

    In each split all classes are equally large. A group of the corpus (a verse's
    translations) is in one split only, in dev and test with one sentence. Sentences
    that differ only in case and punctuation count as one. The same arguments give the
    same task.

    Parameters
    ----------
    name : one of `RECIPES`
    sizes : sentences of train, dev and test
        Each is rounded up to equally many of each class, that of training to two or
        more.

    Raises
    ------
    InputError
        An unknown name; sizes that the corpus does not have enough sentences for.
    """
    one_of("name", name, FILES)
    if name not in RECIPES:
        known = ", ".join(RECIPES)
        raise InputError(
            f"name: {name} cannot be made here; "
            f"give one of {known}, or read it (probing.read)"
        )
    source = recipes.source(corpus, seed)
    rng = np.random.default_rng([seed, list(FILES).index(name)])
    for candidates, classes in RECIPES[name](source, sizes, rng):
        rows = recipes.rows(sizes, len(classes))
        splits = draw(candidates, rows, np.random.default_rng(seed))
        if splits:
            return Probe(_tasks(splits), classes)
    raise InputError(
        f"size: {sum(sizes)} is too much for {name} from {corpus.name!r}; "
        "give fewer, or a larger corpus"
    )


def draw(
    candidates: pd.DataFrame, rows: Sequence[int], rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame] | None:
    """Train, dev and test in random order; None if there are not enough candidates.

    A *row* is one sentence of each class. A split is a number of rows, so its classes
    are equally large. A cluster is in one split. It gives one sentence to dev or to
    test, whose sentences are then independent, or several to train.

    Parameters
    ----------
    candidates : DataFrame
        Columns sentence, label (codes from 0 on), cluster and order; and target, where
        the word that is asked about may be in one split only.
    rows : three int, of train, dev and test
    """
    classes = candidates["label"].unique()
    candidates = candidates.sort_values("order")
    left = candidates.assign(split=homes(candidates, rows, rng))
    drawn = {}
    for split in (TEST, DEV, TRAIN):
        pool = left[left["split"].isin((split, ANY))]
        pool = pool if split == TRAIN else pool.drop_duplicates("cluster")
        counts = pool["label"].value_counts().reindex(classes, fill_value=0)
        if not counts.min() >= rows[split]:  # the minimum of no candidates is NaN
            return None
        table = pool.groupby("label").head(rows[split])
        drawn[split] = table.iloc[rng.permutation(len(table))]
        left = left[~left["cluster"].isin(table["cluster"])]
    return drawn[TRAIN], drawn[DEV], drawn[TEST]


def homes(
    candidates: pd.DataFrame, rows: Sequence[int], rng: np.random.Generator
) -> np.ndarray:
    """The split that the target word of each candidate belongs to; or `ANY`.

    Words are dealt in random order, each to the split that lacks most sentences.
    """
    if "target" not in candidates:
        return np.full(len(candidates), ANY)
    counts = pd.crosstab(candidates["target"], candidates["label"])
    lacking = np.tile(np.array(rows, float)[:, None], counts.shape[1])
    home = {}
    for place in rng.permutation(len(counts)):
        of_word = counts.to_numpy()[place]
        split = int((lacking @ of_word).argmax())
        home[counts.index[place]] = split
        lacking[split] -= of_word
    return candidates["target"].map(home).to_numpy()
