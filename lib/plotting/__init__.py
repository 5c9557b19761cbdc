"""Every figure function. They take data and Axes, fit nothing, and leave saving to `show`."""

from lib.plotting.distributions import bars_with_intervals, dots_by_group, dots_with_intervals
from lib.plotting.heatmaps import clustered_triangle, dendrogram
from lib.plotting.lines import curves, logarithmic, reference, scatter
from lib.plotting.localization import agreement_heatmap, parted_plane
from lib.plotting.output import preview, save, save_table, show, write_table
from lib.plotting.pitfalls import before_and_after, by_family, named_places
from lib.plotting.planes import label_points, scatter_map
from lib.plotting.style import COLORS, MARKERS, PAGE_WIDTH, SEQUENTIAL, use_style

__all__ = [
    "COLORS",
    "MARKERS",
    "PAGE_WIDTH",
    "SEQUENTIAL",
    "agreement_heatmap",
    "bars_with_intervals",
    "before_and_after",
    "by_family",
    "clustered_triangle",
    "curves",
    "dendrogram",
    "dots_by_group",
    "dots_with_intervals",
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
    "use_style",
    "write_table",
]
