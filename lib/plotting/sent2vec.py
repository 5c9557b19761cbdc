"""The paper's figure 1: what training makes of a word's weight, beside what a formula would."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from lib.plotting.style import COLORS


def weights_over_frequency(words: pd.DataFrame, column: str, profile: pd.DataFrame, axes: Axes, label: str) -> None:
    """A point for each word over its frequency, and the median and quartiles of bins.

    `words` has columns frequency and `column`; `profile` has columns value, low and high, and the frequency as index.
    """
    axes.scatter(words["frequency"], words[column], s=2, color="0.75", linewidths=0, rasterized=True, label="a word")
    axes.fill_between(profile.index, profile["low"], profile["high"], color=COLORS[0], alpha=0.25, linewidth=0)
    axes.plot(profile.index, profile["value"], color=COLORS[0], linewidth=1.6, label="median, with quartiles")
    axes.set_xscale("log")
    axes.set_xlabel("frequency of the word")
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
