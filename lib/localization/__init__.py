"""Semantic localization: how well sentences that mean the same keep to one place in the vector space.

"How Well Sentence Embeddings Capture Meaning": a linear classifier learns from some sentences of each group of equal
meaning what the group is, and labels the others.
"""

from lib.corpora.closure import groups_from_pairs
from lib.localization.agreement import Agreement, agreement
from lib.localization.classification import GRID, classify
from lib.localization.classifiers import CLASSIFIERS, parting_lines, weights_of_2015
from lib.localization.difficulty import at_sizes, by_overlap, hardest, never_right, stacked
from lib.localization.groups import breakdown, load, present, vocabulary_sizes, word_overlap
from lib.localization.repetition import Repeated, differences, ensemble, evaluate, repeat, summary
from lib.localization.results import Result
from lib.localization.table_1 import DATASETS, beside, kind
from lib.localization.words import bag_of_words

__all__ = [
    "CLASSIFIERS",
    "DATASETS",
    "GRID",
    "Agreement",
    "Repeated",
    "Result",
    "agreement",
    "at_sizes",
    "bag_of_words",
    "beside",
    "breakdown",
    "by_overlap",
    "classify",
    "differences",
    "ensemble",
    "evaluate",
    "groups_from_pairs",
    "hardest",
    "kind",
    "load",
    "never_right",
    "parting_lines",
    "present",
    "repeat",
    "stacked",
    "summary",
    "vocabulary_sizes",
    "weights_of_2015",
    "word_overlap",
]
