"""Every figure function.

They take data and Axes, fit nothing, and leave saving to `show`.
"""

from lib.plotting.distributions import dots_with_intervals
from lib.plotting.heatmaps import agreement_heatmap, clustered_triangle, triangles
from lib.plotting.kinds import LEGEND, display_name, groups, marks
from lib.plotting.lessons import Figures
from lib.plotting.lines import curves, logarithmic
from lib.plotting.output import show, show_table, write_table
from lib.plotting.pitfalls import before_and_after
from lib.plotting.style import COLORS, PAGE_WIDTH, SEQUENTIAL, use_style

__all__ = [
    "COLORS",
    "LEGEND",
    "PAGE_WIDTH",
    "SEQUENTIAL",
    "Figures",
    "agreement_heatmap",
    "before_and_after",
    "clustered_triangle",
    "curves",
    "display_name",
    "dots_with_intervals",
    "groups",
    "logarithmic",
    "marks",
    "show",
    "show_table",
    "triangles",
    "use_style",
    "write_table",
]
