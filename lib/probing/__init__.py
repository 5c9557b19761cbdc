"""Probing tasks: what a classifier can read out of a frozen embedding (how long, which word, in which order).

=============  =========================================  ==================================
name           what is asked of a sentence                made from
=============  =========================================  ==================================
``SentLen``    how many words it has                      any corpus
``WC``         which of some words it contains            any corpus
``TreeDepth``  how deep its parse is                      a corpus and a spaCy pipeline
``TopConst``   which constituents are at the top          nothing here: SentEval's file only
``BShift``     whether two adjacent words were swapped    any corpus
``Tense``      the tense of its main verb                 a corpus and a spaCy pipeline
``SubjNum``    the number of its subject                  a corpus and a spaCy pipeline
``ObjNum``     the number of its direct object            a corpus and a spaCy pipeline
``SOMO``       whether a word was replaced by an odd one  nothing here: SentEval's file only
``CoordInv``   whether two clauses changed places         a corpus and a spaCy pipeline
=============  =========================================  ==================================

Conneau et al. (2018), "What you can cram into a single vector", whose files come with SentEval (`read`). Where they are
not here, `make` follows their recipes on other text; docs/probing.md says where it departs from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import catalog
from lib.corpora import Corpus, reading
from lib.probing import parsing, recipes
from lib.run.errors import InputError
from lib.run.parameters import one_of
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
    return [ClassificationTask(split["sentence"].tolist(), split["label"].to_numpy(np.int32)) for split in splits]


# -- SentEval's files -------------------------------------------------------------------------------

SPLITS = ("tr", "va", "te")


def read(name: str) -> Probe:
    """SentEval's probing task of this name, from where data are looked for (`lib.catalog`).

    Its sentences are tokens parted by blanks. Classes are ordered by number where they are numbers, else by letter.

    Raises
    ------
    InputError
        An unknown name; a file that is missing, or broken (with the line); a split that is not there; a label that the
        training split has less than twice.
    """
    path = catalog.file(f"senteval/probing/{FILES[one_of('name', name, FILES)]}.txt")
    table = pd.DataFrame(map(_row, reading.lines(path)), columns=["split", "label", "sentence"])
    classes = sorted(table["label"].unique(), key=_by_number)
    learned = table.loc[table["split"] == "tr", "label"].value_counts().reindex(classes, fill_value=0)
    if table["split"].nunique() < len(SPLITS) or len(classes) < 2 or learned.min() < 2:
        raise InputError(
            f"{path}: has lines of {', '.join(table['split'].unique())} with the labels {', '.join(classes[:9])}; give "
            "lines of tr, va and te, and two labels or more, each in two lines or more of tr"
        )
    table["label"] = table["label"].map({label: code for code, label in enumerate(classes)})
    return Probe(_tasks(table[table["split"] == split] for split in SPLITS), classes)


def _row(line: reading.Line) -> tuple[str, str, str]:
    """Split, label and sentence; there may be more columns between label and sentence."""
    cells = [cell.strip() for cell in line.text.split("\t")]
    if len(cells) < 3 or cells[0] not in SPLITS or not cells[1] or not cells[-1]:
        raise InputError(f"{line.place}: is no task's; give tr, va or te, a label and a sentence, parted by tabs")
    return cells[0], cells[1], cells[-1]


def _by_number(label: str) -> tuple[bool, int | str]:
    return (False, int(label)) if re.fullmatch(r"\d{1,18}", label) else (True, label)


# -- made from a corpus -----------------------------------------------------------------------------

SHARE = 0.1  # of a class in a split, which one target word may have at most
TRAIN, DEV, TEST = range(3)


def make(name: str, corpus: Corpus, sizes: Sequence[int], seed: int = 0, pipeline: Any = None) -> Probe:
    """A probing task made from a corpus (docs/probing.md has the recipes).

    In each split all classes are equally large. A group of the corpus (a verse's translations) stands in one split
    only, in dev and test with one sentence; so does a target word of Tense, SubjNum and ObjNum. Sentences that differ
    in case and punctuation alone count as one. The same arguments give the same task.

    Parameters
    ----------
    name : one of `recipes.RECIPES`
    sizes : sentences of train, dev and test; each is rounded up to equally many of each class, that of training to two
        or more
    pipeline : for the tasks of `recipes.PARSED`, a loaded spaCy pipeline for English with a tagger and a parser, or the
        name of an installed one. Its parses of the last text are kept for the next task.

    Raises
    ------
    InputError
        An unknown name; sizes that the corpus does not have enough sentences for; a pipeline that is not there, or that
        lacks a tagger or a parser.
    """
    if one_of("name", name, FILES) not in recipes.RECIPES:
        known = ", ".join(recipes.RECIPES)
        raise InputError(f"name: {name} cannot be made here; give one of {known}, or read it (probing.read)")
    source = recipes.source(corpus)
    if name in recipes.PARSED:
        source["parse"] = parsing.parses(parsing.loaded(pipeline), tuple(source["sentence"]))
    rng = np.random.default_rng([seed, list(FILES).index(name)])
    for candidates, classes in recipes.RECIPES[name](source, sizes, rng):
        splits = draw(candidates, recipes.rows(sizes, len(classes)), np.random.default_rng(seed))
        if splits:
            return Probe(_tasks(splits), classes)
    raise InputError(f"size: {sum(sizes)} is too much for {name} from {corpus.name!r}; give fewer, or a larger corpus")


def draw(candidates: pd.DataFrame, rows: Sequence[int], rng: np.random.Generator) -> list[pd.DataFrame] | None:
    """Train, dev and test in random order; None if there are not enough candidates.

    A *row* is one sentence of each class, all of one stratum. A split is so many rows, so that its classes are equally
    large, and no stratum (a sentence's length, say) says anything about the class. A cluster stands in one split, and
    gives one sentence to dev or to test, whose sentences are independent then, or several to train.

    Parameters
    ----------
    candidates : DataFrame
        Columns sentence, label (codes from 0 on), cluster, stratum; and target, where one word decides the label. A
        target stands in one split, and is no more than a tenth (`SHARE`) of a class there.
    rows : three int, of train, dev and test
    """
    if "target" in candidates:
        candidates = candidates.assign(home=candidates["target"].map(_homes(candidates, rows, rng)))
    left, drawn = candidates.iloc[rng.permutation(len(candidates))], {}
    for split in (TEST, DEV, TRAIN):
        pool = left
        if "target" in left:
            pool = left[left["home"] == split]
            pool = pool[pool.groupby(["target", "label"]).cumcount() < _most(rows[split])]
        if split != TRAIN:
            pool = pool.drop_duplicates("cluster")
        room = pd.crosstab(pool["stratum"], pool["label"]).min(axis=1)
        if pool["label"].nunique() < candidates["label"].nunique() or room.sum() < rows[split]:
            return None
        # A stratum's share is what it has room for, which keeps the mixture of the text.
        quota = pd.Series(rng.multivariate_hypergeometric(room, rows[split], method="marginals"), room.index)
        pool = pool.assign(row=pool.groupby(["stratum", "label"]).cumcount())
        table = pool[pool["row"] < pool["stratum"].map(quota)].sort_values(["stratum", "row", "label"])
        drawn[split] = table.iloc[rng.permutation(len(table))]
        left = left[~left["cluster"].isin(table["cluster"])]
    return [drawn[TRAIN], drawn[DEV], drawn[TEST]]


def _most(rows: int) -> int:
    """How many sentences of a class in a split of so many rows may have one target word."""
    return max(1, int(SHARE * rows))


def _homes(candidates: pd.DataFrame, rows: Sequence[int], rng: np.random.Generator) -> dict[str, int]:
    """The split of each target word: in random order, each goes where its class has least of what it needs."""
    supply = pd.crosstab(candidates["target"], candidates["label"])
    had, homes = np.zeros((len(rows), supply.shape[1])), {}
    for word, counts in supply.sample(frac=1, random_state=rng).iterrows():
        homes[word] = int((had[:, counts.argmax()] / rows).argmin())
        had[homes[word]] += counts.clip(upper=_most(rows[homes[word]]))
    return homes
