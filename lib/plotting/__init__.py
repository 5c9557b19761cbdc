"""Every figure function. They take data and Axes, fit nothing, and leave saving to `show`."""

from lib.plotting.distributions import bars_with_intervals, boxplots, dots_by_group, dots_with_intervals
from lib.plotting.heatmaps import clustered_heatmap, dendrogram, heatmap, heatmap_axes, stacked_heatmap_axes
from lib.plotting.lines import against, curves
from lib.plotting.localization import agreement_heatmap, parted_plane
from lib.plotting.output import preview, save, save_table, show, write_table
from lib.plotting.pitfalls import before_and_after, by_family, named_places
from lib.plotting.planes import label_points, scatter_map, toy_neighbors
from lib.plotting.retrieval import dots
from lib.plotting.robustness import logarithmic, reference, scatter
from lib.plotting.sent2vec import weights_over_frequency
from lib.plotting.style import COLORS, MARKERS, PAGE_WIDTH, SEQUENTIAL, use_style

__all__ = [
    "COLORS",
    "MARKERS",
    "PAGE_WIDTH",
    "SEQUENTIAL",
    "against",
    "agreement_heatmap",
    "bars_with_intervals",
    "before_and_after",
    "boxplots",
    "by_family",
    "clustered_heatmap",
    "curves",
    "dendrogram",
    "dots",
    "dots_by_group",
    "dots_with_intervals",
    "heatmap",
    "heatmap_axes",
    "label_points",
    "logarithmic",
    "named_places",
    "parted_plane",
    "preview",
    "reference",
    "save",
    "save_table",
    "scatter",
    "scatter_map",
    "show",
    "stacked_heatmap_axes",
    "toy_neighbors",
    "use_style",
    "weights_over_frequency",
    "write_table",
]
