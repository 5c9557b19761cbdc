"""The look that all figures share: in print at column width, for color-blind readers and in grey."""

from __future__ import annotations

from matplotlib import style

PAGE_WIDTH = 6.9  # inches: two columns of print
SEQUENTIAL = "mako_r"  # light to dark in even steps: readable in grey and with every color vision
# Okabe and Ito's palette, each color with a marker of its own so that grey print tells them apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "sentence-embeddings",
    "svg.fonttype": "path",
}


def use_style() -> None:
    """Set the look that all notebooks share, whatever the user's own settings of Matplotlib are."""
    style.use(["default", STYLE])
