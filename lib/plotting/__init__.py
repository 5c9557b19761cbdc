"""Every figure function. They take data and Axes, fit nothing, and leave saving to `show`."""

from lib.plotting.distributions import bars_with_intervals, boxplots
from lib.plotting.heatmaps import clustered_heatmap, dendrogram, heatmap, heatmap_axes, stacked_heatmap_axes
from lib.plotting.lines import against, curves
from lib.plotting.output import preview, save, save_table, show, write_table
from lib.plotting.planes import scatter_map, toy_neighbors
from lib.plotting.popularity import known_neighbors
from lib.plotting.retrieval import dots, fan, rank_map
from lib.plotting.robustness import diagonal, logarithmic, reference, scatter
from lib.plotting.sent2vec import weights_over_frequency
from lib.plotting.style import COLORS, MARKERS, PAGE_WIDTH, SEQUENTIAL, use_style
from lib.plotting.usif import advantage_map, arrows, densities, expansions, grouped_bars, upright

__all__ = [
    "COLORS",
    "MARKERS",
    "PAGE_WIDTH",
    "SEQUENTIAL",
    "advantage_map",
    "against",
    "arrows",
    "bars_with_intervals",
    "boxplots",
    "clustered_heatmap",
    "curves",
    "dendrogram",
    "densities",
    "diagonal",
    "dots",
    "expansions",
    "fan",
    "grouped_bars",
    "heatmap",
    "heatmap_axes",
    "known_neighbors",
    "logarithmic",
    "preview",
    "rank_map",
    "reference",
    "save",
    "save_table",
    "scatter",
    "scatter_map",
    "show",
    "stacked_heatmap_axes",
    "toy_neighbors",
    "upright",
    "use_style",
    "weights_over_frequency",
    "write_table",
]
