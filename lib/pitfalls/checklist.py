"""The paper's recommendations, to be answered one by one by whoever evaluates embedders.

"Pitfalls in the Evaluation of Sentence Embeddings", section 4; the one on sets of encoders is the last warning of its
section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lib.run.errors import InputError
from lib.run.parameters import one_of

RECOMMENDATIONS = {
    "size": "(1) compare embeddings of the same size",
    "normalization": "(2) treat normalization as a further hyperparameter",
    "classifiers": "(3) use multiple classifiers, at least logistic regression and an MLP",
    "learned": "use a learned similarity function instead of unsupervised cosine and Pearson, and report the MSE",
    "unsupervised": "where an unsupervised evaluation cannot be avoided, normalize",
    "harder": "complement the transfer tasks by such as bags of words and random projections cannot compete on",
    "sets": "expect correlations of transfer and probing tasks to depend on the set of encoders",
}


class Answer(NamedTuple):
    """What was done about a recommendation, and what that changed in the numbers."""

    done: str
    changed: str


def table(answers: Mapping[str, Answer]) -> pd.DataFrame:
    """The paper's recommendations, in its order, each with its answer: what was done, and what that changed.

    Raises InputError for an answer to no recommendation, or a recommendation without an answer.
    """
    for key in answers:
        one_of("recommendation", key, RECOMMENDATIONS)
    for key in RECOMMENDATIONS:
        if key not in answers:
            raise InputError(f"answers: none to {key!r}; say what was done about each recommendation")
    rows = [(said, *answers[key]) for key, said in RECOMMENDATIONS.items()]
    return pd.DataFrame(rows, columns=["the paper recommends", "what we did", "what it changed here"])
