"""Every figure function. They take data and Axes, fit nothing, and leave saving to `show`."""

from lib.plotting.distributions import bars_with_intervals, boxplots
from lib.plotting.heatmaps import clustered_heatmap, dendrogram, heatmap, heatmap_axes, stacked_heatmap_axes
from lib.plotting.lines import against, curves
from lib.plotting.output import save, show, write_table
from lib.plotting.planes import scatter_map, toy_neighbors
from lib.plotting.popularity import known_neighbors
from lib.plotting.style import COLORS, MARKERS, PAGE_WIDTH, SEQUENTIAL, use_style

__all__ = [
    "COLORS",
    "MARKERS",
    "PAGE_WIDTH",
    "SEQUENTIAL",
    "against",
    "bars_with_intervals",
    "boxplots",
    "clustered_heatmap",
    "curves",
    "dendrogram",
    "heatmap",
    "heatmap_axes",
    "known_neighbors",
    "save",
    "scatter_map",
    "show",
    "stacked_heatmap_axes",
    "toy_neighbors",
    "use_style",
    "write_table",
]
