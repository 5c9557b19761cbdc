"""Intervals beside estimates: by the bootstrap, and for scores of embedders on items.

`intervals` has the bootstrap; `measured` the scores of embedders, whose differences are
paired.
"""

from lib.stats.intervals import (
    UNDEFINED,
    Interval,
    Sampling,
    bootstrap,
    clusters,
    mean,
    means,
    spearman,
    table,
)
from lib.stats.measured import Measured

__all__ = [
    "UNDEFINED",
    "Interval",
    "Measured",
    "Sampling",
    "bootstrap",
    "clusters",
    "mean",
    "means",
    "spearman",
    "table",
]
