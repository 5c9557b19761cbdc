"""How well the similarity of two embeddings agrees with people's: by cosine, or by a similarity that is learned.

"Pitfalls in the Evaluation of Sentence Embeddings", section 3. UCP (unsupervised cosine and Pearson) is the usual
evaluation; z-normalization, a learned similarity function and the mean squared error are what the paper holds against
it. The module `correlation` has the intervals and the test for the difference of two embedders.
"""

from lib.similarity.correlation import (
    Difference,
    correlations,
    difference,
    difference_of_correlations,
    interval,
    mean_squared_error,
)
from lib.similarity.cosines import cosine, similarities, ucp, z_normalized
from lib.similarity.features import Columns, Features, column_statistics, pair_features
from lib.similarity.regression import Pairs, Regression, learned, regress

__all__ = [
    "Columns",
    "Difference",
    "Features",
    "Pairs",
    "Regression",
    "column_statistics",
    "correlations",
    "cosine",
    "difference",
    "difference_of_correlations",
    "interval",
    "learned",
    "mean_squared_error",
    "pair_features",
    "regress",
    "similarities",
    "ucp",
    "z_normalized",
]
