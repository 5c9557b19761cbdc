"""Intervals beside estimates, by the bootstrap.

`bootstrap` has the interval of one statistic. `draws` makes a table of many scores and
their draws: contrasts, means and rankings are arithmetic on its columns, and
`intervals` bounds what comes of it.
"""

from lib.stats.bounds import UNDEFINED, Interval, Sampling, intervals, table
from lib.stats.resampling import (
    bootstrap,
    clusters,
    differences,
    draws,
    mean,
    mean_over,
    means,
    spearman,
)

__all__ = [
    "UNDEFINED",
    "Interval",
    "Sampling",
    "bootstrap",
    "clusters",
    "differences",
    "draws",
    "intervals",
    "mean",
    "mean_over",
    "means",
    "spearman",
    "table",
]
