"""Every figure function. They take data and Axes, fit nothing, and leave saving to `show`."""

from lib.plotting.distributions import dots_by_group, dots_with_intervals
from lib.plotting.heatmaps import agreement_heatmap, clustered_triangle
from lib.plotting.lines import curves, logarithmic, reference, scatter
from lib.plotting.output import show, write_table
from lib.plotting.pitfalls import before_and_after, by_family, named_places
from lib.plotting.planes import label_points, parted_plane, scatter_map
from lib.plotting.style import COLORS, PAGE_WIDTH, SEQUENTIAL, use_style

__all__ = [
    "COLORS",
    "PAGE_WIDTH",
    "SEQUENTIAL",
    "agreement_heatmap",
    "before_and_after",
    "by_family",
    "clustered_triangle",
    "curves",
    "dots_by_group",
    "dots_with_intervals",
    "label_points",
    "logarithmic",
    "named_places",
    "parted_plane",
    "reference",
    "scatter",
    "scatter_map",
    "show",
    "use_style",
    "write_table",
]
