"""Better or worse, where somebody has judged which sentences answer which queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lib import stats
from lib.base import paths
from lib.base.errors import InputError
from lib.corpora.reading import lines
from lib.swap.comparison import Swap
from lib.swap.sides import needed
from lib.swap.texts import SearchTask

DEPTH = 10  # results that MRR and nDCG look at
TINY = 1e-12
MAIN = f"nDCG@{DEPTH}"  # decides whether a candidate is worse
WANTED = "give TREC qrels (query 0 sentence grade), or a BEIR table with a header"

Judgments = Mapping[str, Mapping[str, int]]


def read(given: str, folder: str = "") -> dict[str, dict[str, int]]:
    """Grades by query and sentence, from a file or a BEIR folder's ``qrels/test.tsv``.

    Raises InputError if there is no such file, or if it has another form.
    """
    path = paths.from_root(given or Path(folder) / "qrels" / "test.tsv")
    if not path.is_file():
        raise InputError(f"QRELS: {path}: no such file; {WANTED}")
    found: dict[str, dict[str, int]] = {}
    read = ((place, line.split()) for place, line in lines(path) if line.strip())
    for number, (place, fields) in enumerate(read):
        if number == 0 and fields[-1] == "score":  # BEIR's header
            continue
        try:
            query, *_, sentence, grade = fields
            found.setdefault(query, {})[sentence] = int(float(grade))
        except ValueError as error:
            raise InputError(f"QRELS: {place}: has no judgment; {WANTED}") from error
    return found


@dataclass(frozen=True, eq=False)
class Quality:
    """How well both sides find what was judged relevant.

    Attributes
    ----------
    scores : DataFrame
        A row for each judged query that has a relevant sentence, with its number among
        the queries; columns (measure, side).
    table : DataFrame
        A row for each measure: old, new, value, low, high; the last three are the
        difference, new minus old, with its paired interval.
    unjudged : dict of str to float
        The share of the first results that nobody has judged, by side.
    """

    scores: pd.DataFrame
    table: pd.DataFrame
    unjudged: dict[str, float]


def known(judgments: Judgments, task: SearchTask) -> dict[str, dict[str, int]]:
    """The judgments of queries with a relevant sentence, by numbers written as texts.

    Raises InputError for ids of sentences that the text does not have, and if no query
    is judged.
    """
    places: Mapping[str, int] = {id: i for i, id in enumerate(task.ids)}
    if task.text:
        places = task.text.places
    queries = {id: i for i, id in enumerate(task.query_ids)}
    lacking = {id for of_one in judgments.values() for id in of_one if id not in places}
    if lacking:
        raise InputError(
            f"QRELS: names {len(lacking):,} sentences that the text does not have "
            f"({min(lacking)!r}, for one); give the judgments of this text"
        )
    found: dict[str, dict[str, int]] = {}
    for id in judgments.keys() & queries.keys():
        grades: dict[str, int] = {}
        for sentence, grade in judgments[id].items():
            place = str(places[sentence])
            grades[place] = max(grade, grades.get(place, 0))
        if max(grades.values()) > 0:
            found[str(queries[id])] = grades
    if not found:
        raise InputError(
            "QRELS: has no relevant sentence for any of the queries; give judgments "
            f"of queries such as {task.query_ids[0]!r}"
        )
    return found


def quality(found: Swap, judgments: Judgments) -> Quality:
    """Compare both sides' results with judgments, by ir-measures."""
    grades = known(judgments, found.task)
    sides = {"old": found.old, "new": found.new}
    scored = {
        side: scores(searched.ids, grades, found.k) for side, searched in sides.items()
    }
    judged = "judged"
    unjudged = {side: 1 - table.pop(judged).mean() for side, table in scored.items()}
    both = pd.concat(scored, axis=1).swaplevel(axis=1)
    differences = scored["new"] - scored["old"]
    table = found.means(differences, (-1, 1), both.index.to_numpy())
    weights = found.task.weights
    for side in sides:
        some = None if weights is None else weights[both.index]
        mean = np.average(scored[side], axis=0, weights=some)
        table.insert(0 if side == "old" else 1, side, mean)
    return Quality(both, table.drop(columns="constant"), unjudged)


def scores(ids: np.ndarray, grades: Judgments, k: int) -> pd.DataFrame:
    """MRR, nDCG and recall of each judged query, and the share of judged results."""
    ir_measures = needed("ir_measures")
    names = {
        ir_measures.RR @ DEPTH: f"MRR@{DEPTH}",
        ir_measures.nDCG @ DEPTH: MAIN,
        ir_measures.R @ k: f"recall@{k}",
        ir_measures.Judged @ DEPTH: "judged",
    }
    run = {
        query: {str(id): -float(rank) for rank, id in enumerate(ids[int(query)])}
        for query in grades
    }
    rows: dict[int, dict[str, float]] = {int(query): {} for query in sorted(grades)}
    for found in ir_measures.iter_calc(list(names), grades, run):
        rows[int(found.query_id)][names[found.measure]] = found.value
    table = pd.DataFrame.from_dict(rows, orient="index").sort_index()
    return table[list(names.values())]


def retained(found: Swap, judgments: Judgments, ids: np.ndarray) -> stats.Interval:
    """The share of the new side's nDCG that other results have, with its interval."""
    grades = known(judgments, found.task)
    both = [scores(each, grades, found.k)[MAIN] for each in (ids, found.new.ids)]
    rows = both[0].index.to_numpy()
    weights = np.ones(len(rows))
    if found.task.weights is not None:
        weights = found.task.weights[rows]
    clusters = found.task.clusters
    return stats.bootstrap(
        lambda some, all, weight: (weight @ some) / max(weight @ all, TINY),
        *both,
        weights,
        sampling=found.sampling,
        clusters=None if clusters is None else clusters[rows],
    )
